"""Every interval is of the level that is asked for: none keeps the usual 95 % by itself."""

from collections.abc import Callable

import numpy as np
import pytest
from measure_states import by_name, measures_of_scores, number_counting, numbered, of_matrix

from monitor.core.measurement import Measurement
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions

RNG = np.random.default_rng(11)
SCORES = RNG.beta(2, 3, 600)
LABELS = (RNG.uniform(size=600) < SCORES).astype(int)
NUMBERS = RNG.normal(5, 2, 600)
TRUE = NUMBERS + RNG.normal(0.1, 1, 600)
COUNTING = number_counting()
NUMBERED = numbered(NUMBERS, TRUE, COUNTING)
MATRIX = [[60, 9, 3], [8, 55, 6], [2, 7, 50]]

MEASURED: dict[str, tuple[int, Callable[[MeasureOptions], dict[str, Measurement]]]] = {
    "scores": (20, lambda options: measures_of_scores(SCORES, LABELS, options)),
    "numbers": (14, lambda options: by_name(measure_performance(COUNTING, NUMBERED, options))),
    "classes": (
        25,
        lambda options: by_name(measure_performance(*of_matrix(("ant", "bee", "cat"), MATRIX), options)),
    ),
}


@pytest.mark.parametrize("what", MEASURED)
def test_intervals_are_of_the_level_that_is_asked_for_and_narrower_than_those_of_more(what: str) -> None:
    least, measured = MEASURED[what]
    usual, narrow = (measured(MeasureOptions(resamples=200, level=level)) for level in (0.95, 0.8))
    found = {name: one.interval for name, one in narrow.items() if one.interval is not None}

    assert len(found) >= least, sorted(found)
    assert {name: each.level for name, each in found.items()} == dict.fromkeys(found, 0.8)
    narrower = {}
    for name, each in found.items():
        wide, value = usual[name].interval, narrow[name].value
        assert wide is not None, name
        assert value is not None, name
        assert wide.level == 0.95, name
        assert wide.lower <= each.lower <= value <= each.upper <= wide.upper, name
        narrower[name] = each.upper - each.lower < wide.upper - wide.lower
    alike = {name for name, is_narrower in narrower.items() if not is_narrower}
    assert alike <= {"maximum_calibration_error"}, "whose interval holds the value at its end"
