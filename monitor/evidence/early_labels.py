"""Labels that come slowly, judged as they unfold: all records of the last weeks with the labels known so far.

A day whose labels take weeks is judged at the age at which most are in. Until then its first labels say
something, too: whether there are more of one outcome than its scores promise, by what the baseline's days had
at the same age. Every day since a change may have begun adds to it, whatever its age.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from monitor.core.array_types import Bools, Floats, Ints
from monitor.evidence.score_residuals import OutcomeMap
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS

BASELINE_DAYS = 56
LEAST_SPAN = 28  # days of which the newest ones are judged, at least
BEYOND_EARLY = 18  # days beyond the age at which the first labels are in
LEVEL_PART, SLOPE_PART = 0.6, 0.4  # of the share of labels against scores
_EFFECTS = np.asarray([0.25, 0.5, 1.0])  # log odds, or shares of the labels, that are looked for
_NEIGHBOURS = 2.0  # times the variance of days: neighbouring days are alike
_LARGEST = 4.0  # standard deviations of a day
_MOST = 600.0  # of an exponent
_TINY = 1e-9
_WEEK = 7
_SILENCE = 3  # days without a new label: they come in batches
FEWEST_ALIKE = 5  # days of a baseline on one weekday


@dataclass(frozen=True, slots=True, eq=False)
class UnfoldingDays:
    """The days of the baseline and those after it, oldest first, with what is known of them now."""

    span: int  # so many of the newest days are judged; those before are the baseline
    records: Ints  # shape (days, cells)
    labels: Ints  # shape (days, 2, cells): known now, without and with the outcome
    group: Ints  # shape (cells,): records that get labels alike, by their predicted class
    # shape (days, ages, 2, groups): labels that were known of a day so many days after it; -1: not known.
    known_at: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnfoldingEvidence:
    """What the labels so far say. Evidence is in days: by chance so much is found once in as many days."""

    relation: float  # labels against scores
    feed: float  # more or fewer labels than at this age
    # relation_days, feed_days: days that the change that shows most has lasted.
    relation_days: int
    feed_days: int
    # 0: there are more or fewer of an outcome; 1, -1: scores separate labels further, or less far.
    slope_side: int
    # outcomes, labels: shape (span, 2): of each day seen so far, and expected by now.
    outcomes: Floats
    labels: Floats

    def count_since(self, counts: Floats, days: int) -> tuple[float, float]:
        """Seen and expected of so many of the newest days."""
        seen, expected = counts[max(0, len(counts) - days) :].sum(axis=0).tolist()
        return seen, expected


def judge_unfolding_days(score_map: OutcomeMap, days: UnfoldingDays) -> UnfoldingEvidence | None:
    """Evidence from all days of the span; None: at no age 14 days of a baseline are known.

    A record of a day has, at its age, a label with the outcome with a chance of m·G1, one without with
    (1 - m)·G0, else none; m is what its score promises, G the share of a class's labels that the baseline had
    at this age. The score test of a level δ of these chances, and of a slope β, gives each day S and J. For
    each day that a change may have begun on sums since then, and exp(θS - θ²J/2) over some θ: each is nearly
    a martingale, so that their sum over the days is below c with a chance of at most span / c.
    """
    base = len(days.records) - days.span
    usual = _usual_shares(score_map, days, base)
    if usual is None:
        return None
    shares = usual.by_day[:, :, days.group]  # (span, 2, cells)
    chance, x = scipy.special.expit(score_map.logits), score_map.logits - score_map.centre
    judged = usual.judged
    labels = days.labels[base:] * judged[:, None, None]
    terms = _score_terms(chance, days.records[base:] * judged[:, None], labels, shares)
    settled = np.broadcast_to(usual.of_now[:, days.group], (base, 2, len(days.group)))
    terms_before = _score_terms(chance, days.records[:base], days.labels[:base], settled)
    level = _gather(terms.scores.sum(axis=1), terms.information.sum(axis=1), usual.days, terms_before, 1.0)
    slope = _gather(terms.scores @ x, terms.information @ (x * x), usual.days, terms_before, x)
    level, slope = LEVEL_PART * level, SLOPE_PART * slope
    relation = level + slope
    # The feed: labels of both classes against those that were there at this age.
    expected = terms.expected.sum(axis=(1, 2))
    reported = labels.sum(axis=(1, 2)).astype(np.float64)
    feed = _gather_feed(terms, terms_before, reported, expected, usual.days, days.labels[:base])
    start, feed_start = int(np.argmax(relation)), int(np.argmax(feed))
    return UnfoldingEvidence(
        relation=float(relation.sum()),
        feed=float(feed.sum()),
        relation_days=days.span - start,
        slope_side=int(np.sign((terms.scores @ x)[start:].sum())) if slope.sum() > level.sum() else 0,
        feed_days=days.span - feed_start,
        outcomes=np.stack([labels[:, 1].sum(axis=1), terms.expected[:, 1].sum(axis=1)], axis=1),
        labels=np.stack([reported, expected], axis=1),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _UsualShares:
    """Shares of the expected records of a class that have a label, by group."""

    by_day: Floats  # shape (span, 2, groups): at the age of each of the newest days
    judged: Bools  # shape (span,): days at whose age enough of the baseline's are known
    of_now: Floats  # shape (2, groups): of the baseline's days, as they are known now
    days: Bools  # shape (baseline,): days that they are of


def _usual_shares(score_map: OutcomeMap, days: UnfoldingDays, base: int) -> _UsualShares | None:
    chance, groups = scipy.special.expit(score_map.logits), int(days.group.max(initial=0)) + 1
    member = np.eye(groups)[days.group]  # (cells, groups)
    records = days.records[:base]
    promised = np.stack([(records * (1 - chance)) @ member, (records * chance) @ member], axis=1)
    known = days.known_at[:base, : days.span]
    has = (known >= 0).all(axis=(2, 3)) & (records.sum(axis=1) > 0)[:, None]  # (baseline, ages)
    # Of labels that come in batches the share at an age depends on the weekday: all days are of one of them.
    batches = _come_in_batches(days.known_at)
    weekdays = np.arange(len(days.records)) % (_WEEK if batches else 1)
    by_day, judged = np.zeros((days.span, 2, groups)), np.zeros(days.span, dtype=np.bool_)
    for weekday in np.unique(weekdays):
        alike = has & (weekdays[:base] == weekday)[:, None]
        enough = alike.sum(axis=0) >= (FEWEST_ALIKE if batches else FEWEST_DAYS)
        count = np.where(alike[:, :, None, None], known, 0).sum(axis=0)
        total = np.einsum("da,dkg->akg", alike, promised)
        newest = np.flatnonzero(weekdays[base:] == weekday)
        ages = days.span - 1 - newest
        by_day[newest] = (count / np.maximum(total, _TINY))[ages]
        judged[newest] = enough[ages]
    if not judged.any():
        return None
    by_day = np.clip(by_day, 0.0, 1.0)
    usable = has.any(axis=1)
    now = np.einsum("dkc,cg->kg", days.labels[:base][usable], member)
    of_now = np.clip(now / np.maximum(promised[usable].sum(axis=0), _TINY), 0.0, 1.0)
    return _UsualShares(by_day, judged, of_now, usable)


def _come_in_batches(known_at: Ints) -> bool:
    """Whether labels stay away for three days more than once: shape as of `UnfoldingDays.known_at`."""
    days, ages = known_at.shape[:2]
    # What is not known of a day is what was known of it before.
    total = np.maximum.accumulate(np.maximum(known_at, 0).sum(axis=(2, 3)), axis=1)
    new = np.diff(total, axis=1, prepend=0)
    dates = np.arange(days)[:, None] + np.arange(ages)
    # Dates on which all ages of the span are those of days that are here.
    arrived = np.bincount(dates.ravel(), np.maximum(new, 0).ravel())[ages:days]
    silent = (arrived == 0).astype(np.int64)
    if len(silent) < _SILENCE:
        return False
    runs = np.convolve(silent, np.ones(_SILENCE, dtype=np.int64), "valid") == _SILENCE
    return int((np.diff(runs.astype(np.int64), prepend=0) > 0).sum()) > 1


@dataclass(frozen=True, slots=True, eq=False)
class _ScoreTerms:
    """Of each day and cell: score and information of a level, and labels that are expected by class."""

    scores: Floats  # shape (days, cells)
    information: Floats  # shape (days, cells)
    expected: Floats  # shape (days, 2, cells)


def _score_terms(chance: Floats, records: Ints, labels: Ints, shares: Floats) -> _ScoreTerms:
    without, with_it = shares[:, 0], shares[:, 1]
    none = np.maximum(1 - chance * with_it - (1 - chance) * without, _TINY)
    unlabelled = np.maximum(records - labels.sum(axis=1), 0)
    both = chance * (1 - chance)
    tilt = both * (without - with_it)
    scores = labels[:, 1] * (1 - chance) - labels[:, 0] * chance + unlabelled * tilt / none
    information = records * (both * ((1 - chance) * with_it + chance * without) + tilt * tilt / none)
    counts = records[:, None].astype(np.float64)
    expected = counts * np.stack([(1 - chance) * without, chance * with_it], axis=1)
    return _ScoreTerms(np.asarray(scores, np.float64), np.asarray(information, np.float64), expected)


def _gather(
    scores: Floats, information: Floats, usable: Bools, before: _ScoreTerms, x: Floats | float
) -> Floats:
    """Evidence of a level (x = 1) or a slope by the day on which a change may have begun."""
    weights = np.broadcast_to(np.asarray(x, dtype=np.float64), before.scores.shape[1:])
    scores_before = (before.scores @ weights)[usable]
    information_before = (before.information @ np.square(weights))[usable]
    return _gather_evidence(scores, information, scores_before, information_before)


def _gather_evidence(
    scores: Floats, information: Floats, scores_before: Floats, information_before: Floats
) -> Floats:
    """exp(θS - θ²J/2), mean over θ, by the first day of a change: shape (span,)."""
    # Days differ by themselves: what the baseline's days vary beyond sampling.
    there = information_before > _TINY
    if not there.any():
        return np.zeros(len(scores))
    off = scores_before[there] / information_before[there]
    excess = np.square(off - off.mean()) - 1 / information_before[there]
    # A variance of n days is known to a share of √(2/n): it may be larger by two of these.
    unsure = 1 + 2 * np.sqrt(2 / len(excess))
    effects = _NEIGHBOURS * unsure * max(0.0, float(excess.mean()))
    # What the baseline's own days are off by is usual: shares are of groups, and cells differ within them.
    usually_off = float(scores_before.sum() / max(float(information_before.sum()), _TINY))
    scores = scores - usually_off * information
    shrunk = 1 + effects * information
    gathered, weight = scores / shrunk, information / shrunk
    most = _LARGEST * np.sqrt(weight)
    gathered = np.clip(gathered, -most, most)
    summed, weights = np.cumsum(gathered[::-1])[::-1], np.cumsum(weight[::-1])[::-1]
    # Shares at an age are those of so many baseline days, which had as much information at it: what they are
    # not sure of is common to all days.
    many = np.arange(len(scores), 0, -1)
    sure = weights / (1 + many / max(len(scores_before), 1))
    summed = summed * sure / np.maximum(weights, _TINY)
    theta = np.concatenate([_EFFECTS, -_EFFECTS])[:, None]
    exponent = np.minimum(theta * summed - np.square(theta) * sure / 2, _MOST)
    evidence: Floats = np.exp(exponent).mean(axis=0)
    return np.where(weights > _TINY, evidence, 0.0)


def _gather_feed(
    terms: _ScoreTerms,
    before: _ScoreTerms,
    reported: Floats,
    expected: Floats,
    usable: Bools,
    labels_before: Ints,
) -> Floats:
    """The same of the share by which labels are more, or fewer, than expected at this age."""

    def sums(of: _ScoreTerms, seen: Floats) -> tuple[Floats, Floats]:
        by_cell = of.expected.sum(axis=1)
        promised = by_cell.sum(axis=1)
        # A record has its label with the chance that is expected of it: Poisson from above.
        variance = np.maximum(promised, 1.0)
        information = np.square(promised) / variance
        return (seen - promised) / np.maximum(promised, _TINY) * information, information

    seen_before = labels_before.sum(axis=(1, 2)).astype(np.float64)
    scores_before, information_before = sums(before, seen_before)
    scores, information = sums(terms, reported)
    information = np.where(expected > 1.0, information, 0.0)
    return _gather_evidence(
        np.where(expected > 1.0, scores, 0.0), information, scores_before[usable], information_before[usable]
    )
