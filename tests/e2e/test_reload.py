"""The real daemon, whose configuration is read again on SIGHUP."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import process
import pytest
import servers
from serving import (
    DAILY,
    HOURLY,
    Bench,
    bench_in,
    fill_tables,
    model,
    predictions,
    quick,
)

from monitor.core.clock import DAY, SECOND, floor_to

OPTIONS = quick()
LONGER = quick(windows=f"{DAILY}, {HOURLY}")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[tuple[Bench, process.Process]]:
    """A daemon over a log of yesterday and today, with the model `late`."""
    now = time.time_ns() // 1_000
    bench = bench_in(tmp_path)
    rows = predictions(600, floor_to(now, DAY) - DAY, now - 60 * SECOND)
    fill_tables(bench.database, rows, labelled=now)
    port = servers.free_port()
    bench.configure(model(options=OPTIONS), port=port)
    with process.daemon(tmp_path / "config.toml", port) as running:
        running.started()
        running.first_cycle("late")
        yield bench, running


def reload(running: process.Process, event: str = "configuration read again") -> None:
    """Send SIGHUP and wait for what is said of it."""
    before = len(running.logged(event))
    assert running.process is not None
    os.kill(running.process.pid, signal.SIGHUP)
    running.wait(lambda: len(running.logged(event)) > before, event)


def models(running: process.Process) -> set[str]:
    """Models of which the page tells anything."""
    return {value for _, labels in running.series() for name, value in labels if name == "model"}


def test_models_come_go_and_change_and_faults_are_refused(daemon: tuple[Bench, process.Process]) -> None:
    bench, running = daemon

    # a fault: the old configuration runs on
    bench.configure(
        model(options='every = "7h"'), model("other", options='colour = "red"'), port=running.port
    )
    reload(running, "configuration refused")
    assert running.value("config_last_reload_successful") == 0
    assert {line["fault"] for line in running.logged("configuration refused")} == {
        'models[0] "late".every: must divide a day or be a multiple of one: got "7h"',
        'models[1] "other".colour: unknown key',
    }
    running.wait_cycle("late")

    # another window of the one, and another model
    bench.configure(model(options=LONGER), model("other", options=OPTIONS), port=running.port)
    reload(running)
    assert running.value("config_last_reload_successful") == 1
    running.first_cycle("other")
    running.wait(lambda: running.value("window_records", model="late", window="1d") is not None, "the window")

    # one is gone from the page, its history is kept; the other has a new name and the old history
    bench.configure(model("delay", options=f'formerly = "late"\n{LONGER}'), port=running.port)
    reload(running)
    running.first_cycle("delay")
    assert models(running) == {"delay"}
    code, seconds = running.stop()
    assert (code, seconds < 10) == (0, True)
    with bench.app() as app:
        assert app.store.histories.list_runs("other") == ["live"]
        assert app.store.histories.list_runs("late") == []
        assert [event.kind for event in app.store.events.read_events("delay")] == ["renamed"]
    assert running.logged("cycle failed", model="delay") == []


def test_a_new_window_reads_no_row_again(daemon: tuple[Bench, process.Process]) -> None:
    bench, running = daemon
    counted = running.value("panes_counted_total", model="late")
    rows = running.first_cycle("late")["rows"]

    bench.configure(model(options=LONGER), port=running.port)
    reload(running)
    running.wait(lambda: running.value("window_records", model="late", window="1d") is not None, "the window")

    assert rows == 600
    assert counted is not None
    (read,) = {value for (name, _), value in running.series().items() if name == "rows_read_total"}
    assert read <= rows + 50  # what every cycle looks at: the newest pane
