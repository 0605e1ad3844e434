"""What gross faults are seen by: a few numbers of each pane, and the same by hour. Pure."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.states.grids import EXTRA_CELLS
from monitor.states.strata import WHOLE, Strata
from monitor.windows.window_ends import WEEK

WEEKS = 8  # that an hour is compared with
# From event to log: an hour is whole so long after its end, by the first that most records keep to.
LAGS = (MINUTE, 15 * MINUTE, HOUR)
FAULTS = ("unseen", "missing", "invalid", "constant")
_KEPT = (WEEKS + 1) * WEEK
_BEFORE = 1 + len(LAGS)  # columns before those of values
_Rows: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class HourCounts:
    """Counts of hours, none left out between the first and the last; axis 0 is the hour, oldest first."""

    first: int  # start of the first hour; microseconds
    unit: int  # length of an hour: longer where panes are
    subjects: tuple[str, ...]
    records: Ints  # shape (hours,)
    prompt: Ints  # shape (hours, lags): records that were logged within each of `LAGS`
    # shape (hours, subjects, faults): records of a subject that are unseen, missing, invalid, and those in
    # the cell that has most.
    values: Ints

    @property
    def slots(self) -> int:
        """Hours of a week."""
        return WEEK // self.unit

    def start_of(self, hour: int) -> int:
        """Start of an hour, by its position."""
        return self.first + hour * self.unit


@dataclass(slots=True)
class PaneTotals:
    """A row of numbers of each pane, in their order; panes older than nine weeks are forgotten.

    Memory: 4 bytes a number, 4 numbers of each output and feature and 4 more, 2 MB of 1-hour panes and 80
    features. Cost of a pane: one pass over its non-zero counters.
    """

    counting: Counting
    _first: int = 0  # number of the pane of the first row
    _rows: _Rows = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int32))
    _starts: Ints = field(init=False)
    _sizes: Ints = field(init=False)
    _delays: tuple[int, tuple[int, ...]] | None = field(init=False)

    def __post_init__(self) -> None:
        layout, grids = self.counting.records_layout, self.counting.output_grids
        self._starts = np.asarray([layout.offsets[name] for name in grids], dtype=np.int64)
        self._sizes = np.asarray([grid.size - EXTRA_CELLS for grid in grids.values()], dtype=np.int64)
        self._delays = None
        if self.counting.reading.has_logged_column:
            cells = np.searchsorted(DELAY_EDGES, np.asarray(LAGS) / SECOND, side="right") + 1
            self._delays = layout.offsets["log_delays"], tuple(cells.tolist())
        self._rows = np.zeros((0, _BEFORE + len(FAULTS) * len(grids)), dtype=np.int32)

    def put_pane(self, start: int, strata: Strata) -> None:
        """A pane is now as it was counted: without the whole it has no records."""
        at = start // self.counting.reading.pane - self._first
        if not len(self._rows):
            self._first, at = self._first + at, 0
        if at < 0:
            if -at * self.counting.reading.pane > _KEPT:
                return
            self._rows = np.concatenate([np.zeros((-at, self._rows.shape[1]), np.int32), self._rows])
            self._first, at = self._first + at, 0
        elif at >= len(self._rows):
            at = self._make_room(at)
        self._rows[at] = self._summarize_pane(strata)

    def _make_room(self, at: int) -> int:
        """Rows up to a position; what is older than is kept goes, some weeks at a time."""
        kept = _KEPT // self.counting.reading.pane
        gone = max(0, at - kept) if at > kept + kept // WEEKS else 0
        added = at + 1 - max(len(self._rows), gone)
        # Room for a day more: a pane an hour is not to copy the table each time.
        room = np.zeros((added + DAY // self.counting.reading.pane, self._rows.shape[1]), dtype=np.int32)
        self._rows = np.concatenate([self._rows[gone:], room])
        self._first += gone
        return at - gone

    def _summarize_pane(self, strata: Strata) -> Ints:
        row = np.zeros(self._rows.shape[1], dtype=np.int64)
        whole = strata.get(WHOLE)
        if whole is None:
            return row
        row[0] = whole.dense_block("volume")[0]
        if self._delays is not None:
            offset, cells = self._delays
            ends = np.searchsorted(whole.index, [offset, *(offset + cell for cell in cells)])
            row[1:_BEFORE] = [whole.value[ends[0] : end].sum() for end in ends[1:]]
        # Blocks of values lie one behind the other.
        first, last = np.searchsorted(
            whole.index, [self._starts[0], self._starts[-1] + self._sizes[-1] + EXTRA_CELLS]
        )
        index, value = whole.index[first:last], whole.value[first:last]
        subject = np.searchsorted(self._starts, index, side="right") - 1
        beyond = index - self._starts[subject] - self._sizes[subject]  # 0, 1, 2: unseen, missing, invalid
        values = row[_BEFORE:].reshape(-1, len(FAULTS))
        np.maximum.at(values[:, -1], subject[beyond < 0], value[beyond < 0])
        extra = beyond >= 0
        values[subject[extra], beyond[extra]] = value[extra]
        return row

    def count_hours(self, first: int, end: int, unit: int) -> HourCounts:
        """Counts of the hours of [first, end), whole hours each; what is not known has no records."""
        pane = self.counting.reading.pane
        at, until = first // pane - self._first, end // pane - self._first
        rows: NDArray[Any] = self._rows[max(at, 0) : max(until, 0)]
        before, behind = max(0, min(-at, until - at)), max(0, until - max(at, len(self._rows)))
        if before or behind:
            rows = np.pad(rows, ((before, behind), (0, 0)))
        if unit > pane:
            rows = rows.reshape(-1, unit // pane, rows.shape[1]).sum(axis=1)
        return HourCounts(
            first=first,
            unit=unit,
            subjects=tuple(self.counting.output_grids),
            records=rows[:, 0],
            prompt=rows[:, 1:_BEFORE],
            values=rows[:, _BEFORE:].reshape(len(rows), len(self.counting.output_grids), len(FAULTS)),
        )
