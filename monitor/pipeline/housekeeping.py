"""The audit: once a day the log is compared with what is stored, and what has no pane is counted."""

from dataclasses import dataclass, field

import numpy as np

from monitor.core.measurement import Measurement
from monitor.core.typing import Ints
from monitor.pipeline.monitored import Monitored
from monitor.records.rows import logged_times, times
from monitor.specs.rows import MeasurementRow, ModelState, PaneFacts, Part, Truth, WaitingPane


@dataclass(frozen=True, slots=True)
class Audited:
    """Panes that differ from the log, and figures of the rows that have no pane."""

    as_of: int | None
    waiting: list[WaitingPane] = field(default_factory=list)
    rows: tuple[MeasurementRow, ...] = ()


def audit(monitored: Monitored, state: ModelState, as_of: int) -> Audited:
    """Audit the log if it is time. Cost: a few narrow columns of two horizons.

    Rows gone at the old end of the log are its own retention: panes before its oldest row are left alone.
    """
    if state.audited_as_of is not None and as_of - state.audited_as_of < monitored.audit_every:
        return Audited(state.audited_as_of, rows=monitored.audit)
    reading = monitored.counting.reading
    lower, upper = as_of - 2 * reading.horizon, as_of + reading.horizon
    table = monitored.source.changed_records(monitored.spec, since=None, as_of=as_of, bounds=(lower, upper))
    event = times(table, "event_time", reading)
    logged, _ = logged_times(table, event, reading)
    visible = event.known & (logged <= as_of)
    future = visible & (event.us > as_of + reading.tolerance)
    stale = visible & (logged - event.us > reading.horizon)
    figures = {
        "future_records": int(future.sum()),
        "stale_log_records": int(stale.sum()),
        "invalid_times": event.invalid,
    }
    if reading.labelled:
        figures["orphan_labels"] = monitored.source.orphans(monitored.spec, (lower, upper))
    rows = tuple(_row(as_of, name, count) for name, count in sorted(figures.items()))
    monitored.audit = rows
    present = visible & ~future
    waiting = _differing(monitored, event.us[present], logged[present], as_of)
    return Audited(as_of, waiting, rows)


def _differing(monitored: Monitored, event: Ints, logged: Ints, as_of: int) -> list[WaitingPane]:
    """Stored panes whose rows or newest row are not those of the log, back to the log's oldest row."""
    if len(event) == 0:
        return []
    pane = monitored.counting.reading.pane
    starts, inverse, counts = np.unique(event - event % pane, return_inverse=True, return_counts=True)
    newest = np.full(len(starts), np.iinfo(np.int64).min)
    np.maximum.at(newest, inverse, logged)
    here = {
        start: (count, last)
        for start, count, last in zip(starts.tolist(), counts.tolist(), newest.tolist(), strict=True)
    }
    oldest = max(monitored.oldest_pane(as_of), int(starts[0]))
    facts = monitored.panes.facts(Part.RECORDS)
    return [
        WaitingPane(start=start, part=Part.RECORDS, since=as_of)
        for start in sorted({*here, *facts})
        if start >= oldest and _differs(facts.get(start), here.get(start))
    ]


def _differs(stored: PaneFacts | None, found: tuple[int, int] | None) -> bool:
    if stored is None:
        return found is not None
    if found is None:
        return stored.rows > 0
    return stored.rows != found[0]


def _row(as_of: int, name: str, count: int) -> MeasurementRow:
    return MeasurementRow(
        window="",
        window_end=as_of,
        truth=Truth.NONE,
        version=None,
        segment=None,
        measure=name,
        subject="",
        measurement=Measurement(float(count), n=count),
    )
