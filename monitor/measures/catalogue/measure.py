"""A measure, as users know it: name, definition, unit, direction, and the facts that code asks of it."""

from dataclasses import KW_ONLY, dataclass
from enum import Enum, Flag, StrEnum, auto

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
    DAILY = "daily"  # days against what the weeks before lead one to expect
    LOG = "log"  # of the log as a whole, found by its audit: no window has them


class Yardstick(Enum):
    """What chance gives: another measure is read beside it."""

    CRITICAL = auto()  # value that the other measure exceeds with probability 1 - level by chance
    P_VALUE = auto()  # probability of what was found, by chance


class Exposure(Flag):
    """What has a series in `/metrics`, besides the headlines of whole models."""

    NOTHING = 0
    WHOLE = auto()  # the whole model
    FEATURES = auto()
    STRATA = auto()  # versions, segments and arms
    WINDOW = auto()  # the window itself, once for the whole and each stratum, under a name of its own


ALL = frozenset(Task)
BINARY = frozenset({Task.BINARY})
MANY_CLASSES = frozenset({Task.MULTICLASS})
CLASSES = frozenset({Task.BINARY, Task.MULTICLASS})
NUMBERS = frozenset({Task.REGRESSION})
ALWAYS = frozenset(
    {Family.PERFORMANCE, Family.QUALITY, Family.LABELS, Family.VOLUME, Family.DAILY, Family.LOG}
)
OPTIONAL_FAMILIES = frozenset(Family) - ALWAYS
DEFAULT_FAMILIES = {  # averages of two classes say little that the positive one does not
    Task.BINARY: OPTIONAL_FAMILIES - {Family.DISTANCES, Family.AVERAGES},
    Task.MULTICLASS: OPTIONAL_FAMILIES - {Family.DISTANCES, Family.GAINS},
    Task.REGRESSION: OPTIONAL_FAMILIES - {Family.DISTANCES},
}
WITH_TRUTH = frozenset(  # their series say on which labels they stand
    {
        Family.PERFORMANCE,
        Family.AVERAGES,
        Family.GAINS,
        Family.CALIBRATION,
        Family.LABELS,
        Family.COMPARISON,
    }
)
OF_SHIFT = frozenset({Family.SHIFT, Family.DISTANCES})  # comparisons: no difference is made of them
WITH_REFERENCE = OF_SHIFT | {Family.VALUES}  # stand on what the reference leads one to expect
_OF_STRATA = frozenset(
    {Family.PERFORMANCE, Family.LABELS, Family.VOLUME, Family.ESTIMATE, Family.QUALITY, Family.SHIFT}
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, as users know it."""

    # as in the literature; `*_score` is better when higher, `*_error`, `*_loss`, `*_distance`, `*_index` when
    # lower (`brier_score` is the literature's exception).
    name: str
    definition: str  # formula, and what happens in edge cases
    _: KW_ONLY
    family: Family
    tasks: frozenset[Task] = ALL  # models that have it
    unit: Unit = Unit.RATIO
    direction: Direction = Direction.NONE
    interval: str | None = None  # how its interval is found; None: it has none
    source: str = ""  # of the definition or the interval
    # exposed by default for the whole model, measured of strata; of performance also compared with the
    # reference.
    headline: bool = False
    compared: bool = False  # compared with the reference too, though it is no headline
    needs_labels: bool = False  # False: it can be had before labels are in
    # role of the column without which nothing says when: "logged_at", "reported_at"; empty: none.
    needs_time: str = ""
    critical: str | None = None  # name of the measure that is its critical value; None: it has none
    # name of the measure that stands in for an interval, where that is no critical value; None: none does.
    beside: str | None = None
    yardstick: Yardstick | None = None  # what of chance it is itself; None: it is none
    rate: bool = False  # a share of records, with the interval of a rate
    bootstrap: bool = False  # its interval needs resamples
    total: bool = False  # it grows with the number of records: not compared between windows
    # False for maxima, and for quantiles of cells: how much days differ gives them no interval.
    smooth: bool = True
    whole_only: bool = False  # versions, segments and arms do not have it
    # it is of all settled days since a date: judged and shown under the window `cumulative`.
    cumulative: bool = False
    of_challenger: bool = False  # it compares champion and challenger
    estimates: str = ""  # name of the measure that it estimates, or whose estimate's error it is; empty: none
    nowcast: frozenset[Task] = frozenset()  # models that have a nowcast of it
    percent: bool = True  # False: a ratio that the field tells as 0.731, not as 73.1 %
    moment: bool = False  # its seconds are a Unix time
    exposed: Exposure = Exposure.NOTHING  # what has a series, besides the headlines of whole models

    @property
    def has_interval(self) -> bool:
        """Whether values have an interval."""
        return self.interval is not None

    @property
    def certainty(self) -> str:
        """How sure a value is, in words: how its interval is found, or what stands beside it; or empty."""
        beside = self.beside or self.critical
        return self.interval or ("" if beside is None else f"see `{beside}`")

    @property
    def of_whole(self) -> bool:
        """Whether the whole model's values are exposed by default."""
        return self.headline or Exposure.WHOLE in self.exposed

    @property
    def of_strata(self) -> bool:
        """Whether versions, segments and arms have it: headlines and critical values."""
        return (
            (self.headline or self.yardstick is Yardstick.CRITICAL)
            and self.family in _OF_STRATA
            and not self.whole_only
        )
