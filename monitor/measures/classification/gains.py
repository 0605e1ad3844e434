"""Gains and profits: what is found among the records of the highest scores, and what it is worth."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.core.array_types import Floats, Ints, Singles
from monitor.core.measurement import LEVEL, DetailTable, Interval, Measurement, Reason
from monitor.measures.classification.discrimination import logit_interval, without_a_class
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.curve_corners import find_corners
from monitor.measures.statistics.intervals import clopper_pearson, normal_interval
from monitor.measures.statistics.ranked_scores import (
    EXACT,
    RankedScores,
    ResampleSpread,
    ScoreResamples,
    at_least_tiny,
    curve_table,
)

FEW = 50  # positives, below which the delta method's variance of an average precision is too small
_DECILE = 0.1
_TENTHS = np.arange(11) / 10
_CURVE = ("threshold", "precision", "recall")
_DECILES = ("decile", "records", "positives", "gain", "cumulative_gain", "lift", "cumulative_lift")
_PROFIT_CURVE = ("threshold", "profit", "predicted_rate")


def average_precision(ranked: RankedScores, at: Ints | None = None, level: float = LEVEL) -> Measurement:
    """Mean of the precision over the positives: Σ (recall_k - recall_k-1) precision_k over descending scores.

    Equal scores, and scores of one cell, are one step, as in scikit-learn [1]_. The interval is the delta
    method's on the logit scale; with fewer than 50 positives, of which single ones decide, its variance is at
    least a·(1 - a)/positives [2]_. At a = 1 it is Clopper & Pearson's of the positives, all of them right.

    Parameters
    ----------
    at
        cells that the detail shows.

    Returns
    -------
    Measurement
        its resolution is the most that any order of the records of each cell can change; its detail the
        precision-recall curve.

    References
    ----------
    .. [1] scikit-learn `average_precision_score`.
    .. [2] Boyd, Eng & Page (2013). Area under the precision-recall curve: point estimates and confidence
       intervals. ECML PKDD, LNCS 8190:451 (the logit interval).
    """
    if not ranked.two:
        return without_a_class(ranked.n)
    positive, p = ranked.positive, ranked.positives
    precision = ranked.true / ranked.both
    value = float(positive @ precision) / p
    best = ranked.true / np.maximum(ranked.both - ranked.negative, 1)
    worst = (ranked.true - positive + 1) / (ranked.both - positive + 1)
    off = max(float(positive @ (best - precision)), float(positive @ (precision - worst)))
    table = None if at is None else curve_table(_CURVE, ranked.lower[at], precision[at], ranked.recall[at])
    interval = _precision_interval(ranked, precision, value, level)
    return Measurement(value, ranked.n, None, interval, off / p, table)


def found_at(ranked: RankedScores, shares: Floats) -> tuple[Floats, Floats]:
    """Positives among shares of the records of the highest scores, and the bounds of their errors.

    A cell across the border is split proportionally. Of its records there are at least as many positives
    above the border as do not fit among its negatives, and at most all.
    """
    depth = shares * ranked.n
    at = np.minimum(np.searchsorted(ranked.both, depth), len(ranked.both) - 1)
    positive, negative = ranked.positive[at], ranked.negative[at]
    taken = depth - (ranked.both[at] - positive - negative)
    inside = positive * taken / (positive + negative)
    off = np.maximum(np.minimum(positive, taken) - inside, inside - np.maximum(0.0, taken - negative))
    return ranked.true[at] - positive + inside, np.maximum(0.0, off)


def top_results(
    ranked: RankedScores, tops: Sequence[float], spreads: Mapping[str, ResampleSpread]
) -> Iterator[MeasureResult]:
    """Precision and recall of shares of the highest scores, and gain and lift of the highest decile."""
    shares = _with_decile(tops)
    nothing = np.zeros(len(shares)), np.zeros(len(shares))
    hits, off = found_at(ranked, np.asarray(shares)) if ranked.two else nothing
    for share, positives, lost in zip(shares, hits.tolist(), off.tolist(), strict=True):
        missing = None if ranked.two else without_a_class(ranked.n)
        if ranked.two and share * ranked.n < 1:
            missing = Measurement.without_value(Reason.TOO_FEW, n=ranked.n)
        if share in tops:
            subject = subject_of(share)
            for name, whole in (("precision_at_top", share * ranked.n), ("recall_at_top", ranked.positives)):
                spread = spreads.get(f"{name} {subject}")
                yield MeasureResult(
                    name,
                    subject,
                    missing or _share_measurement(ranked.n, positives / whole, lost / whole, spread),
                )
        if share == _DECILE:
            yield from _decile_results(ranked, positives, lost, spreads, missing)


def subject_of(share: float) -> str:
    """Subject of the measures of a share of the highest scores.

    >>> subject_of(0.05), subject_of(0.001)
    ('top:5%', 'top:0.1%')
    """
    return f"top:{100 * share:g}%"


def decile_table(ranked: RankedScores) -> DetailTable:
    """Gain and lift by decile of descending score; a cell across a border is split proportionally.

    Gain is the share of all positives that a decile holds; lift is that over its share of all records.
    """
    both, true = (np.concatenate([[0.0], values]) for values in (ranked.both, ranked.true))
    hits = np.interp(_TENTHS * ranked.n, both, true)
    cumulative = hits / ranked.positives
    gain = np.diff(cumulative)
    records = np.full(10, ranked.n / 10)
    columns = records, np.diff(hits), gain, cumulative[1:], 10 * gain, cumulative[1:] / _TENTHS[1:]
    return curve_table(_DECILES, np.arange(1.0, 11.0), *columns)


def gain_statistics(resamples: ScoreResamples, tops: Sequence[float]) -> dict[str, Singles]:
    """Statistics of the counts and of each resample; both classes must be there."""
    shares = _with_decile(tops)
    widths = np.asarray(shares, dtype=np.float32)[:, None]
    p, hits = resamples.true[-1], _hit_shares(resamples, widths)
    subjects = [subject_of(share) for share in shares]
    drawn = {f"precision_at_top {name}": row for name, row in zip(subjects, hits / widths, strict=True)}
    drawn |= {f"recall_at_top {name}": row for name, row in zip(subjects, hits / p, strict=True)}
    return drawn


def _precision_interval(ranked: RankedScores, precision: Floats, value: float, level: float) -> Interval:
    """Interval of an average precision by what one more record of each cell would change."""
    p = ranked.positives
    if value >= 1:
        return clopper_pearson(p, p, level)
    rate = ranked.positive / ranked.both**2
    gained, lost = (np.cumsum((side * rate)[::-1])[::-1] for side in (ranked.false, ranked.true))
    changes = ranked.positive @ (precision - value + gained) ** 2 + ranked.negative @ lost**2
    variance, least = float(changes) / p**2, value * (1 - value) / p
    return logit_interval(value, max(variance, least) if p < FEW else variance, level)


def _with_decile(tops: Sequence[float]) -> tuple[float, ...]:
    return (*tops, *(() if _DECILE in tops else (_DECILE,)))


def _hit_shares(resamples: ScoreResamples, widths: Singles) -> Singles:
    """Shares of all records that are positive and among the highest scores, shape (tops, resamples).

    Parameters
    ----------
    widths
        shape (tops, 1): shares that are looked at.
    """
    reach = 1 + int(np.searchsorted(resamples.both[:, 0], 2 * float(widths.max())))
    positive = resamples.positive[:reach]
    held = at_least_tiny(positive + resamples.negative[:reach])
    part = (widths[:, None] - (resamples.both[:reach] - held)) / held
    hits: Singles = (positive * np.minimum(np.maximum(part, 0), 1)).sum(axis=1)
    return hits


def _share_measurement(n: int, value: float, off: float, spread: ResampleSpread | None) -> Measurement:
    value = min(1.0, value)
    return Measurement(value, n, None, spread.percentile_interval(value) if spread else None, off)


def _decile_results(
    ranked: RankedScores,
    hits: float,
    lost: float,
    spreads: Mapping[str, ResampleSpread],
    missing: Measurement | None,
) -> Iterator[MeasureResult]:
    if missing is not None:
        yield from (MeasureResult(f"{name}_top_decile", "", missing) for name in ("gain", "lift"))
        return
    p, spread = ranked.positives, spreads.get(f"recall_at_top {subject_of(_DECILE)}")
    gain = _share_measurement(ranked.n, hits / p, lost / p, spread)
    yield MeasureResult("gain_top_decile", "", gain)
    bounds, interval = gain.interval, None
    if bounds is not None:
        interval = Interval(bounds.lower / _DECILE, bounds.upper / _DECILE, bounds.level)
    lift = Measurement(hits / p / _DECILE, ranked.n, None, interval, lost / p / _DECILE, decile_table(ranked))
    yield MeasureResult("lift_top_decile", "", lift)


def amounts_of(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    """Amount of a record by actual and predicted class, shape (2, 2), the negative class first."""
    return np.asarray([[profit.get((actual, said), 0.0) for said in classes] for actual in classes])


def profit_curve(ranked: RankedScores, amounts: Floats) -> Floats:
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


def whole_precision_curve(ranked: RankedScores, said: int) -> DetailTable:
    """Precision by recall by its corners, the end of the first `said` cells among them."""
    precision = ranked.true / ranked.both
    at = find_corners(ranked.recall, precision, must=[max(said - 1, 0)], least=EXACT)
    return curve_table(_CURVE, ranked.lower[at], precision[at], ranked.recall[at])


def whole_profit_curve(ranked: RankedScores, amounts: Floats, said: int) -> DetailTable:
    """Profit by threshold by its corners, the largest one and the threshold that decides among them."""
    worth, rate = profit_curve(ranked, amounts), np.concatenate([[0.0], ranked.both / ranked.n])
    at = find_corners(rate, worth, must=[int(np.argmax(worth)), said], least=EXACT)
    threshold = np.concatenate([[math.inf], ranked.lower])
    return curve_table(_PROFIT_CURVE, threshold[at], worth[at], rate[at])


def best_threshold(ranked: RankedScores, amounts: Floats) -> float | None:
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
    at = int(np.argmax(profit_curve(ranked, amounts)))
    return float(ranked.lower[at - 1]) if at else math.inf


def profit_at(ranked: RankedScores, threshold: float, amounts: Floats, level: float = LEVEL) -> Measurement:
    """Profit if the records whose score is at least the threshold were positive, with a normal interval.

    Exact where the threshold is an edge of the cells; else the records of its cell count as negative, and
    the resolution is what they could change.
    """
    n = ranked.n
    if n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    said = ranked.lower >= threshold
    (quiet, false), (miss, true) = amounts.tolist()
    of_positive, of_negative = np.where(said, true, miss), np.where(said, false, quiet)
    value = float(ranked.positive @ of_positive + ranked.negative @ of_negative)
    square = float(ranked.positive @ of_positive**2 + ranked.negative @ of_negative**2)
    split = ~said & (ranked.upper > threshold)
    off = abs(true - miss) * int(ranked.positive[split].sum()) + abs(false - quiet) * int(
        ranked.negative[split].sum()
    )
    interval = normal_interval(value, square - value * value / n, level)
    return Measurement(value, n, None, interval, float(off))


def profit_statistics(resamples: ScoreResamples, n: int, amounts: Floats) -> dict[str, Singles]:
    """Largest profit of the counts and of each resample; both classes must be there."""
    (quiet, false), (miss, true) = (amounts * n).tolist()
    positives = resamples.true[-1]
    gained = (true - miss - false + quiet) * resamples.true + (false - quiet) * resamples.both
    start = miss * positives + quiet * (1 - positives)
    return {"best_profit": start + np.maximum(gained.max(axis=0), 0)}


def profit_results(
    ranked: RankedScores, amounts: Floats, spread: ResampleSpread | None, at: Ints
) -> Iterator[MeasureResult]:
    """Largest profit of any threshold, with the profit curve at the given cells, and that threshold."""
    if not ranked.two:
        yield MeasureResult("best_profit", "", without_a_class(ranked.n))
        yield MeasureResult("best_profit_threshold", "", without_a_class(ranked.n))
        return
    by_threshold, n = profit_curve(ranked, amounts), ranked.n
    best = int(np.argmax(by_threshold))
    value, threshold = float(by_threshold[best]), float(ranked.lower[best - 1]) if best else math.inf
    rates = [0.0, *(ranked.both[at] / n).tolist()]
    columns = [math.inf, *ranked.lower[at].tolist()], [by_threshold[0], *by_threshold[1:][at]], rates
    table = curve_table(_PROFIT_CURVE, *map(np.asarray, columns))
    interval = spread.basic_interval(value, lowest=n * least_profit(amounts)) if spread else None
    yield MeasureResult("best_profit", "", Measurement(value, n, None, interval, 0.0, table))
    chosen = Measurement.without_value(Reason.UNDEFINED, n=n)
    if math.isfinite(threshold):
        chosen = Measurement(threshold, n)
    yield MeasureResult("best_profit_threshold", "", chosen)
