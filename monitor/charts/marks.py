"""The marks of a chart: a closed list. A kind is the class of a mark, and says what it stands for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "main",  # the series that a chart is about: blue
    "second",  # another one beside it: ink
    "third",
    "reference",
    "expected",  # what was expected of such a day: grey
    "chance",
    "provisional",
    "estimate",
    "limit",  # what a rule alerts beyond
    "now",
    "hatched",  # not known, or not compared
    "critical",  # colours mean an alert
    "warning",
    "muted",
]


@dataclass(frozen=True, slots=True)
class LegendKey:
    """Entry of a legend: how it is drawn ("line", "area", "dot", "zone"), of which kind, what it is."""

    look: str
    kind: Kind
    text: str


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


@dataclass(frozen=True, slots=True)
class AlertZone:
    """All that a rule alerts on: values on one side of its limit."""

    limit: float
    side: Literal["below", "above"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPoint:
    """A dot that says something and leads somewhere: its colour means an alert."""

    x: float
    y: float
    kind: Kind
    words: str  # parts between " · ", the first one is its heading
    href: str = ""  # empty: it leads nowhere
    ring: bool = False  # whether a ring is about it: what the chart is shown for


@dataclass(frozen=True, slots=True)
class LinkedPoints:
    """Dots that lead somewhere."""

    points: Sequence[LinkedPoint]


@dataclass(frozen=True, slots=True)
class MarginLabel:
    """A text right of the chart at the height of a value; where there is little room it is left out."""

    at: float
    text: str
    kind: Kind = "main"


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
    | AlertZone
    | LinkedPoints
    | MarginLabel
)
