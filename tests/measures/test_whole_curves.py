"""Kept curves are the curves: integrated again they give their measures."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from sklearn.metrics import roc_auc_score, roc_curve

from monitor.core.measurement import DetailTable
from monitor.measures.classification.binary_scores import ScoredLabels, make_score_curves
from monitor.measures.classification.gains import average_precision, make_binary_amounts, profit_curve
from monitor.measures.statistics.curve_corners import MOST, find_corners
from monitor.measures.statistics.ranked_scores import EXACT, RankedScores
from monitor.states.views import ScoreTable

CLASSES = ("0", "1")
PROFIT = {("1", "1"): 100.0, ("0", "1"): -30.0}
CELLS = st.sampled_from([3, 80, 700, 4_000])
TABLES = st.tuples(st.integers(0, 2**32 - 1), CELLS, st.sampled_from([0.0, 0.4, 3.0]))


def scored(seed: int, cells: int, apart: float) -> tuple[ScoredLabels, np.ndarray, np.ndarray]:
    """Scores at the lower edges of cells, and their labels; both classes are there."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, 2 * cells)])
    scores = np.floor(cells / (1 + np.exp(-rng.normal(apart * labels, 1)))) / cells
    bounds = np.linspace(0, 1, cells + 1)
    cell = np.clip(np.rint(scores * cells).astype(int), 0, cells - 1)
    counts = [np.bincount(cell[labels == side], minlength=cells) for side in (0, 1)]
    return ScoredLabels(ScoreTable(*counts), bounds, CLASSES, None, 0), bounds[cell], labels


def columns(detail: DetailTable) -> list[np.ndarray]:
    """Columns as numbers, what is infinite as that."""
    rows = [[math.inf if value is None else float(value) for value in row] for row in detail.rows]
    return list(np.asarray(rows).T)


def area(x: np.ndarray, y: np.ndarray) -> float:
    return float(trapezoid(y, x))


@given(TABLES)
def test_every_kept_curve_integrates_to_its_measure(case: tuple[int, int, float]) -> None:
    of, scores, labels = scored(*case)
    ranked = RankedScores.from_table(of.table, of.bounds)
    found = make_score_curves(of, PROFIT, 0.5)
    threshold, fallout, recall = columns(found["roc_auc"])

    assert {len(detail.rows) <= MOST for detail in found.values()} == {True}
    assert area(fallout, recall) == pytest.approx(roc_auc_score(labels, scores), abs=5 * EXACT)
    assert (fallout[0], recall[0], fallout[-1], recall[-1]) == (0, 0, 1, 1)
    assert threshold[0] == math.inf
    _, precision, found_share = columns(found["average_precision"])
    full = average_precision(ranked)
    assert full.value is not None
    trapezoids = area(np.append(0, found_share), np.append(precision[0], precision))
    assert trapezoids == pytest.approx(full.value, abs=full.resolution + 1 / ranked.positives + 5 * EXACT)
    score, negative, positive = columns(found["ks_separation"])
    means = [scores[labels == side].mean() for side in (0, 1)]
    width = 1 / (len(of.bounds) - 1)
    assert area(score, negative) - area(score, positive) == pytest.approx(
        means[1] - means[0], abs=width + 10 * EXACT
    )


@given(TABLES)
def test_the_maximum_and_the_threshold_are_always_among_the_points(case: tuple[int, int, float]) -> None:
    of, scores, labels = scored(*case)
    found = make_score_curves(of, PROFIT, 0.5)
    false_rate, true_rate, _ = roc_curve(labels, scores, drop_intermediate=False)
    _, fallout, recall = columns(found["roc_auc"])
    _, negative, positive = columns(found["ks_separation"])
    said = scores >= 0.5

    assert np.abs(recall - fallout).max() == pytest.approx(np.abs(true_rate - false_rate).max(), abs=1e-5)
    assert np.abs(negative - positive).max() == pytest.approx(np.abs(true_rate - false_rate).max(), abs=1e-5)
    decided = (said[labels == 0].mean(), said[labels == 1].mean())
    assert min(np.hypot(fallout - decided[0], recall - decided[1])) < 1e-5
    assert min(np.hypot(negative - 1 + decided[0], positive - 1 + decided[1])) < 1e-5
    worth = profit_curve(RankedScores.from_table(of.table, of.bounds), make_binary_amounts(CLASSES, PROFIT))
    thresholds, kept, rates = columns(found["best_profit"])
    assert kept.max() == pytest.approx(worth.max(), rel=1e-5, abs=1e-9)
    assert min(abs(rates - said.mean())) < 1e-5
    assert len(thresholds) == len(kept)


def test_one_class_has_no_curves() -> None:
    table = ScoreTable(np.asarray([1, 2, 3]), np.zeros(3, dtype=np.int64))

    assert make_score_curves(ScoredLabels(table, np.linspace(0, 1, 4), CLASSES, None, 0), PROFIT, 0.5) == {}


@pytest.mark.parametrize(
    ("y", "asked", "kept"),
    [
        ([0.0, 3.0, 0.0, 2.0, 0.0], {"most": 4, "must": (2,)}, [0, 1, 2, 4]),  # the heavier first
        ([0.0, 2.0, 0.0, 3.0, 0.0], {"most": 4, "must": (2,)}, [0, 2, 3, 4]),
        ([0.0, 3.0, 0.0, 2.0, 0.0], {"least": 0.8, "must": (2,)}, [0, 1, 2, 4]),  # of the height, which is 3
        ([0.0, 3.0, 0.0, 2.0, 0.0], {"least": 0.5, "must": (2,)}, [0, 1, 2, 3, 4]),
        ([0.0, 3.0, 0.0, 2.0, 0.0], {"most": 5}, [0, 1, 2, 3, 4]),
        ([0.0, 2.0, 2.5, 2.7, 3.0], {"most": 3}, [0, 1, 4]),
        ([1.0, 1.0, 1.0, 1.0, 1.0], {"most": 4}, [0, 4]),  # a line needs its ends
        ([0.0, 1.0, 0.0], {}, [0, 1, 2]),
    ],
)
def test_corners_are_what_lies_farthest_from_the_line_so_far(
    y: list[float], asked: dict[str, Any], kept: list[int]
) -> None:
    assert find_corners(np.arange(float(len(y))), np.asarray(y), **asked).tolist() == kept


def test_points_above_one_another_are_as_far_apart_as_their_numbers() -> None:
    x, y = np.asarray([0.0, 1.0, 1.0, 1.0, 2.0]), np.asarray([0.0, 0.0, 5.0, 10.0, 10.0])

    assert find_corners(x, y, most=5, must=(1, 3)).tolist() == [0, 1, 2, 3, 4]  # few enough: all of them
    assert find_corners(x, y, most=4, must=(1, 3)).tolist() == [0, 1, 3, 4]
    assert find_corners(x, y, must=(1, 3), least=0.001).tolist() == [0, 1, 3, 4]
