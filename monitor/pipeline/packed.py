"""One part of a model's panes, packed as in the store, and sums of spans that follow their changes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from monitor.core.clock import DAY, floor_to, to_iso
from monitor.core.errors import CodecError, damaged
from monitor.records import codec
from monitor.states.counters import Counters, Layout, moved_all
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.fold import fold

_OPEN = 100_000  # counters of unpacked panes

Difference: TypeAlias = tuple[int, Strata, Strata]
"""Start of a pane, what is taken from it, what is added to it."""
_Sum: TypeAlias = tuple[int, int, bool]
"""Start and end; of all strata, or of the whole alone."""


@dataclass(slots=True)
class PackedPanes:
    """Packed panes by start, packed sums of days, sums of the spans that the last two cycles asked for.

    Memory: what panes and days take in the store; 16 bytes a non-zero counter of these sums and of panes
    that are unpacked, which are at most 100,000.

    Parameters
    ----------
    title
        of the model and the part, for messages.
    width
        of a pane, microseconds.
    """

    title: str
    layout: Layout
    width: int
    _blobs: dict[int, bytes] = field(default_factory=dict)
    _days: dict[int, bytes] = field(default_factory=dict)
    _sums: dict[_Sum, Strata] = field(default_factory=dict)
    _opened: dict[int, Strata] = field(default_factory=dict)
    _unpacked: int = 0  # counters of the opened ones
    _asked: set[_Sum] = field(default_factory=set)

    def begin(self) -> None:
        """Begin a cycle: sums that the one before asked for stay."""
        self._sums = {span: total for span, total in self._sums.items() if span in self._asked}
        self._asked.clear()

    def put(self, start: int, blob: bytes, strata: Strata | None = None) -> None:
        """Keep a pane as it is now, in the place of what it was; sums follow by `differ`."""
        self._blobs[start] = blob
        self._days.pop(floor_to(start, DAY), None)
        self._close(start)
        if strata is not None:
            self._open(start, strata)

    def differ(self, differences: Sequence[Difference]) -> None:
        """Let the sums follow what has changed of panes."""
        for (first, end, strata), total in self._sums.items():
            inside = [(taken, added) for start, taken, added in differences if first <= start < end]
            if inside:
                sides = [
                    [side if strata else _whole(side) for side in each] for each in zip(*inside, strict=True)
                ]
                self._sums[first, end, strata] = moved_strata(self.layout, total, *sides)

    def forget(self, starts: Iterable[int], since: int) -> None:
        """Forget panes, and the days and sums that begin before a moment."""
        for start in starts:
            self._blobs.pop(start, None)
            self._close(start)
        self._days = {day: blob for day, blob in self._days.items() if day >= since}
        self._sums = {span: total for span, total in self._sums.items() if span[0] >= since}

    def pane(self, start: int) -> Strata:
        """Counters of a pane by stratum; empty where it has no records, or is not there.

        Raises
        ------
        CodecError
            if its bytes are damaged.
        """
        blob = self._blobs.get(start)
        if blob is None:
            return {}
        strata = self._close(start)
        if strata is None:
            try:
                strata = codec.decode(blob, self.layout)
            except CodecError as error:
                raise damaged(f"pane {to_iso(start)} of {self.title}", error) from error
        self._open(start, strata)
        return strata

    def _open(self, start: int, strata: Strata) -> None:
        self._opened[start] = strata  # the last one
        self._unpacked += _counters(strata)
        while self._unpacked > _OPEN and len(self._opened) > 1:
            self._close(next(iter(self._opened)))

    def _close(self, start: int) -> Strata | None:
        strata = self._opened.pop(start, None)
        self._unpacked -= 0 if strata is None else _counters(strata)
        return strata

    def window(self, start: int, end: int, *, strata: bool, kept: bool) -> Strata:
        """Sum of the panes of [start, end).

        Cost: the panes and days by which it differs from a sum that was asked for lately, at most all.

        Parameters
        ----------
        strata
            False: the whole alone.
        kept
            False: nobody asks for it, or for one near it, again.
        """
        if not kept:
            return fold(self.layout, self._pieces(self._cover(start, end), strata=strata))
        key = start, end, strata
        self._asked.add(key)
        if key not in self._sums:
            self._sums[key] = self._summed(key)
        return self._sums[key]

    def _summed(self, key: _Sum) -> Strata:
        """The sum, by way of the nearest one if that is shorter."""
        start, end, strata = key
        everything = self._cover(start, end)
        ways = [
            (
                self._cover(other[0], start) + self._cover(end, other[1]),
                self._cover(start, other[0]) + self._cover(other[1], end),
                total,
            )
            for other, total in self._sums.items()
            if other[2] is strata and other[0] < end and start < other[1]
        ]
        near = min(ways, key=lambda way: len(way[0]) + len(way[1]), default=None)
        if near is None or len(near[0]) + len(near[1]) >= len(everything):
            return fold(self.layout, self._pieces(everything, strata=strata))
        taken, added = (self._pieces(spans, strata=strata) for spans in near[:2])
        return moved_strata(self.layout, near[2], taken, added)

    def _cover(self, start: int, end: int) -> list[tuple[int, bool]]:
        """Panes and whole days of [start, end), as (start, is it a day); none if it ends before it starts."""
        first_day = min(-(-start // DAY) * DAY, end)
        last_day = max(floor_to(end, DAY), first_day)
        spans = [(at, False) for at in range(start, first_day, self.width)]
        spans += [(day, True) for day in range(first_day, last_day, DAY)]
        return [*spans, *((at, False) for at in range(last_day, end, self.width))]

    def _pieces(self, spans: Iterable[tuple[int, bool]], *, strata: bool) -> Iterator[Strata]:
        pieces = (self._day(at) if day else self.pane(at) for at, day in spans)
        return pieces if strata else map(_whole, pieces)

    def _day(self, day: int) -> Strata:
        if day in self._days:
            return codec.decode(self._days[day], self.layout)
        total = fold(self.layout, map(self.pane, range(day, day + DAY, min(self.width, DAY))))
        self._days[day] = codec.encode_strata(total)
        return total


def moved_strata(
    layout: Layout, total: Strata, taken: Iterable[Strata], added: Iterable[Strata]
) -> dict[Stratum, Counters]:
    """A sum of panes without some of them, and with others: exactly the sum of what is left."""
    sides: dict[Stratum, tuple[list[Counters], list[Counters]]] = {}
    for side, many in enumerate((taken, added)):
        for strata in many:
            for stratum, counters in strata.items():
                sides.setdefault(stratum, ([], []))[side].append(counters)
    empty = Counters.empty(layout)
    moves = [(total.get(stratum, empty), *both) for stratum, both in sides.items()]
    moved: dict[Stratum, Counters] = dict(total)
    for stratum, now in zip(sides, moved_all(layout, moves), strict=True):
        assert now is not None, "what no pane falls below no sum of panes does"
        if len(now.index):
            moved[stratum] = now
        else:
            moved.pop(stratum, None)
    return moved


def _counters(strata: Strata) -> int:
    return sum(len(counters.index) for counters in strata.values())


def _whole(strata: Strata) -> Strata:
    return {WHOLE: strata[WHOLE]} if WHOLE in strata else {}
