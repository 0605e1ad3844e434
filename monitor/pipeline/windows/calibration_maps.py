"""Maps from score to label, of a reference's or a window's labels: by them estimates are made."""

from collections.abc import Mapping
from typing import TypeAlias

from monitor.core.measurement import Reason
from monitor.measures.evaluate import learn_from_labels
from monitor.measures.score_estimates import LearnedCalibration
from monitor.records.counting import Counting
from monitor.states.strata import WHOLE, Strata, Stratum, select_segments

CalibrationMaps: TypeAlias = Mapping[Stratum, LearnedCalibration | Reason]


def learn_calibration_maps(counting: Counting, labels: Strata) -> CalibrationMaps:
    """Maps of the whole, and of each segment: the whole's map does not know how they differ."""
    every = [WHOLE, *select_segments(labels, counting.segments)]
    return {
        stratum: learn_from_labels(counting, labels[stratum], whole=stratum == WHOLE) for stratum in every
    }
