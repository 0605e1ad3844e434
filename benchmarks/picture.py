"""The ratios of CPU times of all results as one picture, results/ratios.svg, beside what is asked of them.

python benchmarks/picture.py
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from timing import RESULTS

TITLES = {
    "kernel": "Counting values into cells",
    "reading": "From the database to a report",
    "days": "A day's measures, beside a script",
    "peers": "A day's measures, beside other monitors",
}
REACHED, MISSED, NO_BAR, MARK = "#1f7a54", "#c2410c", "#6b7f99", "#111827"
LEFT, RIGHT, WIDTH = 470, 60, 960
ROW, BAR = 20, 12
BOLD = ' font-weight="bold"'


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of two CPU times, and what is aimed at."""

    name: str
    reached: float
    bar: float | None

    @property
    def color(self) -> str:
        """Of its bar in the picture."""
        if self.bar is None:
            return NO_BAR
        return REACHED if self.reached >= self.bar else MISSED


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic one, over whole decades: their powers of ten."""

    first: int
    last: int

    @classmethod
    def over(cls, ratios: list[Ratio]) -> "Axis":
        """All values and bars."""
        powers = [math.log10(value) for one in ratios for value in (one.reached, one.bar or 1.0)]
        return cls(math.floor(min(powers)), math.ceil(max(powers)))

    def at(self, value: float) -> float:
        """Where a value lies."""
        share = (math.log10(value) - self.first) / (self.last - self.first)
        return LEFT + share * (WIDTH - LEFT - RIGHT)


def groups() -> Iterator[tuple[str, list[Ratio]]]:
    """Ratios of each benchmark whose results are there; what stands before a hyphen says which."""
    files = sorted(RESULTS.glob("*.json"))
    there = [file.stem.partition("-")[0] for file in files]
    for name in dict.fromkeys([*(name for name in TITLES if name in there), *there]):
        ratios = [
            Ratio(f"{one['name']} · {one['against']}", one["ratio"]["cpu"], one["bar"])
            for file, of in zip(files, there, strict=True)
            if of == name
            for one in json.loads(file.read_text(encoding="utf-8")).get("pairs", [])
        ]
        if ratios:
            yield TITLES.get(name, name), ratios


def text(x: float, y: float, said: str, *, anchor: str = "start", style: str = "") -> str:
    """A line of it."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(said)}</text>'


def box(x: float, y: float, width: float, color: str) -> str:
    """A bar, or a piece of one."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'


def upright(x: float, top: float, bottom: float, color: str = MARK, width: float = 2.5) -> str:
    """A line."""
    return f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{color}" stroke-width="{width}"/>'


def row(ratio: Ratio, axis: Axis, y: float) -> str:
    """A name, its bar from 1, the mark of what is aimed at, and the value."""
    one, end, mark = axis.at(1.0), axis.at(ratio.reached), axis.at(ratio.bar or 1.0)
    parts = [
        text(LEFT - 10, y + 14, ratio.name, anchor="end"),
        box(min(one, end), y + 4, abs(end - one), ratio.color),
        "" if ratio.bar is None else upright(mark, y + 1, y + ROW - 1),
        text(max(one, end, mark) + 6, y + 14, f"{ratio.reached:.{int(ratio.reached < 10)}f}", style=BOLD),
    ]
    return "".join(parts)


def grid(axis: Axis, top: float, bottom: float) -> str:
    """Lines of the decades."""
    values = [10.0**power for power in range(axis.first, axis.last + 1)]
    lines = [upright(axis.at(value), top, bottom, "#d5dbe3", 1.0) for value in values]
    told = [text(axis.at(value), bottom + 16, f"{value:g}", anchor="middle") for value in values]
    return "".join([*lines, *told])


def legend(y: float) -> str:
    """What the colours and the mark mean."""
    meanings = (REACHED, "reaches its bar"), (MISSED, "does not"), (NO_BAR, "no bar asked")
    parts = []
    for x, (color, said) in enumerate(meanings):
        parts += [box(20 + 140 * x, y - 9, BAR, color), text(38 + 140 * x, y + 2, said)]
    return "".join([*parts, upright(446, y - 11, y + 5), text(456, y + 2, "the bar asked")])


def picture(found: list[tuple[str, list[Ratio]]]) -> str:
    """All of it."""
    axis = Axis.over([one for _, ratios in found for one in ratios])
    heading = f'{BOLD} font-size="14"'
    title = "How many times less CPU time ours takes than the other, in one run"
    drawn = [text(20, 26, title, style=heading), legend(50)]
    y, rows = 70.0, []
    for title, ratios in found:
        rows.append(text(20, y + 20, title, style=heading))
        y += 30
        for ratio in ratios:
            rows.append(row(ratio, axis, y))
            y += ROW
    height = y + 34
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" font-size="12" fill="{MARK}">'
        '<rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *drawn, grid(axis, 64, y + 6), *rows, "</svg>", ""])


def main() -> None:
    """Draw, write."""
    found = list(groups())
    if found:
        (RESULTS / "ratios.svg").write_text(picture(found), encoding="utf-8")


if __name__ == "__main__":
    main()
