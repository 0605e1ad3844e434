"""Where histories stand: the state of a model, the states of its kept windows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields

from sqlalchemy import Connection, bindparam, select

from monitor.specs.stored_rows import ModelState, SeenAgain, WindowState
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import put_rows
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import models, windows

_STATE = select(models).where(models.c.run == bindparam("run"), models.c.model == bindparam("model"))
_WINDOWS = (
    select(windows)
    .where(
        windows.c.run == bindparam("run"),
        windows.c.model == bindparam("model"),
        windows.c.window_end >= bindparam("since"),
    )
    .order_by(windows.c.window, windows.c.window_end)
)


@dataclass(frozen=True, slots=True)
class StateRepository(Repository):
    """States of a run's models; a cycle's transactions write them."""

    def read_state(self, model: str) -> ModelState:
        """State of a model; empty before its first cycle."""
        with read_transaction(self.engine) as connection:
            row = connection.execute(_STATE, {"run": self.run, "model": model}).first()
        if row is None:
            return ModelState()
        (
            _,
            _,
            as_of,
            first_as_of,
            oldest,
            logged,
            reported,
            audited,
            settling_age,
            labels,
            rows,
            _,
            position,
        ) = row
        return ModelState(
            as_of=as_of,
            first_as_of=first_as_of,
            oldest=oldest,
            logged_cursor=logged,
            reported_cursor=reported,
            audited_as_of=audited,
            settling_age=settling_age,
            seen_again=_seen_again(labels),
            rows_seen_again=_seen_again(rows),
            position=position or "",
        )

    def read_windows(self, model: str, since: int) -> list[WindowState]:
        """States of kept windows that end at or after `since`, by window and end."""
        with read_transaction(self.engine) as connection:
            rows = connection.execute(_WINDOWS, {"run": self.run, "model": model, "since": since}).all()
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
            for _, _, window, end, first_as_of, settled, measured, records_seen, labels_seen, warning in rows
        ]


def _seen_again(text: str | None) -> SeenAgain:
    if text is None:
        return None
    with named_damage("table models, columns seen_again and rows_seen_again"):
        rows = json.loads(text)
        if any(len(row) == 2 for row in rows):
            return None  # of an older version, which kept no checksums
        return tuple((int(start), int(count), int(checksum)) for start, count, checksum in rows)


def write_state(connection: Connection, run: str, model: str, state: ModelState) -> None:
    """Set the state of a model."""
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    position = values.pop("position") or None
    again = {name: values.pop(name) for name in ("seen_again", "rows_seen_again")}
    row = {name: None if time is None else int(time) for name, time in values.items()}
    kept = {
        name: None if pairs is None else json.dumps(pairs, separators=(",", ":"))
        for name, pairs in again.items()
    }
    put_rows(connection, models, [{"run": run, "model": model, "position": position} | row | kept])


def write_windows(connection: Connection, run: str, model: str, states: Sequence[WindowState]) -> None:
    """Insert or replace states of kept windows."""
    put_rows(
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
