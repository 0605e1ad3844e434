import pytest
from configurations import DURATION, PREDICTIONS, File, model

LABELS = '[models.labels]\ntable = "labels"\nlabel = "late"\n'
SCORED = 'score = "score"\n'


def predictions(keys: str) -> str:
    return model(predictions=keys)


def classes_of(task: str, keys: str) -> str:
    return model(task, predictions='prediction = "p"', tables=keys)


BINARY = [
    (predictions(""), ".predictions: a binary model needs score, prediction or both: got neither"),
    (
        predictions(SCORED),
        (
            ".predictions.threshold: required where there is a score and no prediction: "
            "the prediction is positive from it on"
        ),
    ),
    (
        predictions(SCORED + 'prediction = "p"\nthreshold = 0.5'),
        (
            ".predictions.threshold: a prediction is a column or made by a threshold: got both; "
            "leave one of them out"
        ),
    ),
    (
        predictions('prediction = "p"\nthreshold = 0.5'),
        (
            ".predictions.threshold: a prediction is a column or made by a threshold: got both; "
            "leave one of them out"
        ),
    ),
    (
        predictions(SCORED + "threshold = 30"),
        ".predictions.threshold: must lie in score_range [0, 1]: got 30",
    ),
    (
        predictions(SCORED + "threshold = 1\nscore_range = [1, 0]"),
        ".predictions.score_range: a range is [lowest, highest], the lowest below the highest: got [1, 0]",
    ),
    (
        predictions(SCORED + "threshold = 1\nscore_range = [0, nan]"),
        ".predictions.score_range: a range is [lowest, highest], the lowest below the highest: got [0, nan]",
    ),
    (
        predictions('prediction = "p"\nscore_range = [0, 2]'),
        ".predictions.score_range: a range needs its column: give score",
    ),
    (
        predictions('prediction = "p"\nprobabilities = { a = "p_a", b = "p_b" }'),
        ".predictions.probabilities: a binary model has none",
    ),
    (
        predictions('prediction = "p"\nprobabilities_prefix = "p_"'),
        ".predictions.probabilities_prefix: a binary model has none",
    ),
    (classes_of("binary", "[models.classes]\nvalues = [1, 0]"), ".classes.values: a binary model has none"),
    (
        classes_of("binary", "[models.classes]\npositive = true\nnegative = 1.0"),
        '.classes: positive and negative differ: got "1" for both',
    ),
    (
        classes_of("binary", "[models.classes]\npositive = [1]"),
        ".classes.positive: a class is text, a number, true or false: got [1]",
    ),
]

MULTICLASS = [
    (
        model("multiclass", predictions="", tables='[models.classes]\nvalues = ["a", "b"]'),
        ".predictions: a multiclass model needs prediction, probabilities or both: got neither",
    ),
    (
        model("multiclass", predictions='probabilities = { a = "p" }\nthreshold = 0.5'),
        '.predictions.probabilities: give a column for each of at least two classes: got "a"',
        ".predictions.threshold: a multiclass model has none",
    ),
    (
        model("multiclass", predictions='probabilities = { 1 = "p", "1.0" = "q" }'),
        ".predictions.probabilities: classes differ (1, 1.0 and true are the same): got 1, 1.0",
    ),
    (
        model(
            "multiclass",
            predictions='probabilities = { a = "p", b = "q" }',
            tables='[models.classes]\nvalues = ["a", "c"]',
        ),
        '.predictions.probabilities: give a column for each of classes.values ("a", "c"): got "a", "b"',
    ),
    (
        model("multiclass", predictions='probabilities_prefix = "p_"'),
        (
            ".predictions.probabilities_prefix: not supported yet without classes.values: "
            "name the classes, or give probabilities"
        ),
    ),
    (
        model("multiclass", predictions='probabilities = { a = "p", b = "q" }\nprobabilities_prefix = "p_"'),
        (
            ".predictions.probabilities_prefix: "
            "give at most one of probabilities and probabilities_prefix: got both"
        ),
    ),
    (
        classes_of("multiclass", "[models.classes]\npositive = 1\nnegative = 0\nvalues = [1, 0]"),
        ".classes.positive: a multiclass model has none",
        ".classes.negative: a multiclass model has none",
    ),
    (
        classes_of("multiclass", '[models.classes]\nvalues = ["a", "a"]'),
        '.classes.values: give at least two classes, each once: got ["a", "a"]',
    ),
    (
        classes_of("multiclass", f"[models.classes]\nvalues = {list(range(1_001))}"),
        ".classes.values: at most 1,000 classes are measured, others count as unseen: got 1,001",
    ),
    (
        classes_of("multiclass", ""),
        ".classes.values: required without a reference and without probabilities: which classes are there?",
    ),
]

