"""Two scores of the same labelled records, against the raw ones."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from measure_states import binary_reading, labels_part, table
from scipy import special, stats
from sklearn.metrics import accuracy_score, roc_auc_score

from monitor.measures.evaluate import compare_challenger
from monitor.measures.measure_options import MeasureOptions
from monitor.records.counting import Counting
from monitor.records.labels import paired_scores
from monitor.records.labels.paired_scores import coarse_cells
from monitor.records.reading import ChallengerOutput, ModelTask
from monitor.records.reference import make_plain_counting, reference_of
from monitor.states.counters import Counters
from monitor.states.grids import NumericGrid
from monitor.states.pairs import PairedAgreement

READING = replace(binary_reading(), challenger=ChallengerOutput(column="other", threshold=0.5))
PLAIN = make_plain_counting(READING)


def part(
    labels: Sequence[str | None],
    scores: Sequence[float | None],
    challenger: Sequence[float | None],
    counting: Counting = PLAIN,
) -> Counters:
    rows = table(
        label=pa.array(labels, pa.string()),
        score=pa.array(scores, pa.float64()),
        challenger=pa.array(challenger, pa.float64()),
    )
    return labels_part(rows, counting)


def simulated(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    actual = rng.random(n) < 0.3
    champion = special.expit(rng.normal(actual * 1.5 - 1, 1.0))
    return actual, champion, special.expit(special.logit(champion) + rng.normal(actual * 0.4 - 0.1, 0.3))


def of_reference() -> Counting:
    actual, champion, _ = simulated(5_000, seed=4)
    return reference_of(
        pa.table({"label": actual.astype(int).astype(str), "score": champion}), READING
    ).counting


@pytest.mark.parametrize("counting", [PLAIN, of_reference()], ids=["uniform", "reference"])
def test_all_measures_are_those_of_the_raw_scores(counting: Counting) -> None:
    actual, champion, challenger = simulated(4_000)

    counters = part(actual.astype(int).astype(str).tolist(), champion.tolist(), challenger.tolist(), counting)
    measured = {
        one.measure: one.measurement for one in compare_challenger(counting, counters, MeasureOptions())
    }

    right = [(score >= 0.5) == actual for score in (champion, challenger)]
    b, c = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    difference = accuracy_score(actual, challenger >= 0.5) - accuracy_score(actual, champion >= 0.5)
    assert measured["challenger_accuracy_difference"].value == pytest.approx(difference)
    assert measured["sign_test_p_value"].value == pytest.approx(stats.binomtest(c, b + c).pvalue)
    area = measured["challenger_auc_difference"]
    assert area.value is not None
    assert (
        abs(area.value - roc_auc_score(actual, challenger) + roc_auc_score(actual, champion))
        <= area.resolution
    )
    assert area.resolution < 0.003
    losses = [np.log(np.where(actual, score, 1 - score)) for score in (challenger, champion)]
    away = losses[0] - losses[1]
    expected = float(stats.wilcoxon(away, zero_method="wilcox", method="approx").pvalue)
    ranks = measured["signed_rank_p_value"]
    assert ranks.value is not None
    assert abs(ranks.value - expected) <= ranks.resolution + 1e-9


def test_the_sizes_of_differing_losses_are_counted_by_sign() -> None:
    counters = part(["1", "0", "1"], [0.5, 0.5, 0.9], [0.8, 0.8, 0.9])

    losses = paired_scores.loss_differences_view(counters)

    assert losses.zero == 1
    for counts, size in ((losses.larger, np.log(1.6)), (losses.smaller, np.log(2.5))):
        assert counts.sum() == 1
        cell = int(np.flatnonzero(counts)[0])
        assert paired_scores.LOSS_EDGES[cell - 1] <= size < paired_scores.LOSS_EDGES[cell]


def test_the_largest_difference_of_losses_has_a_cell() -> None:
    losses = paired_scores.loss_differences_view(part(["1", "1"], [0.0, 1.0], [1.0, 0.0]))

    assert losses.larger.sum() == losses.smaller.sum() == 1
    assert losses.larger[-1] == 0


def test_records_that_one_of_the_models_does_not_score_are_no_pairs() -> None:
    labels = ["1", "0", "1", "0", None, "1", "what"]
    champion = [0.9, None, 0.8, 1.7, 0.6, 0.7, 0.9]
    challenger = [0.2, 0.4, None, 0.5, 0.1, 0.9, 0.9]

    counters = part(labels, champion, challenger)

    agreement, scores = paired_scores.agreement_view(counters), paired_scores.paired_scores_view(counters)
    assert (agreement.both, agreement.champion_only, agreement.challenger_only, agreement.neither) == (
        1,
        1,
        0,
        0,
    )
    assert scores.joint.sum() == scores.champion.positive.sum() == scores.challenger.positive.sum() == 2
    assert scores.champion.negative.sum() == 0


def test_without_probabilities_there_are_no_losses() -> None:
    counting = make_plain_counting(replace(READING, score_range=(-5.0, 5.0)))

    counters = part(["1", "0"], [3.0, -1.0], [2.0, 4.0], counting)

    assert "signed_rank_p_value" not in {
        one.measure for one in compare_challenger(counting, counters, MeasureOptions())
    }
    assert paired_scores.agreement_view(counters).champion_only == 1


def test_a_challengers_column_or_threshold_that_changes_is_counted_again() -> None:
    hashes = {
        counting.hash_stored_layout(counting.labels_layout)
        for counting in (
            PLAIN,
            make_plain_counting(binary_reading()),
            make_plain_counting(replace(READING, challenger=ChallengerOutput(column="third", threshold=0.5))),
            make_plain_counting(replace(READING, challenger=ChallengerOutput(column="other", threshold=0.4))),
        )
    }

    assert len(hashes) == 4


def test_several_classes_are_compared_by_who_was_right() -> None:
    reading = replace(
        binary_reading(),
        task=ModelTask.MULTICLASS,
        classes=("a", "b", "c"),
        has_score=False,
        threshold=None,
        challenger=ChallengerOutput(column="other"),
    )
    counting = make_plain_counting(reading)
    rows = [  # label, champion, challenger
        *[("a", "a", "a")] * 3,
        *[("b", "b", "c")] * 2,
        *[("c", "a", "c")] * 5,
        ("a", "b", "no class"),
        *[("unseen", "a", "a"), (None, "a", "a"), ("a", None, "a"), ("a", "a", None)],  # no pairs
    ]
    columns = dict(zip(("label", "prediction", "challenger"), zip(*rows, strict=True), strict=True))

    counters = labels_part(
        table(**{name: pa.array(one, pa.string()) for name, one in columns.items()}), counting
    )

    assert paired_scores.agreement_view(counters) == PairedAgreement(3, 2, 5, 1)
    measured = {
        one.measure: one.measurement for one in compare_challenger(counting, counters, MeasureOptions())
    }
    assert set(measured) == {
        "challenger_accuracy_difference",
        "sign_test_p_value",
        "sign_test_p_value_one_sided",
    }
    assert measured["challenger_accuracy_difference"].value == pytest.approx(3 / 11)
    assert measured["sign_test_p_value"].value == pytest.approx(stats.binomtest(5, 7).pvalue)


def test_models_without_a_challenger_are_not_compared() -> None:
    counting = make_plain_counting(binary_reading())

    assert compare_challenger(counting, Counters.make_empty(counting.labels_layout), MeasureOptions()) == []


@pytest.mark.parametrize(
    ("regular", "cells"), [(1, 64), (2, 64), (64, 64), (65, 64), (4_000, 1_024), (4_000, 2)]
)
def test_merged_cells_are_few_ascending_and_about_equal(regular: int, cells: int) -> None:
    merged = coarse_cells(regular, cells)

    assert merged.tolist() == sorted(merged.tolist())
    sizes = np.bincount(merged)
    assert len(sizes) == min(regular, cells)
    assert sizes.max() <= 2 * sizes.min() + 1


def test_a_score_on_a_kept_edge_lies_above_it_in_fine_and_merged_cells() -> None:
    grid = NumericGrid(edges=tuple(np.linspace(0, 1, 200).tolist()))
    merged = coarse_cells(grid.regular_size, 10)
    kept = np.asarray(grid.edges)[np.flatnonzero(np.diff(merged))]

    cells = merged[grid.value_cells(kept, np.zeros(len(kept), dtype=bool))]

    assert cells.tolist() == list(range(1, 10))
