"""Alerts as metrics: which are firing or pending, and what the rules say of the current values."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily, Metric

from monitor.alerts.lifecycle import Alert, State
from monitor.alerts.rules import Accepted, Rule
from monitor.alerts.verdicts import Outcome, index, judge, needed
from monitor.exposition.names import ALERT_FIRING, ALERT_PENDING, ALERT_SINCE, RULE_SERIES
from monitor.measures.rows import MeasurementRow

LABELS = ("model", "rule", "version", "segment", "window", "subject", "severity")
_FAMILIES = (
    (ALERT_FIRING, State.FIRING, "1 for each alert that fires; absent: it does not."),
    (ALERT_PENDING, State.PENDING, "1 for each alert whose breach has not yet held for long enough."),
)


@dataclass(frozen=True, slots=True)
class AlertSeries:
    """One alert: the values of its labels by name, its state, since when it has been in breach."""

    labels: Mapping[str, str]
    state: State
    since: float


@dataclass(frozen=True, slots=True)
class ExposedAlerts:
    """What is exposed of a model's alerts; `verdicts` counts series by rule and outcome."""

    alerts: tuple[AlertSeries, ...] = ()
    verdicts: Mapping[tuple[str, Outcome], int] = field(default_factory=dict)


def alerting(
    model: str,
    rules: Iterable[Rule],
    alerts: Iterable[Alert],
    rows: Iterable[MeasurementRow],
    second: int,
    accepted: Accepted | None = None,
) -> ExposedAlerts:
    """What is exposed of a model's alerts.

    Parameters
    ----------
    rows
        the current ones: each rule's outcome on them is counted, unknown where there is none.
    second
        of the alerts' times.
    accepted
        changes that are expected.
    """
    rules = tuple(rules)
    found = index(rows, needed(rules))
    verdicts: Counter[tuple[str, Outcome]] = Counter()
    for rule in rules:
        outcomes = [verdict.outcome for verdict in judge(rule, found, accepted).values()] or [Outcome.UNKNOWN]
        verdicts.update((rule.name, outcome) for outcome in outcomes)
    added = {rule.name: dict(rule.labels) for rule in rules}
    shown = tuple(
        AlertSeries(_labels(model, one, added.get(one.series.rule, {})), one.state, one.since / second)
        for one in alerts
        if one.state is not State.RESOLVED
    )
    return ExposedAlerts(shown, verdicts)


def _labels(model: str, alert: Alert, added: Mapping[str, str]) -> dict[str, str]:
    series = alert.series
    own = (model, series.rule, series.version, series.segment, series.window, series.subject, alert.severity)
    return dict(added) | dict(zip(LABELS, own, strict=True))


def alert_families(models: Iterable[ExposedAlerts]) -> Iterator[Metric]:
    """Families of all models' alerts. Their labels are those of any alert: what one lacks is empty."""
    shown = [alert for model in models for alert in model.alerts]
    names = (*LABELS, *sorted({name for one in shown for name in one.labels}.difference(LABELS)))
    for name, state, text in _FAMILIES:
        gauge = GaugeMetricFamily(name, text, labels=names)
        for one in shown:
            if one.state is state:
                gauge.add_metric([one.labels.get(label, "") for label in names], 1.0)
        yield gauge
    since = GaugeMetricFamily(
        ALERT_SINCE, "As of of the first breach of each alert; Unix time.", labels=names
    )
    for one in shown:
        since.add_metric([one.labels.get(label, "") for label in names], one.since)
    yield since


def rule_family(model: str, exposed: ExposedAlerts) -> Metric:
    """Family of what a model's rules say."""
    rules = GaugeMetricFamily(
        RULE_SERIES,
        "Series that a rule judges, by what it says of their current values.",
        labels=("model", "rule", "verdict"),
    )
    for (rule, outcome), n in sorted(exposed.verdicts.items()):
        rules.add_metric((model, rule, outcome.value), n)
    return rules
