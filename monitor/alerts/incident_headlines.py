"""Headlines of incidents: what happened, compared with what, since when. Pure.

The figures of its alerts stand one step further, in `monitor alerts --explain`.
"""

from collections.abc import Iterable, Mapping

from monitor.alerts.alert_phrases import (
    alert_figures,
    alerted_series_name,
    fill_annotations,
    is_difference,
    judged_value_words,
    limit_in_words,
    place_words,
)
from monitor.alerts.alert_rules import EVERY, Rule
from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.incidents import Incident, IncidentAlert
from monitor.alerts.verdicts import NOT_KEPT
from monitor.core.change import Change
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureUnit
from monitor.measures.measurement_row import LabelTruth
from monitor.measures.value_words import format_measure_value
from monitor.sentences.change_words import (
    NEW_VERSION,
    UNFOLDING_FEED,
    fault_words,
    hour_span_words,
    is_against_scores,
    kind_measure,
    observed_and_usual_words,
    outcome_words,
    outcomes_sentence,
)
from monitor.sentences.known_measurements import join_few_names, readable_name, spoken_measure
from monitor.sentences.time_words import day_range_words, day_words, end_words, length_words

NAMED = 8  # features that a sentence names, the largest first
EVERY_RECORD = 0.999  # share of the records that reads as each of them
_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_EACH = {"1d": " a day", "7d": " a week", "month": " a month", "quarter": " a quarter"}


def headline_and_beside(incident: Incident, today: int) -> tuple[str, str]:
    """What happened, since when; what that is compared with, or "". Names stay as they are written."""
    return _HEADLINES[incident.kind](incident, today)


def distinct_names(parts: Iterable[IncidentAlert]) -> list[str]:
    """What alerts are about, each once."""
    return list(dict.fromkeys(part.name for part in parts))


def _missing_headline(incident: Incident, today: int) -> tuple[str, str]:
    changes = [part.change for part in incident.alerts if part.change is not None]
    shares = [change.observed for change in changes if change.observed is not None]
    if not shares:
        return _plain_headline(incident, today)
    where, since = _share_words(min(shares), max(shares)), since_words(incident, today)
    usual = [0.0 if change.expected is None else change.expected.high for change in changes]
    beside = "" if any(usual) else "usually in no record"
    if len(incident.alerts) == 1:
        state = "invalid" if changes[0].kind == "invalid" else "missing"
        if shares[0] <= usual[0]:  # a share within its range shows nothing
            return f"{incident.alerts[0].name} is {state} more often since {since}", ""
        beside = beside or f"usually in up to {format_measure_value('missing_rate', usual[0])}"
        return f"{incident.alerts[0].name} is {state} in {where} since {since}", beside
    names = distinct_names(incident.alerts)
    named = join_few_names(names, NAMED)
    return f"{count_features(len(names))} are missing in {where} since {since}: {named}", beside


def _moved_headline(incident: Incident, today: int) -> tuple[str, str]:
    names = distinct_names(incident.alerts)
    if len(names) > 1:
        named = join_few_names(names, NAMED)
        if incident.kind is IncidentKind.OUTPUT:
            return f"{named} are different since {since_words(incident, today)}", ""
        return f"{count_features(len(names))} are different since {since_words(incident, today)}: {named}", ""
    part = max(incident.alerts, key=lambda part: part.size)
    if part.change is None:
        return _plain_headline(incident, today)
    return f"{part.name} {_how_changed(part.change)} since {since_words(incident, today)}", _beside(
        part, today
    )


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
        first = part.first_day
        begun = (
            f", since {day_words(first, today)}" if first // DAY < _judged_moment(change, part) // DAY else ""
        )
        return f"records {how}{by} on {day}{begun}", _beside(part, today)
    if change.observed is None:
        return _plain_headline(incident, today)
    what = f"version {change.category} is new" if change.kind == NEW_VERSION else fault_words(change)
    return f"{what}, since {since_words(incident, today)}", ""


def _labels_headline(incident: Incident, today: int) -> tuple[str, str]:
    part = incident.alerts[0]
    value = part.alert.breach.value
    if part.change is None:
        if part.rule is not None and part.rule.measure == "label_age" and value is not None:
            return f"no labels for {length_words(value)}", "performance of newer days is not known"
        return _plain_headline(incident, today)
    if part.change.kind == UNFOLDING_FEED:
        return f"{outcomes_sentence(part.change)}, since {since_words(incident, today)}", ""
    if part.change.observed is None:
        return _plain_headline(incident, today)
    share = format_measure_value(kind_measure(part.change), part.change.observed)
    match part.change.kind:
        case "base_rate":
            of_class = outcome_words(part.change).removesuffix(" labels")  # "positive", "DEFAULT"
            what = f"{share} of the labels are {of_class}"
        case "coverage":
            what = f"labels for {share} of the records"
        case _:
            what = fault_words(part.change).replace(" of the records", " of the labels")
    words = observed_and_usual_words(part.change)
    return (
        f"{what}, since {since_words(incident, today)}",
        "" if words is None else f"usually {words[1]} to {words[2]}",
    )