REGRESSION = [
    (
        model("regression", predictions='score = "s"\nscore_range = [0, 9]\nthreshold = 1'),
        ".predictions: a regression model needs prediction: got none",
        ".predictions.score: a regression model has none",
        ".predictions.score_range: a regression model has none",
        ".predictions.threshold: a regression model has none",
    ),
    (
        classes_of("regression", "[models.classes]\n[models.profit]\nmatrix = { 1 = { 1 = 1 } }"),
        ".classes: a regression model has none",
        ".profit: a regression model has none",
    ),
]

TIMES = [
    (model(keys='horizon = "99999d"'), '.horizon: a duration is at most 36500d: got "99999d"'),
    (model(keys='windows = ["99999d"]'), '.windows[0]: a duration is at most 36500d: got "99999d"'),
    (model(keys='every = "7h"'), '.every: must divide a day or be a multiple of one: got "7h"'),
    (model(keys='every = "0s"'), '.every: must be greater than 0: got "0s"'),
    (model(keys="every = 60"), f'.every: {DURATION}: got "60"'),
    (model(keys='windows = ["7x"]'), f'.windows[0]: {DURATION}: got "7x"'),
    (
        model(keys="windows = [7]"),
        (
            '.windows[0]: a window is a duration, a calendar unit ("day", "week", "month", "quarter"), '
            "or a table of length and step: got 7"
        ),
    ),
    (model(keys="windows = []"), ".windows: must have at least one entry: got []"),
    (
        model(keys='windows = ["1d", { length = "1d", step = "1d" }]'),
        '.windows[1]: every window has a length of its own: got "1d" twice',
    ),
    (
        model(keys='windows = ["90m"]'),
        '.windows[0]: length and step must be multiples of the pane (1h): got length "90m", the default step',
    ),
    (
        model(keys='windows = [{ length = "2h", step = "90m" }]'),
        '.windows[0]: length and step must be multiples of the pane (1h): got length "2h", step "90m"',
    ),
    (
        model(keys='windows = [{ length = "month", step = "1d" }]'),
        ".windows[0]: a month has no step: its ends are the months' ends",
    ),
    (
        model(keys='windows = ["month"]\npane = "2d"'),
        '.windows[0]: months need a pane that divides every end of theirs in UTC, at most "1d": got "2d"',
    ),
    (
        model(keys='windows = ["week"]\ntimezone = "Asia/Kolkata"'),
        (
            '.windows[0]: weeks need a pane that divides every end of theirs in Asia/Kolkata, at most "30m": '
            'got "1h"'
        ),
    ),
    (
        model(keys='windows = ["quarter"]'),
        '.horizon: must be at least the longest window (92d): got "60d"',
    ),
    (
        model(keys='timezone = "Europe/Wien"'),
        '.timezone: a time zone has an IANA name, as in "Europe/Vienna": got "Europe/Wien"',
    ),
    (
        model(keys='windows = ["1d"]\npane = "7h"'),
        '.windows[0]: length and step must be multiples of the pane (7h): got length "1d", the default step',
        '.pane: must divide a day or be a multiple of one: got "7h"',
    ),
    (
        model(keys='windows = ["month"]\nhorizon = "30d"'),
        '.horizon: must be at least the longest window (31d): got "30d"',
    ),
    (
        model(keys='windows = ["7d"]\nhorizon = "8d"\nsettle_after = "2d"'),
        '.horizon: must be at least the longest window (7d) and settle_after (2d) together: got "8d"',
    ),
]

