"""The whole configuration as plain values: what the outermost layers are wired from."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import Severity
from monitor.alerts.report_notices import ReportPlan
from monitor.core.clock import DAY, MINUTE, SECOND
from monitor.specs import HOST, PORT
from monitor.specs.model_spec import ModelSpec, SourceSpec
from monitor.specs.value_types import (
    ChannelUrl,
    Duration,
    LeastSeverity,
    Name,
    OutsideUrl,
    ProxyHeader,
    Row,
    StoreUrl,
    Text,
    TlsKey,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSpec:
    """Our own database."""

    # SQLAlchemy URL, secrets filled in but for files, which are read for each connection: see `specs.urls`;
    # never logged: see `specs.urls.shown`.
    url: StoreUrl = field(default="sqlite:///monitor.db", repr=False)
    retention: Duration | None = None  # microseconds for which all kept revisions are kept; None: for ever
    # of windows that overlap others of their kind, measures that nobody asks for are not kept.
    thin: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec:
    """Where the HTTP server listens, and whom it answers."""

    host: Text = HOST
    port: Annotated[int, Field(strict=False, ge=0, le=65_535)] = PORT
    # files of TLS and of secrets are relative to the configuration's.
    tls_certificate: Text | None = None
    tls_key: TlsKey = None
    secret_file: Text | None = None
    # in which a proxy sends who is signed in there; None: no proxy does.
    user_header: ProxyHeader = None
    # whether people are shown pages; None: where the host is loopback, or there is a secret.
    pages: bool | None = None
    url: OutsideUrl | None = None  # address from outside, as behind a proxy; what links to pages begin with


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpec:
    """How the log is written."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"  # from which on


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSpec:
    """How the daemon makes up for missed ticks, and shares its store."""

    catch_up: Annotated[Duration, Field(ge=0)] = DAY
    lease_ttl: Annotated[Duration, Field(ge=SECOND)] = MINUTE  # how long what it holds lasts unrenewed


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSpec:
    """A channel by which alerts reach people."""

    name: Name
    url: ChannelUrl = field(repr=False)  # secrets filled in; never logged, stored or shown
    models: Row[Text] | None = None  # that it is told of; None: all
    severity: LeastSeverity = Severity.WARNING  # the least one that it is told of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was configured."""

    store: StoreSpec
    http: HttpSpec
    log: LogSpec
    sources: tuple[SourceSpec, ...]
    models: tuple[ModelSpec, ...]  # the enabled ones, in the order of the file
    daemon: DaemonSpec = DaemonSpec()
    channels: tuple[ChannelSpec, ...] = ()

    def find_source(self, name: str) -> SourceSpec:
        """Source of a name.

        Raises
        ------
        KeyError
            if there is none.
        """
        return {source.name: source for source in self.sources}[name]

    def plan_report(self, model: ModelSpec) -> ReportPlan | None:
        """When a model's report is sent, and to whom; None: never."""
        report = model.keys.report
        if report is None:
            return None
        return ReportPlan(every=report.every, zone=model.keys.timezone, channels=tuple(report.to))

    def list_recipients(self, model: str) -> tuple[Recipient, ...]:
        """Who is told of a model's alerts."""
        return tuple(
            Recipient(channel.name, channel.severity)
            for channel in self.channels
            if channel.models is None or model in channel.models
        )
