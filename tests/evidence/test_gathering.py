"""Evidence: against the recursion as it is written, and what it promises where nothing changes."""

from dataclasses import replace

import numpy as np
import pytest
from watches import day, run, watch

from monitor.core.array_types import Floats
from monitor.evidence.change_sizes import arcsine_share, change_size, rescale_smallest_sizes
from monitor.evidence.day_record import DayRecord
from monitor.evidence.judging import AlertBudget
from monitor.evidence.shiryaev_roberts import (
    GatheredEvidence,
    accumulate_past_evidence,
    gather_evidence,
    suspected_days,
)
from monitor.evidence.watch import STATISTICS, DailyStatistic, SubjectGroup, Watch, WatchedSeries

CHANGES = (0.5, 1.0, 2.0, 3.5)
NONE = np.zeros(0, np.int32)


def rows_of(surprises: Floats, away: Floats | None = None) -> list[DayRecord]:
    """Rows with given surprises of the first series; the others have none."""
    (judged,) = run(watch(), [day(0, 0.0)])
    return [
        replace(
            judged.record,
            day=judged.record.day + at,
            surprise=np.asarray([one, np.nan], dtype=np.float32),
            away=np.asarray([(surprises if away is None else away)[at], np.nan], dtype=np.float32),
        )
        for at, one in enumerate(surprises)
    ]


def gathered(of: Watch, rows: list[DayRecord]) -> GatheredEvidence:
    return gather_evidence(of, rows, np.zeros(len(of.series)), accumulate_past_evidence(of, rows[:-1]))


def recursion(surprises: Floats, sign: float) -> float:
    found = []
    for change in CHANGES:
        r = 0.0
        for u in surprises:
            if np.isfinite(u):
                r = (r + 1) * np.exp(change * sign * u - change**2 / 2)
        found.append(r)
    return float(np.mean(found)) / 2


def test_evidence_is_that_of_the_recursion_and_a_day_without_a_value_changes_nothing() -> None:
    surprises = np.asarray([0.3, 1.9, np.nan, -0.4, 2.5, 1.1], dtype=np.float32).astype(np.float64)

    found = gathered(watch(), rows_of(surprises)).evidence

    assert found[:, 0] == pytest.approx([recursion(surprises, 1), recursion(surprises, -1)])
    assert found[:, 1] == pytest.approx([0, 0])


def test_evidence_is_gathered_from_the_day_after_a_reset() -> None:
    surprises = np.asarray([4.0, 4.0, 1.0, 1.0])
    rows = rows_of(surprises)
    reset = np.asarray([rows[1].day, 0], dtype=np.int32)
    rows[-2:] = [replace(row, evidence_from=reset) for row in rows[-2:]]

    found = gathered(watch(), rows).evidence

    assert found[0, 0] == pytest.approx(recursion(surprises[2:], 1))


def test_evidence_where_nothing_changes_is_expected_to_be_at_most_the_days() -> None:
    rng = np.random.default_rng(21)
    of = replace(watch([DailyStatistic.SHAPE]), series=(watch([DailyStatistic.SHAPE]).series[0],) * 4_000)
    (judged,) = run(of, [replace(day(0), values=np.zeros(4_000, np.float32))])
    rows = [
        replace(judged.record, day=at + 1, surprise=rng.normal(size=4_000).astype(np.float32))
        for at in range(20)
    ]

    found = gathered(of, rows).evidence[0]

    assert np.minimum(found, 1e4).mean() < 20
    assert (found >= 200).mean() <= 20 / 200


def test_a_change_is_as_large_as_the_days_it_most_surely_lasts_lie_away() -> None:
    surprises = np.asarray([0.1, -0.2, 0.0, 3.0, 3.1, 2.9])
    away = surprises * 0.2

    found = gathered(watch(), rows_of(surprises, away))

    assert found.span[0, 0] == 3
    assert found.size[:, 0] == pytest.approx([0.6, 0.0])


def numbers(surprises: Floats) -> tuple[Watch, list[DayRecord]]:
    """Days of as many numbers as there are columns, by the level alone."""
    many = surprises.shape[1]
    of = replace(
        watch(),
        subjects=tuple(f"feature:{at}" for at in range(many)),
        groups=(SubjectGroup.FEATURE,) * many,
        series=tuple(WatchedSeries(at, DailyStatistic.LEVEL, 0, 0.1 / many) for at in range(many)),
        faults=(),
    )
    (judged,) = run(of, [replace(day(0), values=np.zeros(many, np.float32), hits=NONE, trials=NONE)])
    return of, [
        replace(judged.record, day=judged.record.day + at, surprise=one.astype(np.float32))
        for at, one in enumerate(surprises)
    ]


@pytest.mark.parametrize(("struck", "expected"), [((3,), 2), ((3, 4), 0), (tuple(range(12)), 0)])
def test_days_of_a_change_that_may_have_begun_are_suspected_unless_others_move_too(
    struck: tuple[int, ...], expected: int
) -> None:
    surprises = np.zeros((10, 12))
    surprises[-2:, list(struck)] = 3.0

    of, rows = numbers(surprises)
    days = suspected_days(of, rows, accumulate_past_evidence(of, rows))

    assert days[:, 3].tolist() == [False] * (10 - expected) + [True] * expected
    assert not days[:, [at for at in range(12) if at not in struck]].any()


def test_one_that_has_no_like_is_never_suspected_and_no_day_longer_than_six_days() -> None:
    alone, rows = numbers(np.full((10, 1), 3.0))
    long = np.zeros((20, 12))
    long[-15:, 0] = 1.5

    assert not suspected_days(alone, rows, accumulate_past_evidence(alone, rows)).any()
    of, rows = numbers(long)
    assert suspected_days(of, rows, accumulate_past_evidence(of, rows)).sum(axis=0).tolist() == [6, *[0] * 11]


def test_sizes_are_in_the_unit_of_the_smallest_ones_told() -> None:
    kinds = np.asarray(
        [
            STATISTICS.index(each)
            for each in (
                DailyStatistic.MISSING,
                DailyStatistic.RESIDUAL_LEVEL,
                DailyStatistic.SHAPE,
                DailyStatistic.LEVEL,
            )
        ]
    )
    level = np.asarray([arcsine_share(100, 1_000), 0.3, 0.5, 0.0])
    after = np.asarray([arcsine_share(200, 1_000), 0.4, 1.0, 0.4])

    assert change_size(kinds, level, after - level) == pytest.approx([0.1, 0.1, 0.875, 0.4], abs=1e-3)
    assert rescale_smallest_sizes(kinds, np.asarray([0.05, 0.025, 0.1, 0.3]), 0.4) == pytest.approx(
        [0.05, 0.025, 0.4, 0.6]
    )


@pytest.mark.parametrize("options", [{"false_alerts": 0}, {"false_alerts": np.inf}, {"smallest": -0.1}])
def test_a_budget_that_tells_nothing_or_all_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="got"):
        AlertBudget(**options)
