"""Measures of a binary model's scores once more, from the raw scores: by sorting and by scikit-learn.

Where a definition speaks of cells, these are made anew: the reference's ranks among 2,048 even steps.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from oracle import LEVEL, NONE, Expected, Floats, Found, How, Key, Log, Z, judged, ks, mean, ranked, valid
from scipy import stats
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

TOPS = {"top:1%": 0.01, "top:5%": 0.05, "top:10%": 0.1}
CLIP = 2.0**-12
GROUPS, A_GROUP = 15, 10


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells that hold labelled scores, the highest first: bounds, records and positives, and each one's."""

    lower: Floats
    upper: Floats
    records: Floats
    positives: Floats
    place: Floats

    @classmethod
    def of(cls, edges: Floats, score: Floats, truth: Floats) -> "Cells":
        """Cells between edges; a score equal to an edge lies above it."""
        bounds = np.concatenate([[0.0], edges, [1.0]])
        held, place = np.unique(-np.searchsorted(edges, score, side="right"), return_inverse=True)
        records, positives = np.bincount(place), np.bincount(place, weights=truth)
        return cls(bounds[-held], bounds[1 - held], records, positives, place)


def edges_of(log: Log) -> Floats:
    """Edges of the cells of scores in [0, 1]: 2,040 of the reference's, or all its values if fewer."""
    if "edges" not in log.made:
        reference = log.grids
        ordered = np.sort(reference.loc[valid(reference, "score", log), "score"].to_numpy(dtype=float))
        own = np.unique(ordered)
        own = own if len(own) < 2_040 else ranked(ordered, 2_040)
        steps = np.arange(1, 2_048) / 2_048
        log.made["edges"] = np.unique(np.concatenate([own, ranked(ordered, 10), steps]))
    edges: Floats = log.made["edges"]
    return edges


def headlines(log: Log, told: pd.DataFrame) -> Found:
    """Area, separation and losses."""
    score, truth = labelled_scores(log, told)
    n = len(truth)
    auc = separation = brier = loss = NONE
    if len(set(truth)) == 2:
        auc = Expected(float(metrics.roc_auc_score(truth, score)), How.WITHIN, n)
        separation = Expected(ks(score[truth == 1], score[truth == 0]), How.BELOW, n)
    given = np.where(truth == 1, score, 1 - score)
    clipped = np.clip(given, 2.0**-52, 1 - 2.0**-52)
    if n:
        brier = mean((1 - given) ** 2, float(metrics.brier_score_loss(truth, score, pos_label=1)))
        loss = mean(-np.log(clipped), float(metrics.log_loss(truth, score, labels=[0, 1])))
    yield ("roc_auc", ""), auc
    yield ("ks_separation", ""), separation
    yield ("brier_score", ""), brier
    yield ("log_loss", ""), loss
    yield ("clipped_records", ""), Expected(float(np.sum(clipped != given)), n=n)


def of_scores(log: Log, told: pd.DataFrame) -> dict[Key, Expected]:
    """All that is measured of labelled scores beside their headlines."""
    score, truth = labelled_scores(log, told)
    cells = Cells.of(edges_of(log), score, truth)
    families = [_ranking(score, truth), _tops(score, truth), _separating(cells)]
    families += [_calibration(score, truth), errors(cells, score)]
    families += [_profits(log, score, truth)] if log.profit else []
    return {key: expected for family in families for key, expected in family}


def labelled_scores(log: Log, told: pd.DataFrame) -> tuple[Floats, Floats]:
    score, actual = told["score"].to_numpy(dtype=float), told["actual"].to_numpy(dtype=int)
    used = np.isin(actual, (0, 1)) & valid(told, "score", log)
    return score[used], actual[used]


def _ranking(score: Floats, truth: Floats) -> Found:
    gini = precision = critical = NONE
    n, p = len(truth), int(truth.sum())
    if 0 < p < n:
        gini = Expected(2 * float(metrics.roc_auc_score(truth, score)) - 1, How.WITHIN, n)
        precision = Expected(float(metrics.average_precision_score(truth, score)), How.WITHIN, n)
        limit = float(stats.kstwobign.ppf(LEVEL)) * np.sqrt(1 / p + 1 / (n - p))
        critical = Expected(min(1.0, float(limit)), n=n)
    yield ("gini", ""), gini
    yield ("average_precision", ""), precision
    yield ("ks_separation_critical", ""), critical


def _tops(score: Floats, truth: Floats) -> Found:
    n, p = len(truth), int(truth.sum())
    for subject, share in TOPS.items():
        precision = recall = gain = lift = NONE
        if 0 < p < n and share * n >= 1:
            found = _found(score, truth, share)
            precision = Expected(found / (share * n), How.WITHIN, n)
            recall = gain = Expected(found / p, How.WITHIN, n)
            lift = Expected(found / p / share, How.WITHIN, n)
        yield ("precision_at_top", subject), precision
        yield ("recall_at_top", subject), recall
    yield ("gain_top_decile", ""), gain
    yield ("lift_top_decile", ""), lift


def _found(score: Floats, truth: Floats, share: float) -> float:
    """Positives in the top share; of those that tie across its border a part."""
    by_score = pd.Series(truth).groupby(score).agg(["sum", "size"])[::-1]
    size = by_score["size"].to_numpy(dtype=float)
    taken = np.clip(share * len(score) - (np.cumsum(size) - size), 0, size) / size
    return float((taken * by_score["sum"].to_numpy(dtype=float)).sum())


