"""Labels against what scores promise: how far off they are on a day, by a level and a slope.

What scores usually mean is learnt once, of the first days, as a map: for classes the log odds of the outcome
in each cell of the score, for numbers the usual error by prediction. A day's labels are compared with the map
at that day's own scores. So a day with harder records, or with other scores, is like any other; only another
relation of labels to scores shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from monitor.core.array_types import Floats, Ints
from monitor.core.change import OutcomeCounts
from monitor.measures.catalogue.daily_measures import FEWEST_RECORDS
from monitor.records.counting import Counting
from monitor.records.probabilities import EDGES
from monitor.states.counters import Counters, DenseCounters
from monitor.states.error_tables import PredictionErrors

MOST_CLASSES = 5  # that are followed one against the rest, the most frequent ones
ALONE = -1  # position of what is no class among several: the outcome of the score, or a number
FEWEST_EFFECTIVE = 1.0  # sample size below which a residual is not known: a label of even odds is a quarter
_GROUPS = 20  # of about equal mass, in which the map may leave the line
_GROUP_RECORDS = 20.0  # labels of the line, that each group begins with
_PRIOR = 0.5  # information that level and slope have before a label is in
_STEPS = 30  # of Newton's method, at most: three or four suffice, but where labels are far off
_LONGEST_STEP = 2.0  # of it: further out the slope of the curve says nothing of where it ends
_CONVERGED = 1e-9
_LARGEST_LOGIT = 14.0  # about a chance of one in a million


@dataclass(frozen=True, slots=True)
class Residuals:
    """How labels differ from what scores promise. Each value varies by 1 / its sample size."""

    level: float  # log odds, or of numbers usual errors: above 0 there is more of the outcome
    level_sample: float
    slope: float  # above 0 low and high scores are further apart in their labels than usual
    slope_sample: float


UNKNOWN_RESIDUALS = Residuals(np.nan, 0.0, np.nan, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeMap:
    """Usual log odds of an outcome by the cell of its score."""

    logits: Floats  # shape (cells,)
    centre: float  # log odds that slopes turn about

    def expected_outcomes(self, n: Ints, level: float, slope: float) -> float:
        """Records with the outcome among `n` by cell, where labels are off by a level and a slope."""
        odds = self.logits + level + slope * (self.logits - self.centre)
        return float((n * scipy.special.expit(odds)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class ErrorMap:
    """Usual error by prediction, of numbers."""

    # predictions, errors: shape (groups,): mean prediction and mean of label - prediction, by group.
    predictions: Floats
    errors: Floats
    deviation: float  # usual size of an error: that of what the map leaves
    # centre, spread: mean and standard deviation of the predictions.
    centre: float
    spread: float

    def usual_errors(self, predictions: Floats) -> Floats:
        """Usual mean of label - prediction, at some predictions."""
        return np.interp(predictions, self.predictions, self.errors)


ScoreMaps = Mapping[int, OutcomeMap | ErrorMap]
"""What scores usually mean: by the position of a class, or `ALONE`. Empty: a model without scores."""


def learn_score_maps(counting: Counting, counters: DenseCounters) -> ScoreMaps:
    """Maps of some days' labels, of all that is followed of a model's labels.

    Of several classes: whether the one with the largest probability is right, and each of the most frequent
    ones against the rest.
    """
    maps: dict[int, OutcomeMap | ErrorMap] = {}
    if counting.counts_scores or counting.probability_classes:
        negative, positive = counters.dense_block("scores")
        is_probability = counting.has_probability_scores or bool(counting.probability_classes)
        odds = cell_log_odds(counting.score_bounds, negative + positive, is_probability=is_probability)
        maps[ALONE] = learn_outcome_map(negative, positive, odds)
    if counting.probability_classes:
        odds = cell_log_odds(np.asarray([0.0, *EDGES, 1.0]), np.zeros(0, np.int64), is_probability=True)
        tables = counting.class_tables(counters).counts
        frequent = np.argsort(-tables[:, 1].sum(axis=1), kind="stable")
        # Of two classes each says what the other does.
        many = 1 if len(frequent) == 2 else MOST_CLASSES
        maps |= {
            int(at): learn_outcome_map(tables[at, 0], tables[at, 1], odds) for at in sorted(frequent[:many])
        }
    errors = counting.prediction_errors(counters)
    found = None if errors is None else learn_error_map(errors)
    return maps if found is None else {ALONE: found}


def measure_score_residuals(
    maps: ScoreMaps, counting: Counting, counters: Counters | DenseCounters
) -> dict[int, Residuals]:
    """How the labels of some days differ from what scores promise, by position as in the maps."""
    found: dict[int, Residuals] = {}
    for at, usual in maps.items():
        if isinstance(usual, OutcomeMap):
            found[at] = measure_outcome_residuals(usual, *_outcome_labels(counting, counters, at))
        elif (errors := counting.prediction_errors(counters)) is not None:
            found[at] = measure_error_residuals(usual, errors)
    return found


def mean_residual_terms(
    score_map: OutcomeMap | ErrorMap, counting: Counting, counters: Counters | DenseCounters, at: int
) -> tuple[float, float]:
    """Mean of label - promise, and of that by how high the score is: what parts of records add adds up."""
    if isinstance(score_map, OutcomeMap):
        negative, positive = _outcome_labels(counting, counters, at)
        n, x = negative + positive, score_map.logits - score_map.centre
        off = positive - n * scipy.special.expit(score_map.logits)
    else:
        errors = counting.prediction_errors(counters)
        table = None if errors is None else _error_table(errors)
        if table is None:
            return np.nan, np.nan
        n, prediction, error, _ = table
        x, off = prediction - score_map.centre, n * (error - score_map.usual_errors(prediction))
    records = float(n.sum())
    return (float(off.sum()) / records, float((off * x).sum()) / records) if records else (np.nan, np.nan)


def _outcome_labels(counting: Counting, counters: Counters | DenseCounters, at: int) -> Ints:
    """Labels without and with an outcome by cell of its score: shape (2, cells)."""
    if at == ALONE:
        return counters.dense_block("scores")
    return counters.dense_block(f"probability:{counting.probability_classes[at]}")


def count_outcomes(
    maps: ScoreMaps, counting: Counting, counters: DenseCounters, at: int, usual: tuple[float, float]
) -> OutcomeCounts | None:
    """Records with an outcome, and how many scores promise; None: nothing is known.

    Parameters
    ----------
    at
        position of the map.
    usual
        level and slope by which labels usually differ from it.
    """
    score_map, (level, slope) = maps[at], usual
    if isinstance(score_map, OutcomeMap):
        labels = _outcome_labels(counting, counters, at)
        n, hits = labels.sum(axis=0), float(labels[1].sum())
        return OutcomeCounts(int(n.sum()), hits, score_map.expected_outcomes(n, level, slope))
    errors = counting.prediction_errors(counters)
    table = None if errors is None else _error_table(errors)
    if table is None:
        return None
    n, prediction, error, _ = table
    x = (prediction - score_map.centre) / score_map.spread
    off = score_map.usual_errors(prediction) + (level + slope * x) * score_map.deviation
    return OutcomeCounts(int(n.sum()), *(float((n * each).sum() / n.sum()) for each in (error, off)))


def learn_outcome_map(negative: Ints, positive: Ints, odds: Floats) -> OutcomeMap:
    """The map of some days' labels: a line in the scores' log odds, then a monotone step off it by group.

    Parameters
    ----------
    negative, positive
        labels by cell of the score, without and with the outcome: shape (cells,).
    odds
        log odds that the cells' scores stand for; ascending.
    """
    n = negative + positive
    near = np.clip(odds, -_LARGEST_LOGIT, _LARGEST_LOGIT)
    if not n.sum():
        return OutcomeMap(near, 0.0)
    middle = float((n * near).sum() / n.sum())
    level, slope, _ = _fit_shift(n, positive, near, near - middle)
    line = near + level + slope * (near - middle)
    order = np.argsort(line, kind="stable")
    # Groups of about equal mass, in the order of the line.
    below = np.cumsum(n[order]) - n[order] / 2
    group = np.empty(len(n), dtype=np.int64)
    group[order] = np.minimum((below * _GROUPS / n.sum()).astype(np.int64), _GROUPS - 1)
    records = np.bincount(group, n, minlength=_GROUPS)
    has = records > 0
    usual = np.bincount(group, n * scipy.special.expit(line), minlength=_GROUPS)[has] / records[has]
    hits = np.bincount(group, positive, minlength=_GROUPS)[has] + _GROUP_RECORDS * usual
    weight = records[has] + _GROUP_RECORDS
    monotone = _rising_means((hits / weight).tolist(), weight.tolist())
    # Groups without either class keep a chance: half a label of the line's.
    least = 0.5 * np.minimum(usual, 1 - usual) / weight
    step = scipy.special.logit(np.clip(monotone, least, 1 - least)) - scipy.special.logit(usual)
    logits = line + np.interp(line, scipy.special.logit(usual), step)
    logits = np.clip(logits, -_LARGEST_LOGIT, _LARGEST_LOGIT)
    chance = scipy.special.expit(logits)
    weight = n * chance * (1 - chance)
    return OutcomeMap(logits, float((weight * logits).sum() / max(float(weight.sum()), 1e-12)))


def _rising_means(means: Sequence[float], weights: Sequence[float]) -> Floats:
    """The nearest values that never fall: means of neighbours that do are pooled [1]_.

    References
    ----------
    .. [1] Ayer et al. (1955). An empirical distribution function for sampling with incomplete information.
       Ann. Math. Statist. 26:641.
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for mean, weight in zip(means, weights, strict=True):
        pools.append((mean, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (last, w, n), (before, v, m) = pools.pop(), pools.pop()
            pools.append(((last * w + before * v) / (w + v), w + v, n + m))
    return np.repeat([one for one, _, _ in pools], [many for _, _, many in pools])


def measure_outcome_residuals(usual: OutcomeMap, negative: Ints, positive: Ints) -> Residuals:
    """Level δ and slope β of logit P(outcome) = map + δ + β·(map - centre): a logistic regression [1]_.

    Both are fitted together: a map that is off by a line moves neither where scores are others.

    References
    ----------
    .. [1] Cox (1958). Two further applications of a model for binary regression. Biometrika 45:562.
    """
    n = negative + positive
    cells = np.flatnonzero(n)
    if n.sum() < FEWEST_RECORDS:
        return UNKNOWN_RESIDUALS
    logits = usual.logits[cells]
    level, slope, variances = _fit_shift(n[cells], positive[cells], logits, logits - usual.centre)
    return _known_residuals(level, slope, variances)


def learn_error_map(errors: PredictionErrors) -> ErrorMap | None:
    """The map of some days' labels; None: too few groups of predictions have any."""
    table = _error_table(errors)
    if table is None:
        return None
    n, prediction, error, square = table
    if len(n) < 2:
        return None
    centre = float((n * prediction).sum() / n.sum())
    spread = float(np.sqrt((n * np.square(prediction - centre)).sum() / n.sum()))
    rest = float((square - n * np.square(error)).sum() / n.sum())
    return ErrorMap(prediction, error, rest**0.5, centre, spread) if rest > 0 and spread > 0 else None


def measure_error_residuals(usual: ErrorMap, errors: PredictionErrors) -> Residuals:
    """Level and slope of label - prediction less its usual size, in usual errors, over the predictions.

    The slope is of a standard deviation of the predictions. Variances are those that the errors show.
    """
    table = _error_table(errors)
    if table is None or table[0].sum() < FEWEST_RECORDS:
        return UNKNOWN_RESIDUALS
    n, prediction, error, square = table
    expected = usual.usual_errors(prediction)
    x = (prediction - usual.centre) / usual.spread
    design = np.stack([np.ones_like(x), x])
    information = (n * design) @ design.T + _PRIOR * np.eye(2)
    level, slope = np.linalg.solve(information, design @ (n * (error - expected)))
    # A record's residual squared, by group: the mean error's own, and what errors vary about it.
    left = expected + level + slope * x
    squares = square - 2 * left * n * error + n * np.square(left)
    inverse = np.linalg.inv(information)
    variance = np.diag(inverse @ ((squares * design) @ design.T) @ inverse)
    if not (variance > 0).all():
        return UNKNOWN_RESIDUALS
    size = usual.deviation
    return _known_residuals(float(level) / size, float(slope) / size, variance / size**2)


def cell_log_odds(bounds: Floats, n: Ints, *, is_probability: bool) -> Floats:
    """Log odds that scores stand for, by cell: of probabilities their own, of others those of their rank.

    Parameters
    ----------
    bounds
        of the cells, ascending, one more than there are cells.
    n
        labels by cell, that ranks are taken of.
    """
    if is_probability:
        chance = (bounds[1:] + bounds[:-1]) / 2
    else:
        chance = (np.cumsum(n) - n / 2 + 0.5) / (n.sum() + 1.0)
    return np.clip(scipy.special.logit(np.clip(chance, 0.0, 1.0)), -_LARGEST_LOGIT, _LARGEST_LOGIT)


def _fit_shift(n: Ints, positive: Ints, logits: Floats, x: Floats) -> tuple[float, float, Floats]:
    """Level and slope of a logistic regression with an offset, and their variances."""
    level = slope = 0.0
    inverse = np.eye(2) / _PRIOR
    for _ in range(_STEPS):
        chance = scipy.special.expit(logits + level + slope * x)
        weight, off = n * chance * (1 - chance), positive - n * chance
        by_x = float((weight * x).sum())
        information = np.asarray(
            [[float(weight.sum()) + _PRIOR, by_x], [by_x, float((weight * x * x).sum()) + _PRIOR]]
        )
        inverse = np.linalg.inv(information)
        score = np.asarray([off.sum() - _PRIOR * level, (off * x).sum() - _PRIOR * slope])
        step = np.clip(inverse @ score, -_LONGEST_STEP, _LONGEST_STEP)
        level, slope = level + float(step[0]), slope + float(step[1])
        if np.abs(step).max() < _CONVERGED:
            break
    return level, slope, np.diag(inverse)


def _known_residuals(level: float, slope: float, variances: Floats) -> Residuals:
    samples = 1.0 / variances
    known = [
        (value, float(sample)) if sample >= FEWEST_EFFECTIVE else (np.nan, 0.0)
        for value, sample in zip((level, slope), samples, strict=True)
    ]
    return Residuals(*known[0], *known[1])


def _error_table(errors: PredictionErrors) -> tuple[Floats, Floats, Floats, Floats] | None:
    """n, mean prediction, mean and sum of squares of label - prediction, by group; None: not known.

    The outermost groups are left out: they are open, and their predictions' spread grows with the mix.
    """
    if errors.records_out_of_range:
        return None
    _, squared, signed, away = errors.sums
    n = errors.n.astype(np.float64)
    inner = (n > 0) & (np.arange(len(n)) > 0) & (np.arange(len(n)) < len(n) - 1)
    if not inner.any():
        return None
    n, squared, signed, away = n[inner], squared[inner], signed[inner], away[inner]
    return n, away / n, -signed / n, squared
