"""Names from data: whatever a version, arm, segment, category or class holds, no model stops on it."""

import random
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from serving import Bench, Database, Row, labels, predictions, reference
from sqlalchemy.pool import NullPool

from monitor.cli import main
from monitor.core.clock import HOUR, from_iso
from monitor.core.text import MOST_BYTES, make_shown_name, mark_reserved_name, readable_text

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
AS_OF = END + HOUR
ROLES = ("model_version", "region", "arm", "group", "pred")
MODEL = """
[[models]]
name = "late"
source = "log"
task = "{task}"
windows = ["1d"]
horizon = "60d"
settle_after = "2d"
resamples = 20
segments = ["region"]
{classes}
[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
logged_at = "logged_at"
prediction = "pred"
version = "model_version"
[models.labels]
table = "labels"
id = "id"
label = "late"
reported_at = "reported_at"
[models.reference]
table = "reference"
[models.features]
numeric = ["amount"]
categorical = ["group"]
[models.control]
arm_column = "arm"
control_value = "control"
treatment_value = "treatment"
"""
CLASSES = '[models.classes]\nvalues = ["0", "1"]'


def evil(seed: int, *, nul: bool) -> list[str]:
    """Texts that are no names: short and long, of every kind of character that acts or is not seen."""
    rng = random.Random(seed)  # noqa: S311 -- what is tried, no secrets
    acting = [
        "\x1b[31m",
        "\x07",
        "\r\n",
        "\u202e",
        "\u2066",
        "\u200f",
        "\u2028",
        "\ufeff",
        "\U000e0041",
        "\x9b",
    ]
    acting += ["\x00"] if nul else []
    found = [rng.choice("abc") + char + rng.choice("xyz") for char in acting]
    found.append("".join(chr(rng.randrange(0x21, 0xD800)) for _ in range(3_000)))
    found.append("".join(chr(rng.randrange(0x10000, 0x1FFFF)) for _ in range(rng.randrange(60, 400))))
    return [*found, "x" * 1_000_000, "y" * 201, "\x7f"]


def tables(database: Database) -> None:
    """Make the tables."""
    text = "longtext" if database.url.startswith("mysql") else "text"
    time = "timestamptz" if database.postgres else "varchar(40)"
    named = dict.fromkeys(ROLES, text)
    database.create(
        "predictions", id="varchar(20)", event_time=time, logged_at=time, amount="double precision", **named
    )
    database.create("labels", id="varchar(20)", late=text, reported_at=time)
    database.create(
        "reference",
        amount="double precision",
        late=text,
        **{role: text for role in ROLES if role != "model_version"},
    )


def rows_of(count: int = 900) -> list[Row]:
    """Rows without a fault; the last third lies in the newest window."""
    rng = np.random.default_rng(3)
    return [
        {name: value for name, value in row.items() if name != "score"}
        | {
            "model_version": str(rng.choice(["1", "2"])),
            "region": str(rng.choice(["n", "s"])),
            "arm": str(rng.choice(["control", "treatment"])),
        }
        for row in predictions(count, START, END)
    ]


def fill(bench: Bench, rows: list[Row], known: list[Row], *, task: str = "binary") -> None:
    """Tables and configuration."""
    tables(bench.database)
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels([row | {"score": 0.5} for row in rows], end=AS_OF))
    bench.database.insert("reference", known)
    bench.configure(MODEL.format(task=task, classes=CLASSES if task == "multiclass" else ""))


def known_rows() -> list[Row]:
    """Rows of a reference."""
    rows = [{name: row[name] for name in row if name != "score"} for row in reference()]
    return [
        row | {"late": str(row["late"]), "region": "ns"[at % 2], "arm": "control"}
        for at, row in enumerate(rows)
    ]


