"""What commands and the daemon do with an opened application: cycles, replays, rows to show."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from monitor.app.wiring import App
from monitor.core.clock import MINUTE, to_iso
from monitor.core.errors import LeaseLost, MonitorError, StoreError
from monitor.pipeline.count import Stopped
from monitor.pipeline.cycle import run_cycle
from monitor.pipeline.dirty import find_changes
from monitor.pipeline.replay import ticks
from monitor.show import Shown
from monitor.specs.protocols import CycleReport

LEASE = MINUTE  # of a model's cycle, and of a daemon's run
DAEMON = ""  # in place of a model's name: the lease of the daemon that has the run


def cycle_once(
    app: App, name: str, as_of: int, *, stopping: Callable[[], bool] = lambda: False
) -> CycleReport:
    """Run one cycle under the model's lease; an expected failure is a report, so that it stops no other."""
    began = time.perf_counter()
    report = CycleReport(model=name, as_of=as_of)
    try:
        token = app.store.claim(name, app.owner, LEASE)
        if token is None:
            raise LeaseLost("another process runs a cycle of this model")
        try:
            report, _ = run_cycle(app.monitored(name), as_of, token=token, stopping=stopping)
        finally:
            app.store.release(name, token)
    except Stopped:
        app.forget(name)
        report = replace(report, error="stopped between two chunks")
    except MonitorError as error:
        app.forget(name)
        report = replace(report, error=str(error))
    except BaseException:
        app.forget(name)
        raise
    return replace(report, duration=time.perf_counter() - began)


def refuse_beside_daemon(app: App) -> None:
    """Refuse to write history that a daemon has.

    Raises
    ------
    StoreError
        if a daemon runs.
    """
    token = app.store.claim(DAEMON, app.owner, 0)
    if token is None:
        raise StoreError(f'a daemon has the run "{app.store.run}": name another run with --run NAME')


def replay_model(
    app: App, name: str, start: int, end: int, every: int | None = None
) -> tuple[list[int], Iterator[CycleReport]]:
    """Moments of a replay that are still to come, and the cycles at them; it stops at a failure."""
    done = app.store.state(name).as_of
    moments = [
        moment for moment in ticks(start, end, every or app.spec(name).every) if done is None or moment > done
    ]

    def reports() -> Iterator[CycleReport]:
        for moment in moments:
            report = cycle_once(app, name, moment)
            yield report
            if report.error is not None:
                return

    return moments, reports()


def pending(app: App, name: str, as_of: int) -> str:
    """What a cycle would count, in one line."""
    monitored = app.monitored(name)
    state = app.store.state(name)
    monitored.panes.load(monitored.oldest_pane(as_of) - monitored.longest_window())
    changes = find_changes(monitored, state, as_of)
    panes = len({pane.start for pane in changes.waiting} | {pane.start for pane in app.store.waiting(name)})
    return (
        f"{name} as of {to_iso(as_of)}: {panes} panes to count, {sum(changes.rows.values()):,} changed rows"
    )


def chosen_rows(
    app: App,
    *,
    model: str | None,
    window: str | None = None,
    measure: str | None = None,
    subject: str | None = None,
    segment: str | None = None,
    as_of: int | None = None,
    history: bool = False,
) -> list[Shown]:
    """Current rows, or kept ones where a history or a moment is asked for."""
    if history or as_of is not None:
        return app.store.history(
            model=model, window=window, measure=measure, subject=subject, segment=segment, as_of=as_of
        )
    wanted = {"window": window, "measure": measure, "subject": subject, "segment": segment}
    return [
        (name, moment, row)
        for name, moment, row in app.store.current(model)
        if all(value is None or getattr(row, field) == value for field, value in wanted.items())
    ]
