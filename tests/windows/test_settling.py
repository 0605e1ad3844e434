"""When a window's labels are in: right-truncated delays, coverage, panes counted whole."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import lognorm

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.records.counting import DELAY_EDGES
from monitor.windows.settling import (
    DelayCurve,
    LabelledPanes,
    ObservableDelays,
    SettledState,
    SettlingAges,
    SettlingRule,
    are_labels_uneven,
    estimate_delay_curve,
    judge_settled,
    settling_age,
    settling_ages,
    usual_coverage,
)

EDGES: Floats = np.asarray([1.0, 2.0, 4.0, 8.0, 16.0])
FINE: Floats = np.asarray(DELAY_EDGES)
HORIZON = 30 * DAY
OLD = HORIZON - HORIZON // 50  # a feed that was heard for so long was heard for the horizon
RULE = SettlingRule(share=0.95, after=None, horizon=HORIZON, pane=HOUR, heard=1_000 * DAY)
AGES = SettlingAges(settled=2 * DAY, nearly_all=4 * DAY, few=False)
NOW = 1_000 * DAY


def delays_of(*panes: tuple[float, Sequence[int]]) -> ObservableDelays:
    """Delays of panes of one class: (age at the last count in seconds, numbers of labels by cell)."""
    count, shown = np.zeros((2, 1, len(EDGES) + 1), dtype=np.int64)
    for age, numbers in panes:
        last = int(np.searchsorted(EDGES, age, side="right")) - 1
        seen = np.asarray(numbers)[: last + 1]
        count[0, : len(seen)] += seen
        shown[0, max(last, 0)] += seen.sum()
    return ObservableDelays(count, shown)


def joined(*classes: ObservableDelays) -> ObservableDelays:
    return ObservableDelays(
        *(np.concatenate([getattr(one, name) for one in classes]) for name in ("count", "shown"))
    )


def one(delays: ObservableDelays) -> tuple[Ints, Ints]:
    return delays.count[0], delays.shown[0]


def drawn(hours: Floats, ages: Floats) -> ObservableDelays:
    """What is seen of delays in panes of these ages: only the shorter ones."""
    cell, last = (np.searchsorted(FINE, many * 3_600, side="right") for many in (hours, ages))
    seen = (hours < ages) & (cell < last)
    count, shown = (np.bincount(many[seen], minlength=len(FINE) + 1) for many in (cell, last - 1))
    return ObservableDelays(count[np.newaxis], shown[np.newaxis])


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
    panes: LabelledPanes, *, end: int, ages: SettlingAges = AGES, rule: SettlingRule = RULE, days: int = 7
) -> SettledState:
    return judge_settled((end - days * DAY, end), NOW, panes, ages, rule, usual_coverage(panes, ages, rule))


def test_completeness_is_the_product_of_the_reverse_time_survival() -> None:
    # at risk of cell 3: 100, 10 there; of cell 2: 90, 20 there; of cell 1: 70 + 14, 30 + 2 there
    delays = delays_of((16.0, [40, 30, 20, 10]), (2.0, [12, 2]))

    curve = estimate_delay_curve(*one(delays), EDGES, 10 * SECOND).completeness

    assert curve.tolist() == pytest.approx([0.9 * (7 / 9) * (52 / 84), 0.9 * (7 / 9), 0.9, 1.0, 1.0])


def test_what_never_comes_does_not_count() -> None:
    delays = delays_of((16.0, [5, 5]))

    assert estimate_delay_curve(*one(delays), EDGES, 10 * SECOND).completeness.tolist() == [
        0.5,
        1.0,
        1.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize("median", [6.0, 40.0, 120.0])
def test_completeness_of_truncated_delays_converges_to_the_true_distribution(median: float) -> None:
    rng = np.random.default_rng(3)
    ages = rng.uniform(1.0, 60 * 24.0, 200_000)
    hours = rng.lognormal(np.log(median), 0.8, 200_000)
    horizon = 30 * 24.0

    curve = estimate_delay_curve(*one(drawn(hours, ages)), FINE, int(horizon * HOUR)).completeness

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
    curve = estimate_delay_curve(*one(seen), FINE, 5 * DAY).completeness

    at = int(np.searchsorted(FINE, 24 * 3_600.0))
    naive = float(seen.count[0, : at + 1].sum() / seen.count.sum())
    assert naive - truth > 0.1
    assert curve[at] == pytest.approx(truth, abs=0.02)


def test_the_slowest_class_with_enough_delays_sets_the_age() -> None:
    fast, slow = delays_of((16.0, [96, 4])), delays_of((16.0, [0, 0, 94, 6]))

    ages = settling_ages(joined(fast, slow), EDGES, horizon=10 * SECOND, share=0.95)

    assert ages == SettlingAges(settled=8 * SECOND, nearly_all=8 * SECOND, few=False)
    alone = settling_ages(fast, EDGES, horizon=10 * SECOND, share=0.95)
    assert alone == SettlingAges(settled=1 * SECOND, nearly_all=2 * SECOND, few=False)


def test_a_class_with_fewer_than_fifty_delays_has_the_pooled_ones() -> None:
    common, rare = delays_of((16.0, [96, 4])), delays_of((16.0, [0, 0, 0, 49]))
    every = delays_of((16.0, [96, 4, 0, 49]))

    ages = settling_ages(joined(common, rare), EDGES, horizon=10 * SECOND, share=0.95)

    assert ages == SettlingAges(settled=8 * SECOND, nearly_all=8 * SECOND, few=True)
    own, pooled = (estimate_delay_curve(*one(delays), EDGES, 10 * SECOND) for delays in (common, every))
    assert [curve.completeness.tolist() for curve in ages.curves] == [
        own.completeness.tolist(),
        pooled.completeness.tolist(),
    ]


def test_of_several_classes_rare_ones_are_told_where_they_hold_more_than_a_window_may_miss() -> None:
    common, rare = delays_of((16.0, [96, 4])), delays_of((16.0, [0, 0, 0, 9]))

    one_in_twenty = settling_ages(joined(common, common, rare), EDGES, horizon=10 * SECOND, share=0.95)
    one_in_ten = settling_ages(
        joined(common, common, rare, rare, rare), EDGES, horizon=10 * SECOND, share=0.95
    )

    assert (one_in_twenty.few, one_in_ten.few) == (False, True)


def test_fifty_delays_are_enough() -> None:
    common, rare = delays_of((16.0, [96, 4])), delays_of((16.0, [0, 0, 0, 50]))

    assert not settling_ages(joined(common, rare), EDGES, horizon=10 * SECOND, share=0.95).few
    assert settling_ages(delays_of((16.0, [50])), EDGES, horizon=10 * SECOND, share=0.95).curves


def test_a_window_is_uneven_where_one_class_is_ahead() -> None:
    fast, slow = (
        DelayCurve(np.asarray(reached), np.zeros(3)) for reached in ([0.5, 1.0, 1.0], [0.0, 0.94, 1.0])
    )
    rule = replace(RULE, pane=SECOND, heard=NOW)
    panes = panes_of(1)

    def told(age: float, *curves: DelayCurve) -> bool:
        one = replace(panes, start=np.asarray([int(NOW - (age + 0.5) * SECOND)]))
        one = replace(one, **{name: getattr(one, name)[:1] for name in ("records", "labelled")})
        return are_labels_uneven((0, NOW), one, replace(AGES, curves=curves), rule, EDGES)

    assert [told(age, fast, slow) for age in (1.5, 2.5, 4.5)] == [True, True, False]
    assert not told(1.5, fast), "one class is ahead of nobody"
    assert not told(0.5, fast, slow), "nothing is in of either"


def test_without_fifty_delays_of_all_classes_together_windows_wait_for_the_horizon() -> None:
    few = delays_of((16.0, [20]))
    ages = settling_ages(joined(few, few), EDGES, horizon=HORIZON, share=0.95)

    assert ages == SettlingAges(settled=HORIZON, nearly_all=HORIZON, few=True)
    assert ages.curves == ()
    assert of(panes_of(90), end=NOW - HORIZON, ages=ages) is SettledState.FEW_DELAYS
    assert of(panes_of(90), end=NOW - HORIZON + HOUR, ages=ages) is SettledState.NO


def test_the_variance_is_greenwoods() -> None:
    """Of log completeness: the sum of d / (n (n - d)) over the cells above; nothing truncated: binomial's."""
    delays = delays_of((16.0, [40, 30, 20, 10]), (2.0, [12, 2]))
    curve = estimate_delay_curve(*one(delays), EDGES, 10 * SECOND)

    terms = [32 / (84 * 52), 20 / (90 * 70), 10 / (100 * 90)]
    assert curve.variance.tolist() == pytest.approx([sum(terms), sum(terms[1:]), terms[2], 0.0, 0.0])

    whole = estimate_delay_curve(*one(delays_of((16.0, [40, 30, 20, 10]))), EDGES, 10 * SECOND)
    share = whole.completeness
    assert whole.variance.tolist() == pytest.approx(((1 - share) / share / 100).tolist())


