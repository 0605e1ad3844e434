"""Tables that are laid out by a column of days: the same panes, by statements that each name the days."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lake_servers import parts_by_day
from spark_flights import WEEK, Flights, PaneKey

from monitor.cli import main
from monitor.core.clock import DAY, HOUR, from_iso, to_datetime
from monitor.records.pane import PanePart
from monitor.sources import open_source
from monitor.sources.engines.readers.lake_tables import LakeSession
from monitor.sources.sql.time_ranges import DayColumn, DayShape, TimesOfRows
from monitor.specs.model_spec import Relation, SourceSpec

TABLES = {"predictions": "event_time", "labels": "reported_at"}


def times_as_texts(rows: pa.Table) -> pa.Table:
    """Times as ISO texts: no statistics of a file bound them."""
    for at, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type):
            texts = pc.strftime(rows[column.name], "%Y-%m-%dT%H:%M:%SZ")
            rows = rows.set_column(at, column.name, texts)
    return rows


def write_days(week: Flights, place: Path, name_of: Callable[[str], str]) -> None:
    """A folder a day, named as its days are written."""
    for name, column in TABLES.items():
        for day, rows in parts_by_day(pq.read_table(week.file(name)), column):
            folder = place / name / f"dt={name_of(day)}"
            folder.mkdir(parents=True)
            pq.write_table(times_as_texts(rows), folder / "part.parquet")


@pytest.fixture(params=["texts", "digits", "delta"])
def lake(request: pytest.FixtureRequest, week: Flights, tmp_path: Path) -> str:
    """URL of both tables, times in text, in partitions of days."""
    if request.param != "delta":
        write_days(week, tmp_path, str if request.param == "texts" else lambda day: day.replace("-", ""))
        return tmp_path.as_uri()
    import deltalake

    for name, column in TABLES.items():
        for day, rows in parts_by_day(pq.read_table(week.file(name)), column):
            dated = pa.array([datetime.fromisoformat(day).date()] * rows.num_rows)
            deltalake.write_deltalake(
                str(tmp_path / name),
                times_as_texts(rows).append_column("dt", dated),
                mode="append",
                partition_by=["dt"],
            )
    return tmp_path.as_uri()


def test_cycles_read_days_alone(
    week: Flights,
    week_panes: dict[PaneKey, PanePart],
    lake: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run: list[str] = []
    original = LakeSession._run_sql

    def noted(session: LakeSession, sql: str) -> Any:
        run.append(sql)
        return original(session, sql)

    monkeypatch.setattr(LakeSession, "_run_sql", noted)
    source = SourceSpec(name="log", url=lake, audit=DAY)
    partitioned = replace(week, partition="dt")

    assert partitioned.cycles(source, tmp_path / "store.db", moments=WEEK) == week_panes

    reads = [sql for sql in run if not sql.startswith("DESCRIBE") and " AS p" in sql]
    assert len(reads) > 20
    assert [sql for sql in reads if 'p."dt"' not in sql and "LIMIT" not in sql] == []


def test_files_of_other_days_are_left_out(lake: str) -> None:
    source = open_source(SourceSpec(name="lake", url=lake))
    day = from_iso("2013-03-04")
    with source.reader.open_session() as session:
        kind = source.reader.engine.types_of(session, Relation(table="predictions"))["dt"]
        wanted = TimesOfRows("event_time", "varchar", None, ((day, day + HOUR),), undated=False)
        counts = [
            source.reader.engine.count_files(session, Relation(table="predictions"), times)
            for times in (wanted, replace(wanted, partition=("dt", kind)))
        ]
    assert counts == [7, 3]


def test_a_database_finds_no_row_of_another_partition(
    week: Flights, week_panes: dict[PaneKey, PanePart], tmp_path: Path
) -> None:
    """SQLite: the panes are the same; where days are wrong by two, rows are not found."""
    import sqlite3

    log = tmp_path / "log.db"
    with sqlite3.connect(week.local.url.removeprefix("sqlite:///")) as log_of_flights:
        log_of_flights.backup(to := sqlite3.connect(log))
    for name, column in TABLES.items():
        to.execute(f"ALTER TABLE {name} ADD COLUMN dt TEXT")
        to.execute(f"UPDATE {name} SET dt = substr({column}, 1, 10)")
    to.commit()
    source = replace(week.local, url=f"sqlite:///{log}")
    partitioned = replace(week, partition="dt")
    assert partitioned.cycles(source, tmp_path / "right.db", moments=WEEK) == week_panes

    to.execute("UPDATE predictions SET dt = date(dt, '-3 days')")
    to.commit()
    to.close()
    assert partitioned.cycles(source, tmp_path / "wrong.db", moments=WEEK) != week_panes


def test_a_column_that_holds_no_days_is_refused_by_name(week: Flights, tmp_path: Path) -> None:
    for name, column in TABLES.items():
        rows = pq.read_table(week.file(name))
        pq.write_table(rows.append_column("at", rows[column]), tmp_path / f"{name}.parquet")
    source = SourceSpec(name="log", url=tmp_path.as_uri())
    for column, reason in (("at", "a partition is a date"), ("dt", 'no column "dt"')):
        with pytest.raises(AssertionError, match=reason):
            replace(week, partition=column).cycles(source, tmp_path / f"{column}.db", moments=WEEK[:1])


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@given(
    lo=st.integers(from_iso("2020-01-01"), from_iso("2030-01-01")),
    width=st.integers(1, 40 * DAY),
    moment=st.integers(-45 * DAY, 45 * DAY),
    offset=st.integers(-14, 14),
    shape=st.sampled_from(DayShape),
)
def test_the_day_of_a_time_in_any_zone_lies_within(
    database: duckdb.DuckDBPyConnection, lo: int, width: int, moment: int, offset: int, shape: DayShape
) -> None:
    day = (to_datetime(lo + moment) + timedelta(hours=offset)).astimezone(UTC).date()
    literals = {DayShape.DATE: f"DATE '{day}'", DayShape.TEXT: f"'{day}'", DayShape.DIGITS: f"{day:%Y%m%d}"}
    column = DayColumn(literals[shape], shape)
    within, outside = (
        database.execute(f"SELECT {condition}").fetchall() == [(True,)]
        for condition in (column.within(lo, lo + width), column.outside(lo, lo + width))
    )
    inside = 0 <= moment < width
    assert within or not inside
    assert outside or inside


@pytest.mark.parametrize(("kept", "astray"), [("as they are", 0), ("two days late", 1)])
def test_check_says_where_rows_lie_in_the_partitions_of_other_days(
    tmp_path: Path, kept: str, astray: int
) -> None:
    """By the commands: what a partition by the day of arrival would lose is told before it is."""
    now = datetime.now(UTC).replace(tzinfo=None)
    late = timedelta(days=2 if kept == "two days late" else 0)
    for name, column in (("scores", "event_time"), ("outcomes", "reported_at")):
        for day in range(1, 6):
            moments = [now - timedelta(days=day, hours=-at % 3) for at in range(50)]
            ids = [f"{day}-{at}" for at in range(50)]
            values = {"score": [at / 50 for at in range(50)]} if name == "scores" else {"label": [0, 1] * 25}
            shown = f"{(now - timedelta(days=day) + late):%Y%m%d}"
            folder = tmp_path / "ml" / name / f"dt={shown}"
            folder.mkdir(parents=True, exist_ok=True)
            texts = [moment.isoformat(timespec="seconds") + "Z" for moment in moments]
            pq.write_table(pa.table({"id": ids, column: texts, **values}), folder / f"{day}.parquet")
    config = tmp_path / "config.toml"
    config.write_text(
        f"""
