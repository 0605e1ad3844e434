"""Stacks: several charts and lanes above one another, over one axis of time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from monitor.charts.marks import Kind, LegendKey, Mark
from monitor.charts.plot import Plot, draw_link, draw_plot, escape_chart_text
from monitor.charts.scales import Axis
from monitor.core.text import readable_text

_LANE = 14  # pixels
_SWITCHED = {  # keys that hide and show what they name
    "area": ("main", "second", "reference", "expected", "provisional", "estimate"),
    "line": ("main", "second", "third", "reference", "provisional", "estimate", "chance"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChart:
    """One chart of a stack."""

    title: str
    y: Axis
    marks: Sequence[Mark]
    note: str = ""  # behind the title
    legend: Sequence[LegendKey] = ()
    height: int = 64  # of the y axis, pixels
    # stops, columns, rows: the numbers behind it: at which x, what they are called, a row for each stop.
    # The first column says when; the others are read behind one another, as 0.697 and (0.678–0.716).
    stops: Sequence[float] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSpan:
    """A time in which an alert stood, or a moment at which something was deployed."""

    start: float
    end: float
    kind: Kind  # "critical", "warning", "muted"; "main": no alert
    words: str  # parts between " · ", the first one is the heading at the pointer
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackLane:
    """A lane of a stack."""

    title: str
    spans: Sequence[LaneSpan]  # later ones lie above earlier ones
    note: str = ""


StackPart: TypeAlias = StackChart | StackLane


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Charts and lanes over one axis."""

    name: str  # of the element, unique on its page: what "Copy CSV" copies
    label: str  # what it shows, in words
    x: Axis
    parts: Sequence[StackPart]
    # Moments of the ends of the axis in ISO 8601, by which a dragged range becomes `from` and `to` of the
    # address; empty: it cannot be dragged.
    ends: tuple[str, str] = ("", "")


def draw_stack(stack: Stack) -> str:
    """Markup of a stack; the lowest part has the texts of the axis for all."""
    name, label = escape_chart_text(stack.name), escape_chart_text(stack.label)
    ends = "".join(
        f' data-{at}="{escape_chart_text(end)}"'
        for at, end in zip(("from", "to"), stack.ends, strict=True)
        if end
    )
    rows = [
        _draw_part(part, stack.x, lowest=at == len(stack.parts) - 1) for at, part in enumerate(stack.parts)
    ]
    return (
        f'<div class="stack" id="{name}" role="group" aria-label="{label}"{ends}>{"".join(rows)}'
        f"{_numbers_details(stack)}</div>"
    )


def draw_legend(keys: Sequence[LegendKey]) -> str:
    """Entries of a legend; those of lines and areas hide and show what they name, without a script.

    >>> draw_legend([LegendKey("area", "main", "95 % interval")])
    '<label class="key"><input type="checkbox" data-t="area-main" class="area main" checked>95 % interval</label>'
    """  # noqa: E501 -- the text of one entry
    drawn = []
    for key in keys:
        text = escape_chart_text(key.text)
        if key.kind in _SWITCHED.get(key.look, ()):
            names = f'data-t="{key.look}-{key.kind}" class="{key.look} {key.kind}"'
            drawn.append(f'<label class="key"><input type="checkbox" {names} checked>{text}</label>')
        else:
            drawn.append(f'<span class="key"><i class="{key.look} {key.kind}"></i>{text}</span>')
    return " ".join(drawn)


def number_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Numbers behind a chart as escaped lines of text: one node, whatever their number.

    Columns are parted by tabs, which a spreadsheet takes as they are, and as wide as their widest cell.

    >>> number_lines(("day", "n"), [("1 Jan", "<9>")]).split("\n")
    ['day  \tn', '1 Jan\t&lt;9&gt;']
    """
    told = [[readable_text(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, cells)) for cells in zip(*told, strict=True)]
    return escape("\n".join("\t".join(map(str.ljust, row, widths)).rstrip(" ") for row in told))


def _draw_part(part: StackPart, x: Axis, *, lowest: bool) -> str:
    if isinstance(part, StackLane):
        head, drawn = "", _draw_lane(part, x) + (_axis_alone(x) if lowest else "")
    else:
        head = draw_legend(part.legend)
        label = f"{part.title}, {part.note}" if part.note else part.title
        drawn = draw_plot(
            Plot(x=x, y=part.y, marks=part.marks, label=label, height=part.height, stops=part.stops,
                 lined=True, bare=not lowest)
        )  # fmt: skip
    note = f"<span>{escape_chart_text(part.note)}</span>" if part.note else ""
    return (
        f'<div class="row"><div class="rowhead"><b>{escape_chart_text(part.title)}</b>{note}{head}</div>'
        f'<div class="frame">{drawn}</div></div>'
    )


def _axis_alone(x: Axis) -> str:
    """Texts of the axis below a lane."""
    return draw_plot(Plot(x=x, y=Axis(0.0, 1.0), marks=(), label="time", height=0))


def _draw_lane(lane: StackLane, x: Axis) -> str:
    leads = any(span.href for span in lane.spans)  # a picture holds no links
    head = (
        f'<svg class="plot" width="100%" height="{_LANE}" role="{"group" if leads else "img"}" '
        f'aria-label="{escape_chart_text(lane.title)}">'
    )
    return f"{head}{''.join(_lane_marks(lane, x))}</svg>"


def _lane_marks(lane: StackLane, x: Axis) -> Iterator[str]:
    for tick in x.ticks:
        at = f"{100 * x.axis_position(tick.at):.4g}%"
        yield f'<line class="mo" x1="{at}" x2="{at}" y1="0" y2="{_LANE}"/>'
    yield f'<line class="grid" x1="0" x2="100%" y1="{_LANE}" y2="{_LANE}"/>'
    for span in lane.spans:
        left, right = (f"{100 * x.axis_position(at):.4g}%" for at in (span.start, span.end))
        middle = f'y1="{_LANE // 2}" y2="{_LANE // 2}"'
        yield draw_link(
            span.href, span.words, f'<line class="al {span.kind}" x1="{left}" x2="{right}" {middle}/>'
        )


def _numbers_details(stack: Stack) -> str:
    charts = [part for part in stack.parts if isinstance(part, StackChart) and part.rows]
    if not charts:
        return ""
    told = "".join(
        f'<pre class="nums" tabindex="0" role="region" aria-label="Numbers: {escape_chart_text(part.title)}">'
        f"{number_lines(part.columns, part.rows)}</pre>"
        for part in charts
    )
    return f'<details class="more"><summary>Numbers</summary>{told}</details>'
