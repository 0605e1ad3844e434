"""The contract of all engines, one of our own among them: whatever a database is, rows come as these."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import own_engine
import pyarrow as pa
import pytest
from flight_models import (
    LABEL_COLUMNS,
    PREDICTIONS,
    READING,
    START,
    counted,
    counted_labels,
    counting_of,
    model_of,
)
from made_databases import Made, Rows, into_sqlite
from source_databases import Database, whole

from monitor.advice.query_plans import explain_model
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, to_datetime
from monitor.core.errors import SourceError
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.records.reading import ReadingOptions
from monitor.records.winning_rows import parse_role_times
from monitor.sources import PushedSource, SqlSource
from monitor.specs.model_spec import ModelSpec

MOST_LINES = 150
N = 240  # minutes
AS_OF = START + DAY
TYPES = {
    "id": "text",
    "event_time": "timestamp",
    "logged_at": "timestamp",
    "score": "double precision",
    "late": "text",
    "temp": "double precision",
    "carrier": "text",
}
LABEL_TYPES = LABEL_COLUMNS | {"flight": "text", "was_late": "text", "reported_at": "timestamp"}
ODD = 'a "b" `c`'


def moment(us: int) -> str:
    return to_datetime(us).strftime("%Y-%m-%d %H:%M:%S")


def row(at: int, **other: Any) -> tuple[Any, ...]:
    """A prediction a minute; every 24th has gaps."""
    us = START + at * MINUTE
    gap = at % 24 == 7
    usual = {
        "id": f"id {at:03}",
        "event_time": moment(us),
        "logged_at": moment(us + SECOND),
        "score": None if gap else at / N,
        "late": None if gap else str(at % 2),
        "temp": None if gap else at - 100.5,
        "carrier": None if gap else ("UA", "it's", "ü %s")[at % 3],
    }
    return tuple((usual | other).values())


def filled(made: Made, rows: Rows | None = None) -> ModelSpec:
    """A log, and labels of every second prediction, some of them corrected."""
    made.create("predictions", TYPES, [row(at) for at in range(N)] if rows is None else rows)
    labels = [
        (f"id {at:03}", str(at % 4 // 2), moment(START + at * MINUTE + HOUR), 0) for at in range(0, N, 2)
    ]
    again = [(one[0], "1", moment(START + 6 * HOUR), 1) for one in labels[:10]]
    made.create("labels", LABEL_TYPES, [*labels, *again, ("nobody", "1", moment(START + HOUR), 0)])
    return model_of()


def by_id(table: pa.Table) -> dict[str, dict[str, Any]]:
    us = parse_role_times(table, "event_time", READING).us.tolist()
    return {one["id"]: one | {"event_time": at} for one, at in zip(table.to_pylist(), us, strict=True)}


def test_an_engine_of_ones_own_takes_at_most_150_lines_and_one_row() -> None:
    lines = Path(own_engine.__file__).read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MOST_LINES
    assert len(own_engine.ROW) == 1


def test_values_and_nulls_are_read_as_their_roles(made: Made) -> None:
    model = filled(made)

    found = by_id(made.source().read_records(model, [(START, START + DAY)]))

    assert len(found) == N
    plain, gap = found["id 001"], found["id 007"]
    assert (plain["score"], plain["prediction"], plain["feature:temp"]) == (1 / N, "1", -99.5)
    assert {one["feature:carrier"] for one in found.values()} == {"UA", "it's", "ü %s", None}
    assert {gap[name] for name in ("score", "prediction", "feature:temp", "feature:carrier")} == {None}
    assert [found[f"id {at:03}"]["event_time"] for at in range(N)] == [START + at * MINUTE for at in range(N)]


@pytest.mark.parametrize("indexed", [False, True])
def test_rows_of_ranges_are_found_once(made: Made, *, indexed: bool) -> None:
    model = filled(made)
    if indexed and not made.columnar:
        url = made.url.replace("kept:", "sqlite:")
        Database(url, "").run("CREATE INDEX by_time ON predictions (event_time)")
    ranges = [(START + at * HOUR + MINUTE, START + at * HOUR + 11 * MINUTE) for at in range(4)]

    table = made.source().read_records(model, ranges)

    us = parse_role_times(table, "event_time", READING).us
    inside = [at for at in us.tolist() if any(lo <= at < hi for lo, hi in ranges)]
    assert len(inside) == len(set(inside)) == 40
    assert len(set(us.tolist())) == len(us)


def test_labels_are_joined_outer_with_all_of_their_reports(made: Made) -> None:
    model = filled(made)

    table = made.source().read_records_with_labels(model, [(START, START + DAY)])

    ids = table["id"].to_pylist()
    assert len(ids) == N + 10
    assert sum(label is not None for label in table["label"].to_pylist()) == N // 2 + 10
    assert {ids.count(f"id {at:03}") for at in range(0, 20, 2)} == {2}
    assert set(table["revision"].to_pylist()) == {0.0, 1.0, None}


def test_changes_are_those_seen_since_then(made: Made) -> None:
    rows = [
        row(at, logged_at=None if at % 50 == 7 else moment(START + at * MINUTE + SECOND)) for at in range(N)
    ]
    model = filled(made, rows)
    source, since = made.source(), START + 3 * HOUR

    first = whole(source.read_changed_records(model, since=None, as_of=AS_OF, bounds=(START, AS_OF)))
    later = whole(source.read_changed_records(model, since=since, as_of=AS_OF, bounds=(START, AS_OF)))
    labels = whole(
        source.read_changed_labels(model, since=START + 5 * HOUR, as_of=AS_OF, bounds=(START, AS_OF))
    )

    assert first.num_rows == N
    seen = set(parse_role_times(later, "event_time", READING).us.tolist())
    assert {START + at * MINUTE for at in range(180, N)} <= seen
    assert len(seen) <= 60 + 5
    reported = parse_role_times(labels, "reported_at", READING).us
    assert int(np.sum(reported == START + 6 * HOUR)) == 10


def test_the_audit_counts_what_no_pane_does(made: Made) -> None:
    rows = [row(at) for at in range(N)]
    rows[5], rows[6] = row(5, id=None), row(6, event_time=None)
    rows.append(row(130, id="id 010"))
    model = filled(made, rows)
    source, bounds = made.source(), (START, START + DAY)

    strays = source.count_incomplete_rows(model, as_of=AS_OF, bounds=bounds)

    assert strays == {"rows_without_id": 1, "rows_without_time": 1}
    assert source.count_repeated_ids(model, as_of=AS_OF, bounds=bounds) == 1
    assert source.count_orphans(model, bounds) == 3  # nobody's, and both of the row without an event time
    assert source.has_records(model, as_of=AS_OF, bounds=bounds)
    assert not source.has_records(model, as_of=AS_OF, bounds=(AS_OF + DAY, AS_OF + 2 * DAY))


def test_odd_names_are_quoted(made: Made) -> None:
    # BigQuery has no column with a quote or a backtick; its emulator knows no escape in a name.
    odd = "a 'b' & c" if made.url.startswith("bigquery") else ODD
    names = {"id": "select", "score": odd, "carrier": "per%cent ü"}
    types = {names.get(name, name): kind for name, kind in TYPES.items()}
    made.create("predictions", types, [row(at) for at in range(N)])
    columns = tuple((role, names.get(column, column)) for role, column in PREDICTIONS.columns)
    reading = replace(READING, categorical=("per%cent ü",))
    model = model_of(reading=reading, predictions=replace(PREDICTIONS, columns=columns), labels=None)

    found = by_id(made.source().read_records(model, [(START, START + DAY)]))

    assert len(found) == N
    assert found["id 001"]["score"] == 1 / N
    assert {one["feature:per%cent ü"] for one in found.values()} == {"UA", "it's", "ü %s", None}


@pytest.mark.parametrize(
    "reading",
    [READING, replace(READING, words=(("0", "1"), ("1", "0"))), replace(READING, only_for=("1",))],
    ids=["plain", "words", "only for some"],
)
def test_panes_are_counted_as_on_any_engine(made: Made, tmp_path: Path, reading: ReadingOptions) -> None:
    model = filled(made)
    path = tmp_path / "other"
    other = Made(f"sqlite:///{path}", into_sqlite(path))
    filled(other)
    span = [(START, START + DAY)]

    found, same = (
        (one.source().read_records(model, span), one.source().read_records_with_labels(model, span))
        for one in (made, other)
    )
    for source in other.opened:
        source.close()

    for count, there, here in zip((counted, counted_labels), found, same, strict=True):
        parts = count(there, reading)
        assert parts == count(here, reading)
        assert any(part.records for part in parts)


def test_panes_that_are_grouped_there_are_those_counted_here(made: Made) -> None:
    """Of an emulator: that its statements are of the service's SQL, as far as it knows that, and no more."""
    if not ((engine := made.source().reader.engine).counts or engine.can_be_proven):
        pytest.skip("it does not count")
    odd: dict[int, dict[str, Any]] = {
        0: {"score": 1.0},
        1: {"score": 1.5},
        2: {"temp": 1e300},
        3: {"logged_at": None},
        4: {"id": None},
        5: {"event_time": f"{moment(START + 59 * MINUTE)}.123457"},
        6: {"event_time": f"{moment(START + HOUR - SECOND)}.999999"},
    }
    rows = [row(at, **odd.get(at, {})) for at in range(N)]
    rows += [row(30, score=0.25), row(31), row(130, id="id 010")]
    model, panes = filled(made, rows), START + np.arange(-1, 6) * HOUR
    there, here = PushedSource(made.source().reader), made.source()
    asked: dict[str, Any] = {"panes": panes, "as_of": AS_OF}
    ranges = [(START - HOUR, START + 6 * HOUR)]

    grouped = there.count_grouped_records(model, ranges, counting_of(), **asked)

    assert isinstance(grouped, CountedPanes), grouped
    assert grouped.parts == here.count_panes(model, PaneHalf.RECORDS, ranges, counting_of(), **asked).parts
    assert sum(part.records for part in grouped.parts) == N


