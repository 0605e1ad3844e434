"""What commands and the daemon do with an opened application: cycles, replays, rows to show."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import Enum

import structlog

from monitor.app.application import App
from monitor.core.clock import ticks_between, to_iso
from monitor.core.errors import LeaseLost, MonitorError, error_line
from monitor.pipeline.changes.dirty_panes import find_changes
from monitor.pipeline.cycle import CycleTick, run_cycle
from monitor.pipeline.pane_counting import CycleStopped
from monitor.specs.fault_words import quote_names
from monitor.specs.protocols import CycleReport, Lease
from monitor.specs.stored_rows import REPLAYED, HistoryEvent
from monitor.store import LIVE

SHOWN_EVERY = 100  # ticks of a replay


class NoticeScope(Enum):
    """Of which alerts a cycle tells channels; NEWS: those that fire or end in it, ALL: all that fire."""

    NOTHING = "nothing"
    NEWS = "news"
    ALL = "all"


def run_single_cycle(
    app: App,
    name: str,
    as_of: int,
    *,
    shown: bool = True,
    notices: NoticeScope = NoticeScope.NEWS,
) -> CycleReport:
    """Run one cycle under the model's lease; a failure is a report, so that it stops no other model.

    Parameters
    ----------
    shown
        see `run_cycle`.
    """
    try:
        with app.lease_model(name) as lease:
            return _run_leased(lease, app, name, as_of, shown=shown, notices=notices)
    except Exception as error:  # noqa: BLE001 -- one model's failure must not stop the others
        return CycleReport(model=name, as_of=as_of, error=error_line(error))


def run_due_cycle(
    app: App, name: str, as_of: int, *, again: bool = False, stopping: Callable[[], bool] = lambda: False
) -> CycleReport | None:
    """Run a cycle beside other daemons; None: another process has the model, or has run this tick.

    `again`: run it although it was run: what is configured is new.
    """
    with ExitStack() as stack:
        try:
            lease = stack.enter_context(app.lease_model(name))
        except LeaseLost:
            return None
        done = app.store.states.read_state(name).as_of
        if done is not None and (as_of < done or (as_of == done and not again)):
            return None
        return _run_leased(lease, app, name, as_of, stopping=stopping)


def _run_leased(
    lease: Lease,
    app: App,
    name: str,
    as_of: int,
    *,
    stopping: Callable[[], bool] = lambda: False,
    shown: bool = True,
    notices: NoticeScope = NoticeScope.NEWS,
) -> CycleReport:
    """Run a cycle under a lease."""
    began = time.perf_counter()
    report = CycleReport(model=name, as_of=as_of)
    try:
        model, caches = app.prepare_model(name, as_of)
        tick = CycleTick(
            as_of,
            lease,
            stopping,
            shown=shown,
            recipients=() if notices is NoticeScope.NOTHING else app.settings.list_recipients(name),
            of_all=notices is NoticeScope.ALL,
            report=app.settings.plan_report(app.find_spec(name)) if notices is NoticeScope.NEWS else None,
            url=app.settings.http.url or "",
        )
        report, _ = run_cycle(model, caches, tick)
        app.note_trouble(report)
    except CycleStopped:
        app.forget_caches(name)
        report = replace(report, error="stopped between two chunks")
    except Exception as error:  # noqa: BLE001 -- one model's failure must not stop the others
        app.forget_caches(name)
        report = replace(report, error=error_line(error))
        app.note_trouble(report)
    except BaseException:
        app.forget_caches(name)
        raise
    return replace(report, duration=time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class DueTicks:
    """Which ticks of a model are due: those since its last cycle, missed for no longer than `catch_up`."""

    app: App
    # tick of a model that is run once more, as it was run as the model was configured before; a cycle takes
    # it out.
    again: dict[str, int] = field(default_factory=dict)
    _told: set[tuple[str, int]] = field(default_factory=set)

    def __call__(self, name: str, as_of: int) -> list[int]:
        """Ticks up to this one, oldest first; none of a model that is configured no more."""
        configured = self.app.find_configured(name)
        if configured is None:
            return []
        done, every = self.app.store.states.read_state(name).as_of, configured[0].keys.every
        if done is None or done == as_of == self.again.get(name):
            return [as_of]
        first = as_of - max(self.app.settings.daemon.catch_up, every)
        if (name, done) not in self._told and (lost := ticks_between(done, first, every)):
            self._told.add((name, done))
            structlog.stdlib.get_logger(__name__).warning(
                "missed ticks are left out: older than catch_up",
                model=name,
                ticks=len(lost),
                since=to_iso(lost[0]),
                until=to_iso(lost[-1]),
            )
        return ticks_between(max(done, first), as_of, every)

    def run_tick(self, name: str, as_of: int, *, stopping: Callable[[], bool]) -> CycleReport | None:
        """Run one of them; see `run_due_cycle`.

        One that fails, but whose model or source was configured otherwise while it ran, has not failed: None.
        """
        configured = self.app.find_configured(name)
        if configured is None:
            return None
        try:
            report = run_due_cycle(
                self.app, name, as_of, again=self.again.get(name) == as_of, stopping=stopping
            )
        except Exception:
            if self.app.find_configured(name) == configured:
                raise
            report = None
        if self.app.find_configured(name) != configured:
            self.app.forget_removed()
            return None if report is None or report.error is not None else report
        if report is not None and report.error is None:
            self.again.pop(name, None)
        return report


def last_ticks(app: App, names: Iterable[str]) -> dict[str, int]:
    """As of of the last cycle of each model that had one."""
    done = {name: app.store.states.read_state(name).as_of for name in names}
    return {name: as_of for name, as_of in done.items() if as_of is not None}


def replay_model(
    app: App, name: str, start: int, end: int, every: int | None = None
) -> tuple[list[int], Iterator[CycleReport]]:
    """Moments of a replay that are still to come, and the cycles at them; it stops at a failure.

    Where it ends is kept at once: other processes tell by it where it is.

    Nobody is told of alerts of the past; of a replay into the live history the last tick tells of those that
    fire then. Current rows of windows, which the next tick replaces, are written with every hundredth and
    the last one.
    """
    done = app.store.states.read_state(name).as_of
    moments = [
        moment
        for moment in ticks_between(start, end, every or app.find_spec(name).keys.every)
        if done is None or moment > done
    ]
    if moments and [event.at for event in app.store.events.read_events(name, REPLAYED)[-1:]] != moments[-1:]:
        app.store.events.append_events([HistoryEvent(model=name, at=moments[-1], kind=REPLAYED)])

    def reports() -> Iterator[CycleReport]:
        for at, moment in enumerate(moments, start=1):
            last = at == len(moments)
            notices = NoticeScope.ALL if last and app.store.run == LIVE else NoticeScope.NOTHING
            report = run_single_cycle(app, name, moment, shown=last or at % SHOWN_EVERY == 0, notices=notices)
            yield report
            if report.error is not None:
                return

    return moments, reports()


def plan_cycle_report(app: App, name: str, as_of: int) -> CycleReport:
    """What a cycle would count: panes that wait and changed rows. Nothing is written."""
    report = CycleReport(model=name, as_of=as_of)
    try:
        (model, caches), state = app.prepare_model(name, as_of), app.store.states.read_state(name)
        caches.panes.load_since(model.find_horizon_start(as_of) - model.longest_window_length())
        changes = find_changes(model, caches.panes, state, as_of, write=False)
        panes = {pane.start for pane in (*changes.waiting, *app.store.panes.read_waiting_panes(name))}
    except Exception as error:  # noqa: BLE001 -- one model's failure must not stop the others
        return replace(report, error=error_line(error))
    return replace(report, panes_waiting=len(panes), rows_read=sum(changes.rows.values()))


def refuse_second_history(app: App, names: Iterable[str]) -> None:
    """Refuse to replay into a history that has begun, unless it is named.

    Raises
    ------
    MonitorError
        if one of the models has a history in the run.
    """
    begun = [name for name in names if app.store.states.read_state(name).as_of is not None]
    if begun:
        raise MonitorError(
            f'the run "{app.store.run}" has a history of {quote_names(begun)}: '
            f"name another run with --run NAME, or go on with this one by --run {app.store.run}"
        )
