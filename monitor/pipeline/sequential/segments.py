"""Which segments hold the changes that stand: counted as of the moments at which these were found."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.core.clock import DAY
from monitor.evidence.days import NEVER, DayRow
from monitor.evidence.segments import HoldingSegment, held_by
from monitor.evidence.watched import Watch
from monitor.pipeline.model import Model
from monitor.pipeline.panes import Panes
from monitor.pipeline.sequential.days import DueDay, strata_of
from monitor.specs.rows import Day
from monitor.windows.days import zone_of_days
from monitor.windows.units import number_of

_WEEK = 7 * DAY


def held_now(
    model: Model,
    panes: Panes,
    days: Sequence[Day],
    watch: Watch,
    row: DayRow,
    known: Mapping[str, HoldingSegment | None],
    as_of: int,
    uncounted: frozenset[int],
) -> dict[str, HoldingSegment | None]:
    """By subject which segment holds the change that stands; None: it is not counted by segment.

    The days of the change, and the 7 before it, are counted as of the moment at which it was found: a restart
    and a late tick find the same. Cost: none where nothing stands; else once a change, from panes if these
    show it.

    Parameters
    ----------
    days, row
        of the part that the watch is of; the newest one's row.
    known
        of the day before.
    """
    if not model.counting.segments:
        return {}
    stands = {watch.subjects[at]: int(at) for at in np.flatnonzero(row.since > NEVER)}
    held = {name: known[name] for name in stands if name in known}
    for name in stands.keys() - held.keys():
        at = stands[name]
        for now, before in _spans(model, days, int(row.since[at]), int(row.reset[at])):
            strata = [strata_of(model, panes, span, as_of, uncounted) for span in (now, before)]
            sign = -1.0 if row.size[at] < 0 else 1.0
            lasting = (now.end - now.start) / DAY, (before.end - before.start) / DAY
            held[name] = held_by(watch, model.counting, int(row.by[at]), sign, strata[0], strata[1], lasting)
    return held


def _spans(model: Model, days: Sequence[Day], since: int, found: int) -> Iterator[tuple[DueDay, DueDay]]:
    """The days of a change up to the one on which it was found, and the week before; none if not known."""
    zone = zone_of_days(model.reading.zone, model.reading.pane)
    by_number = {number_of(day.start, zone): day for day in days}
    if since not in by_number or found not in by_number:
        return
    first, last = by_number[since].start, by_number[found]
    yield (
        DueDay(last.due, last.part, first, last.end, last.due, last.age),
        DueDay(last.due, last.part, first - _WEEK, first, last.due, last.age),
    )
