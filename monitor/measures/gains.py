"""Gains: what is found among the records of the highest scores, and what it is worth."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.core.interval import Interval
from monitor.core.measurement import Detail, Measurement, Reason
from monitor.core.typing import Floats, Singles
from monitor.measures.ask import Result
from monitor.measures.intervals import clopper_pearson
from monitor.measures.ranked import Ranked, curve
from monitor.measures.resampling import Resamples, Spread, at_least_tiny
from monitor.measures.scores import logit

TOPS = {"top:1%": 0.01, "top:5%": 0.05, "top:10%": 0.1}
FEW = 50  # positives, below which the delta method's variance of an average precision is too small
_DECILE, _TENTH = 0.1, "top:10%"
_SHARES = np.asarray(list(TOPS.values()))
_WIDTHS = _SHARES.astype(np.float32)[:, None]
_TENTHS = np.arange(11) / 10
_CURVE = ("threshold", "precision", "recall")
_DECILES = ("decile", "records", "positives", "gain", "cumulative_gain", "lift", "cumulative_lift")


def average_precision(ranked: Ranked, at: Sequence[int] = (), level: float = 0.95) -> Measurement:
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


def top_results(ranked: Ranked, spreads: Mapping[str, Spread]) -> Iterator[Result]:
    """Precision and recall of the highest scores, and gain and lift of the highest decile."""
    if not ranked.two:
        yield from _missing(tuple(TOPS), absent(ranked))
        return
    found, off = (values.tolist() for values in found_at(ranked, _SHARES))
    for at, (subject, share) in enumerate(TOPS.items()):
        size = share * ranked.n
        if size < 1:
            yield from _missing((subject,), Measurement.absent(Reason.TOO_FEW, n=ranked.n))
            continue
        for name, whole in (("precision_at_top", size), ("recall_at_top", ranked.positives)):
            spread = spreads.get(f"{name} {subject}")
            yield Result(name, subject, _share(ranked.n, found[at] / whole, off[at] / whole, spread))
    if _DECILE * ranked.n >= 1:
        yield from _decile_results(ranked, found[-1] / ranked.positives, off[-1] / ranked.positives, spreads)


def deciles(ranked: Ranked) -> Detail:
    """Gain and lift by decile of descending score; a cell across a border is split proportionally.

    Gain is the share of all positives that a decile holds; lift is that over its share of all records.
    """
    both, true = (np.concatenate([[0.0], values]) for values in (ranked.both, ranked.true))
    found = np.interp(_TENTHS * ranked.n, both, true)
    cumulative = found / ranked.positives
    gain = np.diff(cumulative)
    records = np.full(10, ranked.n / 10)
    columns = records, np.diff(found), gain, cumulative[1:], 10 * gain, cumulative[1:] / _TENTHS[1:]
    return curve(_DECILES, np.arange(1.0, 11.0), *columns)


def statistics(resamples: Resamples) -> dict[str, Singles]:
    """Statistics of the counts and of each resample; both classes must be there."""
    p, found = resamples.true[-1], _found(resamples)
    drawn = {f"precision_at_top {subject}": row for subject, row in zip(TOPS, found / _WIDTHS, strict=True)}
    drawn |= {f"recall_at_top {subject}": row for subject, row in zip(TOPS, found / p, strict=True)}
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


def _found(resamples: Resamples) -> Singles:
    """Shares of all records that are positive and among the highest scores, shape (tops, resamples)."""
    reach = 1 + int(np.searchsorted(resamples.both[:, 0], 2 * _DECILE))
    positive = resamples.positive[:reach]
    held = at_least_tiny(positive + resamples.negative[:reach])
    part = (_WIDTHS[:, None] - (resamples.both[:reach] - held)) / held
    found: Singles = (positive * np.minimum(np.maximum(part, 0), 1)).sum(axis=1)
    return found


def _missing(subjects: tuple[str, ...], measurement: Measurement) -> Iterator[Result]:
    for subject in subjects:
        yield Result("precision_at_top", subject, measurement)
        yield Result("recall_at_top", subject, measurement)
    if subjects[-1] == _TENTH:
        yield Result("gain_top_decile", "", measurement)
        yield Result("lift_top_decile", "", measurement)


def _share(n: int, value: float, off: float, spread: Spread | None) -> Measurement:
    value = min(1.0, value)
    return Measurement(value, n, None, spread.percentile(value, 0.0, 1.0) if spread else None, off)


def _decile_results(
    ranked: Ranked, found: float, off: float, spreads: Mapping[str, Spread]
) -> Iterator[Result]:
    gain = _share(ranked.n, found, off, spreads.get(f"recall_at_top {_TENTH}"))
    yield Result("gain_top_decile", "", gain)
    value, bounds, interval = found / _DECILE, gain.interval, None
    if bounds is not None:
        interval = Interval(bounds.lower / _DECILE, bounds.upper / _DECILE, bounds.level)
    lift = Measurement(value, ranked.n, None, interval, off / _DECILE, deciles(ranked))
    yield Result("lift_top_decile", "", lift)
