"""The marks of a chart: a closed list. A kind is the class of a mark, and says what it stands for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "main",
    "second",
    "third",
    "reference",
    "chance",
    "provisional",
    "estimate",
    "limit",
    "now",
    "worse",
    "coming",
]


@dataclass(frozen=True, slots=True)
class LinePath:
    """A line through (x, y); None for y: a gap, never a line through it."""

    points: Sequence[tuple[float, float | None]]
    kind: Kind = "main"


@dataclass(frozen=True, slots=True)
class IntervalBand:
    """What lies between (x, lower, upper); None: a gap."""

    points: Sequence[tuple[float, float | None, float | None]]
    kind: Kind = "main"


@dataclass(frozen=True, slots=True)
class CellOutline:
    """Heights of cells: one more edge than heights, ascending."""

    edges: Sequence[float]
    heights: Sequence[float]
    kind: Kind = "main"
    filled: bool = True


@dataclass(frozen=True, slots=True)
class StandingBars:
    """(Left, right, height) of bars that stand on 0."""

    bars: Sequence[tuple[float, float, float]]
    kind: Kind = "main"


@dataclass(frozen=True, slots=True)
class PointDots:
    """Dots at (x, y); hollow ones are not final."""

    points: Sequence[tuple[float, float]]
    kind: Kind = "main"
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class IntervalWhiskers:
    """Upright intervals (x, lower, upper)."""

    points: Sequence[tuple[float, float, float]]
    kind: Kind = "main"


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A straight line at a number of one axis, an upright one with a label; of others the legend tells."""

    at: float
    axis: Literal["x", "y"] = "y"
    kind: Kind = "reference"
    label: str = ""


@dataclass(frozen=True, slots=True)
class StraightLine:
    """A straight line from one point to another, with a label at its lower end."""

    start: tuple[float, float]
    end: tuple[float, float]
    kind: Kind = "chance"
    label: str = ""


@dataclass(frozen=True, slots=True)
class ShadedSpan:
    """All that lies between two numbers of the x axis."""

    start: float
    end: float
    kind: Kind = "now"


Mark: TypeAlias = (
    LinePath
    | IntervalBand
    | CellOutline
    | StandingBars
    | PointDots
    | IntervalWhiskers
    | RuleLine
    | StraightLine
    | ShadedSpan
)
