"""Incidents: alerts of one cause as one thing: what happened, since when, what to do. Pure.

Alerts of one kind that fire together are one incident; inputs that began to differ on the day of a worse
incident of inputs belong to it, and so does the output. Each incident has one headline; the figures of its
alerts stand one step further, in `monitor alerts --explain`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.alerts.alert_phrases import alert_figures, alerted_series_name, still_firing_words
from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.lifecycle import Alert
from monitor.alerts.verdicts import NOT_KEPT
from monitor.core.change import Change
from monitor.core.clock import DAY, floor_to, from_iso, to_iso
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth
from monitor.measures.value_words import format_measure_value
from monitor.sentences.change_words import (
    NEW_VERSION,
    RESIDUAL_LEVEL,
    RESIDUAL_SLOPE,
    UNFOLDING,
    UNFOLDING_FEED,
    fault_words,
    kind_measure,
    observed_and_usual_words,
    outcomes_sentence,
    subject_name,
)
from monitor.sentences.effect_sentences import change_effect_sentence
from monitor.sentences.known_measurements import FEATURE, capitalize_first, join_few_names, spoken_measure
from monitor.sentences.time_words import day_range_words, day_words, end_words, length_words

_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMED = 8  # features that a sentence names, the largest first
_EVERY = 0.999  # share of the records that reads as each of them
_AS_EXPECTED_STEP = "If something known explains it, accept it as normal"


class IncidentKind(StrEnum):
    """What an incident is about, in the order in which they are told."""

    RECORDS = "records"
    LABELS = "labels"
    PERFORMANCE = "performance"
    EXPERIMENT = "experiment"
    MISSING = "inputs missing"
    MOVED = "inputs moved"
    OUTPUT = "output moved"
    OTHER = "other"


_ORDER = tuple(IncidentKind)
_OF_INPUTS = (IncidentKind.MISSING, IncidentKind.MOVED, IncidentKind.OUTPUT)
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
    "label": IncidentKind.LABELS,
    "labels": IncidentKind.LABELS,
    "score": IncidentKind.OUTPUT,
    "prediction": IncidentKind.OUTPUT,
    "class": IncidentKind.OUTPUT,
}


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
        """How large the change is, in the unit of its kind; of rules on windows 0."""
        return 0.0 if self.change is None else self.change.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Alerts of one cause."""

    kind: IncidentKind
    alerts: tuple[IncidentAlert, ...]  # those of its kind, the largest first
    also: tuple[IncidentAlert, ...]  # of other kinds that began on the same day

    @property
    def every_alert(self) -> tuple[IncidentAlert, ...]:
        """All that belongs to it."""
        return self.alerts + self.also

    @property
    def first_day(self) -> int:
        """Start of the first day of the first alert, microseconds: the incident's address."""
        return min(one.first_day for one in self.every_alert)

    @property
    def address(self) -> str:
        """First day and kind: what it is called by, as "2013-12-31-inputs-missing"."""
        return f"{to_iso(self.first_day)[:10]}-{self.kind.value.replace(' ', '-')}"

    @property
    def severity(self) -> Severity:
        """That of the worst alert."""
        severities = [one.alert.severity for one in self.every_alert]
        return min(severities, key=tuple(Severity).index)

    @property
    def acknowledged_by(self) -> str:
        """Who has seen all of it; empty: somebody is to look."""
        names = [one.acknowledged_by for one in self.every_alert]
        return join_few_names(dict.fromkeys(names)) if all(names) else ""


def group_incidents(firing: Iterable[tuple[Alert, str]], rules: Sequence[Rule]) -> list[Incident]:
    """Incidents of one model's firing alerts, each with who has acknowledged it; the worst first."""
    by_name = {rule.name: rule for rule in rules}
    by_kind: dict[IncidentKind, list[IncidentAlert]] = {}
    for alert, acknowledged_by in firing:
        part = _incident_alert(alert, by_name.get(alert.series.rule), acknowledged_by)
        by_kind.setdefault(part.kind, []).append(part)
    incidents = []
    for kind in _ORDER:
        parts = by_kind.pop(kind, [])
        if not parts:
            continue
        days, also = {part.first_day for part in parts}, list[IncidentAlert]()
        for other in _OF_INPUTS if kind in _OF_INPUTS else ():
            others = by_kind.get(other, [])
            also += [part for part in others if part.first_day in days]
            by_kind[other] = [part for part in others if part.first_day not in days]
        incidents.append(Incident(kind=kind, alerts=tuple(sorted(parts, key=_size_order)), also=tuple(also)))
    severities = tuple(Severity)
    return sorted(incidents, key=lambda one: (severities.index(one.severity), _ORDER.index(one.kind)))