TABLES = [
    (
        '[[models]]\nname = "late"\nsource = "flights"\ntask = "binary"\n'
        + PREDICTIONS.replace("table", "where")
        + 'prediction = "p"',
        ".predictions: give exactly one of table and query: got neither",
    ),
    (
        predictions('prediction = "p"\nquery = "SELECT 1"'),
        ".predictions: give exactly one of table and query: got both",
    ),
    (
        model(predictions='prediction = "p"').replace('"prediction_id"', '["loan", 7]'),
        '.predictions.id: an id is a column, or a list of columns: got ["loan", 7]',
    ),
    (
        model(predictions='prediction = "p"').replace('"prediction_id"', '["loan", "loan"]'),
        '.predictions.id: the columns of an id have names, each once: got ["loan", "loan"]',
    ),
    (
        model(
            predictions='prediction = "p"',
            tables='[models.labels]\ntable = "t"\nid = "loan"\nlabel = "l"\nreported_at = "r"',
        ).replace('"prediction_id"', '["loan", "month"]'),
        (
            ".labels.id: has the columns of the predictions' id, in its order "
            '(there: "loan", "month"): got "loan"'
        ),
    ),
    (
        predictions('prediction = ""'),
        '.predictions.prediction: must not be empty: got ""',
    ),
    (
        predictions('prediction = "p"\nlogged_at_unit = "sec"'),
        '.predictions.logged_at_unit: must be one of "s", "ms", "us", "none": got "sec"',
    ),
    (
        predictions('prediction = "p"\nlogged_at_unit = "s"').replace('logged_at = "logged_at"', ""),
        ".predictions.logged_at_unit: a unit needs its column: give logged_at",
    ),
    (
        model(keys='settle_after = "3d"', tables=LABELS + 'reported_at_unit = "s"'),
        ".labels.reported_at_unit: a unit needs its column: give reported_at",
    ),
    (
        model(tables=LABELS),
        ".settle_after: required where labels have no reported_at: from which age on are they complete?",
    ),
    (
        model(keys='settle_after = "3d"', tables=LABELS + 'query = "SELECT 1"'),
        ".labels: give at most one of table and query: got both",
    ),
    (
        model(
            keys='settle_after = "3d"',
            tables='[models.labels]\nlabel = "late"\nwhere = "late < 2"\nid = "label_id"',
        ),
        ".labels.where: labels in the prediction table have no condition of their own: give a table or query",
        ".labels.id: labels in the prediction table have its id: give a table or query, or leave it out",
    ),
    (
        model(tables="[models.reference]"),
        ".reference: give exactly one of file, table, query and from + to: got none",
    ),
    (
        model(tables='[models.reference]\nfile = "r.parquet"\nfrom = "2013-01-01"\nto = 2013-02-01'),
        ".reference: give exactly one of file, table, query and from + to: got file and from + to",
    ),
    (
        model(tables='[models.reference]\nfile = "r.xlsx"'),
        '.reference.file: must end in .parquet or .csv: got "r.xlsx"',
    ),
    (
        model(tables='[models.reference]\nfrom = "2013-01-01"'),
        ".reference: from and to belong together: got only from",
    ),
    (
        model(tables='[models.reference]\nfrom = "2013-01-01"\nto = 2013-01-01'),
        ".reference.to: must be later than from",
    ),
    (
        model(tables='[models.reference]\nfrom = "January"\nto = 2013-01-01'),
        '.reference.from: a time is an ISO-8601 date or time, as in "2013-03-01": got "January"',
    ),
    (
        model(tables='[models.features]\nnumeric = ["a", "b"]\ncategorical = ["b"]'),
        '.features: every feature is named once, as numeric or categorical: got "b" twice',
    ),
    (
        model(tables='[models.features]\nnumeric = ["a"]\nexclude = ["b"]'),
        (
            ".features.exclude: only for features that are found by themselves: "
            "leave it out, or numeric and categorical"
        ),
    ),
    (
        model(tables='[models.control]\narm_column = "g"\ncontrol_value = 1\ntreatment_value = true'),
        '.control: control_value and treatment_value differ: got "1" for both',
    ),
    (
        model(tables="[models.profit]\nmatrix = { 1 = { 1 = 1, 0 = 0 } }"),
        '.profit.matrix: give a row for each actual class ("0", "1"): got "1"',
    ),
    (
        model(tables="[models.profit]\nmatrix = { 1 = { 1 = 1, 0 = 0 }, 0 = { 2 = 0 } }"),
        '.profit.matrix.0: give an amount for each predicted class ("0", "1"): got "2"',
    ),
    (
        model(tables="[models.profit]\nmatrix = { 1 = { 1 = true, 0 = 0 }, 0 = { 1 = 0, 0 = 1 } }"),
        ".profit.matrix.1.1: must be a number: got true",
    ),
]

NUMBERS = [
    (
        model(predictions="prediction = 2013-01-01"),
        ".predictions.prediction: must be text: got 2013-01-01",
    ),
    (model(keys="level = 1"), ".level: must be less than 1: got 1"),
    (model(keys="settled_share = 1.1"), ".settled_share: must be at most 1: got 1.1"),
    (model(keys="resamples = 4.5"), ".resamples: must be a whole number: got 4.5"),
    (model(keys="scale = inf"), ".scale: must be a finite number: got inf"),
    (model(keys='enabled = "no"'), '.enabled: must be true or false: got "no"'),
    (
        model(keys="[models.reading]\nrecount_rows = 0"),
        ".reading.recount_rows: must be greater than 0: got 0",
    ),
]


@pytest.mark.parametrize(
    "case",
    [*BINARY, *MULTICLASS, *REGRESSION, *TIMES, *TABLES, *NUMBERS],
    ids=lambda case: case[1][1:60],
)
def test_a_fault_of_a_model_says_what_the_rule_is_and_what_was_got(file: File, case: tuple[str, ...]) -> None:
    text, *expected = case

    assert sorted(file.faults_of(text)) == sorted(f'models[0] "late"{fault}' for fault in expected)


@pytest.mark.parametrize(
    ("shares", "fault"),
    [
        ("[0.1, 0.05, 0.1]", ".top_shares[2]: every share is given once: got 10 % twice"),
        ("[0.0]", ".top_shares[0]: must be greater than 0: got 0.0"),
    ],
)
def test_shares_of_the_highest_scores_are_shares(file: File, shares: str, fault: str) -> None:
    assert file.faults_of(model(keys=f"top_shares = {shares}")) == [f'models[0] "late"{fault}']
