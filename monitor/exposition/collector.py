"""A Prometheus collector of the last committed measurements."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric

from monitor.core.clock import SECOND
from monitor.exposition import names
from monitor.exposition.alerts import alert_families, rule_family
from monitor.exposition.selection import Exposed, ExposedSeries
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import Exposure


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Name, help and labels of a metric family."""

    name: str
    help: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MeasurementCollector:
    """Makes the families of what is exposed, afresh at each collection: what is gone, is gone."""

    exposed: Mapping[str, Exposed]

    def collect(self) -> Iterator[Metric]:
        """Families that have series."""
        by_family: dict[str, list[ExposedSeries]] = defaultdict(list)
        for model in self.exposed.values():
            for series in model.series:
                by_family[series.family].append(series)
        for family in _FAMILIES:
            if family.name in by_family:
                yield _gauge(family, [(one.labels, one.value) for one in by_family[family.name]])
        if self.exposed:
            yield from self._of_models()

    def _of_models(self) -> Iterator[Metric]:
        as_of = MetricFamily(names.AS_OF, "Moment of which the measurements speak; Unix time.", ("model",))
        yield _gauge(as_of, [((name,), one.as_of / SECOND) for name, one in self.exposed.items()])
        absent = MetricFamily(
            names.ABSENT, "Measurements that have no value at present, by reason.", ("model", "reason")
        )
        yield _gauge(
            absent, [((name, reason), n) for name, one in self.exposed.items() for reason, n in one.absent]
        )
        dropped = MetricFamily(names.DROPPED, "Series that max_series leaves no room for.", ("model",))
        yield _gauge(dropped, [((name,), one.dropped) for name, one in self.exposed.items()])
        yield rule_family({name: one.alerting for name, one in self.exposed.items()})


@dataclass(frozen=True, slots=True, eq=False)
class AlertCollector:
    """Makes the families of the alerts of all models: their labels are those of any of them."""

    exposed: Mapping[str, Exposed]

    def collect(self) -> Iterator[Metric]:
        """Families, where any model is exposed."""
        if self.exposed:
            yield from alert_families({name: one.alerting for name, one in self.exposed.items()})


def families() -> Iterator[MetricFamily]:
    """Families of measurements, in the order of the page: windows, then measures with their bounds."""
    labels = (*names.LABELS, names.TRUTH)
    yield MetricFamily(names.WINDOW_END, "End of the window; Unix time.", labels)
    yield MetricFamily(names.WINDOW_RECORDS, "Records of the window.", labels)
    yield MetricFamily(names.WINDOW_COVERAGE, "Labelled share of the window's records.", labels)
    for measure in CATALOGUE:
        if Exposure.WINDOW in measure.exposed:
            continue
        name = names.family_name(measure)
        own = labels if names.has_truth(measure) else names.LABELS
        yield MetricFamily(name, names.family_help(measure), own)
        for bound in ("lower", "upper"):
            yield MetricFamily(f"{name}_{bound}", names.family_help(measure, bound), own)
        if names.has_reference(measure):
            yield MetricFamily(f"{name}_{names.REFERENCE}", names.family_help(measure, names.REFERENCE), own)


_FAMILIES = tuple(families())


def _gauge(family: MetricFamily, samples: list[tuple[tuple[str, ...], float]]) -> Metric:
    gauge = GaugeMetricFamily(family.name, family.help, labels=family.labels)
    for labels, value in samples:
        gauge.add_metric(labels, value)
    return gauge