def incident_sentences(incident: Incident, today: int) -> Iterator[str]:
    """Headline, what it is compared with, what began with it, what to do; each sentence without its stop."""
    headline, beside = _HEADLINES[incident.kind](incident, today)
    # Names of columns and rules stay as they are written.
    written = {name for part in incident.every_alert for name in (part.name, part.alert.series.rule)}
    is_name = any(headline.startswith((f"{name} ", f"{name}:")) for name in written)
    yield headline if is_name else capitalize_first(headline)
    if beside:
        yield capitalize_first(beside)
    if effect := change_effect_sentence(_feature_changes(incident)):
        yield effect
    if incident.also:
        verb = "is" if len(_distinct_names(incident.also)) == 1 else "are"
        names = join_few_names(_distinct_names(incident.also), _NAMED)
        yield f"Since then {names} {verb} different, too: probably one cause"
    again = dict.fromkeys(filter(None, (still_firing_words(part.alert) for part in incident.every_alert)))
    if len(again) == 1 and len(incident.every_alert) == 1:
        yield capitalize_first(next(iter(again)))
    yield f"Next: {_next_step(incident, today)}"
    if incident.acknowledged_by:
        yield f"Acknowledged by {incident.acknowledged_by}"


def _incident_alert(alert: Alert, rule: Rule | None, acknowledged_by: str) -> IncidentAlert:
    change = alert.breach.change
    since = None if change is None else change.since
    return IncidentAlert(
        alert=alert,
        rule=rule,
        acknowledged_by=acknowledged_by,
        kind=_incident_kind(alert, rule),
        first_day=from_iso(since) if since else floor_to(alert.since - 1, DAY),
    )


def _incident_kind(alert: Alert, rule: Rule | None) -> IncidentKind:
    subject, change = alert.series.subject.partition(":")[0], alert.breach.change
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


def _feature_changes(incident: Incident) -> dict[str, Change]:
    """Changes of features of the whole: what they do to the mean score is known, perhaps."""
    return {
        part.name: part.change
        for part in incident.every_alert
        if part.change is not None
        and part.alert.series.subject.startswith(FEATURE)
        and not part.alert.series.segment
    }


def _size_order(part: IncidentAlert) -> tuple[int, float, str]:
    return (tuple(Severity).index(part.alert.severity), -part.size, part.name)


def _distinct_names(parts: Iterable[IncidentAlert]) -> list[str]:
    return list(dict.fromkeys(part.name for part in parts))


def _missing_headline(incident: Incident, today: int) -> tuple[str, str]:
    changes = [part.change for part in incident.alerts if part.change is not None]
    shares = [change.observed for change in changes if change.observed is not None]
    if not shares:
        return _plain_headline(incident, today)
    where, since = _share_words(min(shares), max(shares)), _since(incident, today)
    usual = [0.0 if change.expected is None else change.expected.high for change in changes]
    beside = "" if any(usual) else "before in none"
    if len(incident.alerts) == 1:
        state = "invalid" if changes[0].kind == "invalid" else "missing"
        beside = beside or f"usually in up to {format_measure_value('missing_rate', usual[0])}"
        return f"{incident.alerts[0].name} is {state} in {where} since {since}", beside
    names = _distinct_names(incident.alerts)
    named = join_few_names(names, _NAMED)
    return f"{_count_features(len(names))} are missing in {where} since {since}: {named}", beside


