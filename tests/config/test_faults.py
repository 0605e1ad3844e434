from pathlib import Path

import pytest
from configurations import DURATION, SOURCE, File, model

from monitor.config.config_loading import settings_of
from monitor.core.errors import ConfigurationError

FIRST = "`monitor init` writes a first one, --config or MONITOR_CONFIG names another"

NO_ADDRESS = (
    "http.url: an address is http:// or https://, a host, perhaps a port and a path, without user, query and "
    'fragment, as in "https://monitor.example"; it is not shown here'
)
NO_ADDRESSES = (
    *("", "monitor.example", "ftp://monitor.example", "https://", "https://ann:pw@monitor.example"),
    *("https://a?b", "https://a#b", "https://a:0", "https://a:99999", "https://[::x]", "https://a b"),
    *("https://a/{{ end }}", "https://a/\\n", "https://ä.example", "javascript:alert(1)//"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[http]\nport = 70000", "http.port: must be at most 65535: got 70000"),
        ('[http]\nport = "web"', 'http.port: must be a whole number: got "web"'),
        ('[http]\nhost = ""', 'http.host: must not be empty: got ""'),
        (
            '[http]\ntls_key = "tls.key"',
            "http.tls_key: a key belongs to a certificate: tls_certificate is missing",
        ),
        *((f'[http]\nurl = "{url}"', NO_ADDRESS) for url in NO_ADDRESSES),
        ("store = 5", "store: must be a table: got 5"),
        (
            '[store]\nurl = "monitor.db"',
            'store.url: a database URL starts as in "sqlite:///monitor.db": got no scheme',
        ),
        ('[log]\nformat = "xml"', 'log.format: must be one of "console", "json": got "xml"'),
        (
            '[sources."my db"]\nurl = "sqlite://"',
            'sources."my db": a name is made of letters, digits, _, . and -: got "my db"',
        ),
        ('[sources.a]\nurl = "sqlite://"\ntimezone = 1', "sources.a.timezone: must be text: got 1"),
        ("[sources.a]", "sources.a.url: required, but missing"),
        (
            '[sources.a]\nurl = "sqlite://"\ntimezone = "Europe/Viena"',
            (
                'sources.a.timezone: a time zone has an IANA name, as in "Europe/Vienna": got "Europe/Viena"'
                '; did you mean "Europe/Vienna"?'
            ),
        ),
        ('[sources.a]\nurl = "sqlite://"\naudit = "0d"', 'sources.a.audit: must be greater than 0: got "0d"'),
        (
            '[sources.a]\nurl = "sqlite://"\nmax_connections = true',
            "sources.a.max_connections: must be a whole number: got true",
        ),
        ("defaults = 5", "defaults: must be a table: got 5"),
        ('[defaults]\nname = "late"', "defaults.name: each model has a name of its own"),
    ],
)
def test_a_fault_outside_the_models_says_so_too(file: File, text: str, expected: str) -> None:
    assert file.faults(text + SOURCE + model()) == [expected]


def test_a_source_that_is_not_there_is_named_with_the_nearest_one(file: File) -> None:
    assert file.faults_of(model().replace('"flights"', '"fligths"')) == [
        (
            'models[0] "late".source: no such source (the sources are "flights"): '
            'got "fligths"; did you mean "flights"?'
        )
    ]


def test_a_model_without_any_source_is_a_fault(file: File) -> None:
    assert file.faults(model()) == [
        'models[0] "late".source: no such source (there is no [sources.NAME]): got "flights"'
    ]


def test_models_have_names_of_their_own(file: File) -> None:
    assert file.faults_of(model(), model(name="early"), model()) == [
        'models[2] "late".name: every model has a name of its own: models[0] has the same'
    ]


def test_a_name_must_be_fit_for_labels_and_commands(file: File) -> None:
    assert file.faults_of(model(name="late flights")) == [
        'models[0] "late flights".name: a name is made of letters, digits, _, . and -: got "late flights"'
    ]


def test_a_name_is_no_address_of_json(file: File) -> None:
    rule = '[[models.alerts]]\nname = "few.json"\nmeasure = "records"\nbelow = 1\n'
    said = 'a name that is part of an address does not end in ".json"'

    assert file.faults_of(model(name="late.json")) == [f'models[0] "late.json".name: {said}: got "late.json"']
    assert file.faults_of(f"{model()}\n{rule}") == [
        f'models[0] "late".alerts[0].name: {said}: got "few.json"'
    ]


def test_there_is_at_least_one_model(file: File) -> None:
    assert file.faults(SOURCE) == ["models: required, but missing"]
    assert file.faults("models = []" + SOURCE) == ["models: must have at least one entry: got []"]


def test_one_pair_of_brackets_around_models_is_explained(file: File) -> None:
    assert file.faults_of('[models]\nname = "late"') == [
        'models: must be a list of tables: "[[models]]" instead of "[models]"'
    ]


def test_a_model_that_is_no_table_does_not_hide_the_others(file: File) -> None:
    text = model(keys='every = "7h"').split("[[models]]")[1]

    assert file.faults("models = [5]" + SOURCE) == ["models[0]: must be a table: got 5"]
    assert "every" in file.faults_of("[[models]]" + text)[0]


