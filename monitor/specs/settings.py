"""The whole configuration as plain values: what the outermost layers are wired from."""

from dataclasses import dataclass, field

from monitor.core.clock import DAY, MINUTE
from monitor.specs.model import ModelSpec, SourceSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec:
    """Where the HTTP server listens; files of TLS and of secrets, relative to the configuration's."""

    host: str = "127.0.0.1"
    port: int = 9839
    tls_certificate: str | None = None
    tls_key: str | None = None
    secret_file: str | None = None


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
class Settings:
    """Everything that was configured.

    Parameters
    ----------
    store_url
        SQLAlchemy URL of our own database, secrets filled in but for files, which are read for each
        connection: see `specs.urls`; never logged: see `config.urls.shown`.
    retention
        microseconds for which all kept revisions are kept; None: for ever.
    models
        the enabled ones, in the order of the file.
    """

    store_url: str = field(repr=False)
    retention: int | None = None
    http: HttpSpec
    log: LogSpec
    sources: tuple[SourceSpec, ...]
    models: tuple[ModelSpec, ...]
    daemon: DaemonSpec = DaemonSpec()

    def source(self, name: str) -> SourceSpec:
        """Source of a name.

        Raises
        ------
        KeyError
            if there is none.
        """
        return {source.name: source for source in self.sources}[name]
