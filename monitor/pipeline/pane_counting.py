"""Count waiting panes again, whole, in chunks that are committed one by one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from monitor.core.clock import DAY
from monitor.core.errors import LeaseLost
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.protocols import AtOnce, Lease
from monitor.specs.read_ranges import counted_ranges
from monitor.specs.stored_rows import WaitingPane
from monitor.windows.recount_choice import (
    RecountBudget,
    RecountCandidate,
    choose_panes,
    is_due,
    is_settling_pane,
)

# A chunk is one transaction. What it holds in memory is bounded by rows, not by panes: a pane of a busy log
# may hold as much as a day of a quiet one.
MOST_PANES = 200
MOST_ROWS = 50_000  # rows of a chunk held in memory, as far as they are known beforehand


class CycleStopped(Exception):  # noqa: N818 -- a request, not an error
    """The daemon is stopping: what was counted is kept, the rest waits."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """What was read."""

    rows: int = 0
    label_rows: int = 0
    panes: int = 0
    missing_columns: tuple[str, ...] = ()


def recount_candidates(
    model: CycleModel, panes: ModelPanes, waiting: list[WaitingPane], expected: Mapping[int, int]
) -> list[RecountCandidate]:
    """Waiting panes, their parts brought together, with what is known of the last count.

    A pane that was never counted is taken to have the changed rows seen in it, else the mean of the others.
    """
    records, labels = panes.facts_by_start(PaneHalf.RECORDS), panes.facts_by_start(PaneHalf.LABELS)
    parts_read = 2 if model.reading.labelled else 1
    sizes = [pane.rows for pane in records.values()] or list(expected.values())
    mean = sum(sizes) // max(1, len(sizes))
    by_start: dict[int, list[WaitingPane]] = {}
    for pane in waiting:
        by_start.setdefault(pane.start, []).append(pane)
    result = []
    for start, parts in by_start.items():
        by_records = any(part.part is PaneHalf.RECORDS for part in parts)
        last = records.get(start) if by_records else labels.get(start)
        counted = sum(facts[start].rows for facts in (records, labels) if start in facts)
        unknown = 0 if start in records else mean
        result.append(
            RecountCandidate(
                start=start,
                since=min(part.since for part in parts),
                records_changed=by_records or start not in labels,
                counted_as_of=last.counted_as_of if last else None,
                # Whichever is more, what the last counts read or what was just seen to have changed: an
                # estimate that is too small would let a chunk hold more than it may.
                rows=max(counted, parts_read * expected.get(start, unknown)),
            )
        )
    return result


def find_outdated_recounts(
    model: CycleModel, panes: ModelPanes, waiting: list[WaitingPane], as_of: int
) -> list[WaitingPane]:
    """Panes within the horizon that were counted on another layout, and whose records do not wait anyway.

    They are known from what is stored: nothing is noted of them.
    """
    by_records = {pane.start for pane in waiting if pane.part is PaneHalf.RECORDS}
    oldest = model.find_horizon_start(as_of)
    return [
        WaitingPane(start=start, part=PaneHalf.RECORDS, since=as_of)
        for start in panes.outdated_panes()
        if start >= oldest and start not in by_records
    ]


def settling_panes(
    model: CycleModel, panes: ModelPanes, waiting: list[WaitingPane], as_of: int, age: int | None
) -> list[WaitingPane]:
    """Panes that do not wait, but settle with labels that were added since they were counted whole."""
    if age is None:
        return []
    width, there = model.reading.pane, {pane.start for pane in waiting}
    return [
        WaitingPane(start=facts.start, part=PaneHalf.LABELS, since=as_of)
        for facts in panes.list_moved_facts(as_of - age)
        if facts.start not in there and is_settling_pane(facts.start + width, facts.counted_as_of, as_of, age)
    ]


def overdue_panes(
    model: CycleModel, panes: ModelPanes, waiting: list[WaitingPane], as_of: int, budget: RecountBudget
) -> set[int]:
    """Starts of the waiting panes whose turn has come."""
    waits = recount_candidates(model, panes, waiting, {})
    return {candidate.start for candidate in waits if is_due(candidate, as_of, budget)}


def recount_due_panes(
    model: CycleModel,
    panes: ModelPanes,
    waiting: list[WaitingPane],
    outdated: list[WaitingPane],
    *,
    as_of: int,
    budget: RecountBudget,
    expected: Mapping[int, int],
    lease: Lease | None,
    stopping: Callable[[], bool],
) -> CountedRows:
    """Count the panes whose turn it is.

    Parameters
    ----------
    outdated
        panes that were counted on another layout: of those that do not wait for another reason, parts of
        the same layout are left as they are.
    expected
        rows known to lie in a pane, by start.
    lease
        renewed before each chunk, which is written under it.

    Raises
    ------
    Stopped
        between two chunks, when `stopping` says so.
    LeaseLost
        if another process has taken the model over.
    """
    candidates = choose_panes(
        recount_candidates(model, panes, [*waiting, *outdated], expected), as_of, budget
    )
    merely = {pane.start for pane in outdated}.difference(pane.start for pane in waiting)
    by_records = [pane.start for pane in candidates if pane.records_changed]
    relabelled = {pane.start for pane in candidates if not pane.records_changed}
    labels = panes.facts_by_start(PaneHalf.LABELS)
    rows = {pane.start: pane.rows if pane.records_changed else labels[pane.start].rows for pane in candidates}
    counted_rows = CountedRows()
    # Labels first: a crash in between leaves the pane waiting for its records, and both are counted again.
    for part, starts in (
        (PaneHalf.LABELS, [pane.start for pane in candidates]),
        (PaneHalf.RECORDS, by_records),
    ):
        if part is PaneHalf.LABELS and not model.reading.labelled:
            continue
        # Of a pane that waits for its layout alone one part may be as it should be: it is not read again.
        fresh = merely.difference(panes.outdated_panes(part))
        for chunk in chunk_starts([start for start in starts if start not in fresh], rows, model.at_once):
            if stopping():
                raise CycleStopped
            renew_lease(model, lease)
            counted_rows = _count_chunk(model, panes, part, chunk, as_of, counted_rows, lease, relabelled)
    return counted_rows


def renew_lease(model: CycleModel, lease: Lease | None) -> None:
    """Keep the model's lease while a cycle is long: it costs a transaction.

    Raises
    ------
    LeaseLost
        if another process has taken the model over.
    """
    if lease is None or not lease.is_due():
        return
    if not model.store.leases.renew_lease(model.name, lease.token, lease.ttl):
        raise LeaseLost(f'model "{model.name}": another process has taken it over')
    lease.renewed = lease.clock()


def chunk_starts(
    starts: list[int], rows: dict[int, int], at_once: AtOnce | None = None
) -> Iterator[list[int]]:
    """Ascending starts in chunks of at most so many panes and about so many rows: 200 and 50,000.

    A chunk ends with a day where that leaves at least half of it: files and partitions mostly hold days, and
    what two chunks share is read twice.
    """
    most = at_once or AtOnce(MOST_PANES, MOST_ROWS)
    chunk: list[int] = []
    held = 0
    for start in starts:
        while chunk and (len(chunk) == most.panes or held + rows[start] > most.rows):
            whole_days = [other for other in chunk if other // DAY < start // DAY]
            left = held - sum(rows[other] for other in whole_days)
            if not whole_days or left > held / 2:
                whole_days, left = chunk, 0
            yield whole_days
            chunk, held = chunk[len(whole_days) :], left
        chunk.append(start)
        held += rows[start]
    if chunk:
        yield chunk


def _count_chunk(
    model: CycleModel,
    panes: ModelPanes,
    part: PaneHalf,
    chunk: list[int],
    as_of: int,
    counted_rows: CountedRows,
    lease: Lease | None,
    relabelled: set[int],
) -> CountedRows:
    token = None if lease is None else lease.token
    ranges = counted_ranges(chunk, model.reading, as_of)
    starts = np.asarray(chunk, dtype=np.int64)
    counts = model.source.count_panes(model.spec, part, ranges, model.counting, panes=starts, as_of=as_of)
    if part is PaneHalf.LABELS:
        parts = _restore_purged_parts(model, panes, counts.parts, relabelled, as_of)
        panes.save_counted_parts(part, parts, as_of, mapping=model.label_mapping_hash, token=token)
        return replace(counted_rows, label_rows=counted_rows.label_rows + counts.rows)
    panes.save_counted_parts(part, counts.parts, as_of, mapping=model.label_mapping_hash, token=token)
    return replace(
        counted_rows,
        rows=counted_rows.rows + counts.rows,
        panes=counted_rows.panes + len(counts.parts),
        missing_columns=tuple(sorted({*counts.missing, *counted_rows.missing_columns})),
    )


def _restore_purged_parts(
    model: CycleModel, panes: ModelPanes, parts: Sequence[PanePart], relabelled: set[int], as_of: int
) -> Sequence[PanePart]:
    """The parts; as they were where only labels changed and the log's own retention took records since.

    That is so of panes with fewer records and nothing before them: those at the old end of the log.
    """
    facts, since = panes.facts_by_start(PaneHalf.LABELS), as_of - 2 * model.reading.horizon
    fewer = [
        pane.start
        for pane in parts
        if pane.start in relabelled and pane.start in facts and pane.records < facts[pane.start].records
    ]

    def is_at_old_end(start: int) -> bool:
        return not model.source.has_records(model.spec, as_of=as_of, bounds=(since, start))

    # Starts ascend: once the log has records before one of them it has records before all later ones, and is
    # not asked again.
    purged = list(takewhile(is_at_old_end, fewer))
    if not purged:
        return parts
    kept = model.store.panes.load_panes(model.name, PaneHalf.LABELS, purged, model.counting)
    return [kept.get(pane.start, pane) for pane in parts]
