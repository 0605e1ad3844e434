"""The metrics page: each model rendered once a commit, put together once for all scrapes, served as bytes."""

import gzip
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from prometheus_client import Metric, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.utils import floatToGoString

from monitor.alerts.alert_rules import Accepted
from monitor.alerts.incident_life import KeptIncident
from monitor.alerts.lifecycle import Alert
from monitor.core.clock import SECOND
from monitor.exposition import metric_names
from monitor.exposition.alert_metrics import alert_families
from monitor.exposition.self_metrics import SelfMetrics
from monitor.exposition.series_selection import ExposedModel, expose_model
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import Measure, MeasureExposure
from monitor.measures.measurement_row import MeasurementRow
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import ChannelReport, CycleReport

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_Sample: TypeAlias = tuple[tuple[str, ...], float]  # label values, value
_written: Callable[[float], str] = floatToGoString  # untyped there
_Families: TypeAlias = list[tuple[bytes, bytes]]  # head (help and type), and series


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Name, help and labels of a metric family."""

    name: str
    help: str
    labels: tuple[str, ...]

    @property
    def head(self) -> bytes:
        """Help and type."""
        text = self.help.replace("\\", r"\\").replace("\n", r"\n")
        return f"# HELP {self.name} {text}\n# TYPE {self.name} gauge\n".encode()


def measurement_families(model: str, exposed: ExposedModel) -> Iterator[tuple[MetricFamily, list[_Sample]]]:
    """Families of a model that have series, in the order of the page; those of the model itself."""
    by_family: dict[str, list[_Sample]] = defaultdict(list)
    for series in exposed.series:
        by_family[series.family].append((series.labels, series.value))
    for family in metric_families():
        if family.name in by_family:
            yield family, by_family[family.name]
    as_of, absent, dropped, rules = model_families()
    yield as_of, [((model,), exposed.as_of / SECOND)]
    yield absent, [((model, reason), n) for reason, n in exposed.absent]
    yield dropped, [((model,), exposed.dropped)]
    verdicts = sorted(exposed.alerting.verdicts.items())
    yield rules, [((model, rule, outcome.value), n) for (rule, outcome), n in verdicts]


@cache
def model_families() -> tuple[MetricFamily, ...]:
    """Families of models: their moment, what has no value, what is left out, what rules say."""
    return (
        MetricFamily(metric_names.AS_OF, "Moment of which the measurements speak; Unix time.", ("model",)),
        MetricFamily(
            metric_names.ABSENT, "Measurements that have no value at present, by reason.", ("model", "reason")
        ),
        MetricFamily(metric_names.DROPPED, "Series that max_series leaves no room for.", ("model",)),
        MetricFamily(
            metric_names.RULE_SERIES,
            "Series that a rule judges, by what it says of their current values.",
            ("model", "rule", "verdict"),
        ),
    )


@cache
def metric_families() -> tuple[MetricFamily, ...]:
    """Families of measurements, in the order of the page: windows, then measures with their bounds."""
    labels = (*metric_names.LABELS, metric_names.TRUTH)
    return (
        MetricFamily(metric_names.WINDOW_END, "End of the window; Unix time.", labels),
        MetricFamily(metric_names.WINDOW_RECORDS, "Records of the window.", labels),
        MetricFamily(metric_names.WINDOW_COVERAGE, "Labelled share of the window's records.", labels),
        *(family for measure in CATALOGUE for family in _families_of(measure)),
    )


def _families_of(measure: Measure) -> Iterator[MetricFamily]:
    if MeasureExposure.WINDOW in measure.exposed:
        return
    name = metric_names.family_name(measure)
    labels = (
        (*metric_names.LABELS, metric_names.TRUTH)
        if metric_names.has_truth_label(measure)
        else metric_names.LABELS
    )
    yield MetricFamily(name, metric_names.family_help(measure), labels)
    for bound in ("lower", "upper"):
        yield MetricFamily(f"{name}_{bound}", metric_names.family_help(measure, bound), labels)
    if metric_names.has_reference_family(measure):
        yield MetricFamily(
            f"{name}_{metric_names.REFERENCE}",
            metric_names.family_help(measure, metric_names.REFERENCE),
            labels,
        )


def render_gauges(series: Iterable[tuple[MetricFamily, list[_Sample]]]) -> _Families:
    r"""Text of gauges, byte for byte as the client library writes it, in a tenth of its time.

    >>> family = MetricFamily("a_ratio", "Share.", ("model", "end"))
    >>> render_gauges([(family, [(("late", 'a"b'), 0.5)])])
    [(b'# HELP a_ratio Share.\n# TYPE a_ratio gauge\n', b'a_ratio{end="a\\"b",model="late"} 0.5\n')]
    """
    texts: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}  # bounds have their value's
    parts = []
    for family, samples in series:
        lines = []
        for values, number in samples:
            key = family.labels, values
            if key not in texts:
                texts[key] = labels_text(*key)
            lines.append(f"{family.name}{{{texts[key]}}} {_written(number)}\n")
        parts.append((family.head, "".join(lines).encode()))
    return parts


def labels_text(names: Iterable[str], values: Iterable[str]) -> str:
    """Labels as both text formats write them, by name."""
    return ",".join(sorted(map(_format_label_pair, names, values)))


def _format_label_pair(name: str, value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return f'{name}="{escaped}"'


def header_preferences(header: str) -> dict[str, float]:
    """Kinds of an Accept or Accept-Encoding header and how much each is liked, 0 to 1.

    >>> header_preferences("text/plain;version=0.0.4;q=0.5, */*")
    {'text/plain': 0.5, '*/*': 1.0}
    """
    liked: dict[str, float] = {}
    for part in header.lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        liked[kind] = max(liked.get(kind, 0.0), _quality_of(parameters))
    return liked


def _quality_of(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


@dataclass(slots=True)
class _RenderedPage:
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
        self._exposed: dict[str, ExposedModel] = {}
        self._rendered: dict[str, _Families] = {}
        self._lock = threading.Lock()
        self._page: _RenderedPage | None = None  # None: something changed since it was put together

    def publish_model(
        self,
        model: str,
        as_of: int,
        rows: Sequence[MeasurementRow],
        alerts: Sequence[Alert] = (),
        accepted: Accepted | None = None,
        incidents: Collection[KeptIncident] = (),
    ) -> None:
        """Replace what is served of a model; see `expose_model`."""
        spec = self._models.get(model)
        if spec is None:
            return
        exposed = expose_model(spec, as_of, rows, alerts, accepted, incidents)
        text = render_gauges(measurement_families(model, exposed))
        with self._lock:
            if self._models.get(model) != spec:  # configured otherwise meanwhile: it is published again
                return
            self._exposed[model], self._rendered[model] = exposed, text
            self._page = None

    def forget_model(self, model: str) -> None:
        """Let a model and its cycles vanish."""
        self._health.forget_model(model)
        with self._lock:
            self._exposed.pop(model, None)
            self._rendered.pop(model, None)
            self._page = None

    def observe_cycle(self, report: CycleReport, *, at: float, newest_logged_at: int | None = None) -> None:
        """Take a cycle's report into the daemon's own metrics; see `SelfMetrics.observe_cycle`."""
        with self._lock:
            if report.model not in self._gone:
                self._health.observe_cycle(report, at=at, newest_logged_at=newest_logged_at)
                self._page = None

    def count_skipped(self, model: str) -> None:
        """Count a tick that was left out."""
        with self._lock:
            if model not in self._gone:
                self._health.count_skipped(model)
                self._page = None

    def note_followed(self, model: str, *, at: float) -> None:
        """Take in that another process has run a model's cycle; see `SelfMetrics.note_followed`."""
        with self._lock:
            if model not in self._gone:
                self._health.note_followed(model, at=at)
                self._page = None

    def note_standing_aside(self, reasons: Mapping[str, bool]) -> None:
        """Take in for which of all reasons no cycles are claimed."""
        self._health.note_standing_aside(reasons)
        self._drop_page()

    def note_channels(self, channels: Mapping[str, ChannelReport]) -> None:
        """Take in what became of each channel's notices."""
        self._health.note_channels(channels)
        self._drop_page()

    def note_reload(self, models: Iterable[ModelSpec] | None, *, at: float) -> None:
        """Take in that the configuration was read again: its models, or None where it was refused.

        What is no longer configured vanishes.
        """
        self._health.note_reload(accepted=models is not None, at=at)
        with self._lock:
            before = self._models
            if models is not None:
                self._models = {model.name: model for model in models}
            self._gone = {*self._gone, *before}.difference(self._models)
        for name in self._gone:
            self.forget_model(name)
        with self._lock:
            self._page = None

    def render_page(self, accept: str = "") -> tuple[bytes, str]:
        """Page and content type for an Accept header."""
        content_type = negotiate_type(accept)
        return self._current_page(content_type).bodies[content_type], content_type

    def render_gzip(self, accept: str = "") -> tuple[bytes, str]:
        """Page, packed once, and content type."""
        content_type = negotiate_type(accept)
        page = self._current_page(content_type)
        if content_type not in page.packed:
            page.packed[content_type] = gzip.compress(page.bodies[content_type], compresslevel=5, mtime=0)
        return page.packed[content_type], content_type

    def _drop_page(self) -> None:
        with self._lock:
            self._page = None

    def _current_page(self, content_type: str) -> _RenderedPage:
        with self._lock:
            if self._page is None:
                self._page = _RenderedPage(self._join_models())
            if content_type not in self._page.bodies:
                self._page.bodies[content_type] = self._page.measurements + self._own_metrics(content_type)
            return self._page

    def _join_models(self) -> bytes:
        """All models' series, which read the same in both formats: gauges without units."""
        families: dict[bytes, list[bytes]] = {}
        for rendered in self._rendered.values():
            for head, series in rendered:
                families.setdefault(head, []).append(series)
        joined = b"".join(head + b"".join(series) for head, series in families.items())
        alerting = [exposed.alerting for exposed in self._exposed.values()]
        return joined + (generate_latest(_MetricList(alert_families(alerting))) if alerting else b"")

    def _own_metrics(self, content_type: str) -> bytes:
        if content_type == TEXT:
            return generate_latest(self._health)
        openmetrics, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
        return openmetrics(self._health)


@dataclass(frozen=True, slots=True)
class _MetricList:
    """What the client library's writers take."""

    metrics: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        """Metrics, once."""
        return self.metrics


def negotiate_type(accept: str) -> str:
    """Content type for an Accept header: OpenMetrics where it is liked at least as much as text.

    >>> negotiate_type("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4")
    'application/openmetrics-text; version=1.0.0; charset=utf-8'
    >>> negotiate_type("*/*")
    'text/plain; version=0.0.4; charset=utf-8'
    """
    liked = header_preferences(accept)
    openmetrics = liked.get("application/openmetrics-text", 0.0)
    return OPENMETRICS if openmetrics > 0 and openmetrics >= liked.get("text/plain", 0.0) else TEXT