def _performance_headline(incident: Incident, today: int) -> tuple[str, str]:
    part = incident.alerts[0]
    change, breach, rule = part.change, part.alert.breach, part.rule
    if change is not None and is_against_scores(change):
        return f"{outcomes_sentence(change)}, since {day_words(part.first_day, today)}", _doubt(change, today)
    if change is not None:
        headline = f"{spoken_measure(change.kind)} is worse than usual since {since_words(incident, today)}"
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
    if not change.certain_on or from_iso(change.certain_on) <= today:
        return ""
    certain = day_words(from_iso(change.certain_on), today)
    if change.outcomes is None:
        return f"some labels may only come later than others: certain on {certain}"
    how = "sooner" if change.rises else "later"
    return f"they may only have been reported {how}: certain on {certain}"


def _plain_headline(incident: Incident, today: int) -> tuple[str, str]:
    """Of rules of which nothing else is known: their summary, or value and limit in words."""
    part, more = incident.alerts[0], len(incident.alerts) - 1
    name, breach, rule = alerted_series_name(part.alert.series), part.alert.breach, part.rule
    if breach.reason == NOT_KEPT:
        return f"{name} fires since {to_iso(part.alert.since)[:10]}", NOT_KEPT
    others = f"{more} more of its kind" if more else ""
    own = {} if rule is None else fill_annotations(rule, breach)
    summary, place = (
        " ".join(own.get("summary", "").split()).removesuffix("."),
        place_words(part.alert.series),
    )
    figures = alert_figures(rule, breach)
    if summary:
        headline = f"{summary}: {place}" if place else summary
        return headline, ". ".join(filter(None, (figures, others)))
    if rule is None or breach.value is None or breach.limit is None or rule.features == "share":
        return f"{name}: {figures}", others
    return _limit_headline(incident, part, rule, today), others


def _limit_headline(incident: Incident, part: IncidentAlert, rule: Rule, today: int) -> str:
    """That a value lies beyond the limit of a rule without a sentence of its own."""
    breach, series = part.alert.breach, part.alert.series
    assert breach.value is not None
    assert breach.limit is not None
    counted = rule.measure in BY_NAME and BY_NAME[rule.measure].unit is MeasureUnit.RECORDS
    subject = readable_name(series.subject)
    what = spoken_measure(rule.measure)
    what += f" of {subject}" if subject and not subject.endswith(EVERY) else ""
    what += f" in {readable_name(series.segment)}" if series.segment else ""
    what += f" of version {series.version}" if series.version else ""
    side = "above" if breach.value > breach.limit else "below"
    differs = f", compared with the {rule.against}" if is_difference(rule) else ""
    when = _EACH.get(rule.window, "") if counted else ""
    when = when or (f" {end_words(rule.window, breach.window_end, today)}" if rule.window in _EACH else "")
    value, limit = judged_value_words(rule, breach.value), limit_in_words(rule, breach.limit)
    return (
        f"{what} {'are' if counted else 'is'} {side} your limit since {since_words(incident, today)}"
        f"{differs}: {value}{when}, limit {limit} (rule {readable_name(rule.name)})"
    )


_HEADLINES = {
    IncidentKind.RECORDS: _records_headline,
    IncidentKind.LABELS: _labels_headline,
    IncidentKind.OUTCOME: _labels_headline,
    IncidentKind.PERFORMANCE: _performance_headline,
    IncidentKind.EXPERIMENT: _plain_headline,
    IncidentKind.MISSING: _missing_headline,
    IncidentKind.MOVED: _moved_headline,
    IncidentKind.OUTPUT: _moved_headline,
    IncidentKind.OTHER: _plain_headline,
    IncidentKind.INFORMATION: _plain_headline,
}


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
    return " ".join([day_words(_judged_moment(change, part), today), *hour_span_words(change)])


def _judged_moment(change: Change, part: IncidentAlert) -> int:
    return from_iso(change.day) if change.day else part.alert.breach.window_end - 1


def since_words(incident: Incident, today: int) -> str:
    """First days of its alerts; the hour where hours alone told all of them."""
    days = [part.first_day for part in incident.alerts]
    hours = [part.change.hours for part in incident.alerts if part.change is not None and part.change.hours]
    # Told by their hours alone: as soon as one is the whole day's, days are what is known of all.
    at = f", {min(hours).first[11:16]} UTC" if len(hours) == len(days) else ""
    return day_range_words(min(days), max(days), today) + at


def _share_words(low: float, high: float) -> str:
    if low >= EVERY_RECORD:
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
