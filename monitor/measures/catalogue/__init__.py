"""The catalogue: every measure once. Names, docs, checks and the exposition derive from it."""

from monitor.measures.catalogue.calibration import CALIBRATION_ROWS
from monitor.measures.catalogue.comparison import ARM_ROWS, CHALLENGER_ROWS, SEGMENT_ROWS, SEQUENTIAL_ROWS
from monitor.measures.catalogue.confusion import CONFUSION_ROWS
from monitor.measures.catalogue.daily import DAILY_ROWS
from monitor.measures.catalogue.discrimination import DISCRIMINATION_ROWS
from monitor.measures.catalogue.estimates import ESTIMATE_ROWS
from monitor.measures.catalogue.gains import GAIN_ROWS
from monitor.measures.catalogue.labels import LABEL_ROWS
from monitor.measures.catalogue.measure import Measure
from monitor.measures.catalogue.regression import REGRESSION_ROWS
from monitor.measures.catalogue.shift import DISTANCE_ROWS, QUALITY_ROWS, SHIFT_ROWS, VALUE_ROWS
from monitor.measures.catalogue.volume import LOG_ROWS, VOLUME_ROWS

__all__ = ["BY_NAME", "CATALOGUE"]

CATALOGUE: tuple[Measure, ...] = (
    *CONFUSION_ROWS,
    *DISCRIMINATION_ROWS,
    *GAIN_ROWS,
    *CALIBRATION_ROWS,
    *REGRESSION_ROWS,
    *ESTIMATE_ROWS,
    *SEGMENT_ROWS,
    *SHIFT_ROWS,
    *DISTANCE_ROWS,
    *VALUE_ROWS,
    *QUALITY_ROWS,
    *VOLUME_ROWS,
    *LABEL_ROWS,
    *ARM_ROWS,
    *SEQUENTIAL_ROWS,
    *CHALLENGER_ROWS,
    *DAILY_ROWS,
    *LOG_ROWS,
)
BY_NAME: dict[str, Measure] = {measure.name: measure for measure in CATALOGUE}
