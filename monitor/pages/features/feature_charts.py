"""Charts of one number, from the exact counts of its cells: now, before, and in the reference."""

from dataclasses import dataclass

import numpy as np

from monitor.charts.marks import CellOutline, Kind, LegendKey, Mark, StandingBars, StraightLine
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.core.array_types import Counts, Floats, Ints
from monitor.measures.value_words import format_measure_value
from monitor.pages.figures import Figure, axis_within, chart_number_text, number_tick, percent_tick
from monitor.pages.page_templates import display_name
from monitor.states.grids import NumericGrid

HEIGHT = 220
FEW = 20  # cells with values, which are drawn one by one: a number that takes few values
_WIDE = 30  # cells of a density, about equally wide
_TAIL = 0.01  # of the reference at each end that is not drawn where it takes most of the room
_FAR = 3  # times the width of the rest


@dataclass(frozen=True, slots=True)
class ComparedCells:
    """A number's regular cells in a window, on the days before, and in the reference."""

    name: str
    edges: Floats  # between the cells, ascending, finite; there is one at least
    # now, then: shape (edges + 1,): records with a number, by cell; there are some.
    now: Counts
    then: Counts
    period: str  # what the window is called
    kind: Kind = "main"  # of what is now: "warning" or "critical" where it has an alert
    # before, days_before: the same of the days that it is compared with, and what they are called; None:
    # there are none.
    before: Counts | None = None
    days_before: str = ""
    reference: str = "reference"  # what the reference is called

    @classmethod
    def from_counts(
        cls, name: str, grid: NumericGrid, now: Counts, then: Counts, period: str
    ) -> "ComparedCells | None":
        """Both sides; None where one has no number."""
        if not (len(grid.edges) and now.sum() and then.sum()):
            return None
        return cls(name, np.asarray(grid.edges), now, then, period)

    @property
    def sides(self) -> list[tuple[Counts, Kind, str]]:
        """Counts, kind and name of each: now, before, the reference."""
        every: list[tuple[Counts, Kind, str]] = [(self.now, self.kind, self.period)]
        if self.before is not None and self.before.sum():
            every.append((self.before, "second" if self.kind == "main" else "main", self.days_before))
        return [*every, (self.then, "reference", self.reference)]

    def shares_below(self, counts: Counts) -> Floats:
        """Shares of the numbers below each edge."""
        below: Floats = np.cumsum(counts)[:-1] / counts.sum()
        return below

    @property
    def drawn_edge_range(self) -> tuple[int, int]:
        """First and last edge that are drawn: those of all but long tails of the reference."""
        last, below = len(self.edges) - 1, self.shares_below(self.then)
        low, high = (int(np.searchsorted(below, share)) for share in (_TAIL, 1 - _TAIL))
        whole, middle = (self.edges[b] - self.edges[a] for a, b in ((0, last), (low, min(high, last))))
        return (low, min(high, last)) if 0 < _FAR * middle < whole else (0, last)


def draw_distribution(cells: ComparedCells) -> Figure:
    """Density of each side; of a number that takes few values their shares."""
    used = np.flatnonzero(sum(counts for counts, _, _ in cells.sides))
    if len(used) <= FEW:
        return _draw_values(cells, used)
    first, last = cells.drawn_edge_range
    borders = _choose_even_edges(cells.edges, first, last)
    edges = cells.edges[borders]
    if len(edges) < 2:
        return _draw_values(cells, used[:FEW])
    shares = [np.diff(cells.shares_below(counts)[borders]) for counts, _, _ in cells.sides]
    heights = [(each / np.diff(edges)).tolist() for each in shares]
    marks: list[Mark] = [
        CellOutline(edges.tolist(), height, kind, filled=at == 0)
        for at, (height, (_, kind, _)) in enumerate(zip(heights, cells.sides, strict=True))
    ]
    plot = Plot(
        x=axis_within(float(edges[0]), float(edges[-1]), display_name(cells.name)),
        y=linear_axis([0.0, *(end for height in heights for end in height)], label=number_tick),
        marks=marks,
        label=f"density of {display_name(cells.name)}: {', '.join(name for _, _, name in cells.sides)}",
        height=HEIGHT,
        stops=tuple(((edges[1:] + edges[:-1]) / 2).tolist()),
    )
    table = zip(edges[:-1].tolist(), edges[1:].tolist(), *(each.tolist() for each in shares), strict=True)
    return Figure(
        title="Distribution",
        note=f"areas are shares of the records{_undrawn_words(cells, int(borders[0]), int(borders[-1]))}",
        legend=_legend_keys(cells),
        plot=plot,
        columns=("from", "below", *(name for _, _, name in cells.sides)),
        rows=tuple(
            (chart_number_text(a), chart_number_text(b), *map(_share_text, rest)) for a, b, *rest in table
        ),
    )


