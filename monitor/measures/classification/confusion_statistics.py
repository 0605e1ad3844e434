"""Statistics of classes: of the counts and of each of their resamples at once, NaN where undefined.

Averages leave classes without a record out: their recall, precision and F are set to 0 here, which adds
nothing to the sums, and they are not counted among the classes. Divisions by 0 are silenced by the caller.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from monitor.core.typing import Floats
from monitor.measures.statistics.draws import Draws

Statistic: TypeAlias = Callable[[Draws], Floats]


def relative_accuracies(sums: Draws) -> Floats:
    """Accuracy / share of the most frequent class."""
    return _ratio(sums.hits, sums.actual[:-1].max(axis=0))


def average_recalls(sums: Draws) -> Floats:
    """Mean recall over the known classes that have records."""
    recalls = sums.right / np.maximum(sums.actual[:-1], 1)
    return _ratio(recalls.sum(axis=0), sums.present)


def harmonic_recalls(sums: Draws) -> Floats:
    """Harmonic mean recall over the known classes that have records; 0 where one of them is 0."""
    actual = sums.actual[:-1]
    inverses = np.divide(actual, sums.right, out=np.zeros_like(actual), where=actual > 0)
    return _ratio(sums.present, inverses.sum(axis=0))


def average_precisions(sums: Draws) -> Floats:
    """Mean precision over the known classes that have records; that of a class never predicted is 0."""
    return _ratio(_precisions(sums).sum(axis=0), sums.present)


def weighted_precisions(sums: Draws) -> Floats:
    """Mean precision of the known classes, weighted by their records; 0 for a class never predicted."""
    actual = sums.actual[:-1]
    return _ratio((actual * _precisions(sums)).sum(axis=0), actual.sum(axis=0))


def average_f1s(sums: Draws) -> Floats:
    """Mean F1 over the known classes that have records."""
    return _ratio(_f1s(sums).sum(axis=0), sums.present)


def weighted_f1s(sums: Draws) -> Floats:
    """Mean F1 of the known classes, weighted by their records."""
    actual = sums.actual[:-1]
    return _ratio((actual * _f1s(sums)).sum(axis=0), actual.sum(axis=0))


def pooled_f1s(sums: Draws) -> Floats:
    """F1 of the known classes' summed counts."""
    return _ratio(2 * sums.hits, (sums.actual[:-1] + sums.predicted[:-1]).sum(axis=0))


def f_betas(sums: Draws, beta: float, first: int = 0) -> Floats:
    """F-beta of each class, shape (classes, draws): (1 + b²)·TP / (b²·actual + predicted); NaN where 0 / 0.

    Parameters
    ----------
    beta
        how much more recall counts than precision.
    first
        position of the first class that is wanted.
    """
    squared = beta * beta
    below = squared * sums.actual[first:-1] + sums.predicted[first:-1]
    return _ratio((1 + squared) * sums.right[first:], below)


def matthews_correlations(sums: Draws) -> Floats:
    """Correlation of actual and predicted class, for any number of classes; NaN where either is constant.

    Unseen actual and unseen predicted classes are two classes more, never equal.
    """
    actual = (sums.actual * (sums.total - sums.actual)).sum(axis=0)
    predicted = (sums.predicted * (sums.total - sums.predicted)).sum(axis=0)
    return _ratio(_beyond_chance(sums), np.sqrt(actual) * np.sqrt(predicted))


def kappas(sums: Draws) -> Floats:
    """Accuracy beyond chance, as a share of what is beyond chance; NaN where all records are of one cell."""
    beyond = _beyond_chance(sums)
    return _ratio(beyond, beyond + sums.total * (sums.total - sums.hits))


def profits(sums: Draws) -> Floats:
    """Sum of the amounts, of as many records as there are."""
    whole: Floats = sums.profit * (sums.n / sums.total)
    return whole


def profits_per_record(sums: Draws) -> Floats:
    """Sum of the amounts / records."""
    return _ratio(sums.profit, sums.total)


def _ratio(above: Floats, below: Floats) -> Floats:
    quotient: Floats = above / below
    return quotient


def _precisions(sums: Draws) -> Floats:
    return _ratio(sums.right, np.maximum(sums.predicted[:-1], 1))


def _f1s(sums: Draws) -> Floats:
    return _ratio(2 * sums.right, np.maximum(sums.actual[:-1] + sums.predicted[:-1], 1))


def _beyond_chance(sums: Draws) -> Floats:
    """Records right less those expected by chance, times the records.

    Written class by class as TP·TN - FN·FP, which cancels least: nothing is lost where one class is rare.
    """
    missed, wrong = sums.actual[:-1] - sums.right, sums.predicted[:-1] - sums.right
    others = sums.total - sums.right - missed - wrong
    beyond: Floats = (sums.right * others - missed * wrong).sum(axis=0)
    return beyond
