"""Days as they were judged against the budget of false alerts, from the store alone."""

from monitor.core.clock import DAY, from_iso
from monitor.evidence.days import REMEMBERED, unpack
from monitor.evidence.expected import FEWEST
from monitor.evidence.making import watch_of
from monitor.evidence.telling import Means, figures_of, position_of
from monitor.pages.asked import FollowedDay
from monitor.pipeline.sequential.day_rows import is_of_labels, watched_as
from monitor.records.codec import decode
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.sentences.changed import ToldSeries
from monitor.store.adapter import SqlStore
from monitor.windows.fold import fold

_BEFORE, _AFTER = 14, 14  # days about the first day of a change


def followed_days(
    store: SqlStore, model: str, counting: Counting, subject: str, told: ToldSeries, until: int
) -> list[FollowedDay]:
    """Days about the first one of a change, oldest first; none, where they are watched otherwise now."""
    part = Part.LABELS if is_of_labels(subject) else Part.RECORDS
    layout = counting.layout(part)
    first = store.days(model, part, counting.stored_as(layout), FEWEST)
    if len(first) < FEWEST:
        return []
    watch = watch_of(counting, part, fold(layout, tuple(decode(day.blob, layout) for day in first)))
    by = position_of(watch, watched_as(subject), told.kind, told.level)
    begins = from_iso(told.since) // DAY
    last = min(until, (begins + _AFTER + 1) * DAY)
    kept = store.days(model, part, watch.key, REMEMBERED + _BEFORE + _AFTER + 1, last)
    if by is None:
        return []
    means = Means(told.usual, told.deviation)
    rows = [unpack(day.blob, watch) for day in kept]
    found = []
    for at, (day, row) in enumerate(zip(kept, rows, strict=True)):
        if row.day < begins - _BEFORE:
            continue
        figures = figures_of(watch, rows[:at], row, by, own=told.own, means=means)
        if figures is not None:
            found.append(FollowedDay(row.day, day.start, day.end, *figures))
    return found
