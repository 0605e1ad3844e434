"""What changed? Rows logged and labels reported since the cursors, as panes that wait."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.core.clock import floor_to
from monitor.core.typing import Ints
from monitor.pipeline.model import Model
from monitor.pipeline.panes import Panes
from monitor.records.pane import Part
from monitor.records.rows import Dated, dated
from monitor.specs.reads import changed_labels_range, changed_records_range
from monitor.specs.rows import ModelState, SeenAgain, WaitingPane


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Overlap:
    """Rows of the last `width` before the newest one so far: memory grows with these only.

    Parameters
    ----------
    width
        microseconds.
    newest
        when the newest row became visible: of an earlier search, to begin with.
    start, seen
        pane of each row, and when it became visible.
    """

    width: int
    newest: int
    start: Ints = field(default_factory=_none)
    seen: Ints = field(default_factory=_none)

    def add(self, start: Ints, seen: Ints) -> None:
        """Take in further rows, in any order."""
        self.newest = int(seen.max(initial=self.newest))
        start, seen = np.concatenate([self.start, start]), np.concatenate([self.seen, seen])
        kept = seen >= self.newest - self.width
        self.start, self.seen = start[kept], seen[kept]

    def by_pane(self) -> tuple[tuple[int, int], ...]:
        """Starts of the panes that hold any of these rows, and their number."""
        starts, counts = np.unique(self.start, return_counts=True)
        return tuple(zip(starts.tolist(), counts.tolist(), strict=True))


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
    late, late_labels
        rows, and labels, that became visible behind what the search before had seen; 0 where that is not
        known; None: they have no such time.
    """

    state: ModelState
    waiting: list[WaitingPane]
    rows: dict[int, int]
    read: int
    invalid_times: int
    late: int | None = None
    late_labels: int | None = None


def find_changes(model: Model, panes: Panes, state: ModelState, as_of: int) -> Changes:
    """Panes to count again. Cost: two columns of the changed rows, three of the changed labels."""
    spec, reading = model.spec, model.reading
    bounds = changed_records_range(spec, reading, as_of, first=state.as_of is None)
    since = None if state.logged_cursor is None else state.logged_cursor - spec.overlap
    has_logged_at = spec.predictions.column("logged_at") is not None
    batches = model.source.changed_records(spec, since=since, as_of=as_of, bounds=bounds)
    span = _Span(
        bounds, since if has_logged_at else None, as_of, state.logged_cursor, _asked(state, reading.tolerance)
    )
    overlap = Overlap(spec.overlap, span.cursor or 0)
    rows = _added_up(dated(batches, "logged_at", reading), span, reading.pane, overlap)
    late = _late(rows, state.rows_seen_again) if has_logged_at else None
    unseen = _unseen(model, panes, Part.RECORDS, rows, state.rows_seen_again)
    state = replace(state, rows_seen_again=overlap.by_pane() if has_logged_at else ())
    starts = sorted({*unseen, *_tail(model, state, as_of, bounds[0])})
    waiting = [WaitingPane(start=start, part=Part.RECORDS, since=as_of) for start in starts]
    if state.oldest is None and rows.changed:
        state = replace(state, oldest=oldest_of(model, rows.oldest, bounds[0], as_of), first_as_of=as_of)
    if has_logged_at and rows.newest:
        state = replace(state, logged_cursor=min(as_of, rows.newest))
    changes = Changes(state, waiting, rows.changed, rows.read, rows.invalid, late)
    return _with_labels(model, panes, changes, as_of, bounds) if reading.labelled else changes


def _asked(state: ModelState, tolerance: int) -> int:
    return 0 if state.as_of is None else state.as_of + tolerance + 1


def changed_rows(model: Model, bounds: tuple[int, int], as_of: int) -> "ChangedRows":
    """All rows within bounds, whenever they were logged."""
    spec, reading = model.spec, model.reading
    batches = model.source.changed_records(spec, since=None, as_of=as_of, bounds=bounds)
    return _added_up(dated(batches, "logged_at", reading), _Span(bounds, None, as_of, None), reading.pane)


def oldest_of(model: Model, event_time: int, first: int, as_of: int) -> int:
    """Oldest event time of the log as far as the horizon reaches: its cut, where there are older rows.

    Parameters
    ----------
    event_time
        the oldest one within the horizon, which begins at `first`.
    """
    older = (first - model.reading.horizon, first)
    return first if model.source.has_records(model.spec, as_of=as_of, bounds=older) else event_time


def _with_labels(
    model: Model, panes: Panes, changes: Changes, as_of: int, bounds: tuple[int, int]
) -> Changes:
    spec, reading, state = model.spec, model.reading, changes.state
    assert spec.labels is not None
    since = None if state.reported_cursor is None else state.reported_cursor - spec.overlap
    has_reported_at = spec.labels.column("reported_at") is not None
    bounds = changed_labels_range(spec, bounds, as_of)
    batches = model.source.changed_labels(spec, since=since, as_of=as_of, bounds=bounds)
    span = _Span(bounds, since, as_of, state.reported_cursor, _asked(state, reading.tolerance))
    if not has_reported_at:
        span = _Span(bounds, None, bounds[1], None)
    overlap = Overlap(spec.overlap, span.cursor or 0)
    rows = _added_up(dated(batches, "reported_at", reading), span, reading.pane, overlap)
    if has_reported_at and rows.newest:
        state = replace(state, reported_cursor=min(as_of, rows.newest))
    waiting = _relabelled(model, panes, rows, state.seen_again, as_of)
    late = _late(rows, state.seen_again) if has_reported_at else None
    state = replace(state, seen_again=overlap.by_pane() if has_reported_at else ())
    waiting, read = [*changes.waiting, *waiting], changes.read + rows.read
    return replace(changes, state=state, waiting=waiting, read=read, late_labels=late)


