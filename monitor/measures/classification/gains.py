"""Gains: what is found among the records of the highest scores, and what it is worth."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.core.measurement import LEVEL, Detail, Interval, Measurement, Reason
from monitor.core.typing import Floats, Singles
from monitor.measures.classification.discrimination import logit
from monitor.measures.options import Result
from monitor.measures.statistics.intervals import clopper_pearson
from monitor.measures.statistics.ranked import Ranked, curve
from monitor.measures.statistics.resampling import Resamples, Spread, at_least_tiny

FEW = 50  # positives, below which the delta method's variance of an average precision is too small
_DECILE = 0.1
_TENTHS = np.arange(11) / 10
_CURVE = ("threshold", "precision", "recall")
_DECILES = ("decile", "records", "positives", "gain", "cumulative_gain", "lift", "cumulative_lift")


def average_precision(ranked: Ranked, at: Sequence[int] = (), level: float = LEVEL) -> Measurement:
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
        return absent(ranked)
    positive, p = ranked.positive, ranked.positives
    precision = ranked.true / ranked.both
    value = float(positive @ precision) / p
    best = ranked.true / np.maximum(ranked.both - ranked.negative, 1)
    worst = (ranked.true - positive + 1) / (ranked.both - positive + 1)
    off = max(float(positive @ (best - precision)), float(positive @ (precision - worst)))
    cells = list(at)
    table = curve(_CURVE, ranked.lower[cells], precision[cells], ranked.recall[cells]) if cells else None
    interval = _precision_interval(ranked, precision, value, level)
    return Measurement(value, ranked.n, None, interval, off / p, table)


def found_at(ranked: Ranked, shares: Floats) -> tuple[Floats, Floats]:
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


def top_results(ranked: Ranked, tops: Sequence[float], spreads: Mapping[str, Spread]) -> Iterator[Result]:
    """Precision and recall of shares of the highest scores, and gain and lift of the highest decile."""
    shares = _with_decile(tops)
    nothing = np.zeros(len(shares)), np.zeros(len(shares))
    hits, off = found_at(ranked, np.asarray(shares)) if ranked.two else nothing
    for share, positives, lost in zip(shares, hits.tolist(), off.tolist(), strict=True):
        missing = None if ranked.two else absent(ranked)
        if ranked.two and share * ranked.n < 1:
            missing = Measurement.absent(Reason.TOO_FEW, n=ranked.n)
        if share in tops:
            subject = subject_of(share)
            for name, whole in (("precision_at_top", share * ranked.n), ("recall_at_top", ranked.positives)):
                spread = spreads.get(f"{name} {subject}")
                yield Result(
                    name, subject, missing or _share(ranked.n, positives / whole, lost / whole, spread)
                )
        if share == _DECILE:
            yield from _decile_results(ranked, positives, lost, spreads, missing)


def subject_of(share: float) -> str:
    """Subject of the measures of a share of the highest scores.

    >>> subject_of(0.05), subject_of(0.001)
    ('top:5%', 'top:0.1%')
    """
    return f"top:{100 * share:g}%"


def deciles(ranked: Ranked) -> Detail:
    """Gain and lift by decile of descending score; a cell across a border is split proportionally.

    Gain is the share of all positives that a decile holds; lift is that over its share of all records.
    """
    both, true = (np.concatenate([[0.0], values]) for values in (ranked.both, ranked.true))
    hits = np.interp(_TENTHS * ranked.n, both, true)
    cumulative = hits / ranked.positives
    gain = np.diff(cumulative)
    records = np.full(10, ranked.n / 10)
    columns = records, np.diff(hits), gain, cumulative[1:], 10 * gain, cumulative[1:] / _TENTHS[1:]
    return curve(_DECILES, np.arange(1.0, 11.0), *columns)


def statistics(resamples: Resamples, tops: Sequence[float]) -> dict[str, Singles]:
    """Statistics of the counts and of each resample; both classes must be there."""
    shares = _with_decile(tops)
    widths = np.asarray(shares, dtype=np.float32)[:, None]
    p, hits = resamples.true[-1], _hits(resamples, widths)
    subjects = [subject_of(share) for share in shares]
    drawn = {f"precision_at_top {name}": row for name, row in zip(subjects, hits / widths, strict=True)}
    drawn |= {f"recall_at_top {name}": row for name, row in zip(subjects, hits / p, strict=True)}
    return drawn


def absent(ranked: Ranked) -> Measurement:
    """No value where a class is missing, or both."""
    return Measurement.absent(Reason.ONE_CLASS if ranked.n else Reason.NO_LABELS, n=ranked.n)


def _precision_interval(ranked: Ranked, precision: Floats, value: float, level: float) -> Interval:
    """Interval of an average precision by what one more record of each cell would change."""
    p = ranked.positives
    if value >= 1:
        return clopper_pearson(p, p, level)
    after = np.stack([ranked.false, ranked.true]) * (ranked.positive / ranked.both**2)
    gained, lost = np.cumsum(after[:, ::-1], axis=1)[:, ::-1]
    changes = ranked.positive @ (precision - value + gained) ** 2 + ranked.negative @ lost**2
    variance, least = float(changes) / p**2, value * (1 - value) / p
    return logit(value, max(variance, least) if p < FEW else variance, level)


def _with_decile(tops: Sequence[float]) -> tuple[float, ...]:
    return (*tops, *(() if _DECILE in tops else (_DECILE,)))


def _hits(resamples: Resamples, widths: Singles) -> Singles:
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


def _share(n: int, value: float, off: float, spread: Spread | None) -> Measurement:
    value = min(1.0, value)
    return Measurement(value, n, None, spread.percentile(value, 0.0, 1.0) if spread else None, off)


def _decile_results(
    ranked: Ranked, hits: float, lost: float, spreads: Mapping[str, Spread], missing: Measurement | None
) -> Iterator[Result]:
    if missing is not None:
        yield from (Result(f"{name}_top_decile", "", missing) for name in ("gain", "lift"))
        return
    p, spread = ranked.positives, spreads.get(f"recall_at_top {subject_of(_DECILE)}")
    gain = _share(ranked.n, hits / p, lost / p, spread)
    yield Result("gain_top_decile", "", gain)
    bounds, interval = gain.interval, None
    if bounds is not None:
        interval = Interval(bounds.lower / _DECILE, bounds.upper / _DECILE, bounds.level)
    lift = Measurement(hits / p / _DECILE, ranked.n, None, interval, lost / p / _DECILE, deciles(ranked))
    yield Result("lift_top_decile", "", lift)
