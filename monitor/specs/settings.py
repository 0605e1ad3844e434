"""The whole configuration as plain values: what the outermost layers are wired from."""

from dataclasses import dataclass, field

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import Severity
from monitor.core.clock import DAY, MINUTE
from monitor.specs import HOST, PORT
from monitor.specs.model_spec import ModelSpec, SourceSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec:
    """Where the HTTP server listens; files of TLS and of secrets, relative to the configuration's."""

    host: str = HOST
    port: int = PORT
    tls_certificate: str | None = None
    tls_key: str | None = None
    secret_file: str | None = None
    # whether people are shown pages; None: where the host is loopback, or there is a secret.
    pages: bool | None = None
    url: str | None = None  # address from outside, as behind a proxy; what links to pages begin with


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpec:
    """How the log is written: "console" or "json"; from which level on."""

    format: str = "console"
    level: str = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSpec:
    """How the daemon makes up for missed ticks, and how long what it holds lasts unrenewed; microseconds."""

    catch_up: int = DAY
    lease_ttl: int = MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSpec:
    """Where people are told of alerts."""

    name: str
    url: str = field(repr=False)  # secrets filled in; never logged, stored or shown
    models: tuple[str, ...] | None = None  # that it is told of; None: all
    severity: Severity = Severity.WARNING  # the least one that it is told of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was configured."""

    # SQLAlchemy URL of our own database, secrets filled in but for files, which are read for each connection:
    # see `specs.urls`; never logged: see `specs.urls.shown`.
    store_url: str = field(repr=False)
    retention: int | None = None  # microseconds for which all kept revisions are kept; None: for ever
    # of windows that overlap others of their kind, measures that nobody asks for are not kept.
    thin: bool = True
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

    def list_recipients(self, model: str) -> tuple[Recipient, ...]:
        """Who is told of a model's alerts."""
        return tuple(
            Recipient(channel.name, channel.severity)
            for channel in self.channels
            if channel.models is None or model in channel.models
        )
