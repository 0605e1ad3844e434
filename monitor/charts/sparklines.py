"""Pictures of the height of a line of text: how a value went, and where an interval lies."""

from collections.abc import Sequence

from monitor.charts.marks import LinePath, Mark, PointDots, RuleLine
from monitor.charts.plot import escape_chart_text
from monitor.charts.scales import Axis

_WIDE, _TALL, _EDGE = 112, 26, 3


def draw_sparkline(values: Sequence[float | None], label: str, reference: float | None = None) -> str:
    """How a value went, a dot at the last one, a dotted line at the reference; empty: nothing is known."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    levels = known if reference is None else [*known, reference]
    low, high = min(levels), max(levels)
    y = Axis(low, high) if low < high else Axis(low - 1, low + 1)
    x = Axis(0.0, float(max(len(values) - 1, 1)))
    points = list(enumerate(values))
    last = max(at for at, value in points if value is not None)
    marks: list[Mark] = [] if reference is None else [RuleLine(reference)]
    marks += [
        LinePath([(float(at), value) for at, value in points]),
        PointDots([(float(last), values[last] or 0.0)]),
    ]
    return _small_svg("spark", [part for mark in marks for part in _draw_mark(mark, x, y)], label)


def draw_interval(
    axis: Axis, lower: float, value: float, upper: float, label: str, *, hollow: bool = False
) -> str:
    """An interval and its value on an axis that many such pictures share; its ticks are dotted lines."""
    ends = [_x_place(axis, end) for end in (lower, upper)]
    middle, at = _TALL / 2, _x_place(axis, value)
    parts = [f'<line class="line reference" x1="{x}" x2="{x}" y1="0" y2="{_TALL}"/>'
             for x in (_x_place(axis, tick.at) for tick in axis.ticks)]  # fmt: skip
    parts.append(f'<path class="line main" d="M{ends[0]} {middle:g}H{ends[1]}"/>')
    parts += [f'<path class="line main" d="M{x} {middle - 3:g}v6"/>' for x in ends]
    look = "dot main hollow" if hollow else "dot main"
    parts.append(f'<circle class="{look}" cx="{at}" cy="{middle:g}" r="2.5"/>')
    return _small_svg("strip", parts, label)


def draw_share(value: float, reference: float | None, most: float, label: str) -> str:
    """A share as a bar, and that of the reference, if it is known, as a line across it; both end at `most`.

    >>> (draw_share(0.2, 0.1, 0.4, "a").count("<rect"),
    ... 'x="3.0" width="53.0"' in draw_share(0.2, 0.1, 0.4, "a"))
    (1, True)
    >>> draw_share(0.2, 0.1, 0.4, "a").count("<path"), draw_share(0.2, None, 0.4, "a").count("<path")
    (1, 0)
    """
    axis = Axis(0.0, most)
    wide = (_WIDE - 2 * _EDGE) * axis.axis_position(value)
    bar = f'<rect class="bar main" x="{_EDGE}.0" width="{wide:.1f}" y="7" height="12"/>'
    if reference is None:
        return _small_svg("spark", [bar], label)
    line = f'<path class="line now" d="M{_x_place(axis, reference)} {_EDGE}v{_TALL - 2 * _EDGE}"/>'
    return _small_svg("spark", [bar, line], label)


def _draw_mark(mark: Mark, x: Axis, y: Axis) -> list[str]:
    def down(value: float) -> str:
        return f"{_EDGE + (_TALL - 2 * _EDGE) * (1 - y.axis_position(value)):.1f}"

    match mark:
        case RuleLine(at=at):
            return [f'<path class="line reference" d="M0 {down(at)}H{_WIDE}"/>']
        case LinePath(points=points):
            pen, steps = "M", []
            for at, value in points:
                if value is None:
                    pen = "M"
                    continue
                steps.append(f"{pen}{_x_place(x, at)} {down(value)}")
                pen = "L"
            return [f'<path class="line main" d="{"".join(steps)}"/>']
        case PointDots(points=points):
            return [f'<circle class="dot main" cx="{_x_place(x, at)}" cy="{down(value)}" r="2"/>'
                    for at, value in points]  # fmt: skip
        case _:
            return []


def _x_place(axis: Axis, value: float) -> str:
    return f"{_EDGE + (_WIDE - 2 * _EDGE) * axis.axis_position(value):.1f}"


def _small_svg(look: str, parts: Sequence[str], label: str) -> str:
    box = f'width="{_WIDE}" height="{_TALL}" viewBox="0 0 {_WIDE} {_TALL}"'
    return (
        f'<svg class="{look}" {box} role="img" aria-label="{escape_chart_text(label)}">{"".join(parts)}</svg>'
    )
