"""What changed? Rows logged and labels reported since the cursors, as panes that wait."""

from dataclasses import dataclass, replace

from monitor.core.clock import floor_to
from monitor.pipeline.changes.label_changes import find_labels
from monitor.pipeline.changes.seen_rows import (
    ChangedRows,
    SearchSpan,
    SeenOverlap,
    count_late_rows,
    find_unseen_panes,
    last_search_end,
    sum_changed_rows,
)
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.records.pane import PaneHalf
from monitor.records.winning_rows import parse_dated_rows
from monitor.specs.protocols import NO_LABELS, Lease, NewLabels
from monitor.specs.read_ranges import changed_records_range
from monitor.specs.stored_rows import ModelState, WaitingPane


@dataclass(frozen=True, slots=True)
class ChangedPanes:
    """Panes that changed."""

    state: ModelState  # with the cursors moved
    waiting: list[WaitingPane]  # dirty panes
    rows: dict[int, int]  # changed rows by pane start: what a first count of it will read at least
    read: int  # rows read to find out
    invalid_times: int  # event times that are not times
    # late, late_labels: rows, and labels, that became visible behind what the search before had seen; 0 where
    # that is not known; None: they have no such time.
    late: int | None = None
    late_labels: int | None = None
    label_rows: int = 0  # rows of the records whose labels were added to their panes
    new_labels: NewLabels = NO_LABELS  # whether the labels that were found are those that the model knows
    empty_tables: tuple[str, ...] = ()  # titles of tables that held rows before and hold none now
    lost: str = ""  # why it is not known what was rewritten: all panes are counted again


def find_changes(
    model: CycleModel,
    panes: ModelPanes,
    state: ModelState,
    as_of: int,
    *,
    lease: Lease | None = None,
    by_difference: bool = True,
    write: bool = True,
) -> ChangedPanes:
    """Panes to count again; labels that need no count are added to their panes.

    Cost: two columns of the changed rows; of the changed labels the narrow columns that they are counted by.

    Parameters
    ----------
    lease
        renewed while the search for labels is long, which writes under it.
    by_difference
        labels may be added to their panes.
    write
        False: nothing is added, nothing is stored.
    """
    spec, reading = model.spec, model.reading
    bounds = changed_records_range(spec, reading, as_of, first=state.as_of is None)
    # Transactions commit after the times that they write: what lies just before the cursor is read again.
    since = None if state.logged_cursor is None else state.logged_cursor - spec.keys.reading.overlap
    has_logged_at = spec.predictions.column_of("logged_at") is not None
    labels_since = state.reported_cursor
    if labels_since is not None:
        labels_since -= spec.keys.reading.overlap
    rewrites = model.source.find_rewrites(
        spec, state.position, since=since, labels_since=labels_since, as_of=as_of, bounds=bounds
    )
    batches = model.source.read_changed_records(spec, since=since, as_of=as_of, bounds=bounds)
    span = SearchSpan(
        bounds,
        since if has_logged_at else None,
        as_of,
        state.logged_cursor,
        last_search_end(state, reading.tolerance),
    )
    overlap = SeenOverlap(spec.keys.reading.overlap, span.cursor or 0, reading.pane)
    rows = sum_changed_rows(parse_dated_rows(batches, "logged_at", reading), span, reading.pane, overlap)
    late = count_late_rows(rows, state.rows_seen_again) if has_logged_at else None
    unseen = find_unseen_panes(model, panes, PaneHalf.RECORDS, rows, state.rows_seen_again)
    seen_again = overlap.sum_panes() if has_logged_at else ()
    state = replace(state, rows_seen_again=seen_again, position=rewrites.position)
    starts = sorted({*unseen, *rewrites.records, *_future_panes(model, state, as_of, bounds[0])})
    waiting = [WaitingPane(start=start, part=PaneHalf.RECORDS, since=as_of) for start in starts]
    if state.oldest is None and rows.changed:
        state = replace(
            state, oldest=find_oldest_event(model, rows.oldest, bounds[0], as_of), first_as_of=as_of
        )
    if has_logged_at and rows.newest:
        state = replace(state, logged_cursor=min(as_of, rows.newest))
    # A quiet log has nothing new either. Only a table that held rows and holds none is a fault, and only
    # where nothing was read is it worth a query.
    had_rows = state.oldest is not None and not rows.read
    empty = model.source.find_empty_table(spec, PaneHalf.RECORDS) if had_rows else ""
    changes = ChangedPanes(
        state,
        waiting,
        rows.changed,
        rows.read,
        rows.invalid,
        late,
        empty_tables=tuple(filter(None, [empty])),
        lost=rewrites.lost,
    )
    if not reading.labelled:
        return changes
    waiting += [WaitingPane(start=start, part=PaneHalf.LABELS, since=as_of) for start in rewrites.labels]
    # A difference is exact only where nothing else of a pane changed: one whose records wait is counted
    # whole.
    records_wait = {pane.start for pane in (*waiting, *model.store.panes.read_waiting_panes(model.name))}
    labels = find_labels(
        model,
        panes,
        state,
        as_of,
        waiting=records_wait,
        lease=lease,
        by_difference=by_difference,
        write=write,
    )
    had_labels = state.reported_cursor is not None or panes.newest_event(PaneHalf.LABELS) is not None
    empty = model.source.find_empty_table(spec, PaneHalf.LABELS) if had_labels and not labels.read else ""
    return replace(
        changes,
        new_labels=labels.new,
        empty_tables=tuple(filter(None, [*changes.empty_tables, empty])),
        state=labels.state,
        waiting=[*waiting, *labels.waiting],
        late_labels=labels.late,
        read=changes.read + labels.read,
        label_rows=labels.counted,
    )


def read_changed_rows(model: CycleModel, bounds: tuple[int, int], as_of: int) -> ChangedRows:
    """All rows within bounds, whenever they were logged."""
    spec, reading = model.spec, model.reading
    batches = model.source.read_changed_records(spec, since=None, as_of=as_of, bounds=bounds)
    return sum_changed_rows(
        parse_dated_rows(batches, "logged_at", reading), SearchSpan(bounds, None, as_of, None), reading.pane
    )


def find_oldest_event(model: CycleModel, event_time: int, first: int, as_of: int) -> int:
    """Oldest event time of the log as far as the horizon reaches: its cut, where there are older rows.

    `event_time`: the oldest one within the horizon, which begins at `first`.
    """
    older = (first - model.reading.horizon, first)
    return first if model.source.has_records(model.spec, as_of=as_of, bounds=older) else event_time


def _future_panes(model: CycleModel, state: ModelState, as_of: int, oldest: int) -> list[int]:
    """Panes between the previous as of and this one: they may hold rows that were in the future."""
    reading = model.reading
    first = max(floor_to(as_of if state.as_of is None else state.as_of, reading.pane), oldest)
    return list(range(first, as_of + reading.tolerance + 1, reading.pane))
