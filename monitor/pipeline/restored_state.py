"""What a process goes on from: what was committed last, read from the store."""

from collections.abc import Iterable

from monitor.measures.catalogue.volume_measures import SILENCE_LIMIT
from monitor.measures.measurement_row import LabelTruth
from monitor.pipeline.audit import DECIDED, WRONG
from monitor.pipeline.caches import LastCycle, NewestSettled, merge_newest_settled
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.sequential.judge_days import read_watched_parts
from monitor.pipeline.sequential.ledger_entries import read_ledgers
from monitor.pipeline.windows.log_rows import (
    AGES,
    FIRST_SEEN,
    LATE,
    SETTLING_AGE,
    WAITING,
    read_lateness,
)
from monitor.specs.stored_rows import HistoryEvent
from monitor.windows.settling import SettledState

_OF_CYCLES = (*LATE, *WAITING, *AGES, SETTLING_AGE, SILENCE_LIMIT)  # figures that each cycle makes anew


def are_differences_distrusted(events: Iterable[HistoryEvent]) -> bool:
    """Whether a difference was found wrong, and nobody has decided since: `events` in their order."""
    decisive = [event.kind for event in events if event.kind in (WRONG, DECIDED)]
    return decisive[-1:] == [WRONG]


def read_last_cycle(model: CycleModel, as_of: int) -> LastCycle:
    """What was committed last, as of the last cycle."""
    store, settled = model.store, {}
    rows = [stored.row for stored in store.current.read_current(model.name)]
    for row in rows:
        if row.truth is LabelTruth.SETTLED:
            warned = [one.warning for one in SettledState if one.warning in row.warning.split(", ")]
            settled[row.window] = NewestSettled(row.window_end, "".join(warned))
    kept = store.states.read_windows(model.name, model.find_horizon_start(as_of))
    figures = [row for row in rows if row.window == "" and row.version is None]
    return LastCycle(
        # States of windows may be newer than current rows, which not each tick of a replay writes.
        settled=merge_newest_settled(settled, kept),
        audit=tuple(row for row in figures if row.measure not in _OF_CYCLES),
        late=tuple(row for name in LATE for row in figures if row.measure == name),
        lateness=read_lateness(figures),
        first_seen={event.subject: event.at for event in store.events.read_events(model.name, FIRST_SEEN)},
        ledgers=read_ledgers(model),
        watched=read_watched_parts(model, model.store),
        whole_labels=are_differences_distrusted(store.events.read_events(model.name)),
        alerts={alert.series: alert for _, alert in store.alerts.read_alerts(model.name)},
        incidents=store.incidents.read_model_incidents(model.name),
    )
