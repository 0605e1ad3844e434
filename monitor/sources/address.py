"""Which reader a database URL asks for, and what each reader is handed."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from monitor.core.errors import SourceError, SourceUnavailable
from monitor.sources.engines.columnar import EXTRAS
from monitor.specs.urls import fault_of, filled, has_files


class How(StrEnum):
    """How rows are fetched."""

    ADBC = "adbc"
    FETCHMANY = "fetchmany"


@dataclass(frozen=True, slots=True)
class Address:
    """A database URL, taken apart.

    Parameters
    ----------
    shown
        without password and without query parameters: the only form that messages may hold.
    file
        of SQLite.
    written
        the URL as configured, with places for files; empty: it has none.
    """

    url: URL = field(repr=False)
    shown: str
    how: How
    file: Path | None = None
    written: str = field(default="", repr=False)

    @property
    def dialect(self) -> str:
        """Name of the SQL dialect, as in sqlite, postgresql, mysql."""
        return self.url.get_backend_name()

    def now(self) -> URL:
        """URL for a new connection: the password may have been changed.

        Raises
        ------
        SourceUnavailable
            if a file of it cannot be read.
        """
        if not self.written:
            return self.url
        try:
            found = _url_of(self.written)
        except ValueError as error:
            raise SourceUnavailable(f"{self.shown}: {error}") from None
        return found.difference_update_query(["reader"])


def address_of(url: str, *, store_url: str | None = None, reader: str | None = None) -> Address:
    """Take a SQLAlchemy URL apart.

    Parameters
    ----------
    store_url
        our own database: a SQLite file that is also the store is read without ADBC, whose own SQLite
        library would drop the locks of the other one.
    reader
        "adbc" or "fetchmany" to choose; so does ``?reader=fetchmany`` in the URL.

    Raises
    ------
    SourceError
        if the text is no database URL, names no file of SQLite, or ADBC was asked for where it has no driver.
    """
    parsed = _parse(url)
    asked = reader or parsed.query.get("reader")
    parsed = parsed.difference_update_query(["reader"])
    shown = parsed.set(query={}).render_as_string(hide_password=True)
    file = sqlite_file(parsed)
    if file is None and parsed.get_backend_name() == "sqlite":
        raise SourceError(f"{shown}: a source on SQLite is a file, as in sqlite:///predictions.db")
    fit = file is not None or parsed.get_backend_name() == "postgresql"
    if asked is None:
        shared = file is not None and store_url is not None and file == sqlite_file(_parse(store_url))
        asked = How.ADBC if fit and not shared else How.FETCHMANY
    if asked not in tuple(How) or (asked == How.ADBC and not fit):
        raise SourceError(
            f'{shown}: the reader is "adbc" (SQLite files, PostgreSQL) or "fetchmany": got "{asked}"'
        )
    return Address(parsed, shown, How(str(asked)), file, url if has_files(url) else "")


def sqlite_file(url: URL) -> Path | None:
    """File of a SQLite URL."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    name = str(url.database)
    if name.startswith("file:"):
        name = unquote(name.removeprefix("file:").partition("?")[0])
    return Path(name).resolve()


def sqlite_uri(file: Path) -> str:
    """Read-only SQLite URI of a file."""
    return f"file:{quote(str(file))}?mode=ro"


def libpq_uri(url: URL) -> str:
    """URI for libpq: no driver name, an application name, everything encoded as libpq reads it.

    SQLAlchemy leaves spaces as they are, at which libpq refuses a URI and quotes it, or writes them as +,
    which means itself to libpq.
    """
    query = {"application_name": "monitor", "connect_timeout": "10", **url.query}
    values = {name: (value,) if isinstance(value, str) else value for name, value in sorted(query.items())}
    pairs = (f"{quote(name, safe='')}={quote(one, safe='')}" for name in values for one in values[name])
    account = "" if url.username is None else quote(url.username, safe="")
    account += "" if url.password is None else f":{quote(url.password, safe='')}"
    host = f"[{url.host}]" if ":" in (url.host or "") else url.host or ""
    port = "" if url.port is None else f":{url.port}"
    name = "" if url.database is None else quote(url.database, safe="")
    return f"postgresql://{account}{'@' if account else ''}{host}{port}/{name}?{'&'.join(pairs)}"


def _parse(url: str) -> URL:
    try:
        parsed = _url_of(url)
    except ValueError as error:
        raise SourceError(f"the URL of a source: {error}") from None
    try:
        parsed.get_dialect()
    except NoSuchModuleError:
        shown, kind = parsed.set(query={}).render_as_string(hide_password=True), parsed.drivername
        extra = EXTRAS.get(parsed.get_backend_name())
        hint = f": install monitor[{extra}]" if extra else ""
        raise SourceError(f'{shown}: no kind of database is called "{kind}"{hint}') from None
    except (ArgumentError, ValueError):
        raise SourceError("the URL of a source is no database URL: dialect://user@host/name") from None
    return parsed


def _url_of(written: str) -> URL:
    """Read a URL, with what its files hold now.

    Raises
    ------
    ValueError
        if a file cannot be read, or what is there makes no URL; no part of it is told.
    """
    text = filled(written)
    if fault := fault_of(text):
        raise ValueError(fault)
    try:
        found = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError("it is no database URL: dialect://user@host/name") from None
    return found.set(drivername="postgresql") if found.drivername == "postgres" else found
