"""What a page asks of the store, and what an address asks of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from monitor.alerts.links import address
from monitor.alerts.standing import Seen
from monitor.config.messages import did_you_mean, listed, quoted
from monitor.core.change import Change
from monitor.core.clock import from_iso
from monitor.core.errors import AddressError
from monitor.core.typing import Ints
from monitor.measures.rows import Revision
from monitor.records.counting import Counting
from monitor.records.pane import PanePart, Part
from monitor.records.reference import Reference
from monitor.show.alerts import ShownAlert
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn, Event, Provenance
from monitor.states.strata import Strata

KEPT = ("run", "as_of")  # parameters that links to other pages keep
# Pages reckon months before and after a moment that they are asked about: these must be dates, too.
_EARLIEST, _LATEST = from_iso("1900-01-01"), from_iso("3000-01-01")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWindow:
    """Counts of one part of a window as they are now."""

    counting: Counting
    strata: Strata  # the whole, versions, segments
    reference: Reference | None  # on the same grids; None: there is none
    # that were added up, by start: the newest of them, at most as many as are held at once.
    panes: Mapping[int, PanePart]
    lost: int  # how many others there are, which were counted on other grids


@dataclass(frozen=True, slots=True)
class ChartedDay:
    """A value of one day, and the band that was expected of such a day."""

    day: int  # days since 1970-01-01 of its date where the model is
    start: int
    end: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a model is: its last cycle (None: none ran), the window that rules judge, its main measure."""

    as_of: int | None
    window: str
    main: str


MOST_PANES = 1_500  # that a page holds in memory at once


class Surroundings(Protocol):
    """What surrounds every page, and needs no store."""

    @property
    def run(self) -> str:
        """History that is shown."""
        ...

    @property
    def probes(self) -> bool:
        """Whether /metrics, /healthz and /readyz are served beside the pages."""
        ...

    def now(self) -> int:
        """The moment at which the page is made."""
        ...

    def specs(self) -> Sequence[ModelSpec]:
        """Models as they are configured."""
        ...


class PageData(Surroundings, Protocol):
    """The store of one run, as pages see it. Moments are microseconds; `as_of` None: now."""

    def seen(self, model: str | None, as_of: int | None) -> list[Seen]:
        """What is known of one model or of all: what `monitor status` goes by."""
        ...

    def placed(self, model: str, as_of: int | None) -> Placed:
        """What `seen` says first, without reading what was measured."""
        ...

    def rows(self, model: str, which: Drawn) -> list[Revision]:
        """(as of, row) of all kept revisions of a window's ends, by end and as of."""
        ...

    def values(self, model: str, which: Drawn) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        """Newest values alone of the same rows, against nothing: by (measure, subject), then by end."""
        ...

    def counted(self, spec: ModelSpec, start: int, end: int, part: Part) -> CountedWindow:
        """Counts of a part of all panes between two moments, as they are now."""
        ...

    def spans(
        self, model: str, counted: CountedWindow, block: str, bounds: Sequence[int]
    ) -> list[Ints | None]:
        """Counts of a block of the records between each two of the bounds; None: no pane is there.

        Parameters
        ----------
        counted
            records of a window: its panes are not read again.
        """
        ...

    def days_of_change(
        self, spec: ModelSpec, of: tuple[str, str], change: Change, span: tuple[int, int]
    ) -> list[ChartedDay]:
        """Days about a change, each as it was judged; none: it is not known any more.

        Parameters
        ----------
        of
            subject and segment, as rows name them; of the whole the segment is empty.
        span
            when its alert fired; the moment by which the days were judged that are told.
        """
        ...

    def alerts(self, model: str | None, as_of: int | None, *, ended: bool) -> list[ShownAlert]:
        """Alerts that are pending or firing, `ended`: those that are over too."""
        ...

    def events(self, model: str) -> list[Event]:
        """What happened to the history of a model."""
        ...

    def provenance(self, model: str, as_of: int) -> Provenance | None:
        """What stood behind the measurements of a cycle."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks for."""

    path: tuple[str, ...]  # parts between the slashes, decoded, without ".json"
    query: Mapping[str, str] = field(default_factory=dict)  # parameters, each once

    def only(self, *names: str) -> None:
        """Refuse parameters that the page does not know.

        Raises
        ------
        AddressError
            which names those that it knows.
        """
        known = (*KEPT, *names)
        for name in self.query:
            if name not in known:
                meant = did_you_mean(name, known)
                raise AddressError(f"no parameter {quoted(name)}: this page has {listed(known)}{meant}")

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        """Value of a parameter that has few.

        Raises
        ------
        AddressError
            which names them.
        """
        value = self.query.get(name, default)
        if value not in allowed and value != default:
            known = listed(allowed or [default])
            raise AddressError(f"{name} is one of {known}: got {quoted(value)}{did_you_mean(value, allowed)}")
        return value

    def moment(self, name: str) -> int | None:
        """Moment of a parameter in microseconds; None: it is not given.

        Raises
        ------
        AddressError
            if it is no date or time, or lies beyond what a page reckons with.
        """
        text = self.query.get(name)
        if not text:
            return None
        try:
            moment = from_iso(text.replace(" ", "+"))  # a plus sign of a query means a space
        except ValueError:
            example = "2013-08-15 or 2013-08-15T06:00Z"
            raise AddressError(f"{name} is a date or time as in {example}: got {quoted(text)}") from None
        if not _EARLIEST <= moment < _LATEST:
            raise AddressError(f"{name} lies in the years from 1900 to 2999: got {quoted(text)}")
        return moment

    @property
    def as_of(self) -> int | None:
        """Moment of which is told what was known then; None: now."""
        return self.moment("as_of")

    def link(self, *path: str, **changed: str | int | None) -> str:
        """Address of another page of the same run and moment."""
        kept = {name: self.query.get(name) for name in KEPT}
        return address(path, {**kept, **changed})

    def here(self, **changed: str | int | None) -> str:
        """Address of this page with some parameters changed; None leaves one out."""
        return address(self.path, {**self.query, **changed})


def found(name: str, names: Sequence[str], what: str) -> str:
    """A name that is known.

    Raises
    ------
    AddressError
        404, with a suggestion.
    """
    if name not in names:
        there = listed(names[:8]) or "none"
        raise AddressError(
            f"there is no {what} {quoted(name)}: there is {there}{did_you_mean(name, names)}", 404
        )
    return name


def zone_of(data: Surroundings, model: str) -> str:
    """Time zone of a model's windows; of no model UTC."""
    zones = (spec.windows[0].zone for spec in data.specs() if spec.name == model and spec.windows)
    return next(zones, "UTC")
