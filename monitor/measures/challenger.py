"""Challenger: two models on the same labelled records. Differences are the challenger's - the champion's."""

import math
from collections.abc import Iterator

import numpy as np
import scipy

from monitor.core.interval import Interval
from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Floats, Ints
from monitor.measures.ask import Result
from monitor.measures.intervals import normal, normal_quantile
from monitor.measures.measure import BINARY, CLASSES, Direction, Family, Measure, Unit
from monitor.measures.scores import FEW
from monitor.measures.sequential import p_value
from monitor.states.paired import Agreement, PairedLosses, PairedScores
from monitor.states.views import ScoreTable

FEW_PAIRS = 10  # differences of losses, below which the rank sum is not taken as normal

_SIGN = "SciPy `binomtest`; McNemar (1947), Psychometrika 12:153"
_RANKS = "Wilcoxon (1945), Biometrics 1:80; SciPy `wilcoxon(zero_method='wilcox', method='asymptotic')`"

CHALLENGER: tuple[Measure, ...] = (
    Measure(
        "challenger_accuracy_difference",
        Unit.RATIO,
        Direction.HIGHER,
        Family.COMPARISON,
        CLASSES,
        "Challenger's accuracy - champion's, on the labelled records that both predicted: (c - b) / n, c the "
        "records that only the challenger predicts right, b those that only the champion does.",
        "Bonett and Price, for paired shares",
        "Bonett & Price (2012), J. Educ. Behav. Stat. 37:479",
        headline=True,
    ),
    Measure(
        "sign_test_p_value",
        Unit.RATIO,
        Direction.NONE,
        Family.COMPARISON,
        CLASSES,
        "Exact binomial (sign, McNemar) test that b and c are equally likely, two-sided. For one look, at a "
        "window that was chosen beforehand: who looks again and again reads "
        "`challenger_p_value_always_valid`.",
        "none",
        _SIGN,
        headline=True,
    ),
    Measure(
        "sign_test_p_value_one_sided",
        Unit.RATIO,
        Direction.NONE,
        Family.COMPARISON,
        CLASSES,
        "The same test, one-sided: small where the challenger is better.",
        "none",
        _SIGN,
        headline=False,
    ),
    Measure(
        "challenger_auc_difference",
        Unit.RATIO,
        Direction.HIGHER,
        Family.COMPARISON,
        BINARY,
        "Challenger's `roc_auc` - champion's on the same records. Resolution: half the shares of pairs in "
        "one cell, of both.",
        "normal, with DeLong's covariance of both from a joint table of at most 64 x 64 cells a class; fewer "
        "than 10 of a class: none",
        "DeLong et al. (1988), Biometrics 44:837",
        headline=True,
    ),
    Measure(
        "signed_rank_p_value",
        Unit.RATIO,
        Direction.NONE,
        Family.COMPARISON,
        BINARY,
        "Wilcoxon's signed-rank test that the differences of both log losses are symmetric about 0, "
        "two-sided, where scores lie in [0, 1]; sizes within a cell (1 % wide) are tied, equal losses are "
        f"left out. Fewer than {FEW_PAIRS} unequal ones: `too_few`. Resolution: whatever the order within "
        "the cells is.",
        "none",
        _RANKS,
        headline=False,
    ),
    Measure(
        "challenger_log_evidence",
        Unit.PLAIN,
        Direction.NONE,
        Family.COMPARISON,
        CLASSES,
        "Natural logarithm of the evidence that b and c are not equally likely, of all settled days since "
        "`challenger.since`, each entered once: 2^(b + c) B(b + ½, c + ½) / B(½, ½).",
        "none",
        "Lindon & Malek (2022), NeurIPS 35; Jeffreys' prior",
        headline=False,
    ),
    Measure(
        "challenger_p_value_always_valid",
        Unit.RATIO,
        Direction.NONE,
        Family.COMPARISON,
        CLASSES,
        "1 / the most evidence that there ever was, at most 1, looked at after every pane: below 5 % at any "
        "of all looks with a probability of at most 5 % if champion and challenger are equally good.",
        "none",
        "Lindon & Malek (2022), NeurIPS 35; Jeffreys' prior",
        headline=True,
    ),
)


def accuracy_difference(agreement: Agreement, level: float = 0.95) -> Measurement:
    """(c - b) / n with Bonett and Price's interval, Wald's on two more records [1]_.

    References
    ----------
    .. [1] Bonett & Price (2012). Adjusted Wald confidence interval for a difference of binomial proportions
       based on paired data. J. Educ. Behav. Stat. 37:479, eq. 4.
    """
    n, b, c = agreement.n, agreement.champion_only, agreement.challenger_only
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    value = (c - b) / n
    p, q = (c + 1) / (n + 2), (b + 1) / (n + 2)
    half = normal_quantile(level) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    lower, upper = max(-1.0, p - q - half), min(1.0, p - q + half)
    return Measurement(value=value, n=n, interval=Interval(min(lower, value), max(upper, value), level))


def sign_test(agreement: Agreement) -> Measurement:
    """Two-sided exact p-value that b and c are equally likely; 1 where nobody was right alone.

    >>> sign_test(Agreement(5, 0, 2, 3)).value
    0.5
    """
    if agreement.n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    b, c = agreement.champion_only, agreement.challenger_only
    return Measurement(value=min(1.0, 2 * float(scipy.special.bdtr(min(b, c), b + c, 0.5))), n=agreement.n)


