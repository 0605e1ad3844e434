"""Faults: how unlikely it is that so many records are what none should be."""

from dataclasses import dataclass

import numpy as np
import scipy

from monitor.core.array_types import Bools, Floats, Ints

FEWEST = 3  # records
LEARNED, FEWEST_LOST = 14, 20  # days and records, from which on it is told that all of them are faulty
TWICE = 2.0  # of the largest share of the days before
_FADES = 0.98  # a day's weight from one day to the next
_PRIOR = 0.5
_VARIES, _DAYS = 0.25, 14.0  # squared coefficient of variation of a day's share; days that it weighs
_TERMS = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class FaultVerdicts:
    """What is said of each fault of a day; shape (faults,)."""

    rarity: Floats  # chance of so many, or more; 1 where there are fewer than the rules ask for
    share: Floats  # of the day; 0 without records
    largest: Floats  # expected at most: the largest share of the days before


def judge_faults(
    ages: Ints, hits: Ints, trials: Ints, learned: Bools, now: tuple[Ints, Ints], least: Floats
) -> FaultVerdicts:
    """Judge a day's faults by the days before: the predictive beta-binomial distribution [1]_.

    k of n records are unusual by P(K ≥ k), K beta-binomial with a = ½ + Σ .98^age k, b = ½ + Σ .98^age (n-k),
    both divided by 1 + a·cv²: the share of a day varies by cv, ½ until 14 days and more show otherwise. Fewer
    than 3, less than the smallest share, or less than twice the largest share before are never unusual.
    Except all of at least 20, after 14 days of which none had all: by no more than p^n, p the largest share
    before or ½, however much the days differ. So a feature that is lost is told on its first day.

    Parameters
    ----------
    ages
        shape (days,): days ago.
    hits, trials, learned
        shape (days, faults): k and n, and which days count.
    now
        k and n of the day.

    References
    ----------
    .. [1] Gelman et al. (2013). Bayesian Data Analysis, 3rd ed., section 2.4 and exercise 5.16.
    """
    k, n = now
    fades = np.power(_FADES, ages)[:, None] * learned
    a = _PRIOR + (fades * hits).sum(axis=0)
    b = _PRIOR + (fades * (trials - hits)).sum(axis=0)
    counted = learned & (trials > 0)
    shares = np.where(counted, hits / np.maximum(trials, 1), 0.0)
    largest = shares.max(axis=0, initial=0.0)
    share = k / np.maximum(n, 1)
    known = counted.any(axis=0)
    varied = 1 + a * _share_variation(shares, trials, counted, a / (a + b))
    a, b = a / varied, b / varied
    lost = (k == n) & (n >= FEWEST_LOST) & (largest < 1) & (counted.sum(axis=0) >= LEARNED)
    odd = known & (k >= FEWEST) & (share >= least) & (share >= TWICE * largest)
    rarity = np.where(lost, np.power(np.maximum(largest, 0.5), n), 1.0)
    for at in np.flatnonzero(odd):
        rarity[at] = min(rarity[at], beta_binomial_tail(int(k[at]), int(n[at]), float(a[at]), float(b[at])))
    return FaultVerdicts(rarity, share, largest)


def _share_variation(shares: Floats, trials: Ints, counted: Bools, mean: Floats) -> Floats:
    """Squared coefficient of variation of the days' shares, beyond what their records' numbers explain."""
    # Rare records of independent ones: their number has the squared coefficient of variation 1 / (n · share).
    sampling = 1.0 / np.maximum(trials * mean, _PRIOR)
    own = np.where(counted, np.square(shares / mean - 1) - sampling, 0.0).sum(axis=0)
    varies: Floats = np.maximum(_DAYS * _VARIES + own, 0.0) / (_DAYS + counted.sum(axis=0))
    return varies


def beta_binomial_tail(k: int, n: int, a: float, b: float) -> float:
    """P(K ≥ k) of a beta-binomial K; terms beyond 4,096 are bounded by a geometric series.

    >>> round(beta_binomial_tail(3, 3, 0.5, 0.5), 4)
    0.3125
    """
    if k <= 0:
        return 1.0
    term = np.arange(k, min(n, k + _TERMS) + 1, dtype=np.float64)
    logs = (
        scipy.special.betaln(term + a, n - term + b)
        - scipy.special.betaln(a, b)
        - np.log(n + 1.0)
        - scipy.special.betaln(n - term + 1, term + 1)
    )
    terms = np.exp(logs)
    total = float(terms.sum())
    if term[-1] < n and terms[-2] > 0:
        ratio = float(terms[-1] / terms[-2])
        total += float(terms[-1]) * ratio / (1 - ratio) if ratio < 1 else 1.0
    return min(1.0, total)
