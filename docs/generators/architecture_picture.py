"""The picture of the rooms, drawn from the imports of the code: `docs/pictures/architecture.svg`.

A room is a folder of `monitor/`, its line the first of its docstring. An arrow says "imports"; arrows that
follow from others are left out. Each room lies above all that it imports, as low as it can.
"""

import ast
from collections.abc import Mapping
from html import escape
from pathlib import Path
from textwrap import wrap

CODE = Path(__file__).parents[2] / "monitor"
PURE = {"alerts", "evidence", "measures", "windows", "records", "states", "core"}  # no SQL, no clock, no log
_WIDTH, _HEIGHT, _GAP, _ROW = 208, 74, 26, 118  # of a box, between boxes, from row to row: pixels
_STYLE = (
    "text{font-family:sans-serif;fill:#1f2933}.name{font-size:15px;font-weight:600}.line{font-size:11px}"
    ".key{font-size:12px}.box{fill:#f5f7fa;stroke:#7b8794}.pure{fill:#e3f2e9;stroke:#4c8a65}"
    ".arrow{fill:none;stroke:#7b8794;stroke-width:1.3}"
)

Imports = Mapping[str, frozenset[str]]


def imports() -> Imports:
    """Rooms that each room imports, directly."""
    return {room.name: _imported(room) for room in sorted(CODE.iterdir()) if (room / "__init__.py").is_file()}


def _imported(room: Path) -> frozenset[str]:
    modules = (
        node.module.split(".")
        for file in sorted(room.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("monitor.")
    )
    return frozenset(module[1] for module in modules) - {room.name}


def arrows(imported: Imports) -> Imports:
    """The fewest arrows from which all others follow."""

    def below(room: str) -> frozenset[str]:
        return imported[room].union(*(below(other) for other in imported[room]))

    return {
        room: frozenset(
            other for other in others if not any(other in below(third) for third in others - {other})
        )
        for room, others in imported.items()
    }


def rows(drawn: Imports) -> list[list[tuple[str, str]]]:
    """Rooms from the lowest row to the highest; an arrow that passes a row has a place there: (from, to)."""

    def height(room: str) -> int:
        return 1 + max((height(other) for other in drawn[room]), default=-1)

    heights = {room: height(room) for room in drawn}
    places: list[list[tuple[str, str]]] = [[] for _ in range(max(heights.values()) + 1)]
    for room in sorted(drawn):
        places[heights[room]].append((room, room))
        for other in sorted(drawn[room]):
            for row in range(heights[other] + 1, heights[room]):
                places[row].append((room, other))
    return _untangled(places, drawn)


def _untangled(places: list[list[tuple[str, str]]], drawn: Imports) -> list[list[tuple[str, str]]]:
    """Each row in the order of what it hangs on, in the row above: fewer arrows cross."""
    for at in range(len(places) - 2, -1, -1):
        above = {place: x for x, place in enumerate(places[at + 1])}

        def middle(place: tuple[str, str], above: Mapping[tuple[str, str], int] = above) -> float:
            room, target = place
            on = [place] if room != target else [(top, room) for top in drawn if room in drawn[top]]
            on += [(other, other) for other, _ in on]
            over = [above[one] for one in on if one in above]
            return sum(over) / len(over) if over else 0.0

        places[at].sort(key=lambda place: (middle(place), place))
    return places


def picture() -> str:
    """Text of the SVG."""
    drawn = arrows(imports())
    ordered = rows(drawn)
    widths = [sum((_WIDTH if room == target else 0) + _GAP for room, target in row) - _GAP for row in ordered]
    width, height = max(widths) + 2 * _GAP, _ROW * len(ordered) + 40
    spots: dict[tuple[int, str, str], tuple[float, float]] = {}
    for at, row in enumerate(ordered):
        x = (width - widths[at]) / 2
        for room, target in row:
            size = _WIDTH if room == target else 0
            spots[at, room, target] = (x + size / 2, height - 40 - _ROW * (at + 1) + 20)
            x += size + _GAP
    level = {room: at for at, row in enumerate(ordered) for room, target in row if room == target}
    parts = [_arrow(spots, level, room, other) for room in sorted(drawn) for other in sorted(drawn[room])]
    parts += [_box(room, *spots[level[room], room, room]) for room in sorted(drawn)]
    parts.append(
        f'<rect class="box pure" x="26" y="{height - 30}" width="18" height="14"/>'
        f'<text class="key" x="52" y="{height - 18}">pure: no SQL, no clock, no log</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img"><title>The rooms of monitor and what each imports</title>'
        f'<style>{_STYLE}</style><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#7b8794"/></marker></defs>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _arrow(
    spots: Mapping[tuple[int, str, str], tuple[float, float]], level: Mapping[str, int], room: str, other: str
) -> str:
    """A line from a room's lower edge through its places in the rows between to the other's upper edge."""
    x, y = spots[level[room], room, room]
    path, y = f"M{x:.0f} {y + _HEIGHT:.0f}", y + _HEIGHT
    for row in range(level[room] - 1, level[other], -1):
        to_x, to_y = spots[row, room, other]
        path += f"C{x:.0f} {y + 22:.0f} {to_x:.0f} {to_y - 22:.0f} {to_x:.0f} {to_y:.0f}V{to_y + _HEIGHT:.0f}"
        x, y = to_x, to_y + _HEIGHT
    to_x, to_y = spots[level[other], other, other]
    path += f"C{x:.0f} {y + 22:.0f} {to_x:.0f} {to_y - 22:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path class="arrow" marker-end="url(#tip)" d="{path}"/>'


def _box(room: str, x: float, y: float) -> str:
    line = (
        ast.get_docstring(ast.parse((CODE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    ).splitlines()[0]
    left = x - _WIDTH / 2
    words = "".join(
        f'<text class="line" x="{left + 10:.0f}" y="{y + 38 + 14 * at:.0f}">{escape(part)}</text>'
        for at, part in enumerate(wrap(line.replace("`", ""), 32)[:3])
    )
    kind = "box pure" if room in PURE else "box"
    return (
        f'<rect class="{kind}" x="{left:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text class="name" x="{left + 10:.0f}" y="{y + 20:.0f}">{room}</text>{words}'
    )
