"""Nowcasts: weighed counts give what scikit-learn gives of weighed records, with intervals to match."""

import numpy as np
import pyarrow as pa
import pytest
from measure_states import (
    binary_counting,
    by_name,
    labels_part,
    number_counting,
    probability_columns,
    probability_counting,
    scored,
    table,
)
from scipy import stats
from sklearn import metrics

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.nowcast import absent_nowcasts, count_class_labels, nowcast_results, weight_labels
from monitor.measures.statistics.label_delays import has_score_dependence
from monitor.records.counting import DELAY_SUMS, Counting
from monitor.records.reading import ModelTask
from monitor.states import sums
from monitor.states.counters import Counters
from monitor.states.views import ExactSums

AMOUNTS = {("1", "1"): 4.0, ("0", "1"): -1.0}
ASK = MeasureOptions(profit=AMOUNTS)
SHARE = np.asarray([[0.9, 0.3], [1.0, 0.5], [0.4, 0.25]])
NONE = np.zeros((2, 2))


def drawn(rng: np.random.Generator, n: int = 400) -> tuple[Floats, Ints]:
    label = (rng.random(n) < 0.3).astype(np.int64)
    return np.clip(rng.normal(0.35 + 0.25 * label, 0.2), 0.001, 0.999).round(3), label


def pieces_of(counting: Counting) -> tuple[list[Counters], Floats, Ints, Floats]:
    rng = np.random.default_rng(3)
    parts = [drawn(rng) for _ in SHARE]
    score, label = (np.concatenate(column) for column in zip(*parts, strict=True))
    weight = np.concatenate([1 / share[one] for share, (_, one) in zip(SHARE, parts, strict=True)])
    return [scored(*part, counting) for part in parts], score, label, weight


def test_weighed_counts_give_what_scikit_learn_gives_of_weighed_records() -> None:
    counting = binary_counting()
    pieces, score, label, weight = pieces_of(counting)
    predicted = (score >= 0.5).astype(int)

    found = by_name(list(nowcast_results(weight_labels(counting, pieces, SHARE, NONE), ASK)))

    profit = np.average(predicted * np.where(label == 1, 4.0, -1.0), weights=weight)
    recall = metrics.recall_score(label, predicted, sample_weight=weight, average=None)
    oracle = {
        "roc_auc": metrics.roc_auc_score(label, score, sample_weight=weight),
        "accuracy": metrics.accuracy_score(label, predicted, sample_weight=weight),
        "base_rate": np.average(label, weights=weight),
        "precision": metrics.precision_score(label, predicted, sample_weight=weight),
        "recall": recall[1],
        "f1": metrics.f1_score(label, predicted, sample_weight=weight),
        "average_class_accuracy": metrics.balanced_accuracy_score(label, predicted, sample_weight=weight),
        "harmonic_class_accuracy": 2 / (1 / recall).sum(),
        "brier_score": metrics.brier_score_loss(label, score, sample_weight=weight),
        "log_loss": metrics.log_loss(label, score, sample_weight=weight),
        "profit_per_record": profit,
    }
    for name, value in oracle.items():
        tolerance = found[name].resolution + 1e-9 if name == "roc_auc" else 1e-9
        assert found[name].value == pytest.approx(value, abs=tolerance), name
        interval = found[name].interval
        assert interval is not None, name
        assert interval.lower < value < interval.upper, name


def test_with_all_labels_in_values_are_those_of_the_counts_and_intervals_hardly_differ() -> None:
    counting = binary_counting()
    pieces, *_ = pieces_of(counting)
    whole = Counters.merge_all(counting.labels_layout, pieces)

    told = by_name(list(nowcast_results(weight_labels(counting, pieces, np.ones_like(SHARE), NONE), ASK)))
    raw = by_name(measure_performance(counting, whole, ASK))

    for name, found in told.items():
        was, now = raw[name].interval, found.interval
        assert found.value == pytest.approx(raw[name].value, abs=1e-12), name
        assert found.n == raw[name].n
        assert was is not None, name
        assert now is not None, name
        assert now.upper - now.lower == pytest.approx(was.upper - was.lower, rel=0.12), name


