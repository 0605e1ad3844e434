"""Delays of the labels of all panes: added up once, moved as panes are."""

from collections.abc import Callable

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import SECOND
from monitor.records.counting import DELAY_EDGES
from monitor.states.counters import Counters
from monitor.windows.settling import ObservableDelays

_CELLS = len(DELAY_EDGES) + 1
_EDGES: Floats = np.asarray(DELAY_EDGES)
_MIDDLES: Floats = (np.append(0.0, _EDGES) + np.append(_EDGES, _EDGES[-1])) / 2 * SECOND
# What a pane is too young to show lies in its highest cells, which are 1 % wide: 8 of them are enough unless
# it is younger than half a day.
_LAST = 8  # cells: 8 % of a delay
LAGS = 64  # steps of a horizon in which one looks back


class DelayCounts:
    """Delays by class and cell, of the whole of all panes. Memory of a pane: 72 bytes a class.

    They are added up by step and lag too: by when their records were, in steps of the horizon's 64th or of a
    pane, and how many steps later they were reported.

    Of a pane its total of each class is held, and the last cells of its delays: those that it may be too
    young to show.

    Parameters
    ----------
    pane, horizon
        microseconds.
    """

    def __init__(self, classes: int, pane: int, horizon: int) -> None:
        self._classes, self._pane = classes, pane
        # A whole number of panes, so that no pane lies in two steps.
        self.step = -(-max(pane, -(-horizon // LAGS)) // pane) * pane
        self._steps: dict[int, Ints] = {}
        self._sum: Ints = np.zeros(classes * _CELLS, dtype=np.int64)
        self._starts: Ints = np.empty(0, dtype=np.int64)  # ascending
        self._totals: Ints = np.empty((0, classes), dtype=np.int64)
        self._highest: Ints = np.empty(0, dtype=np.int64)  # cell that a pane's delays lie in, or below
        self._last: Ints = np.empty((0, classes, _LAST), dtype=np.int64)  # in this cell and those before it

    def add_delays(self, start: Ints, index: Ints, value: Ints) -> None:
        """Add delays to panes, or take them off.

        `start`, `index`, `value`: int64: starts of panes, positions within the block of delays, how many more
        there are.
        """
        self._add_to_steps(start, index, value)
        starts = np.unique(start)
        new = starts[~np.isin(starts, self._starts)]
        at = np.searchsorted(self._starts, new)
        self._starts, self._highest = np.insert(self._starts, at, new), np.insert(self._highest, at, 0)
        self._totals = np.insert(self._totals, at, 0, axis=0)
        self._last = np.insert(self._last, at, 0, axis=0)
        row, (kind, cell) = np.searchsorted(self._starts, start), np.divmod(index, _CELLS)
        # A delay beyond a pane's highest cell moves the cells that are held of it up by as many places: what
        # falls out at the lower end is only in the total from then on.
        before = self._highest.copy()
        np.maximum.at(self._highest, row, cell)
        place = np.arange(_LAST) + (self._highest - before)[:, None, None]
        last = np.take_along_axis(self._last, np.minimum(place, _LAST - 1), axis=2)
        self._last = np.where(place < _LAST, last, 0)
        np.add.at(self._totals, (row, kind), value)
        place = cell - self._highest[row] + _LAST - 1
        held = place >= 0
        np.add.at(self._last, (row[held], kind[held], place[held]), value[held])
        # A pane whose delays were all taken off is gone.
        kept = self._totals.any(axis=1)
        self._starts, self._highest = self._starts[kept], self._highest[kept]
        self._totals, self._last = self._totals[kept], self._last[kept]

    def _add_to_steps(self, start: Ints, index: Ints, value: Ints) -> None:
        """Add delays of panes, to their steps too: a pane's records are taken to lie in its middle."""
        np.add.at(self._sum, index, value)
        step, into = np.divmod(start, self.step)
        kind, cell = np.divmod(index, _CELLS)
        lag = np.minimum((into + self._pane / 2 + _MIDDLES[cell]) // self.step, LAGS).astype(np.int64)
        steps, at = np.unique(step, return_inverse=True)
        tables = np.zeros((len(steps), self._classes, LAGS + 1), dtype=np.int64)
        np.add.at(tables, (at, kind, lag), value)
        for number, table in zip(steps.tolist(), tables, strict=True):
            self._steps[number] = self._steps.get(number, 0) + table
            if not self._steps[number].any():
                del self._steps[number]

    def count_delays_by_step(self, until: int) -> tuple[int, Ints]:
        """First step, and labels by class, step (without gaps) and lag, shape (classes, steps, 65).

        Parameters
        ----------
        until
            steps that end later are left out.
        """
        held = [step for step in self._steps if (step + 1) * self.step <= until]
        if not held:
            return 0, np.zeros((self._classes, 0, LAGS + 1), dtype=np.int64)
        first, last = min(held), max(held)
        count = np.zeros((last - first + 1, self._classes, LAGS + 1), dtype=np.int64)
        for step in held:
            count[step - first] = self._steps[step]
        return first, np.moveaxis(count, 1, 0)

    def longest_silence(self, until: int) -> int:
        """Longest time, in steps, between two in which labels were reported; microseconds.

        Parameters
        ----------
        until
            steps that end later are left out.
        """
        reported = {
            step + lag
            for step, table in self._steps.items()
            for lag in np.flatnonzero(table[:, :LAGS].any(axis=0))
        }
        heard = np.sort([step for step in reported if (step + 1) * self.step <= until])
        return int(np.diff(heard).max(initial=1)) * self.step

    def observable_delays(
        self, starts: Ints, age: Ints, whole: Callable[[int], Counters]
    ) -> ObservableDelays:
        """Delays that each pane can show. Cost: the panes, and the delays of those that hold far longer ones.

        Parameters
        ----------
        starts
            ascending, all panes among them.
        age
            microseconds from the end of each to when it was last heard of.
        whole
            counters of a pane.
        """
        seconds = age[np.searchsorted(starts, self._starts)] / SECOND
        last = np.searchsorted(_EDGES, seconds, side="right") - 1
        cell = self._highest[:, None] + np.arange(1 - _LAST, 1)
        # Panes that could show less than the cells that are held: of these all counters are read.
        far = last < cell[:, 0] - 1
        longer = self._last * ((cell > last[:, None]) & ~far[:, None])[:, None]
        totals = self._totals - longer.sum(axis=2)
        count, shown = self._sum.copy(), np.zeros((self._classes, _CELLS), dtype=np.int64)
        for kind in range(self._classes):
            np.subtract.at(count, kind * _CELLS + np.maximum(cell, 0), longer[:, kind])
        for at in np.flatnonzero(far):
            index, value = select_delay_counts(whole(int(self._starts[at])))
            over = index % _CELLS > last[at]
            count[index[over]] -= value[over]
            np.subtract.at(totals[at], index[over] // _CELLS, value[over])
        for kind, total in enumerate(totals.T):
            np.add.at(shown[kind], np.maximum(last, 0), total)
        return ObservableDelays(count.reshape(self._classes, _CELLS), shown)


def select_delay_counts(counters: Counters) -> tuple[Ints, Ints]:
    """Positions within the block of delays, and their counts."""
    where = counters.layout.block_slice("delays")
    first, last = np.searchsorted(counters.index, (where.start, where.stop)).tolist()
    return counters.index[first:last] - where.start, counters.value[first:last]
