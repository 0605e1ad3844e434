"""What a page asks of the store, and what an address asks of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from monitor.alerts.alert_links import page_address
from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.model_facts import ModelFacts
from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.change import Change, ChangeAspect
from monitor.core.clock import DAY, LAST, from_iso
from monitor.core.errors import AddressError
from monitor.measures.measurement_row import StoredMeasurement
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reference import Reference
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import ShownIncident
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows, HistoryEvent, Provenance, SentNotice
from monitor.states.strata import Strata
from monitor.web.answers import FormVisit

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

    def as_judged(self, change: Change) -> "ChartedDay":
        """The day with the exact figures of a change that was judged on it: what is kept is weighted.

        Another day, or one of a change that no single day shows, as it is.
        """
        if change.in_unit is None or change.averaged_days != 1 or change.day is None:
            return self
        if from_iso(change.day) // DAY != self.day:
            return self
        value, low, high = change.in_unit
        return replace(self, value=value, low=low, high=high)


@dataclass(frozen=True, slots=True)
class DaySurprises:
    """How far a subject lay from what was expected, day by day: arrays of shape (days,)."""

    # size: of its most surprising series, in standard normals; NaN: nothing of it was judged. Of a fault
    # infinite where its share is above all that was expected.
    size: Floats
    rises: Bools  # whether that series lay above what was expected
    kinds: tuple[tuple[str, str], ...]  # kind and category of that series; ("", ""): nothing was judged


class ChartableDays(Protocol):
    """The newest judged days of the whole of a model, read once."""

    @property
    def days(self) -> Sequence[tuple[int, int, int]]:
        """(days since 1970-01-01 of its date, start, end) of each, oldest first; some may lack between."""
        ...

    def find_surprises(self, aspect: ChangeAspect | None) -> Mapping[str, DaySurprises]:
        """By subject how far it lay from what was expected; None: whatever of it."""
        ...

    @property
    def changes_since(self) -> Mapping[str, Ints]:
        """By subject the first day of the change that stood, day by day; 0: none did."""
        ...

    @property
    def standing_kinds(self) -> Mapping[str, Sequence[str]]:
        """By subject the kind of the change that stood, day by day; empty: none did."""
        ...

    def newest_shares(self, kind: str) -> Mapping[str, float]:
        """By subject the share of the newest day's records that has a fault, as "missing" or "unseen"."""
        ...

    def watched_kinds(self, subject: str) -> Sequence[tuple[str, str]]:
        """Kind and category of all that is followed of a subject."""
        ...

    def chart_series(self, subject: str, kind: str, category: str) -> list[ChartedDay]:
        """Values of a series or a fault; levels and spreads in standard deviations of usual days.

        The band of a day that was not compared is NaN; a day without a value lacks.
        """
        ...

    def chart_change(self, subject: str, change: Change) -> list[ChartedDay]:
        """Values of what a change is of, with the band that was expected; days that were not judged lack."""
        ...


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model is: its last cycle (None: none ran), the window that rules judge, its main measure."""

    as_of: int | None
    window: str
    main: str


MOST_PANES = 1_500  # that a page holds in memory at once


class PageSurroundings(Protocol):
    """What surrounds every page, and needs no store."""

    @property
    def run(self) -> str:
        """History that is shown."""
        ...

    @property
    def probes(self) -> bool:
        """Whether /metrics, /healthz and /readyz are served beside the pages."""
        ...

    def page_moment(self) -> int:
        """The moment at which the page is made."""
        ...

    def list_specs(self) -> Sequence[ModelSpec]:
        """Models as they are configured."""
        ...


class PageData(PageSurroundings, Protocol):
    """The store of one run, as pages see it. Moments are microseconds; `as_of` None: now."""

    def read_model_facts(self, model: str | None, as_of: int | None) -> list[ModelFacts]:
        """What is known of one model or of all: what `monitor status` goes by."""
        ...

    def read_model_place(self, model: str, as_of: int | None) -> ModelPlace:
        """What `seen` says first, without reading what was measured."""
        ...

    def read_revisions(self, model: str, which: ChartedRows) -> list[StoredMeasurement]:
        """Kept revisions of a window's ends, all of them or the newest alone, by end and as of."""
        ...

    def read_newest_values(
        self, model: str, which: ChartedRows
    ) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        """Newest values alone of the same rows, against nothing: by (measure, subject), then by end."""
        ...

    def read_window_counts(self, spec: ModelSpec, start: int, end: int, part: PaneHalf) -> CountedWindow:
        """Counts of a part of all panes between two moments, as they are now."""
        ...

    def read_span_counts(
        self, model: str, window_counts: CountedWindow, block: str, bounds: Sequence[int]
    ) -> list[Ints | None]:
        """Counts of a block of the records between each two of the bounds; None: no pane is there.

        Parameters
        ----------
        window_counts
            records of a window: its panes are not read again.
        """
        ...

    def read_change_days(
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

    def read_judged_days(
        self, spec: ModelSpec, part: PaneHalf, count: int, until: int
    ) -> ChartableDays | None:
        """The newest judged days of a part by a moment; None: too few, or they are watched otherwise now."""
        ...

    def list_alerts(self, model: str | None, as_of: int | None) -> list[ShownAlert]:
        """Alerts that are pending or firing, and those that are over."""
        ...

    def list_incidents(self, model: str | None, as_of: int | None) -> list[ShownIncident]:
        """Incidents that are open, and those that are over, of one model or of all."""
        ...

    def read_events(self, model: str) -> list[HistoryEvent]:
        """What happened to the history of a model."""
        ...

    def read_provenance(self, model: str, as_of: int) -> Provenance | None:
        """What stood behind the measurements of a cycle."""
        ...


class IncidentData(PageData, Protocol):
    """The same, as pages of incidents see it."""

    def list_withdrawable(self, model: str) -> set[tuple[AlertedSeries, int]]:
        """Alerts, by series and since, whose acceptance can be withdrawn."""
        ...

    def read_sent_notices(self, model: str, incident: str) -> list[SentNotice]:
        """Notices of an incident, as far as they are kept."""
        ...


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link of a row of links; `chosen`: what is shown now."""

    text: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What an address asks for."""

    path: tuple[str, ...]  # parts between the slashes, decoded, without ".json"
    query: Mapping[str, str] = field(default_factory=dict)  # parameters, each once
    visit: FormVisit | None = None  # who may decide by a form; None: nobody

    def refuse_unknown_parameters(self, *names: str) -> None:
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
                raise AddressError(
                    f"no parameter {quote_value(name)}: this page has {quote_names(known)}{meant}"
                )

    def parse_choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        """Value of a parameter that has few.

        Raises
        ------
        AddressError
            which names them.
        """
        value = self.query.get(name, default)
        if value not in allowed and value != default:
            known = quote_names(allowed or [default])
            raise AddressError(
                f"{name} is one of {known}: got {quote_value(value)}{did_you_mean(value, allowed)}"
            )
        return value

    def parse_moment(self, name: str) -> int | None:
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
            raise AddressError(f"{name} is a date or time as in {example}: got {quote_value(text)}") from None
        if not _EARLIEST <= moment < _LATEST:
            raise AddressError(f"{name} lies in the years from 1900 to 2999: got {quote_value(text)}")
        return moment

    @property
    def as_of(self) -> int | None:
        """Moment of which is told what was known then; None: now."""
        return self.parse_moment("as_of")

    def link_to(self, *path: str, **changed: str | int | None) -> str:
        """Address of another page of the same run and moment."""
        kept = {name: self.query.get(name) for name in KEPT}
        return page_address(path, {**kept, **changed})

    def link_here(self, **changed: str | int | None) -> str:
        """Address of this page with some parameters changed; None leaves one out."""
        return page_address(self.path, {**self.query, **changed})


def require_known_name(name: str, names: Sequence[str], what: str) -> str:
    """A name that is known.

    Raises
    ------
    AddressError
        404, with a suggestion.
    """
    if name not in names:
        there = quote_names(names[:8]) or "none"
        raise AddressError(
            f"there is no {what} {quote_value(name)}: there is {there}{did_you_mean(name, names)}", 404
        )
    return name


def read_kept_ends(
    data: PageData, model: str, window: str, *, after: int = 0, until: int = LAST, as_of: int | None = None
) -> list[int]:
    """Ends in (after, until] of the windows of a kind that were kept by a moment, the newest first."""
    which = ChartedRows(
        window=window, after=after, until=until, measures=("records",), subjects=("",), as_of=as_of
    )
    return sorted({stored.row.window_end for stored in data.read_revisions(model, which)}, reverse=True)


def zone_of(data: PageSurroundings, model: str) -> str:
    """Time zone of a model's windows; of no model UTC."""
    zones = (spec.windows[0].zone for spec in data.list_specs() if spec.name == model and spec.windows)
    return next(zones, "UTC")
