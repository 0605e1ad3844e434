"""Where histories stand: the state of a model, the states of its kept windows."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, select

from monitor.specs.rows import ModelState, WindowState
from monitor.store.statements import put
from monitor.store.tables import models, windows


def read(connection: Connection, run: str, model: str) -> ModelState:
    """State of a model; empty before its first cycle."""
    found = connection.execute(select(models).where(models.c.run == run, models.c.model == model)).first()
    if found is None:
        return ModelState()
    _, _, as_of, first_as_of, oldest, logged, reported, audited, settling_age, again = found
    return ModelState(
        as_of=as_of,
        first_as_of=first_as_of,
        oldest=oldest,
        logged_cursor=logged,
        reported_cursor=reported,
        audited_as_of=audited,
        settling_age=settling_age,
        seen_again=tuple((start, labels) for start, labels in json.loads(again or "[]")),
    )


def write(connection: Connection, run: str, model: str, state: ModelState) -> None:
    """Set the state of a model."""
    times = asdict(state)
    again = json.dumps(times.pop("seen_again"), separators=(",", ":"))
    times = {name: None if time is None else int(time) for name, time in times.items()}
    put(connection, models, [{"run": run, "model": model, "seen_again": again} | times])


def read_windows(connection: Connection, run: str, model: str, since: int) -> list[WindowState]:
    """States of kept windows that end at or after `since`, by window and end."""
    found = connection.execute(
        select(windows)
        .where(windows.c.run == run, windows.c.model == model, windows.c.window_end >= since)
        .order_by(windows.c.window, windows.c.window_end)
    )
    return [
        WindowState(
            window=window,
            end=end,
            first_as_of=first_as_of,
            settled_as_of=settled,
            measured_as_of=measured,
            records_seen=records_seen,
            labels_seen=labels_seen,
            warning=warning,
        )
        for _, _, window, end, first_as_of, settled, measured, records_seen, labels_seen, warning in found
    ]


def write_windows(connection: Connection, run: str, model: str, states: Sequence[WindowState]) -> None:
    """Insert or replace states of kept windows."""
    put(
        connection,
        windows,
        [
            {
                "run": run,
                "model": model,
                "window": state.window,
                "window_end": int(state.end),
                "first_as_of": state.first_as_of,
                "settled_as_of": state.settled_as_of,
                "measured_as_of": state.measured_as_of,
                "records_seen": int(state.records_seen),
                "labels_seen": int(state.labels_seen),
                "warning": state.warning,
            }
            for state in states
        ],
    )
