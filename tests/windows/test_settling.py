"""When a window's labels are in: right-truncated delays, coverage, panes counted whole."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import lognorm

from monitor.core.clock import DAY, HOUR, SECOND
from monitor.core.typing import Floats, Ints
from monitor.records.counting import DELAY_EDGES
from monitor.windows.settling import (
    Ages,
    Delays,
    LabelledPanes,
    Settled,
    SettlingRule,
    completeness,
    plateau,
    settled,
    settling_age,
    settling_ages,
)

EDGES: Floats = np.asarray([1.0, 2.0, 4.0, 8.0, 16.0])
FINE: Floats = np.asarray(DELAY_EDGES)
HORIZON = 30 * DAY
OLD = HORIZON - HORIZON // 50  # age of a log that is as old as the horizon
RULE = SettlingRule(share=0.95, after=None, horizon=HORIZON, pane=HOUR, log_age=90 * DAY, heard=1_000 * DAY)
AGES = Ages(settled=2 * DAY, nearly_all=4 * DAY, held=False)
NOW = 1_000 * DAY


def delays_of(*panes: tuple[float, Sequence[int]], kind: int = 0) -> Delays:
    """Delays of panes: (age at the last count in seconds, numbers of labels by cell)."""
    counts = np.concatenate([np.asarray(numbers, dtype=np.int64) for _, numbers in panes])
    return Delays(
        kind=np.full(len(counts), kind),
        cell=np.concatenate([np.arange(len(numbers)) for _, numbers in panes]),
        count=counts,
        age=np.repeat([age for age, _ in panes], [len(numbers) for _, numbers in panes]).astype(np.float64),
    )


def joined(*many: Delays) -> Delays:
    return Delays(
        kind=np.concatenate([one.kind for one in many]),
        cell=np.concatenate([one.cell for one in many]),
        count=np.concatenate([one.count for one in many]),
        age=np.concatenate([one.age for one in many]),
    )


def drawn(hours: Floats, ages: Floats) -> Delays:
    """What is seen of delays in panes of these ages: only the shorter ones."""
    seen = hours < ages
    return Delays(
        kind=np.zeros(int(seen.sum()), np.int64),
        cell=np.searchsorted(FINE, hours[seen] * 3_600, side="right").astype(np.int64),
        count=np.ones(int(seen.sum()), np.int64),
        age=ages[seen] * 3_600,
    )


def panes_of(
    days: int, *, records: int = 50, labelled: int = 49, counted_as_of: int = NOW, end: int = NOW
) -> LabelledPanes:
    """Hourly panes of the days before a moment."""
    start: Ints = np.arange(end - days * DAY, end, HOUR)
    return LabelledPanes(
        start=start,
        counted_as_of=np.full(len(start), counted_as_of),
        whole_as_of=np.full(len(start), counted_as_of),
        records=np.full(len(start), records),
        labelled=np.full(len(start), labelled),
    )


def of(
    panes: LabelledPanes, *, end: int, ages: Ages = AGES, rule: SettlingRule = RULE, days: int = 7
) -> Settled:
    return settled((end - days * DAY, end), NOW, panes, ages, rule, plateau(panes, ages, rule))


def test_completeness_is_the_product_of_the_reverse_time_survival() -> None:
    # at risk of cell 3: 100, 10 there; of cell 2: 90, 20 there; of cell 1: 70 + 14, 30 + 2 there
    delays = delays_of((16.0, [40, 30, 20, 10]), (2.0, [12, 2]))

    curve = completeness(delays, EDGES, 10 * SECOND)

    assert curve.tolist() == pytest.approx([0.9 * (7 / 9) * (52 / 84), 0.9 * (7 / 9), 0.9, 1.0, 1.0])


def test_a_cell_that_a_pane_is_too_young_to_show_whole_is_left_out() -> None:
    young_whole = delays_of((16.0, [40, 30, 20, 10]), (3.0, [12, 2]))
    young_cut = delays_of((16.0, [40, 30, 20, 10]), (3.0, [12, 2, 7]))

    curves = [completeness(delays, EDGES, 10 * SECOND).tolist() for delays in (young_whole, young_cut)]

    assert curves[0] == curves[1]


def test_what_never_comes_does_not_count() -> None:
    delays = delays_of((16.0, [5, 5]))

    assert completeness(delays, EDGES, 10 * SECOND).tolist() == [0.5, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("median", [6.0, 40.0, 120.0])
def test_completeness_of_truncated_delays_converges_to_the_true_distribution(median: float) -> None:
    rng = np.random.default_rng(3)
    ages = rng.uniform(1.0, 60 * 24.0, 200_000)
    hours = rng.lognormal(np.log(median), 0.8, 200_000)
    horizon = 30 * 24.0

    curve = completeness(drawn(hours, ages), FINE, int(horizon * HOUR))

    ends = FINE[: len(curve)] / 3_600
    inside = ends <= horizon
    truth = lognorm.cdf(ends, 0.8, scale=median) / lognorm.cdf(horizon, 0.8, scale=median)
    assert np.abs(curve - truth)[inside].max() < 0.012


def test_the_naive_share_of_a_growing_log_would_be_far_off() -> None:
    """The same delays without the correction: young panes show only short ones."""
    rng = np.random.default_rng(4)
    ages = rng.uniform(1.0, 5 * 24.0, 100_000)
    hours = rng.lognormal(np.log(40.0), 0.8, 100_000)
    truth = lognorm.cdf(24.0, 0.8, scale=40.0) / lognorm.cdf(120.0, 0.8, scale=40.0)

    seen = drawn(hours, ages)
    curve = completeness(seen, FINE, 5 * DAY)

    at = int(np.searchsorted(FINE, 24 * 3_600.0))
    naive = float((seen.cell <= at).mean())
    assert naive - truth > 0.1
    assert curve[at] == pytest.approx(truth, abs=0.02)


def test_the_slowest_class_with_enough_delays_sets_the_age() -> None:
    fast, slow = delays_of((16.0, [96, 4])), delays_of((16.0, [0, 0, 94, 6]), kind=1)

    ages = settling_ages(joined(fast, slow), EDGES, classes=2, horizon=10 * SECOND, share=0.95)

    assert ages == Ages(settled=8 * SECOND, nearly_all=8 * SECOND, held=False)
    alone = settling_ages(fast, EDGES, classes=1, horizon=10 * SECOND, share=0.95)
    assert alone == Ages(settled=1 * SECOND, nearly_all=2 * SECOND, held=False)


def test_a_class_with_fewer_than_fifty_delays_sets_no_age_but_holds_windows_back() -> None:
    common, rare = delays_of((16.0, [96, 4])), delays_of((16.0, [0, 0, 0, 49]), kind=1)

    ages = settling_ages(joined(common, rare), EDGES, classes=2, horizon=10 * SECOND, share=0.95)

    assert ages == Ages(settled=1 * SECOND, nearly_all=2 * SECOND, held=True)


def test_without_fifty_delays_of_any_class_no_age_is_known() -> None:
    ages = settling_ages(delays_of((16.0, [20])), EDGES, classes=2, horizon=10 * SECOND, share=0.95)

    assert ages == Ages(settled=None, nearly_all=None, held=True)
    assert settling_age(ages, RULE) is None


def test_no_age_settles_before_the_log_is_three_times_as_old_or_as_old_as_the_horizon() -> None:
    long = replace(AGES, settled=20 * DAY)

    assert settling_age(AGES, replace(RULE, log_age=6 * DAY - 1)) is None
    assert settling_age(AGES, replace(RULE, log_age=6 * DAY)) == 2 * DAY
    assert settling_age(long, replace(RULE, log_age=OLD - 1)) is None
    assert settling_age(long, replace(RULE, log_age=OLD)) == 20 * DAY
    assert settling_age(replace(AGES, held=True), replace(RULE, log_age=OLD - 1)) is None
    assert settling_age(AGES, replace(RULE, log_age=0, after=DAY)) == DAY


def test_a_window_settles_at_the_age_of_its_youngest_pane() -> None:
    panes = panes_of(60)

    assert of(panes, end=NOW - 2 * DAY) is Settled.YES
    assert of(panes, end=NOW - 2 * DAY + HOUR) is Settled.NO


def test_a_young_log_settles_nothing_before_three_times_the_age() -> None:
    panes = panes_of(60)

    assert of(panes, end=NOW - 2 * DAY, rule=replace(RULE, log_age=6 * DAY - 1)) is Settled.NO
    assert of(panes, end=NOW - 2 * DAY, rule=replace(RULE, log_age=6 * DAY)) is Settled.YES


def test_three_times_the_age_is_at_most_the_horizon() -> None:
    slow = Ages(settled=20 * DAY, nearly_all=25 * DAY, held=False)
    rule = replace(RULE, log_age=OLD)

    assert of(panes_of(60), end=NOW - 20 * DAY, ages=slow, rule=rule) is Settled.YES
    younger = replace(rule, log_age=OLD - 1)
    assert of(panes_of(60), end=NOW - 20 * DAY, ages=slow, rule=younger) is Settled.NO


def test_a_rare_class_holds_windows_back_until_the_log_is_as_old_as_the_horizon() -> None:
    held = replace(AGES, held=True)
    panes = panes_of(60)

    assert of(panes, end=NOW - 3 * DAY, ages=held, rule=replace(RULE, log_age=OLD - 1)) is Settled.NO
    assert of(panes, end=NOW - 3 * DAY, ages=held, rule=replace(RULE, log_age=OLD)) is Settled.YES


def test_without_any_age_windows_settle_at_the_horizon() -> None:
    unknown = Ages(None, None, held=True)
    panes = panes_of(90)

    assert of(panes, end=NOW - HORIZON, ages=unknown) is Settled.YES
    assert of(panes, end=NOW - HORIZON + HOUR, ages=unknown) is Settled.NO


def test_settle_after_replaces_the_learnt_age() -> None:
    rule = replace(RULE, after=DAY, log_age=0)
    unknown = Ages(None, None, held=True)
    panes = panes_of(60, labelled=50)

    assert settling_age(unknown, rule) == DAY
    assert of(panes, end=NOW - DAY, ages=unknown, rule=rule) is Settled.YES
    assert of(panes, end=NOW - DAY + HOUR, ages=unknown, rule=rule) is Settled.NO


def test_labels_that_never_come_block_nothing_once_the_plateau_is_known() -> None:
    panes = panes_of(60, records=100, labelled=60)

    assert plateau(panes, AGES, RULE) == 0.6
    assert of(panes, end=NOW - 2 * DAY) is Settled.YES


def test_the_plateau_is_one_until_the_log_is_as_old_as_the_horizon() -> None:
    rule = replace(RULE, log_age=OLD - 1)
    panes = panes_of(20, records=100, labelled=60)

    assert plateau(panes, AGES, rule) == 1.0
    assert of(panes, end=NOW - 2 * DAY, rule=rule) is Settled.NO


def test_young_panes_do_not_lower_the_plateau() -> None:
    panes = panes_of(60)
    young = panes.start >= NOW - 3 * DAY
    panes = replace(panes, labelled=np.where(young, 0, panes.labelled))

    assert plateau(panes, AGES, RULE) == 0.98


def test_a_window_whose_coverage_is_below_the_plateau_is_not_settled() -> None:
    panes = panes_of(60)
    gap = (panes.start >= NOW - 5 * DAY) & (panes.start < NOW - 4 * DAY)
    panes = replace(panes, labelled=np.where(gap, 0, panes.labelled))

    assert of(panes, end=NOW - 2 * DAY) is Settled.NO


def test_a_long_window_whose_last_day_lacks_labels_is_not_settled() -> None:
    panes = panes_of(90)
    last_day = (panes.start >= NOW - 3 * DAY) & (panes.start < NOW - 2 * DAY)
    panes = replace(panes, labelled=np.where(last_day, 40, panes.labelled))
    window = (panes.start >= NOW - 32 * DAY) & (panes.start < NOW - 2 * DAY)
    assert panes.labelled[window].sum() / panes.records[window].sum() > 0.95

    assert of(panes, end=NOW - 2 * DAY, days=30) is Settled.NO


def test_three_binomial_standard_deviations_below_are_chance() -> None:
    """50 records: 0.95 * 0.98 = 0.931, three deviations are 0.1075: 42 of 50 pass, 41 do not."""
    one_pane = panes_of(60, records=0, labelled=0)
    old, mine = one_pane.start < NOW - 10 * DAY, one_pane.start == NOW - 3 * DAY

    def with_labelled(labelled: int) -> LabelledPanes:
        return replace(
            one_pane,
            records=np.where(old | mine, 50, 0),
            labelled=np.where(old, 49, np.where(mine, labelled, 0)),
        )

    assert of(with_labelled(42), end=NOW - 2 * DAY, days=1) is Settled.YES
    assert of(with_labelled(41), end=NOW - 2 * DAY, days=1) is Settled.NO


def test_a_low_coverage_that_will_not_rise_settles_with_a_warning() -> None:
    panes = panes_of(60)
    gap = (panes.start >= NOW - 6 * DAY) & (panes.start < NOW - 5 * DAY)
    panes = replace(panes, labelled=np.where(gap, 0, panes.labelled))

    assert of(panes, end=NOW - 4 * DAY + HOUR) is Settled.NO
    assert of(panes, end=NOW - 4 * DAY) is Settled.LOW_COVERAGE
    young = replace(RULE, log_age=OLD - 1)
    assert of(panes, end=NOW - 4 * DAY, rule=young) is Settled.NO


def test_a_low_coverage_is_no_reason_to_settle_while_the_feed_stands_still() -> None:
    panes = panes_of(60)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 8 * DAY, panes.labelled, 0))
    end = NOW - 7 * DAY
    still = replace(RULE, heard=NOW - 8 * DAY)

    assert of(panes, end=end) is Settled.LOW_COVERAGE
    assert of(panes, end=end, rule=still) is Settled.NO
    assert of(panes, end=end, rule=replace(still, heard=end + 4 * DAY)) is Settled.LOW_COVERAGE


def test_a_feed_that_stands_still_does_not_lower_the_plateau() -> None:
    panes = panes_of(60)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 20 * DAY, panes.labelled, 0))

    assert plateau(panes, AGES, RULE) < 0.75
    assert plateau(panes, AGES, replace(RULE, heard=NOW - 20 * DAY)) == 0.98


def test_records_without_any_label_never_settle_silently() -> None:
    """After a long outage even the plateau is nearly nothing."""
    panes = panes_of(60, labelled=0)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 59 * DAY, 1, 0))

    assert plateau(panes, AGES, RULE) < 0.001
    assert of(panes, end=NOW - 2 * DAY) is Settled.NO
    assert of(panes, end=NOW - 4 * DAY) is Settled.LOW_COVERAGE


def test_a_pane_last_counted_whole_long_before_the_age_holds_its_windows() -> None:
    panes = panes_of(60)
    mine = panes.start == NOW - 5 * DAY
    end, nine_tenths = NOW - 5 * DAY + HOUR, 9 * DAY // 5

    early = replace(panes, whole_as_of=np.where(mine, end + nine_tenths - 1, NOW))
    late = replace(panes, whole_as_of=np.where(mine, end + nine_tenths, NOW))

    assert of(early, end=NOW - 2 * DAY) is Settled.NO
    assert of(late, end=NOW - 2 * DAY) is Settled.YES


def test_a_pane_that_waits_for_its_first_count_holds_its_windows() -> None:
    panes = panes_of(60)
    lacking = np.asarray([NOW - 5 * DAY])

    known = panes.with_uncounted(lacking)

    assert of(known, end=NOW - 2 * DAY) is Settled.NO
    assert of(known, end=NOW - 5 * DAY) is Settled.YES
    assert known.start.tolist() == panes.start.tolist()
    assert panes.with_uncounted(lacking[:0]) is panes


def test_a_window_without_records_settles_by_its_age() -> None:
    panes = panes_of(60, records=0, labelled=0)

    assert of(panes, end=NOW - 2 * DAY) is Settled.YES
