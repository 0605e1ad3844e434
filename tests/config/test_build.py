import json

import numpy as np
import pytest
from configurations import PREDICTIONS, SOURCE, File, model
from keyed_models import model_keys

from monitor.core.clock import DAY, HOUR, MINUTE, from_iso
from monitor.core.secrets import hide_secrets
from monitor.core.text import content_hash
from monitor.measures.catalogue.measure import DEFAULT_FAMILIES
from monitor.records.reading import ComparedArms, ModelTask, ReadingOptions
from monitor.specs.model_spec import ModelSpec, ReferenceSpec, Relation, SourceSpec
from monitor.specs.model_table import BudgetTable
from monitor.specs.settings import HttpSpec, LogSpec
from monitor.windows.window_ends import Window

LABELS = """
[models.labels]
table = "labels"
label = "late"
reported_at = "reported_at"
reported_at_unit = "ms"
revision = "rev"
"""


def test_what_is_left_out_has_the_defaults_of_the_specs(file: File) -> None:
    settings = file.settings(SOURCE + model())

    assert settings.store.url == f"sqlite:///{file.path.parent / 'monitor.db'}"
    assert settings.http == HttpSpec(host="127.0.0.1", port=9839)
    assert settings.log == LogSpec(format="console", level="info")
    url = f"sqlite:///{file.path.parent / 'flights.db'}"
    assert settings.sources == (SourceSpec(name="flights", url=url),)
    (spec,) = settings.models
    reading = ReadingOptions(
        task=ModelTask.BINARY, classes=("0", "1"), has_score=True, score_range=(0.0, 1.0), threshold=0.5,
        names=spec.reading.names,
    )  # fmt: skip
    columns = (
        ("id", "prediction_id"),
        ("event_time", "event_time"),
        ("logged_at", "logged_at"),
        ("score", "score"),
    )
    windows = (Window("1d", DAY, HOUR), Window("7d", 7 * DAY, 6 * HOUR), Window("30d", 30 * DAY, DAY))
    assert spec == ModelSpec(
        keys=model_keys("late", "flights", predictions=spec.keys.predictions),
        reading=reading,
        predictions=Relation(table="predictions", columns=columns),
        windows=windows,
        families=DEFAULT_FAMILIES[ModelTask.BINARY],
        budget=BudgetTable(),
        rules=spec.rules,
        config=spec.config,
        config_hash=spec.config_hash,
    )


def test_the_content_of_a_configuration_has_its_hash(file: File) -> None:
    (spec,) = file.settings(SOURCE + model()).models

    content = json.loads(spec.config)

    assert content["predictions"]["score"] == "score"
    assert content_hash(content) == spec.config_hash


def test_what_was_filled_in_is_not_in_the_content_of_a_configuration(file: File) -> None:
    query = "query = \"SELECT * FROM raw WHERE tenant = '${TENANT}'\""
    text = SOURCE + model().replace('table = "predictions"', query)

    (spec,) = file.settings(text, {"TENANT": 's"3cret', "OTHER": "score"}).models

    content = json.loads(spec.config)
    assert content["predictions"]["query"] == "SELECT * FROM raw WHERE tenant = '${TENANT}'"
    assert "3cret" not in spec.config
    assert spec.predictions.query == "SELECT * FROM raw WHERE tenant = 's\"3cret'"


def test_options_of_a_source_are_taken_over(file: File) -> None:
    text = """
        [sources.flights]
        url = "sqlite:///f.db"
        timezone = "Europe/Vienna"
        max_connections = 3
        statement_timeout = "5s"
        audit = "2d"
        batch_rows = 7
    """

    settings = file.settings(text + model())

    assert settings.sources == (
        SourceSpec(
            name="flights", url=f"sqlite:///{file.path.parent / 'f.db'}", timezone="Europe/Vienna",
            max_connections=3, statement_timeout=MINUTE // 12, audit=2 * DAY, batch_rows=7,
        ),
    )  # fmt: skip
    assert settings.models[0].reading.zone == "Europe/Vienna"


