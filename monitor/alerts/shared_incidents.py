"""Incidents that several models share: the same happened to the same inputs, or to records. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monitor.alerts.incident_headlines import count_features
from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.incident_words import incident_headline, incident_words
from monitor.alerts.incidents import Incident
from monitor.alerts.model_standing import ModelStanding
from monitor.core.clock import DAY
from monitor.sentences.known_measurements import join_few_names, readable_name

_NAMED = 12  # models that a sentence names
_OF_FEATURES = (IncidentKind.MISSING, IncidentKind.MOVED)
_OF_LABELS = (IncidentKind.LABELS, IncidentKind.OUTCOME)
_SHARED = (*_OF_FEATURES, IncidentKind.RECORDS, *_OF_LABELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedIncident:
    """What happened to several models."""

    incident: Incident  # of the first of them
    models: tuple[str, ...]
    today: int  # of its newest cycle

    @property
    def sentence(self) -> str:
        """What happened, to how many models, what that costs the first of them, what to do."""
        incident, words = self.incident, incident_words(self.incident, self.today)
        models = f"{len(self.models)} models: {join_few_names(map(readable_name, self.models), _NAMED)}"
        names = {part.name for part in incident.alerts}
        same = "The same" if incident.kind not in _OF_FEATURES else f"The same {count_features(len(names))}"
        return f"{words.headline}. {same} in {models}. {words.consequence}. Next: check what they share."


@dataclass(frozen=True, slots=True)
class SharedIncidents:
    """All that models share, and by (model, address) what an incident is a part of."""

    incidents: tuple[SharedIncident, ...]
    by_part: Mapping[tuple[str, str], SharedIncident]

    def other_models(self, model: str, address: str) -> list[str]:
        """Models that share an incident of a model."""
        shared = self.by_part.get((model, address))
        return [] if shared is None else [one for one in shared.models if one != model]

    def first_reason(self, standing: ModelStanding) -> str:
        """What is said first of a model: of what it shares only a few words."""
        first = standing.first_incident
        others = [] if first is None else self.other_models(standing.model, first.address)
        if first is None or not others:
            return standing.because[0]
        headline = incident_headline(first, standing.as_of or 0)
        headline = headline.partition(":")[0] if first.kind in _OF_FEATURES else headline  # the names
        many = f"{len(others)} other model{'' if len(others) == 1 else 's'}"
        return f"{headline}, as in {many}."


def _shared_names(incident: Incident) -> frozenset[str]:
    """What must be the same: the features; of labels what changed of them; of records nothing."""
    if incident.kind in _OF_FEATURES:
        return frozenset(part.name for part in incident.alerts)
    if incident.kind in _OF_LABELS:
        changes = (part.change for part in incident.alerts)
        return frozenset("" if change is None else change.kind for change in changes)
    return frozenset()


def share_incidents(standings: Iterable[ModelStanding]) -> SharedIncidents:
    """What several models share, that of the most models first.

    Incidents that fire, of one kind and about the same features, about records, or about the same of labels,
    whose first days are at most one day apart.
    """
    alike: dict[tuple[IncidentKind, frozenset[str]], list[tuple[ModelStanding, Incident]]] = {}
    for standing in standings:
        for incident in standing.incidents:
            if not incident.is_recovering and incident.kind in _SHARED:
                names = _shared_names(incident)
                alike.setdefault((incident.kind, names), []).append((standing, incident))
    shared, by_part = list[SharedIncident](), dict[tuple[str, str], SharedIncident]()
    for found in alike.values():
        for together in _split_by_day(found):
            models = tuple(sorted({standing.model for standing, _ in together}))
            if len(models) > 1:
                today = max(standing.as_of or 0 for standing, _ in together)
                one = SharedIncident(incident=together[0][1], models=models, today=today)
                shared.append(one)
                by_part |= {(standing.model, incident.address): one for standing, incident in together}
    shared.sort(key=lambda one: (-len(one.models), one.incident.address))
    return SharedIncidents(tuple(shared), by_part)


def _split_by_day(
    found: Sequence[tuple[ModelStanding, Incident]],
) -> list[list[tuple[ModelStanding, Incident]]]:
    """Incidents in the order of their first days, parted where two are more than a day apart."""
    ordered = sorted(found, key=lambda pair: (pair[1].first_days[0], pair[0].model))
    parts: list[list[tuple[ModelStanding, Incident]]] = []
    for standing, incident in ordered:
        last = parts[-1][-1][1].first_days[0] if parts else None
        if last is None or incident.first_days[0] - last > DAY:
            parts.append([])
        parts[-1].append((standing, incident))
    return parts
