"""Counts of a window from the store alone: its panes, added up, on the grids of the kept reference."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from monitor.app.application import resolve_reading
from monitor.core.array_types import Ints
from monitor.core.clock import LAST
from monitor.pages.page_request import MOST_PANES, CountedWindow
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reading import ReadingOptions
from monitor.records.reference import Reference, make_plain_counting
from monitor.specs.model_spec import ModelSpec
from monitor.states.strata import WHOLE, Strata
from monitor.store.sql_store import SqlStore
from monitor.windows.strata_folding import fold_strata

KeptReferences: TypeAlias = dict[tuple[str, ReadingOptions], Reference]
"""By their key, under which they never change. Several threads share it."""
_MOST_KNOWN = 16


def sum_window_panes(
    store: SqlStore, spec: ModelSpec, start: int, end: int, part: PaneHalf, references: KeptReferences
) -> CountedWindow:
    """Counts of a part of all panes between two moments as they are now, without panes on other grids."""
    reference, counting = (
        _read_reference(store, spec, references),
        read_newest_counting(store, spec, references),
    )
    lost = {fact.start for fact in store.panes.read_pane_facts(spec.name, start) if fact.start < end}
    strata: list[Strata] = []
    panes: dict[int, PanePart] = {}
    for starts in _pane_batches(range(start, end, counting.reading.pane)):
        panes = store.panes.load_panes(spec.name, part, starts, counting)
        strata.append(fold_strata(counting.layout_of(part), (pane.strata for pane in panes.values())))
        lost -= panes.keys()
    return CountedWindow(
        counting=counting,
        strata=fold_strata(counting.layout_of(part), strata),
        reference=reference,
        panes=panes,
        lost=len(lost),
    )


def _pane_batches(starts: range) -> Iterator[list[int]]:
    """Starts of panes that are held in memory together, the newest ones last, as many as may be."""
    for last in range(len(starts) % MOST_PANES or MOST_PANES, len(starts) + MOST_PANES, MOST_PANES):
        yield list(starts[max(0, last - MOST_PANES) : last])


def read_newest_counting(store: SqlStore, spec: ModelSpec, references: KeptReferences) -> Counting:
    """How the newest cycle counted."""
    reference = _read_reference(store, spec, references)
    return make_plain_counting(spec.reading) if reference is None else reference.counting


def sum_span_panes(
    store: SqlStore, model: str, window_counts: CountedWindow, block: str, bounds: Sequence[int]
) -> list[Ints | None]:
    """Counts of a block of the records between each two of the bounds; None: none of it is there."""
    sums: list[Ints | None] = [None] * (len(bounds) - 1)
    for starts in _pane_batches(range(bounds[0], bounds[-1], window_counts.counting.reading.pane)):
        unread = [start for start in starts if start not in window_counts.panes]
        panes = {
            **store.panes.load_panes(model, PaneHalf.RECORDS, unread, window_counts.counting),
            **window_counts.panes,
        }
        for start in starts:
            if start in panes and WHOLE in panes[start].strata:  # an hour without records has no counts
                at = bisect_right(bounds, start) - 1
                counts, before = panes[start].strata[WHOLE].dense_block(block), sums[at]
                sums[at] = counts if before is None else before + counts
    return sums


def _read_reference(store: SqlStore, spec: ModelSpec, references: KeptReferences) -> Reference | None:
    """The default reference of the newest cycle, on the grids that its options give."""
    if spec.reference is None:
        return None
    keys = [
        key
        for _, row in store.snapshots.read_provenance(spec.name, last=LAST)
        for key in row.reference.split()
    ]
    if not keys:
        return None
    place = keys[0], spec.reading
    found_reference = references.get(place)
    if found_reference is None and (reference := store.references.read_reference(keys[0])) is not None:
        counting: Counting = replace(
            reference.counting, reading=resolve_reading(spec.reading, reference.counting.reading)
        )
        found_reference = replace(reference, counting=counting)
        if len(references) >= _MOST_KNOWN:
            references.clear()
        references[place] = found_reference
    return found_reference
