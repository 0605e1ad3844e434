"""Maps from score to label, of a reference's or a window's labels: by them estimates are made."""

from collections.abc import Mapping
from typing import TypeAlias

from monitor.core.measurement import Reason
from monitor.measures.estimates import Learned
from monitor.measures.evaluate import learned
from monitor.records.counting import Counting
from monitor.states.strata import WHOLE, Strata, Stratum, segments_of

CalibrationMaps: TypeAlias = Mapping[Stratum, Learned | Reason]


def calibration_maps(counting: Counting, labels: Strata) -> CalibrationMaps:
    """Maps of the whole, and of each segment: the whole's map does not know how they differ."""
    every = [WHOLE, *segments_of(labels, counting.segments)]
    return {stratum: learned(counting, labels[stratum], whole=stratum == WHOLE) for stratum in every}
