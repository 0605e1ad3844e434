"""The daemon's own health as metrics: what its cycles did."""

import math
import platform
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from monitor.core.clock import SECOND
from monitor.exposition.alert_metrics import notice_families
from monitor.exposition.metric_names import PREFIX
from monitor.specs.protocols import ChannelReport, CycleReport


class CycleOutcome(StrEnum):
    """How a cycle ended."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(slots=True)
class _CycleTally:
    """What is known of one model's cycles since the start."""

    duration: float | None = None
    missing_columns: int | None = None
    lag: float | None = None
    succeeded_at: float | None = None
    cycles: dict[CycleOutcome, int] = field(default_factory=lambda: dict.fromkeys(CycleOutcome, 0))
    rows: int = 0
    label_rows: int = 0
    panes: int = 0
    invalid_times: int = 0
    skipped_ticks: int = 0


_STEP_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, math.inf)  # seconds


@dataclass(slots=True)
class _StepTally:
    """How often a step of the cycles took up to so long: by the bounds above, not added up."""

    counts: list[int] = field(default_factory=lambda: [0] * len(_STEP_BOUNDS))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Take in one cycle's step."""
        self.counts[bisect_left(_STEP_BOUNDS, seconds)] += 1
        self.seconds += seconds


_Value = Callable[[_CycleTally], float | None]

_GAUGES: tuple[tuple[str, str, _Value], ...] = (
    ("cycle_duration_seconds", "Duration of the last cycle.", lambda tally: tally.duration),
    (
        "last_success_timestamp_seconds",
        "When the last successful cycle ended; Unix time.",
        lambda tally: tally.succeeded_at,
    ),
    (
        "source_lag_seconds",
        "Age of the newest row of the source at the last cycle's as of.",
        lambda tally: tally.lag,
    ),
    (
        "missing_columns",
        "Configured columns that the source lacked at the last successful cycle.",
        lambda tally: tally.missing_columns,
    ),
)
_COUNTERS: tuple[tuple[str, str, _Value], ...] = (
    ("rows_read", "Prediction rows read.", lambda tally: tally.rows),
    ("label_rows_read", "Rows read for labels.", lambda tally: tally.label_rows),
    ("panes_counted", "Panes counted.", lambda tally: tally.panes),
    ("invalid_times", "Rows whose event time could not be read.", lambda tally: tally.invalid_times),
    (
        "skipped_ticks",
        "Ticks left out because the cycle before was still running.",
        lambda tally: tally.skipped_ticks,
    ),
)


