"""Gains and profits: what is found among the records of the highest scores, and what it is worth."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.core.array_types import Floats, Ints, Singles
from monitor.core.measurement import LEVEL, DetailTable, Interval, Measurement, Reason
from monitor.measures.classification.discrimination import logit_interval, missing_class_result
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.curve_corners import find_corners
from monitor.measures.statistics.intervals import clopper_pearson, normal_interval
from monitor.measures.statistics.ranked_scores import (
    EXACT,
    RankedScores,
    ResampleSpread,
    ScoreResamples,
    curve_table,
    positive_denominator,
)

FEW = 50  # positives, below which the delta method's variance of an average precision is too small
_DECILE = 0.1
_TENTHS = np.arange(11) / 10
_CURVE = ("threshold", "precision", "recall")
_DECILES = ("decile", "records", "positives", "gain", "cumulative_gain", "lift", "cumulative_lift")
_PROFIT_CURVE = ("threshold", "profit", "predicted_rate")


def average_precision(scores: RankedScores, at: Ints | None = None, level: float = LEVEL) -> Measurement:
    """Mean of the precision over the positives: Σ (recall_k - recall_k-1) precision_k over descending scores.

    Equal scores, and scores of one cell, are one step, as in scikit-learn [1]_. The interval is the delta
    method's on the logit scale; with fewer than 50 positives, of which single ones decide, its variance is at
    least a·(1 - a)/positives [2]_. At a = 1 it is Clopper & Pearson's of the positives, all of them right.

    `at`: cells that the detail shows.

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
    if not scores.has_both_classes:
        return missing_class_result(scores.n)
    positive, p = scores.positive, scores.positives
    precision = scores.true / scores.both
    value = float(positive @ precision) / p
    best = scores.true / np.maximum(scores.both - scores.negative, 1)
    worst = (scores.true - positive + 1) / (scores.both - positive + 1)
    off = max(float(positive @ (best - precision)), float(positive @ (precision - worst)))
    table = None if at is None else curve_table(_CURVE, scores.lower[at], precision[at], scores.recall[at])
    interval = _precision_interval(scores, precision, value, level)
    return Measurement(value, scores.n, None, interval, off / p, table)


def count_top_positives(scores: RankedScores, shares: Floats) -> tuple[Floats, Floats]:
    """Positives among shares of the records of the highest scores, and the bounds of their errors.

    A cell across the border is split proportionally. Of its records there are at least as many positives
    above the border as do not fit among its negatives, and at most all.
    """
    depth = shares * scores.n
    at = np.minimum(np.searchsorted(scores.both, depth), len(scores.both) - 1)
    positive, negative = scores.positive[at], scores.negative[at]
    taken = depth - (scores.both[at] - positive - negative)
    inside = positive * taken / (positive + negative)
    off = np.maximum(np.minimum(positive, taken) - inside, inside - np.maximum(0.0, taken - negative))
    return scores.true[at] - positive + inside, np.maximum(0.0, off)


def measure_top_shares(
    scores: RankedScores, tops: Sequence[float], spreads: Mapping[str, ResampleSpread]
) -> Iterator[MeasureResult]:
    """Precision and recall of shares of the highest scores, and gain and lift of the highest decile."""
    shares = _with_decile(tops)
    nothing = np.zeros(len(shares)), np.zeros(len(shares))
    hits, off = count_top_positives(scores, np.asarray(shares)) if scores.has_both_classes else nothing
    for share, positives, lost in zip(shares, hits.tolist(), off.tolist(), strict=True):
        missing = None if scores.has_both_classes else missing_class_result(scores.n)
        if scores.has_both_classes and share * scores.n < 1:
            missing = Measurement.without_value(Reason.TOO_FEW, n=scores.n)
        if share in tops:
            subject = top_share_subject(share)
            for name, whole in (("precision_at_top", share * scores.n), ("recall_at_top", scores.positives)):
                spread = spreads.get(f"{name} {subject}")
                yield MeasureResult(
                    name,
                    subject,
                    missing or _share_measurement(scores.n, positives / whole, lost / whole, spread),
                )
        if share == _DECILE:
            yield from _decile_results(scores, positives, lost, spreads, missing)


def top_share_subject(share: float) -> str:
    """Subject of the measures of a share of the highest scores.

    >>> top_share_subject(0.05), top_share_subject(0.001)
    ('top:5%', 'top:0.1%')
    """
    return f"top:{100 * share:g}%"


