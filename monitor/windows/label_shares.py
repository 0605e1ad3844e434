"""Which share of the labels that will come is in, by class and age, and how sure that is.

Ages and widths are seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.windows.settling import DelayCurve

FEWEST = 6  # earlier moments that show how far totals lay off
COMPLETE = 0.99  # share from which on a total is taken to be known


@dataclass(frozen=True, slots=True)
class LabelShares:
    """Shares of the labels that are in, of some spans of records."""

    # share, variance: shape (spans, classes): the mean over a span's width; the variance of its logarithm.
    share: Floats
    variance: Floats

    @classmethod
    def from_curves(
        cls, curves: Sequence[DelayCurve], edges: Floats, age: Floats, width: Floats
    ) -> "LabelShares":
        """Shares of spans whose youngest records have an age, the oldest that and the width.

        Parameters
        ----------
        curves
            one a class; cell k ends at `edges[k]`.
        age
            of the youngest records, shape (spans,); below 0: they are still to come.
        """
        cells, middle = len(curves[0].completeness), age + width / 2
        columns = [_mean_of_curve(edges[:cells], curve.completeness, age, width) for curve in curves]
        finite = (np.where(np.isfinite(curve.variance), curve.variance, 1.0) for curve in curves)
        spreads = [np.interp(middle, edges[:cells], variance) for variance in finite]
        return cls(np.stack(columns, axis=1), np.stack(spreads, axis=1))

    def are_complete(self, least: float) -> Bools:
        """Spans of which each class has at least a share of its labels."""
        enough: Bools = np.min(self.share, axis=1) >= least
        return enough

    def total_variance(self, records: Floats) -> Floats:
        """Variance of the logarithm of each class's total that the curve's own error brings.

        The error is common to all spans: the logarithms of the completeness at two ages have the covariance
        of the older one, the smaller variance, as the product above it is in both.

        Parameters
        ----------
        records
            shape (spans, classes): the total of each span.
        """
        # Var(sum of w·x) = sum of w²·v + 2 · sum over pairs of w·w'·cov, where the covariance of two spans is
        # the smaller variance: sorted by it, each span meets the weight of all above it.
        weight = records / np.maximum(records.sum(axis=0), 1e-300)
        order = np.argsort(self.variance, axis=0)
        v, w = np.take_along_axis(self.variance, order, 0), np.take_along_axis(weight, order, 0)
        above = w[::-1].cumsum(axis=0)[::-1] - w
        total: Floats = (v * (w * w + 2 * w * above)).sum(axis=0)
        return total


def _mean_of_curve(edges: Floats, reached: Floats, age: Floats, width: Floats) -> Floats:
    """Mean of a curve over ages: it is linear between edges, 0 before the event, 1 from its last edge on."""
    at, height = np.append(0.0, edges), np.append(reached[0], reached)
    # The integral of the curve up to each edge, by trapezoids: exact for a curve of straight lines.
    area = np.append(0.0, np.cumsum(np.diff(at) * (height[1:] + height[:-1]) / 2))

    def share_until(x: Floats) -> Floats:
        x = np.maximum(x, 0.0)
        cell = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
        step = np.minimum(x - at[cell], at[cell + 1] - at[cell])
        slope = (height[cell + 1] - height[cell]) / (at[cell + 1] - at[cell])
        beyond = np.maximum(x - at[-1], 0.0)
        total: Floats = area[cell] + step * (height[cell] + slope * step / 2) + beyond * height[-1]
        return total

    mean: Floats = np.clip((share_until(age + width) - share_until(age)) / width, 0.0, 1.0)
    return mean


@dataclass(frozen=True, slots=True)
class ReportedSteps:
    """What is looked back at: labels by when their records were, and how much later they were reported."""

    # int64, shape (classes, steps, lags): labels of the records of a step (ascending, without gaps) that were
    # reported in the same step, one later, …
    count: Ints
    share: Floats  # shape (lags, classes): share that is in at the end of the same step, of the next one, …
    known: Bools  # steps whose labels are as good as all in


def look_back_covariance(reported_steps: ReportedSteps, lags: range, least: float) -> Floats:
    """Covariance of the relative errors of the classes' totals, shape (classes, classes), by looking back.

    At each earlier moment the total of the steps that lay `lags` behind it is told from the labels that were
    in, and compared with what came. What the labels' own chance explains is taken off: given the total, the
    labels that are in are binomial. What is left is what the curves do not know: labels that come in batches,
    a pace that changes. 0 where fewer than 6 moments can be looked back at.

    Parameters
    ----------
    lags
        steps that end so many steps before the moment.
    least
        steps of which a class has a smaller share are left out.
    """
    classes, steps, _ = reported_steps.count.shape
    told = [
        lag
        for lag in lags
        if lag < len(reported_steps.share) and _is_informative_step(reported_steps.share[lag], least)
    ]
    none = np.zeros((classes, classes))
    if not told:
        return none
    behind = np.asarray(told)
    # Moments at which all of these steps lie within what is held.
    moments = np.arange(behind.max(), steps + behind.min())
    at = moments[:, None] - behind[None, :]
    usable = ((at >= 0) & (at < steps)).all(axis=1) & reported_steps.known[np.clip(at, 0, steps - 1)].all(
        axis=1
    )
    at = at[usable]
    total = reported_steps.count.sum(axis=2)[:, at]
    reported = reported_steps.count.cumsum(axis=2)[:, at, behind]
    share = reported_steps.share[behind].T[:, None, :]
    came = total.sum(axis=2)
    kept = (came > 0).all(axis=0)
    if np.count_nonzero(kept) < FEWEST:
        return none
    # What the labels of then would have told of the totals, relative to what came.
    off = ((reported / share).sum(axis=2) / np.maximum(came, 1) - 1)[:, kept]
    # Var of a binomial count over its share: total · (1 - share) / share.
    chance = ((total * (1 - share) / share).sum(axis=2) / np.maximum(came, 1) ** 2)[:, kept].mean(axis=1)
    covariance = off @ off.T / off.shape[1]
    excess = np.maximum(covariance.diagonal() - chance, 0.0)
    # Chance is taken off the variances; correlations of the classes stay as they are.
    scale = np.sqrt(np.divide(excess, covariance.diagonal(), out=np.zeros(classes), where=excess > 0))
    scaled: Floats = covariance * np.outer(scale, scale)
    return scaled


def _is_informative_step(share: Floats, least: float) -> bool:
    """Whether a step is told of, and not known anyhow."""
    return bool(share.min() >= least and share.min() < COMPLETE)
