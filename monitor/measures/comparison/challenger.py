"""Challenger: two models on the same labelled records. Differences are the challenger's - the champion's."""

import math
from collections.abc import Iterator

import numpy as np
import scipy

from monitor.core.array_types import Ints
from monitor.core.measurement import LEVEL, Interval, Measurement, Reason
from monitor.measures.catalogue.comparison_measures import FEW_PAIRS
from monitor.measures.classification.discrimination import FEW, missing_class_result
from monitor.measures.comparison.sequential_tests import always_valid_p_value
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import normal_interval, normal_quantile
from monitor.states.pairs import PairedAgreement, PairedLosses, PairedScores
from monitor.states.views import ScoreTable


def accuracy_difference(agreement: PairedAgreement, level: float = LEVEL) -> Measurement:
    """(c - b) / n with Bonett and Price's interval, Wald's on two more records [1]_.

    References
    ----------
    .. [1] Bonett & Price (2012). Adjusted Wald confidence interval for a difference of binomial proportions
       based on paired data. J. Educ. Behav. Stat. 37:479, eq. 4.
    """
    n, b, c = agreement.n, agreement.champion_only, agreement.challenger_only
    if n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    value = (c - b) / n
    p, q = (c + 1) / (n + 2), (b + 1) / (n + 2)
    half = normal_quantile(level) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    lower, upper = max(-1.0, p - q - half), min(1.0, p - q + half)
    return Measurement(value=value, n=n, interval=Interval(min(lower, value), max(upper, value), level))


def sign_test(agreement: PairedAgreement) -> Measurement:
    """Two-sided exact p-value that b and c are equally likely; 1 where nobody was right alone.

    >>> sign_test(PairedAgreement(5, 0, 2, 3)).value
    0.5
    """
    if agreement.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    b, c = agreement.champion_only, agreement.challenger_only
    return Measurement(value=min(1.0, 2 * float(scipy.special.bdtr(min(b, c), b + c, 0.5))), n=agreement.n)


def sign_test_one_sided(agreement: PairedAgreement) -> Measurement:
    """Exact probability of c or more of b + c, if both are equally likely."""
    if agreement.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    b, c = agreement.champion_only, agreement.challenger_only
    return Measurement(value=float(scipy.special.bdtr(b, b + c, 0.5)), n=agreement.n)


def discordant_evidence(champion_only: int, challenger_only: int) -> float:
    """Natural logarithm of 2^(b + c) B(b + ½, c + ½) / B(½, ½): 0 before the first one, valid at every look.

    It is the Bayes factor of Jeffreys' prior on who is right against a fair coin.
    """
    ratio = float(scipy.special.betaln(champion_only + 0.5, challenger_only + 0.5)) - math.log(math.pi)
    return (champion_only + challenger_only) * math.log(2) + ratio


def auc_difference(scores: PairedScores, level: float = LEVEL) -> Measurement:
    """Difference of the areas under both curves, with DeLong's interval [1]_.

    The value is of the finer cells. The variance is that of the differences of the records' components, class
    by class, on the joint table's coarser cells.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver
       operating characteristic curves. Biometrics 44:837.
    """
    n, p = int(scores.champion.negative.sum()), int(scores.champion.positive.sum())
    if n == 0 or p == 0:
        return missing_class_result(n + p)
    (first, lost), (second, lost_too) = (
        _area_and_ties(table) for table in (scores.champion, scores.challenger)
    )
    interval = None
    if min(n, p) >= FEW:
        interval = normal_interval(
            second - first, _delong_variance(scores.joint), level, lowest=-1.0, highest=1.0
        )
    return Measurement(value=second - first, n=n + p, interval=interval, resolution=lost + lost_too)


def signed_rank(losses: PairedLosses) -> Measurement:
    """Two-sided p-value of Wilcoxon's signed-rank test, in its normal limit with ties.

    The order of a positive and b negative sizes of one cell moves the rank sum by at most a b / 2.
    """
    sizes = losses.smaller + losses.larger
    n = int(sizes.sum())
    if n < FEW_PAIRS:
        reason = Reason.TOO_FEW if n + losses.zero else Reason.NO_LABELS
        return Measurement.without_value(reason, n=n + losses.zero)
    ranks = np.cumsum(sizes) - (sizes - 1) / 2
    ties = float((sizes.astype(np.float64) ** 3 - sizes).sum())
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48)
    away = abs(float(losses.larger @ ranks) - n * (n + 1) / 4)
    lost = float(losses.larger.astype(np.float64) @ losses.smaller) / 2
    # Untied, the ranks spread a little more.
    widest = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    value = _two_sided_p_value(away / spread)
    highest, lowest = (
        _two_sided_p_value(max(0.0, away - lost) / widest),
        _two_sided_p_value((away + lost) / spread),
    )
    return Measurement(value=value, n=n + losses.zero, resolution=max(highest - value, value - lowest, 0.0))


def challenger_results(
    agreement: PairedAgreement, scores: PairedScores | None, losses: PairedLosses | None, level: float
) -> Iterator[MeasureResult]:
    """All measures of a window."""
    yield MeasureResult("challenger_accuracy_difference", "", accuracy_difference(agreement, level))
    yield MeasureResult("sign_test_p_value", "", sign_test(agreement))
    yield MeasureResult("sign_test_p_value_one_sided", "", sign_test_one_sided(agreement))
    if scores is not None:
        yield MeasureResult("challenger_auc_difference", "", auc_difference(scores, level))
    if losses is not None:
        yield MeasureResult("signed_rank_p_value", "", signed_rank(losses))


def evidence_results(agreement: PairedAgreement, most: float) -> Iterator[MeasureResult]:
    """All measures of everything that has entered so far.

    Parameters
    ----------
    most
        logarithm of the most evidence that there was at any look.
    """
    compared_value = Measurement.without_value(Reason.NO_LABELS, n=0)
    if agreement.n:
        evidence = discordant_evidence(agreement.champion_only, agreement.challenger_only)
        compared_value = Measurement(value=evidence, n=agreement.n)
    yield MeasureResult("challenger_log_evidence", "", compared_value)
    yield MeasureResult("challenger_p_value_always_valid", "", always_valid_p_value(compared_value, most))


def _area_and_ties(table: ScoreTable) -> tuple[float, float]:
    """Area, and half the share of the pairs that share a cell."""
    negative, positive = table.negative, table.positive
    pairs = int(negative.sum()) * int(positive.sum())
    below = np.cumsum(negative) - negative
    tied = int(positive @ negative)
    return (2 * int(positive @ below) + tied) / (2 * pairs), tied / (2 * pairs)


def _delong_variance(joint: Ints) -> float:
    """DeLong's variance of the difference, from (class, champion's cell, challenger's cell)."""
    negative, positive = joint
    total = 0.0
    for counts, others, sign in ((positive, negative, 1.0), (negative, positive, -1.0)):
        by_champion, by_challenger = others.sum(axis=1), others.sum(axis=0)
        # share of the other class below each cell, and half of that within it
        champion, challenger = (
            (np.cumsum(side) - side / 2) / int(side.sum()) for side in (by_champion, by_challenger)
        )
        rows, columns = np.nonzero(counts)
        weights = counts[rows, columns]
        away = sign * (challenger[columns] - champion[rows])
        n = int(weights.sum())
        centre = float(weights @ away) / n
        total += float(weights @ (away - centre) ** 2) / ((n - 1) * n)
    return total


def _two_sided_p_value(z: float) -> float:
    return min(1.0, 2 * float(scipy.special.ndtr(-z)))
