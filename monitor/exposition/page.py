"""The metrics page: each model rendered once a commit, put together once for all scrapes, served as bytes."""

import gzip
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from prometheus_client import Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from monitor.alerts.lifecycle import Alert
from monitor.alerts.rules import Accepted
from monitor.core.clock import SECOND
from monitor.exposition import names
from monitor.exposition.alerts import alert_families, rule_family
from monitor.exposition.selection import Exposed, ExposedSeries, expose
from monitor.exposition.self_metrics import SelfMetrics
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import Exposure, Measure
from monitor.measures.rows import MeasurementRow
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import ChannelReport, CycleReport

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_Families: TypeAlias = list[tuple[bytes, bytes]]  # head (help and type), and series


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
    for family in families():
        if family.name in by_family:
            yield _gauge(family, [(series.labels, series.value) for series in by_family[family.name]])
    as_of = MetricFamily(names.AS_OF, "Moment of which the measurements speak; Unix time.", ("model",))
    yield _gauge(as_of, [((model,), exposed.as_of / SECOND)])
    absent = MetricFamily(
        names.ABSENT, "Measurements that have no value at present, by reason.", ("model", "reason")
    )
    yield _gauge(absent, [((model, reason), n) for reason, n in exposed.absent])
    dropped = MetricFamily(names.DROPPED, "Series that max_series leaves no room for.", ("model",))
    yield _gauge(dropped, [((model,), exposed.dropped)])
    yield rule_family(model, exposed.alerting)


@cache
def families() -> tuple[MetricFamily, ...]:
    """Families of measurements, in the order of the page: windows, then measures with their bounds."""
    labels = (*names.LABELS, names.TRUTH)
    return (
        MetricFamily(names.WINDOW_END, "End of the window; Unix time.", labels),
        MetricFamily(names.WINDOW_RECORDS, "Records of the window.", labels),
        MetricFamily(names.WINDOW_COVERAGE, "Labelled share of the window's records.", labels),
        *(family for measure in CATALOGUE for family in _families_of(measure)),
    )


def _families_of(measure: Measure) -> Iterator[MetricFamily]:
    if Exposure.WINDOW in measure.exposed:
        return
    name = names.family_name(measure)
    labels = (*names.LABELS, names.TRUTH) if names.has_truth(measure) else names.LABELS
    yield MetricFamily(name, names.family_help(measure), labels)
    for bound in ("lower", "upper"):
        yield MetricFamily(f"{name}_{bound}", names.family_help(measure, bound), labels)
    if names.has_reference(measure):
        yield MetricFamily(f"{name}_{names.REFERENCE}", names.family_help(measure, names.REFERENCE), labels)


def _gauge(family: MetricFamily, samples: list[tuple[tuple[str, ...], float]]) -> Metric:
    gauge = GaugeMetricFamily(family.name, family.help, labels=family.labels)
    for labels, value in samples:
        gauge.add_metric(labels, value)
    return gauge


def likes(header: str) -> dict[str, float]:
    """Kinds of an Accept or Accept-Encoding header and how much each is liked, 0 to 1.

    >>> likes("text/plain;version=0.0.4;q=0.5, */*")
    {'text/plain': 0.5, '*/*': 1.0}
    """
    liked: dict[str, float] = {}
    for part in header.lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        liked[kind] = max(liked.get(kind, 0.0), _quality(parameters))
    return liked


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


@dataclass(slots=True)
class _Page:
    """What is served until something changes; each format rendered, and packed, when first asked for."""

    measurements: bytes
    bodies: dict[str, bytes] = field(default_factory=dict)
    packed: dict[str, bytes] = field(default_factory=dict)


