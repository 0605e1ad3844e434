"""What is known of the daemon's health: the last report of each model, and what is wrong."""

import threading
from collections.abc import Callable, Mapping

from monitor.core.clock import SECOND, format_duration
from monitor.specs.protocols import CycleReport

_SLACK = 60.0


def success_limit(every: float) -> float:
    """Seconds that a model may be without a successful cycle: three ticks and a minute.

    >>> success_limit(3600)
    10860.0
    """
    return 3.0 * every + _SLACK


class Health:
    """Answers `/healthz` and `/readyz`.

    Parameters
    ----------
    limits
        name of each model and the seconds that it may be without success; a cycle that runs is no fault.
    now
        a clock that never goes back, in seconds.
    silent
        models whose source does not answer, each with a sentence that names it.
    store
        what is wrong with the store, or None.
    """

    def __init__(
        self,
        limits: Mapping[str, float],
        *,
        now: Callable[[], float],
        silent: Callable[[], Mapping[str, str]] = dict,
        store: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._limits = dict(limits)
        self._now = now
        self._silent = silent
        self._store = store
        self._lock = threading.Lock()
        self._succeeded = dict.fromkeys(limits, now())
        self._running: set[str] = set()
        self._reports: dict[str, CycleReport] = {}
        self._unready: str | None = "the last measurements are not restored yet"

    def replace_limits(self, limits: Mapping[str, float]) -> None:
        """Answer for other models from now on; a new one has its patience before it."""
        with self._lock:
            self._limits = dict(limits)
            now = self._now()
            self._succeeded = {model: self._succeeded.get(model, now) for model in limits}
            self._reports = {name: report for name, report in self._reports.items() if name in limits}

    def note_begun(self, model: str) -> None:
        """Note that a cycle runs."""
        with self._lock:
            self._running.add(model)

    def note_ended(self, report: CycleReport) -> None:
        """Keep a cycle's report."""
        with self._lock:
            self._running.discard(report.model)
            if report.model not in self._limits:
                return
            self._reports[report.model] = report
            if report.error is None:
                self._succeeded[report.model] = self._now()

    def note_abandoned(self, model: str) -> None:
        """Note that a cycle was left to another process, or given up."""
        with self._lock:
            self._running.discard(model)

    def note_idle(self, model: str) -> None:
        """Note that what was due has been done, by this process or another."""
        with self._lock:
            if model in self._limits:
                self._succeeded[model] = self._now()

    def mark_ready(self) -> None:
        """Answer readiness from now on."""
        self._unready = None

    def mark_stopping(self) -> None:
        """Answer that the service ends."""
        self._unready = "the service is stopping"

    def last_reports(self) -> Mapping[str, CycleReport]:
        """Last report of each model."""
        with self._lock:
            return dict(self._reports)

    def why_unready(self) -> str | None:
        """Why the service is not ready, or what is wrong with its store; None: it is."""
        return self._unready or self._store()

    def fault_text(self, *, ticking: bool) -> str | None:
        """Say what is wrong; None: nothing.

        Parameters
        ----------
        ticking
            whether the schedule lives.
        """
        if self._unready is None and not ticking:
            return "the scheduler has stopped"
        silent, store = self._silent(), self._store()
        with self._lock:
            late = {model: since for model in self._limits if (since := self._late_seconds(model, silent))}
            lines = [] if store is None else [store]
            lines += [self._lateness_text(model, late[model]) for model in late if model not in silent]
        # A silent source alone is no fault of ours: it is named where a model is late, or something else is
        # wrong.
        if lines or late:
            lines += [_silent_source_words(source, silent, late) for source in dict.fromkeys(silent.values())]
        return "\n".join(lines) or None

    def silent_sources_text(self) -> str | None:
        """Say which sources do not answer, whether or not a model is late for it; None: all do."""
        return "\n".join(dict.fromkeys(self._silent().values())) or None

    def _late_seconds(self, model: str, silent: Mapping[str, str]) -> float:
        """Seconds without success, if they are too many: 0 where a cycle runs that may have one."""
        since = self._now() - self._succeeded.get(model, 0.0)
        runs = model in self._running and model not in silent
        return 0.0 if runs or since <= self._limits[model] else since

    def _lateness_text(self, model: str, since: float) -> str:
        report = self._reports.get(model)
        why = f": {report.error}" if report is not None and report.error is not None else ""
        return f"model {model}: no successful cycle for {_whole_seconds_text(since)}{why}"


def _silent_source_words(source: str, silent: Mapping[str, str], late: Mapping[str, float]) -> str:
    """What is known of a silent source, and which of its models are late."""
    of_it = {model: since for model, since in late.items() if silent.get(model) == source}
    if not of_it:
        return source
    return f"{source}; no successful cycle for {_whole_seconds_text(max(of_it.values()))}: {', '.join(of_it)}"


def _whole_seconds_text(seconds: float) -> str:
    return format_duration(int(seconds) * SECOND)
