"""Which window an address means, and the links to its neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.core.clock import to_iso
from monitor.core.errors import AddressError
from monitor.pages.asked import Asked, PageData, Placed
from monitor.pages.fleet import main_of
from monitor.pages.model import Link
from monitor.pages.moments import called
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn
from monitor.windows.ends import Window

_FAR = 1 << 62
_MOST_ENDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A window, and how to go on from it.

    Parameters
    ----------
    end
        exclusive; None: no window of the kind was measured yet.
    name
        its period in words.
    ends
        (end, period, whether it is shown) of those that a list offers, the newest first.
    """

    window: Window
    end: int | None
    name: str
    windows: tuple[Link, ...]
    ends: tuple[tuple[str, str, bool], ...]
    earlier: str
    later: str


def picked(data: PageData, asked: Asked, spec: ModelSpec, seen: Placed) -> Picked:
    """The window that an address means: the newest one if it names none.

    Raises
    ------
    AddressError
        if no such window is kept.
    """
    names = [each.name for each in spec.windows]
    window = main_of(spec, asked.choice("window", names, "month" if "month" in names else seen.window))
    ends = _ends(data, spec, window, asked.as_of)
    end = _end(asked, window, ends)
    at = 0 if end is None else ends.index(end)
    return Picked(
        window=window,
        end=end,
        name="no window yet" if end is None else called(window, end),
        windows=tuple(Link(each, asked.here(window=each, end=None), each == window.name) for each in names),
        ends=tuple((to_iso(each), called(window, each), each == end) for each in ends[:_MOST_ENDS]),
        earlier=asked.here(end=to_iso(ends[at + 1])) if at + 1 < len(ends) else "",
        later=asked.here(end=to_iso(ends[at - 1])) if at > 0 else "",
    )


def _ends(data: PageData, spec: ModelSpec, window: Window, as_of: int | None) -> list[int]:
    """Ends of the kept windows, the newest first."""
    which = Drawn(window=window.name, after=0, until=_FAR, measures=("records",), subjects=("",), as_of=as_of)
    return sorted({row.window_end for _, row in data.rows(spec.name, which)}, reverse=True)


def _end(asked: Asked, window: Window, ends: Sequence[int]) -> int | None:
    wanted = asked.moment("end")
    if wanted is None:
        return ends[0] if ends else None
    if wanted not in ends:
        near = min(ends, key=lambda end: abs(end - wanted), default=None)
        meant = "" if near is None else f"; the nearest ends {to_iso(near)}"
        raise AddressError(f"no window {window.name} that ends {to_iso(wanted)} is kept{meant}", 404)
    return wanted
