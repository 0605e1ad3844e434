"""The life of an incident: which alerts are one, and how it opens, grows, recovers and is over. Pure.

An incident is a fold over the moments at which alerts were judged: which moments a process saw in one go
makes no difference. What was known at an earlier moment is read from the incident itself: see `known_at`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from monitor.alerts.alert_rules import AlertedSeries, Rule, Severity
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.core.clock import DAY, floor_to, from_iso, to_iso
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measure_options import LABEL
from monitor.measures.measurement_row import CUMULATIVE
from monitor.sentences.known_measurements import FEATURE

RECOVERY = 2 * DAY  # an incident is over once none of its alerts has fired for so long
_LARGER = 2.0  # times as many, or as large, as when it was told last
_SEVERITIES = tuple(Severity)


class IncidentKind(StrEnum):
    """What an incident is about, in the order in which they are told."""

    RECORDS = "records"
    LABELS = "labels"
    PERFORMANCE = "performance"
    OUTCOME = "labels moved"  # what labels say; whether they come and are right is `LABELS`
    EXPERIMENT = "experiment"
    MISSING = "inputs missing"
    MOVED = "inputs moved"
    OUTPUT = "output moved"
    OTHER = "other"
    INFORMATION = "information"  # alerts that call for nobody


KINDS = tuple(IncidentKind)
OF_INPUTS = (IncidentKind.MISSING, IncidentKind.MOVED, IncidentKind.OUTPUT)
# Kinds that one cause has, and by how much their first days may differ: what adds positives makes performance
# worse as well, and both are dated by labels.
_OF_ONE_CAUSE = ((OF_INPUTS, 0), ((IncidentKind.PERFORMANCE, IncidentKind.OUTCOME), DAY))
_OF_LABEL_VALUES = ("base_rate", "level", "spread", "skew", "shape", "share")  # changes that are no fault
_BY_FAMILY: Mapping[MeasureFamily, IncidentKind] = {
    MeasureFamily.LOG: IncidentKind.RECORDS,
    MeasureFamily.VOLUME: IncidentKind.RECORDS,
    MeasureFamily.LABELS: IncidentKind.LABELS,
    MeasureFamily.QUALITY: IncidentKind.MISSING,
    MeasureFamily.SHIFT: IncidentKind.MOVED,
    MeasureFamily.DISTANCES: IncidentKind.MOVED,
    MeasureFamily.VALUES: IncidentKind.MOVED,
    MeasureFamily.PERFORMANCE: IncidentKind.PERFORMANCE,
    MeasureFamily.CALIBRATION: IncidentKind.PERFORMANCE,
    MeasureFamily.GAINS: IncidentKind.PERFORMANCE,
    MeasureFamily.AVERAGES: IncidentKind.PERFORMANCE,
}
_BY_SUBJECT: Mapping[str, IncidentKind] = {
    LABEL: IncidentKind.LABELS,
    "labels": IncidentKind.LABELS,
    "score": IncidentKind.OUTPUT,
    "prediction": IncidentKind.OUTPUT,
    "class": IncidentKind.OUTPUT,
}


class IncidentTurn(StrEnum):
    """What became of an incident, and is told."""

    OPENED = "opened"
    GREW = "grew"
    RESOLVED = "resolved"


class IncidentGrowth(StrEnum):
    """Why an incident is told again."""

    CRITICAL = "it is critical now"
    KIND = "a new kind of alert belongs to it"
    MANY = "twice as many alerts belong to it"
    LARGE = "it is twice as large"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentMember:
    """An episode of an alert, as a part of its incident. Moments are as-of times in microseconds."""

    series: AlertedSeries
    since: int  # of the alert: with its series this names it
    kind: IncidentKind
    severity: Severity
    # of the change, or the one before the alert's first breach: its start.
    first_day: int
    size: float  # see `alert_size`, as it joined
    joined: int  # when it fired
    left: int | None = None  # when it ended
    ended: EndReason | None = None

    @property
    def recovered(self) -> int | None:
        """From when on it keeps its incident open no longer; None: it fires.

        Where somebody decided, or the change is what is expected now, nothing is waited for.
        """
        if self.left is None:
            return None
        decided = self.ended in (EndReason.ACCEPTED, EndReason.REMOVED, EndReason.USUAL)
        return self.left if decided else self.left + RECOVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentStep:
    """A moment at which an incident opened, grew or was over, and what it was then, and before, at most."""

    at: int
    turn: IncidentTurn
    growth: IncidentGrowth | None = None
    kinds: tuple[IncidentKind, ...] = ()
    severity: Severity = Severity.INFO
    many: int = 0  # alerts that fired
    sizes: tuple[tuple[AlertedSeries, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptIncident:
    """Alerts of one cause, from the first to the last."""

    address: str  # first day and kind as they were when it opened: it never changes, and no other has it
    first_day: int  # start of the first day that it opened with, microseconds
    members: tuple[IncidentMember, ...]
    steps: tuple[IncidentStep, ...]

    @property
    def opened_at(self) -> int:
        """When the first alert of it fired."""
        return min(member.joined for member in self.members)

    @property
    def firing(self) -> tuple[IncidentMember, ...]:
        """Members that fire."""
        return tuple(member for member in self.members if member.left is None)

    @property
    def kind(self) -> IncidentKind:
        """That of its worst member, by the order of kinds."""
        return min((member.kind for member in self.members), key=KINDS.index)

    @property
    def severity(self) -> Severity:
        """That of the worst alert that fires; where none does, of the worst that belonged to it."""
        return worst_severity(member.severity for member in self.firing) if self.firing else self.worst

    @property
    def last_fired_at(self) -> int:
        """When the last of those that ended did; 0: none has."""
        return max((member.left or 0 for member in self.members), default=0)

    @property
    def worst(self) -> Severity:
        """That of the worst alert that ever belonged to it."""
        return worst_severity(member.severity for member in self.members)

    @property
    def recovers_at(self) -> int | None:
        """From when on it is over unless an alert of it fires before; None: one fires."""
        moments = [member.recovered for member in self.members]
        known = [moment for moment in moments if moment is not None]
        return max(known) if len(known) == len(moments) else None

    @property
    def resolved_at(self) -> int | None:
        """When it was over; None: it is open."""
        last = self.steps[-1:]
        return last[0].at if last and last[0].turn is IncidentTurn.RESOLVED else None

    def is_open(self, at: int) -> bool:
        """Whether it is open at a moment: an alert of it fires, or has fired just before."""
        known = self.known_at(at)
        return bool(known.members) and (known.recovers_at is None or at < known.recovers_at)

    def known_at(self, at: int) -> "KeptIncident":
        """The incident as it was known at a moment; without members: it had not opened."""

        def as_then(member: IncidentMember) -> IncidentMember:
            return (
                member if member.left is None or member.left <= at else replace(member, left=None, ended=None)
            )

        return replace(
            self,
            members=tuple(as_then(member) for member in self.members if member.joined <= at),
            steps=tuple(step for step in self.steps if step.at <= at),
        )


@dataclass(frozen=True, slots=True)
class ModelIncidents:
    """Incidents of a model that are open, and the addresses of all that it has had."""

    open: tuple[KeptIncident, ...] = ()
    addresses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class JudgedMoment:
    """What rules said at a moment: alerts that stand after it, and those that ended by it."""

    at: int
    standing: Mapping[AlertedSeries, Alert]
    ended: Sequence[Alert] = ()


@dataclass(frozen=True, slots=True)
class IncidentRound:
    """Incidents after some moments, and those that are not as they were, what is over now among them."""

    incidents: ModelIncidents
    written: tuple[KeptIncident, ...] = ()
    steps: Mapping[str, IncidentStep] = field(default_factory=dict)  # by address, what is to be told of them


def advance_incidents(
    before: ModelIncidents, moments: Iterable[JudgedMoment], rules: Sequence[Rule]
) -> IncidentRound:
    """Incidents of a model after its rules were judged at some moments, in their order.

    Each alert that fires is in one of them; each that is open has an alert that fires, or fired within
    `RECOVERY`. The order of the alerts of a moment makes no difference.
    """
    by_name = {rule.name: rule for rule in rules}
    model, over = before, list[KeptIncident]()
    for moment in moments:
        model, resolved = _advance_moment(model, moment, by_name)
        over += resolved
    known = {incident.address: incident for incident in before.open}
    written = [incident for incident in (*model.open, *over) if known.get(incident.address) is not incident]
    steps = {}
    for incident in written:
        told = known[incident.address].steps if incident.address in known else ()
        if new := incident.steps[len(told) :]:
            # Of several the last counts; but what has just opened, and grew at once, has opened.
            opened = new[0].turn is IncidentTurn.OPENED and new[-1].turn is IncidentTurn.GREW
            steps[incident.address] = new[0] if opened else new[-1]
    return IncidentRound(model, tuple(written), steps)


def alert_kind(alert: Alert, rule: Rule | None) -> IncidentKind:
    """What an alert is about: by its subject, its change, or the family of its rule's measure."""
    if alert.severity is Severity.INFO:
        return IncidentKind.INFORMATION
    subject, change = alert.series.subject.partition(":")[0], alert.breach.change
    if subject == LABEL and change is not None and change.kind in _OF_LABEL_VALUES:
        return IncidentKind.OUTCOME
    if subject in _BY_SUBJECT:
        return _BY_SUBJECT[subject]
    if change is not None:
        faulty = change.kind in ("missing", "invalid")
        of_feature = IncidentKind.MISSING if faulty else IncidentKind.MOVED
        of_whole = IncidentKind.RECORDS if subject else IncidentKind.PERFORMANCE
        return of_feature if alert.series.subject.startswith(FEATURE) else of_whole
    if rule is None or rule.measure not in BY_NAME or rule.measure == EVIDENCE:
        return IncidentKind.OTHER
    kind = _BY_FAMILY.get(BY_NAME[rule.measure].family, IncidentKind.OTHER)
    kind = IncidentKind.LABELS if rule.measure == "label_age" else kind
    return IncidentKind.EXPERIMENT if rule.window == CUMULATIVE else kind