def kept_names(store_url: str) -> set[str]:
    """Every text of a kept name, in `current`, `snapshots` and the events."""
    engine = sa.create_engine(store_url, poolclass=NullPool)
    with engine.connect() as connection:
        found: set[str] = set()
        for table in ("current", "snapshots"):
            for column in ("version", "segment", "subject"):
                sql = sa.text(f"SELECT DISTINCT {column} FROM {table}")
                found |= {str(value) for value in connection.execute(sql).scalars() if value is not None}
        return found | set(connection.execute(sa.text("SELECT subject FROM events")).scalars())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A log in SQLite, which keeps whatever it is given; the store in SQLite and in PostgreSQL."""
    store = f"sqlite:///{tmp_path / 'monitor.db'}"
    if request.param == "postgresql":
        store = request.getfixturevalue("postgres_url")
    return Bench(tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), store)


def count_in_every_role(bench: Bench, texts: list[str]) -> None:
    """A cycle counts each of these texts, which stands once in each column that holds names."""
    rows, places = rows_of(), iter(range(601, 900))
    for role in ROLES:
        for text in texts:
            rows[next(places)][role] = text
    fill(bench, rows, known_rows())

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("records").value == 300
    assert cycled.of("unusual_names").value == len(ROLES) * len(texts)


@pytest.mark.parametrize("seed", [1, 20_241_123])
def test_no_text_of_the_data_stops_a_model_and_each_is_counted(bench: Bench, seed: int) -> None:
    found = evil(seed, nul=True)

    count_in_every_role(bench, found)

    names = kept_names(bench.store_url)
    assert {name for name in names if name != readable_text(name)} == set()
    assert {make_shown_name(text) for text in found} <= names
    assert max(len(name.encode()) for name in names) <= MOST_BYTES + len("region=")


@pytest.mark.parametrize(
    "log_url",
    [
        pytest.param("postgres_url", marks=pytest.mark.postgres),
        pytest.param("mariadb_url", marks=pytest.mark.mariadb),
    ],
)
def test_nor_does_any_that_a_server_keeps(
    request: pytest.FixtureRequest, tmp_path: Path, log_url: str
) -> None:
    url: str = request.getfixturevalue(log_url)
    log = Database(f"{url}?sql_mode=ANSI_QUOTES" if url.startswith("m") else url)
    bench = Bench(tmp_path, log, f"sqlite:///{tmp_path / 'monitor.db'}")

    count_in_every_role(bench, evil(77, nul=False))


def test_names_of_the_reference_are_names_of_segments_categories_and_classes(bench: Bench) -> None:
    texts = [*evil(5, nul=True)[:8], "other", "(none)"]
    known = [
        row | dict.fromkeys(("region", "group", "pred", "late"), texts[at % 10])
        for at, row in enumerate(known_rows())
    ]
    rows = [
        row | dict.fromkeys(("region", "group", "pred"), texts[at % 10]) for at, row in enumerate(rows_of())
    ]
    fill(bench, rows, known, task="multiclass")
    bench.configure(MODEL.format(task="multiclass", classes=""))

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("unseen_rate", "feature:group").value == 0
    assert cycled.of("unseen_rate", "prediction").value == 0
    names = kept_names(bench.store_url)
    assert {f"region={make_shown_name(text)}" for text in texts[:8]} <= names
    assert {f"region={mark_reserved_name(text)}" for text in texts[8:]} <= names
    assert {"region=other", "region=(none)"}.isdisjoint(names)


def test_more_versions_than_a_model_can_have_are_other(bench: Bench) -> None:
    rows = rows_of()
    crowd = [rows[700] | {"id": f"v{at}", "model_version": f"run-{at}"} for at in range(1_500)]
    fill(bench, rows, known_rows())
    bench.database.insert("predictions", crowd)

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("records").value == 1_800
    assert cycled.of("unusual_names").value == 502  # of 1,502 versions in that hour
    with bench.app() as app:
        apart = {
            stored.row.version: stored.row.measurement.value
            for stored in app.store.current.read_current()
            if stored.row.measure == "records" and stored.row.version and stored.row.segment is None
        }
    assert sum(count or 0 for count in apart.values()) == 1_800
    assert len(apart) == 21
    assert "other" in apart


def test_names_that_we_use_ourselves_are_told_apart_in_the_data(bench: Bench) -> None:
    rows = [
        row | {"model_version": ("other", "(none)", None, "1")[at % 4]} for at, row in enumerate(rows_of())
    ]
    fill(bench, rows, known_rows())

    assert bench.cycle(AS_OF).error is None

    with bench.app() as app:
        found = {
            stored.row.version
            for stored in app.store.current.read_current()
            if stored.row.measure == "records" and stored.row.version
        }
    assert found == {mark_reserved_name("other"), mark_reserved_name("(none)"), "(none)", "1"}


@pytest.mark.parametrize("role", ["id", "event_time", "logged_at", "amount", "label", *ROLES])
def test_bytes_that_are_no_text_stop_nothing(tmp_path: Path, role: str) -> None:
    bench = Bench(
        tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), f"sqlite:///{tmp_path / 'monitor.db'}"
    )
    fill(bench, rows_of(), known_rows())
    table, column = ("labels", "late") if role == "label" else ("predictions", role)
    bench.database.run(f"UPDATE {table} SET \"{column}\" = CAST(x'ff61fe' AS TEXT) WHERE id = 'p{700}'")

    cycled = bench.cycle(AS_OF)

    assert cycled.error is None
    assert cycled.of("records").value == 300 - (role == "event_time")


def test_commands_and_the_page_of_metrics_show_names_of_hostile_rows(bench: Bench) -> None:
    rows = rows_of()
    for at, text in enumerate(evil(9, nul=True)):
        rows[700 + at]["model_version"] = text
    fill(bench, rows, known_rows())
    assert bench.cycle(AS_OF).error is None
    config = ["--config", str(bench.config)]

    for command in (
        ["show", "--all"],
        ["show", "--all", "--format", "json"],
        ["show", "--all", "--format", "csv"],
        ["status"],
        ["check"],
    ):
        done = CliRunner().invoke(main, [*command, *config])
        assert done.exit_code == 0, done.output
        assert all(line == readable_text(line) for line in done.output.splitlines())
    assert "unusual names" in CliRunner().invoke(main, ["check", *config]).output
