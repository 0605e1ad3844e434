"""Which windows are measured in a cycle, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.measures.statistics.label_delays import has_score_dependence
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.pane import PaneHalf
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ModelState, WaitingPane, WindowState
from monitor.states.counters import Counters
from monitor.windows.settling import (
    HEARD_OF_AFTER,
    LabelledPanes,
    SettledState,
    SettlingAges,
    SettlingForecast,
    SettlingRule,
    are_labels_uneven,
    forecast_settling,
    judge_settled,
    next_end,
    settling_age,
    settling_ages,
    usual_coverage,
)
from monitor.windows.window_ends import Window

UNEVEN = "uneven_labels"  # warning: labels of one class are ahead of those of another
DELAY_BY_SCORE = "delay_by_score"  # warning: what nowcasts assume not
_EDGES: Floats = np.asarray(DELAY_EDGES)


@dataclass(frozen=True, slots=True)
class LabelArrivals:
    """All that decides whether windows are settled as of a moment, and what labels so far say."""

    as_of: int
    panes: LabelledPanes
    ages: SettlingAges
    rule: SettlingRule
    usual: float  # the coverage that is normal
    # moment up to which labels tell: as of now, unless the feed is silent for longer than ever. A feed that
    # reports once a week is silent on most days, and its curves are those of all days.
    spoken: int
    breach: str = ""  # warning of nowcasts, or empty: see `has_score_dependence`
    # counters of panes whose labels still come, by start: windows of one moment share them.
    read: dict[int, Counters | None] = field(default_factory=dict)

    def judge_window_settled(self, window: Window, end: int) -> SettledState:
        """Whether the window that ends at `end` is settled."""
        return self.judge_span_settled(window.start_of(end), end)

    def judge_span_settled(self, start: int, end: int) -> SettledState:
        """Whether the panes of [start, end) are settled."""
        return judge_settled((start, end), self.as_of, self.panes, self.ages, self.rule, self.usual)

    def unsettled_warning(self, window: Window, end: int) -> str:
        """What is said of the window that ends at `end` as long as it is not settled."""
        span = window.start_of(end), end
        return UNEVEN if are_labels_uneven(span, self.panes, self.ages, self.rule, _EDGES) else ""

    def forecast_window_settling(self, window: Window, newest: int | None, first: int) -> SettlingForecast:
        """When the window after the newest settled one, or the first that was counted, is to settle."""
        known = int(self.panes.start.min(initial=self.as_of))
        end = next_end(window, newest, max(first, known))
        span = window.start_of(end), end
        return forecast_settling(span, self.as_of, self.panes, self.ages, self.rule, self.usual)

    @property
    def least_settling_age(self) -> int | None:
        """Age from which windows can settle."""
        return settling_age(self.panes, self.ages, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWindow:
    """A kept window to measure."""

    window: Window
    end: int
    state: WindowState | None
    first: bool = False  # it has just ended
    settles: SettledState = SettledState.NO  # it has just settled, with or without a warning
    records: bool = False  # so many came or went since it was last measured that a value may have moved
    labels: bool = False  # any of them changed since it was last measured


def measure_label_arrivals(
    model: CycleModel,
    panes: ModelPanes,
    state: ModelState,
    as_of: int,
    waiting: Iterable[WaitingPane],
    overdue: Iterable[int],
) -> LabelArrivals:
    """How labels have come in so far.

    Parameters
    ----------
    overdue
        starts of panes whose turn to be counted has come, but for the budget.
    """
    spec, reading = model.spec, model.reading
    waiting_starts = {pane.start for pane in waiting}
    labelled = panes.labelled_panes(as_of, waiting_starts, overdue)
    last_heard = min(as_of, _newest_report(panes, spec, state))
    rule = SettlingRule(
        share=spec.keys.settled_share,
        after=spec.keys.settle_after,
        horizon=reading.horizon,
        pane=reading.pane,
        heard=last_heard,
    )
    ages = settling_ages(
        panes.observable_delays(last_heard, waiting_starts),
        _EDGES,
        horizon=reading.horizon,
        share=spec.keys.settled_share,
    )
    usual = usual_coverage(labelled, ages, rule)
    spoken = min(as_of, last_heard + panes.delay_counts.longest_silence(last_heard))
    breach = _dependence_warning(model.counting, panes, labelled, ages, rule)
    return LabelArrivals(as_of, labelled, ages, rule, usual, spoken, breach)


def _newest_report(panes: ModelPanes, spec: ModelSpec, state: ModelState) -> int:
    """Newest report of the label feed; 0 where there is none.

    Without such a column a window that ends after the newest event with a label is taken for one that the
    feed has not spoken of.
    """
    if state.reported_cursor is not None:
        return state.reported_cursor
    newest = panes.newest_event(PaneHalf.LABELS)
    return 0 if newest is None else newest + int(HEARD_OF_AFTER * (spec.keys.settle_after or 0))


def _dependence_warning(
    counting: Counting, panes: ModelPanes, labelled: LabelledPanes, ages: SettlingAges, rule: SettlingRule
) -> str:
    """Whether delays depend on scores, by the panes that have settled. Cost: a block of each day."""
    if not ages.curves or "delay_sums" not in counting.labels_layout.blocks_by_name:
        return ""
    # Panes that have settled: younger ones show only the shorter of their delays.
    first = int(labelled.start.min(initial=rule.heard))
    sums = panes.sum_delays(first, rule.heard - rule.pane - ages.settled)
    return DELAY_BY_SCORE if has_score_dependence(counting.delay_sums_view(sums)) else ""


def newest_settled_end(
    window: Window, newest: int, before: int | None, oldest: int, truth: LabelArrivals
) -> int | None:
    """Newest settled end; once settled it stays so."""
    if truth.least_settling_age is None:
        return before
    end = window.newest_end(min(newest, truth.as_of - truth.least_settling_age))
    # From the newest backwards: the first settled one is found soon, and none is looked at twice once there
    # is one.
    while end > max(before or oldest, oldest):
        if truth.judge_window_settled(window, end) is not SettledState.NO:
            return end
        end = window.previous_end(end)
    return before


def is_counted(lacking: Ints, start: int, end: int) -> bool:
    """Whether all panes of [start, end) are counted, given the ascending starts of those that are not."""
    first, last = np.searchsorted(lacking, [start, end])
    return bool(first == last)


def oldest_end(model: CycleModel, state: ModelState, as_of: int) -> int:
    """Kept windows that end at or before this moment are left alone."""
    return max(model.find_horizon_start(as_of), model.find_history_start(state))


def due_windows(
    model: CycleModel,
    panes: ModelPanes,
    window: Window,
    *,
    oldest: int,
    newest: int,
    truth: LabelArrivals,
    states: list[WindowState],
) -> list[DueWindow]:
    """Kept windows of one kind, ending in (oldest, newest], that just ended, just settled, or changed."""
    kept = {state.end: state for state in states if state.window == window.name}
    windows = (
        _due_window(model, panes, window, end, kept.get(end), truth)
        for end in window.kept_ends(after=oldest, until=newest)
    )
    return [
        due for due in windows if due.first or due.settles is not SettledState.NO or due.records or due.labels
    ]


def _due_window(
    model: CycleModel,
    panes: ModelPanes,
    window: Window,
    end: int,
    window_state: WindowState | None,
    truth: LabelArrivals,
) -> DueWindow:
    labelled = model.reading.labelled
    settles = SettledState.NO
    if labelled and (window_state is None or window_state.settled_as_of is None):
        settles = truth.judge_window_settled(window, end)
    if window_state is None:
        return DueWindow(window=window, end=end, state=None, first=True, settles=settles)
    # However late rows trickle in, a window has one revision per `revise_every` at most.
    rested = truth.as_of - (window_state.measured_as_of or 0) >= model.spec.keys.reading.revise_every
    start = window.start_of(end)
    records = rested and _has_enough_changes(
        panes.span_fingerprint(PaneHalf.RECORDS, start, end), window_state.records_seen
    )
    labels = (
        rested
        and labelled
        and panes.span_fingerprint(PaneHalf.LABELS, start, end) != window_state.labels_seen
    )
    return DueWindow(
        window=window, end=end, state=window_state, settles=settles, records=records, labels=labels
    )


def _has_enough_changes(seen: int, before: int) -> bool:
    """Whether so many rows came or went that a rate may have moved by a quarter of its half width.

    A rate moves at most by changed / n; a quarter of the half width is 0.25 · 1.96 · sqrt(p(1 - p) / n), and
    that is 0.1 / sqrt(n) at p = 0.04.
    """
    return abs(seen - before) > 0.1 * float(np.sqrt(seen))
