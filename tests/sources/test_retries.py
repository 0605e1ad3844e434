"""Reads that are tried again: after a conflict, in halves, in slices of time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from flight_models import COLUMNS, PREDICTIONS, READING, START, counted, model_of, rows_of
from hypothesis import given
from hypothesis import strategies as st
from source_databases import Database, whole

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable
from monitor.records.winning_rows import Batches
from monitor.sources import SqlSource, open_source, retries
from monitor.sources.engines.engine import trouble_of_state
from monitor.sources.engines.mysql import trouble_of_number
from monitor.sources.retries import PAUSES, RetriedReads, halve_ranges
from monitor.specs.model_spec import SourceSpec

Range = tuple[int, int]
READERS = ["adbc", "fetchmany"]
ZONED = COLUMNS | {"event_time": "timestamptz", "logged_at": "timestamptz"}
WEEK = [(START, START + 7 * DAY)]


@dataclass
class Failing:
    """Sessions that fail, one trouble after the other, and then work."""

    troubles: list[DatabaseTrouble]
    slept: list[float] = field(default_factory=list)

    @contextmanager
    def session(self) -> Iterator[Any]:
        if self.troubles:
            raise SourceUnavailable("no", self.troubles.pop(0))
        yield None

    @property
    def retries(self) -> RetriedReads:
        return RetriedReads(self.session, self.slept.append)


def test_a_conflict_is_tried_again_after_growing_pauses() -> None:
    failing = Failing([DatabaseTrouble.CONFLICT] * 3)

    assert failing.retries.run_read(lambda _: 7) == 7
    assert failing.slept == list(PAUSES[:3])


def test_a_conflict_that_lasts_is_told() -> None:
    failing = Failing([DatabaseTrouble.CONFLICT] * 9)

    with pytest.raises(SourceUnavailable):
        failing.retries.run_read(lambda _: 7)

    assert failing.slept == list(PAUSES)


@pytest.mark.parametrize("trouble", [DatabaseTrouble.NO_ANSWER, DatabaseTrouble.TIMEOUT])
def test_other_troubles_are_told_at_once(trouble: DatabaseTrouble) -> None:
    failing = Failing([trouble])

    with pytest.raises(SourceUnavailable):
        failing.retries.run_read(lambda _: 7)

    assert failing.slept == []


SPAN = (START, START + DAY)


def rows_within(asked: list[list[Range]]) -> Callable[[Any, Sequence[Range]], pa.Table]:
    """One row a minute of the first day; what is asked in SQL is a little wider than the ranges."""

    def read(_session: object, ranges: Sequence[Range]) -> pa.Table:
        asked.append(list(ranges))
        every = range(START, START + DAY, MINUTE)
        found = [us for us in every if any(lo - HOUR <= us < hi + HOUR for lo, hi in ranges)]
        times = pa.array([None, *found], pa.timestamp("us", "UTC"))
        return pa.table({"event_time": times})

    return read


def test_what_takes_too_long_is_read_in_halves_each_row_once() -> None:
    asked: list[list[Range]] = []

    table = Failing([DatabaseTrouble.TIMEOUT]).retries.read_ranges(
        rows_within(asked), [(START, START + DAY)], READING
    )

    half = START + DAY // 2
    assert asked == [[(START, half)], [(half, START + DAY)]]
    assert table.num_rows == len(set(table["event_time"].to_pylist())) == 1 + 24 * 60


def test_halves_that_take_too_long_are_told() -> None:
    failing = Failing([DatabaseTrouble.TIMEOUT, DatabaseTrouble.TIMEOUT])

    with pytest.raises(SourceUnavailable):
        failing.retries.read_ranges(rows_within([]), [(START, START + DAY)], READING)


def pieces_within(asked: list[Range]) -> Callable[[Any, Range, int | None], Batches]:
    """One row a minute of the first day, in pieces that hold each row once."""

    def read(_session: object, piece: Range, limit: int | None) -> Batches:
        asked.append(piece)
        found = [us for us in range(START, START + DAY, MINUTE) if piece[0] <= us < piece[1]][:limit]
        yield pa.table({"event_time": pa.array(found, pa.timestamp("us", "UTC"))})

    return read


def test_a_span_is_read_in_slices_each_row_once() -> None:
    asked: list[Range] = []

    read = list(Failing([]).retries.read_slices(pieces_within(asked), SPAN, width=HOUR, most=100))
    tables = [table for _, table in read]

    assert len(asked) > 12  # 1,440 rows
    assert [piece for piece, _ in read] == asked
    assert max(table.num_rows for table in tables) < 2 * 100
    assert sum(table.num_rows for table in tables) == 24 * 60


def test_what_follows_an_empty_time_is_read_in_slices_of_as_few_rows() -> None:
    span = (START - 100 * DAY, START + DAY)

    read = list(Failing([]).retries.read_slices(pieces_within([]), span, width=HOUR, most=100))

    assert [piece[0] for piece, _ in read[1:]] == [piece[1] for piece, _ in read[:-1]]
    assert sum(table.num_rows for _, table in read) == 24 * 60
    assert max(table.num_rows for _, table in read) < 2 * 100
    assert len(read) < 50


def test_statements_without_a_limit_read_no_piece_twice_however_many_rows_it_holds() -> None:
    asked: list[Range] = []

    read = list(
        Failing([]).retries.read_slices(pieces_within(asked), SPAN, width=12 * HOUR, most=10, limited=False)
    )

    assert [piece for piece, _ in read] == asked
    assert sum(table.num_rows for _, table in read) == 24 * 60


def test_a_slice_that_takes_too_long_is_cut_in_halves_each_row_once() -> None:
    asked: list[Range] = []
    failing = Failing([DatabaseTrouble.TIMEOUT, DatabaseTrouble.CONFLICT, DatabaseTrouble.TIMEOUT])

    tables = list(failing.retries.read_slices(pieces_within(asked), SPAN, width=DAY, most=200_000))

    times = [us for _, table in tables for us in table["event_time"].to_pylist()]
    assert [hi - lo for lo, hi in asked] == [DAY // 4] * 4
    assert len(times) == len(set(times)) == 24 * 60
    assert failing.slept == list(PAUSES[:1])


def test_slices_that_go_on_taking_too_long_are_told() -> None:
    failing = Failing([DatabaseTrouble.TIMEOUT] * 4)

    with pytest.raises(SourceUnavailable):
        list(failing.retries.read_slices(pieces_within([]), SPAN, width=DAY, most=200_000))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=5))
def test_halves_are_together_what_was_cut(spans: list[tuple[int, int]]) -> None:
    edges, at = [], 0
    for gap, width in spans:
        edges.append((at + gap, at + gap + width))
        at += gap + width

    first, second = halve_ranges(edges)

    points = [point for lo, hi in [*first, *second] for point in range(lo, hi)]
    assert points == [point for lo, hi in edges for point in range(lo, hi)]
    assert abs(sum(hi - lo for lo, hi in first) - len(points) / 2) <= 0.5


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("40001", DatabaseTrouble.CONFLICT),
        ("40P01", DatabaseTrouble.CONFLICT),
        ("57014", DatabaseTrouble.TIMEOUT),
        ("57P01", DatabaseTrouble.NO_ANSWER),
        ("08006", DatabaseTrouble.NO_ANSWER),
        ("42P01", None),
        (None, None),
    ],
)
def test_an_sqlstate_says_whether_a_second_try_may_help(
    state: str | None, expected: DatabaseTrouble | None
) -> None:
    assert trouble_of_state(state) is expected


def test_errors_of_mysql_say_whether_a_second_try_may_help() -> None:
    codes = [1969, 1213, 2006, 1146]

    assert [trouble_of_number(code) for code in codes] == [
        DatabaseTrouble.TIMEOUT,
        DatabaseTrouble.CONFLICT,
        DatabaseTrouble.NO_ANSWER,
        None,
    ]


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_a_statement_that_recovery_cancels_is_told_as_a_conflict_after_all_tries(
    make_database: Callable[[str], Database], reader: str
) -> None:
    database = make_database(f"postgres-{reader}")
    database.create("predictions", COLUMNS, rows_of(10))
    database.run(
        "CREATE FUNCTION cancelled(bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE SQLSTATE '40001' USING MESSAGE = 'canceling statement due to conflict with recovery'; END $$"
    )
    slept: list[float] = []
    source = SqlSource(database.source().reader, sleep=slept.append)
    wrong = replace(PREDICTIONS, where="cancelled(id)")

    with pytest.raises(SourceUnavailable, match="conflict with recovery") as caught:
        source.read_records(model_of(predictions=wrong), WEEK)

    assert caught.value.trouble is DatabaseTrouble.CONFLICT
    assert slept == list(PAUSES)
    assert source.read_records(model_of(), WEEK).num_rows == 10


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_a_statement_that_times_out_is_read_in_halves(
    make_database: Callable[[str], Database], reader: str
) -> None:
    database = make_database(f"postgres-{reader}")
    database.create("predictions", ZONED, rows_of(40))
    slow = replace(PREDICTIONS, where="pg_sleep(0.02)::text = ''")
    span = [(START, START + 40 * MINUTE)]
    quick = database.source().read_records(model_of(), span)
    spec = SourceSpec(name="source", url=database.url, statement_timeout=SECOND * 6 // 10)
    source = open_source(spec, reader=reader)
    database.opened.append(source)
    database.run("CREATE INDEX ON predictions (event_time)", "ANALYZE predictions")
    with pytest.raises(SourceUnavailable, match="timeout"), source.open_session() as session:
        session.read_rows("SELECT pg_sleep(0.02 * 40)::text")

    table = source.read_records(model_of(predictions=slow), span)

    assert counted(table) == counted(quick)
    assert table.num_rows == 40


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_changes_read_in_slices_are_those_of_one_statement(
    make_database: Callable[[str], Database], reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "ROWS", 100)
    database = make_database(f"postgres-{reader}")
    rows = rows_of(3_000)
    rows[5] = (5, None, *rows[5][2:])
    database.create("predictions", ZONED, rows)
    source = database.source()
    asked: dict[str, Any] = {"since": None, "as_of": START + 9 * DAY, "bounds": (START, START + 2 * DAY)}
    before = whole(source.read_changed_records(model_of(), **asked))
    database.run("CREATE INDEX ON predictions (event_time)", "ANALYZE predictions")

    tables = list(source.read_changed_records(model_of(), **asked))

    assert len(tables) > 20
    after = whole(batch for batch in tables)
    names = ["event_time", "logged_at"]
    order = [(name, "ascending") for name in names]
    assert after.sort_by(order) == before.sort_by(order)


@pytest.mark.postgres
def test_a_refused_statement_is_not_tried_again(make_database: Callable[[str], Database]) -> None:
    database = make_database("postgres-adbc")
    database.create("predictions", COLUMNS, rows_of(10))
    slept: list[float] = []
    source = SqlSource(database.source().reader, sleep=slept.append)

    with pytest.raises(SourceError, match="refuses a query"):
        source.read_records(model_of(predictions=replace(PREDICTIONS, where="1 / (id - id) = 1")), WEEK)

    assert slept == []
