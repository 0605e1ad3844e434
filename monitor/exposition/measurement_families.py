"""Metric families of the last committed measurements."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric

from monitor.core.clock import SECOND
from monitor.exposition import names
from monitor.exposition.alerts import rule_family
from monitor.exposition.selection import Exposed, ExposedSeries
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import Exposure


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Name, help and labels of a metric family."""

    name: str
    help: str
    labels: tuple[str, ...]


def measurement_families(model: str, exposed: Exposed) -> Iterator[Metric]:
    """Families of a model that have series, in the order of the page; those of the model itself."""
    by_family: dict[str, list[ExposedSeries]] = defaultdict(list)
    for series in exposed.series:
        by_family[series.family].append(series)
    for family in _FAMILIES:
        if family.name in by_family:
            yield _gauge(family, [(one.labels, one.value) for one in by_family[family.name]])
    as_of = MetricFamily(names.AS_OF, "Moment of which the measurements speak; Unix time.", ("model",))
    yield _gauge(as_of, [((model,), exposed.as_of / SECOND)])
    absent = MetricFamily(
        names.ABSENT, "Measurements that have no value at present, by reason.", ("model", "reason")
    )
    yield _gauge(absent, [((model, reason), n) for reason, n in exposed.absent])
    dropped = MetricFamily(names.DROPPED, "Series that max_series leaves no room for.", ("model",))
    yield _gauge(dropped, [((model,), exposed.dropped)])
    yield rule_family(model, exposed.alerting)


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