def _separating(cells: Cells) -> Found:
    """Where the classes are furthest apart: the highest of several cells."""
    n, p = int(cells.records.sum()), int(cells.positives.sum())
    apart = NONE
    if 0 < p < n:
        true, false = np.cumsum(cells.positives), np.cumsum(cells.records - cells.positives)
        distance = np.abs(true / p - false / (n - p))
        below = int(distance.argmax()) + 1
        apart = Expected(float(cells.upper[below]), n=n) if below < len(distance) else NONE
    yield ("ks_separation_threshold", ""), apart


def _profits(log: Log, score: Floats, truth: Floats) -> Found:
    """The most that a threshold would have given here, and what that of the reference gives."""
    if "threshold" not in log.made:
        log.made["threshold"] = _best(log, *labelled_scores(log, judged(log, log.grids)))[1]
    n, amount, chosen = len(truth), _amounts(log), log.made["threshold"]
    best = threshold = before = NONE
    if 0 < truth.sum() < n:
        most, at = _best(log, score, truth)
        best = Expected(most, n=n)
        threshold = Expected(at, n=n) if np.isfinite(at) else NONE
    if n:
        terms = amount[truth, (score >= chosen).astype(int)]
        half = Z * float(np.std(terms)) * np.sqrt(n)
        before = Expected(float(terms.sum()), n=n, bounds=(terms.sum() - half, terms.sum() + half))
    yield ("best_profit", ""), best
    yield ("best_profit_threshold", ""), threshold
    yield ("reference_threshold_profit", ""), before


def _amounts(log: Log) -> Floats:
    return np.asarray(
        [[log.profit.get((actual, said), 0.0) for said in log.classes] for actual in log.classes]
    )


def _best(log: Log, score: Floats, truth: Floats) -> tuple[float, float]:
    """Largest profit of a threshold at a cell's lower edge, and the highest such; infinite: above all."""
    cells, amount = Cells.of(edges_of(log), score, truth), _amounts(log)
    change = amount[:, 1] - amount[:, 0]
    told = np.cumsum(cells.positives * change[1] + (cells.records - cells.positives) * change[0])
    profits = np.append(0.0, told) + amount[truth, 0].sum()
    at = int(profits.argmax())
    return float(profits[at]), float(cells.lower[at - 1]) if at else np.inf


def _calibration(score: Floats, truth: Floats) -> Found:
    n, r = len(truth), float(truth.mean()) if len(truth) else 0.0
    average = large = skill = slope = intercept = NONE
    if n:
        average = Expected(float(score.mean()), How.WITHIN, n)
        large = Expected(float(score.mean()) - r, How.WITHIN, n)
    if 0 < r < 1:
        skill = Expected(1 - float(metrics.brier_score_loss(truth, score, pos_label=1)) / (r * (1 - r)), n=n)
        clipped = np.clip(score, CLIP, 1 - CLIP)
        fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
        fit.fit(np.log(clipped / (1 - clipped))[:, None], truth)
        slope = Expected(float(fit.coef_[0, 0]), How.WITHIN, n)
        intercept = Expected(float(fit.intercept_[0]), How.WITHIN, n)
    yield ("mean_predicted_probability", ""), average
    yield ("calibration_in_the_large", ""), large
    yield ("brier_skill_score", ""), skill
    yield ("calibration_slope", ""), slope
    yield ("calibration_intercept", ""), intercept


def errors(cells: Cells, score: Floats) -> Found:
    """Calibration errors of groups of cells, each where its middle record is; from 150 records on."""
    n = len(score)
    expected = maximum = squared = NONE
    criticals = [NONE, NONE]
    if n >= GROUPS * A_GROUP:
        middle = (np.cumsum(cells.records) - cells.records / 2) / n
        first = np.unique(np.searchsorted(middle, np.arange(GROUPS) / GROUPS))
        first = first[first < len(middle)]
        group = (np.searchsorted(first, np.arange(len(middle)), side="right") - 1)[cells.place]
        size, rate = np.bincount(group), np.add.reduceat(cells.positives, first)
        rate = rate / size
        gap = np.bincount(group, weights=score) / size - rate
        noise = rate * (1 - rate) / np.maximum(size - 1, 1)
        expected = Expected(float(np.average(np.abs(gap), weights=size)), How.WITHIN, n)
        maximum = Expected(float(np.abs(gap).max()), How.WITHIN, n)
        squared = Expected(float(np.average(gap**2 - noise, weights=size)), How.WITHIN, n)
        criticals = _criticals(group, size, score)
    yield ("expected_calibration_error", ""), expected
    yield ("maximum_calibration_error", ""), maximum
    yield ("squared_calibration_error", ""), squared
    yield ("expected_calibration_error_critical", ""), criticals[0]
    yield ("maximum_calibration_error_critical", ""), criticals[1]


def _criticals(group: Floats, size: Floats, score: Floats) -> list[Expected]:
    """Quantiles 0.88 and 0.99 of the errors of calibrated scores.

    400 draws of the quantile 0.95 miss them by five standard errors. Labels are drawn group by group: normal
    by their variance, binomial where one of a class is rare.
    """
    rng, n = np.random.default_rng(20131231), len(score)
    positives, variance = np.bincount(group, weights=score), np.bincount(group, weights=score * (1 - score))
    drawn = rng.normal(0.0, np.sqrt(variance) / size, (2_000, len(size)))
    for at in np.flatnonzero(np.minimum(positives, size - positives) < 1):
        share = positives[at] / size[at]
        drawn[:, at] = share - rng.binomial(size[at], share, 2_000) / size[at]
    gaps = np.abs(drawn)
    found = []
    for value in (gaps @ size / n, gaps.max(axis=1)):
        lower, upper = (float(quantile) for quantile in np.quantile(value, [0.88, 0.99]))
        found.append(Expected(lower, How.BETWEEN, n, (lower, upper)))
    return found
