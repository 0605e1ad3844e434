"""A real hot standby, whose recovery cancels a read in mid-statement."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from keyed_models import model_keys
from servers import standby
from sqlalchemy import URL
from waiting import wait_for

from monitor.core.clock import DAY, from_iso
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources import open_source
from monitor.specs.model_spec import ModelSpec, Relation, SourceSpec

START = from_iso("2026-01-01")
ROWS = 3_000
SLOW = Relation(
    table="predictions",
    where="pg_sleep(0.001) IS NOT NULL",
    columns=(("id", "id"), ("event_time", "ts"), ("score", "score")),
)
READING = ReadingOptions(
    task=ModelTask.BINARY, classes=("0", "1"), has_score=True, score_range=(0.0, 1.0), threshold=0.5
)


@pytest.fixture(scope="module")
def databases() -> Iterator[tuple[URL, URL]]:
    with standby() as urls:
        yield urls


def run(url: URL, *statements: str) -> list[tuple[object, ...]]:
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        found = [connection.execute(statement.encode()) for statement in statements][-1]
        return found.fetchall() if found.description else []


def conflicts(url: URL) -> int:
    (row,) = run(url, "SELECT sum(confl_snapshot) FROM pg_stat_database_conflicts")
    return int(str(row[0]))


@pytest.mark.postgres
@pytest.mark.parametrize("reader", ["adbc", pytest.param("fetchmany", marks=pytest.mark.slow)])
def test_a_read_that_recovery_cancels_is_tried_again_and_whole(
    databases: tuple[URL, URL], reader: str
) -> None:
    primary, copy = databases
    run(
        primary,
        "DROP TABLE IF EXISTS predictions",
        "CREATE TABLE predictions AS SELECT g::text AS id, 0.5::float8 AS score,"
        f" timestamptz '2026-01-01 UTC' + g * interval '1 second' AS ts FROM generate_series(1, {ROWS}) g",
    )
    (here,) = run(primary, "SELECT pg_current_wal_insert_lsn()::text")
    wait_for(lambda: run(copy, f"SELECT pg_last_wal_replay_lsn() >= '{here[0]}'") == [(True,)])
    before = conflicts(copy)
    source = open_source(
        SourceSpec(name="copy", url=copy.render_as_string(hide_password=False)), reader=reader
    )
    spoil = threading.Timer(1.0, run, (primary, "UPDATE predictions SET score = score", "VACUUM predictions"))
    spoil.start()

    model = ModelSpec(keys=model_keys("late", "copy"), reading=READING, predictions=SLOW)
    table = source.read_records(model, [(START, START + DAY)])

    spoil.join()
    source.close()
    wait_for(lambda: conflicts(copy) > before)
    assert table.num_rows == len(set(table["id"].to_pylist())) == ROWS
