"""Which windows are measured in a cycle, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from monitor.core.typing import Floats, Ints
from monitor.measures.statistics.delays import depends
from monitor.pipeline.model import Model
from monitor.pipeline.panes import Panes
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.pane import Part
from monitor.specs.model import ModelSpec
from monitor.specs.rows import ModelState, WaitingPane, WindowState
from monitor.states.counters import Counters
from monitor.windows.ends import Window
from monitor.windows.next_settling import Forecast, next_end, next_settling
from monitor.windows.settling import (
    HEARD_OF_AFTER,
    Ages,
    LabelledPanes,
    Settled,
    SettlingRule,
    settled,
    settling_age,
    settling_ages,
    uneven,
    usual_coverage,
)

UNEVEN = "uneven_labels"  # warning: labels of one class are ahead of those of another
DELAY_BY_SCORE = "delay_by_score"  # warning: what nowcasts assume not
_EDGES: Floats = np.asarray(DELAY_EDGES)


@dataclass(frozen=True, slots=True)
class Truths:
    """All that decides whether windows are settled as of a moment, and what labels so far say."""

    as_of: int
    panes: LabelledPanes
    ages: Ages
    rule: SettlingRule
    usual: float  # the coverage that is normal
    # moment up to which labels tell: as of now, unless the feed is silent for longer than ever. A feed that
    # reports once a week is silent on most days, and its curves are those of all days.
    spoken: int
    breach: str = ""  # warning of nowcasts, or empty: see `depends`
    # counters of panes whose labels still come, by start: windows of one moment share them.
    read: dict[int, Counters | None] = field(default_factory=dict)

    def of(self, window: Window, end: int) -> Settled:
        """Whether the window that ends at `end` is settled."""
        return self.of_span(window.start(end), end)

    def of_span(self, start: int, end: int) -> Settled:
        """Whether the panes of [start, end) are settled."""
        return settled((start, end), self.as_of, self.panes, self.ages, self.rule, self.usual)

    def warning(self, window: Window, end: int) -> str:
        """What is said of the window that ends at `end` as long as it is not settled."""
        span = window.start(end), end
        return UNEVEN if uneven(span, self.panes, self.ages, self.rule, _EDGES) else ""

    def next_settling(self, window: Window, newest: int | None, first: int) -> Forecast:
        """When the window after the newest settled one, or the first that was counted, is to settle."""
        known = int(self.panes.start.min(initial=self.as_of))
        end = next_end(window, newest, max(first, known))
        span = window.start(end), end
        return next_settling(span, self.as_of, self.panes, self.ages, self.rule, self.usual)

    @property
    def age(self) -> int | None:
        """Age from which windows can settle."""
        return settling_age(self.panes, self.ages, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A kept window to measure."""

    window: Window
    end: int
    state: WindowState | None
    first: bool = False  # it has just ended
    settles: Settled = Settled.NO  # it has just settled, with or without a warning
    records: bool = False  # so many came or went since it was last measured that a value may have moved
    labels: bool = False  # any of them changed since it was last measured


def truths(
    model: Model,
    panes: Panes,
    state: ModelState,
    as_of: int,
    waiting: Iterable[WaitingPane],
    overdue: Iterable[int],
) -> Truths:
    """How labels have come in so far.

    Parameters
    ----------
    overdue
        starts of panes whose turn to be counted has come, but for the budget.
    """
    spec, reading = model.spec, model.reading
    waiting_starts = {pane.start for pane in waiting}
    labelled = panes.labelled(as_of, waiting_starts, overdue)
    heard = min(as_of, _heard(panes, spec, state))
    rule = SettlingRule(
        share=spec.settled_share,
        after=spec.settle_after,
        horizon=reading.horizon,
        pane=reading.pane,
        heard=heard,
    )
    ages = settling_ages(
        panes.delays(heard, waiting_starts),
        _EDGES,
        horizon=reading.horizon,
        share=spec.settled_share,
    )
    usual = usual_coverage(labelled, ages, rule)
    spoken = min(as_of, heard + panes.delay_counts.longest_silence(heard))
    breach = _breach(model.counting, panes, labelled, ages, rule)
    return Truths(as_of, labelled, ages, rule, usual, spoken, breach)