def test_a_catalogue_is_an_address_whose_secrets_are_hidden(file: File) -> None:
    secret = file.path.parent / "token"
    secret.write_text("of-a-file-that-changes")
    for catalog, expected in {
        "sqlite:///lake/catalog.db": f"sqlite:///{file.path.parent}/lake/catalog.db",
        "https://rest.example/?token=${TOKEN}": "https://rest.example/?token=of-the%20service",
        f"https://rest.example/?token=${{file:{secret}}}": f"https://rest.example/?token=${{file:{secret}}}",
    }.items():
        text = f'[sources.flights]\nurl = "s3://bucket/ml"\ncatalog = "{catalog}"\n'
        (source,) = file.settings(text + model(), {"TOKEN": "of-the service"}).sources
        assert source.catalog == expected
        assert "token" not in repr(source)
    assert hide_secrets("got of-the%20service, of-the service") == "got ***, ***"


def test_options_of_a_model_are_taken_over(file: File) -> None:
    keys = """
        every = "2h"
        windows = [{ length = "2d", step = "12h" }, "month"]
        pane = "30m"
        horizon = "70d"
        settled_share = 0.9
        settle_after = "3d"
        level = 0.9
        rate_interval = "clopper-pearson"
        dependence = "day"
        resamples = 100
        scale = 10.5
        max_series = 50
    """
    reading = """
        [models.reading]
        overlap = "1h"
        tolerance = "0s"
        lookback = "3d"
        recount_rows = 1_000
        revise_every = "6h"
    """

    spec = file.spec(model(keys=keys, tables=reading))

    assert spec.windows == (Window("2d", 2 * DAY, 12 * HOUR), Window("month", 31 * DAY, 0))
    reread = spec.keys.reading
    assert (spec.keys.every, reread.overlap, reread.lookback) == (2 * HOUR, HOUR, 3 * DAY)
    assert (reread.recount_rows, reread.revise_every, spec.keys.max_series) == (1_000, 6 * HOUR, 50)
    assert (spec.keys.settled_share, spec.keys.settle_after) == (0.9, 3 * DAY)
    assert (spec.keys.level, spec.keys.resamples, spec.reading.scale) == (0.9, 100, 10.5)
    assert (spec.keys.rate_interval, spec.keys.dependence) == ("clopper-pearson", "day")
    assert (spec.reading.pane, spec.reading.tolerance, spec.reading.horizon) == (30 * MINUTE, 0, 70 * DAY)


def test_windows_are_those_of_the_models_zone(file: File) -> None:
    keys = 'timezone = "Europe/Vienna"\nwindows = ["week", "quarter"]\nhorizon = "100d"'

    spec = file.spec(model(keys=keys))

    assert spec.windows == (
        Window("week", 7 * DAY + HOUR, 0, "Europe/Vienna"),
        Window("quarter", 92 * DAY + HOUR, 0, "Europe/Vienna"),
    )


def test_a_window_is_ready_after_the_overlap_unless_told_otherwise(file: File) -> None:
    overlap = '[models.reading]\noverlap = "1h"\n'

    assert file.spec(model(tables=overlap)).ready_after == HOUR
    assert file.spec(model(tables=overlap + 'ready_after = "0s"')).ready_after == 0


def test_labels_of_a_table_of_their_own_have_the_id_of_the_predictions_unless_named(file: File) -> None:
    columns = (("label", "late"), ("reported_at", "reported_at"), ("revision", "rev"))

    spec = file.spec(model(tables=LABELS))
    other = file.spec(model(tables=LABELS + 'id = "label_id"\nwhere = "late < 2"'))

    assert spec.labels == Relation(table="labels", columns=(("id", "prediction_id"), *columns))
    assert other.labels == Relation(table="labels", where="late < 2", columns=(("id", "label_id"), *columns))


def test_an_id_of_several_columns_has_a_role_for_each(file: File) -> None:
    two = model(tables=LABELS + 'id = ["no", "of_month"]').replace('"prediction_id"', '["loan_id", "month"]')

    spec = file.spec(two)

    assert spec.predictions.id_columns == (("id", "loan_id"), ("id:1", "month"))
    assert spec.labels is not None
    assert spec.labels.id_columns == (("id", "no"), ("id:1", "of_month"))
    assert spec.reading.labelled


def test_labels_may_be_columns_of_the_prediction_table(file: File) -> None:
    spec = file.spec(model(tables=LABELS.replace('table = "labels"', "")))

    assert spec.labels is not None
    assert (spec.labels.table, spec.labels.query) == (None, None)
    assert spec.labels.column_of("label") == "late"


