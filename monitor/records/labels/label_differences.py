"""Differences of labels parts: what some records of panes add now, less what they added before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from monitor.core.array_types import Ints
from monitor.records.pane import PanePart
from monitor.states.counters import CounterLayout, CounterMove, Counters, apply_moves, sum_by_key
from monitor.states.strata import Strata, Stratum

NO_REPORT = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, slots=True, eq=False)
class LabelDifferences:
    """What was added to the labels parts of some panes; what was taken from them is negative."""

    as_of: int  # labels that were known then are in it
    size: int  # of the layout
    names: tuple[Stratum, ...]  # the strata
    # int64, shape (4, panes): start, ascending; labelled records, checksum and newest report from then on.
    # `NO_REPORT`: no label was reported.
    panes: Ints
    # int64, ascending: (position of the pane · number of strata + position of the stratum) · size + position
    # of the counter.
    key: Ints
    value: Ints  # int64, not 0: halves of sums need not be in their one form

    @property
    def start(self) -> Ints:
        """Starts of the panes."""
        starts: Ints = self.panes[0]
        return starts

    @property
    def _span(self) -> int:
        return len(self.names) * self.size

    def facts_at(self, at: int) -> dict[str, Any]:
        """Labelled records, checksum and newest report of the pane at a position, by name."""
        _, labelled, checksum, newest = self.panes[:, at].tolist()
        newest = None if newest == NO_REPORT else newest
        return {"labelled": labelled, "checksum": checksum, "newest": newest}

    def sum_between(self, layout: CounterLayout, start: int, end: int) -> dict[Stratum, Counters]:
        """Sum over the panes of [start, end), by stratum; empty where there are none."""
        panes = np.searchsorted(self.start, (start, end))
        first, last = np.searchsorted(self.key, panes * self._span).tolist()
        if first == last:
            return {}
        key, value = self.key[first:last] % self._span, self.value[first:last]
        # Of one pane each counter stands once; of several they are brought together.
        if panes[1] - panes[0] > 1:
            key, value = sum_by_key(key, value)
        bounds = np.searchsorted(key, np.arange(len(self.names) + 1) * self.size).tolist()
        return {
            name: Counters(layout, key[first:last] - at * self.size, value[first:last])
            for at, (name, (first, last)) in enumerate(zip(self.names, pairwise(bounds), strict=True))
            if first < last
        }

    def select_pane_changes(self, where: slice, stratum: Stratum) -> tuple[Ints, Ints, Ints]:
        """Starts of panes, positions within a block of a stratum, and what was added there."""
        at = self.names.index(stratum) if stratum in self.names else len(self.names)
        pane, place = np.divmod(self.key, max(1, self._span))
        place -= at * self.size + where.start
        inside = (place >= 0) & (place < where.stop - where.start)
        return self.start[pane[inside]], place[inside], self.value[inside]

    def without_panes(self, starts: Iterable[int]) -> "LabelDifferences":
        """The differences of the other panes."""
        keep_mask = ~np.isin(self.start, np.fromiter(starts, dtype=np.int64))
        if keep_mask.all():
            return self
        pane, place = np.divmod(self.key, max(1, self._span))
        inside = keep_mask[pane]
        key = (np.cumsum(keep_mask)[pane[inside]] - 1) * self._span + place[inside]
        return LabelDifferences(
            self.as_of, self.size, self.names, self.panes[:, keep_mask], key, self.value[inside]
        )


def make_label_differences(
    size: int, panes: Ints, sides: Sequence[tuple[Sequence[Stratum], Ints, Ints]], as_of: int
) -> LabelDifferences:
    """All that was added to some panes, as one.

    Parameters
    ----------
    panes
        int64, shape (4, panes): see `LabelDifferences`.
    sides
        strata, keys and values: what `count_each_dimension` yields, negative where it was taken.
    """
    names = tuple(dict.fromkeys(name for many, *_ in sides for name in many))
    place = {name: at for at, name in enumerate(names)}
    none = np.empty(0, dtype=np.int64)
    keys, values = [none], [none]
    for many, key, value in sides:
        pane, rest = np.divmod(key, len(many) * size)
        named = np.asarray([place[name] for name in many], dtype=np.int64)
        stratum = rest // size
        keys.append((pane * len(names) + named[stratum]) * size + rest - stratum * size)
        values.append(value)
    key, value = sum_by_key(np.concatenate(keys), np.concatenate(values))
    return LabelDifferences(as_of, size, names, panes, key, value)


def merge_differences(many: Sequence[LabelDifferences]) -> LabelDifferences:
    """One after the other, in one: the facts of a pane are those of the last. All are of one layout."""
    names = tuple(dict.fromkeys(name for each in many for name in each.names))
    # Backwards, as the first of equal starts is taken: the facts of the last difference hold.
    panes = np.concatenate([each.panes for each in many], axis=1)[:, ::-1]
    start, last = np.unique(panes[0], return_index=True)
    span, size = len(names) * many[0].size, many[0].size
    keys = []
    for each in many:
        pane, place = np.divmod(each.key, max(1, len(each.names) * size))
        stratum, position = np.divmod(place, size)
        named = np.asarray([names.index(name) for name in each.names], dtype=np.int64)
        keys.append(np.searchsorted(start, each.start)[pane] * span + named[stratum] * size + position)
    key, value = sum_by_key(np.concatenate(keys), np.concatenate([each.value for each in many]))
    return LabelDifferences(many[-1].as_of, size, names, panes[:, last], key, value)


def with_differences(
    layout: CounterLayout, parts: Mapping[int, PanePart], many: Sequence[LabelDifferences]
) -> dict[int, PanePart]:
    """Parts by start, with what labels have added since; where a count would fall below 0, as they were.

    Equal to whole counts, if all was counted of the same rows.
    """
    added = merge_differences(many)
    at = [place for place, start in enumerate(added.start.tolist()) if start in parts]
    stood = [parts[int(added.start[place])] for place in at]
    moves = [(part.strata, (), [added.sum_between(layout, part.start, part.start + 1)]) for part in stood]
    return dict(parts) | {
        part.start: replace(part, strata=strata, **added.facts_at(place))
        for place, part, strata in zip(at, stood, move_strata_sums(layout, moves), strict=True)
        if strata is not None
    }


_Move: TypeAlias = tuple[Strata, Iterable[Strata], Iterable[Strata]]


def move_strata_sums(layout: CounterLayout, moves: Iterable[_Move]) -> list[Strata | None]:
    """Sums without what is taken from each, and with what is added: exactly the sums of what is left.

    None: a count would fall below 0.
    """
    empty = Counters.make_empty(layout)
    totals: list[Strata] = []
    keys: list[tuple[int, Stratum]] = []
    flat: list[CounterMove] = []
    for at, (total, *both) in enumerate(moves):
        sides: dict[Stratum, tuple[list[Counters], list[Counters]]] = {}
        for side, many in enumerate(both):
            for strata in many:
                for stratum, counters in strata.items():
                    sides.setdefault(stratum, ([], []))[side].append(counters)
        flat += [(total.get(stratum, empty), *each) for stratum, each in sides.items()]
        keys += [(at, stratum) for stratum in sides]
        totals.append(total)
    moved: list[dict[Stratum, Counters]] = [dict(total) for total in totals]
    refused = set()
    for (at, stratum), now in zip(keys, apply_moves(layout, flat), strict=True):
        if now is None:
            # One stratum that cannot take it refuses for all: strata of a sum must stay of the same rows.
            refused.add(at)
        elif len(now.index):
            moved[at][stratum] = now
        else:
            moved[at].pop(stratum, None)
    return [None if at in refused else strata for at, strata in enumerate(moved)]
