"""What is expected of a day: against statsmodels and SciPy, and by simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.tsa.arima_process import ArmaProcess

from monitor.core.array_types import Floats
from monitor.evidence.baseline import DayExpectation, LearnedDays, expect_day, normal_scores, yule_walker
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS


def expected(values: Floats, today: float, *, day: int | None = None, n: float = 1e9) -> DayExpectation:
    """Expect the day after so many days; each column is a series of one kind."""
    days, series = values.shape
    learned = LearnedDays(
        np.arange(700, 700 + days),
        values,
        np.full(values.shape, n),
        np.zeros(series, dtype=np.int64),
        np.ones(series),
        np.full(series, 1e-6),
    )
    return expect_day(
        learned,
        700 + days if day is None else day,
        np.full(series, today),
        np.full(series, n),
        np.stack([values[-1], values[-min(days, 2)]]),
    )


@pytest.mark.parametrize(("one", "two"), [(0.5, 0.0), (0.4, 0.2), (0.0, 0.0), (0.7, 0.2)])
def test_yule_walker_finds_the_process_whose_autocorrelations_it_is_given(one: float, two: float) -> None:
    process = ArmaProcess([1, -one, -two])
    _, first, second = process.acf(3)
    variance = process.acovf(1)[0]

    found = yule_walker(np.asarray([first]), np.asarray([second]))

    assert [float(each[0]) for each in found] == pytest.approx([one, two, 1 / variance])


@pytest.mark.parametrize("freedom", [5.0, 12.0, 55.0])
def test_surprises_are_normal_quantiles_of_students_t(freedom: float) -> None:
    t = np.asarray([-6.0, -3.0, -1.0, 0.0, 0.5, 2.0, 4.0])

    found = normal_scores(t, np.full(7, freedom))

    assert found == pytest.approx(stats.norm.ppf(stats.t.cdf(t, freedom)), abs=0.03)


def test_surprises_stay_finite_however_far_a_value_is() -> None:
    found = normal_scores(np.asarray([-1e12, 1e12]), np.asarray([50.0, 50.0]))

    assert np.isfinite(found).all()


def test_days_that_differ_by_chance_alone_surprise_like_a_standard_normal_number() -> None:
    rng = np.random.default_rng(11)
    values = rng.normal(size=(57, 4_000))

    drawn = surprises(values)

    assert abs(np.mean(drawn)) < 0.06
    assert 0.85 < np.std(drawn) < 1.05
    assert np.mean(np.abs(drawn) > 3) < 0.006


def surprises(values: Floats) -> Floats:
    """Surprises of the last day, of each series its own value."""
    days, series = values.shape
    learned = LearnedDays(
        np.arange(700, 699 + days),
        values[:-1],
        np.full((days - 1, series), 1e9),
        np.zeros(series, dtype=np.int64),
        np.ones(series),
        np.full(series, 1e-6),
    )
    before = np.stack([values[-2], values[-3]])
    return expect_day(learned, 699 + days, values[-1], np.full(series, 1e9), before).surprise


def test_a_weekday_that_always_differs_is_expected_to() -> None:
    rng = np.random.default_rng(12)
    weekend = (np.arange(700, 756) % 7 < 2).astype(float)[:, None]
    values = 3.0 * weekend + 0.1 * rng.normal(size=(56, 200))

    on_weekend = expected(values, 3.0, day=756)
    on_weekday = expected(values, 3.0, day=759)

    assert on_weekend.level.mean() == pytest.approx(3.0, abs=0.1)
    assert on_weekday.level.mean() == pytest.approx(0.0, abs=0.1)
    assert np.abs(on_weekend.surprise).max() < 4
    assert on_weekday.surprise.min() > 4.5


def test_weekdays_that_do_not_differ_are_hardly_told_apart() -> None:
    rng = np.random.default_rng(13)
    values = rng.normal(size=(56, 500))

    levels = np.stack([expected(values, 0.0, day=756 + ahead).level for ahead in range(7)])

    assert levels.std(axis=0).mean() < 0.1


def test_days_that_are_alike_make_a_change_slower_to_see_and_a_repetition_less_surprising() -> None:
    rng = np.random.default_rng(14)
    walk = rng.normal(size=(106, 300))
    for day in range(1, len(walk)):
        walk[day] = 0.8 * walk[day - 1] + 0.6 * walk[day]
    alike, apart = expected(walk[50:], 0.0), expected(rng.normal(size=(56, 300)), 0.0)

    assert alike.slowness.mean() > 1.8
    assert apart.slowness.mean() < 1.3


@pytest.mark.parametrize("days", [1, FEWEST_DAYS - 1])
def test_fewer_than_14_days_surprise_nobody(days: int) -> None:
    found = expected(np.ones((days, 3)), 99.0)

    assert np.isnan(found.surprise).all()
    assert (found.days == days).all()


def test_without_any_day_nothing_is_expected() -> None:
    learned = LearnedDays(
        np.empty(0, np.int64),
        np.empty((0, 2)),
        np.empty((0, 2)),
        np.zeros(2, np.int64),
        np.ones(2),
        np.ones(2),
    )

    found = expect_day(learned, 5, np.ones(2), np.ones(2), np.full((2, 2), np.nan))

    assert np.isnan(found.surprise).all()
    assert np.isfinite(found.level).all()


def test_a_constant_is_expected_with_the_smallest_deviation_that_is_believed() -> None:
    found = expected(np.full((30, 1), 2.5), 2.5)

    assert found.level[0] == pytest.approx(2.5)
    assert found.surprise[0] == pytest.approx(0.0, abs=1e-6)
    assert found.deviation[0] >= 1 / np.sqrt(1e9)
