"""Settling: are enough of a window's labels in? Times are microseconds, delays seconds.

How long labels take is learnt from the delays reported so far. They are right-truncated: a pane that was
last counted at the age T cannot show delays beyond T, and what never comes does not count. The reverse-time
hazard of a delay cell k is the number of delays in it over the number of delays in it or in lower cells, both
among panes old enough to show cell k [1]_. Completeness at the age a is F(a) / F(horizon) = the product of
(1 - hazard) over the cells above a.

References
----------
.. [1] Lagakos, Barraj, De Gruttola (1988), "Nonparametric analysis of truncated survival data, with
   application to AIDS", Biometrika 75(3), 515-523, section 2.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from monitor.core import measurement
from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import DAY, HOUR, SECOND, to_iso
from monitor.windows.window_ends import Window

ENOUGH_DELAYS = 50
ALL_BUT_ONE_PERCENT = 0.99
HEARD_FOR = 1.5  # times the settling age: so long was the feed heard that it could have shown later labels
HEARD_OF_AFTER = 0.75  # of `settle_after`: a feed that was silent for the rest stands still
CONFIRMED = 0.9  # of the settling age, which moves a little with every cycle
_PAIR = 2  # classes: how they differ is what labels tell
CHANCE = 3.0  # binomial standard deviations
LATELY = 7 * DAY


class SettledState(StrEnum):
    """What is said of a window's labels; but for NO and YES a warning that its rows carry, the graver one."""

    NO = "no"
    YES = "yes"
    FEW_DELAYS = measurement.FEW_DELAYS
    LOW_COVERAGE = "low_coverage"

    @property
    def warning(self) -> str:
        """Warning of the window's rows, or empty."""
        return "" if self in (SettledState.NO, SettledState.YES) else self.value


@dataclass(frozen=True, slots=True)
class ObservableDelays:
    """Reported first delays that their pane was old enough to show as it was last counted."""

    count: Ints  # int64, shape (classes, cells): delays by cell
    shown: Ints  # int64, shape (classes, cells): the same delays, by the last cell that their pane can show


@dataclass(frozen=True, slots=True, eq=False)
class DelayCurve:
    """How much of one class's labels is in, by age: entry k at the upper edge of delay cell k."""

    # float64, shape (cells,), ascending to 1: labels that are in, of those that will come. At an age beyond
    # the last cell it is 1.
    completeness: Floats
    # float64, same shape: Greenwood's, of the logarithm of `completeness`; infinite where that is 0.
    variance: Floats