def _moved_headline(incident: Incident, today: int) -> tuple[str, str]:
    names = _distinct_names(incident.alerts)
    if len(names) > 1:
        named = join_few_names(names, _NAMED)
        if incident.kind is IncidentKind.OUTPUT:
            return f"{named} are different since {_since(incident, today)}", ""
        return f"{_count_features(len(names))} are different since {_since(incident, today)}: {named}", ""
    part = max(incident.alerts, key=lambda part: part.size)
    if part.change is None:
        return _plain_headline(incident, today)
    return f"{part.name} {_how_changed(part.change)} since {_since(incident, today)}", _beside(part, today)


_HOW: Mapping[str, tuple[str, str]] = {  # of a change that rises, that falls
    "level": ("is higher", "is lower"),
    "spread": ("is more spread", "is less spread"),
    "skew": ("is differently distributed", "is differently distributed"),
    "shape": ("is differently distributed", "is differently distributed"),
}


def _how_changed(change: Change) -> str:
    if change.kind in _HOW:
        return _HOW[change.kind][0 if change.rises else 1]
    share = "" if change.observed is None else _share_words(change.observed, change.observed)
    match change.kind:
        case "unseen":
            return f"has new values in {share}"
        case "beyond":
            return f"has values far beyond the reference in {share}"
        case "missing" | "invalid":
            return f"is {change.kind} in {share}"
        case "share":
            return f"is {change.category} in {share}"
        case _:
            return "is different"


def _records_headline(incident: Incident, today: int) -> tuple[str, str]:
    part = incident.alerts[0]
    change, value = part.change, part.alert.breach.value
    if change is None:
        if part.rule is not None and part.rule.measure == "log_age" and value is not None:
            return f"no records for {length_words(value)}", "nothing newer is in the log"
        return _plain_headline(incident, today)
    if change.kind == "records" and change.observed is not None and change.expected is not None:
        middle = (change.expected.low + change.expected.high) / 2
        day = _day_of(change, part, today)
        how = "rose" if change.rises else "fell"
        by = f" by {abs(change.observed / middle - 1):.0%}".replace("%", " %") if middle else ""
        return f"records {how}{by} on {day}", _beside(part, today)
    if change.observed is None:
        return _plain_headline(incident, today)
    what = f"version {change.category} is new" if change.kind == NEW_VERSION else fault_words(change)
    return f"{what}, since {_since(incident, today)}", ""


def _labels_headline(incident: Incident, today: int) -> tuple[str, str]:
    part = incident.alerts[0]
    value = part.alert.breach.value
    if part.change is None:
        if part.rule is not None and part.rule.measure == "label_age" and value is not None:
            return f"no labels for {length_words(value)}", "performance of newer days is not known"
        return _plain_headline(incident, today)
    if part.change.kind == UNFOLDING_FEED:
        return f"{outcomes_sentence(part.change)}, since {_since(incident, today)}", ""
    if part.change.observed is None:
        return _plain_headline(incident, today)
    share = format_measure_value(kind_measure(part.change), part.change.observed)
    match part.change.kind:
        case "base_rate":
            what = f"{part.change.category} in {share} of the labels"
        case "coverage":
            what = f"labels for {share} of the records"
        case _:
            what = fault_words(part.change)
    return f"{what}, since {_since(incident, today)}", _beside(part, today)


def _performance_headline(incident: Incident, today: int) -> tuple[str, str]:
    part = incident.alerts[0]
    change, breach, rule = part.change, part.alert.breach, part.rule
    if change is not None and change.kind in (RESIDUAL_LEVEL, RESIDUAL_SLOPE, UNFOLDING):
        return f"{outcomes_sentence(change)}, since {day_words(part.first_day, today)}", _doubt(change, today)
    if change is not None:
        headline = f"{spoken_measure(change.kind)} is worse than usual since {_since(incident, today)}"
        return headline, _beside(part, today)
    if rule is None or breach.value is None or breach.limit is None or breach.beside is None:
        return _plain_headline(incident, today)
    now, limit = breach.value, breach.limit
    if rule.against:
        now, limit = now + breach.beside, limit + breach.beside
    figures = [format_measure_value(rule.measure, value) for value in (now, limit, breach.beside)]
    nowcast = rule.truth == LabelTruth.NOWCAST
    side = "below" if rule.condition.below is not None else "above"
    verb = f"is probably {side}" if nowcast else f"{'fell below' if side == 'below' else 'rose above'}"
    where = end_words(rule.window, breach.window_end, today)
    return (
        f"{spoken_measure(rule.measure)} {verb} its limit: {figures[0]} {where}",
        f"alert {side} {figures[1]}; {figures[2]} in the {rule.against or 'reference'}"
        + (", by the labels so far" if nowcast else ""),
    )


