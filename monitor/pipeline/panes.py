"""Counted panes: a cache of the store, packed as there; sums of spans, which move as their panes do."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from monitor.core.clock import DAY, floor_to
from monitor.core.typing import Ints
from monitor.pipeline.delays import DelayCounts, delays_of
from monitor.pipeline.packed import Difference, PackedPanes
from monitor.records.checksum import wrapped
from monitor.records.counting import Counting
from monitor.records.pane import PanePart, Part, moved_parts
from monitor.specs.protocols import Store
from monitor.specs.rows import PaneFacts
from monitor.states.counters import Counters, Layout
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.settling import Delays, LabelledPanes

_COLUMNS = attrgetter("start", "counted_as_of", "rows", "records", "labelled", "checksum", "labelled_as_of")


_AT_ONCE = 200  # panes that are unpacked together


@dataclass(slots=True)
class _Parts:
    """One part of all panes: counters, facts."""

    layout: Layout
    kept_as: str
    packed: PackedPanes
    facts: dict[int, PaneFacts] = field(default_factory=dict)
    columns: Ints = field(default_factory=lambda: columns_of([]))  # of the facts
    outdated: set[int] = field(default_factory=set)  # starts of facts of another layout


class Panes:
    """Parts of a model's panes from a moment on. Memory: see `PackedPanes`; 600 bytes of facts a part.

    Parameters
    ----------
    counting
        layouts; stored parts of other layouts are unknown here and are reported by `outdated`.
    """

    def __init__(self, model: str, counting: Counting, store: Store) -> None:
        self._model, self._counting, self._store = model, counting, store
        self._parts = {
            part: _Parts(layout, counting.stored_as(layout), _packed(model, part, counting))
            for part, layout in ((Part.RECORDS, counting.records), (Part.LABELS, counting.labels))
        }
        self._delays = DelayCounts(
            max(1, len(counting.reading.classes)), counting.reading.pane, counting.reading.horizon
        )
        self._versions: dict[str, int] = {}
        self._loaded = False

    @property
    def versions(self) -> Mapping[str, int]:
        """Start of the oldest known pane of each version that was counted."""
        return self._versions

    def load(self, since: int) -> None:
        """Read the store once; later calls only forget. What is known begins a day before `since`."""
        since -= DAY
        for parts in self._parts.values():
            parts.packed.begin()
        if self._loaded:
            self._forget(since)
            return
        for part, parts in self._parts.items():
            facts = [fact for fact in self._store.facts(self._model, since) if fact.part is part]
            parts.facts, parts.columns = {fact.start: fact for fact in facts}, columns_of(facts)
            parts.outdated = {fact.start for fact in facts if fact.layout != parts.kept_as}
            current = [fact.start for fact in facts if fact.start not in parts.outdated]
            for first in range(0, len(current), _AT_ONCE):
                self._load(part, current[first : first + _AT_ONCE])
        self._loaded = True

    def _load(self, part: Part, starts: Sequence[int]) -> None:
        packed = self._parts[part].packed
        blobs = self._store.load_blobs(self._model, part, starts, self._counting)
        for start, blob in blobs.items():
            packed.put(start, blob)
        self._follow(part, [(start, {}, packed.pane(start)) for start in blobs])

    def outdated(self, *parts: Part) -> list[int]:
        """Starts of stored panes of which a part that is counted has another layout.

        So are labels that were not counted for a while: they lack, or are of fewer records.

        Parameters
        ----------
        parts
            which parts; none: any.
        """
        asked = [part for part in parts or Part if part is not Part.LABELS or self._counting.reading.labelled]
        starts = {start for part in asked for start in self._parts[part].outdated}
        if Part.LABELS in asked:
            behind = left_behind(*(self._parts[part].columns for part in (Part.RECORDS, Part.LABELS)))
            starts.update(behind.tolist())
        return sorted(starts)

    def lacking(self, waiting: Iterable[int]) -> Ints:
        """Starts, ascending, of the panes that lack a part: outdated, or waiting for their first count.

        Parameters
        ----------
        waiting
            starts of the panes that wait.
        """
        counted = [self._parts[Part.RECORDS].facts]
        if self._counting.reading.labelled:
            counted.append(self._parts[Part.LABELS].facts)
        uncounted = {start for start in waiting if any(start not in facts for facts in counted)}
        return _ints(sorted(uncounted.union(self.outdated())))

    def put(
        self, part: Part, panes: Sequence[PanePart], as_of: int, *, mapping: str, token: int | None = None
    ) -> None:
        """Save parts that were counted whole, under the lease that the token is of, and keep them."""
        parts = self._parts[part]
        layout = parts.kept_as
        stood = [parts.packed.pane(pane.start) for pane in panes]
        blobs = self._store.save_panes(
            self._model, part, panes, layout=layout, mapping=mapping, as_of=as_of, token=token
        )
        for pane, blob in zip(panes, blobs, strict=True):
            parts.packed.put(pane.start, blob, pane.strata)
        self._follow(
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
        parts.columns = _replaced(parts.columns, columns_of(parts.facts[pane.start] for pane in panes))

    def move(
        self, pairs: Sequence[tuple[PanePart, PanePart]], as_of: int, *, token: int | None, write: bool
    ) -> set[int]:
        """Put what some records add to the labels parts now in place of what they added; which were moved.

        Parameters
        ----------
        pairs
            what they added, and what they add now, of each pane.
        write
            False: nothing is kept.
        """
        parts = self._parts[Part.LABELS]
        stood = [self._stood(after.start) for _, after in pairs]
        moves = zip(moved_parts(parts.layout, stood, pairs), pairs, strict=True)
        sound = [(part, pair) for part, pair in moves if part is not None]
        moved = [part for part, _ in sound]
        if write:
            facts = [parts.facts[part.start] for part in moved]
            blobs = self._store.move_panes(self._model, moved, facts, as_of=as_of, token=token)
            for part, blob in zip(moved, blobs, strict=True):
                parts.packed.put(part.start, blob, part.strata)
            self._follow(Part.LABELS, [(now.start, then.strata, now.strata) for _, (then, now) in sound])
            for part, fact in zip(moved, facts, strict=True):
                parts.facts[part.start] = replace(
                    fact,
                    labelled_as_of=as_of,
                    newest=part.newest,
                    labelled=part.labelled,
                    checksum=part.checksum,
                )
            parts.columns = _replaced(parts.columns, columns_of(parts.facts[part.start] for part in moved))
        return {part.start for part in moved}

    def _stood(self, start: int) -> PanePart:
        parts = self._parts[Part.LABELS]
        facts = parts.facts[start]
        return PanePart(
            start,
            parts.packed.pane(start),
            facts.rows,
            facts.newest,
            facts.records,
            facts.labelled,
            facts.checksum,
        )

    def facts(self, part: Part) -> Mapping[int, PaneFacts]:
        """Facts by start."""
        return self._parts[part].facts

    def window(
        self, part: Part, start: int, end: int, *, strata: bool = True, kept: bool = True
    ) -> dict[Stratum, Counters]:
        """Sum of the panes of [start, end), by stratum or of the whole alone.

        Cost: the panes and days by which it differs from a sum that was asked for lately, at most all.

        Parameters
        ----------
        kept
            False: nobody asks for it, or for one near it, again.
        """
        return dict(self._parts[part].packed.window(start, end, strata=strata, kept=kept))

    def block(self, part: Part, name: str, start: int, end: int) -> Ints:
        """Sum of one block of the whole of all panes of [start, end), whole days alone."""
        first, last = -(-start // DAY) * DAY, floor_to(end, DAY)
        whole = self.window(part, first, last, strata=False).get(WHOLE) if first < last else None
        empty = Counters.empty(self._parts[part].layout)
        return (whole or empty).block(name)

    def seen(self, part: Part, start: int, end: int) -> int:
        """A number that changes with every row counted in [start, end), or every label and late record."""
        starts, _, rows, records, _, checksum, _ = self._parts[part].columns
        first, last = np.searchsorted(starts, [start, end])
        seen = checksum + (rows if part is Part.RECORDS else records)
        return int(wrapped(seen[first:last].sum()))

    def records(self, start: int, end: int) -> int:
        """Records counted in [start, end)."""
        starts, _, _, records, *_ = self._parts[Part.RECORDS].columns
        first, last = np.searchsorted(starts, [start, end])
        return int(records[first:last].sum())

    def newest_event(self, part: Part) -> int | None:
        """Newest event time of a log without `logged_at`; of labels the end of the newest pane with any."""
        starts, _, rows, _, labelled, *_ = self._parts[part].columns
        held = np.flatnonzero(rows if part is Part.RECORDS else labelled)
        if not len(held):
            return None
        start = int(starts[held[-1]])
        if part is Part.LABELS:
            return start + self._counting.reading.pane
        return self._parts[part].facts[start].newest

    def labelled(self, as_of: int, waiting: Collection[int], overdue: Iterable[int]) -> LabelledPanes:
        """Labels parts as settling sees them; a pane that nothing was added to is as good as counted now.

        Parameters
        ----------
        waiting
            starts of the panes that wait.
        overdue
            starts of those of them whose turn has come, and of others of which no count stands.
        """
        starts, counted, _, records, labelled, _, moved = self._parts[Part.LABELS].columns
        late = np.isin(starts, _ints(waiting))
        panes = LabelledPanes(
            start=starts,
            counted_as_of=np.where(late, moved, as_of),
            whole_as_of=np.where(late | (moved > counted), counted, as_of),
            records=records,
            labelled=labelled,
        )
        return panes.with_uncounted(_ints(sorted({*self.lacking(waiting).tolist(), *overdue})))

    def delays(self, heard: int, waiting: Collection[int]) -> Delays:
        """Reported delays of all panes, with the age up to which each can show them.

        Parameters
        ----------
        heard
            newest report of the label feed: no pane shows longer delays.
        """
        starts, *_, moved = self._parts[Part.LABELS].columns
        counted = np.where(np.isin(starts, _ints(waiting)), np.minimum(moved, heard), heard)

        def whole(start: int) -> Counters:
            return self._parts[Part.LABELS].packed.pane(start)[WHOLE]

        return self._delays.shown(starts, counted - starts - self._counting.reading.pane, whole)

    @property
    def delay_counts(self) -> DelayCounts:
        """Delays of all panes, added up."""
        return self._delays

    def moved_until(self, end: int) -> list[PaneFacts]:
        """Facts of labels of panes that end by then, with differences since they were counted whole."""
        parts = self._parts[Part.LABELS]
        starts, counted, *_, moved = parts.columns
        older = (moved > counted) & (starts + self._counting.reading.pane <= end)
        return [parts.facts[start] for start in starts[older].tolist()]

    def _follow(self, part: Part, differences: Sequence[Difference]) -> None:
        """Let the versions, the sums and the delays follow."""
        parts = self._parts[part]
        for start, _, added in differences:
            for version in {stratum.version for stratum in added if stratum.version is not None}:
                self._versions[version] = min(start, self._versions.get(version, start))
        parts.packed.differ(differences)
        if part is Part.LABELS and "delays" in parts.layout.by_name:
            sides = [(start, taken, -1) for start, taken, _ in differences]
            sides += [(start, added, 1) for start, _, added in differences]
            self._move_delays(sides)

    def _move_delays(self, sides: Iterable[tuple[int, Strata, int]]) -> None:
        held = [(start, *delays_of(strata[WHOLE]), sign) for start, strata, sign in sides if WHOLE in strata]
        if held:
            starts = np.repeat([each[0] for each in held], [len(each[1]) for each in held])
            index = np.concatenate([each[1] for each in held])
            self._delays.move(starts, index, np.concatenate([value * sign for _, _, value, sign in held]))

    def _forget(self, since: int) -> None:
        for part, parts in self._parts.items():
            old = int(np.searchsorted(parts.columns[0], since))
            gone = parts.columns[0, :old].tolist()
            if part is Part.LABELS and "delays" in parts.layout.by_name:
                self._move_delays([(start, parts.packed.pane(start), -1) for start in gone])
            parts.packed.forget(gone, since)
            for start in gone:
                parts.facts.pop(start, None)
            parts.columns = parts.columns[:, old:]
            parts.outdated = {start for start in parts.outdated if start >= since}


def _packed(model: str, part: Part, counting: Counting) -> PackedPanes:
    return PackedPanes(f'"{model}", part {part.value}', counting.layout(part), counting.reading.pane)


def columns_of(facts: Iterable[PaneFacts]) -> Ints:
    """Columns of facts, int64, ascending by start: see `_COLUMNS`."""
    rows = sorted(_COLUMNS(fact) for fact in facts)
    return np.asarray(rows, dtype=np.int64).reshape(-1, 7).T.copy()


def left_behind(records: Ints, labels: Ints) -> Ints:
    """Starts of panes whose records were counted later than their labels, and are others.

    Parameters
    ----------
    records, labels
        columns of the facts of both parts.
    """
    if labels.shape[1] == 0:
        everything: Ints = records[0]
        return everything
    beside = labels[:, np.minimum(np.searchsorted(labels[0], records[0]), labels.shape[1] - 1)]
    behind = (beside[1] < records[1]) & (beside[3] != records[3])
    starts: Ints = records[0, (beside[0] != records[0]) | behind]
    return starts


def _replaced(columns: Ints, new: Ints) -> Ints:
    """Columns with those of the same start replaced."""
    joined = np.concatenate([columns[:, ~np.isin(columns[0], new[0])], new], axis=1)
    return joined[:, np.argsort(joined[0])]


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.int64)
