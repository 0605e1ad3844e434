"""Which period a report is of: a window that is kept, or any days, by their bounds or in short."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from monitor.alerts.model_facts import ModelFacts
from monitor.core.clock import LAST, from_datetime, to_iso
from monitor.core.errors import AddressError
from monitor.measures.measurement_row import StoredMeasurement
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest, read_kept_ends
from monitor.pages.period_words import period_words
from monitor.sentences.reason_words import OF_THE_PAST
from monitor.specs.fault_words import quote_names, quote_value
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window, nominal_length

_SHORT = re.compile(r"(\d{4})(?:-(?:Q([1-4])|W(\d{2})|(\d{2})))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPeriod:
    """What a report is asked for; what is None is chosen."""

    window: str | None = None
    end: int | None = None  # exclusive, microseconds
    period: str | None = None  # in short: 2013, 2013-12, 2013-Q4, 2013-W50
    first: int | None = None
    last: int | None = None  # exclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPeriod:
    """A period: a window as configured, or one without a name, of which nothing is kept together."""

    window: Window
    start: int
    end: int  # exclusive
    words: str  # "December 2013"
    query: Mapping[str, str]  # how the page of its performance is asked for it

    @property
    def spoken(self) -> str:
        """Its words within a sentence: "in December 2013"."""
        if " – " in self.words:
            return "from " + self.words.replace(" – ", " to ")
        return f"on {self.words}" if self.words[:1].isdecimal() and " " in self.words else f"in {self.words}"


def parse_short_period(text: str, zone: str) -> tuple[int, int]:
    """Bounds of a year, quarter, month or ISO week, at midnights of a zone.

    Raises
    ------
    AddressError
        if it is none of these.

    >>> from monitor.core.clock import DAY
    >>> [(to_iso(start)[:10], (end - start) // DAY) for text in ("2013", "2013-Q4", "2013-12", "2013-W50")
    ... for start, end in [parse_short_period(text, "UTC")]]
    [('2013-01-01', 365), ('2013-10-01', 92), ('2013-12-01', 31), ('2013-12-09', 7)]
    """
    found = _SHORT.fullmatch(text)
    try:
        first, following = _period_days(*found.groups()) if found else (None, None)
    except ValueError:
        first = following = None
    if first is None or following is None:
        example = "2026, 2026-Q3, 2026-09 or 2026-W37"
        raise AddressError(
            f"period is a year, a quarter, a month or a week as {example}: got {quote_value(text)}"
        )
    local = ZoneInfo(zone)
    start, end = (
        from_datetime(datetime(day.year, day.month, day.day, tzinfo=local)) for day in (first, following)
    )
    return start, end


def _period_days(year: str, quarter: str | None, week: str | None, month: str | None) -> tuple[date, date]:
    """First day, and the day after the last one."""
    if week is not None:
        first = date.fromisocalendar(int(year), int(week), 1)
        return first, first + timedelta(days=7)
    begins, length = 1, 12
    if quarter is not None:
        begins, length = 3 * int(quarter) - 2, 3
    elif month is not None:
        begins, length = int(month), 1
    ends = begins + length
    return date(int(year), begins, 1), date(int(year) + (ends > 12), ends - 12 * (ends > 12), 1)


def resolve_report_period(
    data: PageData, model: str, asked: AskedPeriod, as_of: int | None
) -> tuple[ReportPeriod, ModelFacts]:
    """The period of a report, and what was known of the model at its moment.

    Raises
    ------
    AddressError
        if there is no such model or window, none that ended then was measured, or days lie in the future.
    """
    spec = spec_of(data, model)
    (facts,) = data.read_model_facts(model, as_of)
    if facts.as_of is None:
        raise AddressError(f'model "{model}": no cycle has run yet, so there is nothing to report', 404)
    moment = facts.as_of if as_of is None else as_of
    bounds = _asked_bounds(asked, spec)
    if bounds is not None:
        return _period_of_days(data, spec, *bounds, moment), facts
    return _period_of_window(data, spec, asked, facts, moment), facts


def _asked_bounds(asked: AskedPeriod, spec: ModelSpec) -> tuple[int, int] | None:
    """Bounds of days that are asked for; None: a window is."""
    given = [asked.period is not None, asked.first is not None or asked.last is not None]
    given.append(asked.window is not None or asked.end is not None)
    if sum(given) > 1:
        raise AddressError("a report is of a window, of a period, or of days from and to: not of two of them")
    if asked.period is not None:
        return parse_short_period(asked.period, spec.keys.timezone)
    if asked.first is None and asked.last is None:
        return None
    if asked.first is None or asked.last is None or asked.first >= asked.last:
        raise AddressError("from and to go together: from is the first day, to the one after the last")
    return asked.first, asked.last


def _period_of_days(data: PageData, spec: ModelSpec, start: int, end: int, moment: int) -> ReportPeriod:
    """A period by its bounds: the window that has them, if one is kept, else days counted together."""
    if end > moment:
        raise AddressError(
            f'model "{spec.name}": the period ends {to_iso(end)}, after what is known: {to_iso(moment)}', 404
        )
    for window in spec.windows:
        if window.start_of(end) == start and read_kept_ends(
            data, spec.name, window.name, after=end - 1, until=end, as_of=moment
        ):
            return _window_period(window, end)
    if start % spec.reading.pane or end % spec.reading.pane:
        raise AddressError(f"from and to bound whole panes: got {to_iso(start)} and {to_iso(end)}")
    window = Window("", end - start, end - start, spec.keys.timezone)
    query = {"from": to_iso(start), "to": to_iso(end)}
    return ReportPeriod(
        window=window, start=start, end=end, words=_span_words(window, start, end), query=query
    )


def _span_words(window: Window, start: int, end: int) -> str:
    """Days in words: of a whole year, quarter or month its name."""
    local = ZoneInfo(window.zone)
    first, following = (datetime.fromtimestamp(at / 1e6, local) for at in (start, end))
    months = 12 * (following.year - first.year) + following.month - first.month
    if first.day == following.day == 1 and (first.month - 1) % months == 0 and months in (1, 3, 12):
        if months == 12:
            return f"{first:%Y}"
        return f"Q{(first.month + 2) // 3} {first:%Y}" if months == 3 else f"{first:%B %Y}"
    return period_words(window, end)


def _window_period(window: Window, end: int) -> ReportPeriod:
    query = {"window": window.name, "end": to_iso(end)}
    start = window.start_of(end)
    return ReportPeriod(window=window, start=start, end=end, words=period_words(window, end), query=query)


def _period_of_window(
    data: PageData, spec: ModelSpec, asked: AskedPeriod, facts: ModelFacts, moment: int
) -> ReportPeriod:
    model, window, end = spec.name, asked.window, asked.end
    names = [each.name for each in spec.windows]
    if window and window not in names and _is_window_name(window):
        have = f'{quote_names(names)}; the configuration gives another: windows = [..., "{window}"]'
        raise AddressError(f'model "{model}": no window "{window}": there are {have}')
    name = PageRequest((), {"window": window} if window else {}).parse_choice("window", names, facts.window)
    own_window = next(each for each in spec.windows if each.name == name)
    ends = read_kept_ends(data, model, name, until=LAST if end is None else end, as_of=moment)
    if not ends or (end is not None and end not in ends):
        given = "" if end is None else f" that ends {to_iso(end)}"
        later: Sequence[StoredMeasurement] = ()
        if end is not None:
            of_end = ChartedRows(window=name, after=end - 1, until=end, measures=("records",), subjects=("",))
            later = data.read_revisions(model, of_end)
        last = ", ".join(to_iso(one) for one in ends[:3][::-1])
        hint = f"the last before it end {last}" if last else OF_THE_PAST
        if later:
            hint = f"it was first on {to_iso(min(stored.as_of for stored in later))}"
        raise AddressError(
            f'model "{model}": no window {name}{given} was measured as of {to_iso(moment)}; {hint}', 404
        )
    return _window_period(own_window, end or max(ends))


def _is_window_name(text: str) -> bool:
    try:
        nominal_length(text)
    except ValueError:
        return False
    return True
