"""Counts of a window from the store alone: its panes, added up, on the grids of the kept reference."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from monitor.app.wiring import resolved
from monitor.core.typing import Ints
from monitor.pages.asked import CountedWindow
from monitor.records.counting import Counting
from monitor.records.pane import PanePart, Part
from monitor.records.reading import Reading
from monitor.records.reference import Reference, counting_without_reference
from monitor.specs.model import ModelSpec
from monitor.states.counters import Counters, Layout
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.store.adapter import SqlStore

KeptReferences: TypeAlias = dict[tuple[str, Reading], Reference]
"""By their key, under which they never change. Several threads share it."""
_MOST_KNOWN = 16
MOST = 1_500  # panes of a window; of more the newest


def counted(
    store: SqlStore,
    spec: ModelSpec,
    start: int,
    end: int,
    parts_read: Collection[Part],
    known: KeptReferences,
) -> CountedWindow:
    """Counts of all panes between two moments, as they are now; panes on other grids are left out."""
    reference = _reference(store, spec, known)
    counting = counting_without_reference(spec.reading) if reference is None else reference.counting
    width = counting.reading.pane
    starts = list(range(start, end, width))[-MOST:]
    parts = {part: store.load_panes(spec.name, part, starts, counting) for part in parts_read}
    there = {fact.start for fact in store.facts(spec.name, start) if fact.start < end}
    labels, records = (
        _added(parts.get(part, {}).values(), counting.layout(part)) for part in (Part.LABELS, Part.RECORDS)
    )
    used = set.intersection(*(set(parts[part]) for part in parts_read))
    return CountedWindow(
        counting=counting,
        labels=labels,
        records=records,
        reference=reference,
        panes=len(used),
        lost=len(there - used),
    )


def spans(
    store: SqlStore, model: str, counting: Counting, block: str, bounds: Sequence[int]
) -> list[Ints | None]:
    """Counts of a block of the records between each two of the bounds; None: no pane of it is there."""
    starts = list(range(bounds[0], bounds[-1], counting.reading.pane))[-MOST:]
    parts = store.load_panes(model, Part.RECORDS, starts, counting)
    sums: list[Ints | None] = [None] * (len(bounds) - 1)
    for start, part in parts.items():
        at = bisect_right(bounds, start) - 1
        counts, before = part.strata[WHOLE].block(block), sums[at]
        sums[at] = counts if before is None else before + counts
    return sums


def _reference(store: SqlStore, spec: ModelSpec, known: KeptReferences) -> Reference | None:
    """The default reference of the newest cycle, on the grids that its options give."""
    if spec.reference is None:
        return None
    kept = [row for _, row in store.provenance(spec.name)]
    keys = kept[-1].reference.split() if kept else []
    if not keys:
        return None
    place = keys[0], spec.reading
    found = known.get(place)
    if found is None and (reference := store.reference(keys[0])) is not None:
        counting: Counting = replace(
            reference.counting, reading=resolved(spec.reading, reference.counting.reading)
        )
        found = replace(reference, counting=counting)
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[place] = found
    return found


def _added(parts: Iterable[PanePart], layout: Layout) -> Strata:
    """Sums by stratum."""
    by_stratum: dict[Stratum, list[Counters]] = {}
    for part in parts:
        for stratum, counters in part.strata.items():
            by_stratum.setdefault(stratum, []).append(counters)
    return {stratum: Counters.merge_all(layout, many) for stratum, many in by_stratum.items()}
