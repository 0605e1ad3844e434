"""Two models on the same records, against SciPy and DeLong's method written out for raw scores."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.measurement import Reason
from monitor.measures.comparison.challenger import (
    accuracy_difference,
    auc_difference,
    challenger_results,
    discordant_evidence,
    evidence_results,
    sign_test,
    sign_test_one_sided,
    signed_rank,
)
from monitor.states.pairs import PairedAgreement, PairedLosses, PairedScores
from monitor.states.views import ScoreTable

EDGES = np.exp(np.arange(-14.0, 4.2, math.log(1.01)))


def delong(actual: Bools, first: Floats, second: Floats) -> tuple[float, float]:
    """Difference of the areas and its variance, of all pairs of records."""
    parts = []
    for score in (first, second):
        wins = np.sign(score[actual][:, None] - score[~actual][None, :]) / 2 + 0.5
        parts.append((wins.mean(axis=1), wins.mean(axis=0), wins.mean()))
    positive, negative = (parts[1][at] - parts[0][at] for at in (0, 1))
    variance = positive.var(ddof=1) / len(positive) + negative.var(ddof=1) / len(negative)
    return float(parts[1][2] - parts[0][2]), float(variance)


def table(actual: Bools, cell: Ints, cells: int) -> ScoreTable:
    return ScoreTable(*(np.bincount(cell[actual == kind], minlength=cells) for kind in (False, True)))


def paired(actual: Bools, first: Floats, second: Floats, cells: int = 64) -> PairedScores:
    fine = [np.minimum((score * 1_024).astype(np.int64), 1_023) for score in (first, second)]
    coarse = [np.minimum((score * cells).astype(np.int64), cells - 1) for score in (first, second)]
    joint = np.zeros((2, cells, cells), dtype=np.int64)
    np.add.at(joint, (actual.astype(np.int64), coarse[0], coarse[1]), 1)
    return PairedScores(table(actual, fine[0], 1_024), table(actual, fine[1], 1_024), joint)


def losses(differences: Floats) -> PairedLosses:
    cell = np.searchsorted(EDGES, np.abs(differences), side="right")
    sides = [
        np.bincount(cell[chosen], minlength=len(EDGES) + 1) for chosen in (differences < 0, differences > 0)
    ]
    return PairedLosses(int((differences == 0).sum()), *sides)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 100))
def test_the_sign_test_is_scipys_binomial_test(b: int, c: int, others: int) -> None:
    agreement = PairedAgreement(others, b, c, 0)

    if b + c:
        assert sign_test(agreement).value == pytest.approx(stats.binomtest(c, b + c).pvalue)
        expected = stats.binomtest(c, b + c, alternative="greater").pvalue
        assert sign_test_one_sided(agreement).value == pytest.approx(expected)
    else:
        assert sign_test(agreement).value == sign_test_one_sided(agreement).value == 1.0


def test_without_records_nothing_is_compared() -> None:
    nothing = PairedAgreement(0, 0, 0, 0)
    empty = PairedScores(
        *(ScoreTable(np.zeros(3, np.int64), np.zeros(3, np.int64)),) * 2, np.zeros((2, 3, 3), np.int64)
    )

    found = [accuracy_difference(nothing), sign_test(nothing), sign_test_one_sided(nothing)]
    found += [auc_difference(empty), signed_rank(losses(np.empty(0)))]
    found += [result.measurement for result in evidence_results(nothing, 0.0)]

    assert {measured.reason for measured in found} == {Reason.NO_LABELS}


def test_the_difference_of_accuracies_is_that_of_the_records_that_only_one_predicts_right() -> None:
    measured = accuracy_difference(PairedAgreement(50, 9, 11, 30))

    assert measured.value == pytest.approx(0.61 - 0.59)
    assert measured.n == 100
    interval = measured.interval
    assert interval is not None
    # Wald's on the table with two records more, one of each discordant kind
    p, q = 12 / 102, 10 / 102
    half = stats.norm.ppf(0.975) * math.sqrt((p + q - (p - q) ** 2) / 102)
    assert [interval.lower, interval.upper] == pytest.approx([p - q - half, p - q + half])


@pytest.mark.parametrize(("b", "c", "both", "neither"), [(4, 8, 30, 8), (40, 60, 300, 100), (0, 3, 40, 7)])
def test_the_interval_of_the_accuracies_difference_holds_the_true_one(
    b: int, c: int, both: int, neither: int
) -> None:
    shares = np.array([both, b, c, neither]) / (b + c + both + neither)
    drawn = np.random.default_rng(1).multinomial(b + c + both + neither, shares, 2_000)

    intervals = [accuracy_difference(PairedAgreement(*row)).interval for row in drawn.tolist()]

    truth = shares[2] - shares[1]
    held = [one is not None and one.lower <= truth <= one.upper for one in intervals]
    assert 0.93 <= np.mean(held) <= 0.995


def test_evidence_is_that_of_every_order_of_the_discordant_records() -> None:
    for b, c in itertools.product(range(6), repeat=2):
        evidence, right = 0.0, (b, c)
        for at in range(b + c):  # Krichevsky and Trofimov's estimate, record by record
            kind = int(at >= b)
            seen = min(at, b) if kind == 0 else at - b
            evidence += math.log(2 * (seen + 0.5) / (at + 1))
        assert discordant_evidence(*right) == pytest.approx(evidence, abs=1e-12)


def test_the_expected_evidence_between_equals_is_1_at_any_look() -> None:
    for n in (1, 7, 40):
        evidence = np.exp([discordant_evidence(n - c, c) for c in range(n + 1)])
        assert special.binom(n, np.arange(n + 1)) / 2.0**n @ evidence == pytest.approx(1.0)


def test_a_p_value_that_is_always_valid_stays_a_probability() -> None:
    found = {
        one.measure: one.measurement.value for one in evidence_results(PairedAgreement(200, 9, 11, 280), 0.0)
    }

    assert found["challenger_p_value_always_valid"] == 1.0
    assert (found["challenger_log_evidence"] or 0.0) < 0
    far = {
        one.measure: one.measurement.value for one in evidence_results(PairedAgreement(0, 0, 10**6, 0), 7e5)
    }
    assert far["challenger_p_value_always_valid"] == 0.0


@pytest.mark.parametrize(("n", "share", "noise"), [(2_000, 0.3, 0.1), (20_000, 0.02, 0.3), (300, 0.5, 1.0)])
def test_the_difference_of_areas_is_delongs_of_the_raw_scores_within_the_resolution(
    n: int, share: float, noise: float
) -> None:
    rng = np.random.default_rng(n)
    actual = rng.random(n) < share
    first = special.expit(rng.normal(actual * 1.0, 1.0))
    second = special.expit(special.logit(first) + rng.normal(actual * 0.2, noise))

    measured = auc_difference(paired(actual, first, second))

    value, variance = delong(actual, first, second)
    assert value == pytest.approx(roc_auc_score(actual, second) - roc_auc_score(actual, first))
    assert measured.value is not None
    assert abs(measured.value - value) <= measured.resolution + 1e-12
    assert measured.resolution < 0.01
    assert measured.interval is not None
    half = (measured.interval.upper - measured.interval.lower) / 2
    assert half == pytest.approx(1.959964 * math.sqrt(variance), rel=0.05)


def test_of_scores_that_lie_in_cells_of_their_own_the_difference_and_its_interval_are_exactly_delongs() -> (
    None
):
    rng = np.random.default_rng(7)
    actual = rng.random(400) < 0.3
    first = rng.integers(0, 64, 400) / 64 + 1 / 128
    second = np.clip(first + (rng.integers(-9, 10, 400) + 3 * actual) / 64, 1 / 128, 127 / 128)

    measured = auc_difference(paired(actual, first, second), 0.9)

    value, variance = delong(actual, first, second)
    ties = [(score[actual][:, None] == score[~actual][None, :]).mean() / 2 for score in (first, second)]
    assert measured.value == pytest.approx(value, abs=1e-12)
    assert measured.n == 400
    assert measured.resolution == pytest.approx(sum(ties))
    assert measured.interval is not None
    assert measured.interval.level == 0.9
    half = stats.norm.ppf(0.95) * math.sqrt(variance)
    assert (measured.interval.lower, measured.interval.upper) == pytest.approx((value - half, value + half))


def test_one_class_and_few_of_a_class_have_no_interval_of_the_areas() -> None:
    scores = np.linspace(0.1, 0.9, 12)
    one_class, few = np.ones(12, dtype=bool), np.arange(12) < 3

    assert auc_difference(paired(one_class, scores, scores)).reason is Reason.ONE_CLASS
    assert auc_difference(paired(few, scores, scores[::-1])).interval is None


def test_equal_scores_differ_by_0() -> None:
    actual, score = np.arange(100) % 2 == 0, np.linspace(0.1, 0.9, 100)

    measured = auc_difference(paired(actual, score, score))

    assert (measured.value, measured.interval) == (0.0, None)


@settings(max_examples=30)
@given(st.integers(20, 3_000), st.floats(-0.5, 0.5), st.integers(0, 2**32 - 1), st.sampled_from([0, 10]))
def test_the_signed_rank_test_is_scipys_within_the_resolution(
    n: int, effect: float, seed: int, equal: int
) -> None:
    rng = np.random.default_rng(seed)
    differences = rng.normal(effect, 1.0, n) * rng.exponential(1.0, n)
    differences[:equal] = 0.0

    measured = signed_rank(losses(differences))

    expected = float(stats.wilcoxon(differences, zero_method="wilcox", method="approx").pvalue)
    assert measured.value is not None
    assert abs(measured.value - expected) <= measured.resolution + 1e-9
    assert abs(measured.value - expected) < 0.05


def test_ties_of_the_sizes_share_their_rank() -> None:
    differences = np.repeat([-0.5, -0.1, 0.1, 0.2, 0.5], [3, 9, 14, 4, 8])

    measured = signed_rank(losses(differences))

    expected = stats.wilcoxon(differences, zero_method="wilcox", method="approx").pvalue
    assert measured.value == pytest.approx(expected)


def test_few_unequal_losses_are_too_few() -> None:
    assert signed_rank(losses(np.array([0.5, -0.1] * 4 + [0.0] * 50))).reason is Reason.TOO_FEW


def test_the_resolution_of_the_signed_rank_test_is_the_most_that_any_order_within_cells_changes() -> None:
    smaller, larger = np.asarray([6, 10, 4]), np.asarray([9, 12, 9])
    measured = signed_rank(PairedLosses(5, smaller, larger))

    sizes, n = smaller + larger, 50
    ranks = np.cumsum(sizes) - (sizes - 1) / 2
    untied = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    tied = math.sqrt(untied**2 - (sizes**3 - sizes).sum() / 48)
    away, lost = abs(larger @ ranks - n * (n + 1) / 4), larger @ smaller / 2
    value = 2 * stats.norm.sf(away / tied)
    highest = 2 * stats.norm.sf(max(0.0, away - lost) / untied)
    lowest = 2 * stats.norm.sf((away + lost) / tied)
    assert 0 < lost < away
    assert measured.value == pytest.approx(value)
    assert measured.resolution == pytest.approx(max(highest - value, value - lowest))
    assert measured.n == 55


def test_where_the_sizes_lie_in_cells_of_one_sign_the_signed_rank_test_loses_nothing() -> None:
    """Untied it would spread more: by that little the p-value may be larger."""
    measured = signed_rank(PairedLosses(0, np.asarray([1, 0] * 12), np.asarray([0, 1] * 12)))

    signed = np.arange(1, 25) * np.asarray([-1, 1] * 12)
    expected = stats.wilcoxon(signed, zero_method="wilcox", method="approx")
    assert measured.value == pytest.approx(float(expected.pvalue))
    assert measured.resolution == 0.0


def test_few_pairs_say_of_how_many_records_they_are() -> None:
    few, equal = signed_rank(losses(np.array([0.5, -0.1] * 4 + [0.0] * 50))), signed_rank(losses(np.zeros(8)))

    assert (few.reason, few.n) == (Reason.TOO_FEW, 58)
    assert (equal.reason, equal.n) == (Reason.TOO_FEW, 8)


def test_all_that_is_told_of_two_models_has_its_records_and_its_level() -> None:
    rng = np.random.default_rng(8)
    actual = rng.random(300) < 0.3
    first, second = special.expit(rng.normal(actual, 1.0)), special.expit(rng.normal(actual * 1.2, 1.0))
    differences = rng.normal(size=300)

    found = challenger_results(
        PairedAgreement(150, 40, 60, 50), paired(actual, first, second), losses(differences), 0.8
    )

    told = {one.measure: one for one in found}
    assert {one.subject for one in told.values()} == {""}
    assert {one.measurement.n for one in told.values()} == {300}
    assert set(told) == {
        *("challenger_accuracy_difference", "sign_test_p_value", "sign_test_p_value_one_sided"),
        *("challenger_auc_difference", "signed_rank_p_value"),
    }
    intervals = [one.measurement.interval for one in told.values() if one.measurement.interval is not None]
    assert [one.level for one in intervals] == [0.8, 0.8]
    evidence = list(evidence_results(PairedAgreement(150, 40, 60, 50), 3.0))
    assert [(one.measure, one.subject) for one in evidence] == [
        ("challenger_log_evidence", ""),
        ("challenger_p_value_always_valid", ""),
    ]
    assert evidence[0].measurement.n == 300


def test_the_interval_of_a_difference_of_accuracies_ends_at_1() -> None:
    certain = (PairedAgreement(0, 0, 4, 0), PairedAgreement(0, 4, 0, 0))
    sure, other = (accuracy_difference(agreement).interval for agreement in certain)

    assert sure is not None
    assert other is not None
    assert (sure.upper, other.lower) == (1.0, -1.0)


def test_without_records_there_are_none() -> None:
    nothing = PairedAgreement(0, 0, 0, 0)

    found = [accuracy_difference(nothing), sign_test(nothing), sign_test_one_sided(nothing)]
    found += [result.measurement for result in evidence_results(nothing, 0.0)]

    assert {measured.n for measured in found} == {0}
