"""Incidents for people: a table of those that are open and over, JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.alerts.incident_life import IncidentMember, IncidentStep, KeptIncident
from monitor.core.clock import to_iso
from monitor.core.text import json_text
from monitor.sentences.time_words import day_range_words
from monitor.show.terminal_layout import align_columns
from monitor.show.terminal_words import iso_or_none, short_moment_text

_HEAD = ("severity", "state", "model", "incident", "opened", "over", "")


class IncidentState(StrEnum):
    """Whether an incident is over."""

    OPEN = "open"
    RECOVERING = "recovering"  # none of its alerts fires; it is not confirmed yet
    OVER = "over"


@dataclass(frozen=True, slots=True)
class ShownIncident:
    """An incident as it was known at a moment, and what was told of it last."""

    model: str
    kept: KeptIncident
    headline: str

    @property
    def state(self) -> IncidentState:
        """Whether it is over."""
        if self.kept.resolved_at is not None:
            return IncidentState.OVER
        return IncidentState.OPEN if self.kept.firing else IncidentState.RECOVERING

    @property
    def first_days_words(self) -> str:
        """First day of its first alert, or the range to that of its last."""
        days = [member.first_day for member in self.kept.members]
        return day_range_words(min(days), max(days), self.kept.opened_at)


def incidents_as_table(incidents: Iterable[ShownIncident], width: int | None = None) -> str:
    """A line for each incident: those that are open first, then the newest."""
    ordered = _order_incidents(incidents)
    if not ordered:
        return "no incident so far"
    return align_columns([_HEAD, *map(_incident_cells, ordered)], width)


def incidents_as_json(incidents: Iterable[ShownIncident]) -> str:
    """JSON list of incidents."""
    return json_text([_plain_incident(shown) for shown in _order_incidents(incidents)], indent=1)


def _order_incidents(incidents: Iterable[ShownIncident]) -> Sequence[ShownIncident]:
    states = tuple(IncidentState)
    return sorted(
        incidents,
        key=lambda shown: (
            states.index(shown.state),
            -shown.kept.opened_at,
            shown.model,
            shown.kept.address,
        ),
    )


def _incident_cells(shown: ShownIncident) -> tuple[str, ...]:
    kept = shown.kept
    over = "" if kept.resolved_at is None else short_moment_text(kept.resolved_at)
    severity = kept.severity if shown.state is IncidentState.OPEN else kept.worst
    moment = short_moment_text(kept.opened_at)
    return severity.value, shown.state.value, shown.model, kept.address, moment, over, shown.headline


def _plain_incident(shown: ShownIncident) -> dict[str, object]:
    kept = shown.kept
    days = [member.first_day for member in kept.members]
    return {
        "model": shown.model,
        "incident": kept.address,
        "kind": kept.kind.value,
        "state": shown.state.value,
        "severity": kept.severity.value,
        "headline": shown.headline,
        "first_day": to_iso(min(days))[:10],
        "last_day": to_iso(max(days))[:10],
        "opened_at": to_iso(kept.opened_at),
        "resolved_at": iso_or_none(kept.resolved_at),
        "alerts": [_plain_member(member) for member in kept.members],
        "steps": [_plain_step(step) for step in kept.steps],
    }


def _plain_member(member: IncidentMember) -> dict[str, object]:
    return {
        "alert": str(member.series),
        "since": to_iso(member.since),
        "severity": member.severity.value,
        "joined": to_iso(member.joined),
        "left": iso_or_none(member.left),
        "reason": None if member.ended is None else member.ended.value,
    }


def _plain_step(step: IncidentStep) -> dict[str, object]:
    growth = None if step.growth is None else step.growth.value
    return {"at": to_iso(step.at), "turn": step.turn.value, "growth": growth}