@dataclass(frozen=True, slots=True)
class _Span:
    """Rows that are asked for: event times in `bounds`, seen in [since, until]; new: after `cursor`.

    The search before asked for event times below `asked`.
    """

    bounds: tuple[int, int]
    since: int | None
    until: int
    cursor: int | None
    asked: int = 0


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows of a span, added up: `changed` and `new` ones by pane start; `newest` is at least the cursor.

    Parameters
    ----------
    behind
        those that the search before could have seen, by pane start.
    last
        when the newest changed row of a pane became visible; empty where all rows were asked for.
    """

    changed: dict[int, int]
    new: dict[int, int]
    behind: dict[int, int]
    last: dict[int, int]
    read: int
    invalid: int
    oldest: int
    newest: int


def _added_up(
    batches: Iterator[Dated], span: _Span, pane: int, overlap: Overlap | None = None
) -> ChangedRows:
    """Add the rows up batch by batch: memory does not grow with them."""
    changed: Counter[int] = Counter()
    new: Counter[int] = Counter()
    behind: Counter[int] = Counter()
    last: dict[int, int] = {}
    read, invalid, oldest, newest = 0, 0, np.iinfo(np.int64).max, span.cursor or 0
    for batch in batches:
        wanted = batch.within(span.bounds, span.until)
        if span.since is not None:
            wanted &= batch.seen >= span.since
        later = wanted if span.cursor is None else wanted & (batch.seen > span.cursor)
        changed.update(_by_pane(batch.event.us[wanted], pane))
        new.update(_by_pane(batch.event.us[later], pane))
        behind.update(_by_pane(batch.event.us[wanted & ~later & (batch.event.us < span.asked)], pane))
        if span.since is not None:
            for start, seen in _newest_by_pane(batch.event.us[wanted], batch.seen[wanted], pane):
                last[start] = max(seen, last.get(start, seen))
        if overlap is not None:
            overlap.add(batch.event.us[wanted] // pane * pane, batch.seen[wanted])
        read += len(wanted)
        invalid += batch.event.invalid
        oldest = int(batch.event.us[wanted].min(initial=oldest))
        newest = int(batch.seen[wanted].max(initial=newest))
    return ChangedRows(dict(changed), dict(new), dict(behind), last, read, invalid, oldest, newest)


def _unseen(model: Model, panes: Panes, part: Part, rows: ChangedRows, before: SeenAgain = None) -> list[int]:
    """Panes, ascending, with changed rows that their last count may not have seen.

    While a log or a label feed is quiet its cursor stands, and so does the overlap: its panes would be
    counted in every cycle. A count later than the newest of these rows by the overlap and a cycle has seen
    them.

    Parameters
    ----------
    before
        rows of the overlap that the search before this one saw, by start: where there are no more now, they
        were counted since then, or wait to be.
    """
    facts, rest = panes.facts(part), model.spec.overlap + model.spec.every
    seen_before = dict(before or ())
    return [
        start
        for start in sorted(rows.changed)
        if start in rows.new
        or start not in rows.last
        or start not in facts
        or (
            rows.changed[start] > seen_before.get(start, 0)
            and facts[start].counted_as_of < rows.last[start] + rest
        )
    ]


def _late(rows: ChangedRows, before: SeenAgain) -> int:
    """Rows that the search before could have seen and did not; 0 where it is not known what it saw."""
    if before is None:
        return 0
    seen_before = dict(before)
    return sum(max(0, count - seen_before.get(start, 0)) for start, count in rows.behind.items())


def _relabelled(
    model: Model, panes: Panes, rows: ChangedRows, before: SeenAgain, as_of: int
) -> list[WaitingPane]:
    """Panes with changed labels, those counted as of this moment left out.

    Labels at or before the cursor, seen again in the overlap, are not counted twice: waiting adds up. Those
    that the search before this one did not see are new.

    Parameters
    ----------
    before
        labels of the overlap that the search before this one saw, by start.
    """
    facts, before_labels = panes.facts(Part.LABELS), dict(before or ())
    return [
        WaitingPane(
            start=start,
            part=Part.LABELS,
            since=as_of,
            labels=max(rows.changed[start] - before_labels.get(start, 0), rows.new.get(start, 0)),
        )
        for start in _unseen(model, panes, Part.LABELS, rows)
        if start not in facts or facts[start].counted_as_of != as_of
    ]


def _tail(model: Model, state: ModelState, as_of: int, oldest: int) -> list[int]:
    """Panes between the previous as of and this one: they may hold rows that were in the future."""
    reading = model.reading
    first = max(floor_to(as_of if state.as_of is None else state.as_of, reading.pane), oldest)
    return list(range(first, as_of + reading.tolerance + 1, reading.pane))


def _by_pane(event_time: Ints, pane: int) -> dict[int, int]:
    starts, counts = np.unique(event_time - event_time % pane, return_counts=True)
    return dict(zip(starts.tolist(), counts.tolist(), strict=True))


def _newest_by_pane(event_time: Ints, seen: Ints, pane: int) -> Iterator[tuple[int, int]]:
    starts, inverse = np.unique(event_time - event_time % pane, return_inverse=True)
    newest = np.full(len(starts), np.iinfo(np.int64).min)
    np.maximum.at(newest, inverse, seen)
    return zip(starts.tolist(), newest.tolist(), strict=True)
