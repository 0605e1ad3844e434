"""Series day by day: each day in what was expected of it; those that look alike are drawn once."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TypeAlias

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incidents import IncidentAlert
from monitor.charts.marks import (
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    ShadedSpan,
)
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import StackChart
from monitor.core.change import Change
from monitor.core.clock import DAY, from_iso, to_datetime
from monitor.measures.value_words import approximate_text, format_measure_value
from monitor.pages.figures import choose_tick_format
from monitor.pages.page_request import ChartedDay
from monitor.sentences.change_words import chart_measure, chart_title, chart_unit
from monitor.sentences.known_measurements import join_few_names, readable_name
from monitor.sentences.time_words import day_words

_NAMED = 8
_LOW = 100  # height of a chart, in pixels, that has room for few ticks
Writer: TypeAlias = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class AlikeSeries:
    """Series of days that look alike: one chart."""

    charted: Sequence[ChartedDay]
    change: Change
    severity: Severity | None  # of its alert; None: none fires any more
    names: list[str] = field(default_factory=list)

    def draw(self, today: int) -> StackChart:
        """Their chart."""
        name = join_few_names(self.names, _NAMED)
        return day_series_chart(name, self.charted, self.change, self.severity, today)


def group_alike_series(
    parts: Iterable[tuple[IncidentAlert, bool, Sequence[ChartedDay]]],
) -> list[AlikeSeries]:
    """Alerts of changes, each with whether it fires and its days; of one kind that end alike they are one."""
    found: dict[tuple[object, ...], AlikeSeries] = {}
    for part, fires, charted in parts:
        change = part.change
        if change is None or not charted:
            continue
        last = charted[-1]
        ends = (round(last.value, 3), round(last.low, 2), round(last.high, 2))
        key = (change.kind, change.category, fires, part.first_day, *ends)
        severity = part.alert.severity if fires else None
        found.setdefault(key, AlikeSeries(charted, change, severity)).names.append(readable_name(part.name))
    return list(found.values())


def calendar_days(charted: Sequence[ChartedDay]) -> list[ChartedDay | None]:
    """Every day from the first to the last, None where it was not judged."""
    by_day = {one.day: one for one in charted}
    if not by_day:
        return []
    return [by_day.get(day) for day in range(min(by_day), max(by_day) + 1)]


def day_series_chart(
    name: str, charted: Sequence[ChartedDay], change: Change, severity: Severity | None, today: int
) -> StackChart:
    """Values of a series by day with the band that was expected; a ring about the first day of the change.

    Parameters
    ----------
    severity
        of its alert, which fires; None: none does, and no colour means one.
    """
    kind: Kind = "main"
    if severity is not None:
        kind = "critical" if severity is Severity.CRITICAL else "warning"
    first_day = None if change.since is None else from_iso(change.since) // DAY
    write = writer_of(change.kind)
    dots = [
        LinkedPoint(
            x=(one.start + one.end) / 2,
            y=one.value,
            kind=kind,
            words=f"{write(one.value)} on {day_words(one.start + DAY // 2, today)}",
            ring=one.day == first_day,
        )
        for one in charted
        if one.day == first_day or (one is charted[-1] and severity is not None)
    ]
    chart = draw_days(charted, name, change.kind, dots, kind, today)
    unit = {"sd": "standard deviations"}.get(chart_unit(change), chart_unit(change))
    what = "mean" if change.kind == "level" and change.in_unit is not None else chart_title(change)
    return replace(chart, note=f"{what} by day{', in ' if unit else ''}{unit}")


def writer_of(kind: str) -> Writer:
    """How values of a kind of change are written: shares, or plain numbers."""
    measure = chart_measure(Change(kind=kind))
    return partial(format_measure_value, measure) if measure else approximate_text


def draw_days(
    charted: Sequence[ChartedDay],
    title: str,
    kind: str,
    dots: Sequence[LinkedPoint],
    look: Kind,
    today: int,
    height: int = 64,
) -> StackChart:
    """Values by day with what was expected: gaps where there is none, hatched where none was compared.

    Parameters
    ----------
    dots
        days that are marked.
    look
        colour of the newest value.
    """
    write, measure = writer_of(kind), chart_measure(Change(kind=kind))
    bands: list[tuple[float, float | None, float | None]] = []
    points: list[tuple[float, float | None]] = []
    days, begin, last = calendar_days(charted), charted[0].start, charted[-1]
    for at, one in enumerate(days):
        x = begin + (at + 0.5) * DAY if one is None else (one.start + one.end) / 2
        is_known = one is not None and math.isfinite(one.low)
        bands.append((x, one.low, one.high) if one is not None and is_known else (x, None, None))
        points.append((x, None if one is None else one.value))
    gaps = [ShadedSpan(start, end, "hatched") for start, end in _list_gaps(days, begin)]
    said = f"{write(last.value)} on {day_words(last.start + DAY // 2, today)}"
    legend = [LegendKey("area", "expected", "expected")]
    worst: Kind = "critical" if any(dot.kind == "critical" for dot in dots) else "warning"
    if any(dot.kind == worst for dot in dots):
        legend.append(LegendKey("dot", worst, "alert"))
    if gaps:
        legend.append(LegendKey("zone", "hatched", "not compared"))
    levels = [end for one in charted for end in (one.value, one.low, one.high) if math.isfinite(end)]
    label = choose_tick_format(measure) if measure else approximate_text
    return StackChart(
        title=title,
        y=linear_axis(levels, label=label, most=3 if height < _LOW else 5),
        marks=(
            *gaps, IntervalBand(bands, "expected"), LinePath(points), *([LinkedPoints(dots)] if dots else []),
            MarginLabel(last.value, said, look),
        ),
        legend=tuple(legend),
        height=height,
        stops=tuple((one.start + one.end) / 2 for one in charted),
        columns=("day", title, "expected"),
        rows=tuple(
            (weekday_words(one.start), write(one.value), expected_words(one, write)) for one in charted
        ),
    )  # fmt: skip


def _list_gaps(days: Sequence[ChartedDay | None], begin: int) -> Iterator[tuple[float, float]]:
    """Starts and ends of days that were not compared, as they lie beside one another."""
    at = 0
    for is_compared, run in groupby(days, lambda one: one is not None and math.isfinite(one.low)):
        many = len(list(run))
        if not is_compared:
            yield float(begin + at * DAY), float(begin + (at + many) * DAY)
        at += many


def weekday_words(start: int) -> str:
    """Day in words: "Tue 31 Dec"."""
    date = to_datetime(start + DAY // 2)  # of a zone west or east of UTC, too
    return f"{date:%a} {date.day} {date:%b}"


def expected_words(one: ChartedDay, write: Writer) -> str:
    """What was expected of a day, in words."""
    return "not compared" if math.isnan(one.low) else f"{write(one.low)} to {write(one.high)}"