def test_errors_of_the_classes_totals_widen_what_depends_on_their_mix_alone() -> None:
    counting = binary_counting()
    pieces, *_ = pieces_of(counting)
    off = np.diag([0.0, 0.04])

    sure = by_name(list(nowcast_results(weight_labels(counting, pieces, SHARE, NONE), ASK)))
    unsure = by_name(list(nowcast_results(weight_labels(counting, pieces, SHARE, off), ASK)))

    def width(found: dict[str, Measurement], name: str) -> float:
        interval = found[name].interval
        assert interval is not None
        return float(interval.upper - interval.lower)

    for name in ("roc_auc", "recall", "average_class_accuracy"):
        assert width(unsure, name) == pytest.approx(width(sure, name), rel=1e-6), name
    for name in ("base_rate", "precision", "brier_score", "profit_per_record"):
        assert width(unsure, name) > 1.02 * width(sure, name), name
    p = unsure["base_rate"].value
    assert p is not None
    grown = width(unsure, "base_rate") ** 2 - width(sure, "base_rate") ** 2
    assert grown == pytest.approx((2 * 1.96 * 0.2 * p * (1 - p)) ** 2, rel=0.1)


def test_losses_of_several_classes_are_weighed_class_by_class() -> None:
    classes = ("a", "b", "c")
    counting = probability_counting(classes)
    rng = np.random.default_rng(4)
    chances = rng.dirichlet(np.ones(3), 300)
    actual = np.asarray([rng.choice(3, p=chance) for chance in chances])
    texts = pa.array([classes[at] for at in actual], pa.string())
    part = labels_part(table(label=texts, **probability_columns(classes, chances)), counting)
    share = np.asarray([[0.5, 0.8, 1.0]])
    weight = 1 / share[0][actual]

    found = by_name(
        list(nowcast_results(weight_labels(counting, [part], share, np.zeros((3, 3))), MeasureOptions()))
    )

    loss = metrics.log_loss(actual, chances, sample_weight=weight)
    right = metrics.accuracy_score(actual, chances.argmax(axis=1), sample_weight=weight)
    assert found["log_loss"].value == pytest.approx(loss, abs=1e-9)
    assert found["accuracy"].value == pytest.approx(right)
    assert "roc_auc" not in found


def test_errors_of_numbers_are_weighed_pane_by_pane() -> None:
    counting = number_counting()
    rng = np.random.default_rng(5)
    parts, errors, weights = [], [], []
    share = np.asarray([[0.25], [1.0]])
    for each in share[:, 0]:
        label, off = rng.normal(size=200), rng.normal(0.3, 1.0, 200)
        parts.append(labels_part(table(label=pa.array(label), prediction=pa.array(label + off)), counting))
        errors.append(off)
        weights.append(np.full(200, 1 / each))
    error, weight = np.concatenate(errors), np.concatenate(weights)

    found = by_name(
        list(nowcast_results(weight_labels(counting, parts, share, np.zeros((1, 1))), MeasureOptions()))
    )

    oracle = {
        "mean_absolute_error": np.average(np.abs(error), weights=weight),
        "root_mean_squared_error": np.sqrt(np.average(error**2, weights=weight)),
        "bias": np.average(error, weights=weight),
    }
    for name, value in oracle.items():
        assert found[name].value == pytest.approx(value, abs=1e-9), name
        assert found[name].interval is not None, name
    interval = found["bias"].interval
    assert interval is not None
    spread = np.sqrt((weight**2 * (error - oracle["bias"]) ** 2).sum()) / weight.sum()
    assert interval.upper - interval.lower == pytest.approx(2 * 1.96 * spread, rel=1e-3)


def test_what_is_absent_bears_every_name_that_a_nowcast_would_have() -> None:
    counting = binary_counting()
    pieces, *_ = pieces_of(counting)

    names = [
        (result.measure, result.subject) for result in absent_nowcasts(counting, Reason.TOO_EARLY, ASK, n=7)
    ]
    told = list(nowcast_results(weight_labels(counting, pieces, SHARE, NONE), ASK))

    assert names == [(result.measure, result.subject) for result in told]
    nowcasts = {measure.name for measure in CATALOGUE if ModelTask.BINARY in measure.nowcast}
    assert {result.measure for result in told} == nowcasts


def test_no_labels_one_class_and_perfect_predictions_have_their_reasons_or_one_sided_intervals() -> None:
    counting = binary_counting()
    nothing = by_name(list(nowcast_results(weight_labels(counting, [], np.empty((0, 2)), NONE), ASK)))
    one = by_name(
        list(nowcast_results(weight_labels(counting, [scored([0.2], [0], counting)], SHARE[:1], NONE), ASK))
    )
    right = scored([0.1] * 20 + [0.9] * 20, [0] * 20 + [1] * 20, counting)
    perfect = by_name(list(nowcast_results(weight_labels(counting, [right], SHARE[:1], NONE), ASK)))

    assert {found.reason for found in nothing.values()} == {Reason.NO_LABELS}
    assert one["roc_auc"].reason is Reason.ONE_CLASS
    assert one["recall"].reason is Reason.UNDEFINED
    assert perfect["recall"].value == 1.0
    assert perfect["recall"].interval is not None
    assert 0.8 < perfect["recall"].interval.lower < 0.9
    assert perfect["recall"].interval.upper == 1.0


