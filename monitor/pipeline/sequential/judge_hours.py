"""Hours of a day that is not judged yet: gross faults, and how long the log may be silent.

An hour is judged once, in the cycle in which it is whole, from panes that are kept. What it tells belongs to
the subject's alert, which the day takes over when it is judged. What a judged day has told already, or
somebody has accepted, is not told again.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from monitor.alerts.alert_rules import AlertedSeries
from monitor.core.change import Change, ExpectedBand, HourSpan
from monitor.core.clock import DAY, to_iso
from monitor.evidence.day_record import NO_CHANGE
from monitor.evidence.hour_counts import WEEKS, HourCounts
from monitor.evidence.hourly_faults import (
    LATE_DAYS,
    HourlyFault,
    find_lag,
    find_record_fault,
    find_value_faults,
    hourly_surprise,
    seen_late,
    silence_limit,
    usual_lateness,
    whole_after,
)
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.sequential.day_rows import hourly_fault_row
from monitor.pipeline.sequential.judge_days import PartKey, WatchedPart, is_unusual_day, make_alert_budget
from monitor.pipeline.windows.log_rows import silence_row
from monitor.records.pane import PaneHalf
from monitor.specs.model_table import BudgetTable
from monitor.specs.stored_rows import ModelState
from monitor.windows.day_moments import day_around, zone_of_days
from monitor.windows.window_ends import WEEK, count_epoch_days, hour_length


@dataclass(frozen=True, slots=True)
class JudgedHours:
    """What the hours since the cycle before say."""

    faults: tuple[MeasurementRow, ...] = ()  # one of each subject that is grossly off
    figures: tuple[MeasurementRow, ...] = ()  # how old the log may be
    lateness: Mapping[int, int] = field(default_factory=dict)  # see `LastCycle.lateness`


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyLook:
    """What hours are judged by, besides their counts."""

    as_of: int
    # last_as_of, last_logged: of the cycle before, and the newest moment of logging that it saw; None: there
    # was none.
    last_as_of: int | None
    last_logged: int | None
    lateness: Mapping[int, int]  # as the cycle before had it
    known_since: int  # panes before are not known
    uncounted: frozenset[int]  # starts of panes that wait, or lack a part
    told: Collection[AlertedSeries]  # of alerts that fire, and of changes that are accepted


def judge_hours(
    model: CycleModel, panes: ModelPanes, whole: WatchedPart | None, state: ModelState, look: HourlyLook
) -> JudgedHours:
    """Judge the hours that became whole since the last cycle.

    Parameters
    ----------
    whole
        the records of the whole, as far as their days are judged: without days that are learned nothing is.
    """
    unit, budget, as_of = hour_length(model.reading.pane), model.spec.budget, look.as_of
    if unit is None or budget is None:
        return JudgedHours()
    known = max(look.known_since, as_of - WEEKS * WEEK - 2 * DAY)
    first, now = -(-known // unit) * unit, as_of // unit * unit
    counts = panes.totals.count_hours(first, max(first, now), unit)
    needed = hourly_surprise(make_alert_budget(budget), len(counts.subjects), unit)
    zone = zone_of_days(model.reading.zone, model.reading.pane)
    lag = find_lag(counts, len(counts.records)) if model.reading.has_logged_column else None
    figures: tuple[MeasurementRow, ...] = ()
    lateness = look.lateness
    if model.reading.has_logged_column:
        lateness = _with_newest_lateness(counts, look, lag)
        late, limit = usual_lateness(lateness, as_of // DAY), None
        if lag is not None and not is_unusual_day(budget, count_epoch_days(now, zone)):
            limit = silence_limit(counts, as_of, lag, needed, late)
        figures = (silence_row(as_of, limit, lateness),)
    if whole is None or whole.watch is None or whole.newest is None:
        return JudgedHours(figures=figures, lateness=lateness)
    stands = {
        name
        for name, since in zip(whole.watch.subjects, whole.newest.record.since.tolist(), strict=True)
        if since > NO_CHANGE
    }
    daily = {rule.name for rule in model.spec.rules if rule.measure == EVIDENCE}
    stands |= {series.subject for series in look.told if series.rule in daily and not series.segment}
    judge = _HourJudge(model, counts, look, needed, whole.newest_day_end, zone, budget)
    alive = state.logged_cursor is not None and as_of - state.logged_cursor <= unit // 2
    faults: dict[str, HourlyFault] = {}
    for fault in judge.find_faults(lag if alive else None):
        if fault.subject not in stands and fault.subject in whole.watch.subjects:
            faults.setdefault(fault.subject, fault)
    rows = tuple(judge.make_row(fault, len(whole.watch.subjects)) for fault in faults.values())
    return JudgedHours(rows, figures, lateness)


def watched_records(parts: Mapping[PartKey, WatchedPart]) -> WatchedPart | None:
    """The records of the whole, as they are watched."""
    return parts.get(PartKey(PaneHalf.RECORDS, False))


def _with_newest_lateness(counts: HourCounts, look: HourlyLook, lag: int | None) -> Mapping[int, int]:
    """How late records were seen, with what this cycle shows of the one before."""
    if look.last_as_of is None or look.last_logged is None or lag is None:
        return look.lateness
    late, day = seen_late(counts, look.last_as_of, look.last_logged, lag), look.last_as_of // DAY
    by_day = {**look.lateness, day: max(late, look.lateness.get(day, 0))}
    return {day: late for day, late in by_day.items() if late and day > look.as_of // DAY - LATE_DAYS}


@dataclass(frozen=True, slots=True)
class _HourJudge:
    """The hours of one cycle."""

    model: CycleModel
    counts: HourCounts
    look: HourlyLook
    needed: float
    judged_until: int  # end of the newest judged day: what it holds is told
    zone: str
    budget: BudgetTable

    def find_faults(self, lag: int | None) -> Iterator[HourlyFault]:
        """Faults of the hours that are whole now and were not before, the newest first.

        `lag`: of the log; None: numbers of records are not judged.
        """
        for hour in self._list_whole_hours(0):
            yield from find_value_faults(self.counts, hour, self.needed)
        if lag is not None:
            for hour in self._list_whole_hours(whole_after(lag)):
                fault = find_record_fault(self.counts, hour, lag, self.needed)
                if fault is not None:
                    yield fault

    def _list_whole_hours(self, after: int) -> list[int]:
        """Hours that were not whole in the cycle before; of a longer pause those of a day; newest first."""
        counts, look = self.counts, self.look
        pause = counts.unit if look.last_as_of is None else min(look.as_of - look.last_as_of, DAY)
        last, seen = (
            (moment - after - counts.first) // counts.unit - 1 for moment in (look.as_of, look.as_of - pause)
        )
        return [hour for hour in range(last, max(seen, -1), -1) if self._can_be_judged(hour)]

    def _can_be_judged(self, hour: int) -> bool:
        """Whether its day is neither judged yet nor unlike others, and all of its panes are counted."""
        start = self.counts.start_of(hour)
        _, day_end = day_around(start, self.zone)
        if day_end <= self.judged_until or is_unusual_day(self.budget, count_epoch_days(start, self.zone)):
            return False
        panes = range(start, start + self.counts.unit, self.model.reading.pane)
        return self.look.uncounted.isdisjoint(panes)

    def make_row(self, fault: HourlyFault, subjects: int) -> MeasurementRow:
        """Row of a fault, as its day will have one of the subject; `subjects`: how many are watched."""
        counts = self.counts
        day_start, day_end = day_around(counts.start_of(fault.last), self.zone)
        day = to_iso(count_epoch_days(day_start, self.zone) * DAY)[:10]
        low, high = fault.usual
        size = fault.observed - high
        if fault.kind == "records":
            size = float(abs(np.log(fault.observed / max((low + high) / 2, 1.0))))
        change = Change(
            kind=fault.kind,
            rises=fault.rises,
            observed=fault.observed,
            expected=ExpectedBand(low, high),
            size=size,
            since=day,
            day=day,
            hours=HourSpan(to_iso(counts.start_of(fault.first)), to_iso(counts.start_of(fault.last + 1))),
            learned_days=min(WEEKS * 7, (counts.start_of(fault.first) - counts.first) // DAY),
            watched_subjects=subjects,
        )
        return hourly_fault_row(fault, change, day_end)
