"""A horizon that becomes longer: what it reaches now is counted at once, and never again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from memory import MemorySource
from serving import Bench, model, predictions, sqlite_bench
from synthetic import labels_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, from_iso
from monitor.measures.catalogue.daily_measures import DAILY
from monitor.pipeline.audit import SINCE_AUDIT
from monitor.store.sql_store import SqlStore

START, END = from_iso("2024-03-01"), from_iso("2024-04-10")
OPTIONS = """
every = "1h"
windows = ["1d"{further}]
horizon = "{horizon}"
settle_after = "1d"
resamples = 20
reading = {{ ready_after = "0s" }}
"""
SHORT, LONG = OPTIONS.format(horizon="5d", further=""), OPTIONS.format(horizon="38d", further=', "30d"')


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Forty days of a log, a cycle done with a horizon of five."""
    bench = sqlite_bench(tmp_path, predictions(800, START, END), model(options=SHORT), labelled=END)
    assert bench.cycle(END - HOUR).error is None
    return bench


def test_a_longer_horizon_is_counted_by_its_first_cycle(bench: Bench) -> None:
    bench.configure(model(options=LONG))
    first = bench.cycle(END)
    again = bench.cycle(END)

    scratch = bench.from_scratch(model(options=LONG))
    expected = scratch.cycle(END)

    assert first.error is None
    assert first.of("records", window="30d").value == 600
    found, wanted = (
        {
            key: value for key, value in cycle.measured.items() if key[2] not in (*DAILY, *SINCE_AUDIT)
        }  # judged once and for good; of what came since the audit before
        for cycle in (first, expected)
    )
    assert found == wanted
    assert bench.warnings("30d") == scratch.warnings("30d") == {""}
    assert first.reports["late"].rows_read <= 33 * 20 + 10
    assert again.reports["late"].rows_read <= 10


def test_a_horizon_that_reaches_before_the_log_reads_no_row_again(bench: Bench) -> None:
    bench.configure(model(options=LONG))
    bench.cycle(END)
    bench.configure(model(options=LONG.replace("38d", "90d")))

    longest = bench.cycle(END)
    again = bench.cycle(END + DAY)

    assert longest.reports["late"].rows_read <= 2 * 20 + 10  # the two days before
    assert again.reports["late"].rows_read <= 10


def test_an_old_row_that_is_logged_while_a_process_starts_changes_no_history(
    new_store: Callable[[], SqlStore],
) -> None:
    """It is counted as in a process that goes on: the horizon reaches no further than it did."""
    event = START + DAY + np.arange(48) * HOUR
    early = np.append(event, START + DAY - HOUR)
    logged = np.append(event, START + 2 * DAY + HOUR)
    source = MemorySource(predictions_of(early, logged=logged), labels_of([("p0", START + 2 * DAY, 0, "1")]))
    states = []
    for restarted in (False, True):
        store = new_store()
        process = monitored_of(source, store, reference=False, windows=(), every=HOUR)
        process.cycle(START + 2 * DAY)
        if restarted:
            process = monitored_of(source, store, reference=False, windows=(), every=HOUR)
        process.cycle(START + 2 * DAY + 2 * HOUR)
        states.append(store.states.read_state("late"))

    assert states[0] == states[1]
    assert states[0].oldest == START + DAY