def test_one_answer_for_all_has_bounds_by_those_of_the_recalls_as_scipy_has_them() -> None:
    counting = binary_counting()
    always = scored([0.1] * 100 + [0.2] * 15, [0] * 100 + [1] * 15, counting)

    found = by_name(list(nowcast_results(weight_labels(counting, [always], np.ones((1, 2)), NONE), ASK)))

    (_, most), (least, _) = (
        stats.binomtest(*of).proportion_ci(method="wilson") for of in ((0, 15), (100, 100))
    )
    for name, value, bounds in (
        ("average_class_accuracy", 0.5, (least / 2, (1 + most) / 2)),
        ("harmonic_class_accuracy", 0.0, (0.0, 2 * most / (1 + most))),
        ("f1", 0.0, (0.0, 2 * 15 * most / (15 + 15 * most))),
    ):
        interval = found[name].interval
        assert found[name].value == value
        assert interval is not None
        assert (interval.lower, interval.upper) == pytest.approx(bounds, abs=1e-9), name


@pytest.mark.parametrize("n", [7, 15, 235, 749])
def test_bounds_of_one_answer_for_all_hold_the_value_exactly(n: int) -> None:
    counting = binary_counting()
    always = scored([0.1] * 1_890 + [0.2] * n, [0] * 1_890 + [1] * n, counting)

    found = by_name(list(nowcast_results(weight_labels(counting, [always], SHARE[:1], NONE), ASK)))

    for name in ("average_class_accuracy", "harmonic_class_accuracy", "f1"):
        value, interval = found[name].value, found[name].interval
        assert value is not None
        assert interval is not None
        assert interval.lower <= value <= interval.upper, name


def test_labels_are_counted_by_class_and_piece() -> None:
    counting = binary_counting()
    pieces, _, label, _ = pieces_of(counting)

    assert count_class_labels(counting, pieces).sum(axis=0).tolist() == [
        int((label == 0).sum()),
        int(label.sum()),
    ]


@pytest.mark.parametrize(("slope", "told"), [(0.0, False), (0.05, False), (0.6, True), (-0.6, True)])
def test_delays_that_depend_on_the_score_within_a_class_are_told(slope: float, *, told: bool) -> None:
    rng = np.random.default_rng(6)
    rank = rng.random(4_000)
    delay = 10 + slope * rank + rng.normal(0, 0.5, 4_000)
    terms = (delay, delay**2, rank, rank**2, delay * rank)
    block = np.zeros((4, len(DELAY_SUMS)), dtype=np.int64)
    for at, term in enumerate(terms):
        hi, lo, _ = sums.split_halves(term)
        block[:, at] = len(rank), 0, hi.sum(), lo.sum()
    independent = np.zeros_like(block)

    views = [ExactSums(one, DELAY_SUMS, (1.0,) * len(DELAY_SUMS)) for one in (independent, block)]

    assert has_score_dependence(views) is told


def sums_with(r: float, n: int) -> ExactSums:
    """Sums of n delays and ranks of which half lie at 0, half at 1, with a correlation of r."""
    each = n / 2
    both = n * (1 + r) / 4
    block = np.zeros((4, len(DELAY_SUMS)), dtype=np.int64)
    for at, total in enumerate((each, each, each, each, both)):
        hi, lo, _ = sums.split_halves(np.asarray(total))
        block[:, at] = n, 0, hi, lo
    return ExactSums(block, DELAY_SUMS, (1.0,) * len(DELAY_SUMS))


@pytest.mark.parametrize(
    ("r", "n", "told"),
    [
        (0.11, 4_000, True),
        (-0.11, 4_000, True),
        (0.09, 4_000, False),  # sure, and small
        (0.11, 1_000, False),  # large, and 3.5 standard errors
        (1.0, 50, True),
        (1.0, 49, False),  # too few to be looked at
        (0.527, 50, True),  # 4.02 standard errors, of 47
        (0.524, 50, False),  # 3.99 of them
        (0.0, 4_000, False),
    ],
)
def test_delays_depend_where_the_correlation_is_large_and_sure(r: float, n: int, *, told: bool) -> None:
    assert has_score_dependence([sums_with(r, n)]) is told


def test_delays_that_are_all_equal_depend_on_nothing() -> None:
    block = sums_with(0.5, 400).counts.copy()
    block[2:, :2] = 0  # every delay is 1 s

    assert not has_score_dependence([ExactSums(block, DELAY_SUMS, (1.0,) * len(DELAY_SUMS))])
