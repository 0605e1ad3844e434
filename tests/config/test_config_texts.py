"""What is said of each broken configuration: tests/texts/config_*.txt, written by `make texts`."""

from difflib import ndiff
from pathlib import Path

import pytest
from configurations import PREDICTIONS, SOURCE, File, model
from kept_texts import compare_cases

from monitor.config.config_loading import settings_of
from monitor.config.unjudgeable_rules import never_judged
from monitor.core.errors import ConfigurationError

SCORED = 'score = "score"\n'
TIMELESS = '[models.labels]\ntable = "labels"\nlabel = "late"\n'
LABELS = TIMELESS + 'reported_at = "reported_at"\n'
REFERENCE = '[models.reference]\nfile = "reference.parquet"\n'
SEASONAL = REFERENCE + 'season = "week"\n'
OF_VERSIONS = f'{REFERENCE}[models.reference.versions.v2]\nfile = "second.parquet"'
ARMS = '[models.control]\narm_column = "group"\ncontrol_value = "c"\ntreatment_value = "t"\n'
CHALLENGER = '[models.challenger]\nscore = "score_2"\n'
CLASSES = '[models.classes]\nvalues = ["a", "b", "c"]\n'
NUMBERS = '[models.features]\nnumeric = ["temp"]'
NAMES = "[models.classes]\nnames = "
RULE = '[[models.alerts]]\nname = "moved"\nmeasure = "stability_index"\nsubject = "score"\n'
ONE_RULE = '[[models.alerts]]\nname = "one"\n'
AGAINST_SEASON = '[[models.alerts]]\nname = "moved"\nagainst = "season"\nabove = 0.1\n'
CHANNEL = '[[notify]]\nname = "chat"\nurl = "json://x"\n'
WIDTH = 160


def predictions(keys: str) -> str:
    return model(predictions=keys)


def classes_of(task: str, keys: str) -> str:
    return model(task, predictions='prediction = "p"', tables=keys)


