"""Gathering evidence: mixtures of Shiryaev-Roberts statistics, and how large and how old a change is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.evidence.change_sizes import change_size
from monitor.evidence.day_record import DayRecord
from monitor.evidence.watch import Watch

SPANS = (1, 2, 3, 5, 7, 10, 14, 21, 28)  # days that a change may have lasted
SUSPECTED = 50.0  # evidence: a series of which nothing changed gets so far once in so many days, at most
UNDECIDED = 6  # days that a change may have begun and is not decided: older ones are learned from
_COMMON = 0.05  # share of the others of a kind, of which more are suspected where days move as such
_MOST = 1e200
_POWERS = (1, 2, 4, 7)  # of exp(U/2): changes of 0.5, 1, 2 and 3.5 standard deviations a day are looked for
_SHRINK = np.exp(-np.square(np.asarray(_POWERS) / 2) / 2)[:, None, None]


@dataclass(frozen=True, slots=True, eq=False)
class GatheredEvidence:
    """Of each series, upward and downward: arrays of shape (2, series)."""

    # mean over the sizes of a change of R; each side of a two-sided series counts half, 0 if not told.
    evidence: Floats
    away: Floats  # mean of observed less expected over the days of `span`
    size: Floats  # of the same, as a positive number in the unit of `change_size`; 0 if it goes the other way
    span: Ints  # days for which |Σ U|/√days is largest


def accumulate_past_evidence(watch: Watch, records: Sequence[DayRecord]) -> Floats:
    """R of the records of 56 days at most, by size of a change and side: shape (sizes, 2, series).

    For each size of a change λ and each side, R ← (R + 1)·exp(λU - λ²/2) day by day [1]_, from the day on
    that the subject's evidence was reset. If U is standard normal, E R ≤ days: a mixture with weights that
    sum to at most 1 reaches c within T days with a chance of at most T/c. A day without a value changes
    nothing.

    References
    ----------
    .. [1] Pollak & Siegmund (1991); Shin, Ramdas & Rinaldo (2024). E-detectors: a nonparametric framework for
       sequential change detection. New England J. Stat. Data Sci. 2:229.
    """
    return _continue_evidence(
        np.zeros((len(_POWERS), 2, len(watch.series))), _gathered_surprises(watch, records)
    )


def suspected_days(watch: Watch, records: Sequence[DayRecord], so_far: Floats) -> Bools:
    """Days of a change that may have begun, though it is not found yet: shape (days, series).

    They are those of the last 6 days that belong to the span of which the surprise is largest, of a series
    whose evidence is above 50. Where more than a twentieth of the other subjects are suspected too, by series
    of the same kind, or where there are no others, none is: days may move as such, and what is expected has
    to follow them. Residuals of labels are suspected without others: what moves days as such, the records and
    their scores, does not move them.
    """
    mixed = _mix_sizes(watch, so_far)
    above = mixed.max(axis=0, initial=0.0) > SUSPECTED
    at = np.flatnonzero(above & _find_lone_series(watch, above))
    back = np.zeros(len(above), dtype=np.int64)
    if len(at):
        # Of the few that are suspected alone: spans of all series are gathered only once a day.
        surprise = _gathered_surprises(watch, records, at)
        _, span = _strongest_span(surprise, np.zeros_like(surprise))
        side = mixed[:, at].argmax(axis=0)
        back[at] = np.minimum(span[side, np.arange(len(at))], UNDECIDED)
    days: Bools = np.arange(len(records), 0, -1)[:, None] <= back
    return days


def gather_evidence(
    watch: Watch, records: Sequence[DayRecord], level: Floats, so_far: Floats
) -> GatheredEvidence:
    """Evidence that a series changed, from the records of 57 days at most, the day's own the last."""
    surprise = _gathered_surprises(watch, records)
    away = np.stack([record.away for record in records]).astype(np.float64)
    mean, span = _strongest_span(surprise, away)
    signed = np.asarray([1.0, -1.0])[:, None]
    size = np.stack([change_size(watch.series_statistic, level, each) for each in mean])
    mixed = _mix_sizes(watch, _continue_evidence(so_far, surprise[-1:]))
    return GatheredEvidence(mixed, mean, np.maximum(size * signed, 0.0), span)


def _gathered_surprises(watch: Watch, records: Sequence[DayRecord], at: Ints | slice = slice(None)) -> Floats:
    """Surprises from which evidence is gathered, of some series: shape (days, series)."""
    if not records:
        return np.zeros((0, len(watch.series)))[:, at]
    days = np.asarray([record.day for record in records])[:, None]
    surprise = np.stack([record.surprise[at] for record in records]).astype(np.float64)
    return np.where(days > records[-1].evidence_from[watch.series_subject[at]], surprise, np.nan)


def _continue_evidence(found: Floats, surprise: Floats) -> Floats:
    """R after more days, by their surprises of shape (days, series)."""
    there = np.isfinite(surprise)
    half = np.exp(np.where(there, surprise, 0.0) / 2)
    powers = np.empty_like(found)
    # exp(λU) of all sizes are powers of exp(U/2): one exponential a series, and products.
    each, square, fourth, seventh = powers
    for day, up, down in zip(there, half, 1 / half, strict=True):
        if day.any():
            each[0], each[1] = up, down
            np.multiply(each, each, out=square)
            np.multiply(square, square, out=fourth)
            np.multiply(fourth * square, each, out=seventh)
            moved = np.minimum((found + 1) * (powers * _SHRINK), _MOST)
            found = moved if day.all() else np.where(day, moved, found)
    return found


def _mix_sizes(watch: Watch, found: Floats) -> Floats:
    """Mean of R over the sizes of a change; each side of a two-sided series counts half: (2, series)."""
    sides = np.where(watch.only_rises, np.asarray([[1.0], [0.0]]), 0.5)
    mixed: Floats = sides * found.mean(axis=0)
    return mixed


def _find_lone_series(watch: Watch, above: Bools) -> Bools:
    """Series of which hardly any other subject is above as well, by a series of the same kind."""
    subjects = len(watch.subjects)
    pairs, of = np.unique(watch.series_statistic * subjects + watch.series_subject, return_inverse=True)
    either = np.bincount(of, above) > 0
    kinds = pairs // max(subjects, 1)
    others = np.bincount(kinds)[watch.series_statistic] - 1
    suspects = np.bincount(kinds, either)[watch.series_statistic] - either[of]
    alone: Bools = ((others > 0) | watch.is_residual) & (suspects <= _COMMON * others)
    return alone


def _strongest_span(surprise: Floats, away: Floats) -> tuple[Floats, Ints]:
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
