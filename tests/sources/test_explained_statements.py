"""What `check --explain` shows is what cycles and audits run: the same statements, within the same bounds."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, PREDICTIONS, READING, counting_of, iso, model_of, rows_of
from flight_models import START as FIRST
from serving import bench_in, fill_tables, model, predictions
from source_databases import Database as Log
from source_databases import recorded

from monitor.advice.query_plans import ExplainedQuery, explain_model
from monitor.core.clock import DAY, HOUR, MINUTE, floor_to, from_iso
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle import CycleTick, run_cycle
from monitor.records.pane import PaneHalf
from monitor.sources import PushedSource, SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.read_ranges import counted_ranges

START, END = from_iso("2024-03-01"), from_iso("2024-03-11")
NOW = FIRST + 5 * HOUR
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "5d"\nsettle_after = "1d"\nresamples = 20'
TIME = re.compile(r"'\d{4}-\d\d-\d\d[^']*'")
RANGES = re.compile(r"\(TIME, TIME\)(, \(TIME, TIME\))*")


def shape(sql: str) -> str:
    """A statement without its times, however many ranges it has."""
    return RANGES.sub("RANGES", TIME.sub("TIME", sql))


@pytest.mark.parametrize("column", ['logged_at = "logged_at"', ""])
def test_what_is_explained_is_what_a_cycle_and_an_audit_run(tmp_path: Path, column: str) -> None:
    bench = bench_in(tmp_path)
    rows = predictions(2_400, START, END)
    fill_tables(bench.database, rows, labelled=END + DAY)
    bench.configure(model(options=OPTIONS).replace('logged_at = "logged_at"', column))
    source, seen = recorded(Log(bench.database.url, "fetchmany"))

    with bench.app() as app:
        monitored = replace(app.find_cycle_model("late"), source=source)
        caches = ModelCaches.from_model(monitored)
        run_cycle(monitored, caches, CycleTick(END - DAY))
        run_cycle(monitored, caches, CycleTick(END - HOUR))
        seen.clear()
        run_cycle(monitored, caches, CycleTick(END))
        run = {
            sql
            for sql in seen
            if "event_time" in sql
            and not sql.startswith(("EXPLAIN", "SELECT typeof"))
            and not sql.endswith("LIMIT 100")  # looks at what a column holds
        }
        explained = explain_model(monitored.spec, source, monitored.counting, END)
    source.close()

    assert len(run) > 8
    assert {shape(sql) for sql in run} <= {shape(query.sql) for query in explained}
    exact = [query for query in explained if query.every == "audit" and "outputs" not in query.purpose]
    if not column:
        exact += [query for query in explained if query.purpose.endswith("since the last cycle")][:1]
    assert {query.sql for query in exact} <= run


@pytest.mark.parametrize("kind", ["text", "timestamp"])
@pytest.mark.parametrize("logged", [True, False])
def test_every_statement_that_is_explained_runs(database: Log, kind: str, *, logged: bool) -> None:
    check_explained(database, database.source(), kind, logged=logged)


@pytest.mark.postgres
@pytest.mark.parametrize("logged", [True, False])
def test_every_statement_that_is_explained_of_a_database_that_counts_runs_and_is_run(
    postgres_database: Log, *, logged: bool
) -> None:
    source, seen = recorded(postgres_database)
    postgres_database.opened.append(source)
    pushed = PushedSource(source.reader)

    explained = check_explained(postgres_database, pushed, "timestamp", logged=logged)
    seen.clear()
    model = flights(logged=logged)
    keys, reread = model.keys, model.keys.reading
    since = NOW - keys.every - reread.overlap if logged else NOW - reread.lookback
    panes = list(range(floor_to(since, HOUR), NOW + 1, HOUR))
    ranges = counted_ranges(panes, model.reading, NOW)
    counting = counting_of(model.reading)
    pushed.count_panes(model, PaneHalf.RECORDS, ranges, counting, panes=np.asarray(panes), as_of=NOW)

    newest = {query.sql for query in explained if query.purpose == "rows of the newest panes"}
    assert len(newest) > 3
    assert newest <= set(seen)


def flights(*, logged: bool) -> ModelSpec:
    """A model with and without a column that tells which rows are new."""
    columns = tuple(pair for pair in PREDICTIONS.columns if logged or pair[0] != "logged_at")
    reading = replace(READING, horizon=2 * DAY)
    return model_of(reading=reading, predictions=replace(PREDICTIONS, columns=columns))


def check_explained(log: Log, source: SqlSource, kind: str, *, logged: bool) -> list[ExplainedQuery]:
    """Run what is explained of a log."""
    moments = [FIRST + at * MINUTE for at in range(300)]
    times = [iso(us, "%Y-%m-%d %H:%M:%S") for us in moments]
    kinds = {"event_time": kind, "logged_at": kind}
    columns = COLUMNS | kinds | ({"late": "text"} if kind == "timestamp" else {})
    log.create("predictions", columns, rows_of(300, event_time=times, logged_at=times))
    log.create("labels", LABEL_COLUMNS, [(at, at % 2, iso(us + HOUR), 0) for at, us in enumerate(moments)])
    model = flights(logged=logged)

    explained = explain_model(model, source, counting_of(model.reading), NOW)

    assert {query.every for query in explained} == {"cycle", "audit"}
    with source.open_session() as session:
        for query in explained:
            session.read_rows(query.sql)
    return explained
