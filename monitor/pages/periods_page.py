"""Windows one by one, the newest first: a row a window, each with its main measure's interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.alerts.model_facts import ModelFacts
from monitor.charts.scales import Axis, AxisTick
from monitor.core.clock import DAY, to_iso
from monitor.measures.measurement_row import LabelTruth, StoredMeasurement
from monitor.measures.value_words import certainty_words, format_interval_bounds
from monitor.pages.fleet_page import SIGNS, find_named_window, row_value_words
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import period_words
from monitor.pages.window_readings import REFERENCE, current_readings, reference_value, select_best_readings
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

_MOST_MONTHS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodLine:
    """A window in the table of windows, in words."""

    name: str
    href: str
    value: str
    bounds: str
    sure: str  # ▼ or ▲: clearly worse or better than the reference
    interval: tuple[float, float, float] | None
    final: bool


def period_window(spec: ModelSpec, facts: ModelFacts) -> Window:
    """Window of the table: calendar months if the model has them, else the one that rules judge."""
    calendar = [window for window in spec.windows if window.name == "month"]
    return calendar[0] if calendar else find_named_window(spec, facts.window)


def make_periods_table(
    data: PageData, request: PageRequest, spec: ModelSpec, facts: ModelFacts
) -> tuple[tuple[PeriodLine, ...], Axis | None]:
    """The table of windows, the newest first, and the axis that their intervals share."""
    if facts.as_of is None:
        return (), None
    window = period_window(spec, facts)
    ends = window.kept_ends(facts.as_of - 3 * 366 * DAY, facts.as_of)[: 60 * _MOST_MONTHS]
    # Windows that overlap say the same again.
    if not window.is_calendar:
        ends = [end for end in ends if (ends[0] - end) % max(window.length, window.step) == 0]
    ends = ends[:_MOST_MONTHS]
    if not ends:
        return (), None
    which = ChartedRows(
        window=window.name,
        after=ends[-1] - 1,
        until=ends[0],
        measures=(facts.main,),
        subjects=("",),
        against=("", REFERENCE),
        as_of=facts.as_of,
        newest=True,
    )
    rows = [*data.read_revisions(spec.name, which), *current_readings(facts, window.name)]
    by_end: dict[int, list[StoredMeasurement]] = {end: [] for end in ends}
    for stored in rows:
        by_end.get(stored.row.window_end, []).append(stored)
    periods = tuple(_make_period_line(request, window, end, of, facts) for end, of in by_end.items() if of)
    bounds = [part for one in periods if one.interval for part in (one.interval[0], one.interval[2])]
    reference = reference_value(facts.rows, facts.main)
    if not bounds:
        return periods, None
    levels = [*bounds, *([] if reference is None else [reference[0]])]
    room = (max(levels) - min(levels)) / 20 or 1e-6
    ticks = () if reference is None else (AxisTick(reference[0], "reference"),)
    return periods, Axis(min(levels) - room, max(levels) + room, ticks)


def _make_period_line(
    request: PageRequest, window: Window, end: int, rows: Sequence[StoredMeasurement], facts: ModelFacts
) -> PeriodLine:
    """One window in words."""
    best = select_best_readings(rows, lambda row: (row.measure, row.subject, row.against))
    main, step = (best.get((facts.main, "", against)) for against in ("", REFERENCE))
    result = None if main is None else main.row.measurement
    interval = None if result is None else result.interval
    places = None
    if result is not None and result.value is not None and interval is not None:
        places = (interval.lower, result.value, interval.upper)
    certainty = "" if step is None else certainty_words(facts.main, step.row.measurement)
    return PeriodLine(
        name=_short_words(period_words(window, end)),
        href=request.link_to("models", facts.model, "performance", window=window.name, end=to_iso(end)),
        value="" if result is None or main is None else row_value_words(main.row) or f"({result.reason})",
        bounds="" if result is None else format_interval_bounds(facts.main, interval),
        sure=SIGNS.get(certainty, ""),
        interval=places,
        final=main is not None and main.row.truth is LabelTruth.SETTLED,
    )


def _short_words(period: str) -> str:
    """A month as a narrow column has room for it.

    >>> _short_words("December 2013"), _short_words("12 – 18 Dec 2013")
    ('Dec 2013', '12 – 18 Dec 2013')
    """
    month, _, year = period.partition(" ")
    return f"{month[:3]} {year}" if month.isalpha() else period
