"""Charts as one picture that stands alone: an SVG with its own colours, laid out for a phone."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.charts.marks import LegendKey, LinkedPoints, MarginLabel, Mark
from monitor.charts.plot import Plot, draw_plot, escape_chart_text, plot_height
from monitor.charts.stacks import Stack, StackChart
from monitor.core.text import readable_text

_WIDE, _LEFT, _RIGHT, _EDGE = 440, 46, 14, 14  # pixels: of the picture, beside its charts, around all
_LINE, _SMALL = 19, 15  # pixels of a line of the title, and of the words above a chart
_TITLE_LETTERS, _NOTE_LETTERS, _MOST_LINES = 52, 68, 3  # letters of a line; lines of the title
_SWATCH = 16
_LETTER = 6.2  # pixels of a small one, about
# Of these families one is on any system with fonts: where no name fits, texts are not drawn at all.
FONTS = (
    "DejaVu Sans, Liberation Sans, Noto Sans, Open Sans, Roboto, Segoe UI, Arial, Helvetica Neue, Helvetica, "
    "FreeSans, Ubuntu, Cantarell, sans-serif"
)
_HATCH = (
    '<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line x1="0" y1="0" x2="0" y2="5" class="hl"/></pattern>'
)
_OWN_SHEET = (
    ".head{font-size:14px;font-weight:600}.name{font-size:12.5px;font-weight:600}.soft{font-size:11.5px}"
    ".odd{display:none}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureColours:
    """What a picture is drawn with: the ground, two inks, and the sheet of the marks, all of it resolved."""

    ground: str
    ink: str
    soft: str
    marks: str  # CSS without variables


def draw_picture(title: str, stack: Stack, colours: PictureColours) -> str:
    """SVG of a title and the charts of a stack below it; what leads elsewhere leads nowhere here."""
    charts = [part for part in stack.parts if isinstance(part, StackChart)]
    drawn, at = [], _EDGE
    for line in _wrap_title(title):
        drawn.append(_draw_words(_EDGE, at + 14, line, "head", colours.ink))
        at += _LINE
    for place, chart in enumerate(charts):
        at += _EDGE // 2
        for line, look in _head_lines(chart):
            drawn.append(
                _draw_words(_EDGE, at + 12, line, look, colours.soft if look == "soft" else colours.ink)
            )
            at += _SMALL
        for keys in _key_rows(chart.legend):
            drawn += _draw_keys(keys, at, colours)
            at += _SMALL
        plot = _picture_plot(stack, chart, bare=place < len(charts) - 1)
        tall = plot_height(plot)
        drawn.append(
            f'<svg x="{_LEFT}" y="{at}" width="{plot.width}" height="{tall}" overflow="visible">'
            f"{draw_plot(plot)}</svg>"
        )
        at += tall
    high = at + _EDGE
    size = f'width="{_WIDE}" height="{high}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}">'
        f"<style>{colours.marks}{_OWN_SHEET}</style><defs>{_HATCH}</defs>"
        f'<rect {size} fill="{colours.ground}"/>{"".join(drawn)}</svg>'
    )


def _picture_plot(stack: Stack, chart: StackChart, *, bare: bool) -> Plot:
    return Plot(
        x=stack.x,
        y=chart.y,
        marks=[_without_links(mark) for mark in chart.marks if not isinstance(mark, MarginLabel)],
        label=chart.title,
        height=max(chart.height, 72),
        lined=True,
        bare=bare,
        width=_WIDE - _LEFT - _RIGHT,
    )


def _without_links(mark: Mark) -> Mark:
    if not isinstance(mark, LinkedPoints):
        return mark
    return LinkedPoints([replace(point, words="", href="") for point in mark.points])


def _wrap_title(title: str) -> list[str]:
    return textwrap.wrap(
        readable_text(title), _TITLE_LETTERS, max_lines=_MOST_LINES, placeholder="…", break_on_hyphens=False
    )


def _head_lines(chart: StackChart) -> Iterator[tuple[str, str]]:
    """Name of a chart, and what it shows with its newest value."""
    last = [mark.text for mark in chart.marks if isinstance(mark, MarginLabel)][-1:]
    for text, look in ((chart.title, "name"), ("; ".join(filter(None, (chart.note, *last))), "soft")):
        if text:
            yield textwrap.shorten(readable_text(text), _NOTE_LETTERS, placeholder="…"), look


def _key_rows(keys: Sequence[LegendKey]) -> list[list[LegendKey]]:
    """Entries of a legend as they fit beside one another."""
    rows: list[list[LegendKey]] = []
    room = 0
    for key in keys:
        short = replace(
            key, text=textwrap.shorten(readable_text(key.text), _NOTE_LETTERS - 5, placeholder="…")
        )
        if not rows or _key_width(short) > room:
            rows.append([])
            room = _WIDE - 2 * _EDGE
        rows[-1].append(short)
        room -= _key_width(short)
    return rows


def _key_width(key: LegendKey) -> int:
    return _SWATCH + 18 + round(_LETTER * len(key.text))


def _draw_keys(keys: Sequence[LegendKey], at: int, colours: PictureColours) -> Iterator[str]:
    x = _EDGE
    for key in keys:
        shape = f'<rect class="band {key.kind}" x="{x}" y="{at + 3}" width="{_SWATCH}" height="9"/>'
        if key.look != "area":
            middle = f'y1="{at + 8}" y2="{at + 8}"'
            shape = f'<line class="line {key.kind}" x1="{x}" x2="{x + _SWATCH}" {middle}/>'
        yield shape + _draw_words(x + _SWATCH + 6, at + 12, key.text, "soft", colours.soft)
        x += _key_width(key)


def _draw_words(x: int, y: int, text: str, look: str, ink: str) -> str:
    return f'<text class="{look}" x="{x}" y="{y}" fill="{ink}">{escape_chart_text(text)}</text>'
