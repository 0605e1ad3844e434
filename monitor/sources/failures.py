"""Errors of the drivers, told in our own words and without a password."""

from monitor.core.errors import SourceError, SourceUnavailable, Trouble, without_quotes
from monitor.sources.address import Address
from monitor.sources.mysql import unreachable_code

# connection, resources, operator, system, account, no such database
_UNREACHABLE = ("08", "53", "57", "58", "28", "3D000")
_DATA = "22"
_TIMEOUT = "57014"
_CONFLICT = ("40001", "40P01")  # a standby's recovery cancels a statement; deadlock
_MYSQL = {1969: Trouble.TIMEOUT, 3024: Trouble.TIMEOUT, 1213: Trouble.CONFLICT}


def trouble_of_state(sqlstate: str | None) -> Trouble | None:
    """What an SQLSTATE says of a database that cannot serve us now; None: it can, the statement is wrong."""
    match sqlstate:
        case None:
            return None
        case _ if sqlstate == _TIMEOUT:
            return Trouble.TIMEOUT
        case _ if sqlstate in _CONFLICT:
            return Trouble.CONFLICT
        case _:
            return Trouble.NO_ANSWER if sqlstate.startswith(_UNREACHABLE) else None


def trouble_of_mysql(code: int) -> Trouble | None:
    """What a number of MySQL's or MariaDB's errors says of a database that cannot serve us now."""
    return _MYSQL.get(code, Trouble.NO_ANSWER if unreachable_code(code) else None)


def unavailable(
    address: Address, error: BaseException, trouble: Trouble = Trouble.NO_ANSWER
) -> SourceUnavailable:
    """The database does not answer."""
    return SourceUnavailable(f"{address.shown} does not answer: {reason(address, error)}", trouble)


def refused(address: Address, error: BaseException) -> SourceError:
    """The database does not run a statement."""
    told = reason(address, error)
    if _may_quote_values(address, error):
        told = without_quotes(told)
    return SourceError(f"{address.shown} refuses a query: {told}")


def _may_quote_values(address: Address, error: BaseException) -> bool:
    """Whether a message may quote what stands in a row, as "invalid input syntax: …" does.

    PostgreSQL's errors in mid-stream reach us without their SQLSTATE.
    """
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    if state is None and address.dialect == "postgresql":
        return True
    of_data = any(kind.__name__ == "DataError" for kind in type(original).__mro__)
    return of_data or (state or "").startswith(_DATA)


def reason(address: Address, error: BaseException) -> str:
    """First line of a driver's message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return address.hide(lines[0])
