"""A horizon that became longer: what it reaches now, and did not before, is counted once."""

from dataclasses import replace

from monitor.pipeline.dirty import Changes, changed_rows, oldest_of
from monitor.pipeline.monitored import Monitored
from monitor.records.pane import Part
from monitor.specs.rows import WaitingPane


def reach_back(monitored: Monitored, changes: Changes, as_of: int) -> Changes:
    """Changes with the panes between the horizon's cut and all that was ever counted, where the log has rows.

    The first cycle of a process asks for them. Cost: two columns of that range, which is empty as long as
    the horizon is not longer than it was.
    """
    cut, counted_from = monitored.oldest_pane(as_of), _counted_from(monitored)
    if counted_from is None or counted_from <= cut:
        return changes
    found = changed_rows(monitored, (cut, counted_from), as_of)
    if not found.changed:
        return changes
    # As if the history began now, with this horizon.
    state = replace(changes.state, oldest=oldest_of(monitored, found.oldest, cut, as_of), first_as_of=as_of)
    waiting = [WaitingPane(start=start, part=Part.RECORDS, since=as_of) for start in sorted(found.changed)]
    return replace(
        changes,
        state=state,
        waiting=[*changes.waiting, *waiting],
        rows=changes.rows | found.changed,
        read=changes.read + found.read,
    )


def _counted_from(monitored: Monitored) -> int | None:
    """Start of the oldest pane that was counted or waits; None before the first cycle."""
    starts = {*monitored.panes.facts(Part.RECORDS)}
    starts.update(one.start for one in monitored.store.waiting(monitored.name))
    return min(starts, default=None)
