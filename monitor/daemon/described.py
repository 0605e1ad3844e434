"""An error in one line."""

import traceback
from pathlib import Path

from monitor.core.errors import MonitorError, without_quotes
from monitor.core.secrets import hide


def described(error: Exception) -> str:
    """One line on an error; on an unexpected one also where it was raised.

    An unexpected error of a conversion may quote a value of a row: what stands in quotes is left out.

    >>> described(MonitorError("no such table: predictions"))
    'no such table: predictions'
    >>> described(ValueError("could not convert string to float: 'Jane Doe'"))
    'ValueError: could not convert string to float: ***'
    """
    first = (hide(str(error)).splitlines() or [""])[0]
    if isinstance(error, MonitorError):
        return first or type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    first = without_quotes(first) if isinstance(error, ValueError | TypeError | LookupError) else first
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {first}{where}"