def _heard(panes: Panes, spec: ModelSpec, state: ModelState) -> int:
    """Newest report of the label feed; 0 where there is none.

    Without such a column a window that ends after the newest event with a label is taken for one that the
    feed has not spoken of.
    """
    if state.reported_cursor is not None:
        return state.reported_cursor
    newest = panes.newest_event(Part.LABELS)
    return 0 if newest is None else newest + int(HEARD_OF_AFTER * (spec.settle_after or 0))


def _breach(counting: Counting, panes: Panes, labelled: LabelledPanes, ages: Ages, rule: SettlingRule) -> str:
    """Whether delays depend on scores, by the panes that have settled. Cost: a block of each day."""
    if not ages.curves or "delay_sums" not in counting.labels.by_name:
        return ""
    first = int(labelled.start.min(initial=rule.heard))
    sums = panes.block(Part.LABELS, "delay_sums", first, rule.heard - rule.pane - ages.settled)
    return DELAY_BY_SCORE if depends(counting.delay_sums(sums)) else ""


def newest_settled_end(
    window: Window, newest: int, before: int | None, oldest: int, truth: Truths
) -> int | None:
    """Newest settled end; once settled it stays so."""
    if truth.age is None:
        return before
    end = window.newest_end(min(newest, truth.as_of - truth.age))
    while end > max(before or oldest, oldest):
        if truth.of(window, end) is not Settled.NO:
            return end
        end = window.previous_end(end)
    return before


def is_counted(lacking: Ints, start: int, end: int) -> bool:
    """Whether all panes of [start, end) are counted, given the ascending starts of those that are not."""
    first, last = np.searchsorted(lacking, [start, end])
    return bool(first == last)


def oldest_end(model: Model, state: ModelState, as_of: int) -> int:
    """Kept windows that end at or before this moment are left alone."""
    return max(model.oldest_pane(as_of), model.first_counted(state))


def due_windows(
    model: Model,
    panes: Panes,
    window: Window,
    *,
    oldest: int,
    newest: int,
    truth: Truths,
    states: list[WindowState],
) -> list[Due]:
    """Kept windows of one kind, ending in (oldest, newest], that just ended, just settled, or changed."""
    kept = {state.end: state for state in states if state.window == window.name}
    windows = (
        _due(model, panes, window, end, kept.get(end), truth)
        for end in window.kept_ends(after=oldest, until=newest)
    )
    return [due for due in windows if due.first or due.settles is not Settled.NO or due.records or due.labels]


def _due(
    model: Model, panes: Panes, window: Window, end: int, kept: WindowState | None, truth: Truths
) -> Due:
    labelled = model.reading.labelled
    settles = Settled.NO
    if labelled and (kept is None or kept.settled_as_of is None):
        settles = truth.of(window, end)
    if kept is None:
        return Due(window=window, end=end, state=None, first=True, settles=settles)
    rested = truth.as_of - (kept.measured_as_of or 0) >= model.spec.revise_every
    start = window.start(end)
    records = rested and _moved(panes.seen(Part.RECORDS, start, end), kept.records_seen)
    labels = rested and labelled and panes.seen(Part.LABELS, start, end) != kept.labels_seen
    return Due(window=window, end=end, state=kept, settles=settles, records=records, labels=labels)


def _moved(seen: int, before: int) -> bool:
    """Whether so many rows came or went that a rate may have moved by a quarter of its half width.

    A rate moves at most by changed / n; a quarter of the half width is 0.25 · 1.96 · sqrt(p(1 - p) / n), and
    that is 0.1 / sqrt(n) at p = 0.04.
    """
    return abs(seen - before) > 0.1 * float(np.sqrt(seen))
