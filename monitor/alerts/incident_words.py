"""All that is said of an incident: headline, cost, next step; in a paragraph, or in a few words. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_phrases import still_firing_words
from monitor.alerts.alert_rules import Rule
from monitor.alerts.incident_costs import list_cost_sentences
from monitor.alerts.incident_headlines import (
    count_features,
    distinct_names,
    headline_and_beside,
    since_words,
)
from monitor.alerts.incident_life import IncidentKind, KeptIncident
from monitor.alerts.incident_steps import feature_names, is_acceptable, joined_names, next_step
from monitor.alerts.incidents import Incident, told_incident
from monitor.alerts.lifecycle import Alert
from monitor.core.text import readable_text
from monitor.sentences.known_measurements import capitalize_first, spoken_measure
from monitor.sentences.linked_text import LinkedText, linked, plain_text
from monitor.sentences.time_words import day_range_words, day_words

_ACCEPT = "If something known explains it, accept it as normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentWords:
    """What is said of an incident, each a sentence or several without the last stop; empty: nothing."""

    headline: str  # what happened, since when
    names: LinkedText  # features that the headline names after its colon
    beside: str  # what it is compared with
    consequence: str  # what it costs: never empty
    also: LinkedText  # what began with it
    next_step: LinkedText  # what to do
    otherwise: str  # what else one may do: accept it

    @property
    def title(self) -> str:
        """The headline without the features that it names."""
        return self.headline.removesuffix(f": {plain_text(self.names)}") if self.names else self.headline

    @property
    def step_text(self) -> str:
        """What to do, without links."""
        return ". ".join(filter(None, (plain_text(self.next_step), self.otherwise)))


def incident_headline(incident: Incident, today: int) -> str:
    """What happened, since when."""
    headline, _ = headline_and_beside(incident, today)
    # Names of columns and rules stay as they are written; records and labels are none.
    written = {name for part in incident.every_alert for name in (part.name, part.alert.series.rule)}
    written -= {"records", "labels"}
    is_name = any(headline.startswith((f"{name} ", f"{name}:")) for name in written)
    return readable_text(headline if is_name else capitalize_first(headline))


def incident_words(incident: Incident, today: int) -> IncidentWords:
    """Headline, what it is compared with, what it costs, what began with it, what to do."""
    headline, names = incident_headline(incident, today), feature_names(incident)
    _, beside = headline_and_beside(incident, today)
    many = len(distinct_names(incident.also))
    days = {part.first_day for part in incident.alerts}
    is_together = all(part.first_day in days for part in incident.also)
    different = (
        f" {'is' if many == 1 else 'are'} different, too{': probably one cause' if is_together else ''}"
    )
    return IncidentWords(
        headline=headline,
        names=names if headline.endswith(f": {plain_text(names)}") else (),
        # A measure's code name stays as it is written.
        beside=readable_text(beside if "_" in beside.split(" ")[0] else capitalize_first(beside)),
        consequence=readable_text(". ".join(list_cost_sentences(incident, today))),
        also=_begin_sentence(linked("" if is_together else "Since then ", joined_names(incident), different))
        if many
        else (),
        next_step=next_step(incident, today),
        otherwise=_ACCEPT if is_acceptable(incident) else "",
    )


def _begin_sentence(pieces: LinkedText) -> LinkedText:
    """A text as a sentence begins: names stay as they are written."""
    first, *others = pieces
    return (
        replace(first, text=capitalize_first(first.text)) if first.text.startswith("the ") else first,
        *others,
    )


def told_headline(kept: KeptIncident, alerts: Iterable[Alert], rules: Sequence[Rule], today: int) -> str:
    """Headline of an incident, open or over, as it was when it was told to grow, or to have opened.

    Parameters
    ----------
    alerts
        that ever belonged to it, whatever became of them.
    """
    told = told_incident(kept, alerts, rules)
    return kept.kind.value if told is None else incident_headline(told, today)


def first_days_words(incident: Incident, today: int) -> str:
    """First day of an incident; a range where it is not known better. What joined it later is none of it."""
    first, last = incident.first_days
    return day_range_words(first, last if last < incident.kept.opened_at else first, today)


_SHORT = {  # of kinds about features or outputs; by a change; by a limit or a silence
    IncidentKind.MISSING: "missing",
    IncidentKind.MOVED: "different",
    IncidentKind.OUTPUT: "different",
}
_SHORT_CHANGED = {
    IncidentKind.LABELS: "labels different",
    IncidentKind.OUTCOME: "labels different",
    IncidentKind.PERFORMANCE: "labels unlike the scores",
}
_SHORT_COUNTED = {"records": "records", "coverage": "labels"}
_SHORT_SILENT = {"log_age": "no records", "label_age": "no labels"}


def short_incident_words(incident: Incident, today: int) -> str:
    """What happened in a few words, as a table has room for: "six features missing since 31 Dec"."""
    names, part = distinct_names(incident.alerts), incident.alerts[0]
    change, kind = part.change, incident.kind
    if kind in _SHORT:
        who = readable_text(names[0]) if len(names) == 1 else count_features(len(names))
        what = f"{who} {_SHORT[kind]}"
    elif change is not None and change.kind in _SHORT_COUNTED:
        what = f"{'more' if change.rises else 'fewer'} {_SHORT_COUNTED[change.kind]}"
    elif change is not None and kind in _SHORT_CHANGED:
        what = _SHORT_CHANGED[kind]
    elif change is None and kind is IncidentKind.PERFORMANCE and part.rule is not None:
        what = f"{spoken_measure(part.rule.measure)} beyond its limit"
    elif change is None and part.rule is not None and part.rule.measure in _SHORT_SILENT:
        what = _SHORT_SILENT[part.rule.measure]
    elif change is None and part.rule is not None and not dict(part.rule.annotations).get("summary"):
        what = f"{spoken_measure(part.rule.measure)} beyond your limit"
    else:
        return readable_text(headline_and_beside(incident, today)[0].partition(", n ")[0])
    return f"{what} since {since_words(incident, today)}"


def incident_sentences(incident: Incident, today: int) -> Iterator[str]:
    """What is said of an incident in a paragraph; each sentence without its stop."""
    words = incident_words(incident, today)
    if incident.is_recovering:
        since, until = incident.kept.last_fired_at, incident.kept.recovers_at
        over = "" if until is None else f", over on {day_words(until, today)} unless it comes back"
        yield f"Recovering since {day_words(since, today)}{over}"
        yield f"It was: {words.headline}"
        return
    yield from filter(None, (words.headline, words.beside, words.consequence, plain_text(words.also)))
    again = dict.fromkeys(filter(None, (still_firing_words(part.alert) for part in incident.every_alert)))
    if len(again) == 1 and len(incident.every_alert) == 1:
        yield capitalize_first(next(iter(again)))
    yield f"Next: {words.step_text}"
    if incident.acknowledged_by:
        yield readable_text(f"Acknowledged by {incident.acknowledged_by}")
