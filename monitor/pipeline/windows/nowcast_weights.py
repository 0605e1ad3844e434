"""How the panes of a window are weighed for its nowcast."""

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import SECOND
from monitor.measures.nowcast import LEAST_SHARE
from monitor.pipeline.delay_counts import DelayCounts
from monitor.pipeline.windows.due_windows import LabelArrivals
from monitor.records.counting import DELAY_EDGES
from monitor.windows.label_shares import COMPLETE, LabelShares, ReportedSteps, look_back_covariance
from monitor.windows.settling import DelayCurve, limit_heard_time, measure_heard_time

_EDGES: Floats = np.asarray(DELAY_EDGES)
MARGIN = 1.25  # times the age of 99 % that the log must show, before the curves are believed
_KNOWN = 0.9  # share of a step's labels from which on one looks back at it


def are_delays_reliable(truths: LabelArrivals) -> bool:
    """Whether the log is old enough to show nearly all delays that there are, and has enough of them.

    Of two classes each needs enough of its own: how they differ is what nowcasts stand on.
    """
    ages, rule = truths.ages, truths.rule
    if not ages.curves or (ages.few and len(ages.curves) == 2):
        return False
    return measure_heard_time(truths.panes, rule) >= limit_heard_time(MARGIN * ages.nearly_all, rule)


def estimate_label_shares(
    curves: tuple[DelayCurve, ...], heard: Ints | int, start: Ints, width: int
) -> LabelShares:
    """Shares of spans of one width, as of when they were last heard of; all in microseconds."""
    age = (heard - start - width) / SECOND
    return LabelShares.from_curves(curves, _EDGES, age, np.full(len(start), width / SECOND))


def total_covariance(
    curves: tuple[DelayCurve, ...],
    delays: DelayCounts,
    shares: LabelShares,
    labels: Ints,
    *,
    last_heard: int,
    window: tuple[int, int],
) -> Floats:
    """Covariance of the relative errors of the classes' totals: the curves' own, and what looking back shows.

    Parameters
    ----------
    shares
        of the window's panes that are weighed.
    labels
        int64, shape (panes, classes): theirs.
    """
    totals = labels / shares.share
    own = np.diag(shares.total_variance(totals))
    step = delays.step
    first, count = delays.count_delays_by_step(last_heard)
    if count.shape[1] == 0:
        return own
    lags = np.arange(count.shape[2]) * step
    by_lag = estimate_label_shares(curves, 0, -lags - step, step)
    starts = (first + np.arange(count.shape[1])) * step
    is_known = estimate_label_shares(curves, last_heard, starts, step).are_complete(_KNOWN)
    behind = range(max(0, (last_heard - window[1]) // step), -((window[0] - last_heard) // step))
    looked = look_back_covariance(ReportedSteps(count, by_lag.share, is_known), behind, LEAST_SHARE)
    still_to_come: Bools = shares.share.min(axis=1) < COMPLETE
    part = totals[still_to_come].sum(axis=0) / np.maximum(totals.sum(axis=0), 1.0)
    summed: Floats = own + looked * np.outer(part, part)
    return summed
