"""Volume against earlier weeks: its value, the reasons why there is none, and what its interval holds."""

import numpy as np
import pytest
from scipy import stats

from monitor.core.measurement import Measurement, Reason
from monitor.measures.volume import volume_ratio


def test_the_ratio_is_to_the_mean_of_the_earlier_weeks() -> None:
    measured = volume_ratio(50, [90, 110, 100])

    assert (measured.value, measured.n) == (0.5, 50)


def test_weeks_without_records_are_left_out() -> None:
    assert volume_ratio(50, [100, 0, 100]) == volume_ratio(50, [100, 100])


@pytest.mark.parametrize(("earlier", "reason"), [([], Reason.NOT_COUNTED), ([0, 0], Reason.NO_RECORDS)])
def test_without_anything_to_compare_with_there_is_a_reason(earlier: list[int], reason: Reason) -> None:
    assert volume_ratio(7, earlier) == Measurement.without_value(reason, n=7)


def test_one_earlier_week_tells_nothing_of_the_spread() -> None:
    assert volume_ratio(7, [10]) == Measurement(value=0.7, n=7)


def test_weeks_that_spread_less_than_chance_have_wilsons_interval_with_students_t() -> None:
    """Score interval of 30 of 330 at the level at which normal and t quantiles agree."""
    t = stats.t.ppf(0.975, 2)
    level = 1 - 2 * stats.norm.sf(t)
    lower, upper = stats.binomtest(30, 330).proportion_ci(confidence_level=level, method="wilson")

    interval = volume_ratio(30, [100, 101, 99]).interval

    assert interval is not None
    assert interval.lower == pytest.approx(3 * lower / (1 - lower), rel=1e-12)
    assert interval.upper == pytest.approx(3 * upper / (1 - upper), rel=1e-12)


def test_an_empty_window_of_a_busy_log_is_surely_less_than_usual() -> None:
    measured = volume_ratio(0, [1_000, 1_100, 900, 1_000])

    assert measured.value == 0.0
    assert measured.interval is not None
    assert measured.interval.lower == 0.0
    assert measured.interval.upper < 0.5


def test_hardly_anything_to_compare_with_says_hardly_anything() -> None:
    interval = volume_ratio(1, [1, 1]).interval

    assert interval is None or interval.upper > 10


@pytest.mark.parametrize("spread", [1.0, 5.0, 40.0])
@pytest.mark.parametrize("weeks", [2, 3, 4])
def test_the_interval_holds_one_where_nothing_changed(spread: float, weeks: int) -> None:
    """Weekly totals around 400 with `spread` times Poisson's variance; 2,000 repetitions, nominal 95 %."""
    rng = np.random.default_rng(5)
    shape = (2_000, weeks + 1)
    mean = rng.gamma(400 / (spread - 1), spread - 1, shape) if spread > 1 else np.full(shape, 400.0)
    totals = rng.poisson(mean).tolist()

    intervals = [volume_ratio(now, earlier).interval for now, *earlier in totals]

    held = [one is None or one.lower <= 1.0 <= one.upper for one in intervals]
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_level_is_that_which_is_asked_for(level: float) -> None:
    interval = volume_ratio(50, [90, 110, 100], level).interval

    assert interval is not None
    assert interval.level == level
