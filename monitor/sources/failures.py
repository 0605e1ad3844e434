"""Errors of the drivers, told in our own words and without a password."""

from monitor.core.errors import SourceError, SourceUnavailable
from monitor.sources.address import Address

# connection, resources, operator (timeouts too), system, account, no such database
_UNREACHABLE = ("08", "53", "57", "58", "28", "3D000")


def unreachable_state(sqlstate: str | None) -> bool:
    """Whether an SQLSTATE says that the database cannot serve us now."""
    return sqlstate is not None and sqlstate.startswith(_UNREACHABLE)


def unavailable(address: Address, error: BaseException) -> SourceUnavailable:
    """The database does not answer."""
    return SourceUnavailable(f"{address.shown} does not answer: {reason(address, error)}")


def refused(address: Address, error: BaseException) -> SourceError:
    """The database does not run a statement."""
    return SourceError(f"{address.shown} refuses a query: {reason(address, error)}")


def reason(address: Address, error: BaseException) -> str:
    """First line of a driver's message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return address.hide(lines[0])
