"""Bands of a feature's values: how many records of each day lie in each, and which of them moved."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.charts.strips import StripCell, StripLook
from monitor.core.array_types import Floats, Ints
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.measures.value_words import format_measure_value
from monitor.states.grids import EXTRA_CELLS

_MOST_MOVED = 6
_STEPS = (0.7, 1.5, 2.5)  # times what a band would have if all had as much: bounds of the looks
_FEW, _OF_FEW = 4, (0.25, 0.5, 0.75)  # bands, and the bounds where there are fewer
_LOOKS: tuple[StripLook | None, ...] = (None, "slight", "moderate", "large")
_SMOOTHED = 0.5  # records that each band has more
_HATCHED = StripCell("hatched")


@dataclass(frozen=True, slots=True)
class MovedBand:
    """A band: its share now and before, as numbers and in words."""

    name: str
    now: float
    before: float
    words: tuple[str, str]  # before, now


@dataclass(frozen=True, slots=True)
class BandRow:
    """A band day by day."""

    name: str
    cells: tuple[StripCell | None, ...]
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BandDays:
    """Counts of a feature's bands by day; those of the stability index, as its deciles."""

    expected: ExpectedCells
    table: Floats  # shape (days, bands)
    numeric: bool

    @classmethod
    def from_counts(
        cls, expected: ExpectedCells, counts: Sequence[Ints | None], *, numeric: bool
    ) -> "BandDays":
        """Of the one subject of `expected`; None: a day without records."""
        start, empty = expected.subjects[0].start, np.zeros(expected.slots_per_row)
        tables = [
            empty if each is None else expected.tabulate_counts(start + np.arange(len(each)), each)[0]
            for each in counts
        ]
        return cls(expected=expected, table=np.stack(tables), numeric=numeric)

    @property
    def shown_slots(self) -> list[int]:
        """Bands that hold something, from below: the highest number, or the most frequent level, on top."""
        last = self.expected.slots_per_row - EXTRA_CELLS
        used = [
            slot
            for slot in range(self.expected.slots_per_row)
            if (slot < last and self.expected.reference_counts[0, slot]) or self.table[:, slot].any()
        ]
        regular, extra = [slot for slot in used if slot < last], [slot for slot in used if slot >= last]
        return [*(reversed(regular) if self.numeric else regular), *extra]

    def name_of(self, slot: int) -> str:
        """What a band holds, in words."""
        return self.expected.name_of(0, slot)

    @property
    def bounds(self) -> tuple[float, ...]:
        """Shares between the looks of a cell."""
        many = sum(slot < self.expected.slots_per_row - EXTRA_CELLS for slot in self.shown_slots)
        return tuple(step / many for step in _STEPS) if many >= _FEW else _OF_FEW

    def list_rows(self, words: Sequence[str], links: Sequence[str]) -> tuple[BandRow, ...]:
        """A row each band; `words`, `links`: what each day is called, and its page."""
        totals = self.table.sum(axis=1)
        shares = self.table / np.maximum(totals, 1.0)[:, None]
        rows = []
        for slot in self.shown_slots:
            name, codes = self.name_of(slot), np.searchsorted(self.bounds, shares[:, slot], side="right")
            cells: list[StripCell | None] = []
            for day, code in enumerate(codes.tolist()):
                look = _LOOKS[code]
                if not totals[day]:
                    cells.append(_HATCHED)
                elif look is None:
                    cells.append(None)
                else:
                    told = f"{words[day]} · {name}: {share_words(shares[day, slot])} of the records"
                    cells.append(StripCell(look, told, links[day]))
            rows.append(BandRow(name, tuple(cells), share_words(shares[-1, slot]) if totals[-1] else "–"))
        return tuple(rows)


def list_moved_bands(bands: BandDays, now: Floats, before: Floats) -> tuple[MovedBand, ...]:
    """Bands that differ most, the one that adds most to the distance of the two first.

    `now`, `before`: counts by band; there are some of each.
    """
    q, p = ((each + _SMOOTHED) / (each + _SMOOTHED).sum() for each in (now, before))
    added = (q - p) * np.log(q / p)
    shares = now / now.sum(), before / before.sum()
    slots = sorted(bands.shown_slots, key=lambda slot: -added[slot])[:_MOST_MOVED]
    return tuple(
        MovedBand(
            bands.name_of(slot),
            float(shares[0][slot]),
            float(shares[1][slot]),
            (share_words(shares[1][slot]), share_words(shares[0][slot])),
        )
        for slot in slots
        if shares[0][slot] or shares[1][slot]
    )


def share_words(share: float) -> str:
    """A share of the records.

    >>> share_words(0.113), share_words(0.0)
    ('11.3 %', '0 %')
    """
    return format_measure_value("missing_rate", float(share))
