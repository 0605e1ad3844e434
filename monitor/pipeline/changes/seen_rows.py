"""Rows that a search for changes has seen, added up by pane; which of them no count has seen."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from monitor.core.array_types import Ints
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.records.label_checksum import checksum_of_moments
from monitor.records.pane import PaneHalf
from monitor.records.winning_rows import DatedRows
from monitor.specs.stored_rows import ModelState, SeenAgain


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class SeenOverlap:
    """Rows of the last `width` before the newest one so far: memory grows with these only."""

    width: int  # microseconds
    newest: int  # when the newest row became visible: of an earlier search, to begin with
    pane: int  # width of a pane
    # event, seen: event time of each row, and when it became visible.
    event: Ints = field(default_factory=_no_rows)
    seen: Ints = field(default_factory=_no_rows)

    def add_rows(self, event: Ints, seen: Ints) -> None:
        """Take in further rows, in any order."""
        self.newest = int(seen.max(initial=self.newest))
        event, seen = np.concatenate([self.event, event]), np.concatenate([self.seen, seen])
        keep_mask = seen >= self.newest - self.width
        self.event, self.seen = event[keep_mask], seen[keep_mask]

    def sum_panes(self) -> tuple[tuple[int, int, int], ...]:
        """Starts of the panes that hold any of these rows, their number, the checksum of their moments."""
        starts, pane, counts = np.unique(
            self.event - self.event % self.pane, return_inverse=True, return_counts=True
        )
        sums = checksum_of_moments(self.event, self.seen, pane, len(starts))
        return tuple(zip(starts.tolist(), counts.tolist(), sums.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class SearchSpan:
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
    """Rows of a span, added up: `changed` and `new` ones by pane start; `newest` is at least the cursor."""

    changed: dict[int, int]
    new: dict[int, int]
    behind: dict[int, int]  # those that the search before could have seen, by pane start
    # when the newest changed row of a pane became visible; empty where all rows were asked for.
    last: dict[int, int]
    read: int
    invalid: int
    oldest: int
    newest: int


def sum_changed_rows(
    batches: Iterator[DatedRows], span: SearchSpan, pane: int, overlap: SeenOverlap | None = None
) -> ChangedRows:
    """Add the rows up batch by batch: memory does not grow with them."""
    changed: Counter[int] = Counter()
    new: Counter[int] = Counter()
    behind: Counter[int] = Counter()
    last: dict[int, int] = {}
    read, invalid, oldest, newest = 0, 0, np.iinfo(np.int64).max, span.cursor or 0
    for batch in batches:
        wanted_mask = batch.rows_within(span.bounds, span.until)
        if span.since is not None:
            wanted_mask &= batch.seen >= span.since
        later = wanted_mask if span.cursor is None else wanted_mask & (batch.seen > span.cursor)
        changed.update(_pane_row_counts(batch.event.us[wanted_mask], pane))
        new.update(_pane_row_counts(batch.event.us[later], pane))
        # Visible by the last search's cursor, and at event times that it asked for: it ought to have seen
        # them.
        behind.update(
            _pane_row_counts(batch.event.us[wanted_mask & ~later & (batch.event.us < span.asked)], pane)
        )
        if span.since is not None:
            for start, seen in _newest_by_pane(batch.event.us[wanted_mask], batch.seen[wanted_mask], pane):
                last[start] = max(seen, last.get(start, seen))
        if overlap is not None:
            overlap.add_rows(batch.event.us[wanted_mask], batch.seen[wanted_mask])
        read += len(wanted_mask)
        invalid += batch.count_invalid_times(span.until)
        oldest = int(batch.event.us[wanted_mask].min(initial=oldest))
        newest = int(batch.seen[wanted_mask].max(initial=newest))
    return ChangedRows(dict(changed), dict(new), dict(behind), last, read, invalid, oldest, newest)


def last_search_end(state: ModelState, tolerance: int) -> int:
    """End of the event times that the last search asked for."""
    return 0 if state.as_of is None else state.as_of + tolerance + 1


def find_unseen_panes(
    model: CycleModel, panes: ModelPanes, part: PaneHalf, rows: ChangedRows, before: SeenAgain = None
) -> list[int]:
    """Panes, ascending, with changed rows that their last count may not have seen.

    While a log or a label feed is quiet its cursor stands, and so does the overlap: its panes would be
    counted in every cycle. A count later than the newest of these rows by the overlap and a cycle has seen
    them.

    `before`: rows of the overlap that the search before this one saw, by start: where there are no more now,
    they were counted since then, or wait to be.
    """
    facts, rest = panes.facts_by_start(part), model.spec.keys.reading.overlap + model.spec.keys.every
    seen_before = {start: count for start, count, _ in before or ()}

    def is_unseen(start: int) -> bool:
        if start in rows.new or start not in rows.last or start not in facts:
            return True
        # Seen again in the overlap, all of it. More rows than last time came late, unless the pane was
        # counted so much later than the newest of them that it has them.
        more = rows.changed[start] > seen_before.get(start, 0)
        return more and facts[start].counted_as_of < rows.last[start] + rest

    return [start for start in sorted(rows.changed) if is_unseen(start)]


def count_late_rows(rows: ChangedRows, before: SeenAgain) -> int:
    """Rows that the search before could have seen and did not; 0 where it is not known what it saw."""
    if before is None:
        return 0
    seen_before = {start: count for start, count, _ in before}
    return sum(max(0, count - seen_before.get(start, 0)) for start, count in rows.behind.items())


def _pane_row_counts(event_time: Ints, pane: int) -> dict[int, int]:
    starts, counts = np.unique(event_time - event_time % pane, return_counts=True)
    return dict(zip(starts.tolist(), counts.tolist(), strict=True))


def _newest_by_pane(event_time: Ints, seen: Ints, pane: int) -> Iterator[tuple[int, int]]:
    starts, inverse = np.unique(event_time - event_time % pane, return_inverse=True)
    newest = np.full(len(starts), np.iinfo(np.int64).min)
    np.maximum.at(newest, inverse, seen)
    return zip(starts.tolist(), newest.tolist(), strict=True)