[sources.ml]
url = "{(tmp_path / "ml").as_uri()}"
[[models]]
name = "scores"
source = "ml"
task = "binary"
[models.predictions]
table = "scores"
id = "id"
event_time = "event_time"
partition = "dt"
score = "score"
threshold = 0.5
[models.labels]
table = "outcomes"
label = "label"
reported_at = "reported_at"
partition = "dt"
[models.features]
numeric = []
""",
        encoding="utf-8",
    )
    done = CliRunner().invoke(main, ["check", "--config", str(config)], env={"COLUMNS": "200"})
    lost = "lie in the partition of another day than their event_time"
    assert done.output.count(lost) == astray, done.output
    assert done.output.count("lie in the partition of another day than their reported_at") == astray


def test_init_finds_folders_of_days(lake: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    tables = ("--predictions", "predictions", "--labels", "labels")
    done = CliRunner().invoke(main, ["init", "--url", lake, *tables, "--output", str(config)])
    assert done.exit_code == 0, done.output
    lines = config.read_text(encoding="utf-8").splitlines()
    assert [line.partition("#")[0].strip() for line in lines if "partition" in line] == [
        'partition = "dt"',
        'partition = "dt"',
    ]
    checked = CliRunner().invoke(main, ["check", "--config", str(config)])
    assert checked.exit_code == 0, checked.output