def _doubt(change: Change, today: int) -> str:
    """What else it may be while labels still come in, and when that is over."""
    if not change.certain_on:
        return ""
    certain = day_words(from_iso(change.certain_on), today)
    if change.outcomes is None:
        return f"some labels may only come later than others: certain on {certain}"
    how = "sooner" if change.rises else "later"
    return f"they may only have been reported {how}: certain on {certain}"


def _plain_headline(incident: Incident, today: int) -> tuple[str, str]:  # noqa: ARG001 -- as all headlines
    """Of rules that have no sentence of their own: the rule, what it is about, and its figures."""
    part, more = incident.alerts[0], len(incident.alerts) - 1
    name = alerted_series_name(part.alert.series)
    figures = alert_figures(part.rule, part.alert.breach)
    if part.alert.breach.reason == NOT_KEPT:
        return f"{name} fires since {to_iso(part.alert.since)[:10]}", NOT_KEPT
    return f"{name}: {figures}", f"{more} more of its kind" if more else ""


def _experiment_headline(incident: Incident, today: int) -> tuple[str, str]:
    headline, more = _plain_headline(incident, today)
    rule = incident.alerts[0].rule
    summary = {} if rule is None else dict(rule.annotations)
    return (f"{summary['summary']}", headline) if "summary" in summary else (headline, more)


_HEADLINES = {
    IncidentKind.RECORDS: _records_headline,
    IncidentKind.LABELS: _labels_headline,
    IncidentKind.PERFORMANCE: _performance_headline,
    IncidentKind.EXPERIMENT: _experiment_headline,
    IncidentKind.MISSING: _missing_headline,
    IncidentKind.MOVED: _moved_headline,
    IncidentKind.OUTPUT: _moved_headline,
    IncidentKind.OTHER: _plain_headline,
}


def _next_step(incident: Incident, today: int) -> str:
    """What to do: of inputs where to look; of rules what they say themselves."""
    first = incident.first_day
    if incident.kind is IncidentKind.MISSING:
        feed = "their feed" if len(incident.alerts) > 1 else "its feed"
        return f"check {feed}, and what was deployed on {day_range_words(first - DAY, first, today)}"
    if incident.kind in _OF_INPUTS:
        return "look at the source, and at what was deployed that day. " + _AS_EXPECTED_STEP
    rule = incident.alerts[0].rule
    action = {} if rule is None else dict(rule.annotations)
    step = action.get("action", "look at `monitor alerts --explain`").removesuffix(".")
    return step[:1].lower() + step[1:]


def _beside(part: IncidentAlert, today: int) -> str:
    """What was observed, and what is usual; nothing where the day lies within what is usual."""
    change = part.change
    if change is None:
        return ""
    words = observed_and_usual_words(change)
    if words is None:
        return ""
    observed, low, high = words
    if change.averaged_days > 1:  # no single day shows it
        return f"{observed} on average over {change.averaged_days:.0f} days to {_day_of(change, part, today)}"
    return f"{observed} on {_day_of(change, part, today)}, usually {low} to {high}"


def _day_of(change: Change, part: IncidentAlert, today: int) -> str:
    moment = from_iso(change.day) if change.day else part.alert.breach.window_end - 1
    return day_words(moment, today)


def _since(incident: Incident, today: int) -> str:
    days = [part.first_day for part in incident.alerts]
    return day_range_words(min(days), max(days), today)


def _share_words(low: float, high: float) -> str:
    if low >= _EVERY:
        return "every record"
    least, most = (format_measure_value("missing_rate", share) for share in (low, high))
    return f"{most} of the records" if least == most else f"{least} to {most} of the records"


def _count_features(many: int) -> str:
    """Number of features in words.

    >>> _count_features(6), _count_features(12)
    ('six features', '12 features')
    """
    return f"{_NUMBER_WORDS[many] if many < len(_NUMBER_WORDS) else many} features"
