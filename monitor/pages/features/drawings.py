"""Charts of one number, from the exact counts of its cells: a window against the reference."""

from dataclasses import dataclass

import numpy as np

from monitor.charts.marks import Bars, Mark, Outline, Path, Segment
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear
from monitor.core.typing import Counts, Floats, Ints
from monitor.measures.worded import value_of
from monitor.pages.figures import Figure, LegendKey, percent, plain, short, within
from monitor.pages.rendering import shown
from monitor.states.grids import NumericGrid

HEIGHT = 220
FEW = 20  # cells with values, which are drawn one by one: a number that takes few values
_WIDE = 30  # cells of a density, about equally wide
_TAIL = 0.01  # of the reference at each end that is not drawn where it takes most of the room
_FAR = 3  # times the width of the rest


@dataclass(frozen=True, slots=True)
class Compared:
    """A number's regular cells in a window and in the reference."""

    name: str
    edges: Floats  # between the cells, ascending, finite; there is one at least
    # now, then: shape (edges + 1,): records with a number, by cell; there are some.
    now: Counts
    then: Counts
    period: str  # what the window is called

    @classmethod
    def of(cls, name: str, grid: NumericGrid, now: Counts, then: Counts, period: str) -> "Compared | None":
        """Both sides; None where one has no number."""
        if not (len(grid.edges) and now.sum() and then.sum()):
            return None
        return cls(name, np.asarray(grid.edges), now, then, period)

    def up_to(self, counts: Counts) -> Floats:
        """Shares of the numbers below each edge."""
        below: Floats = np.cumsum(counts)[:-1] / counts.sum()
        return below

    @property
    def view(self) -> tuple[int, int]:
        """First and last edge that are drawn: those of all but long tails of the reference."""
        last, below = len(self.edges) - 1, self.up_to(self.then)
        low, high = (int(np.searchsorted(below, share)) for share in (_TAIL, 1 - _TAIL))
        whole, middle = (self.edges[b] - self.edges[a] for a, b in ((0, last), (low, min(high, last))))
        return (low, min(high, last)) if 0 < _FAR * middle < whole else (0, last)


def distribution(compared: Compared) -> Figure:
    """Density of the window and of the reference; of a number that takes few values their shares."""
    used = np.flatnonzero(compared.now + compared.then)
    if len(used) <= FEW:
        return _values(compared, used)
    first, last = compared.view
    borders = _borders(compared.edges, first, last)
    edges = compared.edges[borders]
    if len(edges) < 2:
        return _values(compared, used[:FEW])
    heights = [
        np.diff(compared.up_to(counts)[borders]) / np.diff(edges) for counts in (compared.now, compared.then)
    ]
    marks: list[Mark] = [
        Outline(edges.tolist(), heights[0].tolist(), "main"),
        Outline(edges.tolist(), heights[1].tolist(), "reference", filled=False),
    ]
    middles = tuple(((edges[1:] + edges[:-1]) / 2).tolist())
    shares = [np.diff(compared.up_to(counts)[borders]) for counts in (compared.now, compared.then)]
    plot = Plot(
        x=_along(compared, float(edges[0]), float(edges[-1])),
        y=linear([0.0, *heights[0].tolist(), *heights[1].tolist()], label=short),
        marks=marks,
        label=f"density of {shown(compared.name)}, {compared.period} and the reference",
        height=HEIGHT,
        stops=middles,
    )
    cells = zip(edges[:-1].tolist(), edges[1:].tolist(), *map(np.ndarray.tolist, shares), strict=True)
    return Figure(
        title="Distribution",
        note=f"areas are shares of the records{_beyond(compared, int(borders[0]), int(borders[-1]))}",
        legend=_legend(compared, "area"),
        plot=plot,
        columns=("from", "below", compared.period, "reference"),
        rows=tuple((plain(a), plain(b), *map(_share, rest)) for a, b, *rest in cells),
    )


