"""Delays of the labels of all panes: added up once, moved as panes are."""

from collections.abc import Callable, Iterable

import numpy as np

from monitor.core.clock import SECOND
from monitor.core.typing import Floats, Ints
from monitor.records.counting import DELAY_EDGES
from monitor.states.counters import Counters
from monitor.windows.settling import Delays

_CELLS = len(DELAY_EDGES) + 1
_EDGES: Floats = np.asarray(DELAY_EDGES)
_MIDDLES: Floats = (np.append(0.0, _EDGES) + np.append(_EDGES, _EDGES[-1])) / 2 * SECOND
LAGS = 64  # steps of a horizon in which one looks back


class DelayCounts:
    """Delays by class and cell, of the whole of all panes. Memory of a pane: its total of each class.

    They are added up by step and lag too: by when their records were, in steps of the horizon's 64th or of a
    pane, and how many steps later they were reported.

    Parameters
    ----------
    pane, horizon
        microseconds.
    """

    def __init__(self, classes: int, pane: int, horizon: int) -> None:
        self._classes, self._pane = classes, pane
        self.step = -(-max(pane, -(-horizon // LAGS)) // pane) * pane
        self._steps: dict[int, Ints] = {}
        self._sum: Ints = np.zeros(classes * _CELLS, dtype=np.int64)
        self._totals: dict[int, Ints] = {}
        self._highest: dict[int, int] = {}  # cell that a pane's delays lie in, or below

    def move(self, panes: Iterable[tuple[int, Counters | None, Counters | None]]) -> None:
        """Take delays off panes, and add others; None: none.

        Parameters
        ----------
        panes
            start of each, the counters whose delays it loses, and those whose delays it gets.
        """
        held = [
            (start, side, *_delays(counters))
            for start, *sides in panes
            for side, counters in zip((-1, 1), sides, strict=True)
            if counters is not None
        ]
        if not held:
            return
        index = np.concatenate([each[2] for each in held])
        value = np.concatenate([each[3] * each[1] for each in held])
        lengths = [len(each[2]) for each in held]
        self._add(np.repeat([each[0] for each in held], lengths), index, value)
        kind, cell = np.divmod(index, _CELLS)
        totals, highest = np.zeros((len(held), self._classes), dtype=np.int64), np.zeros(len(held), np.int64)
        number = np.repeat(np.arange(len(held)), lengths)
        np.add.at(totals, (number, kind), value)
        np.maximum.at(highest, number, cell)
        for at, (start, *_) in enumerate(held):
            total = self._totals.get(start, 0) + totals[at]
            self._totals[start] = total
            self._highest[start] = max(self._highest.get(start, 0), int(highest[at]))
        for start in {each[0] for each in held}:
            if not self._totals[start].any():
                del self._totals[start], self._highest[start]

    def _add(self, start: Ints, index: Ints, value: Ints) -> None:
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

    def looked_back(self, until: int) -> tuple[int, Ints]:
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

    def shown(self, starts: Ints, age: Ints, whole: Callable[[int], Counters]) -> Delays:
        """Delays that each pane can show. Cost: the panes, and the delays of those that hold longer ones.

        Parameters
        ----------
        starts
            ascending, all panes among them.
        age
            microseconds from the end of each to when it was last heard of.
        whole
            counters of a pane.
        """
        mine = np.fromiter(self._totals, dtype=np.int64)
        last = np.searchsorted(_EDGES, age[np.searchsorted(starts, mine)] / SECOND, side="right") - 1
        totals = np.asarray(list(self._totals.values())).reshape(-1, self._classes)
        count, shown = self._sum.copy(), np.zeros((self._classes, _CELLS), dtype=np.int64)
        for at in np.flatnonzero(np.fromiter(self._highest.values(), np.int64) > last):
            index, value = _delays(whole(int(mine[at])))
            longer = index % _CELLS > last[at]
            count[index[longer]] -= value[longer]
            np.subtract.at(totals[at], index[longer] // _CELLS, value[longer])
        for kind, total in enumerate(totals.T):
            np.add.at(shown[kind], np.maximum(last, 0), total)
        return Delays(count.reshape(self._classes, _CELLS), shown)


def _delays(counters: Counters) -> tuple[Ints, Ints]:
    """Positions within the block of delays, and their counts."""
    where = counters.layout.slice("delays")
    first, last = np.searchsorted(counters.index, (where.start, where.stop)).tolist()
    return counters.index[first:last] - where.start, counters.value[first:last]
