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

from monitor.core.clock import DAY, SECOND
from monitor.core.typing import Bools, Floats, Ints

ENOUGH_DELAYS = 50
ALL_BUT_ONE_PERCENT = 0.99
CONFIRMED = 0.9  # of the settling age, which moves a little with every cycle


class Settled(StrEnum):
    """What is said of a window's labels."""

    NO = "no"
    YES = "yes"
    LOW_COVERAGE = "low_coverage"


@dataclass(frozen=True, slots=True)
class Delays:
    """Reported first delays by class and cell, with the age at which their pane was last counted.

    Parameters
    ----------
    kind, cell, count
        int64, shape (entries,): class position, delay cell, number of labels.
    age
        float64 seconds, shape (entries,): last count minus the pane's end.
    """

    kind: Ints
    cell: Ints
    count: Ints
    age: Floats


@dataclass(frozen=True, slots=True)
class Ages:
    """When windows settle.

    Parameters
    ----------
    settled, nearly_all
        age at which every class with enough delays has the settled share (99 %); None: never seen.
    held
        a class has too few delays to tell: only the horizon helps.
    curves
        completeness by delay cell of each class with enough delays.
    """

    settled: int | None
    nearly_all: int | None
    held: bool
    curves: tuple[Floats, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LabelledPanes:
    """Labels parts of the panes of a model, ascending by start; one position a pane.

    Parameters
    ----------
    start, records, labelled
        int64.
    counted_as_of
        int64: all labels that were reported until then are counted.
    whole_as_of
        int64: as of its last whole count; before the pane's start where none stands.
    """

    start: Ints
    counted_as_of: Ints
    whole_as_of: Ints
    records: Ints
    labelled: Ints

    def with_uncounted(self, starts: Ints) -> "LabelledPanes":
        """These panes, and others of which no count stands: no window that holds one is settled."""
        if len(starts) == 0:
            return self
        kept = ~np.isin(self.start, starts)
        none = np.zeros(len(starts), dtype=np.int64)
        start = np.concatenate([self.start[kept], starts])
        order = np.argsort(start)
        return LabelledPanes(
            start=start[order],
            counted_as_of=np.concatenate([self.counted_as_of[kept], starts])[order],
            whole_as_of=np.concatenate([self.whole_as_of[kept], starts - 1])[order],
            records=np.concatenate([self.records[kept], none])[order],
            labelled=np.concatenate([self.labelled[kept], none])[order],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlingRule:
    """Options of settling.

    Parameters
    ----------
    share
        completeness and coverage that are enough.
    after
        a fixed age that replaces the learnt one, or None.
    horizon, pane, log_age
        microseconds; the log's age counts from its oldest row at the run's first cycle.
    heard
        newest report of the label feed, at most the as of: of later labels a feed that stands still says
        nothing.
    """

    share: float
    after: int | None
    horizon: int
    pane: int
    log_age: int
    heard: int

    @property
    def whole(self) -> int:
        """Age of a log that is as old as the horizon.

        A fiftieth less, at least a pane: the horizon is cut at a pane's start, the first row may come later,
        and label feeds lag a little.
        """
        return self.horizon - max(self.pane, self.horizon // 50)

    @property
    def log_is_old(self) -> bool:
        """Whether the log is as old as the horizon."""
        return self.log_age >= self.whole


def completeness(delays: Delays, edges: Floats, horizon: int) -> Floats:
    """F(upper edge of each cell) / F(horizon) of one class's delays.

    Parameters
    ----------
    edges
        seconds, ascending: cell k ends at edges[k].
    """
    last = np.searchsorted(edges, delays.age, side="right") - 1
    top = int(np.searchsorted(edges, horizon / SECOND, side="right"))
    seen = (delays.cell <= last) & (delays.cell <= top)
    cell, count, last = delays.cell[seen], delays.count[seen], np.minimum(last[seen], top)
    events = np.bincount(cell, weights=count, minlength=top + 1)
    left = np.bincount(last + 1, weights=count, minlength=top + 2)[: top + 1]
    at_risk = np.cumsum(events - left)
    survival = 1.0 - np.divide(events, at_risk, out=np.zeros(top + 1), where=at_risk > 0)
    return np.append(np.cumprod(survival[:0:-1])[::-1], 1.0)


def settling_ages(delays: Delays, edges: Floats, *, classes: int, horizon: int, share: float) -> Ages:
    """Ages at which all classes with at least 50 delays are complete enough."""
    settled, nearly_all = [0.0], [0.0]
    held, curves = False, []
    for kind in range(classes):
        mine = delays.kind == kind
        if delays.count[mine].sum() < ENOUGH_DELAYS:
            held = True
            continue
        only = Delays(delays.kind[mine], delays.cell[mine], delays.count[mine], delays.age[mine])
        curve = completeness(only, edges, horizon)
        curves.append(curve)
        settled.append(edges[int(np.argmax(curve >= share))])
        nearly_all.append(edges[int(np.argmax(curve >= ALL_BUT_ONE_PERCENT))])
    if len(settled) == 1:
        return Ages(None, None, held)
    return Ages(int(max(settled) * SECOND), int(max(nearly_all) * SECOND), held, tuple(curves))


def plateau(panes: LabelledPanes, ages: Ages, rule: SettlingRule) -> float:
    """Coverage that old panes reached while the feed was heard; 1 until the log is as old as the horizon."""
    if not rule.log_is_old or ages.nearly_all is None:
        return 1.0
    old = np.minimum(panes.counted_as_of, rule.heard) - panes.start - rule.pane >= ages.nearly_all
    records = int(panes.records[old].sum())
    return int(panes.labelled[old].sum()) / records if records else 1.0


def settled(
    window: tuple[int, int], as_of: int, panes: LabelledPanes, ages: Ages, rule: SettlingRule, reached: float
) -> Settled:
    """Whether the window [start, end) is settled as of a moment: age, coverage, all panes counted whole.

    Parameters
    ----------
    reached
        the plateau: coverage that old panes reached.
    """
    start, end = window
    age = as_of - end
    if not _old_enough(age, panes, ages, rule):
        return Settled.NO
    inside = (panes.start >= start) & (panes.start < end)
    if not _all_counted(panes, inside, ages, rule):
        return Settled.NO
    expected = rule.share * reached
    last_day = inside & (panes.start >= end - DAY)
    unlabelled = panes.records[inside].any() and not panes.labelled[inside].any()
    if not unlabelled and all(_covered(panes, some, expected) for some in (inside, last_day)):
        return Settled.YES
    nearly_all = rule.after if ages.nearly_all is None else ages.nearly_all
    if rule.log_is_old and rule.heard - end >= (rule.horizon if nearly_all is None else nearly_all):
        return Settled.LOW_COVERAGE
    return Settled.NO


def uneven(
    window: tuple[int, int], panes: LabelledPanes, ages: Ages, rule: SettlingRule, edges: Floats
) -> bool:
    """Whether the labels of [start, end) that are in say little of those to come: one class is ahead.

    By the delays so far, of the classes with enough of them: the share that must be in of the slowest one is
    below `rule.share` of that of the fastest. Each pane's records are taken to lie in its middle.
    """
    inside = (panes.start >= window[0]) & (panes.start < window[1]) & (panes.records > 0)
    if len(ages.curves) < 2 or not inside.any():
        return False
    age = (rule.heard - panes.start[inside] - rule.pane / 2) / SECOND
    cell = np.searchsorted(edges, age, side="right") - 1
    reached = [
        np.average(
            np.where(cell < 0, 0.0, curve[np.clip(cell, 0, len(curve) - 1)]), weights=panes.records[inside]
        )
        for curve in ages.curves
    ]
    return bool(min(reached) < rule.share * max(reached))


def settling_age(ages: Ages, rule: SettlingRule) -> int | None:
    """Age from which windows can settle; None: not before the log is older."""
    if rule.after is not None:
        return rule.after
    if ages.settled is None or (ages.held and not rule.log_is_old):
        return None
    return ages.settled if rule.log_age >= min(rule.whole, 3 * ages.settled) else None


def any_settles(ages: Ages, rule: SettlingRule) -> bool:
    """Whether windows of any age are old enough to be settled."""
    return rule.log_is_old or settling_age(ages, rule) is not None


def _old_enough(age: int, panes: LabelledPanes, ages: Ages, rule: SettlingRule) -> bool:
    if rule.after is not None:
        return age >= rule.after
    if ages.settled is None:
        return rule.log_is_old and age >= rule.horizon
    enough = settling_age(ages, rule)
    longest = rule.heard - int(panes.start.min(initial=rule.heard))  # delay that the panes can show
    return enough is not None and age >= enough and longest >= min(rule.whole, 3 * enough)


def is_confirmed(age: Ints | int, settling_age: int) -> Bools | bool:
    """Whether a pane that was last counted whole at an age may stand in settled windows."""
    return age >= CONFIRMED * settling_age


def _all_counted(panes: LabelledPanes, inside: Bools, ages: Ages, rule: SettlingRule) -> bool:
    enough = settling_age(ages, rule) or 0
    early = ~is_confirmed(panes.whole_as_of - panes.start - rule.pane, enough) & (panes.records > 0)
    return not bool((inside & (early | (panes.whole_as_of < panes.start))).any())


def _covered(panes: LabelledPanes, inside: Bools, expected: float) -> bool:
    records, labelled = int(panes.records[inside].sum()), int(panes.labelled[inside].sum())
    if records == 0:
        return True
    deviation = np.sqrt(expected * (1.0 - expected) / records)
    return bool(labelled / records >= expected - 3.0 * deviation)
