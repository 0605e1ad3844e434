"""Control against treatment, against SciPy and published intervals."""

from dataclasses import replace

import numpy as np
import pytest
from measure_states import (
    binary_counting,
    binary_reading,
    by_name,
    class_counting,
    classified,
    number_counting,
    numbered,
    scored,
)
from scipy import stats

from monitor.core.measurement import Reason
from monitor.measures.evaluate import compare_arms
from monitor.measures.measure_options import MeasureOptions
from monitor.records.reading import ComparedArms
from monitor.records.reference import make_plain_counting
from monitor.states.counters import Counters

ARMS = ComparedArms(column="arm", control="c", treatment="t")


def arm(positive: int, n: int) -> Counters:
    return scored([0.5] * n, [1] * positive + [0] * (n - positive), binary_counting())


@pytest.mark.parametrize(
    ("treatment", "control", "lower", "upper"),
    [  # Newcombe (1998), Statist. Med. 17:873, table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_difference_of_rates_has_the_published_interval(
    treatment: tuple[int, int], control: tuple[int, int], lower: float, upper: float
) -> None:
    measured = by_name(compare_arms(binary_counting(), arm(*control), arm(*treatment), MeasureOptions()))

    difference = measured["outcome_rate_difference"]
    assert difference.value == pytest.approx(treatment[0] / treatment[1] - control[0] / control[1])
    assert difference.interval is not None
    assert [difference.interval.lower, difference.interval.upper] == pytest.approx([lower, upper], abs=5e-5)
    assert difference.n == treatment[1] + control[1]


def test_difference_of_means_has_welchs_interval() -> None:
    rng, counting = np.random.default_rng(0), number_counting()
    control, treatment = rng.normal(3, 1, 40), rng.normal(2, 3, 25)
    states = [numbered([0.0] * len(side), side.tolist(), counting) for side in (control, treatment)]

    measured = by_name(compare_arms(counting, states[0], states[1], MeasureOptions(level=0.9)))

    expected = stats.ttest_ind(treatment, control, equal_var=False).confidence_interval(0.9)
    difference = measured["outcome_mean_difference"]
    assert difference.value == pytest.approx(treatment.mean() - control.mean())
    assert difference.interval is not None
    assert [difference.interval.lower, difference.interval.upper] == pytest.approx(
        [expected.low, expected.high]
    )
    one = stats.ttest_1samp(control, 0).confidence_interval(0.9)
    interval = measured["control_outcome_mean"].interval
    assert interval is not None
    assert [interval.lower, interval.upper] == pytest.approx([one.low, one.high])


def test_an_arm_without_labels_leaves_the_other_measured() -> None:
    counting = make_plain_counting(replace(binary_reading(), arms=ARMS))

    measured = by_name(compare_arms(counting, None, arm(3, 9), MeasureOptions()))

    assert measured["control_outcome_rate"].reason is Reason.NO_LABELS
    assert measured["treatment_outcome_rate"].value == pytest.approx(1 / 3)
    assert measured["outcome_rate_difference"].reason is Reason.NO_LABELS


def test_an_arm_of_numbers_without_labels_leaves_the_other_measured() -> None:
    counting = number_counting()

    measured = by_name(compare_arms(counting, None, numbered([0.0], [2.0], counting), MeasureOptions()))

    assert measured["control_outcome_mean"].reason is Reason.NO_LABELS
    assert measured["treatment_outcome_mean"].value == 2
    assert measured["treatment_outcome_mean"].interval is None
    assert measured["outcome_mean_difference"].reason is Reason.NO_LABELS


def test_one_record_an_arm_has_a_difference_without_interval() -> None:
    counting = number_counting()
    arms = [numbered([0.0], [label], counting) for label in (2.0, 5.0)]

    difference = by_name(compare_arms(counting, arms[0], arms[1], MeasureOptions()))[
        "outcome_mean_difference"
    ]

    assert (difference.value, difference.interval) == (3, None)


def test_equal_labels_have_a_difference_without_interval() -> None:
    counting = number_counting()
    arms = [numbered([0.0] * 3, [label] * 3, counting) for label in (2.0, 5.0)]

    difference = by_name(compare_arms(counting, arms[0], arms[1], MeasureOptions()))[
        "outcome_mean_difference"
    ]

    assert (difference.value, difference.interval) == (3, None)


def test_labels_out_of_range_are_a_reason() -> None:
    counting = number_counting()
    arms = [numbered([0.0, 0.0], [1.0, label], counting) for label in (2.0, 1e13)]

    measured = by_name(compare_arms(counting, arms[0], arms[1], MeasureOptions()))

    assert measured["control_outcome_mean"].value == 1.5
    assert measured["treatment_outcome_mean"].reason is Reason.OUT_OF_RANGE
    assert measured["outcome_mean_difference"].reason is Reason.OUT_OF_RANGE


def test_of_several_classes_each_is_compared_with_the_others() -> None:
    counting = class_counting(("a", "b", "c"))
    labels = [["a"] * 5 + ["b"] * 15 + ["c"] * 20 + ["unseen"] * 3, ["a"] * 2 + ["b"] * 8 + ["c"] * 40]
    control, treatment = (classified(arm, arm, counting) for arm in labels)

    found = compare_arms(counting, control, treatment, MeasureOptions())

    assert len(found) == 12
    measured = {(one.measure, one.subject): one.measurement for one in found}
    for name, (before, after) in {"a": (5, 2), "b": (15, 8), "c": (20, 40)}.items():
        subject = f"class:{name}"
        ratio, expected = (
            measured["outcome_rate_ratio", subject],
            stats.contingency.relative_risk(after, 50, before, 40),
        )
        assert measured["control_outcome_rate", subject].value == before / 40
        assert measured["treatment_outcome_rate", subject].n == 50
        assert measured["outcome_rate_difference", subject].value == pytest.approx(after / 50 - before / 40)
        assert ratio.value == pytest.approx(expected.relative_risk)
        assert ratio.interval is not None
        interval = expected.confidence_interval(0.95)
        assert (ratio.interval.lower, ratio.interval.upper) == pytest.approx((interval.low, interval.high))


def test_models_without_arms_are_not_compared() -> None:
    assert compare_arms(binary_counting(), None, None, MeasureOptions()) == []
