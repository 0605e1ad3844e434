"""One part of a model's panes, read from the store when asked for; sums that follow their changes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from monitor.core.clock import DAY, floor_to, to_iso
from monitor.core.errors import CodecError, MonitorError, damage_error
from monitor.records import codec
from monitor.records.labels.label_differences import LabelDifferences, merge_differences, move_strata_sums
from monitor.states.counters import CounterLayout
from monitor.states.strata import WHOLE, Strata
from monitor.windows.strata_folding import fold_strata

_OPEN = 30_000  # counters of unpacked panes
_MOST_DIFFERENCES = 200_000  # counters
_APART = 3  # differences that are not merged yet

_Sum: TypeAlias = tuple[int, int, bool]
"""Start and end; of all strata, or of the whole alone."""


@dataclass(slots=True)
class PackedPanes:
    """Stored panes, packed sums of days, sums of the spans that the last two cycles asked for.

    What labels have added since lies beside them as differences, and is added to a pane or a day as it is
    unpacked. Memory: what days take when packed, a thirtieth of the panes; 16 bytes a counter of the
    differences, and a non-zero counter of these sums and of panes that are unpacked, which are at most
    30,000. Cost of a pane that is not unpacked: one query for all that are asked for together.
    """

    title: str  # of the model and the part, for messages
    layout: CounterLayout
    width: int  # of a pane, microseconds
    # packed panes of the store by start, of those that are asked for.
    stored: Callable[[Sequence[int]], Mapping[int, bytes]]
    # panes to which differences could not be added, since a count would have fallen below 0: they are as they
    # were before; what was not added, by start.
    refused: dict[int, Sequence[Strata]] = field(default_factory=dict)
    _known: set[int] = field(default_factory=set)
    _differences: list[LabelDifferences] = field(default_factory=list)
    _days: dict[int, bytes] = field(default_factory=dict)  # without differences
    _sums: dict[_Sum, Strata] = field(default_factory=dict)
    _opened: dict[int, Strata] = field(default_factory=dict)
    _unpacked: int = 0  # counters of the opened ones
    _asked: set[_Sum] = field(default_factory=set)

    def begin_cycle(self) -> None:
        """Begin a cycle: sums that the one before asked for stay."""
        self._sums = {span: total for span, total in self._sums.items() if span in self._asked}
        self._asked.clear()

    def replace_cached_pane(self, start: int, strata: Strata | None = None) -> None:
        """A pane is stored as it is now, in the place of what it was; sums follow by `differ`."""
        self._known.add(start)
        self._days.pop(floor_to(start, DAY), None)
        self._drop_unpacked(start)
        self._drop_differences([start])
        self.refused.pop(start, None)
        if strata is not None:
            self._keep_unpacked(start, strata)

    def update_sums(self, changes: Sequence[tuple[int, Strata, Strata]]) -> None:
        """Let the sums follow what panes were, and are now."""

        def sides(first: int, end: int) -> tuple[list[Strata], list[Strata]]:
            within = [change for change in changes if first <= change[0] < end]
            return [was for _, was, _ in within], [now for _, _, now in within]

        self._move_sums(sides)

    def keep_differences(self, differences: LabelDifferences) -> None:
        """Keep what labels have added to panes; sums and unpacked panes follow."""
        self._move_sums(lambda first, end: ([], [differences.sum_between(self.layout, first, end)]))
        self._differences.append(differences)
        # Labels of one pane share most of their counters: merged they take a quarter of the memory.
        if len(self._differences) > _APART:
            self.merge_differences()
        opened = [start for start in differences.start.tolist() if start in self._opened]
        changes = [differences.sum_between(self.layout, start, start + 1) for start in opened]
        totals = [self._opened[start] for start in opened]
        moves = [(total, (), (change,)) for total, change in zip(totals, changes, strict=True)]
        for start, now in zip(opened, move_strata_sums(self.layout, moves), strict=True):
            self._drop_unpacked(start)
            if now is not None:
                self._keep_unpacked(start, now)

    def _move_sums(self, change: Callable[[int, int], tuple[Sequence[Strata], Sequence[Strata]]]) -> None:
        """Move the sums by what is taken and added between their bounds; one that cannot be goes."""
        moves = []
        for (first, end, strata), total in self._sums.items():
            sides = change(first, end)
            taken, added = sides if strata else ([_whole_alone(each) for each in side] for side in sides)
            moves.append((total, taken, added))
        moved = move_strata_sums(self.layout, moves)
        self._sums = {span: now for span, now in zip(self._sums, moved, strict=True) if now is not None}

    def forget_panes(self, starts: Iterable[int], since: int) -> None:
        """Forget panes, and the days and sums that begin before a moment."""
        gone = list(starts)
        self._drop_differences(gone)
        for start in gone:
            self._known.discard(start)
            self._drop_unpacked(start)
        self._days = {day: blob for day, blob in self._days.items() if day >= since}
        self._sums = {span: total for span, total in self._sums.items() if span[0] >= since}

    @property
    def differences(self) -> Sequence[LabelDifferences]:
        """What labels have added since panes were packed, oldest first."""
        return self._differences

    def is_fold_due(self, as_of: int) -> bool:
        """Whether differences have waited since another day, or take much memory."""
        counters = sum(len(differences.key) for differences in self._differences)
        days = {differences.as_of // DAY for differences in self._differences}
        return counters > _MOST_DIFFERENCES or bool(days - {as_of // DAY})

    def merge_differences(self) -> None:
        """Bring the differences together in one."""
        self._differences = [merge_differences(self._differences)]

    def forget_folded_differences(self, starts: Iterable[int]) -> None:
        """Panes are stored to which all differences have been added: there are none any more."""
        self._differences.clear()
        for day in {floor_to(start, DAY) for start in starts}:
            self._days.pop(day, None)

    def unpack_pane(self, start: int) -> Strata:
        """Counters of a pane by stratum; empty where it has no records, or is not there. It stays unpacked.

        Raises
        ------
        MonitorError
            if its bytes are damaged, or gone.
        """
        (strata,) = self.read_panes([start])
        self._drop_unpacked(start)
        if start in self._known:
            self._keep_unpacked(start, strata)
        return strata

    def read_panes(self, starts: Sequence[int]) -> list[Strata]:
        """The same of some panes, by one query: they do not stay unpacked."""
        packed = [start for start in starts if start in self._known and start not in self._opened]
        found = (
            dict(zip(packed, self._apply_differences(packed, self._read_packed(packed)), strict=True))
            | self._opened
        )
        return [found.get(start, {}) for start in starts]

    def _apply_differences(self, starts: Sequence[int], packed: Sequence[Strata]) -> list[Strata]:
        """Panes with what labels have added to them since; one that refuses it stays as it was."""
        moves = [
            (strata, (), [each.sum_between(self.layout, start, start + 1) for each in self._differences])
            for start, strata in zip(starts, packed, strict=True)
        ]
        moved = move_strata_sums(self.layout, moves)
        for start, (_, _, changes), now in zip(starts, moves, moved, strict=True):
            if now is None:
                self._refuse_difference(start, changes)
        return [was if now is None else now for was, now in zip(packed, moved, strict=True)]

    def _read_packed(self, starts: Iterable[int]) -> list[Strata]:
        """Panes as they are stored, without differences; empty where none is known."""
        asked = list(starts)
        known = [start for start in asked if start in self._known]
        blobs = self.stored(known) if known else {}
        for start in known:
            # An empty pane in its place would be measured in silence.
            if start not in blobs:
                raise MonitorError(
                    f"{self._pane_name(start)} is not in the store any more: another process has deleted it"
                )
        try:
            # All at once is much faster, but cannot tell which one is damaged.
            strata = codec.decode_many([blobs[start] for start in known], self.layout)
        except CodecError:
            strata = [self._decode_pane(start, blobs[start]) for start in known]
        found = dict(zip(known, strata, strict=True))
        return [found.get(start, {}) for start in asked]

    def _decode_pane(self, start: int, blob: bytes) -> Strata:
        try:
            return codec.decode_strata(blob, self.layout)
        except CodecError as error:
            raise damage_error(self._pane_name(start), error) from error

    def _pane_name(self, start: int) -> str:
        return f"pane {to_iso(start)} of {self.title}"

    def _refuse_difference(self, start: int, changes: Sequence[Strata]) -> None:
        """A pane stays as it was: what was added to it is taken off the sums."""
        self.refused[start] = changes
        self._drop_differences([start])
        # The sums took the difference before the pane was looked at.
        self._move_sums(lambda first, end: (changes, []) if first <= start < end else ([], []))

    def _drop_differences(self, starts: Sequence[int]) -> None:
        left = (differences.without_panes(starts) for differences in self._differences)
        self._differences = [differences for differences in left if len(differences.start)]

    def _keep_unpacked(self, start: int, strata: Strata) -> None:
        self._opened[start] = strata  # the last one
        self._unpacked += _counter_count(strata)
        while self._unpacked > _OPEN and len(self._opened) > 1:
            self._drop_unpacked(next(iter(self._opened)))

    def _drop_unpacked(self, start: int) -> Strata | None:
        strata = self._opened.pop(start, None)
        self._unpacked -= 0 if strata is None else _counter_count(strata)
        return strata

    def sum_window(self, start: int, end: int, *, strata: bool, kept: bool) -> Strata:
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
            return fold_strata(
                self.layout, self._read_pieces(self._covering_pieces(start, end), strata=strata)
            )
        key = start, end, strata
        self._asked.add(key)
        if key not in self._sums:
            self._sums[key] = self._sum_by_nearest(key)
        return self._sums[key]

    def _sum_by_nearest(self, key: _Sum) -> Strata:
        """The sum, by way of the nearest one if that is shorter."""
        start, end, strata = key
        near = min(
            (other for other in self._sums if other[2] is strata and other[0] < end and start < other[1]),
            key=lambda other: self._count_differing_pieces(key, other),
            default=None,
        )
        # Counters form a group: a window that has moved on is the last one less what it left and with what it
        # reached, exactly. Only where that is less to read.
        if near is not None and self._count_differing_pieces(key, near) < self._piece_count(start, end):
            gone = self._covering_pieces(near[0], start) + self._covering_pieces(end, near[1])
            come = self._covering_pieces(start, near[0]) + self._covering_pieces(near[1], end)
            # Read before the sum is looked up: a pane that refuses its difference takes it off the sums, or a
            # sum away.
            pieces = list(self._read_pieces(gone + come, strata=strata))
            taken, added = pieces[: len(gone)], pieces[len(gone) :]
            if near in self._sums:
                (moved,) = move_strata_sums(self.layout, [(self._sums[near], taken, added)])
                if moved is not None:
                    return moved
        return fold_strata(self.layout, self._read_pieces(self._covering_pieces(start, end), strata=strata))

    def _count_differing_pieces(self, one: _Sum, other: _Sum) -> int:
        """How many panes and days two sums differ by."""
        return sum(self._piece_count(*sorted(ends)) for ends in zip(one[:2], other[:2], strict=True))

    def _piece_count(self, start: int, end: int) -> int:
        """How many panes and days cover [start, end)."""
        first_day, last_day = _whole_days(start, end)
        return (first_day - start + end - last_day) // self.width + (last_day - first_day) // DAY

    def _covering_pieces(self, start: int, end: int) -> list[tuple[int, bool]]:
        """Panes and whole days of [start, end), as (start, is it a day); none if it ends before it starts."""
        first_day, last_day = _whole_days(start, end)
        spans = [(at, False) for at in range(start, first_day, self.width)]
        spans += [(day, True) for day in range(first_day, last_day, DAY)]
        return [*spans, *((at, False) for at in range(last_day, end, self.width))]

    def _read_pieces(self, spans: Sequence[tuple[int, bool]], *, strata: bool) -> Iterator[Strata]:
        panes = iter(self.read_panes([at for at, day in spans if not day]))
        pieces = (self._sum_day(at) if day else next(panes) for at, day in spans)
        return pieces if strata else map(_whole_alone, pieces)

    def _sum_day(self, day: int) -> Strata:
        panes = range(day, day + DAY, min(self.width, DAY))
        if day not in self._days:
            # Packed without differences, which are added below: a new one leaves it as it is.
            self._days[day] = codec.encode_strata(fold_strata(self.layout, self._read_packed(panes)))
        changes = [differences.sum_between(self.layout, day, day + DAY) for differences in self._differences]
        total = codec.decode_strata(self._days[day], self.layout)
        (moved,) = move_strata_sums(self.layout, [(total, (), changes)])
        # One of the day's panes cannot take its difference: pane by pane the others can.
        return fold_strata(self.layout, self.read_panes(panes)) if moved is None else moved


def _whole_days(start: int, end: int) -> tuple[int, int]:
    """Where whole days begin and end in [start, end); both its end if there is none."""
    first_day = min(-(-start // DAY) * DAY, end)
    return first_day, max(floor_to(end, DAY), first_day)


def _counter_count(strata: Strata) -> int:
    return sum(len(counters.index) for counters in strata.values())


def _whole_alone(strata: Strata) -> Strata:
    return {WHOLE: strata[WHOLE]} if WHOLE in strata else {}
