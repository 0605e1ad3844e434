"""Delays: within which time a share of what was to come had come; whether they depend on the score."""

import math
from collections.abc import Sequence

import numpy as np

from monitor.core.measurement import Measurement, Reason
from monitor.records.counting import DELAY_SUMS
from monitor.states.sums import HALF
from monitor.states.views import DelayTable, ExactSums

_FEW, _SURE, _DEPENDS = 50, 4.0, 0.1  # delays, standard errors, correlation


def delay_quantile(delays: DelayTable, share: float, absent: Reason) -> Measurement:
    """Seconds within which a share of the delays lie.

    The upper edge of the cell that holds the order statistic of rank ⌈share · n⌉; the exact value lies below
    it by at most the resolution, the cell's width (1 %). Delays below 1 s, and negative ones,
    give 1 s.

    Parameters
    ----------
    share
        above 0, at most 1.
    absent
        reason where there is no delay.

    Returns
    -------
    Measurement
        or the reason `absent`; ``out_of_range`` in the open last cell (beyond 20 years).

    >>> import numpy as np
    >>> delay_quantile(DelayTable((1.0, 10.0, 20.0), np.array([1, 2, 1, 0])), 0.5, Reason.NO_LABELS).value
    10.0
    """
    n = int(delays.counts.sum())
    if n == 0:
        return Measurement.without_value(absent, n=0)
    cell = int(np.searchsorted(np.cumsum(delays.counts), share * n))
    if cell == len(delays.edges):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
    lower = delays.edges[cell - 1] if cell else 0.0
    return Measurement(value=delays.edges[cell], n=n, resolution=delays.edges[cell] - lower)


def has_score_dependence(sums: Sequence[ExactSums]) -> bool:
    """Whether delays depend on the score within a class, of numbers on the value: what nowcasts assume not.

    The correlation of the logarithm of the delay and the rank is above 0.1 in size, and above 4 standard
    errors (Fisher's z), in a class.

    Parameters
    ----------
    sums
        of each class: see `Counting.delay_sums_view`.
    """
    return any(_score_correlation(each) > _DEPENDS for each in sums)


def _score_correlation(sums: ExactSums) -> float:
    """Size of a correlation of the delay and the rank; 0 where it may be chance."""
    n = sums.count_of("delay")
    if n < _FEW:
        return 0.0
    x, xx, y, yy, xy = (sums.units_of(term) / (n * HALF) for term in DELAY_SUMS)
    spread = (xx - x * x) * (yy - y * y)
    if spread <= 0:
        return 0.0
    r = min(abs(xy - x * y) / math.sqrt(spread), 1 - 1e-12)
    return r if math.atanh(r) * math.sqrt(n - 3) > _SURE else 0.0
