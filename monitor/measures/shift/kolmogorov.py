"""Kolmogorov-Smirnov: the largest difference of cumulative shares between the reference and a window."""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from monitor.core.measurement import Measurement, Reason
from monitor.measures.shift.cells import Expected, Steps

NAMES = ("ks_distance", "ks_p_value")


def measured(
    expected: Expected, steps: Steps, reasons: Sequence[Reason | None]
) -> Iterator[tuple[int, tuple[Measurement, Measurement]]]:
    """Row of every subject that is a number, its `ks_distance` and `ks_p_value`.

    The distance is the largest absolute difference of the cumulative shares of the regular cells, at their
    edges. Missing, unseen and invalid values are left out. Never above the distance of the raw values; the
    resolution bounds what is lost: within a cell the difference is at most one side's share at the upper edge
    less the other's at the lower one. The p-value is Kolmogorov's limit: the probability of such a distance
    if nothing has shifted.

    Parameters
    ----------
    reasons
        why a subject can not be compared at all.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = steps.now.greatest(np.abs(steps.difference))
        bound = steps.now.greatest(np.maximum(steps.difference + steps.q, steps.p - steps.difference))
        p_values = scipy.special.kolmogorov(largest * np.sqrt(steps.n * steps.m / (steps.n + steps.m)))
    columns = zip(*(column.tolist() for column in (steps.m, steps.n, largest, bound, p_values)), strict=True)
    for row, (m, n, distance, most, p_value) in zip(expected.numeric, columns, strict=True):
        reason, size = reasons[row], int(n)
        if reason is None and min(m, n) == 0:
            reason = Reason.NO_REFERENCE if m == 0 else Reason.NO_RECORDS
        if reason is not None:
            absent = Measurement.absent(reason, n=size)
            yield row, (absent, absent)
            continue
        value = Measurement(value=distance, n=size, resolution=max(0.0, most - distance))
        yield row, (value, Measurement(value=p_value, n=size))