def test_the_variance_is_that_of_repeated_logs() -> None:
    rng = np.random.default_rng(5)
    logs = [
        drawn(rng.lognormal(np.log(40.0), 0.8, 2_000), rng.uniform(1.0, 240.0, 2_000)) for _ in range(200)
    ]
    curves = [estimate_delay_curve(*one(log), FINE, 30 * DAY) for log in logs]
    at = int(np.searchsorted(FINE, 40 * 3_600.0))

    spread = np.var([np.log(curve.completeness[at]) for curve in curves])

    assert np.mean([curve.variance[at] for curve in curves]) == pytest.approx(spread, rel=0.3)


def test_where_nothing_is_in_the_variance_is_infinite() -> None:
    delays = delays_of((16.0, [0, 0, 5]))
    curve = estimate_delay_curve(*one(delays), EDGES, 10 * SECOND)

    assert curve.completeness.tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert curve.variance.tolist() == [np.inf, np.inf, 0.0, 0.0, 0.0]


def test_no_age_settles_before_the_feed_was_heard_for_one_and_a_half_times_as_long() -> None:
    """Or for the horizon: what comes later does not count."""
    long, heard = replace(AGES, settled=25 * DAY), replace(RULE, heard=NOW - HOUR)

    assert settling_age(panes_of(3), AGES, RULE) == 2 * DAY
    assert settling_age(panes_of(3), AGES, heard) is None
    assert settling_age(panes_of(3, end=NOW - HOUR), AGES, RULE) == 2 * DAY
    assert settling_age(panes_of(30), long, RULE) == 25 * DAY
    assert settling_age(panes_of(29), long, RULE) is None
    assert settling_age(panes_of(0), AGES, replace(RULE, after=DAY)) == DAY


