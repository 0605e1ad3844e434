"""What an incident costs: what is known of it, and else from when on it will be. Pure."""

from collections.abc import Iterator

from monitor.alerts.incident_headlines import EVERY_RECORD
from monitor.alerts.incident_life import OF_INPUTS, IncidentKind
from monitor.alerts.incidents import Incident
from monitor.core.change import Change
from monitor.core.clock import SECOND, from_iso
from monitor.measures.value_words import format_measure_value
from monitor.sentences.change_words import (
    RESIDUAL_SLOPE,
    UNFOLDING,
    UNFOLDING_FEED,
    hour_span_words,
    is_against_scores,
    outcome_words,
)
from monitor.sentences.effect_sentences import change_effect_sentence
from monitor.sentences.known_measurements import FEATURE
from monitor.sentences.label_sentences import forecast_knowing
from monitor.sentences.performance_sentences import (
    expected_loss_sentence,
    performance_cause_sentence,
    performance_since_sentence,
    wrong_records_sentence,
)
from monitor.sentences.time_words import day_words

_OF_ROWS = {  # faults of the log's rows
    "duplicates": "Repeated rows are counted once, so no measure changes by them",
    "stale": "No window counts rows that come after the horizon",
    "late": "Windows lack late rows until they come, so their figures still move",
}
_OF_RULES = {  # of measures about the log and the arms
    "misdated_rate": "How the model did on these rows stays unknown",
    "control_p_value_always_valid": "Until you decide, one of the two arms does worse every day",
    "sample_ratio_p_value_always_valid": "Comparisons of the arms cannot be trusted until that is fixed",
}


def list_cost_sentences(incident: Incident, today: int) -> list[str]:
    """What an incident costs, each sentence without its stop; there always is one."""
    if incident.is_recovering or incident.context.is_over:
        return [_performance_outlook(incident, today)]
    known = list(filter(None, _KNOWN_COSTS.get(incident.kind, _costs_of_rules)(incident, today)))
    if incident.kind in OF_INPUTS or not known:
        known.append(_performance_outlook(incident, today))
    return known


def _performance_outlook(incident: Incident, today: int) -> str:
    """Performance since the first day; else from when on it is known, or why that cannot be said."""
    context, first_day = incident.context, incident.first_days[0]
    if not context.labels:
        return "What that costs stays unknown: no labels are configured"
    at = forecast_knowing(context.measurements, first_day, today)
    if known := performance_since_sentence(context.measurements, first_day):
        is_early = context.measurements.longest_row_since(context.measurements.main, first_day) is None
        return f"{known}. It is final about {day_words(at, today)}" if is_early and at else known
    if context.labels_end is not None:
        return "What that costs is not known until labels come again"
    if at is None:
        return "What that costs is not known yet: too few labels have come"
    return f"What that costs is known about {day_words(at, today)}"


def _costs_of_inputs(incident: Incident, today: int) -> Iterator[str]:
    """What features do to the mean score, else what was scored without them; the loss that is expected.

    What they do to the score is said until performance is known.
    """
    is_known = performance_since_sentence(incident.context.measurements, incident.first_days[0])
    effect = "" if is_known else change_effect_sentence(_feature_changes(incident))
    yield effect or _scored_without_sentence(incident, today)
    if any(part.kind is IncidentKind.OUTPUT for part in incident.every_alert):
        yield expected_loss_sentence(incident.context.measurements, incident.first_days[0])


def _feature_changes(incident: Incident) -> dict[str, Change]:
    """Changes of features of the whole: what they do to the mean score is known, perhaps."""
    return {
        part.name: part.change
        for part in incident.every_alert
        if part.change is not None
        and part.alert.series.subject.startswith(FEATURE)
        and not part.alert.series.segment
    }


