"""A measure, as users know it: name, unit, direction, definition."""

from dataclasses import dataclass
from enum import StrEnum

from monitor.records.reading import Task


class Unit(StrEnum):
    """Unit of a measure's value."""

    RATIO = "ratio"
    SECONDS = "seconds"
    RECORDS = "records"
    PLAIN = "plain"
    LABEL = "label"
    LABEL_SQUARED = "label_squared"
    AMOUNT = "amount"


class Direction(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


class Family(StrEnum):
    """What a measure is about."""

    PERFORMANCE = "performance"
    AVERAGES = "averages"
    GAINS = "gains"
    CALIBRATION = "calibration"
    ESTIMATE = "estimate"
    SHIFT = "shift"
    DISTANCES = "distances"
    VALUES = "values"
    QUALITY = "quality"
    COMPARISON = "comparison"
    LABELS = "labels"
    VOLUME = "volume"
    LOG = "log"  # of the log as a whole, found by its audit: no window has them


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, as users know it.

    Parameters
    ----------
    name
        as in the literature; `*_score` is better when higher, `*_error`, `*_loss`, `*_distance`, `*_index`
        when lower (`brier_score` is the literature's exception).
    tasks
        models that have it.
    definition
        formula, and what happens in edge cases.
    interval
        how its interval is found; "none" where there is none.
    reference
        of the definition or the interval.
    headline
        exposed by default for the whole model.
    total
        it grows with the number of records: not compared between windows.
    smooth
        False for maxima, and for quantiles of cells: how much days differ gives them no interval.
    """

    name: str
    unit: Unit
    direction: Direction
    family: Family
    tasks: frozenset[Task]
    definition: str
    interval: str
    reference: str
    headline: bool
    total: bool = False
    smooth: bool = True


ALL = frozenset(Task)
BINARY = frozenset({Task.BINARY})
MANY_CLASSES = frozenset({Task.MULTICLASS})
CLASSES = frozenset({Task.BINARY, Task.MULTICLASS})
NUMBERS = frozenset({Task.REGRESSION})
ALWAYS = frozenset({Family.PERFORMANCE, Family.QUALITY, Family.LABELS, Family.VOLUME, Family.LOG})
OPTIONAL_FAMILIES = frozenset(Family) - ALWAYS
DEFAULT_FAMILIES = {  # averages of two classes say little that the positive one does not
    Task.BINARY: OPTIONAL_FAMILIES - {Family.DISTANCES, Family.AVERAGES},
    Task.MULTICLASS: OPTIONAL_FAMILIES - {Family.DISTANCES, Family.GAINS},
    Task.REGRESSION: OPTIONAL_FAMILIES - {Family.DISTANCES},
}
WITH_TRUTH = frozenset(  # stand on labels
    {
        Family.PERFORMANCE,
        Family.AVERAGES,
        Family.GAINS,
        Family.CALIBRATION,
        Family.LABELS,
        Family.COMPARISON,
    }
)