def test_a_disabled_model_is_checked_too(file: File) -> None:
    assert file.faults_of(model(keys='enabled = false\nevery = "7h"')) == [
        'models[0] "late".every: must divide a day or be a multiple of one: got "7h"'
    ]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("scroe", '; did you mean "score"?'),
        ("treshold", '; did you mean "threshold"?'),
        ("event_tme", '; did you mean "event_time"?'),
        ("Version", '; did you mean "version"?'),
        ("reported_at", "; it belongs in [models.labels]"),
        ("horizon", "; it belongs in [[models]]"),
        ("xyz", ""),
        ("host", ""),
    ],
)
def test_an_unknown_key_is_named_with_the_one_that_was_meant(file: File, key: str, expected: str) -> None:
    text = model(predictions=f'prediction = "p"\n{key} = "s"')

    assert f'models[0] "late".predictions.{key}: unknown key{expected}' in file.faults_of(text)


def test_letters_in_another_order_are_what_was_meant(file: File) -> None:
    text = model(tables='[models.labels]\nreported_at = "seen"\nlable = "late"')

    assert file.faults_of(text) == ['models[0] "late".labels.lable: unknown key; did you mean "label"?']


@pytest.mark.parametrize(("unit", "meant"), [("monh", "month"), ("dya", "day"), ("qarter", "quarter")])
def test_a_mistyped_calendar_unit_is_named_with_the_one_that_was_meant(
    file: File, unit: str, meant: str
) -> None:
    (fault,) = file.faults_of(model(keys=f'windows = ["{unit}"]'))

    assert fault == f'models[0] "late".windows[0]: {DURATION}: got "{unit}"; did you mean "{meant}"?'


def test_a_window_that_is_no_duration_may_have_been_meant_as_a_calendar_unit(file: File) -> None:
    (fault,) = file.faults_of(model(keys='windows = ["soon"]'))

    assert fault.endswith('got "soon"; or a calendar unit ("day", "week", "month", "quarter")')


@pytest.mark.parametrize("key", ["embeddings"])
def test_no_nonsense_is_suggested_for_a_key_of_a_later_version(file: File, key: str) -> None:
    assert file.faults_of(model(keys=f"{key} = []")) == [f'models[0] "late".{key}: unknown key']


def test_no_nonsense_is_suggested_for_a_table_of_a_later_version(file: File) -> None:
    assert file.faults("dashboards = []\n" + SOURCE + model()) == ["dashboards: unknown key"]


def test_a_mistyped_key_causes_no_fault_beyond_its_own(file: File) -> None:
    text = model(predictions='scroe = "score"\nthreshhold = 0.5').replace("event_time =", "evnt_time =")

    assert file.faults_of(text) == [
        'models[0] "late".predictions.evnt_time: unknown key; did you mean "event_time"?',
        'models[0] "late".predictions.scroe: unknown key; did you mean "score"?',
        'models[0] "late".predictions.threshhold: unknown key; did you mean "threshold"?',
    ]


def test_a_key_beside_its_mistyped_twin_keeps_its_value(file: File) -> None:
    text = model(predictions='scroe = "a"\nscore = "b"\nthreshold = 7')

    assert file.faults_of(text) == [
        'models[0] "late".predictions.scroe: unknown key; did you mean "score"?',
        'models[0] "late".predictions.threshold: must lie in score_range [0, 1]: got 7',
    ]


def test_every_fault_is_named_at_once_in_the_order_of_the_file(file: File) -> None:
    text = """
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

    assert file.faults(text) == [
        'http.prt: unknown key; did you mean "port"?',
        "sources.flights.url: the environment variable URL is not set",
        'defaults.every: must divide a day or be a multiple of one: got "7h"',
        (
            'models[0] "late".source: no such source (the sources are "flights"): '
            'got "fligths"; did you mean "flights"?'
        ),
        f'models[0] "late".windows[1]: {DURATION}: got "7x"',
        'models[0] "late".predictions: give exactly one of table and query: got both',
        'models[0] "late".predictions.scroe: unknown key; did you mean "score"?',
        (
            'models[0] "late".predictions.threshold: required where there is a score and no prediction: '
            "the prediction is positive from it on"
        ),
        'models[0] "late".control: control_value and treatment_value differ: got "1" for both',
        (
            'models[1].task: must be one of "binary", "multiclass", "regression": got "binery"'
            '; did you mean "binary"?'
        ),
        "models[1].name: required, but missing",
        "models[1].source: required, but missing",
        "models[1].predictions: required, but missing",
    ]


def test_a_fault_of_the_defaults_is_named_once_and_where_it_stands(file: File) -> None:
    defaults = (
        '[defaults]\nlevl = 0.9\nevery = "7x"\npredictions = { scroe = "s" }\nreading = { overlap = "x" }\n'
    )

    assert file.faults(SOURCE + defaults + model() + model(name="early")) == [
        'defaults.levl: unknown key; did you mean "level"?',
        f'defaults.every: {DURATION}: got "7x"',
        'defaults.predictions.scroe: unknown key; did you mean "score"?',
        f'defaults.reading.overlap: {DURATION}: got "x"',
    ]


def test_a_syntax_error_is_named_with_its_line(file: File) -> None:
    (fault,) = file.faults("[store]\nurl = \n")

    assert fault == f"{file.path}: not valid TOML: Invalid value (at line 2, column 7)"


def test_a_file_that_is_no_text_is_named(file: File) -> None:
    file.path.write_bytes(b"a = '\xff'")

    with pytest.raises(ConfigurationError) as raised:
        settings_of(file.path, {})

    assert raised.value.faults == (f"{file.path}: not valid TOML: it is not UTF-8 text",)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        settings_of(tmp_path / "config.toml", {})

    assert raised.value.faults == (
        f"{tmp_path}/config.toml: cannot be read: No such file or directory; {FIRST}",
    )