BINARY = [
    predictions(""),
    predictions(SCORED),
    predictions(SCORED + 'prediction = "p"\nthreshold = 0.5'),
    predictions('prediction = "p"\nthreshold = 0.5'),
    predictions(SCORED + "threshold = 30"),
    predictions(SCORED + "threshold = 1\nscore_range = [1, 0]"),
    predictions(SCORED + "threshold = 1\nscore_range = [0, nan]"),
    predictions('prediction = "p"\nscore_range = [0, 2]'),
    predictions('prediction = "p"\nprobabilities = { a = "p_a", b = "p_b" }'),
    predictions('prediction = "p"\nprobabilities_prefix = "p_"'),
    classes_of("binary", "[models.classes]\nvalues = [1, 0]"),
    classes_of("binary", "[models.classes]\npositive = true\nnegative = 1.0"),
    classes_of("binary", "[models.classes]\npositive = [1]"),
]
MULTICLASS = [
    model("multiclass", predictions="", tables='[models.classes]\nvalues = ["a", "b"]'),
    model("multiclass", predictions='probabilities = { a = "p" }\nthreshold = 0.5'),
    model("multiclass", predictions='probabilities = { 1 = "p", "1.0" = "q" }'),
    model(
        "multiclass",
        predictions='probabilities = { a = "p", b = "q" }',
        tables='[models.classes]\nvalues = ["a", "c"]',
    ),
    model("multiclass", predictions='probabilities_prefix = "p_"'),
    model("multiclass", predictions='probabilities = { a = "p", b = "q" }\nprobabilities_prefix = "p_"'),
    classes_of("multiclass", "[models.classes]\npositive = 1\nnegative = 0\nvalues = [1, 0]"),
    classes_of("multiclass", '[models.classes]\nvalues = ["a", "a"]'),
    classes_of("multiclass", f"[models.classes]\nvalues = {list(range(1_001))}"),
    classes_of("multiclass", ""),
]
REGRESSION = [
    model("regression", predictions='score = "s"\nscore_range = [0, 9]\nthreshold = 1'),
    classes_of("regression", "[models.classes]\n[models.profit]\nmatrix = { 1 = { 1 = 1 } }"),
]
TIMES = [
    model(keys='horizon = "99999d"'),
    model(keys='windows = ["99999d"]'),
    model(keys='every = "7h"'),
    model(keys='every = "0s"'),
    model(keys="every = 60"),
    model(keys='windows = ["7x"]'),
    model(keys="windows = [7]"),
    model(keys="windows = []"),
    model(keys='windows = ["1d", { length = "1d", step = "1d" }]'),
    model(keys='windows = ["90m"]'),
    model(keys='windows = [{ length = "2h", step = "90m" }]'),
    model(keys='windows = [{ length = "month", step = "1d" }]'),
    model(keys='windows = ["month"]\npane = "2d"'),
    model(keys='windows = ["week"]\ntimezone = "Asia/Kolkata"'),
    model(keys='windows = ["quarter"]'),
    model(keys='timezone = "Europe/Wien"'),
    model(keys='windows = ["1d"]\npane = "7h"'),
    model(keys='windows = ["month"]\nhorizon = "30d"'),
    model(keys='windows = ["7d"]\nhorizon = "8d"\nsettle_after = "2d"'),
    model(keys='windows = ["month"]\nagainst = ["7d"]'),
    model(keys='against = ["previos"]'),
    model(keys='against = ["previous", "10d"]'),
    model(keys='against = ["0d"]'),
    model(keys='against = ["28d", "4w"]'),
    model(keys='windows = ["30d"]\nagainst = ["28d"]'),
    model(keys='windows = ["monh"]'),
    model(keys='windows = ["dya"]'),
    model(keys='windows = ["qarter"]'),
    model(keys='windows = ["soon"]'),
]
TABLES = [
    '[[models]]\nname = "late"\nsource = "flights"\ntask = "binary"\n'
    + PREDICTIONS.replace("table", "where")
    + 'prediction = "p"',
    predictions('prediction = "p"\nquery = "SELECT 1"'),
    model(predictions='prediction = "p"').replace('"prediction_id"', '["loan", 7]'),
    model(predictions='prediction = "p"').replace('"prediction_id"', '["loan", "loan"]'),
    model(
        predictions='prediction = "p"',
        tables='[models.labels]\ntable = "t"\nid = "loan"\nlabel = "l"\nreported_at = "r"',
    ).replace('"prediction_id"', '["loan", "month"]'),
    predictions('prediction = ""'),
    predictions('prediction = "p"\nlogged_at_unit = "sec"'),
    predictions('prediction = "p"\nlogged_at_unit = "s"').replace('logged_at = "logged_at"', ""),
    model(keys='settle_after = "3d"', tables=TIMELESS + 'reported_at_unit = "s"'),
    model(tables=TIMELESS),
    model(keys='settle_after = "3d"', tables=TIMELESS + 'query = "SELECT 1"'),
    model(
        keys='settle_after = "3d"',
        tables='[models.labels]\nlabel = "late"\nwhere = "late < 2"\nid = "label_id"',
    ),
    model(tables="[models.reference]"),
    model(tables='[models.reference]\nfile = "r.parquet"\nfrom = "2013-01-01"\nto = 2013-02-01'),
    model(tables='[models.reference]\nfile = "r.xlsx"'),
    model(tables='[models.reference]\nfrom = "2013-01-01"'),
    model(tables='[models.reference]\nfrom = "2013-01-01"\nto = 2013-01-01'),
    model(tables='[models.reference]\nfrom = "January"\nto = 2013-01-01'),
    model(tables='[models.features]\nnumeric = ["a", "b"]\ncategorical = ["b"]'),
    model(tables='[models.features]\nnumeric = ["a"]\nexclude = ["b"]'),
    model(tables='[models.control]\narm_column = "g"\ncontrol_value = 1\ntreatment_value = true'),
    model(tables="[models.profit]\nmatrix = { 1 = { 1 = 1, 0 = 0 } }"),
    model(tables="[models.profit]\nmatrix = { 1 = { 1 = 1, 0 = 0 }, 0 = { 2 = 0 } }"),
    model(tables="[models.profit]\nmatrix = { 1 = { 1 = true, 0 = 0 }, 0 = { 1 = 0, 0 = 1 } }"),
    model(keys='segments = ["g", "g"]'),
    model(
        keys='segments = ["g"]',
        tables='[models.control]\narm_column = "g"\ncontrol_value = 1\ntreatment_value = 2',
    ),
    model(tables='[models.serving]\ncolumn = "live"\nvalues = [1]'),
    model(
        predictions=SCORED + 'threshold = 0.5\nversion = "v"',
        tables='[models.serving]\ncolumn = "live"\nvalues = []',
    ),
    model(
        tables='[models.reference]\nfile = "a.csv"\n'
        '[models.reference.versions."2"]\nfile = "b.txt"\ntable = "b"'
    ),
    model(
        predictions='prediction = "p"\nversion = "v"',
        tables='[models.reference]\nfile = "a.csv"\n[models.reference.versions."2"]\nfil = "b.csv"',
    ),
    model(predictions='prediction = "p"', tables=NAMES + '{ 2 = ["no"] }'),
    model(predictions='prediction = "p"', tables=NAMES + '{ 1 = ["yes"], 0 = ["no", "yes"] }'),
    model(predictions='prediction = "p"', tables=NAMES + "{ 1 = [] }"),
    model(tables=NAMES + '{ 1 = ["yes"] }'),
    model(tables=LABELS + 'only_for = ["yes"]'),
    model(tables=LABELS + "only_for = []"),
    model(
        "regression",
        predictions='prediction = "p"',
        tables=LABELS + 'only_for = ["1"]\n' + NAMES + '{ 1 = ["a"] }',
    ),
    model(tables=SEASONAL.replace("week", "moon")),
    model(keys='measures = ["values"]', tables=SEASONAL),
]
COMPARED = [
    model(tables=CHALLENGER),
    model(tables=LABELS + "[models.challenger]\n"),
    model(tables=LABELS + '[models.challenger]\nversion = "v2"\n'),
    model(predictions='prediction = "p"', tables=LABELS + CHALLENGER),
    model(tables=LABELS + CHALLENGER + "threshold = 2.0\n"),
    model("regression", predictions='prediction = "p"', tables=LABELS + CHALLENGER),
    model(tables=LABELS + '[models.challenger]\nprediction = "p_2"\n'),
    model("multiclass", predictions='prediction = "p"', tables=LABELS + CLASSES + CHALLENGER),
    model(tables=LABELS + ARMS + "control_share = 1.0\n"),
    model(tables=LABELS + ARMS + "detect = 0.0\n"),
]
NUMBERS_AND_WORDS = [
    model(predictions="prediction = 2013-01-01"),
    model(keys="level = 1"),
    model(keys="settled_share = 1.1"),
    model(keys="resamples = 4.5"),
    model(keys="scale = inf"),
    model(keys='enabled = "no"'),
    model(keys="[models.reading]\nrecount_rows = 0"),
    model(keys="top_shares = [0.1, 0.05, 0.1]"),
    model(keys="top_shares = [0.0]"),
    model(predictions='prediction = "p"\nscroe = "s"'),
    model(predictions='prediction = "p"\ntreshold = "s"'),
    model(predictions='prediction = "p"\nevent_tme = "s"'),
    model(predictions='prediction = "p"\nVersion = "s"'),
    model(predictions='prediction = "p"\nreported_at = "s"'),
    model(predictions='prediction = "p"\nhorizon = "s"'),
    model(predictions='prediction = "p"\nxyz = "s"'),
    model(predictions='prediction = "p"\nhost = "s"'),
    model(tables='[models.labels]\nreported_at = "seen"\nlable = "late"'),
    model(keys="embeddings = []"),
    model(predictions='scroe = "score"\nthreshhold = 0.5').replace("event_time =", "evnt_time ="),
    model(predictions='scroe = "a"\nscore = "b"\nthreshold = 7'),
    model(keys='enabled = false\nevery = "7h"'),
    model(name="late flights"),
    model(name="late.json"),
    model().replace('"flights"', '"fligths"'),
    model(tables='[models.budget]\nunusual_days = ["25.12."]'),
    model(tables='[models.budget]\nunusual_days = ["2026-12-25/2026-12-24"]'),
    model(tables="[models.budget]\nfalse_alerts = 0"),
]
OUTSIDE = [
    "[http]\nport = 70000",
    '[http]\nport = "web"',
    '[http]\nhost = ""',
    '[http]\ntls_key = "tls.key"',
    "store = 5",
    '[store]\nurl = "monitor.db"',
    '[log]\nformat = "xml"',
    '[sources."my db"]\nurl = "sqlite://"',
    '[sources.a]\nurl = "sqlite://"\ntimezone = 1',
    "[sources.a]",
    '[sources.a]\nurl = "sqlite://"\ntimezone = "Europe/Viena"',
    '[sources.a]\nurl = "sqlite://"\naudit = "0d"',
    '[sources.a]\nurl = "sqlite://"\nmax_connections = true',
    "defaults = 5",
    '[defaults]\nname = "late"',
    "dashboards = []",
    '[[notify]]\nname = "chat"\nurl = "chat.example/hook"',
    CHANNEL + 'models = ["lat"]\nseverity = "loud"\n' + CHANNEL,
    '[sources.a]\nurl = "${FLIGHTS_URL}"',
    '[sources.a]\nurl = "${}"',
    '[sources.a]\nurl = "${1ST}"',
    '[sources.a]\nurl = "${A-B}"',
    '[sources.a]\nurl = "${file:/none/none}"',
    '[sources]\nurl = "postgresql://ann:hunter2@db/app"\n[store]\nurl = "ann:hunter2@db/app"',
]
WHOLE = [  # texts of files without a sound part
    model(),
    SOURCE,
    SOURCE + model() + model(name="early") + model(),
    "models = []" + SOURCE,
    SOURCE + '[models]\nname = "late"',
    "models = [5]" + SOURCE,
    SOURCE + '[defaults]\nevery = "${EVERY}"\n' + model() + model(name="early"),
    SOURCE
    + '[defaults]\nlevl = 0.9\nevery = "7x"\npredictions = { scroe = "s" }\nreading = { overlap = "x" }\n'
    + model()
    + model(name="early"),
    "[store]\nurl = \n",
    'include = ["models.d/*.toml", "**x"]\n' + SOURCE + model(),
    SOURCE
    + model()
    + model(name="delay", keys='formerly = "late"')
    + model(name="a", keys='formerly = "b"')
    + model(name="c", keys='formerly = "b"')
    + model(name="self", keys='formerly = "self"'),
]
MANY = """
    [http]
    prt = 1
    [sources.flights]
    url = "${URL}"
    [defaults]
    every = "7h"
    [[models]]
    name = "late"
    source = "fligths"
    task = "binary"
    windows = ["1d", "7x"]
    [models.predictions]
    table = "p"
    query = "q"
    id = "id"
    event_time = "t"
    scroe = "s"
    [models.control]
    arm_column = "g"
    control_value = 1
    treatment_value = 1
    [[models]]
    task = "binery"
"""
RULES = [
    RULE,
    RULE + "above = 1\nbelow = 0",
    RULE + 'above = "high"',
    RULE + 'above = 1\nwindow = "9d"',
    RULE + 'above = 1\ntruth = "settled"',
    RULE + 'above = 1\nagainst = "28d"',
    RULE + 'above = "5%"',
    RULE + 'above = 1\nwindow = "cumulative"',
    RULE + "above = 1\nclear_at = [0, 1]",
    RULE + 'above = 1\nversion = "2"',
    RULE + 'above = 1\nsegment = "origin=*"',
    RULE + 'above = 1\nfeatures = "share"',
    RULE + 'above = 1\nlabels = { model = "x" }',
    RULE.replace('"score"', '"label"') + "above = 0.25",
    ONE_RULE.replace("one", "few.json") + 'measure = "records"\nbelow = 1',
    ONE_RULE + 'measure = "stability_indx"\nabove = 1',
    ONE_RULE + 'measure = "r2_score"\nabove = 1',
    ONE_RULE + 'measure = "accuracy"\nabove = 1',
    ONE_RULE + 'measure = "missing_rate"\nabove = "critical"',
    ONE_RULE.replace("one", "feature_shift") + 'severity = "warning"',
    ONE_RULE.replace("one", "changed") + 'severity = "warning"',
    AGAINST_SEASON + 'measure = "stability_index"\nsubject = "score"\n',
    SEASONAL + AGAINST_SEASON + 'measure = "missing_rate"\nsubject = "score"\n',
    SEASONAL + LABELS + AGAINST_SEASON + 'measure = "stability_index"\nsubject = "label"\n',
]
NEVER_MEASURED = [
    ONE_RULE + 'measure = "roc_auc"\nbelow = "-5%"',
    ONE_RULE + 'measure = "roc_auc"\nbelow = 0.7\nwindow = "cumulative"',
    ONE_RULE + 'measure = "control_p_value_always_valid"\nbelow = 0.05\nwindow = "7d"',
    ONE_RULE + 'measure = "volume_ratio"\nbelow = 0.5\nagainst = "reference"',
    ONE_RULE + 'measure = "accuracy"\nbelow = 0\nsegment = "*"\nagainst = "reference"',
    ONE_RULE + 'measure = "missing_rate"\nsubject = "score"\nabove = 0.1\nagainst = "28d"',
    ONE_RULE + 'measure = "volume_ratio"\nbelow = 0.5\nsegment = "*"',
    ONE_RULE + 'measure = "missing_rate"\nsubject = "feature:*"\nabove = 0.1\nsegment = "*"',
    ONE_RULE + 'measure = "wasserstein_distance"\nsubject = "score"\nabove = 1',
]


