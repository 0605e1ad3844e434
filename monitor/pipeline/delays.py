"""Delays of the labels of all panes: added up once, moved as panes are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class _OfPane:
    """Non-zero counts of a pane's block, the total of each class, the highest cell."""

    index: Ints
    value: Ints
    totals: Ints
    highest: int


class DelayCounts:
    """Delays by class and cell, of the whole of each pane. Memory: 16 bytes a non-zero counter.

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
        self._panes: dict[int, _OfPane] = {}

    def put(self, panes: Mapping[int, Counters | None]) -> None:
        """Delays of panes by their start, in place of those they had; None: it has no records."""
        self.drop(panes)
        new: dict[int, tuple[Ints, Ints]] = {}
        for start, whole in panes.items():
            if whole is not None:
                where = whole.layout.slice("delays")
                first, last = np.searchsorted(whole.index, (where.start, where.stop)).tolist()
                if first < last:
                    new[start] = whole.index[first:last] - where.start, whole.value[first:last]
        if not new:
            return
        number, index, value = _joined(new.values())
        kind, cell = np.divmod(index, _CELLS)
        totals, highest = np.zeros((len(new), self._classes), dtype=np.int64), np.zeros(len(new), np.int64)
        np.add.at(totals, (number, kind), value)
        np.maximum.at(highest, number, cell)
        for at, (start, (held, values)) in enumerate(new.items()):
            self._panes[start] = _OfPane(held, values, totals[at], int(highest[at]))
        self._add(np.fromiter(new, np.int64)[number], index, value)

    def drop(self, starts: Iterable[int]) -> None:
        """Forget panes."""
        gone = {start: self._panes.pop(start) for start in starts if start in self._panes}
        if gone:
            number, index, value = _joined((pane.index, pane.value) for pane in gone.values())
            self._add(np.fromiter(gone, np.int64)[number], index, -value)

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

    def shown(self, starts: Ints, age: Ints) -> Delays:
        """Delays that each pane can show. Cost: the panes, and the delays of those that hold longer ones.

        Parameters
        ----------
        starts
            ascending, all panes among them.
        age
            microseconds from the end of each to when it was last heard of.
        """
        mine, panes = np.fromiter(self._panes, dtype=np.int64), list(self._panes.values())
        last = np.searchsorted(_EDGES, age[np.searchsorted(starts, mine)] / SECOND, side="right") - 1
        totals = np.asarray([pane.totals for pane in panes]).reshape(-1, self._classes)
        count, shown = self._sum.copy(), np.zeros((self._classes, _CELLS), dtype=np.int64)
        for at in np.flatnonzero(np.asarray([pane.highest for pane in panes]) > last):
            longer = panes[at].index % _CELLS > last[at]
            index, value = panes[at].index[longer], panes[at].value[longer]
            count[index] -= value
            np.subtract.at(totals[at], index // _CELLS, value)
        for kind, total in enumerate(totals.T):
            np.add.at(shown[kind], np.maximum(last, 0), total)
        return Delays(count.reshape(self._classes, _CELLS), shown)


def _joined(pieces: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    """Number of the piece of each count, its position, the count."""
    index, value = zip(*pieces, strict=True)
    number = np.repeat(np.arange(len(index)), [len(each) for each in index])
    return number, np.concatenate(index), np.concatenate(value)
