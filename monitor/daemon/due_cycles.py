"""What is due at a tick: the cycles that were missed, in order, and when to try again."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from monitor.core.clock import to_iso
from monitor.core.errors import error_line
from monitor.daemon.health import Health
from monitor.specs.protocols import CycleReport

_LOG = "monitor.daemon"
_FIRST, _LONGEST = 1.0, 300.0  # seconds between tries
_STALL, _LONGER = 5.0, 3.0  # seconds, times the cycle before: one that takes longer has waited for its source
_BUSY, _ASIDE = 1.0, 10.0  # seconds between looks at a model that another process has, or may claim


class CycleObserver(Protocol):
    """Takes the daemon's own figures: the exposition."""

    def observe_cycle(self, report: CycleReport, *, at: float, newest_logged_at: int | None = None) -> None:
        """Take a cycle's report."""
        ...

    def count_skipped(self, model: str) -> None:
        """Count a tick that was left out."""
        ...


def backoff_seconds(failures: int, luck: float) -> float:
    """Seconds to wait after so many failures in a row: doubled each time, at most five minutes, with jitter.

    >>> [backoff_seconds(failures, luck=1.0) for failures in (1, 2, 5, 20)]
    [1.0, 2.0, 16.0, 300.0]
    >>> backoff_seconds(1, luck=0.0)
    0.5

    `luck`: in [0, 1]: what fails together is not tried again together.
    """
    return float(min(_LONGEST, _FIRST * 2 ** min(failures - 1, 30)) * (1.0 + luck) / 2.0)


