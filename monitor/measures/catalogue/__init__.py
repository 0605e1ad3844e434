"""The catalogue: every measure once. Names, docs, checks and the exposition derive from it."""

from monitor.measures.catalogue.calibration_measures import CALIBRATION_ROWS
from monitor.measures.catalogue.comparison_measures import (
    ARM_ROWS,
    CHALLENGER_ROWS,
    SEGMENT_ROWS,
    SEQUENTIAL_ROWS,
)
from monitor.measures.catalogue.confusion_measures import CONFUSION_ROWS
from monitor.measures.catalogue.daily_measures import DAILY_ROWS
from monitor.measures.catalogue.discrimination_measures import DISCRIMINATION_ROWS
from monitor.measures.catalogue.estimate_measures import ESTIMATE_ROWS
from monitor.measures.catalogue.gain_measures import GAIN_ROWS
from monitor.measures.catalogue.label_measures import LABEL_ROWS
from monitor.measures.catalogue.measure import Measure
from monitor.measures.catalogue.regression_measures import REGRESSION_ROWS
from monitor.measures.catalogue.shift_measures import DISTANCE_ROWS, QUALITY_ROWS, SHIFT_ROWS, VALUE_ROWS
from monitor.measures.catalogue.volume_measures import LOG_ROWS, VOLUME_ROWS

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
