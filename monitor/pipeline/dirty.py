"""What changed? Rows logged and labels reported since the cursors, as panes that wait."""

from dataclasses import dataclass, replace

import numpy as np

from monitor.core.clock import floor_to
from monitor.core.typing import Ints
from monitor.pipeline.monitored import Monitored
from monitor.records.rows import logged_times, times
from monitor.specs.rows import ModelState, Part, WaitingPane


@dataclass(frozen=True, slots=True)
class Changes:
    """Panes that changed.

    Parameters
    ----------
    state
        with the cursors moved.
    waiting
        dirty panes.
    rows
        changed rows by pane start: what a first count of it will read at least.
    read
        rows read to find out.
    invalid_times
        event times that are not times.
    """

    state: ModelState
    waiting: list[WaitingPane]
    rows: dict[int, int]
    read: int
    invalid_times: int


def find_changes(monitored: Monitored, state: ModelState, as_of: int) -> Changes:
    """Panes to count again. Cost: two columns of the changed rows, three of the changed labels."""
    spec, reading = monitored.spec, monitored.counting.reading
    bounds = (monitored.oldest_pane(as_of), as_of + reading.tolerance + 1)
    since = None if state.logged_cursor is None else state.logged_cursor - spec.overlap
    dated = spec.predictions.column("logged_at") is not None
    if not dated and state.as_of is not None:
        bounds = (max(bounds[0], floor_to(as_of - spec.lookback, reading.pane)), bounds[1])
    table = monitored.source.changed_records(spec, since=since, as_of=as_of, bounds=bounds)
    event = times(table, "event_time", reading)
    logged, _ = logged_times(table, event, reading)
    wanted = event.known & (event.us >= bounds[0]) & (event.us < bounds[1]) & (logged <= as_of)
    if since is not None and dated:
        wanted &= logged >= since
    rows = _by_pane(event.us[wanted], reading.pane)
    always = _tail(monitored, state, as_of, bounds[0])
    waiting = [WaitingPane(start=start, part=Part.RECORDS, since=as_of) for start in sorted({*rows, *always})]
    if state.oldest is None and rows:
        state = replace(state, oldest=int(event.us[wanted].min()), first_as_of=as_of)
    newest = int(logged[wanted].max(initial=state.logged_cursor or 0))
    if dated and newest:
        state = replace(state, logged_cursor=min(as_of, newest))
    changes = Changes(state, waiting, rows, table.num_rows, event.invalid)
    return _with_labels(monitored, changes, as_of, bounds) if reading.labelled else changes


def _with_labels(monitored: Monitored, changes: Changes, as_of: int, bounds: tuple[int, int]) -> Changes:
    spec, reading, state = monitored.spec, monitored.counting.reading, changes.state
    assert spec.labels is not None
    since = None if state.reported_cursor is None else state.reported_cursor - spec.overlap
    dated = spec.labels.column("reported_at") is not None
    if not dated:
        bounds = (max(bounds[0], floor_to(as_of - spec.lookback, reading.pane)), bounds[1])
    table = monitored.source.changed_labels(spec, since=since, as_of=as_of, bounds=bounds)
    event = times(table, "event_time", reading)
    wanted = event.known & (event.us >= bounds[0]) & (event.us < bounds[1])
    new = wanted
    if dated:
        reported = times(table, "reported_at", reading)
        moment = np.where(reported.known, reported.us, event.us)
        wanted &= (moment <= as_of) & (moment >= (since or moment.min(initial=0)))
        new = wanted if state.reported_cursor is None else wanted & (moment > state.reported_cursor)
        newest = int(moment[wanted].max(initial=state.reported_cursor or 0))
        if newest:
            state = replace(state, reported_cursor=min(as_of, newest))
    waiting = _relabelled(monitored, event.us[wanted], event.us[new], as_of)
    return replace(
        changes,
        state=state,
        waiting=[*changes.waiting, *waiting],
        read=changes.read + table.num_rows,
    )


def _relabelled(monitored: Monitored, changed: Ints, new: Ints, as_of: int) -> list[WaitingPane]:
    """Panes with changed labels, those counted as of this moment left out.

    Labels at or before the cursor, seen again in the overlap, are not counted twice: waiting adds up.
    """
    pane = monitored.counting.reading.pane
    labels, facts = _by_pane(new, pane), monitored.panes.facts(Part.LABELS)
    return [
        WaitingPane(start=start, part=Part.LABELS, since=as_of, labels=labels.get(start, 0))
        for start in sorted(_by_pane(changed, pane))
        if start not in facts or facts[start].counted_as_of != as_of
    ]


def _tail(monitored: Monitored, state: ModelState, as_of: int, oldest: int) -> list[int]:
    """Panes between the previous as of and this one: they may hold rows that were in the future."""
    reading = monitored.counting.reading
    first = max(floor_to(as_of if state.as_of is None else state.as_of, reading.pane), oldest)
    return list(range(first, as_of + reading.tolerance + 1, reading.pane))


def _by_pane(event_time: Ints, pane: int) -> dict[int, int]:
    starts, counts = np.unique(event_time - event_time % pane, return_counts=True)
    return dict(zip(starts.tolist(), counts.tolist(), strict=True))


def ranges_of(starts: list[int], pane: int) -> list[tuple[int, int]]:
    """Half-open ranges of event time of ascending panes, at least one, neighbours merged."""
    edges = np.asarray(starts, dtype=np.int64)
    breaks = np.flatnonzero(np.diff(edges) != pane)
    first = edges[np.concatenate([[0], breaks + 1])]
    last = edges[np.concatenate([breaks, [len(edges) - 1]])] + pane
    return list(zip(first.tolist(), last.tolist(), strict=True))
