"""Sizes: how large a change is, in the unit in which its smallest told size is stated; and for people."""

import numpy as np
import scipy

from monitor.core.typing import Floats, Ints
from monitor.evidence.watched import KINDS, Trait

_SHARES = (
    Trait.SHARE,
    Trait.MISSING,
    Trait.COVERAGE,
    Trait.ERROR_RATE,
    Trait.BASE_RATE,
)
HALF_A_RECORD = 0.5  # added to a day's number of records: the logarithm of none is known too
BY_INDEX = (Trait.LEVEL, Trait.SPREAD, Trait.SKEW)
"""Sizes that are roots of what they add to the stability index: about the square of each."""


def _at(*statistics: Trait) -> list[int]:
    return [KINDS.index(one) for one in statistics]


def sizes(kind: Ints, level: Floats, away: Floats) -> Floats:
    """Size of changes by `away` from `level`: missing values in shares, AUC in its own unit, χ² of a shape.

    Level, spread, skew are in standard deviations; shares of levels, errors, labels on the arcsine scale;
    records and RMSE as logarithms; log loss in its own unit.
    """
    size = away.copy()
    for trait, measure in (
        (Trait.MISSING, shares),
        (Trait.AUC, _loss),
        (Trait.SHAPE, _cube),
    ):
        at = kind == KINDS.index(trait)
        size[at] = measure(level[at] + away[at]) - measure(level[at])
    return size


def floors(kind: Ints, usual: Floats, smallest: float) -> Floats:
    """Smallest sizes that are told, where the smallest stability index is another than 0.1."""
    ratio = smallest / 0.1
    root = np.isin(kind, _at(*BY_INDEX))
    whole = kind == KINDS.index(Trait.SHAPE)
    return np.where(root, usual * np.sqrt(ratio), np.where(whole, usual * ratio, usual))


def shares(arcsine: Floats) -> Floats:
    """Shares of values on the scale 2·asin√share."""
    return np.square(np.sin(np.clip(arcsine, 0.0, np.pi) / 2))


def arcsine(hits: float, n: float) -> float:
    """2·asin√((k + ⅜)/(n + ¾)): variance 1/n [1]_.

    References
    ----------
    .. [1] Anscombe (1948). The transformation of Poisson, binomial and negative-binomial data.
       Biometrika 35:246.
    """
    return float(2 * np.arcsin(np.sqrt((hits + 0.375) / (n + 0.75))))


def plain(trait: Trait, value: float) -> float:
    """Value of a series as people read it: shares, records, areas, errors; others as they are."""
    if trait in _SHARES:
        return float(shares(np.asarray(value)))
    if trait is Trait.RECORDS:
        return float(max(0.0, np.round(np.exp(min(value, 700.0)) - HALF_A_RECORD)))
    if trait is Trait.RMSE:
        return float(np.exp(np.clip(value, -700.0, 700.0)))
    if trait is Trait.AUC:
        return 1.0 - float(_loss(np.asarray(value)))
    if trait is Trait.SHAPE:
        return float(_cube(np.asarray(value)))
    return value


def additive(trait: Trait, value: float) -> float:
    """Value of a series as the mean that it is of: shares, squared errors; others as they are.

    What parts of the records add to it adds up to its change.
    """
    if trait is Trait.RMSE:
        return plain(trait, value) ** 2
    return plain(trait, value) if trait in _SHARES else value


def index(trait: Trait, size: float) -> float | None:
    """About how much a change of a number adds to the stability index; None of other statistics."""
    if trait in BY_INDEX:
        return size * size
    return size if trait is Trait.SHAPE else None


def _loss(value: Floats) -> Floats:
    """1 - AUC of -logit AUC."""
    return np.asarray(scipy.special.expit(value), dtype=np.float64)


def _cube(value: Floats) -> Floats:
    return np.asarray(value**3, dtype=np.float64)
