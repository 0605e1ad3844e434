"""Measures of scores together: which are there, which have intervals, by the families that are asked for."""

import numpy as np
import pytest
from measure_states import measures_of_scores

from monitor.core.measurement import Reason
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES, MeasureFamily
from monitor.measures.measure_options import MeasureOptions

RNG = np.random.default_rng(13)
SCORES = RNG.beta(2, 3, 500)
LABELS = (RNG.uniform(size=500) < SCORES).astype(int)
PROFIT = {("1", "1"): 60.0, ("0", "1"): -10.0}
OF_ALL = {"roc_auc", "ks_separation", "average_precision", "log_loss", "brier_score", "brier_skill_score"}
OF_GAINS = {"precision_at_top", "recall_at_top", "lift_top_decile", "best_profit"}
OF_CALIBRATION = {
    *("expected_calibration_error", "maximum_calibration_error", "squared_calibration_error"),
    *("calibration_slope", "calibration_intercept", "calibration_in_the_large"),
}
FAMILIES = {MeasureFamily.GAINS: OF_GAINS, MeasureFamily.CALIBRATION: OF_CALIBRATION}


@pytest.mark.parametrize("families", [set(), {MeasureFamily.GAINS}, {MeasureFamily.CALIBRATION}, {*FAMILIES}])
def test_measures_of_a_family_are_there_with_their_intervals_where_it_is_asked_for(
    families: set[MeasureFamily],
) -> None:
    left = OPTIONAL_FAMILIES - FAMILIES.keys()
    options = MeasureOptions(resamples=100, profit=PROFIT, families=frozenset(left | families), threshold=0.3)

    found = {name.split(" ")[0]: one for name, one in measures_of_scores(SCORES, LABELS, options).items()}

    wanted = OF_ALL.union(*(FAMILIES[family] for family in families))
    unwanted = (OF_GAINS | OF_CALIBRATION) - wanted
    assert wanted <= found.keys()
    assert not unwanted & found.keys()
    assert {name for name in wanted if found[name].interval is None} == set()


@pytest.mark.parametrize("labels", [[], [0] * 30, [1] * 30])
def test_without_both_classes_each_measure_says_why_it_has_no_value(labels: list[int]) -> None:
    options = MeasureOptions(resamples=50, profit=PROFIT)

    found = measures_of_scores(SCORES[: len(labels)], labels, options)

    assert {name.split(" ")[0] for name in found} >= OF_ALL | OF_CALIBRATION
    reasons = {found[name].reason for name in ("roc_auc", "ks_separation", "average_precision")}
    assert reasons == {Reason.ONE_CLASS if labels else Reason.NO_LABELS}
    assert all((one.value is None) == (one.reason is not None) for one in found.values())
    assert found["clipped_records"].n == len(labels)
    assert found["reference_threshold_profit"].reason is Reason.NO_REFERENCE
    assert found["reference_threshold_profit"].n == len(labels)


def test_scores_that_were_clipped_are_told_of_all_that_have_a_loss() -> None:
    found = measures_of_scores([0.0, 1.0, 0.4, 0.6], [0, 1, 0, 1], MeasureOptions(resamples=0))

    assert (found["clipped_records"].value, found["clipped_records"].n) == (2.0, 4)


def test_the_profit_at_a_threshold_has_the_level_that_is_asked_for() -> None:
    options = MeasureOptions(resamples=50, profit=PROFIT, threshold=0.4, level=0.8)

    found = measures_of_scores(SCORES, LABELS, options)["reference_threshold_profit"]

    assert found.interval is not None
    assert found.interval.level == 0.8
    assert found.value == pytest.approx(
        sum(PROFIT[str(label), "1"] for score, label in zip(SCORES, LABELS, strict=True) if score >= 0.4)
    )