def test_units_of_integer_times_are_known_by_role(file: File) -> None:
    units = 'score = "score"\nthreshold = 0.5\nevent_time_unit = "s"\nlogged_at_unit = "us"'

    spec = file.spec(model(predictions=units, tables=LABELS))

    assert spec.reading.time_units == (("event_time", "s"), ("logged_at", "us"), ("reported_at", "ms"))


@pytest.mark.parametrize(
    ("logged", "reported", "units"),
    [
        ("", "", {"event_time": "s", "logged_at": "s", "reported_at": "s"}),
        ('logged_at_unit = "ms"', "", {"event_time": "s", "logged_at": "ms", "reported_at": "s"}),
        ('logged_at_unit = "none"', 'reported_at_unit = "none"', {"event_time": "s"}),
    ],
)
def test_other_times_have_the_unit_of_the_event_time_unless_they_say_otherwise(
    file: File, logged: str, reported: str, units: dict[str, str]
) -> None:
    predictions = f'score = "score"\nthreshold = 0.5\nevent_time_unit = "s"\n{logged}'
    labels = LABELS.replace('reported_at_unit = "ms"', reported)

    spec = file.spec(model(predictions=predictions, tables=labels))

    assert dict(spec.reading.time_units) == units


def test_names_of_columns_are_kept_for_messages(file: File) -> None:
    reading = file.spec(model(tables=LABELS)).reading

    assert reading.column_name("id") == "prediction_id"
    assert reading.column_name("label") == "late"
    assert reading.column_name("revision") == "rev"


def test_versions_and_arms_are_read_where_they_are_configured(file: File) -> None:
    control = '[models.control]\narm_column = "group"\ncontrol_value = false\ntreatment_value = 1.0'

    spec = file.spec(model(predictions='prediction = "p"\nversion = "v"', tables=control))

    assert spec.reading.versioned
    assert spec.reading.arms == ComparedArms(column="group", control="0", treatment="1")
    assert spec.predictions.column_of("arm") == "group"
    assert spec.predictions.column_of("version") == "v"
    assert not spec.reading.has_score


def test_class_values_are_canonical_text(file: File) -> None:
    tables = '[models.classes]\npositive = true\nnegative = "no"\n[models.profit]\n'
    matrix = 'matrix = { "1.0" = { true = 140, no = -1.5 }, no = { 1 = 0, no = 2 } }'

    spec = file.spec(model(tables=tables + matrix))

    assert spec.reading.classes == ("no", "1")
    assert set(spec.profit) == {("1", "1", 140.0), ("1", "no", -1.5), ("no", "1", 0.0), ("no", "no", 2.0)}


def test_a_regression_has_neither_classes_nor_a_range(file: File) -> None:
    reading = file.spec(model("regression", predictions='prediction = "minutes"')).reading

    assert reading.classes == ()
    assert reading.score_range == (-np.inf, np.inf)
    assert not reading.has_score


def test_probabilities_lie_in_the_order_of_their_classes_bytes(file: File) -> None:
    probabilities = 'probabilities = { b = "p_b", "1.0" = "p_1", B = "p_B" }'

    spec = file.spec(model("multiclass", predictions=probabilities))

    assert spec.reading.probabilities == spec.reading.classes == ("1", "B", "b")
    assert [spec.predictions.column_of(f"probability:{name}") for name in "1Bb"] == ["p_1", "p_B", "p_b"]
    assert spec.reading.has_score
    assert spec.reading.score_range == (0.0, 1.0)


def test_a_prefix_and_the_classes_make_the_columns_of_probabilities(file: File) -> None:
    spec = file.spec(
        model(
            "multiclass",
            predictions='probabilities_prefix = "p_"',
            tables='[models.classes]\nvalues = ["DO", "DM"]',
        )
    )

    assert spec.reading.classes == spec.reading.probabilities == ("DM", "DO")
    assert spec.predictions.column_of("probability:DM") == "p_DM"


