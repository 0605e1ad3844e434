"""Errors of the drivers, told in our own words and without a password."""

from typing import assert_never

from monitor.core.clock import format_duration
from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable, without_quotes
from monitor.core.secrets import hide_secrets
from monitor.sources.database_address import DatabaseAddress

_DATA = "22"  # of SQLSTATE


def unavailable_error(
    address: DatabaseAddress,
    error: BaseException,
    trouble: DatabaseTrouble = DatabaseTrouble.NO_ANSWER,
    *,
    limit: int = 0,
) -> SourceUnavailable:
    """The database does not answer, or ended a query.

    Parameters
    ----------
    limit
        microseconds that a query may take.
    """
    message = driver_reason(error)
    match trouble:
        case DatabaseTrouble.NO_ANSWER:
            text = f"does not answer: {message}"
        case DatabaseTrouble.CONFLICT:
            text = f"ended a query for the sake of others: {message}"
        case DatabaseTrouble.TIMEOUT:
            text = (
                f"ended a query: {message}; the source's statement_timeout is {format_duration(limit)}: "
                "`monitor check --explain` shows queries and missing indexes; if none is missing, allow more"
            )
        case _:
            assert_never(trouble)
    return SourceUnavailable(f"{address.shown} {text}", trouble)


def refused_error(address: DatabaseAddress, error: BaseException) -> SourceError:
    """The database does not run a statement, or a part of it that a note of the error names."""
    message = driver_reason(error)
    if _may_quote_values(address, error):
        message = without_quotes(message)
    part = next(iter(getattr(error, "__notes__", ())), "a query")
    return SourceError(f"{address.shown} refuses {part}: {message}")


def _may_quote_values(address: DatabaseAddress, error: BaseException) -> bool:
    """Whether a message may quote what stands in a row, as "invalid input syntax: …" does."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    if state is None and address.engine.may_quote(error):
        return True
    of_data = any(kind.__name__ == "DataError" for kind in type(original).__mro__)
    return of_data or (state or "").startswith(_DATA)


def driver_reason(error: BaseException) -> str:
    """First line of a driver's message; a secret may go over several."""
    lines = hide_secrets(str(error)).strip().splitlines() or [type(error).__name__]
    return lines[0]