def sign_test_one_sided(agreement: Agreement) -> Measurement:
    """Exact probability of c or more of b + c, if both are equally likely."""
    if agreement.n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    b, c = agreement.champion_only, agreement.challenger_only
    return Measurement(value=float(scipy.special.bdtr(b, b + c, 0.5)), n=agreement.n)


def discordant_evidence(champion_only: int, challenger_only: int) -> float:
    """Natural logarithm of 2^(b + c) B(b + ½, c + ½) / B(½, ½): 0 before the first one, valid at every look.

    It is the Bayes factor of Jeffreys' prior on who is right against a fair coin.
    """
    ratio = float(scipy.special.betaln(champion_only + 0.5, challenger_only + 0.5)) - math.log(math.pi)
    return (champion_only + challenger_only) * math.log(2) + ratio


def auc_difference(scores: PairedScores, level: float = 0.95) -> Measurement:
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
        return Measurement.absent(Reason.ONE_CLASS if n + p else Reason.NO_LABELS, n=n + p)
    (first, lost), (second, lost_too) = (_area(table) for table in (scores.champion, scores.challenger))
    interval = None
    if min(n, p) >= FEW:
        interval = normal(second - first, _variance(scores.joint), level, lowest=-1.0, highest=1.0)
    return Measurement(value=second - first, n=n + p, interval=interval, resolution=lost + lost_too)


def signed_rank(losses: PairedLosses) -> Measurement:
    """Two-sided p-value of Wilcoxon's signed-rank test, in its normal limit with ties.

    The order of a positive and b negative sizes of one cell moves the rank sum by at most a b / 2.
    """
    sizes = losses.smaller + losses.larger
    n = int(sizes.sum())
    if n < FEW_PAIRS:
        reason = Reason.TOO_FEW if n + losses.zero else Reason.NO_LABELS
        return Measurement.absent(reason, n=n + losses.zero)
    ranks = np.cumsum(sizes) - (sizes - 1) / 2
    ties = float((sizes.astype(np.float64) ** 3 - sizes).sum())
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48)
    away = abs(float(losses.larger @ ranks) - n * (n + 1) / 4)
    lost = float(losses.larger.astype(np.float64) @ losses.smaller) / 2
    # Untied, the ranks spread a little more.
    widest = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    value = _two_sided(away / spread)
    highest, lowest = _two_sided(max(0.0, away - lost) / widest), _two_sided((away + lost) / spread)
    return Measurement(value=value, n=n + losses.zero, resolution=max(highest - value, value - lowest, 0.0))


def results(
    agreement: Agreement, scores: PairedScores | None, losses: PairedLosses | None, level: float
) -> Iterator[Result]:
    """All measures of a window."""
    yield Result("challenger_accuracy_difference", "", accuracy_difference(agreement, level))
    yield Result("sign_test_p_value", "", sign_test(agreement))
    yield Result("sign_test_p_value_one_sided", "", sign_test_one_sided(agreement))
    if scores is not None:
        yield Result("challenger_auc_difference", "", auc_difference(scores, level))
    if losses is not None:
        yield Result("signed_rank_p_value", "", signed_rank(losses))


def evidence_results(agreement: Agreement, most: float) -> Iterator[Result]:
    """All measures of everything that has entered so far.

    Parameters
    ----------
    most
        logarithm of the most evidence that there was at any look.
    """
    found = Measurement.absent(Reason.NO_LABELS, n=0)
    if agreement.n:
        evidence = discordant_evidence(agreement.champion_only, agreement.challenger_only)
        found = Measurement(value=evidence, n=agreement.n)
    yield Result("challenger_log_evidence", "", found)
    yield Result("challenger_p_value_always_valid", "", p_value(found, most))


def _area(table: ScoreTable) -> tuple[float, float]:
    """Area, and half the share of the pairs that share a cell."""
    negative, positive = table.negative, table.positive
    pairs = int(negative.sum()) * int(positive.sum())
    below = np.cumsum(negative) - negative
    tied = int(positive @ negative)
    return (2 * int(positive @ below) + tied) / (2 * pairs), tied / (2 * pairs)


def _variance(joint: Ints) -> float:
    """DeLong's variance of the difference, from (class, champion's cell, challenger's cell)."""
    negative, positive = joint
    total = 0.0
    for counts, others, sign in ((positive, negative, 1.0), (negative, positive, -1.0)):
        parts = [_placed(others.sum(axis=axis)) for axis in (1, 0)]
        rows, columns = np.nonzero(counts)
        weights = counts[rows, columns]
        away = sign * (parts[1][columns] - parts[0][rows])
        n = int(weights.sum())
        centre = float(weights @ away) / n
        total += float(weights @ (away - centre) ** 2) / ((n - 1) * n)
    return total


def _placed(counts: Ints) -> Floats:
    """Share of the other class below each cell, and half of that within it."""
    placed: Floats = (np.cumsum(counts) - counts / 2) / int(counts.sum())
    return placed


def _two_sided(z: float) -> float:
    return min(1.0, 2 * float(scipy.special.ndtr(-z)))
