"""Measures of a binary model's scores once more, from the raw scores: by sorting and by scikit-learn."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from oracle import LEVEL, Expected, Floats, How, Key, Log, valid
from scipy import stats
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

TOPS = {"top:1%": 0.01, "top:5%": 0.05, "top:10%": 0.1}
CLIP = 2.0**-12
NONE = Expected(None)


def of_scores(log: Log, told: pd.DataFrame) -> dict[Key, Expected]:
    """All that is measured of labelled scores beside their headlines; nothing for other models."""
    if not (log.binary and log.scored):
        return {}
    rows = told[told["actual"].isin((0, 1)) & valid(told, "score", log)]
    score, truth = rows["score"].to_numpy(dtype=float), rows["actual"].to_numpy(dtype=int)
    families = (_ranking(score, truth), _tops(score, truth), _calibration(score, truth))
    found = {key: expected for family in families for key, expected in family}
    return found | (dict(_profits(log, score, truth)) if log.profit else {})


def _ranking(score: Floats, truth: Floats) -> Iterator[tuple[Key, Expected]]:
    gini = precision = critical = threshold = NONE
    n, p = len(truth), int(truth.sum())
    if 0 < p < n:
        gini = Expected(2 * float(metrics.roc_auc_score(truth, score)) - 1, How.WITHIN, n)
        precision = Expected(float(metrics.average_precision_score(truth, score)), How.WITHIN, n)
        limit = float(stats.kstwobign.ppf(LEVEL)) * np.sqrt(1 / p + 1 / (n - p))
        critical = Expected(min(1.0, float(limit)), n=n)
        threshold = Expected(0.5, How.BETWEEN, n, (float(score.min()), float(score.max()) + 1 / 2048))
    yield ("gini", ""), gini
    yield ("average_precision", ""), precision
    yield ("ks_separation_critical", ""), critical
    yield ("ks_separation_threshold", ""), threshold


def _tops(score: Floats, truth: Floats) -> Iterator[tuple[Key, Expected]]:
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


def _profits(log: Log, score: Floats, truth: Floats) -> Iterator[tuple[Key, Expected]]:
    best = threshold = NONE
    if len(set(truth)) == 2:
        amount = np.asarray(
            [[log.profit.get((actual, said), 0.0) for said in log.classes] for actual in log.classes]
        )
        order = np.argsort(-score, kind="stable")
        change = (amount[:, 1] - amount[:, 0])[truth[order]]
        after = amount[truth, 0].sum() + np.concatenate([[0.0], np.cumsum(change)])
        ends = np.append(np.diff(score[order]) != 0, True)
        whole = after[np.concatenate([[True], ends])]
        best = Expected(
            float(whole.max()), How.BETWEEN, len(truth), (float(max(whole[[0, -1]])), float(whole.max()))
        )
        if whole.argmax():
            threshold = Expected(0.5, How.BETWEEN, len(truth), (0.0, 1.0))
    yield ("best_profit", ""), best
    yield ("best_profit_threshold", ""), threshold


def _calibration(score: Floats, truth: Floats) -> Iterator[tuple[Key, Expected]]:
    n, r = len(truth), float(truth.mean()) if len(truth) else 0.0
    mean = large = skill = slope = intercept = NONE
    if n:
        mean = Expected(float(score.mean()), How.WITHIN, n)
        large = Expected(float(score.mean()) - r, How.WITHIN, n)
    if 0 < r < 1:
        skill = Expected(1 - float(metrics.brier_score_loss(truth, score, pos_label=1)) / (r * (1 - r)), n=n)
        clipped = np.clip(score, CLIP, 1 - CLIP)
        fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
        fit.fit(np.log(clipped / (1 - clipped))[:, None], truth)
        slope = Expected(float(fit.coef_[0, 0]), How.WITHIN, n)
        intercept = Expected(float(fit.intercept_[0]), How.WITHIN, n)
    yield ("mean_predicted_probability", ""), mean
    yield ("calibration_in_the_large", ""), large
    yield ("brier_skill_score", ""), skill
    yield ("calibration_slope", ""), slope
    yield ("calibration_intercept", ""), intercept
    yield from _errors(n, abs(large.value or 0.0))


def _errors(n: int, least: float) -> Iterator[tuple[Key, Expected]]:
    """Errors by group: no less than the error of all records together; which groups is up to the cells."""
    lowest = {"expected": least, "maximum": least, "squared": -1.0}
    for name, low in lowest.items():
        few = n < 150
        error = NONE if few else Expected(0.5, How.BETWEEN, n, (low - 1 / 2048, 1.0))
        yield (f"{name}_calibration_error", ""), error
        if name != "squared":
            critical = NONE if few else Expected(0.5, How.BETWEEN, n, (0.0, 1.0))
            yield (f"{name}_calibration_error_critical", ""), critical