def decile_table(scores: RankedScores) -> DetailTable:
    """Gain and lift by decile of descending score; a cell across a border is split proportionally.

    Gain is the share of all positives that a decile holds; lift is that over its share of all records.
    """
    both, true = (np.concatenate([[0.0], values]) for values in (scores.both, scores.true))
    hits = np.interp(_TENTHS * scores.n, both, true)
    cumulative = hits / scores.positives
    gain = np.diff(cumulative)
    records = np.full(10, scores.n / 10)
    columns = records, np.diff(hits), gain, cumulative[1:], 10 * gain, cumulative[1:] / _TENTHS[1:]
    return curve_table(_DECILES, np.arange(1.0, 11.0), *columns)


def measure_resampled_gains(resamples: ScoreResamples, tops: Sequence[float]) -> dict[str, Singles]:
    """Statistics of the counts and of each resample; both classes must be there."""
    shares = _with_decile(tops)
    widths = np.asarray(shares, dtype=np.float32)[:, None]
    p, hits = resamples.true[-1], _hit_shares(resamples, widths)
    subjects = [top_share_subject(share) for share in shares]
    drawn = {f"precision_at_top {name}": row for name, row in zip(subjects, hits / widths, strict=True)}
    drawn |= {f"recall_at_top {name}": row for name, row in zip(subjects, hits / p, strict=True)}
    return drawn


def _precision_interval(scores: RankedScores, precision: Floats, value: float, level: float) -> Interval:
    """Interval of an average precision by what one more record of each cell would change."""
    p = scores.positives
    if value >= 1:
        return clopper_pearson(p, p, level)
    rate = scores.positive / scores.both**2
    gained, lost = (np.cumsum((side * rate)[::-1])[::-1] for side in (scores.false, scores.true))
    changes = scores.positive @ (precision - value + gained) ** 2 + scores.negative @ lost**2
    variance, least = float(changes) / p**2, value * (1 - value) / p
    return logit_interval(value, max(variance, least) if p < FEW else variance, level)


def _with_decile(tops: Sequence[float]) -> tuple[float, ...]:
    return (*tops, *(() if _DECILE in tops else (_DECILE,)))


def _hit_shares(resamples: ScoreResamples, widths: Singles) -> Singles:
    """Shares of all records that are positive and among the highest scores, shape (tops, resamples).

    `widths`: shape (tops, 1): shares that are looked at.
    """
    reach = 1 + int(np.searchsorted(resamples.both[:, 0], 2 * float(widths.max())))
    positive = resamples.positive[:reach]
    held = positive_denominator(positive + resamples.negative[:reach])
    part = (widths[:, None] - (resamples.both[:reach] - held)) / held
    hits: Singles = (positive * np.minimum(np.maximum(part, 0), 1)).sum(axis=1)
    return hits


def _share_measurement(n: int, value: float, off: float, spread: ResampleSpread | None) -> Measurement:
    value = min(1.0, value)
    return Measurement(value, n, None, spread.percentile_interval(value) if spread else None, off)


def _decile_results(
    scores: RankedScores,
    hits: float,
    lost: float,
    spreads: Mapping[str, ResampleSpread],
    missing: Measurement | None,
) -> Iterator[MeasureResult]:
    if missing is not None:
        yield from (MeasureResult(f"{name}_top_decile", "", missing) for name in ("gain", "lift"))
        return
    p, spread = scores.positives, spreads.get(f"recall_at_top {top_share_subject(_DECILE)}")
    gain = _share_measurement(scores.n, hits / p, lost / p, spread)
    yield MeasureResult("gain_top_decile", "", gain)
    bounds, interval = gain.interval, None
    if bounds is not None:
        interval = Interval(bounds.lower / _DECILE, bounds.upper / _DECILE, bounds.level)
    lift = Measurement(hits / p / _DECILE, scores.n, None, interval, lost / p / _DECILE, decile_table(scores))
    yield MeasureResult("lift_top_decile", "", lift)


