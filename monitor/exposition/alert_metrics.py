"""Alerts and incidents as metrics: which fire, and what the rules say of the current values."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from monitor.alerts.alert_phrases import alert_sentence, still_firing_words
from monitor.alerts.alert_rules import Accepted, AlertedSeries, Rule, Severity
from monitor.alerts.incident_life import KeptIncident
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.alerts.verdicts import Outcome, group_rule_rows, judge_rule, rule_measures
from monitor.core.clock import SECOND
from monitor.core.text import brief_line
from monitor.exposition.metric_names import (
    ALERT_FIRING,
    ALERT_PENDING,
    ALERT_SAID,
    ALERT_SINCE,
    INCIDENTS_OPEN,
    PREFIX,
)
from monitor.measures.measurement_row import MeasurementRow
from monitor.sentences.change_words import common_start_words
from monitor.specs.protocols import ChannelReport

LABELS = ("model", "rule", "version", "segment", "window", "subject", "severity", "incident")
_OF_ALERT = LABELS[:-2]  # which alert it is
COUNTED_SEVERITIES = (Severity.CRITICAL, Severity.WARNING)
OPEN_INCIDENTS_HELP = "Incidents that are open, those that recover among them."
FAMILIES = (
    (ALERT_FIRING, AlertState.FIRING, "1 for each alert that fires; absent: it does not."),
    (ALERT_PENDING, AlertState.PENDING, "1 for each alert whose breach has not yet held for long enough."),
)


@dataclass(frozen=True, slots=True)
class AlertSeries:
    """One alert: the values of its labels by name, its state, since when it has been in breach."""

    labels: Mapping[str, str]
    state: AlertState
    since: float
    text: str  # the line that says it all; `judged_at` is the as of of the verdict that it was last judged by
    judged_at: float


@dataclass(frozen=True, slots=True)
class ExposedAlerts:
    """What is exposed of a model's alerts; `verdicts` counts series by rule and outcome."""

    alerts: tuple[AlertSeries, ...] = ()
    incidents: Mapping[tuple[str, Severity], int] = field(default_factory=dict)  # open, by model and severity
    verdicts: Mapping[tuple[str, Outcome], int] = field(default_factory=dict)


def expose_alerts(
    model: str,
    rules: Iterable[Rule],
    alerts: Iterable[Alert],
    rows: Iterable[MeasurementRow],
    accepted: Accepted | None,
    incidents: Collection[KeptIncident] = (),
) -> ExposedAlerts:
    """What is exposed of a model's alerts and of its incidents that are open.

    Parameters
    ----------
    rows
        the current ones: each rule's outcome on them is counted, unknown where there is none.
    accepted
        changes that are expected.
    """
    rules = tuple(rules)
    measured = group_rule_rows(rows, rule_measures(rules))
    verdicts: Counter[tuple[str, Outcome]] = Counter()
    for rule in rules:
        outcomes = [verdict.outcome for verdict in judge_rule(rule, measured, accepted).values()] or [
            Outcome.UNKNOWN
        ]
        verdicts.update((rule.name, outcome) for outcome in outcomes)
    by_name = {rule.name: rule for rule in rules}
    series_list = []
    standing = [alert for alert in alerts if alert.state is not AlertState.RESOLVED]
    changes = [alert.breach.change for alert in standing]
    homes = incident_addresses(incidents)
    severities = Counter(incident.severity for incident in incidents)
    for alert in standing:
        series = alert.series
        judging = by_name.get(series.rule)
        labels = labels_of(model, judging, alert, homes.get((series, alert.since), ""))
        together = common_start_words(alert.breach.change, changes)
        parts = brief_line(alert_sentence(judging, series, alert.breach)), together, still_firing_words(alert)
        text = "; ".join(part for part in parts if part)
        moments = alert.since / SECOND, alert.judged_at / SECOND
        series_list.append(AlertSeries(labels, alert.state, moments[0], text, moments[1]))
    counted = {(model, one): severities[one] for one in COUNTED_SEVERITIES}
    return ExposedAlerts(tuple(series_list), counted, verdicts)


def incident_addresses(incidents: Iterable[KeptIncident]) -> dict[tuple[AlertedSeries, int], str]:
    """Address of the incident that each alert belongs to, by its series and since."""
    return {(member.series, member.since): one.address for one in incidents for member in one.members}


def labels_of(model: str, rule: Rule | None, alert: Alert, incident: str) -> dict[str, str]:
    """Labels of an alert: which one it is, how urgent, of which incident, and those of its rule."""
    series = alert.series
    place = (series.rule, series.version, series.segment, series.window, series.subject)
    own = zip(LABELS, (model, *place, alert.severity.value, incident), strict=True)
    return ({} if rule is None else dict(rule.labels)) | dict(own)


def alert_families(models: Iterable[ExposedAlerts]) -> Iterator[Metric]:
    """Families of all models' incidents and alerts. Labels are those of any alert: one it lacks is empty."""
    models = tuple(models)
    series_list = [alert for model in models for alert in model.alerts]
    open_ = GaugeMetricFamily(INCIDENTS_OPEN, OPEN_INCIDENTS_HELP, labels=("model", "severity"))
    for model in models:
        for (name, severity), many in model.incidents.items():
            open_.add_metric([name, severity.value], many)
    yield open_
    names = (*LABELS, *sorted({name for series in series_list for name in series.labels}.difference(LABELS)))
    for name, state, text in FAMILIES:
        gauge = GaugeMetricFamily(name, text, labels=names)
        for series in series_list:
            if series.state is state:
                gauge.add_metric([series.labels.get(label, "") for label in names], 1.0)
        yield gauge
    since = GaugeMetricFamily(
        ALERT_SINCE, "As of of the first breach of each alert; Unix time.", labels=names
    )
    for series in series_list:
        since.add_metric([series.labels.get(label, "") for label in names], series.since)
    yield since
    yield _firing_text_family(series_list)


def _firing_text_family(shown: Iterable[AlertSeries]) -> Metric:
    """What each firing alert says: text is a label, so that Prometheus can show it; of several the newest."""
    family = GaugeMetricFamily(
        ALERT_SAID,
        "What each firing alert says, as label text; Unix time of the moment as of which it was last judged.",
        labels=(*_OF_ALERT, "text"),
    )
    for series in shown:
        if series.state is AlertState.FIRING:
            family.add_metric([*(series.labels[label] for label in _OF_ALERT), series.text], series.judged_at)
    return family


def notice_families(channels: Mapping[str, ChannelReport]) -> Iterator[Metric]:
    """Families by channel; none where there are no channels."""
    if not channels:
        return
    notices = CounterMetricFamily(
        f"{PREFIX}notices",
        "Notices since the start: delivered, tries that failed, and notices given up as too old.",
        labels=("channel", "outcome"),
    )
    waiting = GaugeMetricFamily(
        f"{PREFIX}notices_waiting", "Notices that the channel has not taken yet.", labels=("channel",)
    )
    age = GaugeMetricFamily(
        f"{PREFIX}notice_age_seconds",
        "Age of the oldest notice that waits, when it was tried last; 0: none waits.",
        labels=("channel",),
    )
    for name, report in channels.items():
        for outcome in ("delivered", "failed", "given_up"):
            notices.add_metric((name, outcome), getattr(report, outcome))
        waiting.add_metric((name,), report.waiting)
        age.add_metric((name,), report.age)
    yield from (notices, waiting, age)
