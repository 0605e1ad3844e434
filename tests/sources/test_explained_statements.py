"""What `check --explain` shows is what cycles and audits run: the same statements, within the same bounds."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from serving import Bench, Database, create_tables, labels, model, predictions
from source_databases import Database as Log
from test_partitions import recorded

from monitor.advice.explain import explain_model
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.pipeline.cycle import run_cycle

START, END = from_iso("2024-03-01"), from_iso("2024-03-11")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "5d"\nsettle_after = "1d"\nresamples = 20'
TIME = re.compile(r"'\d{4}-\d\d-\d\d[^']*'")
RANGES = re.compile(r"\(TIME, TIME\)(, \(TIME, TIME\))*")


def shape(sql: str) -> str:
    """A statement without its times, however many ranges it has."""
    return RANGES.sub("RANGES", TIME.sub("TIME", sql))


@pytest.mark.parametrize("column", ['logged_at = "logged_at"', ""])
def test_what_is_explained_is_what_a_cycle_and_an_audit_run(tmp_path: Path, column: str) -> None:
    bench = Bench(tmp_path, Database(f"sqlite:///{tmp_path}/log.db"), f"sqlite:///{tmp_path}/monitor.db")
    rows = predictions(2_400, START, END)
    create_tables(bench.database)
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=END + DAY))
    bench.configure(model(options=OPTIONS).replace('logged_at = "logged_at"', column))
    source, seen = recorded(Log(bench.database.url, "fetchmany"))

    with bench.app() as app:
        monitored = replace(app.monitored("late"), source=source, audit_every=HOUR)
        run_cycle(monitored, END - HOUR)
        seen.clear()
        run_cycle(monitored, END)
        run = {
            sql
            for sql in seen
            if "event_time" in sql
            and not sql.startswith(("EXPLAIN", "SELECT typeof"))
            and not sql.endswith("LIMIT 100")  # looks at what a column holds
        }
        explained = explain_model(monitored.spec, source, END)
    source.close()

    assert len(run) > 8
    assert {shape(sql) for sql in run} <= {shape(query.sql) for query in explained}
    exact = [query for query in explained if query.every == "audit" and "outputs" not in query.purpose]
    if not column:
        exact += [query for query in explained if query.purpose.endswith("since the last cycle")][:1]
    assert {query.sql for query in exact} <= run