class Exposition:
    """What `/metrics` serves.

    Publishing renders the series of one model, whatever the others are; the first scrape after it joins all
    models' bytes and renders the daemon's own metrics; further scrapes hand the same bytes out.

    Parameters
    ----------
    models
        those that may be published.
    health
        the daemon's own metrics, rendered along.
    """

    def __init__(self, models: Iterable[ModelSpec], health: SelfMetrics) -> None:
        self._models = {model.name: model for model in models}
        self._health = health
        self._gone: set[str] = set()  # a cycle that ends after its model's removal is not heard any more
        self._exposed: dict[str, Exposed] = {}
        self._rendered: dict[str, _Families] = {}
        self._lock = threading.Lock()
        self._page: _Page | None = None  # None: something changed since it was put together

    def publish(
        self,
        model: str,
        as_of: int,
        rows: Sequence[MeasurementRow],
        alerts: Sequence[Alert] = (),
        accepted: Accepted | None = None,
    ) -> None:
        """Replace what is served of a model; see `expose`."""
        spec = self._models.get(model)
        if spec is None:
            return
        exposed = expose(spec, as_of, rows, alerts, accepted)
        rendered = [_parted(metric) for metric in measurement_families(model, exposed)]
        with self._lock:
            if self._models.get(model) != spec:  # configured otherwise meanwhile: it is published again
                return
            self._exposed[model], self._rendered[model] = exposed, rendered
            self._page = None

    def forget(self, model: str) -> None:
        """Let a model and its cycles vanish."""
        self._health.forget(model)
        with self._lock:
            self._exposed.pop(model, None)
            self._rendered.pop(model, None)
            self._page = None

    def observe(self, report: CycleReport, *, at: float, newest_logged_at: int | None = None) -> None:
        """Take a cycle's report into the daemon's own metrics; see `SelfMetrics.observe`."""
        with self._lock:
            if report.model not in self._gone:
                self._health.observe(report, at=at, newest_logged_at=newest_logged_at)
                self._page = None

    def skipped(self, model: str) -> None:
        """Count a tick that was left out."""
        with self._lock:
            if model not in self._gone:
                self._health.skipped(model)
                self._page = None

    def followed(self, model: str, *, at: float) -> None:
        """Take in that another process has run a model's cycle; see `SelfMetrics.followed`."""
        with self._lock:
            if model not in self._gone:
                self._health.followed(model, at=at)
                self._page = None

    def stands_aside(self, reasons: Mapping[str, bool]) -> None:
        """Take in for which of all reasons no cycles are claimed."""
        self._health.stands_aside(reasons)
        self._changed()

    def notified(self, channels: Mapping[str, ChannelReport]) -> None:
        """Take in what became of each channel's notices."""
        self._health.notified(channels)
        self._changed()

    def reloaded(self, models: Iterable[ModelSpec] | None, *, at: float) -> None:
        """Take in that the configuration was read again: its models, or None where it was refused.

        What is no longer configured vanishes.
        """
        self._health.reloaded(accepted=models is not None, at=at)
        with self._lock:
            before = self._models
            if models is not None:
                self._models = {model.name: model for model in models}
            self._gone = {*self._gone, *before}.difference(self._models)
        for name in self._gone:
            self.forget(name)
        with self._lock:
            self._page = None

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Page and content type for an Accept header."""
        content_type = negotiated(accept)
        return self._current(content_type).bodies[content_type], content_type

    def render_gzip(self, accept: str = "") -> tuple[bytes, str]:
        """Page, packed once, and content type."""
        content_type = negotiated(accept)
        page = self._current(content_type)
        if content_type not in page.packed:
            page.packed[content_type] = gzip.compress(page.bodies[content_type], compresslevel=5, mtime=0)
        return page.packed[content_type], content_type

    def _changed(self) -> None:
        with self._lock:
            self._page = None

    def _current(self, content_type: str) -> _Page:
        with self._lock:
            if self._page is None:
                self._page = _Page(self._joined())
            if content_type not in self._page.bodies:
                self._page.bodies[content_type] = self._page.measurements + self._own(content_type)
            return self._page

    def _joined(self) -> bytes:
        """All models' series, which read the same in both formats: gauges without units."""
        families: dict[bytes, list[bytes]] = {}
        for rendered in self._rendered.values():
            for head, series in rendered:
                families.setdefault(head, []).append(series)
        joined = b"".join(head + b"".join(series) for head, series in families.items())
        alerting = [exposed.alerting for exposed in self._exposed.values()]
        return joined + (generate_latest(_Metrics(alert_families(alerting))) if alerting else b"")

    def _own(self, content_type: str) -> bytes:
        if content_type == TEXT:
            return generate_latest(self._health)
        openmetrics, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
        return openmetrics(self._health)


@dataclass(frozen=True, slots=True)
class _Metrics:
    """What the client library's writers take."""

    metrics: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        """Metrics, once."""
        return self.metrics


def _parted(gauge: Metric) -> tuple[bytes, bytes]:
    """Head, of two lines, and series of a family."""
    help_, type_, series = generate_latest(_Metrics([gauge])).split(b"\n", 2)
    return b"%b\n%b\n" % (help_, type_), series


def negotiated(accept: str) -> str:
    """Content type for an Accept header: OpenMetrics where it is liked at least as much as text.

    >>> negotiated("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4")
    'application/openmetrics-text; version=1.0.0; charset=utf-8'
    >>> negotiated("*/*")
    'text/plain; version=0.0.4; charset=utf-8'
    """
    liked = likes(accept)
    openmetrics = liked.get("application/openmetrics-text", 0.0)
    return OPENMETRICS if openmetrics > 0 and openmetrics >= liked.get("text/plain", 0.0) else TEXT