def alert_first_day(alert: Alert) -> int:
    """Start of the first day of an alert's change, or of the day before its first breach; microseconds."""
    change = alert.breach.change
    since = None if change is None else change.since
    return from_iso(since) if since else floor_to(alert.since - 1, DAY)


def alert_size(alert: Alert) -> float:
    """How large it is: of a change in the unit of its kind, else how far from zero on the breached side."""
    breach = alert.breach
    if breach.change is not None:
        return breach.change.size
    if breach.value is None or breach.limit is None:
        return 0.0
    # What fell below a limit above zero, as a p-value or an AUC itself, has no size that could double.
    return max(0.0, breach.value if breach.value > breach.limit else -breach.value)


def worst_severity(severities: Iterable[Severity]) -> Severity:
    """The most urgent of some; of none, for information."""
    return min(severities, key=_SEVERITIES.index, default=Severity.INFO)


def _advance_moment(
    model: ModelIncidents, moment: JudgedMoment, rules: Mapping[str, Rule]
) -> tuple[ModelIncidents, list[KeptIncident]]:
    """Open incidents after a moment, and those that were over by it."""
    firing = {
        (alert.series, alert.since): alert
        for alert in moment.standing.values()
        if alert.state is AlertState.FIRING
    }
    if not firing and not model.open:
        return model, []
    ends = {(alert.series, alert.since): alert for alert in moment.ended}
    open_, resolved = list[KeptIncident](), list[KeptIncident]()
    for one in model.open:
        incident = _end_members(one, firing, ends, moment.at)
        if incident.recovers_at is not None and incident.recovers_at <= moment.at:
            over = IncidentStep(at=incident.recovers_at, turn=IncidentTurn.RESOLVED)
            resolved.append(replace(incident, steps=(*incident.steps, over)))
        else:
            open_.append(incident)
    placed = {(member.series, member.since) for one in open_ for member in one.firing}
    addresses = model.addresses
    for member in sorted(_new_members(firing, placed, rules), key=_joining_order):
        at = _find_home(member, open_)
        if at is None:
            address = _free_address(member, addresses)
            addresses |= {address}
            open_.append(
                KeptIncident(address=address, first_day=member.first_day, members=(member,), steps=())
            )
        else:
            open_[at] = replace(open_[at], members=(*open_[at].members, member))
    told = [_tell_turn(incident, firing, rules, moment.at) for incident in open_]
    return ModelIncidents(tuple(told), addresses), resolved


