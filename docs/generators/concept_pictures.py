"""The pictures of concepts: panes and windows, one cycle, how late labels come. `make docs` writes them."""

import math
from collections.abc import Sequence
from html import escape

_STYLE = (
    "text{font-family:sans-serif;font-size:13px;fill:#1f2933}.soft{font-size:11.5px;fill:#56606d}"
    ".name{font-weight:600}.middle{text-anchor:middle}.end{text-anchor:end}"
    ".ground{fill:#fff}.box{fill:#e3f2e9;stroke:#4c8a65}.dirty{fill:#fce5bd;stroke:#8a5200}"
    ".window{fill:none;stroke:#1f5fbf;stroke-width:2}.grid{stroke:#d9dee4}.arrow{fill:none;stroke:#7b8794}"
    ".line0{fill:none;stroke:#1f5fbf;stroke-width:2}.line1{fill:none;stroke:#b3470b;stroke-width:2}"
    ".wait{fill:#8a520018}.sure{fill:#1f5fbf14}"
)
_DAYS = 40  # of age that the picture of labels shows
_DELAYS = {"payments, after 3 days": 3.0, "defaults, after 8 days": 8.0}  # on average, made up
_DIRTY = 8  # the pane that is counted again
_SETTLED = 0.95  # share of a class's labels from which on a window may settle


def pictures() -> dict[str, str]:
    """Path and text of each picture."""
    made = {"panes": _panes(), "cycle": _cycle(), "late-labels": _late_labels()}
    return {f"docs/pictures/{name}.svg": text for name, text in made.items()}


def _panes() -> str:
    """Panes with their numbers of records, and two windows that are sums of them."""
    records = (412, 398, 430, 405, 377, 421, 440, 396, 415, 402)
    side, left = 66, 20
    parts = [draw_text(left, 24, "panes: fixed tiles of event time, each counted once", "name")]
    for at, n in enumerate(records):
        x = left + at * side
        look = "dirty" if at == _DIRTY else "box"
        parts.append(f'<rect class="{look}" x="{x}" y="38" width="{side - 6}" height="46" rx="4"/>')
        parts.append(draw_text(x + side // 2 - 3, 66, str(n), "middle"))
    parts.append(
        draw_text(
            left + 9 * side - 6,
            104,
            "a late row, or a new label: this pane alone is counted again",
            "soft end",
        )
    )
    for y, first, last, name in ((128, 0, 6, "yesterday's window"), (172, 3, 9, "today's window")):
        x, end = left + first * side, left + (last + 1) * side - 6
        parts.append(f'<path class="window" d="M{x} {y - 8}V{y}H{end}V{y - 8}"/>')
        total = f"{name}: {sum(records[first : last + 1]):,} records, the sum of its panes"
        parts.append(draw_text((x + end) // 2, y + 18, total, "middle"))
    return draw_svg(700, 204, "Panes are counted once; windows are sums of panes", parts)


def _cycle() -> str:
    """The steps of a cycle."""
    steps = (
        ("1  what changed", "rows and labels", "since the last cycle"),
        ("2  count", "dirty panes whole,", "new labels by difference"),
        ("3  add", "panes to windows,", "integers to integers"),
        ("4  measure", "the windows", "that are due"),
        ("5  write", "all in one", "transaction"),
    )
    parts = []
    for at, (name, *lines) in enumerate(steps):
        x = 12 + at * 180
        parts.append(f'<rect class="box" x="{x}" y="14" width="156" height="76" rx="6"/>')
        parts.append(draw_text(x + 10, 36, name, "name"))
        parts += [draw_text(x + 10, 56 + 17 * line, text, "soft") for line, text in enumerate(lines)]
        if at:
            parts.append(f'<path class="arrow" d="M{x - 20} 52H{x - 4}m-6 -5l6 5l-6 5"/>')
    return draw_svg(900, 104, "The five steps of a cycle", parts)


def _late_labels() -> str:
    """Share of each class's labels that are in, by age, where one class is slower than the other."""
    left, top, width, height = 56, 40, 560, 200

    def x(day: float) -> float:
        return left + width * day / _DAYS

    def y(share: float) -> float:
        return top + height * (1 - share)

    end, settled = left + width, x(-max(_DELAYS.values()) * math.log(1 - _SETTLED))
    parts = [
        f'<rect class="wait" x="{left}" y="{top}" width="{settled - left:.0f}" height="{height}"/>',
        f'<rect class="sure" x="{settled:.0f}" y="{top}" width="{end - settled:.0f}" height="{height}"/>',
        draw_text(left, top - 10, "provisional, and a nowcast: defaults are too rare", "name"),
        draw_text(end, top - 10, "may settle", "name end"),
    ]
    for share in (0.0, 0.5, _SETTLED):
        parts.append(f'<path class="grid" d="M{left} {y(share):.0f}H{end}"/>')
        parts.append(draw_text(left - 6, y(share) + 4, f"{share * 100:.0f} %", "soft end"))
    parts += [
        draw_text(x(day), top + height + 18, str(day), "soft middle") for day in range(0, _DAYS + 1, 10)
    ]
    for at, (name, delay) in enumerate(_DELAYS.items()):
        points = (f"{x(day):.0f} {y(1 - math.exp(-day / delay)):.1f}" for day in range(_DAYS + 1))
        parts.append(f'<path class="line{at}" d="M{"L".join(points)}"/>')
        parts.append(f'<path class="line{at}" d="M{left + 180 * at} {top + height + 34}h22"/>')
        parts.append(draw_text(left + 28 + 180 * at, top + height + 38, name, "soft"))
    parts.append(draw_text(end, top + height + 38, "days since the records", "soft end"))
    return draw_svg(
        left + width + 20, top + height + 50, "Share of the labels of each class that are in", parts
    )


def draw_text(x: float, y: float, text: str, look: str = "") -> str:
    """A text that begins, ends or has its middle at a place."""
    return f'<text class="{look}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


def draw_svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """A picture on a ground of its own: it reads alike on light pages and on dark ones."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<rect class="ground" width="{width}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
