"""Incidents as they are told: what is kept of them, their alerts, and what their costs are told by. Pure.

Which alerts are one incident is kept: see `incident_life`. What is said of one: `incident_words`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.incident_life import (
    KINDS,
    IncidentKind,
    IncidentTurn,
    KeptIncident,
    alert_first_day,
    alert_kind,
    alert_size,
)
from monitor.alerts.lifecycle import Alert, alert_at_moment
from monitor.core.change import Change
from monitor.core.clock import SECOND
from monitor.sentences.change_words import subject_name
from monitor.sentences.known_measurements import KnownMeasurements, join_few_names

_WRONG_LABELS = ("beyond", "unseen", "invalid", "corrected", "early")  # faults of labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IncidentContext:
    """What is known of a model beside its alerts: what its incidents cost is told by it."""

    measurements: KnownMeasurements = field(default_factory=lambda: KnownMeasurements((), "", ""))
    labels: bool = True  # whether labels are configured
    # records_table, labels_table: where they are written; empty: a query reads them.
    records_table: str = ""
    labels_table: str = ""
    # wrong_labels: share of the labels that look wrong; labels_end: when the newest label came, where they
    # have stopped. Both of what fires now.
    wrong_labels: float = 0.0
    labels_end: int | None = None
    is_over: bool = False  # known as it was over: what stood in the way while it lasted does no longer


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentAlert:
    """An alert that fires, as a part of its incident."""

    alert: Alert
    rule: Rule | None  # None: it is configured no longer
    acknowledged_by: str  # empty: by nobody
    kind: IncidentKind
    first_day: int  # of the change, or the one before the alert's first breach; microseconds

    @property
    def change(self) -> Change | None:
        """What changed, of a rule on the evidence of days."""
        return self.alert.breach.change

    @property
    def name(self) -> str:
        """What it is about."""
        return subject_name(self.alert.series.subject, self.alert.series.segment or None)

    @property
    def size(self) -> float:
        """How large it is: see `alert_size`."""
        return alert_size(self.alert)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An incident as it is told: what is kept of it, and its alerts."""

    kept: KeptIncident
    kind: IncidentKind
    alerts: tuple[IncidentAlert, ...]  # those of its kind, the largest first
    also: tuple[IncidentAlert, ...] = ()  # of other kinds
    context: IncidentContext = field(default_factory=IncidentContext, compare=False)
    same_day: tuple[str, ...] = ()  # addresses of others of its model that began that day

    @property
    def every_alert(self) -> tuple[IncidentAlert, ...]:
        """All that belongs to it."""
        return self.alerts + self.also

    @property
    def address(self) -> str:
        """What it is called by, as "2013-12-31-inputs-missing": the same from first to last."""
        return self.kept.address

    @property
    def first_days(self) -> tuple[int, int]:
        """Starts of the first day of its first alert and of its last, microseconds."""
        days = [member.first_day for member in self.kept.members]
        return min(days), max(days)

    @property
    def wrong_labels(self) -> float:
        """Share of the labels that look wrong: performance that is worse may be of them; 0: none do."""
        changes = [part.change for part in self.alerts if self.kind is IncidentKind.LABELS]
        shares = [one.observed for one in changes if one is not None and one.kind in _WRONG_LABELS]
        return max((share for share in shares if share is not None), default=0.0)

    @property
    def is_recovering(self) -> bool:
        """Whether none of its alerts fires: it is open until that is confirmed."""
        return not self.kept.firing

    @property
    def severity(self) -> Severity:
        """That of the worst alert that fires."""
        return self.kept.severity

    @property
    def acknowledged_by(self) -> str:
        """Who has seen all of it; empty: somebody is to look."""
        names = [one.acknowledged_by for one in self.every_alert]
        return join_few_names(dict.fromkeys(names)) if all(names) else ""


def describe_incidents(
    kept: Iterable[KeptIncident], alerts: Iterable[tuple[Alert, str]], rules: Sequence[Rule]
) -> list[Incident]:
    """Incidents of one model that are open, the worst first.

    Parameters
    ----------
    alerts
        those that belong to them, each with who has acknowledged it: of an incident of which none fires those
        that ended last. An incident without any is left out.
    """
    by_name = {rule.name: rule for rule in rules}
    by_key = {(alert.series, alert.since): (alert, seen_by) for alert, seen_by in alerts}
    kept = list(kept)
    incidents = []
    for one in kept:
        members = one.firing or [member for member in one.members if member.left == one.last_fired_at]
        parts = [
            _incident_alert(*by_key[key], by_name)
            for member in members
            if (key := (member.series, member.since)) in by_key
        ]
        if parts:
            kind = min((part.kind for part in parts), key=KINDS.index)
            same_day = (other.address for other in kept if other.first_day == one.first_day)
            incidents.append(
                Incident(
                    kept=one,
                    kind=kind,
                    alerts=tuple(sorted((part for part in parts if part.kind is kind), key=_size_order)),
                    also=tuple(sorted((part for part in parts if part.kind is not kind), key=_size_order)),
                    same_day=tuple(address for address in same_day if address != one.address),
                )
            )
    severities = tuple(Severity)
    return sorted(
        incidents,
        key=lambda one: (
            one.is_recovering,
            # Labels that look wrong come before performance that is measured by them.
            0 if one.wrong_labels else severities.index(one.severity),
            KINDS.index(one.kind),
            one.address,
        ),
    )


def explain_incidents(incidents: Sequence[Incident], context: IncidentContext) -> list[Incident]:
    """Incidents of a model with what is known beside them, and of each other."""
    known = replace(
        context,
        wrong_labels=max((one.wrong_labels for one in incidents), default=0.0),
        labels_end=max(filter(None, map(_labels_end, incidents)), default=None),
    )
    return [replace(one, context=known) for one in incidents]


def _labels_end(incident: Incident) -> int | None:
    """When the newest label came, where an alert says that they have stopped."""
    for part in incident.every_alert:
        value = part.alert.breach.value
        if part.rule is not None and part.rule.measure == "label_age" and value is not None:
            return part.alert.breach.window_end - round(value * SECOND)
    return None


def told_incident(kept: KeptIncident, alerts: Iterable[Alert], rules: Sequence[Rule]) -> Incident | None:
    """An incident as it was when it was told to grow, or to have opened; None: no alert of it is known."""
    told = [step.at for step in kept.steps if step.turn is not IncidentTurn.RESOLVED]
    at = max(told, default=kept.opened_at)
    known = [(alert_at_moment(alert, at), "") for alert in alerts if alert.since <= at]
    return next(iter(describe_incidents([kept.known_at(at)], known, rules)), None)


def _incident_alert(alert: Alert, acknowledged_by: str, rules: Mapping[str, Rule]) -> IncidentAlert:
    rule = rules.get(alert.series.rule)
    return IncidentAlert(
        alert=alert,
        rule=rule,
        acknowledged_by=acknowledged_by,
        kind=alert_kind(alert, rule),
        first_day=alert_first_day(alert),
    )


def _size_order(part: IncidentAlert) -> tuple[int, float, str]:
    return (tuple(Severity).index(part.alert.severity), -part.size, part.name)