def rule(measure: str, more: str = "above = 1") -> str:
    return f'[[models.alerts]]\nname = "own"\nmeasure = "{measure}"\n{more}'


NEVER_JUDGED = [
    ((rule("stability_index", 'above = 0.1\nsubject = "score"'),), "binary", ""),
    (
        (
            REFERENCE,
            rule("stability_index", 'above = 1\nbound = "lower"\nsubject = "score"'),
        ),
        "binary",
        "",
    ),
    ((rule("missing_rate", 'above = 0.1\nsubject = "feature:temp"'),), "binary", ""),
    (
        (
            REFERENCE,
            NUMBERS,
            rule("missing_rate", 'above = 0.1\nsubject = "feature:tmp"'),
        ),
        "binary",
        "",
    ),
    (
        (
            REFERENCE,
            NUMBERS,
            rule("unseen_rate", 'above = 0.1\nsubject = "feature:*"'),
        ),
        "binary",
        "",
    ),
    (
        (
            REFERENCE,
            LABELS,
            rule("stability_index", 'above = 1\nsubject = "label"\ntruth = "provisional"'),
        ),
        "binary",
        "",
    ),
    (
        (
            LABELS,
            rule("ks_separation", 'below = 0.3\ntruth = "nowcast"'),
        ),
        "binary",
        "",
    ),
    (
        (
            REFERENCE,
            LABELS,
            rule("missing_rate", 'above = 1\nsubject = "label"'),
        ),
        "binary",
        "",
    ),
    ((rule("estimated_roc_auc", "below = 0.7"),), "binary", ""),
    (
        (
            LABELS,
            rule("control_p_value_always_valid", "below = 0.05"),
        ),
        "binary",
        "",
    ),
    (
        (
            LABELS,
            ARMS,
            rule("sample_ratio_p_value_always_valid", "below = 0.05"),
        ),
        "binary",
        "",
    ),
    (
        (
            LABELS,
            ARMS,
            rule("control_p_value_always_valid", 'below = 0.05\nsubject = "class:*"'),
        ),
        "binary",
        "",
    ),
    (
        (
            LABELS,
            rule("challenger_log_evidence"),
        ),
        "binary",
        "",
    ),
    (
        (
            LABELS,
            rule("profit"),
        ),
        "binary",
        "",
    ),
    ((LABELS, ARMS, CLASSES, rule("control_p_value_always_valid", "below = 0.05")), "multiclass", ""),
    ((LABELS, rule("sum_of_squared_errors", 'above = 1\nbound = "lower"')), "regression", ""),
    ((TIMELESS, rule("label_delay_p90")), "binary", 'settle_after = "5d"'),
    ((rule("volume_ratio", 'below = 0.5\nbound = "upper"\nwindow = "30d"'),), "binary", ""),
    ((rule("volume_ratio", 'below = 0.5\nwindow = "30d"'),), "binary", ""),
    ((rule("evidence"),), "binary", "budget = {}"),
    ((LABELS, OF_VERSIONS), "binary", ""),
    ((LABELS,), "binary", 'horizon = "15d"\nwindows = ["1d"]'),
]


