"""A model with its engines: what a cycle works on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from monitor.alerts.acceptance import Acceptance
from monitor.alerts.lifecycle import Alert
from monitor.alerts.messages import Recipient
from monitor.alerts.rules import Series
from monitor.core.clock import DAY, floor_to
from monitor.core.measurement import Measurement
from monitor.measures.rows import MeasurementRow, Truth
from monitor.measures.shift.cells import Expected
from monitor.pipeline.panes import Panes
from monitor.pipeline.sequential.ledger import Ledger
from monitor.pipeline.windows.calibration_maps import Lessons
from monitor.records.counting import Counting
from monitor.records.reference import Reference
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import AtOnce, Source, Store
from monitor.specs.reads import oldest_pane
from monitor.specs.rows import ModelState
from monitor.states.counters import Counters
from monitor.states.strata import Strata
from monitor.windows.earlier import reach
from monitor.windows.settling import Settled

FIRST_SEEN = "version_first_seen"  # kind of event
LATE = ("late_visible_records", "late_visible_labels")
WAITING = ("panes_waiting", "longest_wait")
AGES = ("log_age", "label_age")
Figures: TypeAlias = Mapping[tuple[str, str], Measurement]  # by measure and subject
Remembered: TypeAlias = dict[tuple[str, int, Truth, str, str], tuple[Strata, list[MeasurementRow]]]


@dataclass(slots=True)
class Memory:
    """What this cycle and the one before measured, and on which states.

    By window, end, truth, warning, and what it is measured against.
    """

    before: Remembered = field(default_factory=dict)
    now: Remembered = field(default_factory=dict)

    def turn(self) -> None:
        """Begin a cycle."""
        self.before, self.now = self.now, {}


@dataclass(frozen=True, slots=True)
class NewestSettled:
    """The newest settled window of a kind: its end, and the warning that it settled with, for good."""

    end: int
    warning: str = ""


@dataclass(slots=True, kw_only=True)
class Monitored:
    """One model in one run. Holds the caches that a restart rebuilds from the store.

    Parameters
    ----------
    spec
        its reading is the resolved one of `counting`: features and classes are known.
    reference_key
        under which the store keeps the reference; of several references their keys, separated by spaces.
    version_references
        of the versions that have their own, on the grids of `reference`.
    at_once
        how much of it the source counts at once; None: what fits into memory here.
    retention, pruned
        for how long all revisions are kept, None: for ever; whether older ones were deleted in this process.
    first_seen
        as of of the cycle that first counted a version.
    settled
        newest settled window by its name.
    audit, late
        the audit's last figures; what became visible late, of the last cycle.
    memory
        what need not be measured again.
    ledgers
        of the comparisons that go on, by name and key, as they were committed last; None: not read yet.
    alerts
        those that are pending or firing, as they were committed last; None: not read yet.
    recipients
        who is told of them.
    tells_all
        whether they are told of all that fire, not only of what fires or ends in the cycle.
    accepted
        changes that are expected, as of the cycle.
    watched
        what stood behind the windows that rules judged last, by window and truth.
    expected
        what single references lead one to expect, by their counters, with and without features.
    checked
        faulty values of references, by their counters.
    performed
        performance on the reference's labels; None: not asked yet.
    threshold
        of the largest profit on the reference; None: not asked yet.
    lessons
        what estimates before labels are learned from, and the last ones.
    restored
        whether `settled` and `audit` are those that were committed last, or newer.
    """

    spec: ModelSpec
    counting: Counting
    reference: Reference | None
    version_references: Mapping[str, Reference] = field(default_factory=dict)
    source: Source
    store: Store
    panes: Panes
    code: str
    reference_key: str = ""
    at_once: AtOnce | None = None
    audit_every: int = DAY
    retention: int | None = None
    pruned: bool = False
    first_seen: dict[str, int] = field(default_factory=dict)
    settled: dict[str, NewestSettled] = field(default_factory=dict)
    audit: tuple[MeasurementRow, ...] = ()
    late: tuple[MeasurementRow, ...] = ()
    memory: Memory = field(default_factory=Memory)
    ledgers: dict[tuple[str, str], Ledger] | None = None
    alerts: Mapping[Series, Alert] | None = None
    recipients: tuple[Recipient, ...] = ()
    tells_all: bool = False
    accepted: Mapping[Series, Acceptance] = field(default_factory=dict)
    watched: dict[tuple[str, str], tuple[object, ...]] = field(default_factory=dict)
    expected: dict[tuple[Counters, bool], Expected] = field(default_factory=dict)
    checked: dict[Counters, Figures] = field(default_factory=dict)
    performed: Figures | None = None
    threshold: tuple[float | None] | None = None
    lessons: Lessons = field(default_factory=Lessons)
    restored: bool = False

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.spec.name

    def oldest_pane(self, as_of: int) -> int:
        """Start of the oldest pane within the horizon: the horizon is cut at a pane's start."""
        return oldest_pane(self.counting.reading, as_of)

    def first_counted(self, state: ModelState) -> int:
        """Windows that reach before this are partial: the log's first day, or the first horizon's cut."""
        cut = 0 if state.first_as_of is None else self.oldest_pane(state.first_as_of)
        return max(floor_to(state.oldest or 0, DAY), cut)

    def longest_window(self) -> int:
        """Length of the longest window."""
        return max((window.length for window in self.spec.windows), default=0)

    def oldest_needed(self, as_of: int) -> int:
        """Start of what is measured: windows that end within the horizon, and the newest settled ones.

        What they are compared with begins earlier.
        """
        settled = (
            window.start(self.settled[window.name].end)
            for window in self.spec.windows
            if window.name in self.settled
        )
        against = (reach(window, one) for window in self.spec.windows for one in self.spec.against)
        accepted = (one.start for one in self.accepted.values())
        oldest = min(self.oldest_pane(as_of) - self.longest_window(), *settled, *accepted, as_of)
        return oldest - max(against, default=0)


def restore(monitored: Monitored, as_of: int) -> None:
    """Fill the caches of a model from what was committed last, as of a moment."""
    rows = [row for _, _, row in monitored.store.current(monitored.name)]
    for row in rows:
        if row.truth is Truth.SETTLED:
            low = Settled.LOW_COVERAGE.value if Settled.LOW_COVERAGE in row.warning else ""
            monitored.settled[row.window] = NewestSettled(row.window_end, low)
    recent = monitored.store.windows(monitored.name, monitored.oldest_pane(as_of))
    for one in recent:  # newer than the current rows, which a replay does not write at each tick
        known = monitored.settled.get(one.window)
        if one.settled_as_of is not None and (known is None or known.end < one.end):
            monitored.settled[one.window] = NewestSettled(one.end, one.warning)
    figures = [row for row in rows if row.window == "" and row.version is None]
    monitored.audit = tuple(row for row in figures if row.measure not in (*LATE, *WAITING, *AGES))
    monitored.late = tuple(row for name in LATE for row in figures if row.measure == name)
    seen = monitored.store.events(monitored.name, FIRST_SEEN)
    monitored.first_seen = {event.subject: event.at for event in seen}
    monitored.restored = True
