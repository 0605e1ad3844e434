"""Counts of a window from the store alone: its panes, added up, on the grids of the kept reference."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.app.wiring import resolved
from monitor.pages.asked import CountedWindow
from monitor.records.counting import Counting
from monitor.records.pane import PanePart, Part
from monitor.records.reference import Reference, counting_without_reference
from monitor.specs.model import ModelSpec
from monitor.states.counters import Counters, Layout
from monitor.states.strata import Strata, Stratum
from monitor.store.adapter import SqlStore

MOST = 1_500  # panes of a window; of more the newest


def counted(store: SqlStore, spec: ModelSpec, start: int, end: int) -> CountedWindow:
    """Counts of all panes between two moments, as they are now; panes on other grids are left out."""
    reference = _reference(store, spec)
    counting = counting_without_reference(spec.reading) if reference is None else reference.counting
    width = counting.reading.pane
    starts = list(range(start, end, width))[-MOST:]
    parts = {part: store.load_panes(spec.name, part, starts, counting) for part in Part}
    there = {fact.start for fact in store.facts(spec.name, start) if fact.start < end}
    labels, records = (
        _added(parts[part].values(), counting.layout(part)) for part in (Part.LABELS, Part.RECORDS)
    )
    used = set(parts[Part.LABELS]) & set(parts[Part.RECORDS])
    return CountedWindow(
        counting=counting,
        labels=labels,
        records=records,
        reference=reference,
        panes=len(used),
        lost=len(there - used),
    )


def _reference(store: SqlStore, spec: ModelSpec) -> Reference | None:
    """The default reference of the newest cycle, on the grids that its options give."""
    if spec.reference is None:
        return None
    kept = [row for _, row in store.provenance(spec.name)]
    keys = kept[-1].reference.split() if kept else []
    reference = store.reference(keys[0]) if keys else None
    if reference is None:
        return None
    counting: Counting = replace(
        reference.counting, reading=resolved(spec.reading, reference.counting.reading)
    )
    return replace(reference, counting=counting)


def _added(parts: Iterable[PanePart], layout: Layout) -> Strata:
    """Sums by stratum."""
    by_stratum: dict[Stratum, list[Counters]] = {}
    for part in parts:
        for stratum, counters in part.strata.items():
            by_stratum.setdefault(stratum, []).append(counters)
    return {stratum: Counters.merge_all(layout, many) for stratum, many in by_stratum.items()}
