"""Incidents in words: what happened, since when, what to do. Pure.

Which alerts are one incident is kept: see `incident_life`. Each has one headline; the figures of its alerts
stand one step further, in `monitor alerts --explain`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_phrases import (
    alert_figures,
    alerted_series_name,
    fill_annotations,
    place_words,
    still_firing_words,
)
from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.incident_life import (
    KINDS,
    OF_INPUTS,
    IncidentKind,
    IncidentTurn,
    KeptIncident,
    alert_first_day,
    alert_kind,
    alert_size,
)
from monitor.alerts.lifecycle import Alert, alert_at_moment
from monitor.alerts.verdicts import NOT_KEPT
from monitor.core.change import Change
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.text import readable_text
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import LabelTruth
from monitor.measures.value_words import format_measure_value
from monitor.sentences.change_words import (
    NEW_VERSION,
    RESIDUAL_LEVEL,
    RESIDUAL_SLOPE,
    UNFOLDING,
    UNFOLDING_FEED,
    fault_words,
    hour_span_words,
    kind_measure,
    observed_and_usual_words,
    outcomes_sentence,
    subject_name,
)
from monitor.sentences.effect_sentences import change_effect_sentence
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    join_few_names,
    spoken_measure,
)
from monitor.sentences.performance_sentences import expected_loss_sentence, performance_cause_sentence
from monitor.sentences.time_words import day_range_words, day_words, end_words, length_words

_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WRONG_LABELS = ("beyond", "unseen", "invalid", "corrected", "early")  # faults of labels
_NAMED = 8  # features that a sentence names, the largest first
_EVERY = 0.999  # share of the records that reads as each of them
_AS_EXPECTED_STEP = "If something known explains it, accept it as normal"


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
    cost: str = ""  # what it costs, beside what its features do to the score: see `explain_costs`
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


def explain_costs(incidents: Sequence[Incident], measurements: KnownMeasurements) -> list[Incident]:
    """Incidents with what they cost, as far as the newest measurements tell.

    Of performance whether it is of labels that look wrong, of other records, or of what scores mean. Of
    scores that changed the loss that is expected of them before any label.
    """
    wrong = max((one.wrong_labels for one in incidents), default=0.0)
    return [replace(one, cost=_measured_cost(one, measurements, wrong)) for one in incidents]


def _measured_cost(incident: Incident, measurements: KnownMeasurements, wrong_labels: float) -> str:
    if incident.kind is IncidentKind.PERFORMANCE:
        if wrong_labels:
            share = format_measure_value("missing_rate", wrong_labels)
            return f"{share} of the labels look wrong, and may be all of it"
        return performance_cause_sentence(measurements)
    if any(part.kind is IncidentKind.OUTPUT for part in incident.every_alert):
        return expected_loss_sentence(measurements, incident.first_days[0])
    return ""


def told_headline(kept: KeptIncident, alerts: Iterable[Alert], rules: Sequence[Rule], today: int) -> str:
    """Headline of an incident, open or over, as it was when it was told to grow, or to have opened.

    Parameters
    ----------
    alerts
        that ever belonged to it, whatever became of them.
    """
    told = told_incident(kept, alerts, rules)
    return kept.kind.value if told is None else incident_words(told, today).headline


def told_incident(kept: KeptIncident, alerts: Iterable[Alert], rules: Sequence[Rule]) -> Incident | None:
    """An incident as it was when it was told to grow, or to have opened; None: no alert of it is known."""
    told = [step.at for step in kept.steps if step.turn is not IncidentTurn.RESOLVED]
    at = max(told, default=kept.opened_at)
    known = [(alert_at_moment(alert, at), "") for alert in alerts if alert.since <= at]
    return next(iter(describe_incidents([kept.known_at(at)], known, rules)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentWords:
    """What is said of an incident, each a sentence or several without the last stop; empty: nothing."""

    headline: str  # what happened, since when
    beside: str  # what it is compared with
    consequence: str  # what it costs
    also: str  # what began with it
    next_step: str  # what to do


def incident_words(incident: Incident, today: int) -> IncidentWords:
    """Headline, what it is compared with, what began with it, what to do."""
    headline, beside = _HEADLINES[incident.kind](incident, today)
    # Names of columns and rules stay as they are written; records and labels are none.
    written = {name for part in incident.every_alert for name in (part.name, part.alert.series.rule)}
    written -= {"records", "labels"}
    is_name = any(headline.startswith((f"{name} ", f"{name}:")) for name in written)
    names = _distinct_names(incident.also)
    verb = "is" if len(names) == 1 else "are"
    days = {part.first_day for part in incident.alerts}
    together = ": probably one cause" if all(part.first_day in days for part in incident.also) else ""
    also = f"Since then {join_few_names(names, _NAMED)} {verb} different, too{together}" if names else ""
    return IncidentWords(
        headline=readable_text(headline if is_name else capitalize_first(headline)),
        # A measure's code name stays as it is written.
        beside=readable_text(beside if "_" in beside.split(" ")[0] else capitalize_first(beside)),
        consequence=readable_text(_consequence(incident)),
        also=readable_text(also),
        next_step=readable_text(_next_step(incident, today)),
    )


def first_days_words(incident: Incident, today: int) -> str:
    """First day of an incident; a range where it is not known better. What joined it later is none of it."""
    first, last = incident.first_days
    return day_range_words(first, last if last < incident.kept.opened_at else first, today)


def split_headline(incident: Incident, today: int) -> tuple[str, str]:
    """Headline as a title, and the features that it names after its colon; of other kinds nothing."""
    headline = incident_words(incident, today).headline
    if incident.kind not in OF_INPUTS:
        return headline, ""
    title, _, names = headline.partition(": ")
    return title, names


_SHORT = {  # of kinds about features or outputs; by a change; by a limit or a silence
    IncidentKind.MISSING: "missing",
    IncidentKind.MOVED: "different",
    IncidentKind.OUTPUT: "different",
}
_SHORT_CHANGED = {
    IncidentKind.LABELS: "labels different",
    IncidentKind.PERFORMANCE: "labels unlike the scores",
}
_SHORT_SILENT = {"log_age": "no records", "label_age": "no labels"}


def short_incident_words(incident: Incident, today: int) -> str:
    """What happened in a few words, as a table has room for: "six features missing since 31 Dec"."""
    names, part = _distinct_names(incident.alerts), incident.alerts[0]
    change, kind = part.change, incident.kind
    if kind in _SHORT:
        who = readable_text(names[0]) if len(names) == 1 else count_features(len(names))
        what = f"{who} {_SHORT[kind]}"
    elif change is not None and change.kind == "records":
        what = "more records" if change.rises else "fewer records"
    elif change is not None and kind in _SHORT_CHANGED:
        what = _SHORT_CHANGED[kind]
    elif change is None and kind is IncidentKind.PERFORMANCE and part.rule is not None:
        what = f"{spoken_measure(part.rule.measure)} beyond its limit"
    elif change is None and part.rule is not None and part.rule.measure in _SHORT_SILENT:
        what = _SHORT_SILENT[part.rule.measure]
    else:
        return readable_text(_HEADLINES[kind](incident, today)[0].partition(", n ")[0])
    return f"{what} since {_since(incident, today)}"


def incident_sentences(incident: Incident, today: int) -> Iterator[str]:
    """What is said of an incident in a paragraph; each sentence without its stop."""
    words = incident_words(incident, today)
    if incident.is_recovering:
        since, until = incident.kept.last_fired_at, incident.kept.recovers_at
        over = "" if until is None else f", over on {day_words(until, today)} unless it comes back"
        yield f"Recovering since {day_words(since, today)}{over}"
        yield f"It was: {words.headline}"
        return
    yield from filter(None, (words.headline, words.beside, words.consequence, words.also))
    again = dict.fromkeys(filter(None, (still_firing_words(part.alert) for part in incident.every_alert)))
    if len(again) == 1 and len(incident.every_alert) == 1:
        yield capitalize_first(next(iter(again)))
    yield f"Next: {words.next_step}"
    if incident.acknowledged_by:
        yield readable_text(f"Acknowledged by {incident.acknowledged_by}")


def _incident_alert(alert: Alert, acknowledged_by: str, rules: Mapping[str, Rule]) -> IncidentAlert:
    rule = rules.get(alert.series.rule)
    return IncidentAlert(
        alert=alert,
        rule=rule,
        acknowledged_by=acknowledged_by,
        kind=alert_kind(alert, rule),
        first_day=alert_first_day(alert),
    )


def _feature_changes(incident: Incident) -> dict[str, Change]:
    """Changes of features of the whole: what they do to the mean score is known, perhaps."""
    return {
        part.name: part.change
        for part in incident.every_alert
        if part.change is not None
        and part.alert.series.subject.startswith(FEATURE)
        and not part.alert.series.segment
    }


def _consequence(incident: Incident) -> str:
    """What it costs: of inputs and scores how the mean score moved, then the loss that is expected of it."""
    if incident.kind not in OF_INPUTS and incident.cost:
        return incident.cost
    return ". ".join(filter(None, (change_effect_sentence(_feature_changes(incident)), incident.cost)))


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
    beside = "" if any(usual) else "usually in no record"
    if len(incident.alerts) == 1:
        state = "invalid" if changes[0].kind == "invalid" else "missing"
        beside = beside or f"usually in up to {format_measure_value('missing_rate', usual[0])}"
        return f"{incident.alerts[0].name} is {state} in {where} since {since}", beside
    names = _distinct_names(incident.alerts)
    named = join_few_names(names, _NAMED)
    return f"{count_features(len(names))} are missing in {where} since {since}: {named}", beside


def _moved_headline(incident: Incident, today: int) -> tuple[str, str]:
    names = _distinct_names(incident.alerts)
    if len(names) > 1:
        named = join_few_names(names, _NAMED)
        if incident.kind is IncidentKind.OUTPUT:
            return f"{named} are different since {_since(incident, today)}", ""
        return f"{count_features(len(names))} are different since {_since(incident, today)}: {named}", ""
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
        case "unseen" | "constant":
            return (
                f"has {'new values' if change.kind == 'unseen' else 'one value or narrow range'} in {share}"
            )
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
            what = fault_words(part.change).replace(" of the records", " of the labels")
    words = observed_and_usual_words(part.change)
    return (
        f"{what}, since {_since(incident, today)}",
        "" if words is None else f"usually {words[1]} to {words[2]}",
    )


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
    """Of rules of which nothing else is known: their summary or name, what it is about, and its figures."""
    part, more = incident.alerts[0], len(incident.alerts) - 1
    name, breach = alerted_series_name(part.alert.series), part.alert.breach
    if breach.reason == NOT_KEPT:
        return f"{name} fires since {to_iso(part.alert.since)[:10]}", NOT_KEPT
    figures, others = alert_figures(part.rule, breach), f"{more} more of its kind" if more else ""
    own = {} if part.rule is None else fill_annotations(part.rule, breach)
    summary, place = (
        " ".join(own.get("summary", "").split()).removesuffix("."),
        place_words(part.alert.series),
    )
    if summary:
        headline = f"{summary}: {place}" if place else summary
        return headline, ". ".join(filter(None, (figures, others)))
    return f"{name}: {figures}", others


_HEADLINES = {
    IncidentKind.RECORDS: _records_headline,
    IncidentKind.LABELS: _labels_headline,
    IncidentKind.PERFORMANCE: _performance_headline,
    IncidentKind.EXPERIMENT: _plain_headline,
    IncidentKind.MISSING: _missing_headline,
    IncidentKind.MOVED: _moved_headline,
    IncidentKind.OUTPUT: _moved_headline,
    IncidentKind.OTHER: _plain_headline,
    IncidentKind.INFORMATION: _plain_headline,
}


def _next_step(incident: Incident, today: int) -> str:
    """What to do: what the rule itself says, of changed inputs where to look."""
    rule, breach = incident.alerts[0].rule, incident.alerts[0].alert.breach
    own = "" if rule is None else " ".join(fill_annotations(rule, breach).get("action", "").split())
    if incident.kind in OF_INPUTS and (rule is None or rule.measure == EVIDENCE or not own):
        if incident.kind is not IncidentKind.MISSING:
            return "look at the source, and at what was deployed that day. " + _AS_EXPECTED_STEP
        first = min(part.first_day for part in incident.alerts)
        feed = "their feed" if len(incident.alerts) > 1 else "its feed"
        return f"check {feed}, and what was deployed on {day_range_words(first - DAY, first, today)}"
    step = (own or "look at `monitor alerts --explain`").removesuffix(".")
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
    return " ".join([day_words(moment, today), *hour_span_words(change)])


def _since(incident: Incident, today: int) -> str:
    days = [part.first_day for part in incident.alerts]
    hours = [part.change.hours for part in incident.alerts if part.change is not None and part.change.hours]
    # Told by their hours alone: as soon as one is the whole day's, days are what is known of all.
    at = f", {min(hours).first[11:16]} UTC" if len(hours) == len(days) else ""
    return day_range_words(min(days), max(days), today) + at


def _share_words(low: float, high: float) -> str:
    if low >= _EVERY:
        return "every record"
    least, most = (format_measure_value("missing_rate", share) for share in (low, high))
    return f"{most} of the records" if least == most else f"{least} to {most} of the records"


def count_features(many: int) -> str:
    """Number of features in words.

    >>> count_features(6), count_features(12)
    ('six features', '12 features')
    """
    return f"{count_words(many)} features"


def count_words(many: int) -> str:
    """Number as a sentence has it.

    >>> count_words(6), count_words(12)
    ('six', '12')
    """
    return _NUMBER_WORDS[many] if many < len(_NUMBER_WORDS) else str(many)
