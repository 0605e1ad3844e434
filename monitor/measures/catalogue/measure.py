"""A measure, as users know it: name, definition, unit, direction, and the facts that code asks of it."""

from dataclasses import KW_ONLY, dataclass
from enum import Enum, Flag, StrEnum, auto

from monitor.records.reading import ModelTask


class MeasureUnit(StrEnum):
    """Unit of a measure's value."""

    RATIO = "ratio"
    SECONDS = "seconds"
    RECORDS = "records"
    PLAIN = "plain"
    LABEL = "label"
    LABEL_SQUARED = "label_squared"
    AMOUNT = "amount"


class BetterDirection(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


class MeasureFamily(StrEnum):
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


class ChanceYardstick(Enum):
    """What chance gives: another measure is read beside it."""

    CRITICAL = auto()  # value that the other measure exceeds with probability 1 - level by chance
    P_VALUE = auto()  # probability of what was found, by chance


class MeasureExposure(Flag):
    """What has a series in `/metrics`, besides the headlines of whole models."""

    NOTHING = 0
    WHOLE = auto()  # the whole model
    FEATURES = auto()
    STRATA = auto()  # versions, segments and arms
    WINDOW = auto()  # the window itself, once for the whole and each stratum, under a name of its own


ALL = frozenset(ModelTask)
BINARY = frozenset({ModelTask.BINARY})
MANY_CLASSES = frozenset({ModelTask.MULTICLASS})
CLASSES = frozenset({ModelTask.BINARY, ModelTask.MULTICLASS})
NUMBERS = frozenset({ModelTask.REGRESSION})
ALWAYS = frozenset(
    {
        MeasureFamily.PERFORMANCE,
        MeasureFamily.QUALITY,
        MeasureFamily.LABELS,
        MeasureFamily.VOLUME,
        MeasureFamily.DAILY,
        MeasureFamily.LOG,
    }
)
OPTIONAL_FAMILIES = frozenset(MeasureFamily) - ALWAYS
DEFAULT_FAMILIES = {  # averages of two classes say little that the positive one does not
    ModelTask.BINARY: OPTIONAL_FAMILIES - {MeasureFamily.DISTANCES, MeasureFamily.AVERAGES},
    ModelTask.MULTICLASS: OPTIONAL_FAMILIES - {MeasureFamily.DISTANCES, MeasureFamily.GAINS},
    ModelTask.REGRESSION: OPTIONAL_FAMILIES - {MeasureFamily.DISTANCES},
}
WITH_TRUTH = frozenset(  # their series say on which labels they stand
    {
        MeasureFamily.PERFORMANCE,
        MeasureFamily.AVERAGES,
        MeasureFamily.GAINS,
        MeasureFamily.CALIBRATION,
        MeasureFamily.LABELS,
        MeasureFamily.COMPARISON,
    }
)
# Comparisons themselves: no difference is made of them.
OF_SHIFT = frozenset({MeasureFamily.SHIFT, MeasureFamily.DISTANCES})
WITH_REFERENCE = OF_SHIFT | {MeasureFamily.VALUES}  # stand on what the reference leads one to expect
_OF_STRATA = frozenset(
    {
        MeasureFamily.PERFORMANCE,
        MeasureFamily.LABELS,
        MeasureFamily.VOLUME,
        MeasureFamily.ESTIMATE,
        MeasureFamily.QUALITY,
        MeasureFamily.SHIFT,
    }
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, as users know it."""

    # as in the literature; `*_score` is better when higher, `*_error`, `*_loss`, `*_distance`, `*_index` when
    # lower (`brier_score` is the literature's exception).
    name: str
    definition: str  # formula, and what happens in edge cases
    _: KW_ONLY
    family: MeasureFamily
    tasks: frozenset[ModelTask] = ALL  # models that have it
    unit: MeasureUnit = MeasureUnit.RATIO
    direction: BetterDirection = BetterDirection.NONE
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
    yardstick: ChanceYardstick | None = None  # what of chance it is itself; None: it is none
    rate: bool = False  # a share of records, with the interval of a rate
    total: bool = False  # it grows with the number of records: not compared between windows
    # False for maxima, and for quantiles of cells: how much days differ gives them no interval.
    smooth: bool = True
    whole_only: bool = False  # versions, segments and arms do not have it
    # it is of all settled days since a date: judged and shown under the window `cumulative`.
    cumulative: bool = False
    of_challenger: bool = False  # it compares champion and challenger
    estimates: str = ""  # name of the measure that it estimates, or whose estimate's error it is; empty: none
    nowcast: frozenset[ModelTask] = frozenset()  # models that have a nowcast of it
    percent: bool = True  # False: a ratio that the field tells as 0.731, not as 73.1 %
    moment: bool = False  # its seconds are a Unix time
    # what has a series, besides the headlines of whole models.
    exposed: MeasureExposure = MeasureExposure.NOTHING

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
    def exposes_whole(self) -> bool:
        """Whether the whole model's values are exposed by default."""
        return self.headline or MeasureExposure.WHOLE in self.exposed

    @property
    def has_strata(self) -> bool:
        """Whether versions, segments and arms have it: headlines and critical values."""
        return (
            (self.headline or self.yardstick is ChanceYardstick.CRITICAL)
            and self.family in _OF_STRATA
            and not self.whole_only
        )