def test_panes_without_records_show_no_delays() -> None:
    panes = panes_of(60)
    late = replace(panes, records=np.where(panes.start < NOW - 2 * DAY, 0, 50))

    assert settling_age(late, AGES, RULE) is None


def test_a_window_settles_at_the_age_of_its_youngest_pane() -> None:
    panes = panes_of(60)

    assert of(panes, end=NOW - 2 * DAY) is SettledState.YES
    assert of(panes, end=NOW - 2 * DAY + HOUR) is SettledState.NO


def test_a_window_whose_age_stands_on_few_delays_of_a_class_says_so() -> None:
    few = replace(AGES, few=True)

    assert of(panes_of(60), end=NOW - 2 * DAY, ages=few) is SettledState.FEW_DELAYS
    assert of(panes_of(60), end=NOW - 2 * DAY, ages=few, rule=replace(RULE, after=DAY)) is SettledState.YES


def test_settle_after_replaces_the_learnt_age() -> None:
    rule = replace(RULE, after=DAY)
    unknown = SettlingAges(HORIZON, HORIZON, few=True)
    panes = panes_of(60, labelled=50)

    assert of(panes, end=NOW - DAY, ages=unknown, rule=rule) is SettledState.YES
    assert of(panes, end=NOW - DAY + HOUR, ages=unknown, rule=rule) is SettledState.NO


def test_with_settle_after_low_coverage_is_a_warning_unless_the_feed_stands_still() -> None:
    """It does where nothing was heard for the last quarter of that age."""
    panes = panes_of(60)
    half = replace(panes, labelled=np.where(panes.start < NOW - 6 * DAY, panes.labelled, 20))
    rule, end = replace(RULE, after=4 * DAY), NOW - 4 * DAY

    assert of(half, end=end, rule=rule) is SettledState.LOW_COVERAGE
    assert of(half, end=end, rule=replace(rule, heard=end + 3 * DAY)) is SettledState.LOW_COVERAGE
    assert of(half, end=end, rule=replace(rule, heard=end + 3 * DAY - 1)) is SettledState.NO
    assert of(panes, end=end, rule=replace(rule, heard=end + DAY)) is SettledState.YES


