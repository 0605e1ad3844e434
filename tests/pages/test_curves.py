"""Drawn curves are the curves: read back from the picture they give the measure, and the book's figures."""

import csv
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from monitor.charts.plot import draw_plot
from monitor.measures.classification.discrimination import roc_auc
from monitor.measures.classification.gains import average_precision
from monitor.measures.statistics.curve_corners import find_corners
from monitor.measures.statistics.ranked_scores import RankedScores
from monitor.pages.figures import Figure
from monitor.pages.window import curve_charts
from monitor.pages.window.curve_charts import ScoreSide
from monitor.states.views import ConfusionCounts, ScoreTable

GOLDEN = Path(__file__).parents[1] / "golden"
NO_DECISIONS = ConfusionCounts(("0", "1"), np.zeros((3, 3), dtype=np.int64))
Point = tuple[float, float]


def ranked_of(scores: np.ndarray, labels: np.ndarray) -> RankedScores:
    """Scores each in a narrow cell of its own."""
    values = np.unique(scores)
    bounds = np.unique(np.concatenate([values, values + 1e-7]))
    cell = np.searchsorted(bounds, scores)
    counts = [np.bincount(cell[labels == side], minlength=len(bounds) - 1) for side in (0, 1)]
    return RankedScores.from_table(ScoreTable(*counts), bounds)


def spam() -> tuple[RankedScores, np.ndarray, np.ndarray]:
    with (GOLDEN / "spam_ham.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    label = next(
        name for name in rows[0] if {row[name] for row in rows} == {"spam", "ham"} and "pred" not in name
    )
    scores = np.asarray([float(row["score"]) for row in rows])
    labels = np.asarray([int(row[label] == "spam") for row in rows])
    return ranked_of(scores, labels), scores, labels


def golden(name: str) -> dict[str, Any]:
    cases = json.loads((GOLDEN / "golden.json").read_text(encoding="utf-8"))
    expected: dict[str, Any] = next(case["expected"] for case in cases if case["id"] == name)
    return expected


def read_back(figure: Figure, kind: str = "main") -> list[Point]:
    """Points of a line, from the picture's path, in the units of its axes."""
    plot = figure.plot
    path = re.search(rf'<path class="line {kind}" d="M([^"]*)"', draw_plot(plot))
    assert path is not None
    points = [tuple(map(float, pair.split())) for pair in path[1].split("L")]
    wide, tall = plot.x.high - plot.x.low, plot.y.high - plot.y.low
    return [(plot.x.low + x / 1000 * wide, plot.y.low + (1 - y / plot.height) * tall) for x, y in points]


def area(points: list[Point]) -> float:
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))


def test_the_textbooks_e_mails_are_drawn_with_their_separation() -> None:
    ranked, scores, labels = spam()
    figure = curve_charts.draw_separation(ranked, "0.576")
    picture = draw_plot(figure.plot)
    expected = golden("spam_ks")

    assert ">0.576 at 0.657</text>" in picture
    assert expected["ks"] == pytest.approx(0.576, abs=5e-4)
    for kind, name in (("main", "cp_neg"), ("second", "cp_pos")):
        ends = [y for _, y in read_back(figure, kind)][1:]
        assert ends == pytest.approx(expected[name], abs=1e-4)
    assert area(
        read_back(curve_charts.draw_roc([ScoreSide("model", "main", ranked)], NO_DECISIONS, ""))
    ) == pytest.approx(roc_auc_score(labels, scores), abs=1e-5)


def test_the_textbooks_deciles_are_drawn_and_told() -> None:
    ranked, _, _ = spam()
    cumulative, lift = curve_charts.draw_deciles([ScoreSide("model", "main", ranked)])
    expected = golden("spam_gain_lift")

    def bars(figure: Figure) -> list[float]:
        heights = re.findall(r'<rect class="bar main"[^>]* height="([\d.]+)"', draw_plot(figure.plot))
        tall = figure.plot.y.high - figure.plot.y.low
        return [float(height) / figure.plot.height * tall for height in heights]

    def column(at: int) -> list[float]:
        return [float(row[at].removesuffix(" %")) for row in lift.rows]

    assert column(3) == pytest.approx([100 * share for share in expected["gain"]], abs=1e-2)
    assert bars(lift) == pytest.approx(expected["lift"], abs=1e-3)
    assert column(6) == pytest.approx(expected["cum_lift"], abs=1e-3)
    assert [y for _, y in read_back(cumulative)][1:] == pytest.approx(expected["cum_gain"], abs=1e-4)
    assert [row[4] for row in cumulative.rows][:3] == ["22.22 %", "33.33 %", "55.56 %"]


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
def test_the_threshold_of_decisions_is_found_in_them(seed: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, 500)])
    scores = np.concatenate([[0.0, 1.0], np.round(rng.uniform(size=500), 3)])
    ranked = ranked_of(scores, labels)
    said = scores >= threshold
    table = np.zeros((3, 3), dtype=np.int64)
    for actual in (0, 1):
        for answer in (0, 1):
            table[actual, answer] = int(((labels == actual) & (said == answer)).sum())
    found = curve_charts.find_used_threshold(ranked, ConfusionCounts(("0", "1"), table))

    assert found is not None
    assert (((scores >= found) != said).sum()) <= 0.01 * said.sum()


