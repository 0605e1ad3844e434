"""Incidents: one row from the first alert to the last. Those that are over stay, for ever."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, or_, select

from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.incident_life import (
    IncidentGrowth,
    IncidentKind,
    IncidentMember,
    IncidentStep,
    IncidentTurn,
    KeptIncident,
    ModelIncidents,
)
from monitor.alerts.lifecycle import EndReason
from monitor.core.clock import to_iso
from monitor.store.alert_rows import SERIES_COLUMNS
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import put_rows
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import incidents


@dataclass(frozen=True, slots=True)
class IncidentRepository(Repository):
    """Incidents of a run; a cycle's commit writes them."""

    def read_incidents(
        self, model: str | None = None, *, ended: bool = False, as_of: int | None = None
    ) -> list[tuple[str, KeptIncident]]:
        """(model, incident) by model and address: those that are open.

        Parameters
        ----------
        model
            None: all of the run.
        ended
            those that are over too.
        as_of
            only those that were open at this moment, or opened before it where `ended`; each as it was known
            then.
        """
        over, mine = incidents.c.resolved_at, [incidents.c.run == self.run]
        if model is not None:
            mine.append(incidents.c.model == model)
        if as_of is not None:
            mine.append(incidents.c.opened_at <= as_of)
        if not ended:
            mine.append(over.is_(None) if as_of is None else or_(over.is_(None), over > as_of))
        with read_transaction(self.engine) as connection:
            rows = connection.execute(select(incidents).where(*mine).order_by(*incidents.primary_key))
            with named_damage("table incidents"):
                read = [(row["model"], incident_of_values(row)) for row in rows.mappings()]
        if as_of is None:
            return read
        return [(name, one.known_at(as_of)) for name, one in read if ended or one.is_open(as_of)]

    def read_model_incidents(self, model: str) -> ModelIncidents:
        """What the next cycle of a model goes on from."""
        with read_transaction(self.engine) as connection:
            mine = incidents.c.run == self.run, incidents.c.model == model
            taken = connection.execute(select(incidents.c.address).where(*mine)).scalars()
            addresses = frozenset(taken)
        open_ = [one for _, one in self.read_incidents(model)] if addresses else []
        return ModelIncidents(tuple(open_), addresses)


def write_incidents(connection: Connection, run: str, model: str, changed: Sequence[KeptIncident]) -> None:
    """Insert incidents, or put them in place of what they were."""
    put_rows(connection, incidents, [incident_values(one) | {"run": run, "model": model} for one in changed])


def incident_values(incident: KeptIncident) -> dict[str, Any]:
    """Columns of an incident, but for whose it is."""
    return {
        "address": incident.address,
        "first_day": int(incident.first_day),
        "kind": incident.kind.value,
        "severity": incident.severity.value,
        "opened_at": int(incident.opened_at),
        "resolved_at": incident.resolved_at,
        "members": json.dumps([_member_values(member) for member in incident.members]),
        "steps": json.dumps([_step_values(step) for step in incident.steps]),
    }


def _series_values(series: AlertedSeries) -> dict[str, str]:
    return {name: value for name in SERIES_COLUMNS if (value := getattr(series, name))}


def _member_values(member: IncidentMember) -> dict[str, Any]:
    return {
        "alert": _series_values(member.series),
        "since": int(member.since),
        "kind": member.kind.value,
        "severity": member.severity.value,
        "first_day": int(member.first_day),
        "size": member.size,
        "joined": int(member.joined),
        "left": member.left,
        "ended": None if member.ended is None else member.ended.value,
    }


def _step_values(step: IncidentStep) -> dict[str, Any]:
    return {
        "at": int(step.at),
        "turn": step.turn.value,
        "growth": None if step.growth is None else step.growth.name.lower(),
        "kinds": [kind.value for kind in step.kinds],
        "severity": step.severity.value,
        "many": step.many,
        "sizes": [[_series_values(series), size] for series, size in step.sizes],
    }


def incident_of_values(row: Mapping[str, Any] | RowMapping) -> KeptIncident:
    """Incident of its columns."""
    incident = KeptIncident(
        address=row["address"],
        first_day=row["first_day"],
        members=tuple(_member_of(one) for one in json.loads(row["members"])),
        steps=tuple(_step_of(one) for one in json.loads(row["steps"])),
    )
    # Whoever reads it asks when it opened, and writes its moments: what is damaged is named here.
    for moment in (incident.opened_at, incident.last_fired_at, *(step.at for step in incident.steps)):
        to_iso(moment)
    return incident


def _member_of(plain: dict[str, Any]) -> IncidentMember:
    ended = plain.pop("ended")
    return IncidentMember(
        series=AlertedSeries(**plain.pop("alert")),
        kind=IncidentKind(plain.pop("kind")),
        severity=Severity(plain.pop("severity")),
        ended=None if ended is None else EndReason(ended),
        **plain,
    )


def _step_of(plain: dict[str, Any]) -> IncidentStep:
    growth = plain["growth"]
    return IncidentStep(
        at=plain["at"],
        turn=IncidentTurn(plain["turn"]),
        growth=None if growth is None else IncidentGrowth[growth.upper()],
        kinds=tuple(map(IncidentKind, plain["kinds"])),
        severity=Severity(plain["severity"]),
        many=plain["many"],
        sizes=tuple((AlertedSeries(**series), size) for series, size in plain["sizes"]),
    )