class SelfMetrics:
    """Keeps the last report of each model and what its cycles add up to.

    Parameters
    ----------
    version
        of this program.
    started_at
        Unix time in seconds; `time() - model_monitor_start_time_seconds` is the uptime.
    sources
        seconds that queries have taken, rows that they have delivered, and seconds for which there has been
        no answer, by source.
    over
        models whose log is over: no cycle of them is ever late.

    Attributes
    ----------
    away
        tells for which of all reasons the store is not there.
    clock_ahead
        tells the seconds by which the machine's clock is ahead of that of the store's server; None: it is the
        same machine's.
    """

    def __init__(
        self,
        version: str,
        started_at: float,
        sources: Callable[[], Mapping[str, tuple[float, int, float]]] = dict,
        over: Sequence[str] = (),
    ) -> None:
        self._version = version
        self._started_at = started_at
        self._sources = sources
        self._over = over
        self.away: Callable[[], Mapping[str, bool]] = dict
        self.clock_ahead: Callable[[], float | None] = lambda: None
        self._reload: tuple[bool, float] = (True, started_at)
        self._aside: Mapping[str, bool] = {}
        self._channels: Mapping[str, ChannelReport] = {}
        self._tallies: dict[str, _CycleTally] = {}
        self._steps: dict[str, _StepTally] = {}
        self._lock = threading.Lock()

    def observe_cycle(self, report: CycleReport, *, at: float, newest_logged_at: int | None = None) -> None:
        """Take a cycle's report in.

        Parameters
        ----------
        at
            Unix time, in seconds, at which the cycle ended.
        newest_logged_at
            microseconds, of the newest row seen in the source.
        """
        with self._lock:
            tally = self._tallies.setdefault(report.model, _CycleTally())
            tally.duration = report.duration
            tally.rows += report.rows_read
            tally.label_rows += report.label_rows_read
            tally.panes += report.panes_counted
            tally.invalid_times += report.invalid_times
            tally.cycles[CycleOutcome.SUCCESS if report.error is None else CycleOutcome.FAILURE] += 1
            for step, seconds in report.steps.items():
                self._steps.setdefault(step, _StepTally()).add(seconds)
            if report.error is None:
                tally.succeeded_at = at
                tally.missing_columns = len(report.missing_columns)
            if newest_logged_at is not None:
                tally.lag = (report.as_of - newest_logged_at) / SECOND

    def count_skipped(self, model: str) -> None:
        """Count a tick that was left out."""
        with self._lock:
            self._tallies.setdefault(model, _CycleTally()).skipped_ticks += 1

    def note_followed(self, model: str, *, at: float) -> None:
        """Take in that another process has run a model's cycle, known of at a Unix time."""
        with self._lock:
            self._tallies.setdefault(model, _CycleTally()).succeeded_at = at

    def note_standing_aside(self, reasons: Mapping[str, bool]) -> None:
        """Take in for which of all reasons no cycles are claimed."""
        self._aside = dict(reasons)

    def note_channels(self, channels: Mapping[str, ChannelReport]) -> None:
        """Take in what became of each channel's notices."""
        self._channels = dict(channels)

    def note_reload(self, *, accepted: bool, at: float) -> None:
        """Take in that the configuration was read again, at a Unix time, and whether it was accepted."""
        self._reload = (accepted, at if accepted else self._reload[1])

    def forget_model(self, model: str) -> None:
        """Drop a model's series."""
        with self._lock:
            self._tallies.pop(model, None)

    def collect(self) -> Iterator[Metric]:
        """Families of the process, then of the models' cycles."""
        for model in self._over:
            self.note_followed(model, at=time.time())
        info = {"version": self._version, "python": platform.python_version()}
        build = InfoMetricFamily(f"{PREFIX}build", "Version of the program.")
        build.add_metric((), info)
        yield build
        start = f"{PREFIX}start_time_seconds"
        yield GaugeMetricFamily(start, "When the program started; Unix time.", value=self._started_at)
        yield from self._configuration_metrics()
        why = "Whether this daemon claims no cycles and serves what others measure, by reason."
        yield from _reason_gauge("daemon_aside", why, self._aside)
        why = "Whether the store is not there, by reason: its file is lost, it has long been silent."
        yield from _reason_gauge("store_away", why, self.away())
        if (ahead := self.clock_ahead()) is not None:
            what = "By how much the machine's clock is ahead of that of the store's server; negative: behind."
            yield GaugeMetricFamily(f"{PREFIX}clock_ahead_seconds", what, value=ahead)
        with self._lock:
            families = self._cycle_metrics() if self._tallies else []
        yield from families
        yield from self._source_metrics()
        yield from notice_families(self._channels)

    def _configuration_metrics(self) -> Iterator[Metric]:
        accepted, at = self._reload
        yield GaugeMetricFamily(
            f"{PREFIX}config_last_reload_successful",
            "Whether the configuration that was read last was accepted.",
            value=accepted,
        )
        yield GaugeMetricFamily(
            f"{PREFIX}config_last_reload_success_timestamp_seconds",
            "When the configuration in use was read; Unix time.",
            value=at,
        )

    def _source_metrics(self) -> Iterator[Metric]:
        used = self._sources()
        if not used:
            return
        seconds = CounterMetricFamily(
            f"{PREFIX}source_query_seconds", "Time that queries have taken.", labels=("source",)
        )
        rows = CounterMetricFamily(
            f"{PREFIX}source_rows", "Rows that queries have delivered.", labels=("source",)
        )
        silent = GaugeMetricFamily(
            f"{PREFIX}source_silent_seconds",
            "How long the source has not answered; 0: it answers.",
            labels=("source",),
        )
        for source, (taken, delivered, unheard) in used.items():
            seconds.add_metric((source,), taken)
            rows.add_metric((source,), delivered)
            silent.add_metric((source,), unheard)
        yield from (seconds, rows, silent)

    def _cycle_metrics(self) -> list[Metric]:
        cycles = CounterMetricFamily(
            f"{PREFIX}cycles", "Cycles since the start, by outcome.", labels=("model", "outcome")
        )
        for model, tally in self._tallies.items():
            for outcome, n in tally.cycles.items():
                cycles.add_metric((model, outcome), n)
        gauges = [
            self._fill_family(GaugeMetricFamily(PREFIX + name, text, labels=("model",)), value)
            for name, text, value in _GAUGES
        ]
        counters = [
            self._fill_family(CounterMetricFamily(PREFIX + name, text, labels=("model",)), value)
            for name, text, value in _COUNTERS
        ]
        steps = HistogramMetricFamily(
            f"{PREFIX}cycle_step_seconds", "Time of the steps of successful cycles.", labels=("step",)
        )
        for step, counted in self._steps.items():
            at_most = accumulate(counted.counts)
            buckets = [
                ("+Inf" if math.isinf(bound) else str(bound), n)
                for bound, n in zip(_STEP_BOUNDS, at_most, strict=True)
            ]
            steps.add_metric((step,), buckets, counted.seconds)
        return [cycles, *gauges, *counters, steps]

    def _fill_family(self, family: GaugeMetricFamily | CounterMetricFamily, value: _Value) -> Metric:
        for model, tally in self._tallies.items():
            figure = value(tally)
            if figure is not None:
                family.add_metric((model,), figure)
        return family


def _reason_gauge(name: str, text: str, reasons: Mapping[str, bool]) -> Iterator[Metric]:
    """Gauge that is 1 for the reasons that hold; none where no reason is known."""
    if not reasons:
        return
    family = GaugeMetricFamily(f"{PREFIX}{name}", text, labels=("reason",))
    for reason, holds in reasons.items():
        family.add_metric((reason,), holds)
    yield family
