"""Which window an address means, and the links to its neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.core.clock import format_duration, to_iso
from monitor.core.errors import AddressError
from monitor.pages.fleet_page import find_named_window
from monitor.pages.page_request import ModelPlace, PageData, PageLink, PageRequest, read_kept_ends
from monitor.pages.period_words import period_words
from monitor.specs.fault_words import quote_value
from monitor.specs.model_spec import ModelSpec
from monitor.windows.window_ends import Window

_MOST_ENDS = 60
GRAINS = {"1d": "Day", "7d": "Week", "month": "Month", "quarter": "Quarter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedWindow:
    """A window, and how to go on from it."""

    window: Window  # one without a name is what an address bounds itself: nothing is kept of it
    end: int | None  # exclusive; None: no window of the kind was measured yet
    name: str  # its period in words
    windows: tuple[PageLink, ...]
    # (end, period, whether it is shown) of those that a list offers, the newest first.
    ends: tuple[tuple[str, str, bool], ...]
    earlier: str
    later: str

    @property
    def end_text(self) -> str:
        """Its end, as an address names it."""
        return to_iso(self.end or 0)

    @property
    def dates(self) -> tuple[str, str]:
        """First day, and the day before which it ends; empty: there is none."""
        if self.end is None:
            return "", ""
        return to_iso(self.window.start_of(self.end))[:10], to_iso(self.end)[:10]


def pick_window(
    data: PageData,
    request: PageRequest,
    spec: ModelSpec,
    place: ModelPlace,
    otherwise: tuple[str, int] | None = None,
) -> PickedWindow:
    """The window that an address means; one that names none means `otherwise`, else the newest one.

    Parameters
    ----------
    otherwise
        name and end of a window.

    Raises
    ------
    AddressError
        if no such window is kept.
    """
    names = [each.name for each in spec.windows]
    if bounds := _requested_bounds(request, spec.reading.pane):
        return _bounded_window(request, names, spec.reading.zone, *bounds)
    usual = "month" if "month" in names else place.window
    if otherwise is not None and otherwise[0] in names:
        usual = otherwise[0]
    window = find_named_window(spec, request.parse_choice("window", names, usual))
    ends = read_kept_ends(data, spec.name, window.name, as_of=request.as_of)
    end = _requested_end(request, window, ends)
    if otherwise is not None and otherwise[1] in ends:
        end = otherwise[1]
    at = 0 if end is None else ends.index(end)
    return PickedWindow(
        window=window,
        end=end,
        name="no window yet" if end is None else period_words(window, end),
        windows=tuple(
            PageLink(each, request.link_here(window=each, end=None), each == window.name) for each in names
        ),
        ends=tuple((to_iso(each), period_words(window, each), each == end) for each in ends[:_MOST_ENDS]),
        earlier=request.link_here(end=to_iso(ends[at + 1])) if at + 1 < len(ends) else "",
        later=request.link_here(end=to_iso(ends[at - 1])) if at > 0 else "",
    )


def grain_name(window: str) -> str:
    """What windows of a kind are called.

    >>> grain_name("7d"), grain_name("30d"), grain_name("1h")
    ('Week', '30 days', '1h')
    """
    days = window.removesuffix("d")
    return GRAINS.get(window) or (f"{days} days" if days.isdecimal() else window)


def _requested_bounds(request: PageRequest, pane: int) -> tuple[int, int] | None:
    """Bounds that an address names itself."""
    first, last = request.parse_moment("from"), request.parse_moment("to")
    if first is None and last is None:
        return None
    rule = f"from and to bound whole panes of {format_duration(pane)}, without window and end"
    if first is None or last is None or not first < last or first % pane or last % pane:
        got = " and ".join(quote_value(request.query.get(name, "")) for name in ("from", "to"))
        raise AddressError(f"{rule}: got {got}")
    for name in ("window", "end"):
        if name in request.query:
            raise AddressError(f"{rule}: got {name} as well")
    return first, last


def _bounded_window(
    request: PageRequest, names: Sequence[str], zone: str, first: int, last: int
) -> PickedWindow:
    window = Window("", last - first, last - first, zone)

    def kind(name: str) -> PageLink:
        return PageLink(name, request.link_here(**{"window": name, "from": None, "to": None}), False)

    return PickedWindow(
        window=window,
        end=last,
        name=period_words(window, last),
        windows=tuple(map(kind, names)),
        ends=(),
        earlier="",
        later="",
    )


def _requested_end(request: PageRequest, window: Window, ends: Sequence[int]) -> int | None:
    wanted = request.parse_moment("end")
    if wanted is None:
        return ends[0] if ends else None
    if wanted not in ends:
        near = min(ends, key=lambda end: abs(end - wanted), default=None)
        meant = "" if near is None else f"; the nearest ends {to_iso(near)}"
        raise AddressError(f"no window {window.name} that ends {to_iso(wanted)} is kept{meant}", 404)
    return wanted