def test_a_session_sees_one_state_or_says_that_it_does_not(made: Made) -> None:
    filled(made)
    source, count = made.source(), "SELECT count(*) AS n FROM predictions"
    if not source.reader.engine.one_snapshot or "duckdb" in made.url:  # whose file nobody else can write
        pytest.skip("it holds no snapshot, or needs none")

    with source.open_session() as session:
        first = session.read_rows(count)
        made.create("predictions", TYPES, [row(0)])
        second = session.read_rows(count)
    with source.open_session() as session:
        third = session.read_rows(count)

    assert first == second == [(N,)]
    assert third == [(N + 1,)]


@pytest.mark.parametrize("pushed", [False, True])
def test_every_statement_that_check_explains_runs(made: Made, *, pushed: bool) -> None:
    model = filled(made)
    source: SqlSource = made.source()
    if pushed:
        if not source.reader.engine.counts:
            pytest.skip("it does not count")
        source = PushedSource(source.reader)
    if "fakesnow" in made.url:
        pytest.skip("the emulator has no plans")

    explained = explain_model(model, source, counting_of(), AS_OF)

    assert {query.every for query in explained} == {"cycle", "audit"}
    assert all(query.plan for query in explained)
    assert any("GROUPING SETS" in query.sql for query in explained) == pushed
    with source.open_session() as session:
        for query in explained:
            session.read_rows(query.sql)


def test_what_is_missing_is_refused_and_the_connection_goes_on(made: Made) -> None:
    model = filled(made)
    source = made.source()
    columns = (("id", "id"), ("event_time", "event_tim"))

    with pytest.raises(SourceError, match=r'has no column "event_tim".*did you mean "event_time"'):
        source.read_records(
            replace(model, predictions=replace(PREDICTIONS, columns=columns)), [(START, AS_OF)]
        )
    with pytest.raises(SourceError, match="prediction"):
        source.read_records(
            replace(model, predictions=replace(PREDICTIONS, table="prediction")), [(START, AS_OF)]
        )
    assert source.read_records(model, [(START, AS_OF)]).num_rows == N