@dataclass(frozen=True, slots=True)
class SettlingAges:
    """When windows settle."""

    # settled, nearly_all: age at which every class has the settled share (99 %) of the labels that will come;
    # the horizon where there are too few delays, even of all classes together: later labels do not count.
    settled: int
    nearly_all: int
    # a class has too few delays of its own: the pooled ones of all classes stand in. Of several classes it is
    # told where those hold more of the labels than a settled window may miss: one of many is often rare.
    few: bool
    # one a class, in the order of the classes; none where there are too few delays.
    curves: tuple[DelayCurve, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LabelledPanes:
    """Labels parts of the panes of a model, ascending by start; one position a pane."""

    # start, records, labelled: int64.
    start: Ints
    counted_as_of: Ints  # int64: all labels that were reported until then are counted
    whole_as_of: Ints  # int64: as of its last whole count; before the pane's start where none stands
    records: Ints
    labelled: Ints

    def with_uncounted(self, starts: Ints) -> "LabelledPanes":
        """These panes, and others of which no count stands: no window that holds one is settled."""
        if len(starts) == 0:
            return self
        keep_mask = ~np.isin(self.start, starts)
        none = np.zeros(len(starts), dtype=np.int64)
        start = np.concatenate([self.start[keep_mask], starts])
        order = np.argsort(start)
        return LabelledPanes(
            start=start[order],
            counted_as_of=np.concatenate([self.counted_as_of[keep_mask], starts])[order],
            whole_as_of=np.concatenate([self.whole_as_of[keep_mask], starts - 1])[order],
            records=np.concatenate([self.records[keep_mask], none])[order],
            labelled=np.concatenate([self.labelled[keep_mask], none])[order],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlingRule:
    """Options of settling."""

    share: float  # completeness and coverage that are enough
    after: int | None  # a fixed age that replaces the learnt one, or None
    # horizon, pane: microseconds.
    horizon: int
    pane: int
    # newest report of the label feed, at most the as of: of later labels a feed that stands still says
    # nothing.
    heard: int


def estimate_delay_curve(count: Ints, shown: Ints, edges: Floats, horizon: int) -> DelayCurve:
    """How much of one class's labels is in by the upper edge of each cell up to the horizon's.

    Parameters
    ----------
    count, shown
        int64, shape (cells,): a class of `ObservableDelays`.
    edges
        seconds, ascending: cell k ends at edges[k].
    """
    # Labels that come later than the horizon do not count: the curve is complete there.
    top = int(np.searchsorted(edges, horizon / SECOND, side="right"))
    # At risk in a cell is what lies in it or below, of panes that can show it: panes too young for the cell
    # leave, with all their delays, just below it.
    events, left = count[: top + 1], np.append(0, shown[:top])
    at_risk = np.cumsum(events - left)
    survival = 1.0 - np.divide(events, at_risk, out=np.zeros(top + 1), where=at_risk > 0)
    # Where nothing lies below a cell its delays are all that is at risk: the variance is infinite.
    with np.errstate(divide="ignore"):
        terms = np.divide(events, at_risk * (at_risk - events), out=np.zeros(top + 1), where=events > 0)
    return DelayCurve(
        # In at the edge of a cell is the product over all cells above it, taken from the last one down.
        completeness=np.append(np.cumprod(survival[:0:-1])[::-1], 1.0),
        variance=np.append(np.cumsum(terms[:0:-1])[::-1], 0.0),
    )


def settling_ages(delays: ObservableDelays, edges: Floats, *, horizon: int, share: float) -> SettlingAges:
    """Ages at which all classes are complete enough; one with fewer than 50 delays has the pooled ones'."""
    of_class, n = delays.shown.sum(axis=1), delays.shown.sum()
    few = of_class < ENOUGH_DELAYS
    if n < ENOUGH_DELAYS:
        return SettlingAges(horizon, horizon, few=True)
    pooled = estimate_delay_curve(delays.count.sum(axis=0), delays.shown.sum(axis=0), edges, horizon)
    curves = tuple(
        pooled if rare else estimate_delay_curve(count, shown, edges, horizon)
        for rare, count, shown in zip(few, delays.count, delays.shown, strict=True)
    )
    settled, nearly_all = (
        max(int(edges[int(np.argmax(curve.completeness >= enough))] * SECOND) for curve in curves)
        for enough in (share, ALL_BUT_ONE_PERCENT)
    )
    # Of two classes the rare one is half of what labels tell. Of many one is nearly always rare, and moves a
    # share by no more than it holds of the labels.
    matter = of_class[few].sum() > (1 - share) * n if len(few) > _PAIR else few.any()
    return SettlingAges(settled, nearly_all, few=bool(matter), curves=curves)


def usual_coverage(panes: LabelledPanes, ages: SettlingAges, rule: SettlingRule) -> float:
    """Coverage that panes reached by the settling age, all of them or those of a week lately; 0: none yet.

    How old a pane is counts until the feed was last heard.
    """
    age = ages.settled if rule.after is None else rule.after
    old = np.minimum(panes.counted_as_of, rule.heard) - panes.start - rule.pane >= age
    # A week lately, too: where more labels come than used to, a window is to have as many. The larger one, so
    # that a feed that breaks down does not become usual.
    lately = old & (panes.start >= panes.start[old].max(initial=0) - LATELY)
    return max(coverage_of(panes, old), coverage_of(panes, lately))


def coverage_of(panes: LabelledPanes, some: Bools) -> float:
    """Labelled share of the records of some panes; 0 without records."""
    return int(panes.labelled[some].sum()) / max(1, int(panes.records[some].sum()))


def judge_settled(
    window: tuple[int, int],
    as_of: int,
    panes: LabelledPanes,
    ages: SettlingAges,
    rule: SettlingRule,
    usual: float,
) -> SettledState:
    """Whether the window [start, end) is settled as of a moment: age, all panes counted whole, coverage.

    Parameters
    ----------
    usual
        see `usual_coverage`.
    """
    start, end = window
    age = settling_age(panes, ages, rule)
    if age is None or as_of - end < age:
        return SettledState.NO
    inside = (panes.start >= start) & (panes.start < end)
    if not _all_counted(panes, inside, age, rule):
        return SettledState.NO
    # The last day has had least time: within a long window the labels that it lacks would not be missed.
    last_day = inside & (panes.start >= end - DAY)
    unlabelled = panes.records[inside].any() and not panes.labelled[inside].any()
    # A feed that stands still has no slack: missing labels are then likelier than chance.
    slack = CHANCE if is_confirmed(rule.heard - end, age) else 0.0
    expected = rule.share * usual
    if not unlabelled and all(_is_covered(panes, some, expected, slack) for some in (inside, last_day)):
        return SettledState.FEW_DELAYS if ages.few and rule.after is None else SettledState.YES
    return (
        SettledState.LOW_COVERAGE if rule.heard - end >= find_give_up_delay(ages, rule) else SettledState.NO
    )


def find_give_up_delay(ages: SettlingAges, rule: SettlingRule) -> int:
    """How long after its end a feed must be heard of before a window settles without its usual labels."""
    return ages.nearly_all if rule.after is None else int(HEARD_OF_AFTER * rule.after)


def are_labels_uneven(
    window: tuple[int, int], panes: LabelledPanes, ages: SettlingAges, rule: SettlingRule, edges: Floats
) -> bool:
    """Whether the labels of [start, end) that are in say little of those to come: one class is ahead.

    By the delays so far: the share that must be in of the slowest class is below `rule.share` of that of the
    fastest. Each pane's records are taken to lie in its middle.
    """
    inside = (panes.start >= window[0]) & (panes.start < window[1]) & (panes.records > 0)
    if len(ages.curves) < 2 or not inside.any():
        return False
    age = (rule.heard - panes.start[inside] - rule.pane / 2) / SECOND
    cell = np.searchsorted(edges, age, side="right") - 1
    reached = [
        np.average(
            np.where(cell < 0, 0.0, share[np.clip(cell, 0, len(share) - 1)]), weights=panes.records[inside]
        )
        for share in (curve.completeness for curve in ages.curves)
    ]
    return bool(min(reached) < rule.share * max(reached))


def measure_heard_time(panes: LabelledPanes, rule: SettlingRule) -> int:
    """For how long the feed was heard: the longest delay that a pane with records could have shown."""
    return rule.heard - int(panes.start[panes.records > 0].min(initial=rule.heard))


def find_needed_heard_time(ages: SettlingAges, rule: SettlingRule) -> int:
    """For how long the feed must be heard: 1.5 times the settling age, at most the horizon."""
    return limit_heard_time(HEARD_FOR * ages.settled, rule)


def limit_heard_time(age: float, rule: SettlingRule) -> int:
    """For how long a feed can be heard: so long, at most the horizon.

    Of the horizon a fiftieth less, at least a pane: it is cut at a pane's start, the first row may come
    later, and label feeds lag a little.
    """
    return min(int(age), rule.horizon - max(rule.pane, rule.horizon // 50))


def settling_age(panes: LabelledPanes, ages: SettlingAges, rule: SettlingRule) -> int | None:
    """Age from which windows can settle; None: the feed was not heard for long enough."""
    if rule.after is not None:
        return rule.after
    return ages.settled if measure_heard_time(panes, rule) >= find_needed_heard_time(ages, rule) else None


def is_confirmed(age: Ints | int, settling_age: int) -> Bools | bool:
    """Whether a pane that was last counted whole at an age may stand in settled windows."""
    return age >= CONFIRMED * settling_age


def _all_counted(panes: LabelledPanes, inside: Bools, age: int, rule: SettlingRule) -> bool:
    # A pane without records has nothing to be counted; one that was never counted has a moment before its
    # start.
    early = ~is_confirmed(panes.whole_as_of - panes.start - rule.pane, age) & (panes.records > 0)
    return not bool((inside & (early | (panes.whole_as_of < panes.start))).any())


def _is_covered(panes: LabelledPanes, inside: Bools, expected: float, slack: float) -> bool:
    records = int(panes.records[inside].sum())
    if records == 0:
        return True
    deviation = np.sqrt(expected * (1.0 - expected) / records)
    return bool(coverage_of(panes, inside) >= expected - slack * deviation)


@dataclass(frozen=True, slots=True)
class SettlingForecast:
    """When a window is expected to settle."""

    at: int | None  # moment; None: it cannot be known
    because: str  # why then, or why it cannot be known: half a sentence, to be read after "because"


def next_end(window: Window, newest: int | None, first: int) -> int:
    """End of the first window of a kind to settle: after the newest settled one, or after the first count."""
    newest = window.newest_end(first) if newest is None else newest
    return window.newest_end(newest + window.length) if window.is_calendar else newest + window.step


def forecast_settling(
    window: tuple[int, int],
    as_of: int,
    panes: LabelledPanes,
    ages: SettlingAges,
    rule: SettlingRule,
    usual: float,
) -> SettlingForecast:
    """When the window [start, end), which has not settled, is expected to do so.

    Delays that are still to be seen can move the moment on.

    Parameters
    ----------
    usual
        see `usual_coverage`.
    """
    if not panes.labelled.any():
        return SettlingForecast(None, "no record has a label yet")
    _, end = window
    expected = forecast_by_age(end, ages, rule, measure_heard_time(panes, rule))
    assert expected.at is not None
    return expected if expected.at > as_of else _overdue_forecast(window, as_of, panes, ages, rule, usual)


def forecast_by_age(end: int, ages: SettlingAges, rule: SettlingRule, last_heard: int) -> SettlingForecast:
    """When a window that ends at `end` is old enough, by the delays alone.

    `last_heard`: for how long the feed was heard: see `measure_heard_time`.
    """
    if rule.after is not None:
        return SettlingForecast(
            end + rule.after, f"windows settle {hours_or_days(rule.after)} after they end (settle_after)"
        )
    if not ages.curves:
        return SettlingForecast(
            end + rule.horizon,
            "too few labels tell how late labels come, so windows wait for the horizon of "
            f"{hours_or_days(rule.horizon)}",
        )
    labels = "each class's labels" if len(ages.curves) > 1 else "the labels"
    share = f"{100 * rule.share:.0f} % of {labels} come within {hours_or_days(ages.settled)}"
    enough = find_needed_heard_time(ages, rule)
    if last_heard >= enough:
        return SettlingForecast(end + ages.settled, share)
    return SettlingForecast(
        max(end + ages.settled, rule.heard - last_heard + enough),
        f"so far {share}, and the feed must be heard for {hours_or_days(enough)} to show later ones; "
        f"it was heard for {hours_or_days(last_heard)}",
    )


def _overdue_forecast(
    window: tuple[int, int],
    as_of: int,
    panes: LabelledPanes,
    ages: SettlingAges,
    rule: SettlingRule,
    usual: float,
) -> SettlingForecast:
    """It is old enough: labels are missing, or a count."""
    start, end = window
    inside = (panes.start >= start) & (panes.start < end)
    coverage = coverage_of(panes, inside)
    if coverage >= rule.share * usual and coverage > 0.0:
        return SettlingForecast(None, "some of its panes wait to be counted, or its last day lacks labels")
    low = f"{100 * coverage:.0f} % of its records have a label, where {100 * usual:.0f} % are usual"
    needed = find_give_up_delay(ages, rule)
    if end + needed > as_of:
        return SettlingForecast(end + needed, f"{low}; by then it settles with the warning low_coverage")
    return SettlingForecast(None, f"{low}, and the feed has reported nothing since {_day_text(rule.heard)}")


def hours_or_days(us: int) -> str:
    """A duration as people say it: whole hours, or whole days from two days on.

    >>> hours_or_days(36 * HOUR), hours_or_days(58 * DAY - HOUR), hours_or_days(0)
    ('36 hours', '58 days', '0 hours')
    """
    unit, name = (DAY, "day") if us >= 2 * DAY else (HOUR, "hour")
    many = round(us / unit)
    return f"{many} {name}{'' if many == 1 else 's'}"


def _day_text(moment: int) -> str:
    return to_iso(moment).partition("T")[0]
