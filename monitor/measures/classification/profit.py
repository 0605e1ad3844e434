"""Profits: what a threshold on the score is worth."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.core.measurement import LEVEL, Measurement, Reason
from monitor.core.typing import Floats, Singles
from monitor.measures.classification.gains import absent
from monitor.measures.options import Result
from monitor.measures.statistics.intervals import normal
from monitor.measures.statistics.ranked import Ranked, curve
from monitor.measures.statistics.resampling import Resamples, Spread

_CURVE = ("threshold", "profit", "predicted_rate")


def amounts_of(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    """Amount of a record by actual and predicted class, shape (2, 2), the negative class first."""
    return np.asarray([[profit.get((actual, said), 0.0) for said in classes] for actual in classes])


def profits(ranked: Ranked, amounts: Floats) -> Floats:
    """Profit by threshold, shape (1 + cells,): no record is positive, then each cell and all above it are."""
    (quiet, false), (miss, true) = amounts.tolist()
    start = miss * ranked.positives + quiet * ranked.negatives
    gained = (true - miss) * ranked.true + (false - quiet) * ranked.false
    return np.concatenate([[start], start + gained])


def least_profit(amounts: Floats) -> float:
    """Profit a record that the best threshold gives for certain, whatever the share of positives is.

    No threshold, and the lowest, are among all thresholds: the best one is worth at least what predicting
    none, or all, positive is. At a share of positives s these give (1 - s)·A₀₀ + s·A₁₀ and
    (1 - s)·A₀₁ + s·A₁₁, A the amounts; the larger one is smallest at s = 0 or 1, or where both are equal.

    >>> least_profit(np.asarray([[0.0, -3.0], [0.0, 10.0]]))
    0.0
    """
    (quiet, false), (miss, true) = amounts.tolist()
    saved, gained = quiet - false, true - miss  # by predicting a negative, a positive one as it is
    least = min(max(quiet, false), max(miss, true))
    if saved * gained > 0:
        share = saved / (saved + gained)
        least = min(least, (1 - share) * quiet + share * miss)
    return float(least)


def best_threshold(ranked: Ranked, amounts: Floats) -> float | None:
    """Threshold of the largest profit: a record is positive from it on; of several the highest.

    Parameters
    ----------
    amounts
        of a record by actual and predicted class, shape (2, 2), the negative class first.

    Returns
    -------
    float or None
        an edge of the cells: inf where no record should be positive, -inf where all should and the scores
        have no lower bound; None without records.
    """
    if ranked.n == 0:
        return None
    at = int(np.argmax(profits(ranked, amounts)))
    return float(ranked.lower[at - 1]) if at else math.inf


def profit_at(ranked: Ranked, threshold: float, amounts: Floats, level: float = LEVEL) -> Measurement:
    """Profit if the records whose score is at least the threshold were positive, with a normal interval.

    Exact where the threshold is an edge of the cells; else the records of its cell count as negative, and
    the resolution is what they could change.
    """
    n = ranked.n
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    said = ranked.lower >= threshold
    (quiet, false), (miss, true) = amounts.tolist()
    of_positive, of_negative = np.where(said, true, miss), np.where(said, false, quiet)
    value = float(ranked.positive @ of_positive + ranked.negative @ of_negative)
    square = float(ranked.positive @ of_positive**2 + ranked.negative @ of_negative**2)
    split = ~said & (ranked.upper > threshold)
    off = abs(true - miss) * int(ranked.positive[split].sum()) + abs(false - quiet) * int(
        ranked.negative[split].sum()
    )
    interval = normal(value, square - value * value / n, level)
    return Measurement(value, n, None, interval, float(off))


def statistics(resamples: Resamples, n: int, amounts: Floats) -> dict[str, Singles]:
    """Largest profit of the counts and of each resample; both classes must be there."""
    (quiet, false), (miss, true) = (amounts * n).tolist()
    positives = resamples.true[-1]
    gained = (true - miss - false + quiet) * resamples.true + (false - quiet) * resamples.both
    start = miss * positives + quiet * (1 - positives)
    return {"best_profit": start + np.maximum(gained.max(axis=0), 0)}


def results(ranked: Ranked, amounts: Floats, spread: Spread | None, at: Sequence[int]) -> Iterator[Result]:
    """Largest profit of any threshold, with the profit curve at the given cells, and that threshold."""
    if not ranked.two:
        yield Result("best_profit", "", absent(ranked))
        yield Result("best_profit_threshold", "", absent(ranked))
        return
    by_threshold, n = profits(ranked, amounts), ranked.n
    best = int(np.argmax(by_threshold))
    value, threshold = float(by_threshold[best]), float(ranked.lower[best - 1]) if best else math.inf
    cells = list(at)
    rates = [0.0, *(ranked.both[cells] / n).tolist()]
    columns = [math.inf, *ranked.lower[cells].tolist()], [by_threshold[0], *by_threshold[1:][cells]], rates
    table = curve(_CURVE, *map(np.asarray, columns))
    interval = spread.basic(value, lowest=n * least_profit(amounts)) if spread else None
    yield Result("best_profit", "", Measurement(value, n, None, interval, 0.0, table))
    chosen = Measurement.absent(Reason.UNDEFINED, n=n)
    if math.isfinite(threshold):
        chosen = Measurement(threshold, n)
    yield Result("best_profit_threshold", "", chosen)
