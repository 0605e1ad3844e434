"""Errors: one tree.

MonitorError
├── ConfigurationError      the configuration has faults; all of them are named
├── SourceError             a user's table cannot be read as configured
│   └── SourceUnavailable   the database does not answer: try again later
├── StoreError              our own database is missing, too old, or refuses a write
│   ├── StoreLost           its file was deleted or replaced under this process; nothing was written
│   └── LeaseLost           another process took this model over; nothing was written
├── NotificationError       a channel took no notice, or cannot be used as it is configured
├── AddressError            no page has this address, or it asks for what no page knows
├── GridMismatch            two states counted on different grids were to be merged
└── CodecError              what is stored cannot be read: damaged, or of another version
"""

import errno
import re
import traceback
from collections.abc import Sequence
from enum import StrEnum

from monitor.core.secrets import hide_secrets

NO_MEMORY = (
    "memory ran out: give this process more, or let it hold fewer rows at a time (batch_rows of the source); "
    'see "Memory" in docs/operations.md'
)
# says the loader of libraries, and Arrow where the driver of a database is refused a buffer
_NO_ROOM = ("failed to map segment from shared object", "(12) Cannot allocate memory")
_NO_THREAD = "can't start new thread"  # says Python
_SQLITE_NOMEM = (7, 3082)  # the second: where it reads or writes
REMEDY = 'restore a backup: see "A broken store" in docs/operations.md'
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)  # what reading leads to of bytes, JSON or a row that are not what was written


class MonitorError(Exception):
    """Anything this project raises on purpose. Its text holds no secret that the process knows."""

    def __init__(self, message: str = "") -> None:
        super().__init__(hide_secrets(message))


class ConfigurationError(MonitorError):
    """Faults of a configuration, each with its path in the file."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(map(hide_secrets, faults))
        super().__init__("\n".join(self.faults))


class SourceError(MonitorError):
    """A user's table cannot be read as configured."""


class DatabaseTrouble(StrEnum):
    """Why a database does not answer: which of these, a second try may mend."""

    NO_ANSWER = "no answer"
    TIMEOUT = "timeout"  # the statement took too long: half of it may not
    CONFLICT = "conflict"  # with another transaction, or with a standby's recovery: later it may be gone


class SourceUnavailable(SourceError):  # noqa: N818 -- reads as a sentence where it is caught
    """The database does not answer."""

    def __init__(self, message: str, trouble: DatabaseTrouble = DatabaseTrouble.NO_ANSWER) -> None:
        super().__init__(message)
        self.trouble = trouble


class StoreError(MonitorError):
    """Our own database cannot be used."""


class StoreLost(StoreError):  # noqa: N818 -- reads as a sentence where it is caught
    """The store's file was deleted or replaced under this process."""


class LeaseLost(StoreError):  # noqa: N818 -- reads as a sentence where it is caught
    """Another process took the model over."""


class NotificationError(MonitorError):
    """A channel took no notice. Its text holds no secret."""


class AddressError(MonitorError):
    """No page has this address (`status` 404), or it asks for what no page knows (400)."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


class GridMismatch(MonitorError):  # noqa: N818 -- reads as a sentence where it is caught
    """States of different grids do not merge."""


class CodecError(MonitorError):
    """What is stored cannot be read."""


def damage_error(what: str, why: object) -> CodecError:
    """Error of something in the store that cannot be read."""
    return CodecError(f"the store is damaged: {what}: {why}; {REMEDY}")


def lacks_memory(error: BaseException | None) -> bool:
    """Whether an error comes of this process having got no memory, whatever was made of it on the way.

    Of other texts that speak of memory none is believed: they may be a server's, and of its own.

    >>> lacks_memory(ImportError("libx.so: failed to map segment from shared object"))
    True
    >>> lacks_memory(StoreError("out of memory, says the server"))
    False
    """
    while error is not None:
        said = str(error)
        of_code = getattr(error, "errno", None) == errno.ENOMEM
        of_sqlite = getattr(error, "sqlite_errorcode", None) in _SQLITE_NOMEM
        of_text = any(text in said for text in _NO_ROOM)
        of_thread = isinstance(error, RuntimeError) and _NO_THREAD in said
        if isinstance(error, MemoryError) or of_code or of_sqlite or of_text or of_thread:
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def without_quotes(message: str) -> str:
    """Message up to its first quotation, which may be a value of somebody's row.

    >>> without_quotes('invalid input syntax for type numeric: "Jane Doe"')
    'invalid input syntax for type numeric: ***'
    """
    plain, *quotation = re.split("[\"'`]", message, maxsplit=1)
    return f"{plain}***" if quotation else plain


def error_line(error: Exception) -> str:
    """One line on an error; on an unexpected one also where it was raised.

    An unexpected error of a conversion may quote a value of a row: what stands in quotes is left out.

    >>> error_line(MonitorError("no such table: predictions"))
    'no such table: predictions'
    >>> error_line(ValueError("could not convert string to float: 'Jane Doe'"))
    'ValueError: could not convert string to float: ***'
    >>> error_line(MemoryError("Unable to allocate 195. KiB for an array")) == NO_MEMORY
    True
    """
    if lacks_memory(error):
        return NO_MEMORY
    first = (hide_secrets(str(error)).splitlines() or [""])[0]
    if isinstance(error, MonitorError):
        return first or type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    first = without_quotes(first) if isinstance(error, ValueError | TypeError | LookupError) else first
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {first}{where}"
