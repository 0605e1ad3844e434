"""What stands in the way of a model's cycles, in words."""

from dataclasses import dataclass

from monitor.core.text import brief, readable
from monitor.sentences.windows import at

_ONCE = 1  # failure that is tried again before anybody is told


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleTrouble:
    """What stands in the way of a model's cycles.

    Parameters
    ----------
    as_of, since
        of the last cycle that met it, and of the first.
    failed
        cycles that failed in a row; 0: they succeed, but not all can be measured.
    told
        what it is, in words.
    """

    as_of: int
    since: int
    failed: int
    told: str


def trouble_told(trouble: CycleTrouble | None, as_of: int | None) -> str | None:
    """What somebody is needed for; None: nothing, or what failed has succeeded since.

    Parameters
    ----------
    as_of
        of the last cycle that succeeded; None: none did.
    """
    if trouble is None:
        return None
    told = brief(readable(trouble.told))
    if trouble.failed:
        if trouble.failed <= _ONCE or (as_of is not None and trouble.as_of <= as_of):
            return None
        done = "none has succeeded yet" if as_of is None else f"all that is said here is of {at(as_of)}"
        return f"Cycles have failed {trouble.failed:,} times since {at(trouble.since)}, and {done}: {told}"
    return f"{told}, since {at(trouble.since)}: bring them back, or take them out of the configuration"