def test_classes_that_are_not_named_come_from_the_reference(file: File) -> None:
    reference = '[models.reference]\nfile = "r.csv"'

    spec = file.spec(model("multiclass", predictions='prediction = "p"\nscore = "top"', tables=reference))

    assert spec.reading.classes == ()
    assert spec.reading.has_score


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('file = "r.parquet"', ReferenceSpec(file="r.parquet")),
        (
            'table = "ref"',
            ReferenceSpec(relation=Relation(table="ref", columns=(("score", "score"), ("label", "late")))),
        ),
        (
            'query = "SELECT 1"',
            ReferenceSpec(
                relation=Relation(query="SELECT 1", columns=(("score", "score"), ("label", "late")))
            ),
        ),
        (
            'from = 2013-01-01\nto = "2013-03-01T12:00:00+01:00"',
            ReferenceSpec(start=from_iso("2013-01-01"), end=from_iso("2013-03-01T11:00:00Z")),
        ),
    ],
)
def test_a_reference_has_one_of_four_forms(file: File, keys: str, expected: ReferenceSpec) -> None:
    spec = file.spec(model(tables=LABELS + "[models.reference]\n" + keys))

    assert spec.reference == expected


def test_features_are_found_only_with_a_reference_and_where_none_is_named(file: File) -> None:
    reference = '[models.reference]\nfile = "r.csv"\n'
    named = '[models.features]\nnumeric = ["b", "a"]\ncategorical = ["d", "c"]'

    assert not file.spec(model()).find_features
    assert file.spec(model(tables=reference)).find_features
    assert file.spec(model(tables=reference + '[models.features]\nexclude = ["z"]')).exclude == ("z",)
    assert file.spec(model(tables=reference + '[models.features]\nexclude = ["z"]')).find_features
    assert not file.spec(model(tables=reference + "[models.features]\nnumeric = []")).find_features
    spec = file.spec(model(tables=reference + named))
    assert not spec.find_features
    assert (spec.reading.numeric, spec.reading.categorical) == (("a", "b"), ("c", "d"))


def test_defaults_are_merged_into_every_model_and_what_a_model_says_wins(file: File) -> None:
    defaults = """
        [defaults]
        every = "2h"
        horizon = "40d"
        [defaults.reading]
        overlap = "30m"
        lookback = "4d"
        [defaults.profit.matrix]
        1 = { 1 = 1, 0 = 2 }
        0 = { 1 = 3, 0 = 4 }
    """
    own = """
        [models.reading]
        overlap = "1h"
        [models.classes]
        positive = "yes"
        negative = "no"
        [models.profit.matrix]
        yes = { yes = 1, no = 2 }
        no = { yes = 3, no = 4 }
    """

    settings = file.settings(SOURCE + defaults + model() + model(name="own", keys='every = "3h"', tables=own))

    late, other = settings.models
    found = [(one.keys.every, one.keys.reading.overlap, one.keys.reading.lookback) for one in (late, other)]
    assert found == [(2 * HOUR, HOUR // 2, 4 * DAY), (3 * HOUR, HOUR, 4 * DAY)]
    assert late.reading.horizon == other.reading.horizon == 40 * DAY
    assert {actual for actual, _, _ in other.profit} == {"yes", "no"}


def test_a_disabled_model_is_left_out(file: File) -> None:
    settings = file.settings(SOURCE + model(keys="enabled = false") + model(name="early"))

    assert [spec.name for spec in settings.models] == ["early"]


def test_the_hash_knows_what_is_configured_and_not_how_it_is_written(file: File) -> None:
    plain = file.spec(model()).config_hash

    written_otherwise = file.spec(model(keys='every = "60m"\nlevel = 0.95'))
    changed = file.spec(model(keys='every = "2h"'))

    assert written_otherwise.config_hash == plain
    assert changed.config_hash != plain


def test_the_hash_does_not_know_the_secrets(file: File) -> None:
    text = '[sources.flights]\nurl = "${URL}"\n' + model()

    (one,) = file.settings(text, {"URL": "postgresql://ann:old@db/app"}).models
    (other,) = file.settings(text, {"URL": "postgresql://ann:new@db/app"}).models

    assert one.config_hash == other.config_hash


def test_the_prediction_log_may_be_a_query(file: File) -> None:
    text = model().replace(PREDICTIONS, PREDICTIONS.replace('table = "predictions"', 'query = "SELECT 1"'))

    assert file.spec(text).predictions.query == "SELECT 1"


def test_a_source_is_found_by_its_name(file: File) -> None:
    settings = file.settings(SOURCE + model())

    assert settings.find_source("flights").name == "flights"
    with pytest.raises(KeyError):
        settings.find_source("rodents")
