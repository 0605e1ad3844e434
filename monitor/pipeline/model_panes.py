"""Counted panes: a cache of the store, packed as there; sums of spans, which move as their panes do."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, floor_to
from monitor.evidence.hour_counts import PaneTotals
from monitor.pipeline.delay_counts import DelayCounts, select_delay_counts
from monitor.pipeline.packed_panes import PackedPanes
from monitor.pipeline.panes_in_memory import PanesInMemory
from monitor.records.counting import Counting
from monitor.records.label_checksum import wrap_sums
from monitor.records.labels.label_differences import NO_REPORT, LabelDifferences
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.stored_rows import FoldedPanes, PaneFacts, WaitingPane
from monitor.states.counters import CounterLayout, Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.store.pane_rows import PaneRepository
from monitor.windows.settling import LabelledPanes, ObservableDelays

_COLUMNS = attrgetter("start", "counted_as_of", "rows", "records", "labelled", "checksum", "labelled_as_of")
_AT_ONCE = 200  # panes that are unpacked together


@dataclass(slots=True)
class _LoadedPart:
    """One part of all panes: counters, facts."""

    layout: CounterLayout
    kept_as: str
    packed: PackedPanes
    facts: dict[int, PaneFacts] = field(default_factory=dict)
    columns: Ints = field(default_factory=lambda: make_fact_columns([]))  # of the facts
    outdated: set[int] = field(default_factory=set)  # starts of facts of another layout


class ModelPanes:
    """Parts of a model's panes from a moment on. Memory: see `PackedPanes`; 600 bytes of facts a part.

    Parameters
    ----------
    counting
        layouts; stored parts of other layouts are unknown here and are reported by `outdated`.
    """

    def __init__(self, model: str, counting: Counting, store: PaneRepository | PanesInMemory) -> None:
        self._model, self._counting, self._store = model, counting, store
        self._parts = {
            part: _LoadedPart(layout, counting.hash_stored_layout(layout), self._packed_panes(part))
            for part, layout in (
                (PaneHalf.RECORDS, counting.records_layout),
                (PaneHalf.LABELS, counting.labels_layout),
            )
        }
        self._delays = DelayCounts(
            max(1, len(counting.reading.classes)), counting.reading.pane, counting.reading.horizon
        )
        self._totals = PaneTotals(counting)
        self._versions: dict[str, int] = {}
        self._loaded = False
        self.loaded_since = 0  # panes that began earlier are not known
        self._writes = 0  # of labels parts: the next one has the next number

    def _packed_panes(self, part: PaneHalf) -> PackedPanes:
        def stored(starts: Sequence[int]) -> Mapping[int, bytes]:
            return self._store.load_blobs(self._model, part, starts, self._counting)

        title, reading = f'"{self._model}", part {part.value}', self._counting.reading
        return PackedPanes(title, self._counting.layout_of(part), reading.pane, stored)

    @property
    def version_starts(self) -> Mapping[str, int]:
        """Start of the oldest known pane of each version that was counted."""
        return self._versions

    @property
    def totals(self) -> PaneTotals:
        """What hours are judged by, of panes whose records are counted."""
        return self._totals

    def learn_versions(self, versions: Mapping[str, int]) -> None:
        """Take in since when versions are known: panes that are not loaded had some of them."""
        for version, seen in versions.items():
            self._versions[version] = min(seen, self._versions.get(version, seen))

    def load_since(self, since: int) -> None:
        """Read the store once; later calls only forget. What is known begins a day before `since`.

        Panes with differences that are not folded yet stay known.
        """
        since -= DAY
        self.loaded_since = since
        labels = self._parts[PaneHalf.LABELS]
        for parts in self._parts.values():
            parts.packed.begin_cycle()
        if self._loaded:
            self._forget_before(_earliest_moment(since, labels.packed.differences))
            return
        self._writes, differences = self._store.read_differences(self._model, labels.kept_as)
        # Differences that wait to be folded need their panes, however old these are.
        since = _earliest_moment(since, differences)
        for part, parts in self._parts.items():
            facts = [fact for fact in self._store.read_pane_facts(self._model, since) if fact.part is part]
            parts.facts, parts.columns = {fact.start: fact for fact in facts}, make_fact_columns(facts)
            parts.outdated = {fact.start for fact in facts if fact.layout != parts.kept_as}
            current = [fact.start for fact in facts if fact.start not in parts.outdated]
            for first in range(0, len(current), _AT_ONCE):
                self._load_panes(part, current[first : first + _AT_ONCE])
        for each in differences:
            self._follow_difference(each)
        self._loaded = True

    def _load_panes(self, part: PaneHalf, starts: Sequence[int]) -> None:
        packed = self._parts[part].packed
        for start in starts:
            packed.replace_cached_pane(start)
        panes = packed.read_panes(starts)
        self._follow_changes(part, [(start, {}, now) for start, now in zip(starts, panes, strict=True)])

    def fold_differences(self, as_of: int, *, token: int | None) -> None:
        """Add to the stored panes what labels have added since: once a day, or as soon as it is much."""
        parts = self._parts[PaneHalf.LABELS]
        if not parts.packed.is_fold_due(as_of):
            return
        parts.packed.merge_differences()
        starts = parts.packed.differences[0].start.tolist()
        for first in range(0, len(starts), _AT_ONCE):
            some = starts[first : first + _AT_ONCE]
            strata = dict(zip(some, parts.packed.read_panes(some), strict=True))
            refused = parts.packed.refused
            kept = [
                _make_pane_part(parts.facts[start], strata[start]) for start in some if start not in refused
            ]
            folded = FoldedPanes(
                parts=kept,
                as_of=[parts.facts[part.start].labelled_as_of for part in kept],
                layout=parts.kept_as if some[-1] == starts[-1] else None,
                refused=[WaitingPane(start=start, part=PaneHalf.LABELS, since=as_of) for start in refused],
            )
            self._store.fold_panes(self._model, folded, writes=self._count_write(), token=token)
        parts.packed.forget_folded_differences(starts)

    def _count_write(self) -> int:
        self._writes += 1
        return self._writes

    def outdated_panes(self, *parts: PaneHalf) -> list[int]:
        """Starts of stored panes of which a part that is counted has another layout.

        So are labels that were not counted for a while: they lack, or are of fewer records; and panes that
        refused a difference.

        Parameters
        ----------
        parts
            which parts; none: any.
        """
        asked = [
            part
            for part in parts or PaneHalf
            if part is not PaneHalf.LABELS or self._counting.reading.labelled
        ]
        starts = {
            start
            for parts in (self._parts[part] for part in asked)
            for start in parts.outdated | parts.packed.refused.keys()
        }
        if PaneHalf.LABELS in asked:
            behind = outdated_label_panes(
                *(self._parts[part].columns for part in (PaneHalf.RECORDS, PaneHalf.LABELS))
            )
            starts.update(behind.tolist())
        return sorted(starts)

    def list_incomplete_panes(self, waiting: Iterable[int]) -> Ints:
        """Starts, ascending, of the panes that lack a part: outdated, or waiting for their first count.

        `waiting`: starts of the panes that wait.
        """
        counted = [self._parts[PaneHalf.RECORDS].facts]
        if self._counting.reading.labelled:
            counted.append(self._parts[PaneHalf.LABELS].facts)
        uncounted = {start for start in waiting if any(start not in facts for facts in counted)}
        return _int_array(sorted(uncounted.union(self.outdated_panes())))

    def save_counted_parts(
        self, part: PaneHalf, panes: Sequence[PanePart], as_of: int, *, mapping: str, token: int | None = None
    ) -> None:
        """Save parts that were counted whole, under the lease that the token is of, and keep them."""
        if not panes:
            return
        parts = self._parts[part]
        layout = parts.kept_as
        # Sums follow by what the panes were: that is read before the store has them otherwise.
        stood = parts.packed.read_panes([pane.start for pane in panes])
        self._store.save_panes(
            self._model,
            part,
            panes,
            layout=layout,
            mapping=mapping,
            as_of=as_of,
            writes=self._count_write() if part is PaneHalf.LABELS else None,
            token=token,
        )
        # Delays followed a difference that its pane then refused: they are set right as the pane is counted.
        self._undo_refused_delays(part, (pane.start for pane in panes))
        for pane in panes:
            parts.packed.replace_cached_pane(pane.start, pane.strata)
        self._follow_changes(
            part, [(pane.start, before, pane.strata) for pane, before in zip(panes, stood, strict=True)]
        )
        for pane in panes:
            parts.facts[pane.start] = PaneFacts(
                start=pane.start,
                part=part,
                counted_as_of=as_of,
                labelled_as_of=as_of,
                layout=layout,
                mapping=mapping,
                rows=pane.rows,
                newest=pane.newest,
                records=pane.records,
                labelled=pane.labelled,
                checksum=pane.checksum,
            )
        parts.outdated.difference_update(pane.start for pane in panes)
        parts.columns = replace_columns(
            parts.columns, make_fact_columns(parts.facts[pane.start] for pane in panes)
        )

    def add_differences(
        self, added: LabelDifferences, as_of: int, *, token: int | None, write: bool
    ) -> set[int]:
        """Add to the labels parts what some records add now in place of what they added; which were moved.

        Parameters
        ----------
        added
            facts as `count_label_differences` tells them.
        write
            False: nothing is kept.
        """
        parts = self._parts[PaneHalf.LABELS]
        moved = [
            moved_fact(parts.facts[start], labelled, checksum, newest, as_of)
            for start, labelled, checksum, newest in added.panes.T.tolist()
        ]
        # Labels that are out of bounds show a difference to be wrong: such a pane is counted whole instead.
        sound = [fact for fact in moved if 0 <= fact.labelled <= fact.records]
        starts = {fact.start for fact in sound}
        if write and sound:
            rows = [
                (each.start, each.labelled, each.checksum, NO_REPORT if each.newest is None else each.newest)
                for each in sound
            ]
            kept = added.without_panes(fact.start for fact in moved if fact.start not in starts)
            differences = replace(kept, as_of=as_of, panes=np.asarray(rows, dtype=np.int64).T)
            self._store.add_differences(
                self._model, differences, parts.kept_as, writes=self._count_write(), token=token
            )
            self._follow_difference(differences)
            parts.facts |= ((fact.start, fact) for fact in sound)
            parts.columns = replace_columns(parts.columns, make_fact_columns(sound))
        return starts

    def facts_by_start(self, part: PaneHalf) -> Mapping[int, PaneFacts]:
        """Facts by start."""
        return self._parts[part].facts

    def sum_window(
        self, part: PaneHalf, start: int, end: int, *, strata: bool = True, kept: bool = True
    ) -> dict[Stratum, Counters]:
        """Sum of the panes of [start, end), by stratum or of the whole alone.

        Cost: the panes and days by which it differs from a sum that was asked for lately, at most all.

        Parameters
        ----------
        kept
            False: nobody asks for it, or for one near it, again.
        """
        return dict(self._parts[part].packed.sum_window(start, end, strata=strata, kept=kept))

    def read_panes(self, part: PaneHalf, starts: Sequence[int]) -> list[Strata]:
        """Counters of panes by stratum, one by one, by one query; empty where none is there."""
        return self._parts[part].packed.read_panes(starts)

    def sum_delays(self, start: int, end: int) -> Ints:
        """Sum of the block `delay_sums` of the whole of all panes of [start, end), whole days alone."""
        # Whole days, as their sums are at hand: panes at the edges would have to be unpacked.
        first, last = -(-start // DAY) * DAY, floor_to(end, DAY)
        sums = self.sum_window(PaneHalf.LABELS, first, last, strata=False) if first < last else {}
        whole = sums.get(WHOLE) or Counters.make_empty(self._parts[PaneHalf.LABELS].layout)
        return whole.dense_block("delay_sums")

    def span_fingerprint(self, part: PaneHalf, start: int, end: int) -> int:
        """A number that changes with every row counted in [start, end), or every label and late record."""
        starts, _, rows, records, _, checksum, _ = self._parts[part].columns
        first, last = np.searchsorted(starts, [start, end])
        seen = checksum + (rows if part is PaneHalf.RECORDS else records)
        return int(wrap_sums(seen[first:last].sum()))

    def sum_records(self, start: int, end: int) -> int:
        """Records counted in [start, end)."""
        starts, _, _, records, *_ = self._parts[PaneHalf.RECORDS].columns
        first, last = np.searchsorted(starts, [start, end])
        return int(records[first:last].sum())

    def newest_event(self, part: PaneHalf) -> int | None:
        """Newest event time of a log without `logged_at`; of labels the end of the newest pane with any."""
        starts, _, rows, _, labelled, *_ = self._parts[part].columns
        held = np.flatnonzero(rows if part is PaneHalf.RECORDS else labelled)
        if not len(held):
            return None
        start = int(starts[held[-1]])
        if part is PaneHalf.LABELS:
            return start + self._counting.reading.pane
        return self._parts[part].facts[start].newest

    def labelled_panes(self, as_of: int, waiting: Collection[int], overdue: Iterable[int]) -> LabelledPanes:
        """Labels parts as settling sees them; a pane that nothing was added to is as good as counted now.

        Parameters
        ----------
        waiting
            starts of the panes that wait.
        overdue
            starts of those of them whose turn has come, and of others of which no count stands.
        """
        starts, counted, _, records, labelled, _, moved = self._parts[PaneHalf.LABELS].columns
        late = np.isin(starts, _int_array(waiting))
        panes = LabelledPanes(
            start=starts,
            # What changed waits, so that a pane that does not is as good as counted now. As counted whole it
            # is so only if no difference moved it.
            counted_as_of=np.where(late, moved, as_of),
            whole_as_of=np.where(late | (moved > counted), counted, as_of),
            records=records,
            labelled=labelled,
        )
        return panes.with_uncounted(
            _int_array(sorted({*self.list_incomplete_panes(waiting).tolist(), *overdue}))
        )

    def observable_delays(self, last_heard: int, waiting: Collection[int]) -> ObservableDelays:
        """Reported delays of all panes, with the age up to which each can show them.

        Parameters
        ----------
        last_heard
            newest report of the label feed: no pane shows longer delays.
        """
        starts, *_, moved = self._parts[PaneHalf.LABELS].columns
        counted = np.where(np.isin(starts, _int_array(waiting)), np.minimum(moved, last_heard), last_heard)

        def whole(start: int) -> Counters:
            return self._parts[PaneHalf.LABELS].packed.unpack_pane(start)[WHOLE]

        return self._delays.observable_delays(starts, counted - starts - self._counting.reading.pane, whole)

    @property
    def delay_counts(self) -> DelayCounts:
        """Delays of all panes, added up."""
        return self._delays

    def list_moved_facts(self, end: int) -> list[PaneFacts]:
        """Facts of labels of panes that end by then, with differences since they were counted whole."""
        parts = self._parts[PaneHalf.LABELS]
        starts, counted, *_, moved = parts.columns
        older = (moved > counted) & (starts + self._counting.reading.pane <= end)
        return [parts.facts[start] for start in starts[older].tolist()]

    def _follow_changes(self, part: PaneHalf, changes: Sequence[tuple[int, Strata, Strata]]) -> None:
        """Let the versions, the sums and the delays follow what panes were, and are now."""
        for start, _, now in changes:
            if part is PaneHalf.RECORDS:
                self._totals.put_pane(start, now)
            for version in {stratum.version for stratum in now if stratum.version is not None}:
                self._versions[version] = min(start, self._versions.get(version, start))
        self._parts[part].packed.update_sums(changes)
        self._move_delays(part, [(start, before, -1) for start, before, _ in changes])
        self._move_delays(part, [(start, now, 1) for start, _, now in changes])

    def _move_delays(self, part: PaneHalf, sides: Iterable[tuple[int, Strata, int]]) -> None:
        if part is PaneHalf.RECORDS or "delays" not in self._parts[part].layout.blocks_by_name:
            return
        held = [
            (start, *select_delay_counts(strata[WHOLE]), sign)
            for start, strata, sign in sides
            if WHOLE in strata
        ]
        if held:
            starts = np.repeat([each[0] for each in held], [len(each[1]) for each in held])
            index = np.concatenate([each[1] for each in held])
            self._delays.add_delays(
                starts, index, np.concatenate([value * sign for _, _, value, sign in held])
            )

    def _undo_refused_delays(self, part: PaneHalf, starts: Iterable[int]) -> None:
        refused = self._parts[part].packed.refused
        self._move_delays(part, [(start, each, -1) for start in starts for each in refused.pop(start, ())])

    def _follow_difference(self, differences: LabelDifferences) -> None:
        parts = self._parts[PaneHalf.LABELS]
        parts.packed.keep_differences(differences)
        if "delays" in parts.layout.blocks_by_name:
            self._delays.add_delays(
                *differences.select_pane_changes(parts.layout.block_slice("delays"), WHOLE)
            )

    def _forget_before(self, since: int) -> None:
        for part, parts in self._parts.items():
            old = int(np.searchsorted(parts.columns[0], since))
            gone = parts.columns[0, :old].tolist()
            self._undo_refused_delays(part, gone)
            if part is PaneHalf.LABELS:
                panes = parts.packed.read_panes(gone)
                self._move_delays(part, [(start, was, -1) for start, was in zip(gone, panes, strict=True)])
            parts.packed.forget_panes(gone, since)
            for start in gone:
                parts.facts.pop(start, None)
            parts.columns = parts.columns[:, old:]
            parts.outdated = {start for start in parts.outdated if start >= since}


def _earliest_moment(since: int, differences: Iterable[LabelDifferences]) -> int:
    """The earlier moment: this one, or the start of the oldest pane with differences."""
    return min([since, *(int(each.start[0]) for each in differences)])


def _make_pane_part(fact: PaneFacts, strata: Strata) -> PanePart:
    return PanePart(fact.start, strata, fact.rows, fact.newest, fact.records, fact.labelled, fact.checksum)


def _int_array(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.int64)


def moved_fact(fact: PaneFacts, labelled: int, checksum: int, newest: int, as_of: int) -> PaneFacts:
    """Facts of a labels part once so many labelled records are added, and the checksum has moved."""
    return PaneFacts(
        start=fact.start,
        part=fact.part,
        counted_as_of=fact.counted_as_of,
        labelled_as_of=as_of,
        layout=fact.layout,
        mapping=fact.mapping,
        rows=fact.rows,
        newest=fact.newest
        if newest == NO_REPORT
        else max(newest, NO_REPORT if fact.newest is None else fact.newest),
        records=fact.records,
        labelled=fact.labelled + labelled,
        checksum=(fact.checksum + checksum) % 2**63,
    )


def make_fact_columns(facts: Iterable[PaneFacts]) -> Ints:
    """Columns of facts, int64, ascending by start: see `_COLUMNS`."""
    rows = sorted(_COLUMNS(fact) for fact in facts)
    return np.asarray(rows, dtype=np.int64).reshape(-1, 7).T.copy()


def outdated_label_panes(records: Ints, labels: Ints) -> Ints:
    """Starts of panes whose records were counted later than their labels, and are others.

    `records`, `labels`: columns of the facts of both parts.
    """
    if labels.shape[1] == 0:
        everything: Ints = records[0]
        return everything
    # Beside each records part the labels part of its start, or, where it has none, a neighbour: told by its
    # start.
    beside = labels[:, np.minimum(np.searchsorted(labels[0], records[0]), labels.shape[1] - 1)]
    behind = (beside[1] < records[1]) & (beside[3] != records[3])
    starts: Ints = records[0, (beside[0] != records[0]) | behind]
    return starts


def replace_columns(columns: Ints, new: Ints) -> Ints:
    """Columns with those of the same start replaced."""
    joined = np.concatenate([columns[:, ~np.isin(columns[0], new[0])], new], axis=1)
    return joined[:, np.argsort(joined[0])]