def changed(text: str, sound: str) -> str:
    """What a text has otherwise than a sound one, in a line."""
    lines = list(ndiff(_lines(sound), _lines(text)))
    added, left_out = ("; ".join(line[2:] for line in lines if line[0] == sign and line[2:]) for sign in "+-")
    said = f"{added} (without {left_out})" if left_out else added
    return said if len(said) <= WIDTH else f"{said[:WIDTH]}…"


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


@pytest.mark.texts
def test_faults_of_models(file: File) -> None:
    texts = [*BINARY, *MULTICLASS, *REGRESSION, *TIMES, *TABLES, *COMPARED, *NUMBERS_AND_WORDS]
    cases = [(changed(text, model()), file.faults_of(text)) for text in texts]

    compare_cases("config_models", cases)


@pytest.mark.texts
def test_faults_of_rules(file: File) -> None:
    of_all = model(keys='against = ["28d"]', tables=LABELS + REFERENCE + ARMS + "control_share = 0.1\n")
    cases = [(changed(text, ""), file.faults_of(model(tables=text))) for text in RULES]
    cases += [(changed(text, ""), file.faults_of(of_all + text)) for text in NEVER_MEASURED]

    compare_cases("config_rules", cases)


@pytest.mark.texts
def test_faults_of_files(file: File) -> None:
    sound = SOURCE + model()
    texts = [*(text + "\n" + sound for text in OUTSIDE), *WHOLE, MANY]

    compare_cases("config_files", [(changed(text, sound), file.faults(text)) for text in texts])


