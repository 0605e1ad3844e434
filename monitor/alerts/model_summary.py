"""A model in four figures, and what changed: what `status`, pages and reports show of it. Pure.

Each count has its one definition here: whoever shows it takes it from here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.incidents import Incident, IncidentAlert
from monitor.alerts.model_facts import ModelFacts, limited_measurements, limits_performance
from monitor.alerts.verdicts import group_rule_rows, judge_rule, rule_measures
from monitor.core.change import Change
from monitor.core.clock import from_iso, to_datetime
from monitor.core.measurement import Interval
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import BetterDirection
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.value_words import (
    CHANCE,
    approximate_text,
    certainty_words,
    format_interval_bounds,
    format_measure_value,
)
from monitor.sentences.change_words import (
    chart_measure,
    chart_title,
    kind_measure,
    observed_and_usual_words,
    usual_since_by_subject,
)
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    readable_name,
    spoken_measure,
)
from monitor.sentences.label_sentences import usual_delay_words
from monitor.sentences.performance_sentences import (
    awaited_performance_sentence,
    best_estimate,
    newest_performance_row,
)
from monitor.sentences.time_words import THE_FRAME, day_range_words, day_words
from monitor.windows.window_ends import LONGEST, nominal_length

_RECORDS = "records"  # subject of the evidence of a day's records
_REFERENCE = "reference"
_BASIS = {LabelTruth.NOWCAST: "by the labels so far", LabelTruth.PROVISIONAL: "by the labels so far"}
_BESIDE = {CHANCE: "as in the reference", "surely better": "better than the reference"}


class FigureMark(StrEnum):
    """What a figure's colour says: an alert that fires, that all is well, or nothing."""

    CRITICAL = "critical"
    WARNING = "warning"
    OK = "ok"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFigure:
    """One of the four figures of a model; texts are empty where nothing is known."""

    title: str  # "ROC AUC"
    span: str  # which days it is of: "19–25 Dec"
    value: str  # "0.697"; empty: `note` says why, and from when on it is known
    beside: str  # "as in the reference"; of a count what it is of: "of 16 changed"
    mark: FigureMark
    note: str  # a sentence or two, each with its stop
    exact: str  # code name, interval, how many records: one step further


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceScale:
    """Where a performance lies, as an interval bar shows it; None: not known."""

    measure: str
    value: float
    interval: Interval | None
    reference: float | None
    limit: float | None  # where an alert fires, of the rule that limits it
    window: str  # of the value, and so of the limit
    is_alert_above: bool  # that side of the limit is the alert's: of errors

    def is_of_length(self, window: str) -> bool:
        """Whether windows of a name are as long as its own, as months and 30 days: its limit is theirs.

        A shorter one lies beyond the limit by chance more often.
        """
        own = nominal_length(self.window)
        return abs(nominal_length(window) - own) <= own // 10

    @property
    def ends(self) -> tuple[float, ...]:
        """All values that a picture of it holds."""
        interval = () if self.interval is None else (self.interval.lower, self.interval.upper)
        known = (self.value, self.reference, self.limit)
        return (*interval, *(one for one in known if one is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSeries:
    """What changed of an input, an output or the log: usual → now."""

    subject: str  # as rows name it: "feature:age"
    name: str
    what: str  # "missing values", "mean", "share of UA"
    usual: str  # "20.3–21.7"
    now: str
    direction: str  # of a number: "higher", "lower"; empty: it has none
    since: int  # first day, microseconds
    incident: str  # address; empty: its alert is closed, though it is not back
    severity: Severity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """A model at a glance."""

    performance: SummaryFigure
    inputs: SummaryFigure
    labels: SummaryFigure
    records: SummaryFigure
    scale: PerformanceScale | None
    changed: tuple[ChangedSeries, ...]  # in the order of incidents, those that are closed last

    @property
    def figures(self) -> tuple[SummaryFigure, ...]:
        """All four, in the order in which they are read."""
        return self.performance, self.inputs, self.labels, self.records


def summarize_model(facts: ModelFacts, incidents: Sequence[Incident]) -> ModelSummary:
    """A model in four figures and the series that changed."""
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    changed = tuple(_list_changed_series(facts, incidents))
    limited = limited_measurements(facts.rules, measurements)
    scale = read_performance_scale(facts, limited)
    return ModelSummary(
        performance=_performance_figure(facts, incidents, limited, scale),
        inputs=_inputs_figure(facts, incidents, measurements, changed),
        labels=_labels_figure(facts, incidents, limited),
        records=_records_figure(facts, incidents, measurements),
        scale=scale,
        changed=changed,
    )


def count_changed_features(incidents: Sequence[Incident]) -> int:
    """Features with an alert that fires now."""
    return len({part.alert.series.subject for part in list_feature_alerts(incidents)})


def count_changes_by_word(changed: Sequence[ChangedSeries]) -> dict[str, int]:
    """How many features with an alert are "missing", "lower", "different", …, in the order of incidents."""
    words: dict[str, set[str]] = {}
    for one in changed:
        if one.incident and one.subject.startswith(FEATURE):
            plain = one.what if one.what in ("missing", "invalid") else "different"
            words.setdefault(one.direction or plain, set()).add(one.subject)
    return {word: len(subjects) for word, subjects in words.items()}


def count_watched_features(measurements: KnownMeasurements) -> int:
    """Features that are measured at all."""
    rows = measurements.feature_rows("missing_rate") or measurements.feature_rows("stability_index")
    return len({row.subject for row in rows})


def read_performance_scale(facts: ModelFacts, measurements: KnownMeasurements) -> PerformanceScale | None:
    """Newest performance beside its reference and the limit of its rule; None: it is not known."""
    row = newest_performance_row(measurements)
    if row is None or row.measurement.value is None:
        return None
    step = measurements.sibling_row(row, row.measure, _REFERENCE)
    known = None if step is None else step.measurement.value
    reference = None if known is None else row.measurement.value - known
    return PerformanceScale(
        measure=row.measure,
        value=row.measurement.value,
        interval=row.measurement.interval,
        reference=reference,
        window=row.window,
        limit=find_performance_limit(facts.rules, facts.rows, row.measure),
        is_alert_above=BY_NAME[row.measure].direction is BetterDirection.LOWER,
    )


def find_performance_limit(
    rules: Sequence[Rule], rows: Sequence[MeasurementRow], measure: str
) -> float | None:
    """Value of a measure beyond which its rule fires; None: no rule limits it, or no reference is known."""
    for rule in rules:
        if limits_performance(rule, measure):
            verdicts = judge_rule(rule, group_rule_rows(rows, rule_measures([rule])))
            for verdict in verdicts.values():
                if verdict.limit is not None and verdict.beside is not None:
                    return verdict.limit + verdict.beside
    return None


def _performance_figure(
    facts: ModelFacts,
    incidents: Sequence[Incident],
    measurements: KnownMeasurements,
    scale: PerformanceScale | None,
) -> SummaryFigure:
    today, row = facts.as_of or 0, newest_performance_row(measurements)
    title, mark = (
        capitalize_first(spoken_measure(facts.main)),
        _kind_mark(incidents, IncidentKind.PERFORMANCE),
    )
    if row is None or scale is None:
        estimate = best_estimate(measurements) if facts.labels else None
        note = _sentence(
            awaited_performance_sentence(measurements, today) if facts.labels else "No labels are configured"
        )
        if estimate is not None and estimate.measurement.value is not None:
            value = format_measure_value(estimate.measure, estimate.measurement.value)
            note = f"By the scores alone {value} is expected. {note}"
        return _figure(title, mark=mark, note=note, exact=facts.main)
    step = measurements.sibling_row(row, row.measure, _REFERENCE)
    certainty = "" if step is None else certainty_words(row.measure, step.measurement)
    beside = _BESIDE.get(certainty, "worse than the reference" if certainty == "surely worse" else "")
    always = measurements.sibling_row(row, "majority_accuracy") if row.measure == "accuracy" else None
    if always is not None and (always.measurement.value or 0.0) >= scale.value:
        beside = "no better than a constant answer"  # as in the reference it may be, and no use all the same
    notes = [] if scale.reference is None else [f"Reference {_value_text(row.measure, scale.reference)}."]
    if scale.limit is not None:
        side = "above" if scale.is_alert_above else "below"
        notes.append(f"Alert {side} {_value_text(row.measure, scale.limit)}.")
    if row.truth in _BASIS:
        notes.insert(0, f"Estimated {_BASIS[row.truth]}.")
    bounds = format_interval_bounds(row.measure, row.measurement.interval)
    firing = list(_firing_parts(incidents, IncidentKind.PERFORMANCE))
    later = [part.first_day for part in firing if part.first_day >= row.window_end]
    if firing and len(later) == len(firing):  # what fires is not of this window: it is neither red nor green
        notes.append(f"What changed on {day_words(min(later), today)} is not in it yet.")
        mark, beside = FigureMark.NONE, ""
    return _figure(
        title,
        span=_window_days(row, today),
        value=_value_text(row.measure, scale.value),
        beside=beside,
        mark=mark or (FigureMark.OK if beside in _BESIDE.values() else FigureMark.NONE),
        note=" ".join(notes),
        exact=f"{row.measure} {bounds} of {row.measurement.n:,} labels".replace("  ", " "),
    )


def _inputs_figure(
    facts: ModelFacts,
    incidents: Sequence[Incident],
    measurements: KnownMeasurements,
    changed: Sequence[ChangedSeries],
) -> SummaryFigure:
    today, watched = facts.as_of or 0, count_watched_features(measurements)
    if not watched:
        return _figure("Inputs", note="No feature is watched.")
    count = count_changed_features(incidents)
    severities = [part.alert.severity for part in list_feature_alerts(incidents)]
    parts = [f"{many} {what}" for what, many in count_changes_by_word(changed).items()]
    notes = [capitalize_first(", ".join(parts)) + "."] if parts else []
    closed = {one.subject for one in changed if not one.incident and one.subject.startswith(FEATURE)}
    if closed:
        notes.append(f"{len(closed)} older change{'s' * (len(closed) > 1)}, alert closed.")
    day = next((change.day for change in _day_changes(facts, FEATURE) if change.day), None)
    return _figure(
        "Inputs",
        span="" if day is None else day_words(from_iso(day), today),
        value=str(count),
        beside=f"of {watched} changed",
        mark=_worst_mark(severities) or FigureMark.OK,
        note=" ".join(notes),
        exact="features with an alert now",
    )


def _labels_figure(
    facts: ModelFacts, incidents: Sequence[Incident], measurements: KnownMeasurements
) -> SummaryFigure:
    today, mark = facts.as_of or 0, _kind_mark(incidents, IncidentKind.LABELS)
    if not facts.labels:
        return _figure("Labels", note="None are configured.")
    stopped = _coverage_change(incidents)
    if stopped is not None and stopped.observed is not None:
        usual, now = usual_and_now_words(stopped)
        return _figure(
            "Labels",
            span="" if stopped.day is None else day_words(from_iso(stopped.day), today),
            value=now,
            beside="of the records",
            mark=mark,
            note=f"Usually {usual}." if usual else "",
            exact="coverage of the newest day that is judged",
        )
    row = measurements.newest_labelled_row("coverage")
    delay = _sentence(usual_delay_words(measurements))
    if row is None or row.measurement.value is None:
        return _figure("Labels", mark=mark, note=delay or "No label has come yet.", exact="coverage")
    return _figure(
        "Labels",
        span=_window_days(row, today),
        value=_value_text("coverage", row.measurement.value),
        beside="" if mark or not delay else "on time",
        mark=mark or (FigureMark.OK if delay else FigureMark.NONE),
        note=delay or "Share of the records with a label.",
        exact=f"coverage of {row.measurement.n:,} records",
    )


def _coverage_change(incidents: Sequence[Incident]) -> Change | None:
    """Share of the records that labels came for, where an alert says that it changed."""
    changes = (
        part.change
        for incident in incidents
        if not incident.is_recovering
        for part in incident.every_alert
        if part.kind is IncidentKind.LABELS and not part.alert.series.segment
    )
    return next((one for one in changes if one is not None and one.kind == "coverage"), None)


def _records_figure(
    facts: ModelFacts, incidents: Sequence[Incident], measurements: KnownMeasurements
) -> SummaryFigure:
    """Records of the last complete day, as it was judged; where days are not, of the newest window."""
    today, mark = facts.as_of or 0, _kind_mark(incidents, IncidentKind.RECORDS)
    change = next(iter(_day_changes(facts, _RECORDS)), None)
    day = None if change is None or change.day is None else from_iso(change.day)
    if change is None or day is None:
        row = measurements.newest_row("records")
        if row is None or row.measurement.value is None:
            return _figure("Records", mark=mark, note="None have been counted yet.")
        return _figure(
            "Records",
            span=_window_days(row, today),
            value=f"{row.measurement.value:,.0f}",
            mark=mark,
        )
    n, beside, note = _day_count(facts, _RECORDS), "" if mark else "as usual", ""
    if change.not_judged:
        beside = ""
    elif change.averaged_days == 1 and change.expected is not None:
        low, high = change.expected
        note = f"{to_datetime(day):%A}s usually have {low:,.0f} to {high:,.0f}."
        if n < low:
            beside = "fewer than usual" if mark else "a little low"
        elif n > high:
            beside = "more than usual" if mark else "a little high"
    calm = FigureMark.OK if beside == "as usual" else FigureMark.NONE
    return _figure(
        "Records",
        span=day_words(day, today),
        value=f"{n:,}",
        beside=beside,
        mark=mark or calm,
        note=note,
        exact="records of the last complete day",
    )


def _list_changed_series(facts: ModelFacts, incidents: Sequence[Incident]) -> Iterator[ChangedSeries]:
    """Series of open incidents in their order; then those whose alert is closed though they are not back."""
    named: set[str] = set()
    for incident in incidents:
        if incident.is_recovering:
            continue
        for part in incident.every_alert:
            if part.change is not None and not part.alert.series.segment:
                named.add(part.alert.series.subject)
                yield _changed_series(part, incident)
    for (subject, segment), since in usual_since_by_subject(facts.rows).items():
        if not segment and subject not in named:
            change = next(iter(_day_changes(facts, subject)), Change())
            yield ChangedSeries(
                subject=subject,
                name=readable_name(subject.removeprefix(FEATURE)),
                what=changed_what_words(change),
                usual="",
                now="",
                direction="",
                since=from_iso(since),
                incident="",
                severity=None,
            )


def _changed_series(part: IncidentAlert, incident: Incident) -> ChangedSeries:
    change = part.change or Change()
    usual, now = usual_and_now_words(change)
    return ChangedSeries(
        subject=part.alert.series.subject,
        name=readable_name(part.name),
        what=changed_what_words(change),
        usual=usual,
        now=now,
        direction=("higher" if change.rises else "lower") if change.kind == "level" else "",
        since=part.first_day,
        incident=incident.address,
        severity=part.alert.severity,
    )


def changed_what_words(change: Change) -> str:
    """What of a series changed, in a word or two.

    >>> changed_what_words(Change(kind="level")), changed_what_words(Change(kind="share", category="UA"))
    ('mean', 'share of UA')
    """
    match change.kind:
        case "":
            return ""
        case "level":
            return "mean"
        case "shape" | "skew":
            return "distribution"
        case "missing" | "invalid":
            return change.kind
        case _:
            return chart_title(change)


def usual_and_now_words(change: Change) -> tuple[str, str]:
    """What is usual, and what is now; empty where no day shows it."""
    if change.kind in ("missing", "invalid", "unseen", "beyond", "constant") and change.observed is not None:
        measure, ends = kind_measure(change), change.expected or (0.0, 0.0)
        least, most = (format_measure_value(measure, end) for end in ends)
        return _range_text(least, most), format_measure_value(measure, change.observed)
    words = observed_and_usual_words(change)
    if words is None or change.kind in ("shape", "skew"):
        return "", ""
    now, low, high = words
    if change.in_unit is not None:
        now = approximate_text(change.in_unit.observed)
    elif chart_measure(change):
        now = format_measure_value(chart_measure(change), change.observed)
    return _range_text(low, high), now


def _range_text(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def list_feature_alerts(incidents: Sequence[Incident]) -> list[IncidentAlert]:
    """Alerts of features that fire; what is for information alone is none."""
    return [
        part
        for incident in incidents
        if not incident.is_recovering
        for part in incident.every_alert
        if part.alert.series.subject.startswith(FEATURE) and part.alert.severity is not Severity.INFO
    ]


def _day_changes(facts: ModelFacts, subject: str) -> list[Change]:
    """What the newest judged day says of a subject, or of all whose names begin so."""
    return [
        row.measurement.change
        for row in facts.rows
        if row.measure == EVIDENCE and row.segment is None and row.measurement.change is not None
        if row.subject == subject or (subject == FEATURE and row.subject.startswith(FEATURE))
    ]


def _day_count(facts: ModelFacts, subject: str) -> int:
    """Records of the newest judged day."""
    rows = (row for row in facts.rows if row.measure == EVIDENCE and row.subject == subject)
    return next((row.measurement.n for row in rows if row.segment is None), 0)


def _kind_mark(incidents: Sequence[Incident], kind: IncidentKind) -> FigureMark:
    """Colour of the alerts of a kind that fire; none of them: no colour."""
    return _worst_mark([part.alert.severity for part in _firing_parts(incidents, kind)])


def _firing_parts(incidents: Sequence[Incident], kind: IncidentKind) -> Iterator[IncidentAlert]:
    """Alerts of a kind, of incidents that do not recover."""
    for incident in incidents:
        if not incident.is_recovering:
            yield from (part for part in incident.every_alert if part.kind is kind)


def _worst_mark(severities: Sequence[Severity]) -> FigureMark:
    for severity, mark in (
        (Severity.CRITICAL, FigureMark.CRITICAL),
        (Severity.WARNING, FigureMark.WARNING),
    ):
        if severity in severities:
            return mark
    return FigureMark.NONE


def _window_days(row: MeasurementRow, today: int) -> str:
    """First to last day of a row's window; of a month or a quarter its name and its last day."""
    last = row.window_end - 1
    if row.window == THE_FRAME:
        return "all rows"
    if row.window in LONGEST:
        return f"{row.window} to {day_words(last, today)}"
    return day_range_words(row.window_end - nominal_length(row.window), last, today)


def _value_text(measure: str, value: float) -> str:
    return format_measure_value(measure, value)


def _sentence(text: str) -> str:
    return f"{text.removesuffix('.')}." if text else ""


def _figure(
    title: str,
    *,
    span: str = "",
    value: str = "",
    beside: str = "",
    mark: FigureMark = FigureMark.NONE,
    note: str = "",
    exact: str = "",
) -> SummaryFigure:
    return SummaryFigure(
        title=title, span=span, value=value, beside=beside, mark=mark, note=note, exact=exact
    )
