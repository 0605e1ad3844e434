"""By when labels against scores would be told, as the simulations have it, and which horizon that needs."""

import numpy as np
import pytest

from monitor.advice.relation_forecast import RelationForecast, forecast_relation, relation_lines
from monitor.core.clock import DAY

INFORMATION = 0.175  # of scores whose log odds have a mean of -1 and a deviation of 1


@pytest.mark.parametrize(
    ("labels", "odds", "days"), [(1_000, 1.4, 1.8), (1_000, 1.2, 5.1), (300, 1.4, 5.3), (4_000, 1.2, 1.6)]
)
def test_days_are_about_those_of_the_simulations(labels: int, odds: float, days: float) -> None:
    found = RelationForecast(labels, INFORMATION, 1, 60).days_until_told(odds)

    assert found == pytest.approx(days, rel=0.3)


def test_slow_labels_need_a_horizon_and_what_is_not_found_is_said() -> None:
    scores = np.full(100, 0.02)
    forecast = forecast_relation(scores, np.full(50, 40 * DAY), 200.0, 60 * DAY)

    assert forecast is not None
    (told, slow, horizon) = relation_lines(forecast)
    assert "× 1.2 would not fire in 90 days" in told
    assert "first labels" in slow
    assert horizon == (
        "labels take about 40 days: to check them, they must be read back 72 days; horizon is 60"
    )


@pytest.mark.parametrize(
    ("scores", "delays", "labels"), [([], [1], 1.0), ([0.1], [], 1.0), ([0.1], [1], 0.0)]
)
def test_where_too_little_is_known_nothing_is_said(
    scores: list[float], delays: list[int], labels: float
) -> None:
    assert forecast_relation(np.asarray(scores), np.asarray(delays, np.int64), labels, DAY) is None