def make_binary_amounts(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    """Amount of a record by actual and predicted class, shape (2, 2), the negative class first."""
    return np.asarray([[profit.get((actual, text), 0.0) for text in classes] for actual in classes])


def profit_curve(scores: RankedScores, amounts: Floats) -> Floats:
    """Profit by threshold, shape (1 + cells,): no record is positive, then each cell and all above it are."""
    (quiet, false), (miss, true) = amounts.tolist()
    start = miss * scores.positives + quiet * scores.negatives
    gained = (true - miss) * scores.true + (false - quiet) * scores.false
    return np.concatenate([[start], start + gained])


def guaranteed_profit(amounts: Floats) -> float:
    """Profit a record that the best threshold gives for certain, whatever the share of positives is.

    No threshold, and the lowest, are among all thresholds: the best one is worth at least what predicting
    none, or all, positive is. At a share of positives s these give (1 - s)·A₀₀ + s·A₁₀ and
    (1 - s)·A₀₁ + s·A₁₁, A the amounts; the larger one is smallest at s = 0 or 1, or where both are equal.

    >>> guaranteed_profit(np.asarray([[0.0, -3.0], [0.0, 10.0]]))
    0.0
    """
    (quiet, false), (miss, true) = amounts.tolist()
    saved, gained = quiet - false, true - miss  # by predicting a negative, a positive one as it is
    least = min(max(quiet, false), max(miss, true))
    if saved * gained > 0:
        share = saved / (saved + gained)
        least = min(least, (1 - share) * quiet + share * miss)
    return float(least)


def whole_precision_curve(scores: RankedScores, said: int) -> DetailTable:
    """Precision by recall by its corners, the end of the first `said` cells among them."""
    precision = scores.true / scores.both
    at = find_corners(scores.recall, precision, must=[max(said - 1, 0)], least=EXACT)
    return curve_table(_CURVE, scores.lower[at], precision[at], scores.recall[at])


def whole_profit_curve(scores: RankedScores, amounts: Floats, said: int) -> DetailTable:
    """Profit by threshold by its corners, the largest one and the threshold that decides among them."""
    worth, rate = profit_curve(scores, amounts), np.concatenate([[0.0], scores.both / scores.n])
    at = find_corners(rate, worth, must=[int(np.argmax(worth)), said], least=EXACT)
    threshold = np.concatenate([[math.inf], scores.lower])
    return curve_table(_PROFIT_CURVE, threshold[at], worth[at], rate[at])


def largest_profit_threshold(scores: RankedScores, amounts: Floats) -> float | None:
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
    if scores.n == 0:
        return None
    at = int(np.argmax(profit_curve(scores, amounts)))
    return float(scores.lower[at - 1]) if at else math.inf


def profit_at(scores: RankedScores, threshold: float, amounts: Floats, level: float = LEVEL) -> Measurement:
    """Profit if the records whose score is at least the threshold were positive, with a normal interval.

    Exact where the threshold is an edge of the cells; else the records of its cell count as negative, and
    the resolution is what they could change.
    """
    n = scores.n
    if n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    said = scores.lower >= threshold
    (quiet, false), (miss, true) = amounts.tolist()
    of_positive, of_negative = np.where(said, true, miss), np.where(said, false, quiet)
    value = float(scores.positive @ of_positive + scores.negative @ of_negative)
    square = float(scores.positive @ of_positive**2 + scores.negative @ of_negative**2)
    split = ~said & (scores.upper > threshold)
    off = abs(true - miss) * int(scores.positive[split].sum()) + abs(false - quiet) * int(
        scores.negative[split].sum()
    )
    interval = normal_interval(value, square - value * value / n, level)
    return Measurement(value, n, None, interval, float(off))


def measure_resampled_profit(resamples: ScoreResamples, n: int, amounts: Floats) -> dict[str, Singles]:
    """Largest profit of the counts and of each resample; both classes must be there."""
    (quiet, false), (miss, true) = (amounts * n).tolist()
    positives = resamples.true[-1]
    gained = (true - miss - false + quiet) * resamples.true + (false - quiet) * resamples.both
    start = miss * positives + quiet * (1 - positives)
    return {"best_profit": start + np.maximum(gained.max(axis=0), 0)}


def profit_results(
    scores: RankedScores, amounts: Floats, spread: ResampleSpread | None, at: Ints
) -> Iterator[MeasureResult]:
    """Largest profit of any threshold, with the profit curve at the given cells, and that threshold."""
    if not scores.has_both_classes:
        yield MeasureResult("best_profit", "", missing_class_result(scores.n))
        yield MeasureResult("best_profit_threshold", "", missing_class_result(scores.n))
        return
    by_threshold, n = profit_curve(scores, amounts), scores.n
    best = int(np.argmax(by_threshold))
    # The first place is that of no record: no score is high enough there.
    value, threshold = float(by_threshold[best]), float(scores.lower[best - 1]) if best else math.inf
    rates = [0.0, *(scores.both[at] / n).tolist()]
    columns = [math.inf, *scores.lower[at].tolist()], [by_threshold[0], *by_threshold[1:][at]], rates
    table = curve_table(_PROFIT_CURVE, *map(np.asarray, columns))
    interval = spread.basic_interval(value, lowest=n * guaranteed_profit(amounts)) if spread else None
    yield MeasureResult("best_profit", "", Measurement(value, n, None, interval, 0.0, table))
    chosen = Measurement.without_value(Reason.UNDEFINED, n=n)
    if math.isfinite(threshold):
        chosen = Measurement(threshold, n)
    yield MeasureResult("best_profit_threshold", "", chosen)
