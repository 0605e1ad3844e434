"""Options of the measures, and a named result."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from monitor.core.measurement import LEVEL, Measurement, RateMethod
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES, Family

LABEL = "label"  # subject
FEATURE = "feature:"  # subjects that are features begin so
RESAMPLES = 400  # of bootstraps
TOPS = (0.01, 0.05, 0.1)  # shares of the records
RATE_METHOD: RateMethod = "wilson"


@dataclass(frozen=True, slots=True)
class Options:
    """Every choice that a measure leaves open.

    Parameters
    ----------
    level
        of intervals and critical values.
    resamples
        of bootstraps; 0: none, intervals that need one are None, critical values that do are left out.
    profit
        amount of a record by (actual, predicted) class; pairs left out are worth 0.
    pseudocount
        added to each cell of the stability index, on both sides; 0 is the textbook's index.
    min_per_cell
        records a cell of the stability index must have on average.
    tops
        shares of the records, of the highest scores, that precision and recall are measured of.
    rate_interval
        method of the intervals of accuracy, recall and the other rates of classes.
    threshold
        on the score, chosen elsewhere, that a profit is measured at; None: there is none.
    whole
        False for versions, segments and arms: headline measures without detail are enough.
    detailed
        whether details are whole: the corners of curves, all cells of an index; else some points and cells.
    families
        of measures that are wanted, of those that a model may leave out.
    """

    level: float = LEVEL
    resamples: int = RESAMPLES
    profit: Mapping[tuple[str, str], float] = field(default_factory=dict)
    pseudocount: float = 0.5
    min_per_cell: float = 10
    tops: tuple[float, ...] = TOPS
    rate_interval: RateMethod = RATE_METHOD
    threshold: float | None = None
    whole: bool = True
    detailed: bool = False
    families: frozenset[Family] = OPTIONAL_FAMILIES


@dataclass(frozen=True, slots=True)
class Result:
    """A measurement and its name.

    Parameters
    ----------
    measure
        a name of the catalogue.
    subject
        score, prediction, feature:NAME, class:NAME, actual:NAME,predicted:NAME, or empty: the whole model.
    """

    measure: str
    subject: str
    measurement: Measurement
