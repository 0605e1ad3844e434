"""What is kept as series in time: families of the metrics page, values at the ends of windows. Pure."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import KeptIncident
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.core.clock import SECOND
from monitor.exposition.alert_metrics import (
    COUNTED_SEVERITIES,
    FAMILIES,
    OPEN_INCIDENTS_HELP,
    incident_addresses,
    labels_of,
)
from monitor.exposition.metric_names import INCIDENTS_OPEN
from monitor.exposition.metrics_page import MetricFamily, labels_text, metric_families, model_families
from monitor.exposition.series_selection import kept_series
from monitor.measures.measurement_row import MeasurementRow
from monitor.specs.model_spec import ModelSpec

END = b"# EOF\n"


def list_sample_lines(model: ModelSpec, row: MeasurementRow) -> Iterator[tuple[str, bytes]]:
    """(family, line) of the samples of one kept measurement."""
    of = {family.name: family for family in metric_families()}
    for series in kept_series(model, row):
        labels = zip(of[series.family].labels, series.labels, strict=True)
        yield series.family, sample_line(series.family, dict(labels), series.value, row.window_end)


def sample_line(family: str, labels: Mapping[str, str], value: float, at: int) -> bytes:
    r"""A sample; labels without a value are left out, which means the same.

    `at`: microseconds.

    >>> sample_line("a_ratio", {"model": "late", "segment": ""}, 0.5, 1_362_182_400_500_000)
    b'a_ratio{model="late"} 0.5 1362182400.500\n'
    """
    given = {name: text for name, text in labels.items() if text}
    text = labels_text(given, given.values())
    return f"{family}{{{text}}} {value!r} {at / SECOND:.3f}\n".encode()


def moment_samples(moments: Mapping[str, Sequence[int]]) -> Iterator[tuple[MetricFamily, list[bytes]]]:
    """Family of the moments of which models were measured: each stands at itself.

    Parameters
    ----------
    moments
        by model, microseconds, ascending.
    """
    family = model_families()[0]
    yield (
        family,
        [
            sample_line(family.name, {"model": model}, at / SECOND, at)
            for model in sorted(moments)
            for at in moments[model]
        ],
    )


def alert_samples(
    alerts: Iterable[tuple[ModelSpec, Alert]],
    moments: Mapping[str, Sequence[int]],
    incidents: Mapping[str, Sequence[KeptIncident]],
) -> Iterator[tuple[MetricFamily, list[bytes]]]:
    """Families of alerts: 1 at each moment of its model at which one fired, or was pending."""
    lines: dict[AlertState, list[tuple[str, int, bytes]]] = {state: [] for state in AlertState}
    family = {state: name for name, state, _ in FAMILIES}
    homes = {name: incident_addresses(kept) for name, kept in incidents.items()}
    for model, alert in alerts:
        rule = next((rule for rule in model.rules if rule.name == alert.series.rule), None)
        incident = homes.get(model.name, {}).get((alert.series, alert.since), "")
        labels, ticks = labels_of(model.name, rule, alert, incident), moments[model.name]
        over = len(ticks) if alert.resolved_at is None else bisect_left(ticks, alert.resolved_at)
        for at in ticks[bisect_left(ticks, alert.since) : over]:
            fires = alert.fired_at is not None and alert.fired_at <= at
            state = AlertState.FIRING if fires else AlertState.PENDING
            said = labels if fires else labels | {"incident": ""}
            lines[state].append((str(said), at, sample_line(family[state], said, 1.0, at)))
    for name, state, text in FAMILIES:
        yield MetricFamily(name, text, ()), [written for *_, written in sorted(lines[state])]


def incident_samples(
    incidents: Mapping[str, Sequence[KeptIncident]], moments: Mapping[str, Sequence[int]]
) -> Iterator[tuple[MetricFamily, list[bytes]]]:
    """Family of open incidents: how many of each severity were open at each moment of their model."""
    lines = []
    for model in sorted(moments):
        ticks, counted = moments[model], Counter[tuple[int, Severity]]()
        for incident in incidents.get(model, ()):
            for at in ticks[bisect_left(ticks, incident.opened_at) :]:
                if incident.resolved_at is not None and at >= incident.resolved_at:
                    break
                if incident.is_open(at):
                    counted[at, incident.known_at(at).severity] += 1
        lines += [
            sample_line(
                INCIDENTS_OPEN, {"model": model, "severity": severity.value}, counted[at, severity], at
            )
            for severity in COUNTED_SEVERITIES
            for at in ticks
        ]
    yield MetricFamily(INCIDENTS_OPEN, OPEN_INCIDENTS_HELP, ()), lines
