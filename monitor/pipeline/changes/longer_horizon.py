"""What the horizon reaches and no stored pane covers: it became longer, or panes have another width now."""

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise

from monitor.pipeline.changes.dirty_panes import ChangedPanes, find_oldest_event, read_changed_rows
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import WaitingPane

_FIRST = -(2**62)


def drop_wrong_width_panes(model: CycleModel, *, token: int | None = None) -> None:
    """Drop stored panes that may be of another width than the configured one: see `add_older_panes`.

    Those of another layout and the same width stay until they are counted again.
    """
    facts = model.store.panes.read_pane_facts(model.name, _FIRST)
    counting = model.counting
    current = {counting.hash_stored_layout(counting.layout_of(part)) for part in PaneHalf}
    if not facts or current & {fact.layout for fact in facts}:
        return
    if not _are_of_width({fact.start for fact in facts}, counting.reading.pane):
        model.store.panes.reset_panes(model.name, token=token)


def _are_of_width(starts: Collection[int], pane: int) -> bool:
    """Whether panes of this width at these starts cover all that panes of the stored width cover.

    So it is where all start on multiples of it and two are neighbours: none is wider.
    """
    distances = [later - start for start, later in pairwise(sorted(starts))]
    return min(distances, default=None) == pane and not any(start % pane for start in starts)


def add_older_panes(model: CycleModel, panes: ModelPanes, changes: ChangedPanes, as_of: int) -> ChangedPanes:
    """Changes with the panes between the horizon's cut and all that was ever counted, where the log has rows.

    The first cycle of a process asks for them. Cost: two columns of that range, which is empty as long as
    the horizon is not longer than it was; after another width of panes it is the whole horizon.
    """
    cut, counted_from = model.find_horizon_start(as_of), _find_oldest_counted(model, panes, changes, as_of)
    if counted_from is None or counted_from <= cut:
        return changes
    rows = read_changed_rows(model, (cut, counted_from), as_of)
    if all(changes.rows.get(start) == count for start, count in rows.changed.items()):
        return changes  # nothing, or what has just been logged
    # As if the history began now, with this horizon.
    state = replace(
        changes.state, oldest=find_oldest_event(model, rows.oldest, cut, as_of), first_as_of=as_of
    )
    waiting = [WaitingPane(start=start, part=PaneHalf.RECORDS, since=as_of) for start in sorted(rows.changed)]
    return replace(
        changes,
        state=state,
        waiting=[*changes.waiting, *waiting],
        rows=changes.rows | rows.changed,
        read=changes.read + rows.read,
    )


def _find_oldest_counted(
    model: CycleModel, panes: ModelPanes, changes: ChangedPanes, as_of: int
) -> int | None:
    """Start of the oldest pane that was counted or waits, else the log's end; before the first cycle None."""
    starts = {*panes.facts_by_start(PaneHalf.RECORDS)}
    starts.update(pane.start for pane in model.store.panes.read_waiting_panes(model.name))
    nothing = None if changes.state.as_of is None else as_of + model.reading.tolerance + 1
    return min(starts, default=nothing)
