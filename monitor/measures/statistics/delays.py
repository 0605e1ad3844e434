"""Delays: within which time a share of what was to come had come."""

import numpy as np

from monitor.core.measurement import Measurement, Reason
from monitor.states.views import DelayTable


def within(delays: DelayTable, share: float, absent: Reason) -> Measurement:
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
    >>> within(DelayTable((1.0, 10.0, 20.0), np.array([1, 2, 1, 0])), 0.5, Reason.NO_LABELS).value
    10.0
    """
    n = int(delays.counts.sum())
    if n == 0:
        return Measurement.absent(absent, n=0)
    cell = int(np.searchsorted(np.cumsum(delays.counts), share * n))
    if cell == len(delays.edges):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    lower = delays.edges[cell - 1] if cell else 0.0
    return Measurement(value=delays.edges[cell], n=n, resolution=delays.edges[cell] - lower)