def test_decisions_that_follow_no_score_have_no_threshold() -> None:
    scores = np.arange(200) / 200
    labels = np.tile([0, 1], 100)
    table = np.zeros((3, 3), dtype=np.int64)
    table[:2, :2] = [[100, 0], [0, 100]]  # all are right, whatever they score

    assert (
        curve_charts.find_used_threshold(ranked_of(scores, labels), ConfusionCounts(("0", "1"), table))
        is None
    )


def test_a_square_is_drawn_in_shares_of_itself() -> None:
    ranked, _, _ = spam()
    figure = curve_charts.draw_roc([ScoreSide("model", "main", ranked)], None, "")
    picture = draw_plot(figure.plot)

    assert picture.startswith('<div class="square"><svg class="plot" width="100%" height="100%"')
    assert re.findall(r'<line class="grid" x1="0" x2="100%" y1="([^"]*)"', picture) == [
        "100%", "75%", "50%", "25%", "0%",
    ]  # fmt: skip


@given(st.integers(0, 2**32 - 1), st.sampled_from([30, 400, 5_000]), st.sampled_from([0.0, 0.3, 2.0]))
def test_a_drawn_curve_has_the_area_of_its_measure(seed: int, n: int, apart: float) -> None:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, n)])
    scores = np.round(1 / (1 + np.exp(-rng.normal(apart * labels, 1))), 4)
    ranked = ranked_of(scores, labels)
    sides = [ScoreSide("model", "main", ranked)]
    figure = curve_charts.draw_roc(sides, NO_DECISIONS, "")

    result = roc_auc(ranked.table)
    assert len(read_back(figure)) <= 200
    assert result.value == pytest.approx(roc_auc_score(labels, scores), abs=1e-9)
    assert area(read_back(figure)) == pytest.approx(result.value, abs=2e-4 + result.resolution)
    ks = float(np.abs(ranked.recall - ranked.fallout).max())
    assert f">{ks:.3f} at " in draw_plot(curve_charts.draw_separation(ranked, "").plot)
    kept = read_back(curve_charts.draw_precision_recall(sides, ""))
    found = average_precision(ranked, None)
    assert found.value == pytest.approx(average_precision_score(labels, scores), abs=1e-9)
    assert kept[-1] == pytest.approx((1.0, ranked.positives / ranked.n), abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(2, 1_000), st.integers(3, 50))
def test_corners_are_few_and_hold_the_ends_and_what_must_be(seed: int, n: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.uniform(size=n)), rng.normal(size=n)
    top = int(np.argmax(y))
    kept = find_corners(x, y, most=most, must=[top]).tolist()

    assert kept == sorted(set(kept))
    assert {0, n - 1, top} <= set(kept)
    assert len(kept) <= max(most, 3)


def test_a_curve_of_few_points_keeps_them_all() -> None:
    x = np.linspace(0, 1, 150)

    assert find_corners(x, x**2).tolist() == list(range(150))


def test_what_lies_on_a_line_is_no_corner() -> None:
    x = np.linspace(0, 1, 1_001)

    assert find_corners(x, np.abs(x - 0.5)).tolist() == [0, 500, 1_000]


@pytest.mark.parametrize("least", [1e-9, 2e-4])
def test_a_curve_of_one_point_is_that_point(least: float) -> None:
    assert find_corners(np.asarray([0.5]), np.asarray([0.5]), least=least).tolist() == [0]
    assert find_corners(np.zeros(300), np.linspace(0, 1, 300), least=least).tolist() == [0, 299]