@dataclass(slots=True)
class _RecentTicks:
    """Of one model: failures in a row, missed ticks that were run at once, whether ticks came meanwhile.

    `runs`: a cycle does now; `took` is the seconds of the last one; `stalled`: one since took many more, or
    no tick came.
    """

    failures: int = 0
    behind: int | None = None
    overrun: bool = False
    runs: bool = False
    took: float | None = None
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class CycleRunner:
    """Runs what is due of one model: whatever happens, it is reported, and nobody else is stopped.

    Missed ticks are run in order, each with its own as of. A model whose cycles take longer than its ticks
    are apart does not fall behind for good: of ticks that came while a cycle in time ran, and of as many
    missed ones as before or more, only the newest is run. Where a single cycle stalled, as its source was
    silent for a while, all that came meanwhile are run.
    """

    # one cycle; failures that it expects are in its report. None: another process has or had it.
    cycle: Callable[[str, int], CycleReport | None]
    publish: Callable[[str], None]  # hands a model's committed rows to the exposition
    newest_logged_at: Callable[[str], int | None]  # of the rows that a model's source has shown, microseconds
    health: Health
    exposition: CycleObserver
    # ticks of a model up to a moment that were not run yet, oldest first.
    owed: Callable[[str, int], list[int]] = lambda _model, as_of: [as_of]
    aside: Callable[[], bool] = lambda: False  # whether nothing may be claimed now
    source: Callable[[str], str] = lambda _model: ""  # name of a model's source
    # whether the service ends: a cycle that gives up then has not failed.
    stopping: Callable[[], bool] = lambda: False
    luck: Callable[[], float] = random.random  # random numbers in [0, 1)
    lately: dict[str, _RecentTicks] = field(default_factory=dict)

    def __call__(self, model: str, as_of: int) -> float | None:
        """Run what is due; seconds after which to try again before the next tick, or None."""
        lately = self.lately.setdefault(model, _RecentTicks())
        try:
            owed = self.owed(model, as_of)
            if owed and self.aside():
                return _ASIDE * (1.0 + self.luck()) / 2.0
        except Exception as error:  # noqa: BLE001 -- one model's failure must not stop the others
            return self._note_failed(lately, CycleReport(model=model, as_of=as_of, error=error_line(error)))
        if not owed:
            self.health.note_idle(model)
            lately.failures, lately.overrun, lately.behind = 0, False, None
            return None
        due = self._choose_ticks(model, owed, lately)
        for tick in due:
            lately.runs = True
            again = self._run_tick(model, tick, lately)
            lately.runs = False
            if self.stopping():
                return None
            if again is not None:
                lately.behind = None
                return again
        # While missed ticks were run a further one may have come due.
        return 0.0 if len(due) > 1 else None

    def note_skipped(self, model: str) -> None:
        """Take in that a tick came while the model's cycle still ran."""
        lately = self.lately.setdefault(model, _RecentTicks())
        # One that waits for a thread runs them all, later.
        if lately.runs and lately.behind is None:
            lately.overrun = True
            self._count_skipped_tick(model)

    def note_resumed(self) -> None:
        """Take in that no tick came for a while: what was missed is run, all of it."""
        for lately in list(self.lately.values()):
            lately.stalled = True

    def _choose_ticks(self, model: str, owed: list[int], lately: _RecentTicks) -> list[int]:
        log = structlog.stdlib.get_logger(_LOG)
        if lately.stalled:
            lately.stalled, lately.overrun, lately.behind = False, False, None
        if lately.overrun:
            owed = owed[-1:]
        # As many were missed as the last time, or more: its cycles take longer than its ticks are apart.
        if lately.behind is not None and len(owed) >= lately.behind > 0:
            for _ in owed[:-1]:
                self._count_skipped_tick(model)
            owed = owed[-1:]
        lately.overrun = False
        lately.behind = len(owed) if len(owed) > 1 else None
        if len(owed) > 1:
            log.info("running missed ticks", model=model, ticks=len(owed), since=to_iso(owed[0]))
        return owed

    def _run_tick(self, model: str, as_of: int, lately: _RecentTicks) -> float | None:
        """Run a tick; seconds after which to try it again, or None."""
        self.health.note_begun(model)
        began = time.monotonic()
        report: CycleReport | None = CycleReport(model=model, as_of=as_of)
        newest: int | None = None
        try:
            report = None if self.aside() else self.cycle(model, as_of)  # also between missed ticks
            if report is not None and report.error is None:
                self.publish(model)
                newest = self.newest_logged_at(model)
        except Exception as error:  # noqa: BLE001 -- one model's failure must not stop the others
            report = CycleReport(
                model=model, as_of=as_of, duration=time.monotonic() - began, error=error_line(error)
            )
        if report is None:
            self.health.note_abandoned(model)
            return _BUSY * (1.0 + self.luck()) / 2.0
        if report.error is not None:
            return self._note_failed(lately, report)
        lately.failures = 0
        lately.stalled |= lately.took is not None and report.duration > _STALL + _LONGER * lately.took
        lately.took = report.duration
        self._observe_cycle(report, newest)
        return None

    def _note_failed(self, lately: _RecentTicks, report: CycleReport) -> float | None:
        lately.overrun, lately.behind = False, None
        if self.stopping():
            self.health.note_abandoned(report.model)
            log = structlog.stdlib.get_logger(_LOG)
            log.info("cycle given up", model=report.model, reason=report.error)
            return None
        lately.failures += 1
        after = backoff_seconds(lately.failures, self.luck())
        self._observe_cycle(report, None, source=self.source(report.model), retry_in=round(after, 1))
        return after

    def _observe_cycle(self, report: CycleReport, newest: int | None, **more: object) -> None:
        self.health.note_ended(report)
        self.exposition.observe_cycle(report, at=time.time(), newest_logged_at=newest)
        _log_cycle(report, **more)

    def _count_skipped_tick(self, model: str) -> None:
        self.exposition.count_skipped(model)
        log = structlog.stdlib.get_logger(_LOG)
        log.warning("tick left out: the cycle before still runs", model=model)


def _log_cycle(report: CycleReport, **more: object) -> None:
    log = structlog.stdlib.get_logger(_LOG).bind(
        model=report.model, as_of=to_iso(report.as_of), seconds=round(report.duration, 3)
    )
    if report.error is not None:
        log.error("cycle failed", error=report.error, **more)
        return
    log.info(
        "cycle",
        rows=report.rows_read,
        label_rows=report.label_rows_read,
        panes=report.panes_counted,
        waiting=report.panes_waiting,
        steps={step: round(seconds, 3) for step, seconds in report.steps.items()},
    )
    if report.missing_columns:
        log.warning("columns are missing", columns=list(report.missing_columns))
    if report.empty_tables:
        log.warning("no rows are left", tables=list(report.empty_tables))
    if report.lost:
        log.warning("what was rewritten is not known: the horizon was looked through", why=report.lost)
    if report.new_labels.are_other:
        log.warning(
            "labels are none that the model knows",
            labels=report.new_labels.n,
            unknown=report.new_labels.unknown,
            words=list(report.new_labels.words),
        )