def _draw_values(cells: ComparedCells, used: Ints) -> Figure:
    """Shares of single cells: now as bars, the others as lines across them."""
    shares = [(counts[used] / counts.sum()).tolist() for counts, _, _ in cells.sides]
    names = [
        chart_number_text(float(cells.edges[at - 1]))
        if at
        else f"< {chart_number_text(float(cells.edges[0]))}"
        for at in used
    ]
    marks: list[Mark] = [
        StandingBars([(at + 0.15, at + 0.85, share) for at, share in enumerate(shares[0])], cells.kind)
    ]
    for each, (_, kind, _) in zip(shares[1:], cells.sides[1:], strict=True):
        marks += [StraightLine((at + 0.05, q), (at + 0.95, q), kind) for at, q in enumerate(each)]
    middles = tuple(at + 0.5 for at in range(len(used)))
    ticks = tuple(AxisTick(at, name) for at, name in zip(middles, names, strict=True))
    plot = Plot(
        x=Axis(0.0, float(len(used)), ticks, title=display_name(cells.name)),
        y=linear_axis([0.0, *(end for each in shares for end in each)], label=percent_tick),
        marks=marks,
        label=f"shares of the values of {display_name(cells.name)}: "
        f"{', '.join(name for _, _, name in cells.sides)}",
        height=HEIGHT,
        stops=middles,
    )
    return Figure(
        title="Distribution",
        note="share of the values from each number up to the next",
        legend=_legend_keys(cells),
        plot=plot,
        columns=("from", *(name for _, _, name in cells.sides)),
        rows=tuple((name, *map(_share_text, each)) for name, *each in zip(names, *shares, strict=True)),
    )


def _choose_even_edges(edges: Floats, first: int, last: int) -> Ints:
    """Edges that lie about equally far apart, none much nearer to the next than the others."""
    wanted = np.linspace(edges[first], edges[last], _WIDE + 1)
    after = np.clip(np.searchsorted(edges, wanted), first, last)
    before = np.maximum(after - 1, first)
    nearest = np.unique(np.where(wanted - edges[before] < edges[after] - wanted, before, after))
    least = (edges[last] - edges[first]) / (4 * _WIDE)
    kept = [int(nearest[0])]
    for at in nearest[1:].tolist():
        if edges[at] - edges[kept[-1]] >= least:
            kept.append(at)
        elif len(kept) > 1:
            kept[-1] = at  # the last edge stays, whatever lies close before it
    return np.asarray(kept)


def _undrawn_words(cells: ComparedCells, first: int, last: int) -> str:
    """What lies beyond the ends that are drawn, in words."""
    parts = []
    for at, where, turned in ((first, "below", False), (last, "from", True)):
        now, then = (
            float(1 - side[at] if turned else side[at])
            for side in (cells.shares_below(cells.now), cells.shares_below(cells.then))
        )
        if max(now, then) > 0.001:
            place = f"{where} {chart_number_text(float(cells.edges[at]))}{' on' if turned else ''}"
            parts.append(f"{_share_text(now)} lie {place} (reference {_share_text(then)})")
    return "".join(f"; {part}" for part in parts)


def _legend_keys(cells: ComparedCells) -> tuple[LegendKey, ...]:
    return tuple(
        LegendKey("line" if at else "area", kind, name) for at, (_, kind, name) in enumerate(cells.sides)
    )


def _share_text(value: float) -> str:
    return format_measure_value("missing_rate", float(value))
