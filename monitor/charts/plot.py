"""A chart of marks on two axes, as SVG text."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from monitor.charts.marks import (
    AlertZone,
    CellOutline,
    IntervalBand,
    IntervalWhiskers,
    LinePath,
    LinkedPoints,
    MarginLabel,
    Mark,
    PointDots,
    RuleLine,
    ShadedSpan,
    StandingBars,
    StraightLine,
)
from monitor.charts.scales import Axis
from monitor.core.text import readable_text

WIDTH = 1000  # units of a stretched path, whatever its width in pixels
_TOP, _BOTTOM = 8, 22  # pixels above the highest tick and below the lowest one
_EDGE = 2  # pixels below a chart whose ticks have no texts
_DOT, _BIG_DOT, _RING = 2.5, 4.0, 8
_TITLE = 16
_FEW = 6  # ticks
_CURVE = 250  # points of a path; a curve that is kept has at most 200, and its area can be read back
_RIGHT = 0.6  # of the width: what begins further right has no room for a text beside it
_NEAR = 0.09  # of the height: what lies lower has no room for a text below it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]  # in the order in which they are drawn
    label: str  # what it shows, in a sentence, for those who do not see it
    height: int = 160  # of the y axis, pixels
    # numbers of the x axis at which values can be read: one for each row of the table behind the chart.
    stops: Sequence[float] = ()
    # lined: whether ticks of the x axis have upright lines; bare: whether they have no texts, as in a stack,
    # where the lowest chart has them for all.
    lined: bool = False
    bare: bool = False
    square: bool = False  # as high as it is wide, whatever that is: `height` counts for paths alone
    width: int = WIDTH  # units of its paths: where they are those of the screen, nothing is stretched


def draw_plot(plot: Plot) -> str:
    """SVG of a chart."""
    tall = "100%" if plot.square else str(plot_height(plot))
    stops = " ".join(_number_text(100 * plot.x.axis_position(at)) for at in plot.stops)
    linked = [mark for mark in plot.marks if isinstance(mark, LinkedPoints)]
    leads = any(point.href for mark in linked for point in mark.points)  # a picture holds no links
    head = (
        f'<svg class="plot" width="100%" height="{tall}" role="{"group" if leads else "img"}" '
        f'aria-label="{escape_chart_text(plot.label)}"'
    )
    box = 'width="100%" height="100%"' if plot.square else f'y="{_TOP}" width="100%" height="{plot.height}"'
    drawn = "".join(
        [
            head,
            f' data-at="{stops}"' if stops else "",
            ">",
            *_draw_grid(plot),
            *_draw_marks(_BEHIND, plot),
            f'<svg class="paths" {box} viewBox="0 0 {plot.width} {plot.height}" preserveAspectRatio="none">',
            *_draw_marks(_STRETCHED, plot),
            "</svg>",
            *_draw_marks(_UPRIGHT, plot),
            "</svg>",
        ]
    )
    return f'<div class="square">{drawn}</div>' if plot.square else drawn


def plot_height(plot: Plot) -> int:
    """How high a chart is with the texts of its axis, pixels."""
    return _TOP + plot.height + (_EDGE if plot.bare else _BOTTOM + (_TITLE if plot.x.title else 0))


def escape_chart_text(text: str) -> str:
    r"""Text from anywhere, as SVG and HTML may hold it: readable and escaped.

    >>> escape_chart_text('<b a="1">\u202e')
    '&lt;b a=&quot;1&quot;&gt;\\u202e'
    """
    return escape(readable_text(text))


def draw_link(href: str, words: str, drawn: str) -> str:
    """What is drawn, with words at the pointer, as a link if it leads somewhere.

    The keyboard passes it by: of charts it reads the values, and tables lead to the same places.

    >>> draw_link("/a?b&c", "d", "<path/>"), draw_link("", "d", "<path/>"), draw_link("", "", "<path/>")
    ('<a href="/a?b&amp;c" tabindex="-1"><title>d</title><path/></a>', '<g><title>d</title><path/></g>', '<path/>')
    """  # noqa: E501 -- the text of one link
    title = f"<title>{escape_chart_text(words)}</title>" if words else ""
    if href:
        return f'<a href="{escape(href)}" tabindex="-1">{title}{drawn}</a>'
    return f"<g>{title}{drawn}</g>" if title else drawn


def _draw_grid(plot: Plot) -> Iterator[str]:
    top, bottom = _y_ends(plot)
    for tick in plot.y.ticks:
        y = _y_pixels(plot, tick.at)
        yield f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        yield f'<text class="y" x="0" dx="-6" y="{y}" dy="4">{escape_chart_text(tick.label)}</text>'
    yield f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>'
    for at, tick in enumerate(plot.x.ticks):
        part = plot.x.axis_position(tick.at)
        end = " first" if part < 0.02 else " last" if part > 0.98 else ""
        x = _number_text(100 * part)
        if plot.lined:
            yield f'<line class="mo" x1="{x}%" x2="{x}%" y1="{top}" y2="{bottom}"/>'
        if plot.bare:
            continue
        if not plot.square:
            yield f'<line class="axis" x1="{x}%" x2="{x}%" y1="{bottom}" y2="{_TOP + plot.height + 4}"/>'
        many = len(plot.x.ticks) > _FEW  # odd ones go where there is little room, second ones in less
        odd = " odd" if many and at % 2 else " second" if at % (4 if many else 2) else ""
        low = 'y="100%" dy="17"' if plot.square else f'y="{_TOP + plot.height + 17}"'
        yield f'<text class="x{end}{odd}" x="{x}%" {low}>{escape_chart_text(tick.label)}</text>'
    if plot.x.title and not plot.bare:
        title, below = escape_chart_text(plot.x.title), 17 + _TITLE
        low = f'y="100%" dy="{below}"' if plot.square else f'y="{_TOP + plot.height + below}"'
        yield f'<text class="title" x="100%" {low}>{title} →</text>'


def _draw_shaded_span(mark: ShadedSpan, plot: Plot) -> Iterator[str]:
    left, right = (100 * plot.x.axis_position(at) for at in (mark.start, mark.end))
    box = f'x="{_number_text(left)}%" width="{_number_text(max(right - left, 0.1))}%"'
    yield f'<rect class="zone {mark.kind}" {box} y="{_TOP}" height="{plot.height}"/>'


def _draw_alert_zone(mark: AlertZone, plot: Plot) -> Iterator[str]:
    y, top, bottom = _y_pixels(plot, mark.limit), _TOP, _TOP + plot.height
    ends = (float(y), bottom) if mark.side == "below" else (top, float(y))
    box = f'x="0" width="100%" y="{_number_text(ends[0])}" height="{_number_text(ends[1] - ends[0])}"'
    yield f'<rect class="zone limit" {box}/>'
    yield f'<line class="line limit" x1="0" x2="100%" y1="{y}" y2="{y}"/>'


def _draw_linked_points(mark: LinkedPoints, plot: Plot) -> Iterator[str]:
    for point in mark.points:
        at = f'cx="{_x_percent(plot, point.x)}" cy="{_y_pixels(plot, point.y)}"'
        ring = f'<circle class="ring {point.kind}" {at} r="{_RING}"/>' if point.ring else ""
        dot = f'<circle class="dot {point.kind}" {at} r="{_BIG_DOT}"/>'
        yield draw_link(point.href, point.words, f"{ring}{dot}")


def _draw_margin_label(mark: MarginLabel, plot: Plot) -> Iterator[str]:
    at = f'x="100%" dx="11" y="{_y_pixels(plot, mark.at)}" dy="4"'
    yield f'<text class="wide {mark.kind}" {at}>{escape_chart_text(mark.text)}</text>'


def _draw_band(mark: IntervalBand, plot: Plot) -> Iterator[str]:
    for run in _unbroken_runs(mark.points):
        ends = [(x, high) for x, _, high in run] + [(x, low) for x, low, _ in reversed(run)]
        yield f'<path class="band {mark.kind}" d="M{_join_points(plot, ends)}Z"/>'


def _draw_path(mark: LinePath, plot: Plot) -> Iterator[str]:
    lines = [f"M{_join_points(plot, run)}" for run in _unbroken_runs(mark.points)]
    if lines:
        yield f'<path class="line {mark.kind}" d="{"".join(lines)}"/>'


def _draw_bars(mark: StandingBars, plot: Plot) -> Iterator[str]:
    for left, right, height in mark.bars:
        x, end = (plot.width * plot.x.axis_position(at) for at in (left, right))
        top, ground = (
            plot.height * (1 - plot.y.axis_position(at)) for at in (max(height, 0.0), min(height, 0.0))
        )
        size = (
            f'width="{_number_text(end - x)}" y="{_number_text(top)}" height="{_number_text(ground - top)}"'
        )
        yield f'<rect class="bar {mark.kind}" x="{_number_text(x)}" {size}/>'


def _draw_outline(mark: CellOutline, plot: Plot) -> Iterator[str]:
    """Outline of cells, filled down to the low end."""
    if len(mark.edges) != len(mark.heights) + 1:
        raise ValueError(f"{len(mark.edges)} edges of {len(mark.heights)} cells: there must be one more")
    ends = [mark.heights[0], *mark.heights, mark.heights[-1]]
    corners: list[str] = []
    for at, edge in enumerate(mark.edges):
        corners += [_path_point(plot, edge, ends[at]), _path_point(plot, edge, ends[at + 1])]
    outline = "L".join(dict.fromkeys(corners))
    if mark.filled:
        first, last = (_path_point(plot, edge, plot.y.low) for edge in (mark.edges[0], mark.edges[-1]))
        yield f'<path class="band {mark.kind}" d="M{first}L{outline}L{last}Z"/>'
    yield f'<path class="line {mark.kind}" d="M{outline}"/>'


def _draw_straight_line(mark: StraightLine, plot: Plot) -> Iterator[str]:
    yield (
        f'<path class="line {mark.kind}" '
        f'd="M{_path_point(plot, *mark.start)}L{_path_point(plot, *mark.end)}"/>'
    )


def _draw_line_label(mark: StraightLine, plot: Plot) -> Iterator[str]:
    if mark.label:
        x, low = min((mark.start, mark.end), key=lambda end: end[1])
        room = 14 if plot.y.axis_position(low) > _NEAR else -6  # below a curve that ascends
        look, dx = ("note end", -6) if plot.x.axis_position(x) > _RIGHT else ("note", 6)
        at = f'x="{_x_percent(plot, x)}" dx="{dx}" y="{_y_pixels(plot, low)}" dy="{room}"'
        yield f'<text class="{look}" {at}>{escape_chart_text(mark.label)}</text>'


def _draw_dots(mark: PointDots, plot: Plot) -> Iterator[str]:
    look = f"dot {mark.kind}{' hollow' if mark.hollow else ''}"
    for x, y in mark.points:
        yield f'<circle class="{look}" cx="{_x_percent(plot, x)}" cy="{_y_pixels(plot, y)}" r="{_DOT}"/>'


def _draw_whiskers(mark: IntervalWhiskers, plot: Plot) -> Iterator[str]:
    for x, low, high in mark.points:
        at, ends = _x_percent(plot, x), f'y1="{_y_pixels(plot, low)}" y2="{_y_pixels(plot, high)}"'
        yield f'<line class="whisker {mark.kind}" x1="{at}" x2="{at}" {ends}/>'


def _draw_rule(mark: RuleLine, plot: Plot) -> Iterator[str]:
    look = f"line {mark.kind}"
    if mark.axis == "y":
        y = _y_pixels(plot, mark.at)
        yield f'<line class="{look}" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        return
    x = _x_percent(plot, mark.at)
    top, bottom = _y_ends(plot)
    yield f'<line class="{look}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
    if mark.label:
        side, room = (" end", -4) if plot.x.axis_position(mark.at) > 0.6 else ("", 4)
        yield (
            f'<text class="note{side}" x="{x}" dx="{room}" '
            f'y="{_TOP + 10}">{escape_chart_text(mark.label)}</text>'
        )


_Drawing: TypeAlias = Callable[[Any, Plot], Iterator[str]]
_BEHIND: dict[type, _Drawing] = {
    AlertZone: _draw_alert_zone,
    ShadedSpan: _draw_shaded_span,
}  # below all others
_STRETCHED: dict[type, _Drawing] = {
    IntervalBand: _draw_band,
    CellOutline: _draw_outline,
    LinePath: _draw_path,
    StandingBars: _draw_bars,
    StraightLine: _draw_straight_line,
}  # as wide as the chart: paths
_UPRIGHT: dict[type, _Drawing] = {
    PointDots: _draw_dots,
    IntervalWhiskers: _draw_whiskers,
    RuleLine: _draw_rule,
    StraightLine: _draw_line_label,
    LinkedPoints: _draw_linked_points,
    MarginLabel: _draw_margin_label,
}  # of a shape of their own: dots, upright lines, texts


def _draw_marks(drawings: dict[type, _Drawing], plot: Plot) -> Iterator[str]:
    for mark in plot.marks:
        if type(mark) in drawings:
            yield from drawings[type(mark)](mark, plot)


def _unbroken_runs(
    points: Sequence[tuple[float, ...] | tuple[float | None, ...]],
) -> Iterator[list[tuple[float, ...]]]:
    """Points without a gap between them."""
    run: list[tuple[float, ...]] = []
    for point in points:
        known = tuple(part for part in point if part is not None)
        if len(known) == len(point):
            run.append(known)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _join_points(plot: Plot, points: Sequence[tuple[float, ...]]) -> str:
    """Points of a path. Those of a year's days are thousands: all are written at once, to a tenth."""
    across, down = plot.x.axis_position, plot.y.axis_position
    wide, tall = plot.width, plot.height
    flat = [part for x, y in points for part in (wide * across(x), tall * (1 - down(y)))]
    form = "%.2f %.2f" if len(points) <= _CURVE else "%.1f %.1f"
    return _NOTHING.sub("", "L".join([form] * len(points)) % tuple(flat))


def _path_point(plot: Plot, x: float, y: float) -> str:
    """Point of a path."""
    return (
        f"{_number_text(plot.width * plot.x.axis_position(x))} "
        f"{_number_text(plot.height * (1 - plot.y.axis_position(y)))}"
    )


def _x_percent(plot: Plot, x: float) -> str:
    return f"{_number_text(100 * plot.x.axis_position(x))}%"


def _y_pixels(plot: Plot, y: float) -> str:
    """Height of a value: in pixels, or in a square in % of it."""
    down = 1 - plot.y.axis_position(y)
    return f"{_number_text(100 * down)}%" if plot.square else _number_text(_TOP + plot.height * down)


def _y_ends(plot: Plot) -> tuple[str, str]:
    """Top and bottom of what is drawn on."""
    return ("0", "100%") if plot.square else (f"{_TOP}", f"{_TOP + plot.height}")


_NOTHING = re.compile(r"\.00?(?!\d)|(?<=\.[1-9])0(?!\d)")  # decimals that tell nothing


def _number_text(value: float) -> str:
    """Shortest text of a coordinate to a hundredth."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