def _end_members(
    incident: KeptIncident,
    firing: Collection[tuple[AlertedSeries, int]],
    ends: Mapping[tuple[AlertedSeries, int], Alert],
    at: int,
) -> KeptIncident:
    """The incident without those that fire no longer among the firing ones."""
    if all((member.series, member.since) in firing for member in incident.firing):
        return incident

    def ended(member: IncidentMember) -> IncidentMember:
        key = member.series, member.since
        if member.left is not None or key in firing:
            return member
        alert = ends.get(key)
        if alert is None or alert.resolved_at is None:  # its history was taken away
            return replace(member, left=at, ended=EndReason.REMOVED)
        return replace(member, left=alert.resolved_at, ended=alert.ended)

    return replace(incident, members=tuple(map(ended, incident.members)))


def _new_members(
    firing: Mapping[tuple[AlertedSeries, int], Alert],
    placed: Collection[tuple[AlertedSeries, int]],
    rules: Mapping[str, Rule],
) -> Iterator[IncidentMember]:
    for key, alert in firing.items():
        if key not in placed:
            yield IncidentMember(
                series=alert.series,
                since=alert.since,
                kind=alert_kind(alert, rules.get(alert.series.rule)),
                severity=alert.severity,
                first_day=alert_first_day(alert),
                size=alert_size(alert),
                joined=alert.since if alert.fired_at is None else alert.fired_at,
            )


