"""Which windows are measured in a cycle, and why."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from monitor.core.typing import Floats
from monitor.pipeline.model import Monitored
from monitor.records.counting import DELAY_EDGES
from monitor.records.pane import Part
from monitor.specs.rows import ModelState, WaitingPane, WindowState
from monitor.windows.ends import Window
from monitor.windows.settling import (
    Ages,
    LabelledPanes,
    Rule,
    Settled,
    any_settles,
    plateau,
    settled,
    settling_age,
    settling_ages,
    uneven,
)

UNEVEN = "uneven_labels"  # warning: labels of one class are ahead of those of another
_EDGES: Floats = np.asarray(DELAY_EDGES)


@dataclass(frozen=True, slots=True)
class Truths:
    """All that decides whether windows are settled as of a moment; `reached` is the plateau of coverage."""

    as_of: int
    panes: LabelledPanes
    ages: Ages
    rule: Rule
    reached: float

    def of(self, window: Window, end: int) -> Settled:
        """Whether the window that ends at `end` is settled."""
        return self.of_span(window.start(end), end)

    def of_span(self, start: int, end: int) -> Settled:
        """Whether the panes of [start, end) are settled."""
        return settled((start, end), self.as_of, self.panes, self.ages, self.rule, self.reached)

    def warning(self, window: Window, end: int) -> str:
        """What is said of the window that ends at `end` as long as it is not settled."""
        span = window.start(end), end
        return UNEVEN if uneven(span, self.panes, self.ages, self.rule, _EDGES) else ""

    @property
    def age(self) -> int | None:
        """Age from which windows can settle."""
        return settling_age(self.ages, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A kept window to measure.

    Parameters
    ----------
    first
        it has just ended.
    settles
        it has just settled, with or without a warning.
    records
        so many came or went since it was last measured that a value may have moved.
    labels
        any of them changed since it was last measured.
    """

    window: Window
    end: int
    state: WindowState | None
    first: bool = False
    settles: Settled = Settled.NO
    records: bool = False
    labels: bool = False


def truths(monitored: Monitored, state: ModelState, as_of: int, waiting: Iterable[WaitingPane]) -> Truths:
    """How labels have come in so far."""
    spec, reading = monitored.spec, monitored.counting.reading
    uncounted: dict[int, int] = {}
    for pane in waiting:
        uncounted[pane.start] = uncounted.get(pane.start, 0) + pane.labels
    heard = as_of if state.reported_cursor is None else min(as_of, state.reported_cursor)
    rule = Rule(
        share=spec.settled_share,
        after=spec.settle_after,
        horizon=reading.horizon,
        pane=reading.pane,
        log_age=as_of - (as_of if state.oldest is None else state.oldest),
        heard=heard,
    )
    ages = settling_ages(
        monitored.panes.delays(heard, uncounted),
        _EDGES,
        classes=max(1, len(reading.classes)),
        horizon=reading.horizon,
        share=spec.settled_share,
    )
    panes = monitored.panes.labelled(as_of, uncounted)
    return Truths(as_of, panes, ages, rule, plateau(panes, ages, rule))


def newest_settled(window: Window, newest: int, known: int | None, oldest: int, truth: Truths) -> int | None:
    """Newest settled end; once settled it stays so."""
    if not any_settles(truth.ages, truth.rule):
        return known
    end = window.newest_end(min(newest, truth.as_of - (truth.age or 0)))
    while end > max(known or oldest, oldest):
        if truth.of(window, end) is not Settled.NO:
            return end
        end = window.previous_end(end)
    return known


def oldest_end(monitored: Monitored, state: ModelState, as_of: int) -> int:
    """Kept windows that end at or before this moment are left alone."""
    return max(monitored.oldest_pane(as_of), monitored.first_counted(state))


def due_windows(
    monitored: Monitored,
    window: Window,
    *,
    oldest: int,
    newest: int,
    truth: Truths,
    states: list[WindowState],
) -> list[Due]:
    """Kept windows of one kind, ending in (oldest, newest], that just ended, just settled, or changed."""
    known = {one.end: one for one in states if one.window == window.name}
    found = (
        _due(monitored, window, end, known.get(end), truth)
        for end in window.kept_ends(after=oldest, until=newest)
    )
    return [one for one in found if one.first or one.settles is not Settled.NO or one.records or one.labels]


def _due(monitored: Monitored, window: Window, end: int, known: WindowState | None, truth: Truths) -> Due:
    labelled = monitored.counting.reading.labelled
    settles = Settled.NO
    if labelled and (known is None or known.settled_as_of is None):
        settles = truth.of(window, end)
    if known is None:
        return Due(window=window, end=end, state=None, first=True, settles=settles)
    rested = truth.as_of - (known.measured_as_of or 0) >= monitored.spec.revise_every
    start = window.start(end)
    records = rested and _moved(monitored.panes.seen(Part.RECORDS, start, end), known.records_seen)
    labels = rested and labelled and monitored.panes.seen(Part.LABELS, start, end) != known.labels_seen
    return Due(window=window, end=end, state=known, settles=settles, records=records, labels=labels)


def _moved(seen: int, before: int) -> bool:
    """Whether so many rows came or went that a rate may have moved by a quarter of its half width.

    A rate moves at most by changed / n; a quarter of the half width is 0.25 · 1.96 · sqrt(p(1 - p) / n), and
    that is 0.1 / sqrt(n) at p = 0.04.
    """
    return abs(seen - before) > 0.1 * float(np.sqrt(seen))
