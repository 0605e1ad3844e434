"""Options of the measures, and a named result."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from monitor.core.measurement import LEVEL, Measurement, RateMethod
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES, MeasureFamily

LABEL = "label"  # subject
FEATURE = "feature:"  # subjects that are features begin so
RESAMPLES = 400  # of bootstraps
TOPS = (0.01, 0.05, 0.1)  # shares of the records
RATE_METHOD: RateMethod = "wilson"


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """Every choice that a measure leaves open."""

    level: float = LEVEL  # of intervals and critical values
    # of bootstraps; 0: none, intervals that need one are None, critical values that do are left out.
    resamples: int = RESAMPLES
    # amount of a record by (actual, predicted) class; pairs left out are worth 0.
    profit: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # added to each cell of the stability index, on both sides; 0 is the textbook's index.
    pseudocount: float = 0.5
    min_per_cell: float = 10  # records a cell of the stability index must have on average
    # shares of the records, of the highest scores, that precision and recall are measured of.
    tops: tuple[float, ...] = TOPS
    # method of the intervals of accuracy, recall and the other rates of classes.
    rate_interval: RateMethod = RATE_METHOD
    # on the score, chosen elsewhere, that a profit is measured at; None: there is none.
    threshold: float | None = None
    whole: bool = True  # False for versions, segments and arms: headline measures without detail are enough
    # whether details are whole: the corners of curves, all cells of an index; else some points and cells.
    detailed: bool = False
    # of measures that are wanted, of those that a model may leave out.
    families: frozenset[MeasureFamily] = OPTIONAL_FAMILIES


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """A measurement and its name."""

    measure: str  # a name of the catalogue
    # score, prediction, feature:NAME, class:NAME, actual:NAME,predicted:NAME, or empty: the whole model.
    subject: str
    measurement: Measurement
