"""Rows of days: a cell a day, of which only those are drawn that say something."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from monitor.charts.plot import draw_link, escape_chart_text

# How a day is drawn. Height and a dot carry what colour carries:
StripLook: TypeAlias = Literal[
    "warning",  # an alert: full, with a dot
    "critical",  # a critical one: full, with a dot
    "changed",  # changed, but not found yet: half
    "far",  # far outside of what was expected, no alert: full, grey
    "outside",  # outside, no alert: half, grey
    "hatched",  # not compared
    "slight",  # of distances: blues
    "moderate",
    "large",
]
_CLASSES: dict[StripLook, str] = {
    "warning": "sw", "critical": "sc", "changed": "sl", "far": "s2", "outside": "s1", "hatched": "sn",
    "slight": "p1", "moderate": "p2", "large": "p3",
}  # fmt: skip
_HALF: tuple[StripLook, ...] = ("changed", "outside")
_DOTTED: tuple[StripLook, ...] = ("warning", "critical")
_TALL, _GAP, _DOT = 20, 0.106, 2  # pixels; share of a cell that stays empty at its right; pixels


@dataclass(frozen=True, slots=True)
class StripCell:
    """A day that says something."""

    look: StripLook
    words: str = ""  # parts between " · ", the first one is the heading at the pointer
    href: str = ""


def draw_strip(cells: Sequence[StripCell | None], label: str) -> str:
    """A row of days of equal width, the newest last; None: as expected, which is not drawn.

    Days that were not compared are one piece where they follow one another.
    """
    each = 100 / max(len(cells), 1)
    drawn = []
    for at, cell in enumerate(cells):
        if cell is None or cell.look == "hatched":
            continue
        low = _TALL // 2 if cell.look in _HALF else 0
        box = f'x="{at * each:.4g}%" y="{low}" width="{each * (1 - _GAP):.4g}%" height="{_TALL - low}"'
        dot = ""
        if cell.look in _DOTTED:
            dot = f'<circle class="dotm" cx="{(at + 0.5 - _GAP / 2) * each:.4g}%" cy="10" r="{_DOT}"/>'
        rect = f'<rect class="{_CLASSES[cell.look]}" {box}/>{dot}'
        drawn.append(draw_link(cell.href, cell.words, rect))
    start = 0
    for hatched, run in groupby(cells, key=lambda cell: cell is not None and cell.look == "hatched"):
        length = len(list(run))
        if hatched:
            box = f'x="{start * each:.4g}%" y="0" width="{(length - _GAP) * each:.4g}%" height="{_TALL}"'
            drawn.append(f'<rect class="sn" {box}/>')
        start += length
    leads = any(cell is not None and cell.href for cell in cells)  # a picture holds no links
    return (
        f'<svg class="strip" height="{_TALL}" role="{"group" if leads else "img"}" '
        f'aria-label="{escape_chart_text(label)}">'
        f'<rect class="s0" x="0" y="0" width="100%" height="{_TALL}"/>{"".join(drawn)}</svg>'
    )
