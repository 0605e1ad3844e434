"""The last table of the recipes: each thing that is not supported, and its way around, on a small log."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from recipe_logs import START, Recipe, outcomes, requests, section, training
from sklearn.metrics import roc_auc_score

from monitor.cli import main
from monitor.core.clock import DAY, HOUR
from monitor.measures.measurement_row import LabelTruth

LATER = START + 7 * DAY + HOUR
LOG = 'table = "predictions"\nid = "request_id"'  # of the recipe for a log without labels
REFERENCE = '[models.reference]\ntable = "training"\n'
LABELS = '\n[models.labels]\ntable = "outcomes"\nid = {id}\nlabel = "churned"\nreported_at = "reported_at"\n'


@pytest.fixture
def made(recipe: Callable[[str], Recipe]) -> Recipe:
    """The recipe that each row of the table is a change of."""
    return recipe("No labels")


def refused(recipe: Recipe) -> str:
    """What `monitor check` says of a configuration or tables with faults."""
    done = CliRunner().invoke(main, ["check", "--config", str(recipe.directory / "config.toml")])
    assert done.exit_code == 2
    return done.output


def test_every_row_of_the_table_has_a_test() -> None:
    rows = [line.split("|")[1].strip() for line in section("And the rest").splitlines() if line[:1] == "|"]

    assert rows[2:] == [
        "money, arrays, intervals as columns",
        "predictions of one model in several tables",
        "records without an id",
        "Kafka, an API",
    ]


@pytest.mark.postgres
def test_money_arrays_and_intervals_are_refused_by_name_and_can_be_cast(
    postgres_url: str, tmp_path: Path
) -> None:
    made = Recipe("No labels", tmp_path, postgres_url)
    log, trained = requests(7, 100), training("churned")
    made.save("predictions", log)
    made.save("training", trained.assign(tags=1.0, waited=90.0))
    made.run("ALTER TABLE predictions ALTER age TYPE money USING age::numeric::money")
    made.run("ALTER TABLE predictions ADD tags integer[] DEFAULT '{7}', ADD waited interval DEFAULT '90 s'")
    features = {REFERENCE: REFERENCE + '\n[models.features]\nnumeric = ["age", "tags", "waited"]\n'}
    query = """SELECT request_id, created_at, score, age::numeric AS age, cardinality(tags) AS tags,
        extract(epoch FROM waited) AS waited FROM predictions"""

    made.configure(features)
    faults = refused(made)
    made.configure(features | {LOG: f'query = """{query}"""\nid = "request_id"'})
    made.check()
    rows = made.cycle(LATER)

    for column, kind in (("age", "money"), ("tags", "integer[]"), ("waited", "interval")):
        assert f'column "{column}" (feature:{column}) has the type {kind}' in faults
    assert [rows.value("invalid_rate", f"feature:{name}") for name in ("age", "tags", "waited")] == [0, 0, 0]
    assert rows.shifted() == set()


def test_predictions_in_several_tables_are_one_log_through_a_view(made: Recipe) -> None:
    log = requests(7, 100)
    for name, part in log.groupby(log.index % 2):
        made.save(f"predictions_{name}", part)
    made.run("CREATE VIEW predictions AS SELECT * FROM predictions_0 UNION ALL SELECT * FROM predictions_1")
    for table in ("predictions_0", "predictions_1"):
        made.run(f"CREATE INDEX by_time_{table} ON {table} (created_at)")
    made.save("training", training("churned"))
    made.configure()

    made.check()
    rows = made.cycle(LATER)

    assert rows.value("records") == 700
    assert rows.shifted() == set()


def test_records_without_an_id_are_known_by_several_columns(made: Recipe) -> None:
    log = requests(7, 100)
    labels = outcomes(log, "churned", "5m")
    customers = [f"c{at % 10}" for at in range(len(log))]
    keys = pd.DataFrame({"customer": customers, "created_at": log["created_at"]})
    made.save("predictions", log.drop(columns="request_id").assign(customer=customers))
    made.save("outcomes", pd.concat([keys, labels[["churned", "reported_at"]]], axis=1))
    made.save("training", training("churned"))
    ids = '["customer", "created_at"]'
    made.configure({'id = "request_id"': f"id = {ids}", REFERENCE: REFERENCE + LABELS.format(id=ids)})

    made.check()
    found = made.cycle(LATER).of("roc_auc", truth=LabelTruth.PROVISIONAL)

    assert found.n == 700
    assert found.value == pytest.approx(roc_auc_score(labels["churned"], log["score"]), abs=found.resolution)


def test_the_tables_own_key_is_an_id(made: Recipe) -> None:
    log = requests(7, 100).drop(columns="request_id")
    made.run(
        "CREATE TABLE predictions (key INTEGER PRIMARY KEY, created_at TEXT, score REAL, age REAL, plan TEXT)"
    )
    made.save("predictions", log)
    made.save("training", training("churned"))
    made.configure({'id = "request_id"': 'id = "key"'})

    made.check()

    assert made.cycle(LATER).value("records") == 700


@pytest.mark.parametrize(
    "url", ["kafka://broker/predictions", "hdfs://lake/predictions.parquet", "https://api"]
)
def test_what_is_no_database_is_refused_as_a_source(tmp_path: Path, url: str) -> None:
    made = Recipe("No labels", tmp_path, url)
    made.configure()

    kind = url.partition(":")[0]
    assert f'source "serving" (of "churn"): {url}: no kind of database is called "{kind}"' in refused(made)


def test_a_reference_may_be_a_parquet_file(made: Recipe) -> None:
    made.save("predictions", requests(7, 100))
    training("churned").to_parquet(made.directory / "training.parquet")
    made.configure({'table = "training"': 'file = "training.parquet"'})

    made.check()

    assert made.cycle(LATER).shifted() == set()