def _joining_order(member: IncidentMember) -> tuple[int, int, AlertedSeries]:
    return KINDS.index(member.kind), member.first_day, member.series


def _find_home(member: IncidentMember, incidents: Sequence[KeptIncident]) -> int | None:
    """Place of the open incident that an alert belongs to; None: it opens one of its own.

    Where it was before, if that is open. Of kinds that one cause has that of a worse kind which began on the
    same day. That of its own kind. Last that of a lesser kind of the same day, which becomes one of its kind.
    """
    best: tuple[tuple[int, int, str], int] | None = None
    for at, incident in enumerate(incidents):
        rank = _home_rank(member, incident)
        if rank is not None:
            order = rank, incident.opened_at, incident.address
            best = (order, at) if best is None else min(best, (order, at))
    return None if best is None else best[1]


def _home_rank(member: IncidentMember, incident: KeptIncident) -> int | None:
    if any(one.series == member.series for one in incident.members):
        return 0
    kind = incident.kind
    of_one = [(kinds, apart) for kinds, apart in _OF_ONE_CAUSE if member.kind in kinds and kind in kinds]
    same_day = any(
        abs(one.first_day - member.first_day) <= apart for _, apart in of_one for one in incident.members
    )
    if same_day and KINDS.index(kind) < KINDS.index(member.kind):
        return 1 + of_one[0][0].index(kind)
    if kind is member.kind:
        return 1 + len(OF_INPUTS)
    return 2 + len(OF_INPUTS) if same_day else None


def _free_address(member: IncidentMember, taken: Collection[str]) -> str:
    """First day and kind; where an earlier incident has it, with a number."""
    address = f"{to_iso(member.first_day)[:10]}-{member.kind.value.replace(' ', '-')}"
    if address not in taken:
        return address
    number = 2
    while f"{address}-{number}" in taken:
        number += 1
    return f"{address}-{number}"


def _tell_turn(
    incident: KeptIncident,
    firing: Mapping[tuple[AlertedSeries, int], Alert],
    rules: Mapping[str, Rule],
    at: int,
) -> KeptIncident:
    """The incident with a further step where it opened, or grew since it was told last."""
    members = incident.firing
    if not members:
        return incident
    alerts = [firing[member.series, member.since] for member in members]
    sizes = {alert.series: alert_size(alert) for alert in alerts}
    kinds = {alert_kind(alert, rules.get(alert.series.rule)) for alert in alerts}
    severity = worst_severity(alert.severity for alert in alerts)
    steps = incident.steps
    growth = _find_growth(incident, kinds, severity, sizes)
    if steps and growth is None:
        return incident
    step = IncidentStep(
        at=at if steps else incident.opened_at,
        turn=IncidentTurn.GREW if steps else IncidentTurn.OPENED,
        growth=growth if steps else None,
        kinds=tuple(kind for kind in KINDS if kind in kinds or (steps and kind in steps[-1].kinds)),
        severity=worst_severity([severity, *(step.severity for step in steps)]),
        many=max([len(members), *(step.many for step in steps)]),
        sizes=tuple(sorted(_largest_told(incident, sizes).items())),
    )
    return replace(incident, steps=(*steps, step))


def _find_growth(
    incident: KeptIncident,
    kinds: Collection[IncidentKind],
    severity: Severity,
    sizes: Mapping[AlertedSeries, float],
) -> IncidentGrowth | None:
    """In which way it is more than when it was told last; None: it is not, or was not told at all."""
    if not incident.steps:
        return None
    last = incident.steps[-1]
    if severity is Severity.CRITICAL and last.severity is not Severity.CRITICAL:
        return IncidentGrowth.CRITICAL
    if not {*kinds} <= {*last.kinds}:
        return IncidentGrowth.KIND
    if len(sizes) >= _LARGER * last.many:
        return IncidentGrowth.MANY
    told = dict(last.sizes)
    joined = {member.series: member.size for member in incident.members}
    if any(size >= _LARGER * told.get(series, joined[series]) > 0 for series, size in sizes.items()):
        return IncidentGrowth.LARGE
    return None


def _largest_told(incident: KeptIncident, sizes: Mapping[AlertedSeries, float]) -> dict[AlertedSeries, float]:
    told = dict(incident.steps[-1].sizes) if incident.steps else {}
    return told | {series: max(size, told.get(series, 0.0)) for series, size in sizes.items()}