@pytest.mark.parametrize("labelled", [10, 60, 97])
def test_labels_that_never_come_block_nothing_from_the_first_panes_that_are_old_on(labelled: int) -> None:
    panes = panes_of(9, records=100, labelled=labelled)

    assert usual_coverage(panes, AGES, RULE) == labelled / 100
    assert of(panes, end=NOW - 2 * DAY) is SettledState.YES


def test_young_panes_do_not_lower_what_is_usual() -> None:
    panes = panes_of(60)
    panes = replace(panes, labelled=np.where(panes.start >= NOW - 2 * DAY, 0, panes.labelled))

    assert usual_coverage(panes, AGES, RULE) == 0.98


def test_what_the_feed_delivered_lately_is_usual_where_it_is_more() -> None:
    """A log whose first weeks have few labels: a window of now with half of its labels is not settled."""
    panes = panes_of(60, records=100, labelled=90)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 20 * DAY, 10, panes.labelled))
    last_day = (panes.start >= NOW - 3 * DAY) & (panes.start < NOW - 2 * DAY)
    outage = replace(panes, labelled=np.where(last_day, 45, panes.labelled))

    assert usual_coverage(panes, AGES, RULE) == 0.9
    assert of(outage, end=NOW - 2 * DAY) is SettledState.NO


def test_a_window_whose_coverage_is_below_the_usual_one_is_not_settled() -> None:
    panes = panes_of(60)
    gap = (panes.start >= NOW - 5 * DAY) & (panes.start < NOW - 4 * DAY)
    panes = replace(panes, labelled=np.where(gap, 0, panes.labelled))

    assert of(panes, end=NOW - 2 * DAY) is SettledState.NO


def test_a_long_window_whose_last_day_lacks_labels_is_not_settled() -> None:
    panes = panes_of(90)
    last_day = (panes.start >= NOW - 3 * DAY) & (panes.start < NOW - 2 * DAY)
    panes = replace(panes, labelled=np.where(last_day, 40, panes.labelled))
    window = (panes.start >= NOW - 32 * DAY) & (panes.start < NOW - 2 * DAY)
    assert panes.labelled[window].sum() / panes.records[window].sum() > 0.95

    assert of(panes, end=NOW - 2 * DAY, days=30) is SettledState.NO


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

    assert of(with_labelled(42), end=NOW - 2 * DAY, days=1) is SettledState.YES
    assert of(with_labelled(41), end=NOW - 2 * DAY, days=1) is SettledState.NO


def test_a_low_coverage_that_will_not_rise_settles_with_a_warning() -> None:
    panes = panes_of(60)
    gap = (panes.start >= NOW - 6 * DAY) & (panes.start < NOW - 5 * DAY)
    panes = replace(panes, labelled=np.where(gap, 0, panes.labelled))

    assert of(panes, end=NOW - 4 * DAY + HOUR) is SettledState.NO
    assert of(panes, end=NOW - 4 * DAY) is SettledState.LOW_COVERAGE


def test_a_low_coverage_is_no_reason_to_settle_while_the_feed_stands_still() -> None:
    panes = panes_of(60)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 8 * DAY, panes.labelled, 0))
    end = NOW - 7 * DAY
    still = replace(RULE, heard=NOW - 8 * DAY)

    assert of(panes, end=end) is SettledState.LOW_COVERAGE
    assert of(panes, end=end, rule=still) is SettledState.NO
    assert of(panes, end=end, rule=replace(still, heard=end + 4 * DAY)) is SettledState.LOW_COVERAGE


def test_a_feed_that_stands_still_does_not_lower_what_is_usual() -> None:
    panes = panes_of(60)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 20 * DAY, panes.labelled, 0))

    assert usual_coverage(panes, AGES, RULE) < 0.75
    assert usual_coverage(panes, AGES, replace(RULE, heard=NOW - 20 * DAY)) == 0.98