def cumulative(compared: Compared, words: str) -> Figure:
    """Cumulative shares of both, and where they lie farthest apart: the K-S distance.

    Parameters
    ----------
    words
        the distance.
    """
    now, then = (compared.up_to(counts) for counts in (compared.now, compared.then))
    far, (first, last) = int(np.argmax(np.abs(now - then))), compared.view
    first, last = min(first, far), max(last, far)
    edges = compared.edges[first : last + 1]
    x = [float(edge) for edge in edges]
    lines: list[Mark] = [
        Path(list(zip(x, then[first : last + 1].tolist(), strict=True)), "reference"),
        Path(list(zip(x, now[first : last + 1].tolist(), strict=True)), "main"),
    ]
    at = float(compared.edges[far])
    lines.append(Segment((at, float(then[far])), (at, float(now[far])), "now", f"{words} at {plain(at)}"))
    axis = _along(compared, x[0], x[-1]) if x[0] < x[-1] else _along(compared, x[0] - 0.5, x[0] + 0.5)
    rows = np.unique(np.append(np.linspace(first, last, 31).round().astype(int), far))
    plot = Plot(
        x=axis,
        y=linear([0.0, 1.0], label=percent),
        marks=lines,
        label=f"cumulative shares of {shown(compared.name)}, {compared.period} and the reference",
        height=HEIGHT,
        stops=tuple(compared.edges[rows].tolist()),
    )
    return Figure(
        title="Cumulative distribution",
        note=f"K-S distance {words}, at {plain(at)}; share of the values below ↑",
        legend=_legend(compared, "line"),
        plot=plot,
        columns=("below", compared.period, "reference"),
        rows=tuple((plain(float(compared.edges[i])), _share(now[i]), _share(then[i])) for i in rows),
    )


def _values(compared: Compared, used: Ints) -> Figure:
    """Shares of single cells as bars, the reference's as lines across them."""
    shares = [counts[used] / counts.sum() for counts in (compared.now, compared.then)]
    names = [
        plain(float(compared.edges[at - 1])) if at else f"< {plain(float(compared.edges[0]))}" for at in used
    ]
    bars = [(at + 0.15, at + 0.85, share) for at, share in enumerate(shares[0].tolist())]
    marks: list[Mark] = [Bars(bars)]
    marks += [Segment((at + 0.05, q), (at + 0.95, q), "reference") for at, q in enumerate(shares[1].tolist())]
    middles = tuple(at + 0.5 for at in range(len(used)))
    ticks = tuple(AxisTick(at, name) for at, name in zip(middles, names, strict=True))
    plot = Plot(
        x=Axis(0.0, float(len(used)), ticks, title=shown(compared.name)),
        y=linear([0.0, *shares[0].tolist(), *shares[1].tolist()], label=percent),
        marks=marks,
        label=f"shares of the values of {shown(compared.name)}, {compared.period} and the reference",
        height=HEIGHT,
        stops=middles,
    )
    rows = zip(names, *(map(_share, side.tolist()) for side in shares), strict=True)
    return Figure(
        title="Distribution",
        note="share of the values from each number up to the next",
        legend=_legend(compared, "area"),
        plot=plot,
        columns=("from", compared.period, "reference"),
        rows=tuple(rows),
    )


def _borders(edges: Floats, first: int, last: int) -> Ints:
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


def _beyond(compared: Compared, first: int, last: int) -> str:
    """What lies beyond the ends that are drawn, in words."""
    parts = []
    for at, where, turned in ((first, "below", False), (last, "from", True)):
        now, then = (
            float(1 - side[at] if turned else side[at])
            for side in (compared.up_to(compared.now), compared.up_to(compared.then))
        )
        if max(now, then) > 0.001:
            place = f"{where} {plain(float(compared.edges[at]))}{' on' if turned else ''}"
            parts.append(f"{_share(now)} lie {place} (reference {_share(then)})")
    return "".join(f"; {part}" for part in parts)


def _along(compared: Compared, low: float, high: float) -> Axis:
    return within(low, high, shown(compared.name))


def _legend(compared: Compared, look: str) -> tuple[LegendKey, ...]:
    return (LegendKey(look, "main", compared.period), LegendKey("line", "reference", "reference"))


def _share(value: float) -> str:
    return value_of("missing_rate", float(value))
