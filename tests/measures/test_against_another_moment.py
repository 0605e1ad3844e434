"""Differences from another moment, against published intervals; what segments contribute to a fall."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import BetterDirection, MeasureFamily, MeasureUnit
from monitor.measures.measurement_comparison import (
    MEANS,
    MOST,
    SegmentMean,
    contributed_measure,
    contribution_columns,
    difference_among,
    is_comparable,
    is_worse,
    largest_segment_contribution,
    measurement_difference,
    mix_measurements,
    segment_contributions,
)
from monitor.measures.statistics.intervals import rate_measurement

PUBLISHED = [  # Newcombe (1998), Statistics in Medicine 17:873-890, table II, method 10
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0000),
    (10, 10, 0, 10, 0.6075, 1.0000),
]


def value(at: float, lower: float, upper: float, n: int = 10) -> Measurement:
    return Measurement(value=at, n=n, interval=Interval(lower, upper))


@pytest.mark.parametrize(("right", "n", "other", "m", "lower", "upper"), PUBLISHED)
def test_two_wilson_intervals_give_newcombes_interval_of_the_difference(
    right: int, n: int, other: int, m: int, lower: float, upper: float
) -> None:
    now, then = (rate_measurement(*share, 0.95, Reason.NO_LABELS) for share in ((right, n), (other, m)))

    found = measurement_difference(now, then)

    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == pytest.approx((lower, upper), abs=5.1e-5)
    assert found.value == pytest.approx(right / n - other / m)
    assert found.n == n


def test_two_normal_intervals_give_the_normal_interval_of_the_difference() -> None:
    found = measurement_difference(value(5.0, 4.7, 5.3), value(3.0, 2.6, 3.4))

    assert found.value == pytest.approx(2.0)
    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == pytest.approx((1.5, 2.5))


def test_the_figures_then_are_the_detail_and_the_resolutions_add_up() -> None:
    now = Measurement(value=0.7, n=50, interval=Interval(0.6, 0.8), resolution=0.01)
    then = Measurement(value=0.9, n=90, interval=Interval(0.85, 0.95), resolution=0.02)

    found = measurement_difference(now, then)

    assert found.resolution == pytest.approx(0.03)
    assert found.detail is not None
    assert found.detail.columns == ("value", "lower", "upper", "n")
    assert found.detail.rows == ((0.9, 0.85, 0.95, 90),)


@pytest.mark.parametrize(
    ("now", "then", "reason"),
    [
        (Measurement.without_value(Reason.NO_LABELS, n=3), value(1, 0, 2), Reason.NO_LABELS),
        (value(1, 0, 2, n=3), Measurement.without_value(Reason.ONE_CLASS, n=9), Reason.ONE_CLASS),
        (
            Measurement.without_value(Reason.TOO_FEW, n=3),
            Measurement.without_value(Reason.ONE_CLASS, n=9),
            Reason.TOO_FEW,
        ),
    ],
)
def test_what_is_absent_on_either_side_has_no_difference(
    now: Measurement, then: Measurement, reason: Reason
) -> None:
    assert measurement_difference(now, then) == Measurement.without_value(reason, n=3)


def test_a_side_without_interval_gives_a_difference_without_interval() -> None:
    found = measurement_difference(value(2.0, 1.0, 3.0), Measurement(value=1.5, n=4))

    assert (found.value, found.interval) == (0.5, None)
    assert found.detail is not None
    assert found.detail.rows == ((1.5, None, None, 4),)


def test_worse_is_what_the_direction_says_and_excludes_zero() -> None:
    below, above, around = (value(0, *bounds) for bounds in ((-2, -1), (1, 2), (-1, 1)))

    assert [is_worse(BetterDirection.HIGHER, one) for one in (below, above, around)] == [True, False, False]
    assert [is_worse(BetterDirection.LOWER, one) for one in (below, above, around)] == [False, True, False]
    assert not is_worse(BetterDirection.LOWER, Measurement(value=9.0, n=1))


def test_what_grows_with_the_records_is_not_compared() -> None:
    compared = {measure.name for measure in CATALOGUE if is_comparable(measure)}

    assert {"accuracy", "roc_auc", "mean_absolute_error", "profit_per_record"} <= compared
    assert set(MEANS.values()) <= compared
    assert {"harmonic_class_accuracy", "error_rate", "gini"} <= compared
    assert {"cohen_kappa_score", "lift_top_decile"} <= compared
    assert "profit" not in compared
    assert not any(BY_NAME[name].unit is MeasureUnit.RECORDS for name in compared)


def test_the_textbooks_average_of_classes_is_a_headline() -> None:
    assert BY_NAME["harmonic_class_accuracy"].headline


sides = st.dictionaries(
    st.sampled_from("abcdefgh"), st.tuples(st.integers(1, 500), st.floats(0, 1)), min_size=1, max_size=8
)


def whole_of(parts: dict[str, SegmentMean]) -> SegmentMean:
    n = sum(part.n for part in parts.values())
    return SegmentMean(n, math.fsum(part.n * part.value for part in parts.values()) / n)


@given(sides, sides)
@settings(max_examples=50)
def test_contributions_of_all_segments_add_up_to_the_difference(
    now: dict[str, tuple[int, float]], then: dict[str, tuple[int, float]]
) -> None:
    parts = [{name: SegmentMean(*part) for name, part in side.items()} for side in (now, then)]
    wholes = whole_of(parts[0]), whole_of(parts[1])

    found = segment_contributions(parts[0], parts[1], wholes)

    assert set(found) == set(now) | set(then)
    assert math.fsum(found.values()) == pytest.approx(wholes[0].value - wholes[1].value, abs=1e-12)


def test_a_segment_contributes_by_what_it_lost_and_by_having_grown() -> None:
    """By hand: 0.5·(0.6 - 0.84) - 0.2·(0.8 - 0.84) = -0.112; town=b: 0.5·0.02 - 0.8·0.01 = 0.002."""
    then = {"town=a": SegmentMean(20, 0.8), "town=b": SegmentMean(80, 0.85)}
    now = {"town=a": SegmentMean(100, 0.6), "town=b": SegmentMean(100, 0.86)}
    wholes = whole_of(now), whole_of(then)

    found = largest_segment_contribution(BY_NAME["accuracy"], now, then, wholes)

    assert [whole.n for whole in wholes] == [200, 100]
    assert [whole.value for whole in wholes] == pytest.approx([0.73, 0.84])
    assert found is not None
    assert found.value == pytest.approx(-0.112)
    assert found.n == 100
    assert found.detail is not None
    (row,) = found.detail.rows
    told = dict(zip(found.detail.columns, row, strict=True))
    assert told == {
        "segment": "town=a",
        "contribution": -0.112,
        "accuracy": 0.6,
        "before": 0.8,
        "share": 0.5,
        "share_before": 0.2,
    }


def test_segments_that_came_or_went_contribute_too_and_at_most_five_are_told() -> None:
    rng = np.random.default_rng(4)
    then = {f"town={at}": SegmentMean(100, 5.0 + rng.random()) for at in range(12)}
    now = {name: SegmentMean(90, part.value + 1) for name, part in then.items() if name != "town=0"}
    now["town=new"] = SegmentMean(400, 12.0)

    found = largest_segment_contribution(
        BY_NAME["mean_absolute_error"], now, then, (whole_of(now), whole_of(then))
    )

    assert found is not None
    assert found.detail is not None
    assert len(found.detail.rows) == MOST
    first = dict(zip(found.detail.columns, found.detail.rows[0], strict=True))
    assert (first["segment"], first["before"], first["share_before"]) == ("town=new", None, 0.0)
    amounts = [row[1] for row in found.detail.rows]
    assert amounts == sorted(amounts, key=lambda amount: -float(str(amount)))


def test_where_no_segment_is_worse_none_is_named() -> None:
    mean, nothing = SegmentMean(10, 0.5), SegmentMean(0, 0.0)
    same = {"town=a": mean}

    assert largest_segment_contribution(BY_NAME["accuracy"], same, same, (mean, mean)) is None
    assert largest_segment_contribution(BY_NAME["accuracy"], {}, {}, (nothing, mean)) is None


def test_what_touches_0_is_not_surely_worse_and_0_is_the_limit() -> None:
    touching, beyond = value(-1, -2, 0), value(0, -1, 0.5)

    assert not is_worse(BetterDirection.HIGHER, touching)
    assert not is_worse(BetterDirection.HIGHER, beyond)
    assert not is_worse(BetterDirection.LOWER, value(1, 0, 2))
    assert is_worse(BetterDirection.LOWER, value(1, 0.5, 2))


def test_all_of_performance_is_compared_only_where_it_is_asked_for() -> None:
    few, all_ = (
        {one.name for one in CATALOGUE if is_comparable(one, every=every)} for every in (False, True)
    )

    assert "average_precision" in all_ - few
    families = {BY_NAME[name].family for name in all_}
    assert families == {
        MeasureFamily.PERFORMANCE,
        MeasureFamily.AVERAGES,
        MeasureFamily.GAINS,
        MeasureFamily.CALIBRATION,
    }
    assert {BY_NAME[name].headline or BY_NAME[name].compared for name in few} == {True}


def test_a_segment_that_is_gone_contributes_with_no_records() -> None:
    then = {"town=a": SegmentMean(50, 0.9), "town=b": SegmentMean(25, 0.6), "town=c": SegmentMean(25, 0.6)}
    now = {"town=b": SegmentMean(50, 0.6), "town=c": SegmentMean(50, 0.6)}

    found = largest_segment_contribution(BY_NAME["accuracy"], now, then, (whole_of(now), whole_of(then)))

    assert found is not None
    assert found.detail is not None
    assert found.value == pytest.approx(-0.5 * (0.9 - 0.75))
    assert found.n == 0
    assert found.detail.rows[0] == ("town=a", -0.075, None, 0.9, 0.0, 0.5)
    assert [row[0] for row in found.detail.rows[1:]] == ["town=b", "town=c"]


def test_figures_of_segments_have_six_digits() -> None:
    then = {"town=a": SegmentMean(3, 1 / 3), "town=b": SegmentMean(4, 0.5)}
    now = {"town=a": SegmentMean(2, 0.5), "town=b": SegmentMean(4, 2 / 3)}

    found = largest_segment_contribution(
        BY_NAME["mean_absolute_error"], now, then, (whole_of(now), whole_of(then))
    )

    assert found is not None
    assert found.detail is not None
    told = {row[0]: row[2:] for row in found.detail.rows}
    assert told["town=b"] == (0.666667, 0.5, 0.666667, 0.571429)
    assert all(row[1] == round(float(str(row[1])), 6) for row in found.detail.rows)


def test_a_mixture_is_the_weighed_mean_and_its_interval_that_of_independent_parts() -> None:
    found = mix_measurements([(0.25, value(0.8, 0.7, 0.84, n=30)), (0.75, value(0.4, 0.3, 0.6, n=70))])

    assert found.value == pytest.approx(0.5)
    assert found.n == 100
    assert found.interval is not None
    assert found.interval.lower == pytest.approx(0.5 - math.hypot(0.025, 0.075))
    assert found.interval.upper == pytest.approx(0.5 + math.hypot(0.01, 0.15))
    unknown = Measurement.without_value(Reason.ONE_CLASS, n=5)
    assert mix_measurements([(0.5, value(0.8, 0.7, 0.9)), (0.5, unknown)]) == Measurement.without_value(
        Reason.ONE_CLASS, n=15
    )
    without = mix_measurements([(0.5, value(0.8, 0.7, 0.9)), (0.5, Measurement(0.4, 7))])
    assert without.value == pytest.approx(0.6)
    assert (without.n, without.interval) == (17, None)


def test_a_table_of_contributions_names_its_measure_and_another_table_none() -> None:
    assert contributed_measure(DetailTable(contribution_columns("accuracy"), ())) == "accuracy"
    assert contributed_measure(DetailTable(("segment", "value", "accuracy"), ())) == ""


@settings(max_examples=100)
@given(
    st.floats(0.2, 0.9),
    st.floats(0.2, 0.9),
    st.floats(0.001, 0.1),
    st.floats(0.001, 0.1),
    st.integers(1, 200),
)
def test_of_many_comparisons_intervals_are_wider_and_hold_that_of_one(
    now: float, then: float, half: float, other: float, many: int
) -> None:
    sides = value(now, now - half, now + half), value(then, then - other, then + other)
    one, among, more = (difference_among(*sides, count) for count in (1, many, many + 1))

    assert one == measurement_difference(*sides)
    assert one.interval is not None
    assert among.interval is not None
    assert more.interval is not None
    assert (among.value, among.n, among.detail) == (one.value, one.n, one.detail)
    assert more.interval.lower <= among.interval.lower <= one.interval.lower
    assert one.interval.upper <= among.interval.upper <= more.interval.upper


def test_of_segments_that_are_alike_one_is_rarely_called_worse() -> None:
    """Sixteen segments of one accuracy, each beside all records: seldom any of them lies below."""
    rng, found, runs, size = np.random.default_rng(4), 0, 400, 300
    for _ in range(runs):
        right = rng.binomial(size, 0.8, 16)
        whole = rate_measurement(int(right.sum()), 16 * size, 0.95, Reason.NO_LABELS)
        steps = [
            difference_among(rate_measurement(int(one), size, 0.95, Reason.NO_LABELS), whole, 16)
            for one in right
        ]
        found += any(one.interval is not None and one.interval.upper < 0 for one in steps)

    assert found / runs < 0.05
