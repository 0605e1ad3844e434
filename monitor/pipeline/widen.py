"""A new width of panes: where it is a multiple of the old one, what is stored is merged, not recounted."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from monitor.core.clock import floor_to
from monitor.pipeline.monitored import Monitored
from monitor.pipeline.panes import columns_of, left_behind
from monitor.records.counting import Counting
from monitor.records.pane import PanePart, Part
from monitor.specs.rows import PaneFacts, WaitingPane
from monitor.windows.widen import divisors, widened

_FIRST = -(2**62)


def widen(monitored: Monitored, *, token: int | None = None) -> None:
    """Bring stored panes to the configured width, should it have changed.

    Where it is a multiple of the old one they are merged. What waited goes on waiting, as a part of its wider
    pane; so does a pane of which only a later part was ever counted, where the log or the first horizon
    began, and one of which a part cannot be merged, as it has another layout, and which is still measured.
    Else all that they cover within the horizon waits to be counted again.
    """
    facts = monitored.store.facts(monitored.name, _FIRST)
    counting = monitored.counting
    layouts = {one.layout for one in facts}
    if not facts or layouts & _kept_as(counting):
        return
    old = _old_counting(counting, layouts)
    if old is None:
        merged, waiting = {}, _covered(monitored, facts)
    else:
        dropped = _dropped(counting, old, facts)
        merged = {part: _merged(monitored, old, part, facts, dropped) for part in Part}
        needed = monitored.oldest_needed(max(one.counted_as_of for one in facts))
        again = [start for start in sorted(dropped) if start >= needed]
        waiting = [*_carried(monitored, facts), *_waiting(again, facts)]
    if merged or waiting:
        monitored.store.replace_panes(monitored.name, counting, merged, waiting, token=token)


def _kept_as(counting: Counting) -> set[str]:
    return {counting.stored_as(counting.records), counting.stored_as(counting.labels)}


def _carried(monitored: Monitored, facts: list[PaneFacts]) -> list[WaitingPane]:
    """What waits, and the oldest pane where a part of it was never counted."""
    pane, oldest = monitored.counting.reading.pane, min(one.start for one in facts)
    waiting = [
        replace(one, start=floor_to(one.start, pane)) for one in monitored.store.waiting(monitored.name)
    ]
    return waiting + (_waiting([floor_to(oldest, pane)], facts) if oldest % pane else [])


def _covered(monitored: Monitored, facts: list[PaneFacts]) -> list[WaitingPane]:
    """Panes of the configured width over all that was counted; none where the old width was the same."""
    pane, starts = monitored.counting.reading.pane, sorted({one.start for one in facts})
    width = min((later - start for start, later in pairwise(starts)), default=pane)
    if width == pane and not any(start % pane for start in starts):
        return []
    oldest = monitored.oldest_pane(max(one.counted_as_of for one in facts))
    first = max(floor_to(starts[0], pane), oldest)
    return _waiting(range(first, starts[-1] + width, pane), facts)


def _waiting(starts: Iterable[int], facts: list[PaneFacts]) -> list[WaitingPane]:
    since = max(one.counted_as_of for one in facts)
    return [WaitingPane(start=start, part=Part.RECORDS, since=since) for start in starts]


def _old_counting(counting: Counting, layouts: set[str]) -> Counting | None:
    """Counting on the old width, where it is that of stored panes and all else is the same."""
    for width in divisors(counting.reading.pane):
        old = replace(counting, reading=replace(counting.reading, pane=width))
        if layouts & _kept_as(old):
            return old
    return None


def _dropped(counting: Counting, old: Counting, facts: list[PaneFacts]) -> set[int]:
    """Wider panes of which a part that is counted was not counted on the old layout."""
    layouts = {Part.RECORDS: old.stored_as(old.records)}
    starts: set[int] = set()
    if counting.reading.labelled:
        layouts[Part.LABELS] = old.stored_as(old.labels)
        records, labels = (columns_of(one for one in facts if one.part is part) for part in Part)
        starts.update(left_behind(records, labels).tolist())
    starts.update(one.start for one in facts if one.layout != layouts.get(one.part, one.layout))
    return {floor_to(start, counting.reading.pane) for start in starts}


def _merged(
    monitored: Monitored, old: Counting, part: Part, facts: list[PaneFacts], dropped: set[int]
) -> tuple[int, list[PanePart]]:
    """As of the oldest of the counts, and the merged parts but those of which a part is dropped."""
    layout, pane = old.layout(part), monitored.counting.reading.pane
    known = [
        one
        for one in facts
        if one.part is part
        and one.layout == old.stored_as(layout)
        and floor_to(one.start, pane) not in dropped
    ]
    parts = monitored.store.load_panes(monitored.name, part, [one.start for one in known], old)
    as_of = min((one.counted_as_of for one in known), default=0)
    return as_of, widened(layout, parts.values(), monitored.counting.reading.pane)
