"""One cycle of one model: changes → counted → settling → measured → judged → committed.

Values go from step to step. Panes are stored as they are counted, all else by one last transaction.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import Acceptance, AlertedSeries
from monitor.alerts.incident_life import advance_incidents
from monitor.alerts.report_notices import ReportPlan, make_report_notices
from monitor.core.array_types import Ints
from monitor.core.clock import to_iso
from monitor.core.errors import MonitorError
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.audit import AuditFindings, audit_log, find_prunable_span, make_wrong_difference_event
from monitor.pipeline.caches import LastCycle, ModelCaches, merge_newest_settled
from monitor.pipeline.changes.dirty_panes import ChangedPanes, find_changes
from monitor.pipeline.changes.longer_horizon import add_older_panes, drop_wrong_width_panes
from monitor.pipeline.cycle_alerts import judge_rules, read_accepted_changes, round_notices
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.kept_rows import select_kept_rows, select_whole_places, with_whole_details
from monitor.pipeline.pane_counting import (
    CountedRows,
    find_outdated_recounts,
    overdue_panes,
    recount_due_panes,
    renew_lease,
    settling_panes,
)
from monitor.pipeline.restored_state import read_last_cycle
from monitor.pipeline.sequential.judge_days import ALL_LABELS, JudgedDays, judge_days
from monitor.pipeline.sequential.judge_hours import HourlyLook, judge_hours, watched_records
from monitor.pipeline.sequential.ledger_entries import LedgerResults, extend_ledgers
from monitor.pipeline.sequential.unfolding_days import find_unfolding_start
from monitor.pipeline.windows.due_windows import LabelArrivals, measure_label_arrivals
from monitor.pipeline.windows.log_rows import (
    age_rows,
    first_seen_rows,
    make_backlog_rows,
    make_first_seen_events,
    make_late_rows,
    newest_seen,
    settling_rows,
)
from monitor.pipeline.windows.measured_windows import MeasuredWindows, measure_windows
from monitor.specs.protocols import CycleReport, Lease
from monitor.specs.stored_rows import HistoryEvent, ModelState, Provenance, WaitingPane
from monitor.store.sql_store import CycleCommit
from monitor.windows.recount_choice import RecountBudget


@dataclass(frozen=True, slots=True)
class StepClock:
    """Adds up the seconds that each step takes; a step that fails counts too."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time_step(self, step: str) -> Iterator[None]:
        """Time what runs meanwhile."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class CycleTick:
    """When a cycle runs, and for whom."""

    as_of: int  # rows logged or reported later wait for the next tick
    lease: Lease | None = None  # of the model: whatever the cycle writes, it writes under it
    stopping: Callable[[], bool] = lambda: False  # asked between chunks
    _: KW_ONLY
    # False: current rows of windows are not written, as a later tick is about to replace them, and the audit
    # compares no labels.
    shown: bool = True
    recipients: tuple[Recipient, ...] = ()  # who is told of incidents
    # whether they are told of all incidents that are open, not only of what becomes of them in the cycle.
    of_all: bool = False
    report: ReportPlan | None = None  # to whom the report of a period that is over is sent; None: to nobody
    url: str = ""  # address of the pages from outside, to which what they are told links; empty: to none

    @property
    def token(self) -> int | None:
        """Fencing token of the lease."""
        return None if self.lease is None else self.lease.token


@dataclass(frozen=True, slots=True)
class _CycleInputs:
    """What all steps stand on: `last` was committed before, changes that are `accepted` are expected."""

    model: CycleModel
    caches: ModelCaches
    tick: CycleTick
    last: LastCycle
    accepted: Mapping[AlertedSeries, Acceptance]
    clock: StepClock

    @property
    def counts_by_difference(self) -> bool:
        """Whether labels are added to their panes where that is exact."""
        return not (self.last.whole_labels or self.model.whole_label_reason)


@dataclass(frozen=True, slots=True)
class _SettlingFacts:
    """What decides which windows settle, once panes are counted."""

    state: ModelState  # as it will be committed
    waiting: list[WaitingPane]  # panes that still wait
    truth: LabelArrivals  # how labels have come in
    lacking: Ints  # int64, ascending: starts of panes that are not counted
    last_as_of: int | None  # of the cycle before; None: there was none


@dataclass(frozen=True, slots=True, kw_only=True)
class _CycleResults:
    """What was measured."""

    measured: MeasuredWindows
    entered: LedgerResults
    judged: JudgedDays
    faulty_hours: tuple[MeasurementRow, ...]  # judged by rules, shown by their alerts alone
    figures: list[MeasurementRow]  # current rows of no window
    events: list[HistoryEvent]
    last: LastCycle  # what the next cycle goes on from, but for alerts

    @property
    def rows(self) -> list[MeasurementRow]:
        """Current rows."""
        return [*self.measured.current, *self.entered.rows, *self.judged.rows, *self.figures]

    @property
    def due_rows(self) -> list[MeasurementRow]:
        """Rows of the windows that are due, whatever alerts do."""
        return [*self.measured.snapshots, *self.entered.kept, *self.judged.kept]


def run_cycle(
    model: CycleModel, caches: ModelCaches, tick: CycleTick
) -> tuple[CycleReport, list[MeasurementRow]]:
    """Run one cycle; return what it did and the current rows it found.

    After an exception the caches are to be dropped: they may be ahead of the store.

    Raises
    ------
    MonitorError
        if the tick lies before the model's last one; `LeaseLost` if another process has taken the model over.
    """
    state = model.store.states.read_state(model.name)
    if state.as_of is not None and tick.as_of < state.as_of:
        raise MonitorError(f"this moment lies before its last tick {to_iso(state.as_of)}")
    clock = StepClock()
    with clock.time_step("load"):
        cycle = _begin_cycle(model, caches, tick, state, clock)
    changes, audited = _find_changes(cycle, state)
    with clock.time_step("count"):
        counted_rows = _count_panes(cycle, changes)
    renew_lease(model, tick.lease)
    with clock.time_step("settle"):
        settling, confirmed = _learn_settling(cycle, changes, audited)
    results = _measure_windows(cycle, settling, changes, audited, earlier=state)
    label_rows = counted_rows.label_rows + confirmed.label_rows
    rows_read = changes.read + counted_rows.rows + label_rows
    snapshots = _commit_results(cycle, settling.state, results, rows_read, before=state.as_of)
    report = CycleReport(
        model=model.name,
        as_of=tick.as_of,
        rows_read=counted_rows.rows,
        label_rows_read=label_rows + changes.label_rows,
        panes_counted=counted_rows.panes,
        panes_waiting=len({pane.start for pane in settling.waiting}),
        measurements=len(results.rows),
        snapshots=snapshots,
        invalid_times=changes.invalid_times,
        missing_columns=counted_rows.missing_columns,
        steps=clock.seconds,
        empty_tables=changes.empty_tables,
        lost=changes.lost,
        new_labels=changes.new_labels,
    )
    return report, results.rows


def _begin_cycle(
    model: CycleModel, caches: ModelCaches, tick: CycleTick, state: ModelState, clock: StepClock
) -> _CycleInputs:
    """Bring the caches in line with the store."""
    last = caches.last
    if last is None:
        # Before anything is loaded: sums are made of panes of one width.
        drop_wrong_width_panes(model, token=tick.token)
        last = read_last_cycle(model, tick.as_of if state.as_of is None else state.as_of)
        caches.panes.learn_versions(last.first_seen)
    accepted = read_accepted_changes(model.store, model.spec, tick.as_of)
    labels = last.watched.get(ALL_LABELS)
    oldest = model.find_needed_start(tick.as_of, last.settled_ends, accepted.values())
    caches.panes.load_since(
        min(oldest, find_unfolding_start(None if labels is None else labels.watch, tick.as_of))
    )
    caches.panes.fold_differences(tick.as_of, token=tick.token)
    return _CycleInputs(model, caches, tick, last, accepted, clock)


def _find_changes(cycle: _CycleInputs, state: ModelState) -> tuple[ChangedPanes, AuditFindings]:
    """What changed in the log, and what the audit found; all of it waits from now on."""
    model, panes, as_of = cycle.model, cycle.caches.panes, cycle.tick.as_of
    with cycle.clock.time_step("changes"):
        changes = find_changes(
            model, panes, state, as_of, lease=cycle.tick.lease, by_difference=cycle.counts_by_difference
        )
        if cycle.caches.last is None:
            changes = add_older_panes(model, panes, changes, as_of)
    with cycle.clock.time_step("audit"):
        audited = audit_log(model, panes, changes, cycle.last.audit, as_of, labels=cycle.tick.shown)
    waiting = [*changes.waiting, *audited.waiting]
    # One transaction moves the cursors and notes the panes that they passed: a process that is killed from
    # here on forgets none.
    model.store.panes.note_waiting(model.name, changes.state, waiting, token=cycle.tick.token)
    return changes, audited


def _recount_budget(cycle: _CycleInputs, settling_age: int | None) -> RecountBudget:
    model = cycle.model
    return RecountBudget(
        rows=model.spec.keys.reading.recount_rows,
        pane=model.reading.pane,
        settling_age=settling_age,
        by_difference=cycle.counts_by_difference,
    )


def _count_panes(cycle: _CycleInputs, changes: ChangedPanes) -> CountedRows:
    """Count the panes whose turn it is."""
    model, panes, tick = cycle.model, cycle.caches.panes, cycle.tick
    waiting, age = model.store.panes.read_waiting_panes(model.name), changes.state.settling_age
    return recount_due_panes(
        model,
        panes,
        waiting,
        find_outdated_recounts(model, panes, waiting, tick.as_of),
        as_of=tick.as_of,
        budget=_recount_budget(cycle, age),
        expected=changes.rows,
        lease=tick.lease,
        stopping=tick.stopping,
    )


def _learn_settling(
    cycle: _CycleInputs, changes: ChangedPanes, audited: AuditFindings
) -> tuple[_SettlingFacts, CountedRows]:
    """How labels have come in; panes that settle now are counted whole before, if differences moved them."""
    model, panes, tick, as_of = cycle.model, cycle.caches.panes, cycle.tick, cycle.tick.as_of
    waiting = model.store.panes.read_waiting_panes(model.name)
    waiting += find_outdated_recounts(model, panes, waiting, as_of)
    budget = _recount_budget(cycle, changes.state.settling_age)
    late = overdue_panes(model, panes, waiting, as_of, budget)
    truth = measure_label_arrivals(model, panes, changes.state, as_of, waiting, late)
    # Settled is for good. What differences have moved is counted whole once more before it settles, so that a
    # wrong difference cannot stand in a settled value.
    settle_now = settling_panes(model, panes, waiting, as_of, truth.least_settling_age)
    confirmed = recount_due_panes(
        model,
        panes,
        settle_now,
        [],
        as_of=as_of,
        budget=_recount_budget(cycle, truth.least_settling_age),
        expected={},
        lease=tick.lease,
        stopping=tick.stopping,
    )
    if settle_now:
        # Windows settle on whole counts alone: those that were just made are to serve in this very cycle.
        truth = replace(truth, panes=panes.labelled_panes(as_of, {pane.start for pane in waiting}, late))
    state = replace(
        changes.state, as_of=as_of, audited_as_of=audited.as_of, settling_age=truth.least_settling_age
    )
    lacking = panes.list_incomplete_panes(pane.start for pane in waiting)
    return _SettlingFacts(state, waiting, truth, lacking, changes.state.as_of), confirmed


def _measure_windows(
    cycle: _CycleInputs,
    settling: _SettlingFacts,
    changes: ChangedPanes,
    audited: AuditFindings,
    *,
    earlier: ModelState,
) -> _CycleResults:
    """Measure the windows that are due, the sequential tests, and the figures of no window.

    `earlier`: the state as the cycle began.
    """
    model, caches, before, as_of = cycle.model, cycle.caches, cycle.last, cycle.tick.as_of
    state, truth, lacking = settling.state, settling.truth, settling.lacking
    with cycle.clock.time_step("windows"):
        measured_windows = measure_windows(
            model,
            caches,
            state,
            truth,
            lacking,
            settled=before.settled,
            accepted=cycle.accepted,
            shown=cycle.tick.shown,
        )
    with cycle.clock.time_step("tests"):
        entered = extend_ledgers(model, caches.panes, before.ledgers, state, truth, lacking)
    uncounted = frozenset(lacking.tolist()).union(pane.start for pane in settling.waiting)
    with cycle.clock.time_step("days"):
        judged_days = judge_days(
            model,
            caches.panes,
            before.watched,
            state,
            as_of,
            last_as_of=settling.last_as_of,
            uncounted=uncounted,
            seen_rows=changes.rows,
            accepted=cycle.accepted.values(),
            lease=cycle.tick.lease,
        )
    seen_first = make_first_seen_events(model, caches.panes.version_starts, before.first_seen, as_of)
    wrong = make_wrong_difference_event(model, audited, as_of)
    last = replace(
        before,
        settled=measured_windows.newest_settled
        if cycle.tick.shown
        else merge_newest_settled(before.settled, measured_windows.windows),
        audit=audited.rows,
        late=make_late_rows(as_of, changes, before.late),
        first_seen={**before.first_seen, **{event.subject: event.at for event in seen_first}},
        whole_labels=before.whole_labels or bool(wrong),
        ledgers=entered.ledgers,
        watched=judged_days.watched,
    )
    oldest_needed = model.find_needed_start(as_of, last.settled_ends, cycle.accepted.values())
    with cycle.clock.time_step("hours"):
        look = HourlyLook(
            as_of=as_of,
            last_as_of=settling.last_as_of,
            last_logged=earlier.logged_cursor,
            lateness=before.lateness,
            known_since=max(oldest_needed, model.find_history_start(state)),
            uncounted=uncounted,
            told={*before.alerts, *cycle.accepted},
        )
        judged_hours = judge_hours(model, caches.panes, watched_records(judged_days.watched), state, look)
    last = replace(last, lateness=judged_hours.lateness)
    seen = newest_seen(model, caches.panes, state, oldest_needed=oldest_needed)
    figures = [
        *last.audit,
        *last.late,
        *make_backlog_rows(as_of, settling.waiting, whole_labels=last.whole_labels),
        *age_rows(as_of, seen),
        *judged_hours.figures,
        *settling_rows(model, as_of, truth),
        *first_seen_rows(last.first_seen),
    ]
    return _CycleResults(
        measured=measured_windows,
        entered=entered,
        judged=judged_days,
        faulty_hours=judged_hours.faults,
        figures=figures,
        events=[*seen_first, *wrong],
        last=last,
    )


def _commit_results(
    cycle: _CycleInputs, state: ModelState, results: _CycleResults, rows_read: int, *, before: int | None
) -> int:
    """Judge the rules, write everything in one transaction, remember it; how many rows are kept.

    `before`: as of of the cycle before; None: there was none.
    """
    model, tick, measured_windows = cycle.model, cycle.tick, results.measured
    rows = [*measured_windows.watched, *results.rows]
    with cycle.clock.time_step("rules"):
        judging_round, moments, changed = judge_rules(
            model.spec.rules,
            cycle.last.alerts,
            cycle.accepted,
            settled=measured_windows.settled,
            rows=rows,
            kept_rows=results.due_rows,
            days=results.judged.rounds,
            hours=results.faulty_hours,
            as_of=tick.as_of,
        )
        grouped = advance_incidents(cycle.last.incidents, moments, model.spec.rules)
    with cycle.clock.time_step("commit"):  # what is kept is chosen here, and its whole curves are made
        is_audit = state.audited_as_of == tick.as_of
        prunes = find_prunable_span(model, tick.as_of, is_first=not cycle.last.pruned) if is_audit else None
        kept_rows = select_kept_rows(model.spec, results.due_rows, rows, changed, thin=model.thin)
        commit = CycleCommit(
            state=state,
            current=results.rows if tick.shown else results.figures,
            whole=tick.shown,
            provenance=_make_provenance(model, state, tick.as_of, rows_read),
            snapshots=with_whole_details(
                model, cycle.caches, kept_rows, select_whole_places(model, measured_windows.whole, changed)
            ),
            windows=measured_windows.windows,
            events=results.events,
            entries=results.entered.entries,
            days=results.judged.days,
            alerts=judging_round.written,
            dropped=judging_round.dropped,
            incidents=grouped.written,
            notices=(
                *round_notices(
                    model.store,
                    model.spec,
                    judging_round,
                    grouped,
                    tick.recipients,
                    tick.as_of,
                    rows=results.rows,
                    of_all=tick.of_all,
                    url=tick.url,
                ),
                *make_report_notices(
                    model.name,
                    tick.report,
                    before,
                    tick.as_of,
                    wait=model.spec.ready_after,
                    url=tick.url,
                ),
            ),
            pruned=prunes,
        )
        model.store.commit_cycle(model.name, commit, token=tick.token)
    # Only once it is committed: the next cycle goes on from this, and must not be ahead of the store.
    cycle.caches.keep_last(
        replace(
            results.last,
            alerts=judging_round.standing,
            incidents=grouped.incidents,
            pruned=cycle.last.pruned or prunes is not None,
        )
    )
    return len(commit.snapshots)


def _make_provenance(model: CycleModel, state: ModelState, as_of: int, rows_read: int) -> Provenance:
    return Provenance(
        as_of=as_of,
        grid=model.counting.hash,
        reference=model.reference_key,
        config=model.spec.config_hash,
        code=model.code,
        rows_read=rows_read,
        newest_logged_at=state.logged_cursor,
        newest_reported_at=state.reported_cursor,
    )
