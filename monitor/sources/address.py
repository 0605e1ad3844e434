"""Which reader a database URL asks for, and what each reader is handed."""

from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from monitor.core.errors import SourceError, SourceUnavailable
from monitor.sources.columnar import EXTRAS
from monitor.specs.urls import filled, has_files


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
            found = make_url(filled(self.written))
        except (ArgumentError, ValueError) as error:
            raise SourceUnavailable(f"{self.shown}: {_of_places(error)}") from None
        return found.difference_update_query(["reader"])

    def hide(self, text: str) -> str:
        """Text of a driver without the password, should it hold it."""
        passwords = {self.url.password}
        with suppress(SourceUnavailable):
            passwords.add(self.now().password)
        for password in passwords:
            if password:
                text = text.replace(password, "***").replace(quote(password, safe=""), "***")
        return text


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
    """URI for libpq: no driver name, and an application name."""
    plain = url.set(drivername="postgresql")
    if "application_name" not in plain.query:
        plain = plain.update_query_dict({"application_name": "monitor"})
    if "connect_timeout" not in plain.query:
        plain = plain.update_query_dict({"connect_timeout": "10"})
    return plain.render_as_string(hide_password=False)


def _parse(url: str) -> URL:
    try:
        text = filled(url)
    except ValueError as error:
        raise SourceError(str(error)) from None
    try:
        parsed = make_url(text)
        parsed.get_dialect()
    except NoSuchModuleError:
        shown, kind = parsed.set(query={}).render_as_string(hide_password=True), parsed.drivername
        extra = EXTRAS.get(parsed.get_backend_name())
        hint = f": install monitor[{extra}]" if extra else ""
        raise SourceError(f'{shown}: no kind of database is called "{kind}"{hint}') from None
    except (ArgumentError, ValueError):
        raise SourceError("the URL of a source is no database URL: dialect://user@host/name") from None
    return parsed


def _of_places(error: ArgumentError | ValueError) -> str:
    return "what its files hold makes no URL" if isinstance(error, ArgumentError) else str(error)
