"""What a session reads by several statements is one state of the tables, whoever writes in between."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flight_models import COLUMNS, START, counting_of, model_of, panes, rows_of
from source_databases import Database, WatchedReader

from monitor.core.clock import DAY, HOUR
from monitor.records.counting import VOLUME
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.sources import PushedSource, SqlSource
from monitor.sources.engines.engine import RowReader
from monitor.sources.sql.statements import ReadSession
from monitor.states.strata import WHOLE

N = 120
RANGES = [(START, START + 4 * HOUR)]
TIMED = COLUMNS | {"event_time": "timestamptz", "logged_at": "timestamptz", "late": "text"}
_INSERT = "INSERT INTO predictions SELECT {first} + id, event_time, logged_at, score, late, temp, carrier"
MORE = f"{_INSERT} FROM predictions WHERE id < 25"
AGAIN = f"{_INSERT.replace('{first} + ', '')} FROM predictions WHERE id = 3"


def counted(source: SqlSource) -> CountedPanes:
    """Records of four hours, the first two of which have some."""
    return source.count_panes(
        model_of(labels=None), PaneHalf.RECORDS, RANGES, counting_of(), panes=panes(4), as_of=START + DAY
    )


def blocks_of(found: CountedPanes) -> list[set[int]]:
    """Of each pane that has any: its records as each of its blocks tells them."""
    outputs = ["score", "prediction", "feature:temp", "feature:carrier"]
    wholes = [part.strata[WHOLE] for part in found.parts if WHOLE in part.strata]
    return [
        {
            int(one.dense_block("volume")[VOLUME.index("records")]),
            *(int(one.dense_block(name).sum()) for name in outputs),
        }
        for one in wholes
    ]


@pytest.mark.postgres
def test_a_pane_that_is_counted_by_several_statements_is_of_one_moment(postgres_database: Database) -> None:
    postgres_database.create("predictions", TIMED, rows_of(N))
    before = counted(PushedSource(postgres_database.source().reader))
    disturbed = WatchedReader(
        postgres_database.source().reader,
        lambda at: postgres_database.run(MORE.format(first=1_000 * (at + 1))),
    )

    found = counted(PushedSource(disturbed))

    assert len(disturbed.read) > 3
    assert blocks_of(found) == [{60}, {60}]
    assert found == before


@pytest.mark.parametrize("change", [MORE, AGAIN], ids=["more rows", "a row again"])
@pytest.mark.parametrize("until", [1, 2, 4, 6, 10_000])
@pytest.mark.postgres
def test_without_snapshots_the_statements_are_compared_and_the_pane_is_read_again(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch, change: str, until: int
) -> None:
    postgres_database.create("predictions", TIMED, rows_of(N))
    reader = postgres_database.source().reader
    monkeypatch.setattr(type(reader.engine), "one_snapshot", False)
    monkeypatch.setattr(type(reader), "open_session", _read_committed(type(reader).open_session))

    def write(at: int) -> None:
        if at < until:
            postgres_database.run(change.format(first=1_000 * (at + 1)))

    found = counted(PushedSource(WatchedReader(reader, write)))

    assert all(len(records) == 1 for records in blocks_of(found))
    if until < 10_000:
        assert found == counted(SqlSource(postgres_database.source().reader))


def _read_committed(session: Any) -> Any:
    """The session without its snapshot."""

    @contextmanager
    def other(reader: RowReader) -> Iterator[ReadSession]:
        with session(reader) as found:
            found.run_command("COMMIT")
            found.run_command("BEGIN ISOLATION LEVEL READ COMMITTED")
            found.run_command("SET LOCAL TIME ZONE 'UTC'")
            yield found

    return other


def test_a_session_sees_one_state_of_the_tables(database: Database) -> None:
    if database.engine == "sqlite":
        database.run("PRAGMA journal_mode = WAL")
    database.create("predictions", COLUMNS, rows_of(N))
    count = "SELECT count(*) AS n FROM predictions"

    with database.source().open_session() as session:
        first = session.read_rows(count)
        database.run(MORE.format(first=1_000))
        second = session.read_rows(count)
    with database.source().open_session() as session:
        third = session.read_rows(count)

    assert first == second == [(N,)]
    assert third == [(N + 25,)]
