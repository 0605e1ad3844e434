"""Distances of numbers between the reference and a window, at the edges of all cells."""

from collections.abc import Sequence

import numpy as np
from scipy.special import kolmogorov

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Counts, Ints
from monitor.measures.cells import Expected

NUMERIC_NAMES = ("ks_distance", "ks_p_value")


def distances(
    expected: Expected, index: Ints, value: Counts, reasons: Sequence[Reason | None]
) -> dict[int, tuple[Measurement, ...]]:
    """Measures in the order of NUMERIC_NAMES of every subject that is a number, by its row.

    `ks_distance`: largest absolute difference of the cumulative shares of the regular cells, at their edges.
    Missing, unseen and invalid values are left out. Never above the distance of the raw values; the
    resolution bounds what is lost: within a cell the difference is at most one side's share at the upper edge
    less the other's at the lower one. `ks_p_value`: probability of such a distance if nothing has shifted,
    Kolmogorov's limit.

    Parameters
    ----------
    reasons
        why a subject can not be compared at all.
    """
    dense = np.zeros(len(expected.counts), dtype=np.int64)
    dense[index] = value
    then, now = expected.fine, expected.fine.at(dense)
    m, n = then.totals, now.totals
    with np.errstate(divide="ignore", invalid="ignore"):
        q, p = then.counts / then.spread(m), now.counts / now.spread(n)
        difference = now.cumulative / now.spread(n) - then.cumulative / then.spread(m)
        largest = now.greatest(np.abs(difference))
        bound = now.greatest(np.maximum(difference + q, p - difference)) - largest
        p_values = kolmogorov(largest * np.sqrt(n * m / (n + m)))
    found: dict[int, tuple[Measurement, ...]] = {}
    told = zip(*(one.tolist() for one in (m, n, largest, bound, p_values)), strict=True)
    for row, (of_reference, of_window, distance, lost, p_value) in zip(expected.numeric, told, strict=True):
        if of_reference == 0 or of_window == 0:
            missing = Reason.NO_REFERENCE if of_reference == 0 else Reason.NO_RECORDS
            found[row] = (Measurement.absent(reasons[row] or missing, n=int(of_window)),) * 2
        else:
            found[row] = (
                Measurement(value=distance, n=int(of_window), resolution=max(0.0, lost)),
                Measurement(value=p_value, n=int(of_window)),
            )
    return found
