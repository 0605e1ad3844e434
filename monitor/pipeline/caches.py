"""What one process remembers of a model between its cycles. Nothing else in the package changes it.

All of it can be had again from the store and the log. After any failure the application drops it whole.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.incident_life import ModelIncidents
from monitor.alerts.lifecycle import Alert
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.sequential.judge_days import PartKey, WatchedPart
from monitor.pipeline.sequential.ledger import Ledger
from monitor.pipeline.windows.calibration_maps import CalibrationMaps
from monitor.specs.stored_rows import WindowState
from monitor.states.strata import Strata, Stratum

_KEPT = 16  # calibration maps of settled windows, and estimates, in memory

RowsKey: TypeAlias = tuple[str, int, LabelTruth, str, str]
"""Window, its end, truth, warning, and what it is compared with."""
_MeasuredRows: TypeAlias = dict[RowsKey, tuple[Strata, list[MeasurementRow]]]
Estimates: TypeAlias = Mapping[Stratum, list[MeasureResult]]
T = TypeVar("T")
_UNMADE = object()


@dataclass(frozen=True, slots=True)
class NewestSettled:
    """The newest settled window of a kind: its end, and the warning that it settled with, for good."""

    end: int
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCycle:
    """What was committed last, as far as the next cycle goes on from it."""

    settled: Mapping[str, NewestSettled] = field(default_factory=dict)  # newest settled window by its name
    audit: tuple[MeasurementRow, ...] = ()  # figures of the last audit
    late: tuple[MeasurementRow, ...] = ()  # what became visible late, as of the last cycle
    # as of of the cycle that first counted a version.
    first_seen: Mapping[str, int] = field(default_factory=dict)
    # of the sequential tests, by name and key.
    ledgers: Mapping[tuple[str, str], Ledger] = field(default_factory=dict)
    # parts, as far as their days have been judged.
    watched: Mapping[PartKey, WatchedPart] = field(default_factory=dict)
    # by day from 1970 how late records were seen, microseconds.
    lateness: Mapping[int, int] = field(default_factory=dict)
    alerts: Mapping[AlertedSeries, Alert] = field(default_factory=dict)  # those that are pending or firing
    incidents: ModelIncidents = field(default_factory=ModelIncidents)
    whole_labels: bool = False  # an audit has found that a difference was wrong, and nobody has decided since
    pruned: bool = False  # whether old revisions were deleted in this process

    @property
    def settled_ends(self) -> dict[str, int]:
        """End of the newest settled window by its name."""
        return {name: window.end for name, window in self.settled.items()}


def merge_newest_settled(
    settled: Mapping[str, NewestSettled], windows: Iterable[WindowState]
) -> dict[str, NewestSettled]:
    """Newest settled windows by name, kept ones among them: all that a tick which shows nothing leaves."""
    found = dict(settled)
    for window in windows:
        newest = found.get(window.window)
        if window.settled_as_of is not None and (newest is None or newest.end < window.end):
            found[window.window] = NewestSettled(window.end, window.warning)
    return found


class ModelCaches:
    """Caches of one model in one run.

    Parameters
    ----------
    panes
        counted panes.
    """

    __slots__ = ("_before", "_estimates", "_judged", "_last", "_maps", "_now", "_once", "panes")

    def __init__(self, panes: ModelPanes) -> None:
        self.panes = panes
        self._last: LastCycle | None = None
        self._once: dict[tuple[Hashable, ...], object] = {}
        self._before: _MeasuredRows = {}
        self._now: _MeasuredRows = {}
        self._judged: dict[tuple[str, LabelTruth], tuple[object, ...]] = {}
        self._maps: dict[tuple[int, int], tuple[int, CalibrationMaps]] = {}
        self._estimates: dict[tuple[str, int, LabelTruth], tuple[Strata, CalibrationMaps, Estimates]] = {}

    @classmethod
    def from_model(cls, model: CycleModel) -> "ModelCaches":
        """Nothing is known of a model yet."""
        return cls(ModelPanes(model.name, model.counting, model.store.panes))

    def share_with_panes(self, panes: ModelPanes) -> "ModelCaches":
        """Caches of other panes beside the same references: what follows from these is made once for all."""
        other = ModelCaches(panes)
        other._once = self._once
        return other

    @property
    def last(self) -> LastCycle | None:
        """What was committed last; None: not read yet."""
        return self._last

    def keep_last(self, last: LastCycle) -> None:
        """Keep what was read from the store, or has just been committed."""
        self._last = last

    def rotate_row_cache(self) -> None:
        """Begin a cycle: rows of the one before stay, older ones go."""
        self._before, self._now = self._now, {}

    def measure_rows_once(
        self, key: RowsKey, fold: Callable[[], Strata], measure: Callable[[Strata], list[MeasurementRow]]
    ) -> list[MeasurementRow]:
        """Rows measured on a state, unless this cycle, or the last one on the same state, measured them."""
        if key not in self._now:
            state, before = fold(), self._before.get(key)
            unchanged = before is not None and before[0] == state
            self._now[key] = before if before is not None and unchanged else (state, measure(state))
        return list(self._now[key][1])

    def get_cached_strata(self, key: RowsKey) -> Strata:
        """State behind rows of this cycle."""
        return self._now[key][0]

    def find_window_strata(self, window: str, end: int, truth: LabelTruth) -> Strata | None:
        """State behind a window's own rows of this cycle; None: it was not measured, or only revised."""
        states = (
            state
            for (name, at, of, _, against), (state, _) in self._now.items()
            if (name, at, of, against) == (window, end, truth, "")
        )
        return next(states, None)

    def made_once(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """What follows from the references alone: made once, kept under what it is, and of what.

        The same key must always be used for the same type.
        """
        # Looked up once: to hash a reference's counters costs.
        made = self._once.get(key, _UNMADE)
        if made is _UNMADE:
            made = self._once[key] = make()
        return cast("T", made)

    def is_judged(self, window: str, truth: LabelTruth, behind: tuple[object, ...]) -> bool:
        """Whether rules have judged a window with the same behind it; from now on they have."""
        before = self._judged.get((window, truth))
        self._judged[window, truth] = behind
        return before == behind

    def maps_once(
        self, span: tuple[int, int], seen: int, learn: Callable[[], CalibrationMaps]
    ) -> CalibrationMaps:
        """Maps learned from the labels of a span, as long as what was seen of these is the same."""
        kept = self._maps.get(span)
        if kept is not None and kept[0] == seen:
            return kept[1]
        if len(self._maps) >= _KEPT:
            self._maps.clear()
        learned = learn()
        self._maps[span] = (seen, learned)
        return learned

    def estimates_once(
        self,
        key: tuple[str, int, LabelTruth],
        state: Strata,
        maps: CalibrationMaps,
        estimate: Callable[[], Estimates],
    ) -> Estimates:
        """Estimates of a window by its end and truth, as long as the very state and maps are the same."""
        kept = self._estimates.get(key)
        # By identity: what did not change is the same object here, and to compare thousands of counters would
        # cost.
        if kept is not None and kept[0] is state and kept[1] is maps:
            return kept[2]
        made = estimate()
        if len(self._estimates) >= _KEPT:
            self._estimates.clear()
        self._estimates[key] = (state, maps, made)
        return made
