"""Tiles of performance: profit beside the reference's, and no green where a constant answer does as well."""

from collections.abc import Mapping

import pytest

from monitor.core.measurement import Interval, Measurement
from monitor.pages.window.performance_tiles import PerformanceTile, make_performance_tiles
from monitor.records.reading import ModelTask


def value_of(value: float, half: float = 0.0) -> Measurement:
    return Measurement(value, n=1_000, interval=Interval(value - half, value + half) if half else None)


def tiles_of(now: Mapping[str, Measurement], steps: Mapping[str, Measurement]) -> dict[str, PerformanceTile]:
    made = make_performance_tiles(ModelTask.BINARY, now, steps, lambda _measure: None)
    return {tile.measure: tile for tile in made}


@pytest.mark.parametrize(("brier", "sign"), [(0.20, "▲"), (0.22, "")])
def test_a_brier_score_that_always_answering_the_mean_reaches_is_not_green(brier: float, sign: str) -> None:
    """A third of the records are positive: always answering that has 0.222 less a little."""
    now = {"brier_score": value_of(brier, 0.01), "base_rate": value_of(0.32)}

    tile = tiles_of(now, {"brier_score": value_of(-0.05, 0.01)})["brier_score"]

    assert tile.sign == sign
    assert "a constant answer 0.218" in tile.said
    assert (tile.beside == "no better than a constant answer") is not bool(sign)


def test_profit_stands_by_record_beside_the_references() -> None:
    now = {"profit": value_of(12_100.0), "profit_per_record": value_of(12.1)}

    tile = tiles_of(now, {"profit_per_record": value_of(6.35, 1.0)})["profit"]

    assert tile.said == ("12.1 a record", "reference 5.75 a record")
