"""Where the values of a feature went: cells of its stability index by week, against the reference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick
from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.measures.value_words import format_measure_value
from monitor.pages.page_request import MOST_PANES
from monitor.pages.period_words import day_and_month_words, local_moment_words
from monitor.states.grids import EXTRA_CELLS

WEEK, MOST = 7 * DAY, 26  # weeks
_BOUNDS = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
_LOOKS = ("c3", "c2", "c1", "h0", "h1", "h3", "h4")
LEGEND = tuple(
    zip(
        _LOOKS,
        (
            "below ¼",
            "¼ to ½",
            "½ to 0.8",
            "as expected, or within chance",
            "1.25 to 2 ×",
            "2 to 4 ×",
            "above 4 ×",
        ),
        strict=True,
    )
)
_CHANCE = 3.0  # standard deviations of a share: of 300 cells one is beyond by chance


@dataclass(frozen=True, slots=True)
class CellWeeks:
    """A cell: its class in each week, None: no record; what is expected, and each week's share, in words."""

    cell: str
    looks: tuple[str | None, ...]
    expected: str
    shares: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekMap:
    """Cells by week; the highest number, or the most frequent level, on top."""

    weeks: tuple[str, ...]
    rows: tuple[CellWeeks, ...]
    axis: Plot


def week_bounds(until: int, pane: int) -> list[int]:
    """Bounds of the weeks up to a moment: as many as can be read whole, one at least.

    >>> len(week_bounds(0, DAY)) - 1, len(week_bounds(0, DAY // 24)) - 1
    (26, 8)
    """
    weeks = min(MOST, max(1, MOST_PANES * pane // WEEK))
    return [until - at * WEEK for at in range(weeks, -1, -1)]


def week_map(
    expected: ExpectedCells, bounds: Sequence[int], counts: Sequence[Ints | None], zone: str, *, numeric: bool
) -> WeekMap | None:
    """Map of the one subject of `expected`; None: no week has a record.

    Parameters
    ----------
    counts
        of the subject's cells, week by week.
    numeric
        whether the cells ascend.
    """
    start = expected.subjects[0].start
    tables = [
        np.zeros(expected.slots_per_row)
        if each is None
        else expected.tabulate_counts(start + np.arange(len(each)), each)[0]
        for each in counts
    ]
    table = np.stack(tables)
    first = next((at for at, row in enumerate(table) if row.any()), None)
    if first is None:
        return None
    table, bounds = table[first:], bounds[first:]
    order = [
        slot
        for slot in range(expected.slots_per_row)
        if expected.reference_counts[0, slot] or table[:, slot].any()
    ]
    extra = [slot for slot in order if slot >= expected.slots_per_row - EXTRA_CELLS]
    regular = [slot for slot in order if slot not in extra]
    # A map is read from below, as an axis is: the largest numbers stand at the top, what is no number below.
    rows = [*(reversed(regular) if numeric else regular), *extra]
    return WeekMap(
        weeks=tuple(f"week from {local_moment_words(at, zone)}" for at in bounds[:-1]),
        rows=tuple(_cell_row(expected, slot, table) for slot in rows),
        axis=_week_axis(bounds, zone),
    )


def classify_cell_share(share: float, expected: float, n: float, m: float) -> str:
    """Class of a cell by how many of n records lie there, against the share of m reference records.

    >>> [classify_cell_share(share, 0.1, 1_000, 10_000) for share in (0.01, 0.105, 0.15, 0.5)]
    ['c3', 'h0', 'h1', 'h4']
    """
    pooled = (share * n + expected * m) / (n + m)
    if abs(share - expected) <= _CHANCE * math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)):
        return "h0"
    ratio = share / expected if expected else math.inf
    return _LOOKS[sum(ratio >= bound for bound in _BOUNDS)]


def _cell_row(expected: ExpectedCells, slot: int, table: Floats) -> CellWeeks:
    m = float(expected.m[0])
    q, totals = float(expected.reference_counts[0, slot]) / m, table.sum(axis=1)
    parts = [(float(count), float(n)) for count, n in zip(table[:, slot], totals, strict=True)]
    return CellWeeks(
        cell=expected.name_of(0, slot),
        looks=tuple(classify_cell_share(count / n, q, n, m) if n else None for count, n in parts),
        expected=format_measure_value("missing_rate", q),
        shares=tuple(format_measure_value("missing_rate", count / n) if n else "" for count, n in parts),
    )


def _week_axis(bounds: Sequence[int], zone: str) -> Plot:
    """Axis of weeks, named by the days on which they begin."""
    weeks = len(bounds) - 1
    each = -(-weeks // 5)
    ticks = tuple(AxisTick(float(at), day_and_month_words(bounds[at], zone)) for at in range(0, weeks, each))
    return Plot(x=Axis(0.0, float(weeks), ticks), y=Axis(0.0, 1.0), marks=(), label="weeks", height=1)