@pytest.mark.texts
def test_faults_of_included_files(file: File) -> None:
    more = file.path.parent / "models.d"
    more.mkdir()

    def faults_with(**texts: str) -> list[str]:
        for name, text in texts.items():
            (more / f"{name}.toml").write_text(text, encoding="utf-8")
        return file.faults('include = ["models.d/*.toml"]\n' + SOURCE + model())

    alike = {
        "a": model(name="fine") + model(name="early", keys='every = "7h"'),
        "b": '[sources.rain]\nurl = "sqlite:///${NONE}.db"\n' + model(name="fine"),
    }
    other = {
        "a": "[http]\nport = 1\n" + SOURCE + "audit = '2d'\n[model]\n",
        "b": 'sources = 1\n[models]\nname = "x"\n',
        "c": "a = ",
    }
    cases = [("a variable, a model and a name", faults_with(**alike)), ("other tables", faults_with(**other))]

    compare_cases("config_included", cases)


@pytest.mark.texts
def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "filled.toml").write_text(
        f'[sources.flights]\nurl = "${{file:{tmp_path}/bytes}}"\n' + model(), encoding="utf-8"
    )
    cases = []
    for name in ("none.toml", "bytes.toml", "filled.toml"):
        with pytest.raises(ConfigurationError) as raised:
            settings_of(tmp_path / name, {})
        cases.append((name, raised.value.faults))

    compare_cases("config_unreadable", cases)


@pytest.mark.texts
def test_rules_that_can_never_be_judged(file: File) -> None:
    cases = []
    for tables, task, keys in NEVER_JUDGED:
        made = 'score = "score"\nthreshold = 0.5' if task == "binary" else 'prediction = "predicted"'
        made += '\nversion = "v"' if OF_VERSIONS in tables else ""
        text = model(task, keys=keys, tables="\n".join(tables), predictions=made)
        cases.append(
            (changed(text, model()), [f"{name}: {why}" for name, why in never_judged(file.spec(text))])
        )

    compare_cases("config_never_judged", cases)