def test_while_the_feed_is_silent_chance_is_no_excuse() -> None:
    """Of few labels: a week that lacks 15 of 100 would pass as chance while the feed goes on."""
    panes = panes_of(60, records=10, labelled=0)
    old = panes.start < NOW - 9 * DAY
    panes = replace(panes, labelled=np.where(panes.start % (12 * HOUR) == 0, np.where(old, 7, 6), 0))
    end = NOW - 2 * DAY

    assert of(panes, end=end) is SettledState.YES
    assert of(panes, end=end, rule=replace(RULE, heard=end + 2 * DAY * 9 // 10)) is SettledState.YES
    assert of(panes, end=end, rule=replace(RULE, heard=end + 2 * DAY * 9 // 10 - 1)) is SettledState.NO


def test_records_without_any_label_never_settle_silently() -> None:
    """After a long outage nearly nothing is usual."""
    panes = panes_of(60, labelled=0)
    panes = replace(panes, labelled=np.where(panes.start < NOW - 59 * DAY, 1, 0))

    assert usual_coverage(panes, AGES, RULE) < 0.001
    assert of(panes, end=NOW - 2 * DAY) is SettledState.NO
    assert of(panes, end=NOW - 4 * DAY) is SettledState.LOW_COVERAGE


def test_a_pane_last_counted_whole_long_before_the_age_holds_its_windows() -> None:
    panes = panes_of(60)
    mine = panes.start == NOW - 5 * DAY
    end, nine_tenths = NOW - 5 * DAY + HOUR, 9 * DAY // 5

    early = replace(panes, whole_as_of=np.where(mine, end + nine_tenths - 1, NOW))
    late = replace(panes, whole_as_of=np.where(mine, end + nine_tenths, NOW))

    assert of(early, end=NOW - 2 * DAY) is SettledState.NO
    assert of(late, end=NOW - 2 * DAY) is SettledState.YES


def test_a_pane_that_waits_for_its_first_count_holds_its_windows() -> None:
    panes = panes_of(60)
    lacking = np.asarray([NOW - 5 * DAY])

    known = panes.with_uncounted(lacking)

    assert of(known, end=NOW - 2 * DAY) is SettledState.NO
    assert of(known, end=NOW - 5 * DAY) is SettledState.YES
    assert known.start.tolist() == panes.start.tolist()
    assert panes.with_uncounted(lacking[:0]) is panes


def test_a_window_without_records_settles_by_its_age() -> None:
    panes = panes_of(60)
    empty = panes.start >= NOW - 20 * DAY
    panes = replace(panes, records=np.where(empty, 0, 50), labelled=np.where(empty, 0, 49))

    assert of(panes, end=NOW - 2 * DAY) is SettledState.YES


def test_unevenness_is_that_of_the_windows_records_by_their_number() -> None:
    """Fast 0.5, slow 0.2 in the young pane of 30 records; 1.0 and 0.9 in the old one of 10."""
    fast, slow = (
        DelayCurve(np.asarray(reached), np.zeros(3)) for reached in ([0.5, 1.0, 1.0], [0.2, 0.9, 1.0])
    )
    starts = [int(NOW - (age + 0.5) * SECOND) for age in (2.5, 1.0)]
    panes = LabelledPanes(
        start=np.asarray([0, *starts, NOW - 1]),
        counted_as_of=np.full(4, NOW),
        whole_as_of=np.full(4, NOW),
        records=np.asarray([1_000, 10, 30, 1_000]),
        labelled=np.zeros(4, dtype=np.int64),
    )
    ages = replace(AGES, curves=(fast, slow))

    def told(share: float, window: tuple[int, int] = (starts[0], NOW - 1)) -> bool:
        return are_labels_uneven(
            window, panes, ages, replace(RULE, pane=SECOND, heard=NOW, share=share), EDGES
        )

    ratio = (0.2 * 30 + 0.9 * 10) / (0.5 * 30 + 1.0 * 10)  # 0.6
    assert (told(ratio + 0.001), told(ratio - 0.001)) == (True, False)
    assert not told(0.99, (0, 1)), "of an old pane all is in, whatever the class"
    only_old = (starts[0], starts[1])
    assert (told(0.91, only_old), told(0.89, only_old)) == (True, False)
    assert not told(0.99, (starts[1] + 1, NOW - 1)), "no pane begins there"
    empty = replace(panes, records=np.asarray([0, 0, 0, 0]))
    rule = replace(RULE, pane=SECOND, heard=NOW, share=0.99)
    assert not are_labels_uneven((0, NOW), empty, ages, rule, EDGES)
