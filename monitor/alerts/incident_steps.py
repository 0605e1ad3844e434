"""What to do about an incident: the features, segments, tables and days that somebody looks at. Pure."""

from collections.abc import Iterator, Sequence

from monitor.alerts.alert_phrases import fill_annotations
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.incident_headlines import NAMED
from monitor.alerts.incident_life import OF_INPUTS, IncidentKind
from monitor.alerts.incidents import Incident, IncidentAlert
from monitor.alerts.verdicts import WORST
from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import DetailTable
from monitor.measures.measurement_comparison import contributed_measure
from monitor.sentences.change_words import NEW_VERSION
from monitor.sentences.known_measurements import FEATURE, readable_name
from monitor.sentences.linked_text import (
    LinkedText,
    TextPiece,
    feature_piece,
    join_pieces,
    linked,
    segment_piece,
    subject_piece,
)
from monitor.sentences.time_words import day_range_words

_COMMON_ACTIONS = frozenset(dict(rule.annotations).get("action", "") for rule in default_rules(ALL))
_FEED, _SEGMENTS, _ARMS, _INPUTS = ("log",), ("segments",), ("compare",), ("features",)


def next_step(incident: Incident, today: int) -> LinkedText:
    """What to do, without the last stop: what the rule itself says, else where to look."""
    rule, breach = incident.alerts[0].rule, incident.alerts[0].alert.breach
    if rule is not None and _has_own_action(incident):
        step = " ".join(fill_annotations(rule, breach)["action"].split()).removesuffix(".")
        return linked(step[:1].lower() + step[1:])
    steps = _STEPS.get(incident.kind)
    return linked("see what it checks: monitor alerts --explain") if steps is None else steps(incident, today)


def is_acceptable(incident: Incident) -> bool:
    """Whether what changed may be what is wanted: something that moved, and no rule says what to do."""
    moved = (IncidentKind.MOVED, IncidentKind.OUTPUT, IncidentKind.OUTCOME)
    return incident.kind in moved and not _has_own_action(incident)


def _has_own_action(incident: Incident) -> bool:
    """Whether the rule says what to do in words that are not those of all models."""
    rule = incident.alerts[0].rule
    return rule is not None and dict(rule.annotations).get("action", "") not in _COMMON_ACTIONS | {""}


def feature_names(incident: Incident) -> LinkedText:
    """Features that its headline counts, where it counts several; the largest first."""
    subjects = _subject_pieces(incident.alerts)
    return join_pieces(subjects, NAMED) if incident.kind in OF_INPUTS and len(subjects) > 1 else ()


def joined_names(incident: Incident) -> LinkedText:
    """What began with it."""
    return join_pieces(_subject_pieces(incident.also), NAMED)


def _subject_pieces(parts: Sequence[IncidentAlert]) -> list[TextPiece]:
    return [
        subject_piece(*one) for one in dict.fromkeys((part.alert.series.subject, part.name) for part in parts)
    ]


def _deployed_piece(incident: Incident, today: int) -> LinkedText:
    """What was deployed on the first day, or on the one before, as the picture of those days shows it."""
    first = min(part.first_day for part in incident.alerts)
    days = day_range_words(first - DAY, first, today)
    shown = (("from", to_iso(first - 7 * DAY)[:10]), ("to", to_iso(first + DAY)[:10]))
    return linked("what was deployed on ", TextPiece(days, ("",), shown))


def _records_piece(incident: Incident, words: str, without: str = "") -> LinkedText:
    """The table of records after some words; where its name is not known what is said without it."""
    table = incident.context.records_table
    if not table and without:
        return linked(TextPiece(without, _FEED))
    return linked(words, " ", TextPiece(readable_name(table) or "the log", _FEED))


def _labels_piece(incident: Incident) -> LinkedText:
    """The table of labels."""
    table = incident.context.labels_table
    return linked(TextPiece(f"the label feed ({readable_name(table)})" if table else "the label feed", _FEED))


