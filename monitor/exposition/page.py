"""The metrics page: rendered once a commit, served as bytes."""

import gzip
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder

from monitor.alerts.acceptance import Accepted
from monitor.alerts.lifecycle import Alert
from monitor.exposition.accept import likes
from monitor.exposition.collector import MeasurementCollector
from monitor.exposition.selection import Exposed, expose
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import ChannelReport, CycleReport
from monitor.specs.rows import MeasurementRow

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(slots=True)
class _Page:
    """One rendering in both formats; packed when first asked for."""

    bodies: dict[str, bytes]
    packed: dict[str, bytes] = field(default_factory=dict)


class Exposition:
    """What `/metrics` serves. Publishing renders; a scrape only hands bytes out.

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
        self._measurements = b""
        self._lock = threading.Lock()
        self._page = self._assembled()

    def publish(
        self,
        model: str,
        as_of: int,
        rows: Sequence[MeasurementRow],
        alerts: Sequence[Alert] = (),
        accepted: Accepted | None = None,
    ) -> None:
        """Replace what is served of a model; see `expose`."""
        if model in self._gone:
            return
        exposed = expose(self._models[model], as_of, rows, alerts, accepted)
        with self._lock:
            self._exposed[model] = exposed
            self._render()

    def forget(self, model: str) -> None:
        """Let a model and its cycles vanish."""
        self._health.forget(model)
        with self._lock:
            self._exposed.pop(model, None)
            self._render()

    def observe(self, report: CycleReport, *, at: float, newest_logged_at: int | None = None) -> None:
        """Take a cycle's report into the daemon's own metrics; see `SelfMetrics.observe`."""
        if report.model in self._gone:
            return
        self._health.observe(report, at=at, newest_logged_at=newest_logged_at)
        with self._lock:
            self._page = self._assembled()

    def skipped(self, model: str) -> None:
        """Count a tick that was left out."""
        if model in self._gone:
            return
        self._health.skipped(model)
        with self._lock:
            self._page = self._assembled()

    def followed(self, model: str, *, at: float) -> None:
        """Take in that another process has run a model's cycle; see `SelfMetrics.followed`."""
        if model in self._gone:
            return
        self._health.followed(model, at=at)
        with self._lock:
            self._page = self._assembled()

    def stands_aside(self, reasons: Mapping[str, bool]) -> None:
        """Take in for which of all reasons no cycles are claimed."""
        self._health.stands_aside(reasons)
        with self._lock:
            self._page = self._assembled()

    def notified(self, channels: Mapping[str, ChannelReport]) -> None:
        """Take in what became of each channel's notices."""
        self._health.notified(channels)
        with self._lock:
            self._page = self._assembled()

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
            self._page = self._assembled()

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Page and content type for an Accept header."""
        content_type = negotiated(accept)
        return self._page.bodies[content_type], content_type

    def render_gzip(self, accept: str = "") -> tuple[bytes, str]:
        """Page, packed once, and content type."""
        content_type, page = negotiated(accept), self._page
        if content_type not in page.packed:
            page.packed[content_type] = gzip.compress(page.bodies[content_type], compresslevel=5, mtime=0)
        return page.packed[content_type], content_type

    def _render(self) -> None:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(MeasurementCollector(dict(self._exposed)))
        # Gauges without units, and help without quotes, read the same in both formats.
        self._measurements = generate_latest(registry)
        self._page = self._assembled()

    def _assembled(self) -> _Page:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self._health)
        openmetrics, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
        return _Page(
            {
                TEXT: self._measurements + generate_latest(registry),
                OPENMETRICS: self._measurements + openmetrics(registry),
            }
        )


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