def _scored_without_sentence(incident: Incident, today: int) -> str:
    """How many records of the judged day were scored without the features; empty: no day shows it."""
    parts = incident.alerts if incident.kind is IncidentKind.MISSING else ()
    changes = [part.change for part in parts if part.change is not None]
    shares = [one.observed for one in changes if one.observed is not None and one.averaged_days == 1]
    n = max((part.alert.breach.n for part in parts), default=0)
    day = next((one.day for one in changes if one.day), None)
    if not n or day is None or len(shares) < len(parts) or any(one.kind != "missing" for one in changes):
        return ""
    when = " ".join([day_words(from_iso(day), today), *hour_span_words(changes[0])])
    them = "them" if len(parts) > 1 else "it"
    if min(shares) >= EVERY_RECORD:
        return f"Every one of the {n:,} records of {when} was scored without {them}"
    many, up_to = round(max(shares) * n), "Up to " if len(parts) > 1 else ""
    one_of = "one of them" if len(parts) > 1 else them
    return f"{up_to}{many:,} of the {n:,} records of {when} were scored without {one_of}"


def _costs_of_records(incident: Incident, today: int) -> Iterator[str]:
    part = incident.alerts[0]
    change, value = part.change, part.alert.breach.value
    if change is None:
        if part.rule is not None and part.rule.measure == "log_age" and value is not None:
            last = part.alert.breach.window_end - round(value * SECOND)
            yield f"Performance is not known after {day_words(last, today)}"
        yield from _costs_of_rules(incident, today)
    elif change.kind == "records" and not change.rises:
        lost = 0.0
        if change.observed is not None and change.expected is not None:
            lost = (change.expected.low + change.expected.high) / 2 - change.observed
        many = f"about {lost:,.0f} records" if lost >= 1 else "them"
        yield f"If rows were lost, how the model did on {many} stays unknown"
    else:
        yield _OF_ROWS.get(change.kind, "")


def _costs_of_labels(incident: Incident, today: int) -> Iterator[str]:
    part = incident.alerts[0]
    change, stopped = part.change, incident.context.labels_end
    if change is None and part.rule is not None and part.rule.measure == "label_age" and stopped is not None:
        yield f"Performance is unknown after {day_words(stopped, today)}"
    elif incident.wrong_labels:
        yield "Errors of those days may be the labels', not the model's"
    elif change is not None and change.kind == "coverage" and not change.rises:
        yield "Performance rests on fewer labels, and is final later"
    elif change is not None and change.kind == UNFOLDING_FEED:
        how = "sooner" if change.rises else "later"
        yield f"Performance is final {how} than usual"


def _costs_of_performance(incident: Incident, today: int) -> Iterator[str]:
    measurements, change = incident.context.measurements, incident.alerts[0].change
    if incident.context.wrong_labels:
        share = format_measure_value("missing_rate", incident.context.wrong_labels)
        yield f"{share} of the labels look wrong, and may be all of it"
        return
    if change is not None and is_against_scores(change):
        yield _residual_sentence(change)
        yield wrong_records_sentence(measurements) or _performance_outlook(incident, today)
        return
    yield wrong_records_sentence(measurements)
    yield performance_cause_sentence(measurements)


def _residual_sentence(change: Change) -> str:
    """What it means that labels are not as the scores say."""
    if change.kind == RESIDUAL_SLOPE or (change.kind == UNFOLDING and change.outcomes is None):
        return f"Scores rank records {'better' if change.rises else 'less well'} than they did"
    if not change.category:
        return f"Predictions are too {'low' if change.rises else 'high'}"
    how = "underestimates" if change.rises else "overestimates"
    return f"The model {how} how many {outcome_words(change)} come"


def _costs_of_rules(incident: Incident, today: int) -> Iterator[str]:  # noqa: ARG001 -- as all costs
    rule = incident.alerts[0].rule
    yield "" if rule is None else _OF_RULES.get(rule.measure, "")


_KNOWN_COSTS = {
    IncidentKind.RECORDS: _costs_of_records,
    IncidentKind.LABELS: _costs_of_labels,
    IncidentKind.PERFORMANCE: _costs_of_performance,
    IncidentKind.MISSING: _costs_of_inputs,
    IncidentKind.MOVED: _costs_of_inputs,
    IncidentKind.OUTPUT: _costs_of_inputs,
}