def _list_segments(incident: Incident) -> Iterator[str]:
    """Segments of its alerts, that hold its changes, or contribute most to what fell."""
    for part in incident.every_alert:
        if part.alert.series.segment:
            yield part.alert.series.segment
        elif part.change is not None and part.change.segment is not None and part.change.segment.name:
            yield part.change.segment.name
        elif (cause := part.alert.breach.cause) is not None and _has_segments(cause) and cause.rows:
            yield str(cause.rows[0][0])


def _has_segments(cause: DetailTable) -> bool:
    return cause.columns == WORST or bool(contributed_measure(cause))


def _segment_step(incident: Incident, start: str) -> LinkedText:
    """The segment that holds it; empty: none stands out."""
    segment = next(_list_segments(incident), "")
    return linked(start, segment_piece(segment)) if segment else ()


def _step_of_missing(incident: Incident, today: int) -> LinkedText:
    feed = _records_piece(incident, "the feed of", f"{'their' if len(incident.alerts) > 1 else 'its'} feed")
    return linked("check ", _deployed_piece(incident, today), ", and ", feed)


def _step_of_inputs(incident: Incident, today: int) -> LinkedText:
    """Where the change is held, where it comes from, and what came with it."""
    subjects = {part.alert.series.subject for part in incident.alerts}
    alone = next(iter(subjects)) if len(subjects) == 1 else ""
    deployed = linked(" and ", _deployed_piece(incident, today))
    if incident.kind is IncidentKind.OUTPUT:
        return linked(
            "look at the ", TextPiece("inputs", _INPUTS), _segment_step(incident, ", segment "), deployed
        )
    it = "it" if alone else "them"
    named = linked(feature_piece(alone), ", ") if alone.startswith(FEATURE) and "*" not in alone else ()
    segment = _segment_step(incident, "segment ")
    where = linked(named, segment, ", " if segment else "")
    source = _records_piece(incident, f"what writes {it} to", f"what writes {it}")
    return linked("look at ", where, source, deployed)


def _step_of_records(incident: Incident, today: int) -> LinkedText:
    part = incident.alerts[0]
    if part.change is not None and part.change.kind == NEW_VERSION:
        return linked("compare it by ", TextPiece("segments and versions", _SEGMENTS))
    if part.change is not None and part.change.kind == "records":
        return linked("check who calls the model, and ", _records_piece(incident, "what writes to"))
    if part.rule is not None and part.rule.measure == "log_age":
        return linked("check that predictions are ", _records_piece(incident, "written to"))
    return linked(
        "check ", _records_piece(incident, "what writes to"), ", and ", _deployed_piece(incident, today)
    )


def _step_of_labels(incident: Incident, today: int) -> LinkedText:  # noqa: ARG001 -- as all steps
    segment = _segment_step(incident, ", and segment ")
    return linked("check ", _labels_piece(incident), segment)


def _step_of_performance(incident: Incident, today: int) -> LinkedText:  # noqa: ARG001 -- as all steps
    if incident.context.wrong_labels:
        return linked("check ", _labels_piece(incident), " first")
    segment = _segment_step(incident, "")
    where = (
        linked("see segment ", segment)
        if segment
        else linked("see in which ", TextPiece("segments", _SEGMENTS), " it fell")
    )
    return linked(where, ", then which ", TextPiece("inputs", _INPUTS), " changed before it")


def _step_of_experiment(incident: Incident, today: int) -> LinkedText:  # noqa: ARG001 -- as all steps
    rule = incident.alerts[0].rule
    if rule is not None and rule.measure.startswith("sample_ratio"):
        return linked("check how records get into the ", TextPiece("arms", _ARMS))
    return linked("look at the ", TextPiece("difference of the arms", _ARMS), ", and decide the experiment")


_STEPS = {
    IncidentKind.RECORDS: _step_of_records,
    IncidentKind.LABELS: _step_of_labels,
    IncidentKind.OUTCOME: _step_of_labels,
    IncidentKind.PERFORMANCE: _step_of_performance,
    IncidentKind.EXPERIMENT: _step_of_experiment,
    IncidentKind.MISSING: _step_of_missing,
    IncidentKind.MOVED: _step_of_inputs,
    IncidentKind.OUTPUT: _step_of_inputs,
}
