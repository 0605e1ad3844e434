"""A horizon that becomes longer: what it reaches now is counted at once, and never again."""

from pathlib import Path

import pytest
from serving import Bench, Cycled, model, predictions, sqlite_bench

from monitor.core.clock import DAY, HOUR, from_iso

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


def warnings(bench: Bench) -> set[str]:
    with bench.app() as app:
        return {row.warning for _, _, row in app.store.current("late") if row.window == "30d"}


def read(cycled: Cycled) -> int:
    return cycled.reports["late"].rows_read


def test_a_longer_horizon_is_counted_by_its_first_cycle(bench: Bench, tmp_path: Path) -> None:
    bench.configure(model(options=LONG))
    first = bench.cycle(END)
    again = bench.cycle(END)

    scratch = Bench(tmp_path / "scratch", bench.database, f"sqlite:///{tmp_path}/scratch.db")
    scratch.directory.mkdir()
    scratch.configure(model(options=LONG))
    expected = scratch.cycle(END)

    assert first.error is None
    assert first.of("records", window="30d").value == 600
    assert first.measured == expected.measured
    assert warnings(bench) == warnings(scratch) == {""}
    assert read(first) <= 33 * 20 + 10
    assert read(again) <= 10


def test_a_horizon_that_reaches_before_the_log_reads_no_row_again(bench: Bench) -> None:
    bench.configure(model(options=LONG))
    bench.cycle(END)
    bench.configure(model(options=LONG.replace("38d", "90d")))

    longest = bench.cycle(END)
    again = bench.cycle(END + DAY)

    assert read(longest) <= 2 * 20 + 10  # the two days before
    assert read(again) <= 10
