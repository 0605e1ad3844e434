"""One cycle of one model: what changed, count it again, measure what is due, one last transaction."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from monitor.core.clock import to_iso
from monitor.core.errors import MonitorError
from monitor.core.typing import Ints
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.alerting import accepted_changes, alerted, newest_kept, noticed, watched_rows
from monitor.pipeline.audit import Audited, audit, pruned
from monitor.pipeline.changes.dirty import Changes, find_changes
from monitor.pipeline.changes.longer_horizon import drop_other_widths, reach_back
from monitor.pipeline.count import Counted, count_waiting, merely_outdated, renew
from monitor.pipeline.model import Monitored, NewestSettled, restore
from monitor.pipeline.sequential.entries import enter
from monitor.pipeline.versions import newly_seen
from monitor.pipeline.windows.due import Due, Truths, due_windows, newest_settled, oldest_end, truths
from monitor.pipeline.windows.log_rows import cycle_rows
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import Part
from monitor.specs.protocols import Commit, CycleReport, Lease
from monitor.specs.rows import ModelState, Provenance, WaitingPane, WindowState
from monitor.windows.ends import Window
from monitor.windows.recount import Budget
from monitor.windows.settling import Settled


def run_cycle(
    monitored: Monitored,
    as_of: int,
    *,
    lease: Lease | None = None,
    stopping: Callable[[], bool] = lambda: False,
    shown: bool = True,
) -> tuple[CycleReport, list[MeasurementRow]]:
    """Run one cycle; return what it did and the current rows it found.

    Parameters
    ----------
    as_of
        a tick: rows logged or reported later wait for the next one.
    lease
        of the model: whatever the cycle writes, it writes under it.
    stopping
        asked between chunks.
    shown
        False: current rows of windows are not written, as a later tick is about to replace them.

    Raises
    ------
    MonitorError
        if `as_of` lies before the model's last tick; `LeaseLost` if another process has taken the model over.
    """
    store = monitored.store
    state = store.state(monitored.name)
    if state.as_of is not None and as_of < state.as_of:
        raise MonitorError(f"this moment lies before its last tick {to_iso(state.as_of)}")
    token = None if lease is None else lease.token
    is_new = _prepared(monitored, state, as_of, token)
    changes = find_changes(monitored, state, as_of)
    changes = reach_back(monitored, changes, as_of) if is_new else changes
    audited = audit(monitored, changes, as_of)
    store.note_waiting(monitored.name, changes.state, [*changes.waiting, *audited.waiting], token=token)
    counted = _count(monitored, changes, as_of, lease, stopping)
    renew(monitored, lease)

    return _concluded(monitored, as_of, changes, audited, counted, token=token, shown=shown)


def _concluded(
    monitored: Monitored,
    as_of: int,
    changes: Changes,
    audited: Audited,
    counted: Counted,
    *,
    token: int | None,
    shown: bool,
) -> tuple[CycleReport, list[MeasurementRow]]:
    """Measure what is due, judge it, and commit it all."""
    waiting = monitored.store.waiting(monitored.name)
    waiting += merely_outdated(monitored, waiting, as_of)
    truth = truths(monitored, changes.state, as_of, waiting)
    lacking = monitored.panes.lacking(pane.start for pane in waiting)
    measured = _measure(monitored, changes.state, truth, lacking, shown=shown)
    state = replace(changes.state, as_of=as_of, audited_as_of=audited.as_of, settling_age=truth.age)
    provenance = _provenance(monitored, state, as_of, changes.read + counted.rows + counted.label_rows)
    events = newly_seen(monitored, as_of)
    entered = enter(monitored, state, truth, lacking)
    figures = [*audited.rows, *cycle_rows(monitored, as_of, changes, waiting)]
    rows = [*measured.current, *entered.rows, *figures]
    kept = [*measured.snapshots, *entered.kept]
    judged, cited = alerted(monitored, measured.settled, [*measured.watched, *rows], kept, as_of)
    snapshots = [*kept, *cited]
    monitored.store.commit(
        monitored.name,
        Commit(
            state=state,
            current=rows if shown else figures,
            whole=shown,
            provenance=provenance,
            snapshots=snapshots,
            windows=measured.windows,
            events=events,
            entries=entered.entries,
            alerts=judged.written,
            dropped=judged.dropped,
            notices=noticed(monitored, judged, as_of),
            pruned=pruned(monitored, as_of) if audited.as_of == as_of else None,
        ),
        token=token,
    )
    monitored.ledgers, monitored.alerts = entered.ledgers, judged.standing
    return _report(monitored, as_of, changes, counted, waiting, rows, snapshots), rows


def _prepared(monitored: Monitored, state: ModelState, as_of: int, token: int | None) -> bool:
    """Bring caches in line with the store; whether this is the first cycle of the process."""
    if is_new := not monitored.restored:
        drop_other_widths(monitored, token=token)
        restore(monitored, as_of if state.as_of is None else state.as_of)
    monitored.accepted = accepted_changes(monitored.store, monitored.spec, as_of)
    monitored.panes.load(monitored.oldest_needed(as_of))
    return is_new


def _count(
    monitored: Monitored, changes: Changes, as_of: int, lease: Lease | None, stopping: Callable[[], bool]
) -> Counted:
    waiting = monitored.store.waiting(monitored.name)
    outdated = merely_outdated(monitored, waiting, as_of)
    budget = Budget(
        rows=monitored.spec.recount_rows,
        pane=monitored.counting.reading.pane,
        every=monitored.spec.every,
        settling_age=changes.state.settling_age,
    )
    return count_waiting(
        monitored,
        waiting,
        outdated,
        as_of=as_of,
        budget=budget,
        expected=changes.rows,
        lease=lease,
        stopping=stopping,
    )


@dataclass(slots=True)
class _Measured:
    """What a cycle measured.

    Parameters
    ----------
    current
        of the newest and the newest settled window of each kind, if shown.
    watched
        if not shown: what rules read of the newest ones.
    settled
        ends of the newest kept windows that are settled, by name.
    snapshots
        the kept rows.
    """

    current: list[MeasurementRow] = field(default_factory=list)
    watched: list[MeasurementRow] = field(default_factory=list)
    settled: dict[str, int] = field(default_factory=dict)
    snapshots: list[MeasurementRow] = field(default_factory=list)
    windows: list[WindowState] = field(default_factory=list)


def _measure(
    monitored: Monitored, state: ModelState, truth: Truths, lacking: Ints, *, shown: bool
) -> _Measured:
    found = _Measured()
    if state.oldest is None:
        return found
    monitored.memory.turn()
    oldest = oldest_end(monitored, state, truth.as_of)
    states = monitored.store.windows(monitored.name, oldest)
    for window in monitored.spec.windows:
        newest = window.newest_end(truth.as_of - monitored.spec.ready_after)
        measures = WindowMeasures(
            monitored, window, monitored.first_counted(state), lacking, monitored.oldest_pane(truth.as_of)
        )
        if newest > monitored.first_counted(state):
            settled = _newest_settled(measures, newest, truth)
            if shown:
                found.current += _current(measures, newest, settled, truth)
            else:
                found.watched += watched_rows(measures, newest, truth.warning(window, newest))
        due = due_windows(monitored, window, oldest=oldest, newest=newest, truth=truth, states=states)
        last = _last_kept(monitored, window, due)
        for one in due:
            found.snapshots += _kept_rows(measures, one, last.get(one.end, []), truth)
            found.windows.append(_window_state(monitored, one, truth))
    found.settled = newest_kept([*states, *found.windows])
    return found


def _newest_settled(measures: WindowMeasures, newest: int, truth: Truths) -> NewestSettled | None:
    """Newest settled window of a kind, remembered: estimates of the newest window are learned from it."""
    monitored, window = measures.monitored, measures.window
    known = monitored.settled.get(window.name)
    if not monitored.counting.reading.labelled:
        return known
    end = newest_settled(window, newest, known.end if known else None, measures.first, truth)
    if end is not None and (known is None or known.end != end):
        known = NewestSettled(end, _warning(truth.of(window, end)))
        monitored.settled[window.name] = known
    return known


def _current(
    measures: WindowMeasures, newest: int, settled: NewestSettled | None, truth: Truths
) -> list[MeasurementRow]:
    if not measures.monitored.counting.reading.labelled:
        return measures.records(newest)
    warning = truth.warning(measures.window, newest)
    rows = measures.records(newest) + measures.labels(newest, Truth.PROVISIONAL, warning)
    if settled is not None:
        rows += measures.labels(settled.end, Truth.SETTLED, settled.warning)
    return rows


def _kept_rows(
    measures: WindowMeasures, due: Due, last: list[MeasurementRow], truths: Truths
) -> list[MeasurementRow]:
    settled = due.settles is not Settled.NO or (due.state is not None and due.state.settled_as_of is not None)
    truth = Truth.SETTLED if settled else Truth.PROVISIONAL
    rows = measures.records(due.end) if due.first else []
    if due.records and not due.first:
        rows = measures.revised_records(due.end)
    if not measures.monitored.counting.reading.labelled:
        return rows
    if due.first or due.settles is not Settled.NO:
        warning = _warning(due.settles) if settled else truths.warning(due.window, due.end)
        return rows + measures.labels(due.end, truth, warning)
    if due.labels and measures.moved(due.end, last):
        known = due.state.warning if due.state else ""
        return rows + measures.revised(
            due.end, truth, known if settled else truths.warning(due.window, due.end)
        )
    return rows


def _warning(settles: Settled) -> str:
    return settles.value if settles is Settled.LOW_COVERAGE else ""


def _last_kept(monitored: Monitored, window: Window, due: list[Due]) -> dict[int, list[MeasurementRow]]:
    ends = [one.end for one in due if one.labels and one.settles is Settled.NO]
    if not ends:
        return {}
    by_end: dict[int, list[MeasurementRow]] = {}
    for (end, _, _), row in monitored.store.last_kept(monitored.name, window.name, ends).items():
        by_end.setdefault(end, []).append(row)
    return by_end


def _window_state(monitored: Monitored, due: Due, truth: Truths) -> WindowState:
    start = due.window.start(due.end)
    before = due.state or WindowState(window=due.window.name, end=due.end, first_as_of=truth.as_of)
    settles = due.settles is not Settled.NO
    return replace(
        before,
        settled_as_of=truth.as_of if settles else before.settled_as_of,
        measured_as_of=truth.as_of,
        records_seen=(
            monitored.panes.seen(Part.RECORDS, start, due.end)
            if due.first or due.records
            else before.records_seen
        ),
        labels_seen=monitored.panes.seen(Part.LABELS, start, due.end),
        warning=_warning(due.settles) or before.warning,
    )


def _provenance(monitored: Monitored, state: ModelState, as_of: int, rows_read: int) -> Provenance:
    return Provenance(
        as_of=as_of,
        grid=monitored.counting.hash,
        reference=monitored.reference_key,
        config=monitored.spec.config_hash,
        code=monitored.code,
        rows_read=rows_read,
        newest_logged_at=state.logged_cursor,
        newest_reported_at=state.reported_cursor,
    )


def _report(
    monitored: Monitored,
    as_of: int,
    changes: Changes,
    counted: Counted,
    waiting: list[WaitingPane],
    rows: list[MeasurementRow],
    snapshots: list[MeasurementRow],
) -> CycleReport:
    return CycleReport(
        model=monitored.name,
        as_of=as_of,
        rows_read=counted.rows,
        label_rows_read=counted.label_rows,
        panes_counted=counted.panes,
        panes_waiting=len({pane.start for pane in waiting}),
        measurements=len(rows),
        snapshots=len(snapshots),
        invalid_times=changes.invalid_times,
        missing_columns=counted.missing_columns,
    )
