"""A database URL, taken apart: what each reader is handed."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Dialect, make_url
from sqlalchemy.exc import ArgumentError

from monitor.core.errors import SourceUnavailable
from monitor.sources.engines.engine import Engine
from monitor.specs.urls import fault_of, fill_url


class FetchMethod(StrEnum):
    """How rows are fetched."""

    ADBC = "adbc"
    FETCHMANY = "fetchmany"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database URL, taken apart."""

    url: URL = field(repr=False)
    shown: str  # without password and without query parameters: the only form that messages may hold
    how: FetchMethod
    engine: Engine
    file: Path | None = None  # that the database is, where it is one
    # the URL as configured, with places for files; empty: it has none.
    written: str = field(default="", repr=False)

    def current_url(self) -> URL:
        """URL for a new connection: the password may have been changed.

        Raises
        ------
        SourceUnavailable
            if a file of it cannot be read.
        """
        if not self.written:
            return self.url
        try:
            url = parse_database_url(self.written)
        except ValueError as error:
            raise SourceUnavailable(f"{self.shown}: {error}") from None
        return url.set(drivername=self.url.drivername).difference_update_query(["reader"])

    def connect(self, dialect: Dialect, _record: object, _args: object, parameters: dict[str, Any]) -> Any:
        """Connect with what the files of the URL hold now, as its driver takes it."""
        positional, named = dialect.create_connect_args(self.current_url())
        arguments = self.engine.connection_arguments(dialect.driver, dict(named))
        return dialect.connect(*positional, **{**parameters, **arguments})


def parse_database_url(written: str) -> URL:
    """Read a URL, with what its files hold now.

    Raises
    ------
    ValueError
        if a file cannot be read, or what is there makes no URL; no part of it is told.
    """
    text = fill_url(written)
    if fault := fault_of(text):
        raise ValueError(fault)
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError("it is no database URL: dialect://user@host/name") from None
