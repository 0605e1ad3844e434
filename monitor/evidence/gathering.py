"""Gathering evidence: mixtures of Shiryaev-Roberts statistics, and how large and how old a change is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.core.typing import Floats, Ints
from monitor.evidence.days import DayRow
from monitor.evidence.sizes import sizes
from monitor.evidence.watched import Watch

SPANS = (1, 2, 3, 5, 7, 10, 14, 21, 28)  # days that a change may have lasted
_MOST = 1e200
_POWERS = (1, 2, 4, 7)  # of exp(U/2): changes of 0.5, 1, 2 and 3.5 standard deviations a day are looked for
_SHRINK = np.exp(-np.square(np.asarray(_POWERS) / 2) / 2)[:, None, None]


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Of each series, upward and downward: arrays of shape (2, series).

    Parameters
    ----------
    evidence
        mean over the sizes of a change of R; each side of a two-sided series counts half, 0 if not told.
    away
        mean of observed less expected over the days of `span`.
    size
        of the same, as a positive number in the unit of `sizes`; 0 if it goes the other way.
    span
        days for which |Σ U|/√days is largest.
    """

    evidence: Floats
    away: Floats
    size: Floats
    span: Ints


def gather(watch: Watch, rows: Sequence[DayRow], level: Floats) -> Gathered:
    """Evidence that a series changed, from the rows of 57 days at most, the day's own the last.

    For each size of a change λ and each side, R ← (R + 1)·exp(λU - λ²/2) day by day [1]_, from the day on
    that the subject's evidence was reset. If U is standard normal, E R ≤ days: a mixture with weights that
    sum to at most 1 reaches c within T days with a chance of at most T/c. A day without a value changes
    nothing.

    Parameters
    ----------
    level
        shape (series,): what is expected of the last day.

    References
    ----------
    .. [1] Pollak & Siegmund (1991); Shin, Ramdas & Rinaldo (2024). E-detectors: a nonparametric framework for
       sequential change detection. New England J. Stat. Data Sci. 2:229.
    """
    reset = rows[-1].reset[watch.subject]
    surprise = np.stack([np.where(row.day > reset, row.surprise, np.nan) for row in rows]).astype(np.float64)
    away = np.stack([row.away for row in rows]).astype(np.float64)
    mixed = _evidence(surprise)
    mixed = np.where(watch.upward, np.asarray([[1.0], [0.0]]), 0.5) * mixed
    mean, span = _largest(surprise, away)
    signed = np.asarray([1.0, -1.0])[:, None]
    size = np.stack([sizes(watch.kind, level, each) for each in mean])
    return Gathered(mixed, mean, np.maximum(size * signed, 0.0), span)


def _evidence(surprise: Floats) -> Floats:
    """Mean of R over the sizes of a change: shape (2, series)."""
    has = np.isfinite(surprise)
    half = np.exp(np.where(has, surprise, 0.0) / 2)
    signed = np.stack([half, 1 / half], axis=1)
    found = np.zeros((len(_POWERS), *signed.shape[1:]))
    for each, there in zip(signed, has, strict=True):
        if there.any():
            square = each * each
            fourth = square * square
            factor = np.stack([each, square, fourth, fourth * square * each]) * _SHRINK
            found = np.where(there, np.minimum((found + 1) * factor, _MOST), found)
    mean: Floats = found.mean(axis=0)
    return mean


def _largest(surprise: Floats, away: Floats) -> tuple[Floats, Ints]:
    """Mean of `away`, and the days, of the span of which the surprise is largest, upward and downward."""
    has = np.isfinite(surprise)
    days, series = surprise.shape
    count = np.cumsum(has[::-1], axis=0)
    total = np.cumsum(np.where(has, surprise, 0.0)[::-1], axis=0)
    summed = np.cumsum(np.where(has, away, 0.0)[::-1], axis=0)
    at = [min(span, days) - 1 for span in SPANS]
    strength = total[at] / np.sqrt(np.maximum(count[at], 1))
    mean = summed[at] / np.maximum(count[at], 1)
    best = np.stack([np.argmax(strength, axis=0), np.argmin(strength, axis=0)])
    columns = np.arange(series)
    return mean[best, columns], np.asarray(at)[best] + 1
