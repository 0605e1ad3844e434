"""Changes that stand: which segment holds each, and its means, as of the moments at which they were found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.core.clock import DAY
from monitor.core.typing import Floats
from monitor.evidence.daily import new_versions
from monitor.evidence.days import NEVER, DayRow
from monitor.evidence.making import moments_of
from monitor.evidence.segments import HoldingSegment, held_by
from monitor.evidence.telling import Means
from monitor.evidence.watched import Trait, Watch, WatchGroup
from monitor.pipeline.model import Model
from monitor.pipeline.panes import Panes
from monitor.pipeline.sequential.days import DueDay, strata_of
from monitor.specs.rows import Day
from monitor.states.grids import NumericGrid
from monitor.states.strata import WHOLE, Strata
from monitor.windows.days import zone_of_days
from monitor.windows.units import number_of

_WEEK = 7


@dataclass(frozen=True, slots=True)
class StandingChange:
    """What is counted of a change that stands.

    Parameters
    ----------
    found
        day on which it was found.
    held
        the segment that holds it; None: it is not counted by segment.
    means
        of the week before; None: it is of no number, or they are not known.
    versions
        of a fault of the log: those that were new.
    """

    found: int
    held: HoldingSegment | None
    means: Means | None
    versions: tuple[str, ...] = ()


def standing_now(
    model: Model,
    panes: Panes,
    days: Sequence[Day],
    watch: Watch,
    rows: Sequence[DayRow],
    known: Mapping[str, StandingChange],
    as_of: int,
    uncounted: frozenset[int],
) -> dict[str, StandingChange]:
    """Changes that stand, by subject.

    The days of a change, and the 7 before it, are counted as of the moment at which it was found: a restart
    and a late tick find the same. Cost: none where nothing stands; else once a change, from panes if these
    show it.

    Parameters
    ----------
    days, rows
        of the part that the watch is of.
    known
        of the day before.
    """
    row, segmented = rows[-1], bool(model.counting.segments) and not watch.segmented
    found: dict[str, StandingChange] = {}
    for at in np.flatnonzero(row.since > NEVER):
        name, day = watch.subjects[at], int(row.reset[at])
        if name in known and known[name].found == day:
            found[name] = known[name]
            continue
        series = [i for i, one in enumerate(watch.series) if one.subject == at and one.trait is Trait.LEVEL]
        of_log = watch.groups[at] is WatchGroup.LOG
        if not (series or of_log or segmented):
            continue
        for now, before in _spans(model, days, int(row.since[at]), day):
            earlier = strata_of(model, panes, before, as_of, uncounted)
            current = strata_of(model, panes, now, as_of, uncounted) if of_log or segmented else {}
            sign = -1.0 if row.size[at] < 0 else 1.0
            lasting = (now.end - now.start) / DAY, (before.end - before.start) / DAY
            by = int(row.by[at])
            held = held_by(watch, model.counting, by, sign, current, earlier, lasting) if segmented else None
            levels = [one.values[series] for one in rows if row.since[at] - _WEEK <= one.day < row.since[at]]
            means = _usual(means_of(model, earlier).get(name), np.asarray(levels))
            old = [one for one, at_first in panes.versions.items() if at_first < now.start]
            versions = new_versions(watch, current, old) if of_log else ()
            found[name] = StandingChange(day, held, means, versions=tuple(versions))
    return found


def _usual(moments: tuple[float, float] | None, levels: Floats) -> Means | None:
    """Means of usual days, of their levels."""
    there = levels[np.isfinite(levels)]
    return Means(*moments, float(there.mean())) if moments is not None and len(there) else None


def means_of(model: Model, strata: Strata) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of numbers, in their own unit."""
    if WHOLE not in strata or "moments" not in strata[WHOLE].layout.by_name:
        return {}
    moments = moments_of(model.counting, strata[WHOLE].opened())
    grids = {name: grid for name, grid in model.counting.outputs.items() if isinstance(grid, NumericGrid)}
    return {
        name: (grids[name].centre + mean * grids[name].scale, deviation * grids[name].scale)
        for name, (mean, deviation) in moments.items()
        if name in grids
    }


def _spans(model: Model, days: Sequence[Day], since: int, found: int) -> Iterator[tuple[DueDay, DueDay]]:
    """The days of a change up to the one on which it was found, and the week before; none if not known."""
    zone = zone_of_days(model.reading.zone, model.reading.pane)
    by_number = {number_of(day.start, zone): day for day in days}
    if since not in by_number or found not in by_number:
        return
    first, last = by_number[since].start, by_number[found]
    yield (
        DueDay(last.due, last.part, first, last.end, last.due, last.age),
        DueDay(last.due, last.part, first - _WEEK * DAY, first, last.due, last.age),
    )
