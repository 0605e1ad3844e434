"""Labels reported since the last search: added to their panes by difference, else their panes wait.

Are they still labels that the model knows? See `NewLabels`.

A difference is exact where what the pane holds was counted of the same columns, all labels reported up to its
newest one are in it, and nothing else of it changed. Then the labels of the records that have newer ones are
counted twice, as known then and now.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Ints
from monitor.pipeline.changes.seen_rows import (
    SearchSpan,
    SeenOverlap,
    count_late_rows,
    find_unseen_panes,
    last_search_end,
    sum_changed_rows,
)
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.pane_counting import renew_lease
from monitor.records.column_values import parse_categories, parse_numbers
from monitor.records.label_checksum import checksum_of_moments
from monitor.records.labels.count_labels import count_label_differences
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import Batches, logged_times, parse_dated_rows, parse_role_times
from monitor.specs.protocols import OTHER_TIMES, Lease, NewLabels, Range
from monitor.specs.read_ranges import changed_labels_range
from monitor.specs.stored_rows import ModelState, WaitingPane

_NAMED_FROM = 10  # labels that hold a word before it is named: rarer ones may be ids or names
_NAMED = 3
_NEVER = np.iinfo(np.int64).min


@dataclass(slots=True)
class NewLabelCounter:
    """Counts labels as they are read; nothing is read for it."""

    reading: ReadingOptions
    cursor: int | None  # newest report that the search before saw; None: nothing tells which labels are new
    _all: Counter[bool] = field(default_factory=Counter)  # by whether a label is known
    _new: Counter[bool] = field(default_factory=Counter)
    _words: Counter[str] = field(default_factory=Counter)

    def count_label_batches(self, batches: Batches) -> Batches:
        """Hand the batches on, counted."""
        with closing(batches):
            for table in batches:
                self._add_label_table(table)
                yield table

    def summarize_labels(self) -> NewLabels:
        """What was counted so far: of the new ones, or of all where none is new."""
        counted = self._new if self._new.total() else self._all
        words = tuple(word for word, n in self._words.most_common(_NAMED) if n >= _NAMED_FROM)
        regression = self.reading.task is ModelTask.REGRESSION
        return NewLabels(counted.total(), counted[False], words, numbers=regression)

    def _add_label_table(self, table: pa.Table) -> None:
        if (
            self.cursor is None
            or "label" not in table.column_names
            or "reported_at" not in table.column_names
        ):
            return
        reported = parse_role_times(table, "reported_at", self.reading)
        new = reported.known & (reported.us > self.cursor)
        if self.reading.task is ModelTask.REGRESSION:
            value = parse_numbers(table["label"])
            there, is_known = ~value.missing, value.finite
        else:
            words = parse_categories(table["label"])
            there = words.codes >= 0
            is_known = words.level_positions(self.reading.classes, -1) >= 0
            counts = np.bincount(words.codes[there & ~is_known], minlength=len(words.levels))
            self._words.update({words.levels[at]: int(counts[at]) for at in np.flatnonzero(counts)})
        for counter, chosen_mask in ((self._all, there), (self._new, there & new)):
            counter.update(_count_known(is_known[chosen_mask]))


def _count_known(is_known: Bools) -> dict[bool, int]:
    n = int(is_known.sum())
    return {True: n, False: len(is_known) - n}


@dataclass(frozen=True, slots=True)
class FoundLabels:
    """Labels that were found."""

    state: ModelState  # with the cursor moved
    waiting: list[WaitingPane]  # panes that are to be counted whole
    read: int  # rows read to find out
    counted: int  # rows of the records whose labels were added to their panes
    late: int | None  # see `ChangedPanes`
    new: NewLabels  # whether they are those that the model knows


def find_labels(
    model: CycleModel,
    panes: ModelPanes,
    state: ModelState,
    as_of: int,
    *,
    waiting: Collection[int],
    lease: Lease | None,
    by_difference: bool,
    write: bool,
) -> FoundLabels:
    """Labels since the cursor.

    Parameters
    ----------
    waiting
        starts of the panes that wait to be counted anyway.
    by_difference, write
        False: nothing is added; nothing is stored either.
    """
    spec, reading = model.spec, model.reading
    assert spec.labels is not None
    cursor, reread = state.reported_cursor, spec.keys.reading
    if cursor is None:
        since = None
    elif state.seen_again == ():
        # The feed is quiet, and its overlap was read again already: see `later` below.
        since = cursor + 1
    else:
        since = cursor - reread.overlap
    has_reported_at = spec.labels.column_of("reported_at") is not None
    bounds = changed_labels_range(spec, reading, as_of)
    span = SearchSpan(bounds, since, as_of, state.reported_cursor, last_search_end(state, reading.tolerance))
    if not has_reported_at:
        span = SearchSpan(bounds, None, bounds[1], None)
    differences = LabelAdder(model, panes, state, span, waiting, lease, write)
    if since is None or not has_reported_at or not by_difference:
        batches = model.source.read_changed_labels(spec, since=since, as_of=as_of, bounds=bounds)
    else:
        batches = differences.add_pieces(
            model.source.read_relabelled(
                spec, since=since, cursor=state.reported_cursor or 0, as_of=as_of, bounds=bounds
            )
        )
    overlap = SeenOverlap(reread.overlap, span.cursor or 0, reading.pane)
    tally = NewLabelCounter(reading, cursor)
    rows = sum_changed_rows(
        parse_dated_rows(tally.count_label_batches(batches), "reported_at", reading),
        span,
        reading.pane,
        overlap,
    )
    late = count_late_rows(rows, state.seen_again) if has_reported_at else None
    facts = panes.facts_by_start(PaneHalf.LABELS)
    unseen = find_unseen_panes(model, panes, PaneHalf.LABELS, rows, state.seen_again)
    starts = sorted(differences.other.union(set(unseen) - differences.equal))
    # A pane that was counted as of this very moment has these labels: a second cycle at it changes nothing.
    to_count = [
        WaitingPane(start=start, part=PaneHalf.LABELS, since=as_of)
        for start in starts
        if start not in facts or facts[start].counted_as_of != as_of
    ]
    seen_again = overlap.sum_panes() if has_reported_at else ()
    later = cursor is not None and as_of > max(cursor + reread.overlap, state.as_of or 0)
    if later and seen_again == state.seen_again:
        # The feed is quiet: its overlap was read again once, and is not read for ever.
        seen_again = ()
    if has_reported_at and rows.newest:
        state = replace(state, reported_cursor=min(as_of, rows.newest))
    state = replace(state, seen_again=seen_again)
    return FoundLabels(state, to_count, rows.read, differences.counted, late, tally.summarize_labels())


@dataclass(slots=True)
class LabelAdder:
    """Adds labels to the panes where that is exact."""

    model: CycleModel
    panes: ModelPanes
    state: ModelState  # as the last search left it
    span: SearchSpan
    waiting: Collection[int]  # starts of panes that are counted whole anyway
    lease: Lease | None  # renewed piece by piece
    write: bool
    # equal, other: starts of the panes that now hold what a whole count would find, and of those that may
    # not.
    equal: set[int] = field(default_factory=set)
    other: set[int] = field(default_factory=set)
    counted: int = 0  # rows of the records whose labels were added

    def add_pieces(self, pieces: Iterator[tuple[Range, pa.Table]]) -> Batches:
        """Hand on the labels that were reported within each piece of time, which are added to their panes."""
        for piece, table in pieces:
            renew_lease(self.model, self.lease)
            yield self._add_piece(piece, table)

    def _add_piece(self, piece: Range, table: pa.Table) -> pa.Table:
        reading, span = self.model.reading, self.span
        event, reported = (
            parse_role_times(table, "event_time", reading),
            parse_role_times(table, "reported_at", reading),
        )
        if OTHER_TIMES in table.column_names:
            odd = np.asarray(table[OTHER_TIMES].drop_null())
            self.other.update((odd // reading.pane * reading.pane).tolist())
        logged, _ = logged_times(table, event, reading)
        inside = event.known & (event.us >= span.bounds[0]) & (event.us < span.bounds[1])
        inside &= logged <= span.until  # labels of records that are still to come are found with them
        starts, at = np.unique(event.us[inside] // reading.pane * reading.pane, return_inverse=True)
        newest, ready = self._newest_and_addable(starts)
        dated_at = reported.known[inside]
        # Of a label without a time nobody can say whether it was known then.
        ready[at[~dated_at]] = False
        us = reported.us[inside]
        seen = dated_at & (us >= piece[0]) & (us < piece[1])
        before, newer = seen & (us <= newest[at]), seen & (us > newest[at])
        # A difference is exact only if the pane holds all labels up to its newest one. So what of them is
        # seen again must be just what the last search saw, by a checksum: of equal numbers one may be gone,
        # and one late. Behind the first piece no label is old enough to be among them.
        sums = checksum_of_moments(event.us[inside][before], us[before], at[before], len(starts))
        same = sums == (self._seen_checksums(starts) if piece[0] == span.since else 0)
        fresh = np.bincount(at[newer], minlength=len(starts)) > 0
        touched = np.bincount(at[seen], minlength=len(starts)) > 0
        self.other.update(starts[touched & ~same].tolist())
        self.equal.update(starts[ready & same & ~fresh].tolist())
        chosen = ready & same & fresh
        # `starts` has each pane once, `at` says of each row inside which one is its own.
        rows = np.flatnonzero(inside)[chosen[at]]
        self._count_difference(table.take(pa.array(rows)), starts[chosen], newest[chosen], piece[1] - 1)
        reported_now = ~reported.known | ((reported.us >= piece[0]) & (reported.us < piece[1]))
        roles = [
            role for role in ("event_time", "logged_at", "reported_at", "label") if role in table.column_names
        ]
        return table.select(roles).filter(pa.array(reported_now))

    def _newest_and_addable(self, starts: Ints) -> tuple[Ints, Bools]:
        """Newest report that each pane holds, and whether a difference may be added to it."""
        facts, mapping = self.panes.facts_by_start(PaneHalf.LABELS), self.model.label_mapping_hash
        barred = self.other.union(self.panes.outdated_panes(), self.waiting)
        newest, ready = np.full(len(starts), _NEVER), np.zeros(len(starts), dtype=bool)
        for place, start in enumerate(starts.tolist()):
            fact = facts.get(start)
            if fact is not None:
                newest[place] = _NEVER if fact.newest is None else fact.newest
                ready[place] = fact.mapping == mapping and start not in barred
        return newest, ready

    def _seen_checksums(self, starts: Ints) -> Ints:
        """Checksums of what the last search saw of each pane, and sees again; -1: not known."""
        if self.state.seen_again is None:
            return np.full(len(starts), -1)
        known = {start: checksum for start, _, checksum in self.state.seen_again}
        return np.asarray([known.get(start, 0) for start in starts.tolist()], dtype=np.int64)

    def _count_difference(self, table: pa.Table, starts: Ints, newest: Ints, until: int) -> None:
        if not len(starts):
            return
        as_of = self.span.until
        self.counted += table.num_rows
        added = count_label_differences(
            table, self.model.counting, panes=starts, since=newest, until=until, as_of=as_of
        )
        token = None if self.lease is None else self.lease.token
        moved = self.panes.add_differences(added, as_of, token=token, write=self.write)
        self.equal.update(moved)
        self.other.update(set(starts.tolist()) - moved)
