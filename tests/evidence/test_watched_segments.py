"""Segments share the budget of their model: a fault in one is told within days, a change of all once."""

import numpy as np
import pytest
from regions import PRICES, REGIONS, SCORES, Fault, counted, judged, rows_of

from monitor.evidence.watch import MOST_SEGMENTS, make_segment_watch, make_watch
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS
from monitor.records.pane import PaneHalf
from monitor.records.reading import ReadingOptions
from monitor.windows.strata_folding import fold_strata

BEGINS = 40
Told = list[tuple[int, str, str]]


def told(
    reading: ReadingOptions,
    part: PaneHalf,
    *faults: Fault,
    per_day: int = 300,
    seed: int = 1,
    days: int = BEGINS + 6,
    moves: tuple[float, float] = (0.0, 0.0),
) -> Told:
    """Changes that are told, of a log with faults."""
    rng = np.random.default_rng(seed)
    reference = rows_of(rng, reading, 10, 500)
    rows = rows_of(rng, reading, days, per_day, faults, moves=moves)
    counting, strata = counted(reading, reference, rows, days)
    return list(judged(counting, part, strata[part]))


@pytest.mark.parametrize(
    ("part", "subject"), [(PaneHalf.RECORDS, "prediction"), (PaneHalf.LABELS, "performance")]
)
def test_predictions_that_are_too_low_in_one_region_are_told_of_it_within_days(
    part: PaneHalf, subject: str
) -> None:
    found = told(PRICES, part, Fault("north", BEGINS, -0.15))

    assert (found[0][1:], found[0][0] <= BEGINS + 5) == (("region=north", subject), True)


def test_scores_that_move_in_one_region_are_told_of_it_within_two_days() -> None:
    found = told(SCORES, PaneHalf.RECORDS, Fault("south", BEGINS, -0.7))

    assert found[0][0] <= BEGINS + 1
    assert found[0][1:] == ("region=south", "score")


def test_a_change_of_all_regions_is_told_once_of_the_whole() -> None:
    found = told(SCORES, PaneHalf.RECORDS, *(Fault(name, BEGINS, -1.0) for name in REGIONS))

    assert found == [(BEGINS, "", "prediction"), (BEGINS, "", "score")]


@pytest.mark.long
@pytest.mark.parametrize("per_day", [200, 1_000])
@pytest.mark.parametrize("seed", range(5))
def test_a_fault_in_one_region_is_told_within_days_whatever_the_log(per_day: int, seed: int) -> None:
    for reading, part, by, within in (
        (PRICES, PaneHalf.LABELS, -0.15, 5),
        (SCORES, PaneHalf.RECORDS, -1.0, 1),
    ):
        fault = Fault("north", 60, by)
        found = told(reading, part, fault, per_day=per_day, seed=seed, days=70, moves=(0.03, 0.03))
        assert next(day for day, segment, _ in found if segment in ("", "region=north")) <= 60 + within


def test_the_largest_segments_with_enough_records_are_followed_and_the_others_are_subjects_still() -> None:
    rng, days = np.random.default_rng(5), FEWEST_DAYS
    names = [f"r{number:02}" for number in range(MOST_SEGMENTS)]
    reference = rows_of(rng, PRICES, 2, 400, names=names)
    unseen = rows_of(rng, PRICES, days, 440, names=[*names, "else"])
    counting, strata = counted(PRICES, reference, unseen, days)

    watch = make_segment_watch(
        counting, PaneHalf.RECORDS, fold_strata(counting.records_layout, strata[PaneHalf.RECORDS])
    )

    weight = make_watch(
        counting, PaneHalf.RECORDS, fold_strata(counting.records_layout, strata[PaneHalf.RECORDS])
    ).series_weight.sum()
    assert len(watch.subjects) == MOST_SEGMENTS + 1
    assert 0 < len(watch.series) <= MOST_SEGMENTS
    assert weight + watch.series_weight.sum() < 1
    assert {one.weight for one in watch.series} == {watch.series_weight.sum() / len(watch.series)}
