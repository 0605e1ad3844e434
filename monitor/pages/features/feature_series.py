"""Days of a series of a feature: a chart with what was expected, alerts and the shown day; in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from monitor.charts.marks import (
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    Mark,
    ShadedSpan,
)
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import StackChart
from monitor.charts.strips import StripLook
from monitor.core.change import Change
from monitor.core.clock import DAY, to_datetime
from monitor.measures.value_words import approximate_text, format_measure_value
from monitor.pages.figures import choose_tick_format
from monitor.pages.page_request import ChartedDay
from monitor.sentences.change_words import chart_measure, chart_title
from monitor.sentences.known_measurements import capitalize_first
from monitor.sentences.time_words import day_words

_TITLES = {
    "level": "Level",
    "spread": "Spread",
    "skew": "Skew",
    "shape": "Distribution",
    "missing": "Missing",
}
_DEVIATIONS = "in standard deviations from usual"
_UNITS = {"Level": _DEVIATIONS, "Spread": _DEVIATIONS, "Skew": _DEVIATIONS, "Distribution": "χ² from usual"}
_ALIKE = 1e-6  # standard deviations
_FEWEST, _STRAIGHT = 8, 0.9  # days that a line goes through, and how well they lie on it: their correlation
Writer: TypeAlias = Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedDays:
    """What is marked of days: how each is drawn among the inputs, the shown one, where each leads."""

    looks: Mapping[int, StripLook | None]  # by day since 1970-01-01
    shown_end: int | None  # None: no day is shown
    link: Callable[[int], str]  # page of the day that ends then
    today: int


def express_in_unit(charted: Sequence[ChartedDay], means: Mapping[int, float]) -> list[ChartedDay] | None:
    """Levels as means in the unit of their column: the exact ones, their bands along the line between both.

    None where there is no such line, as of a column whose mean a few far numbers make. A value is on the side
    of its band on which it was judged to be.

    Parameters
    ----------
    means
        by day since 1970-01-01.
    """
    both = [(one.value, means[one.day]) for one in charted if one.day in means]
    levels, exact = np.asarray(both).reshape(-1, 2).T
    if len(both) < _FEWEST or np.ptp(levels) < _ALIKE or not np.var(exact) > 0:
        return None
    if np.corrcoef(levels, exact)[0, 1] < _STRAIGHT:
        return None
    slope, origin = (float(one) for one in np.polyfit(levels, exact, 1))
    found = []
    for one in charted:
        mean = means.get(one.day)
        if mean is None:
            continue
        low, high = origin + slope * one.low, origin + slope * one.high
        if _side(mean, low, high) != _side(one.value, one.low, one.high):
            low, high = (mean + slope * (end - one.value) for end in (one.low, one.high))
        found.append(replace(one, value=mean, low=low, high=high))
    return found


def _side(value: float, low: float, high: float) -> int:
    """1 above a band, -1 below it, 0 within it, or where there is none."""
    return (value > high) - (value < low)


def writer_of(kind: str) -> Writer:
    """How values of a kind are written: shares, or plain numbers."""
    measure = chart_measure(Change(kind=kind))
    return partial(format_measure_value, measure) if measure else approximate_text


def draw_feature_days(
    charted: Sequence[ChartedDay], title: str, kind: str, marked: MarkedDays, *, height: int
) -> StackChart:
    """Values by day, gaps where there is none, hatched where none was compared."""
    write, measure = writer_of(kind), chart_measure(Change(kind=kind))
    by_day = {one.day: one for one in charted}
    bands: list[tuple[float, float | None, float | None]] = []
    points: list[tuple[float, float | None]] = []
    for day in range(charted[0].day, charted[-1].day + 1):
        one = by_day.get(day)
        x = float(charted[0].start + (day - charted[0].day + 0.5) * DAY)
        if one is None:
            bands.append((x, None, None))
            points.append((x, None))
            continue
        x, known = (one.start + one.end) / 2, math.isfinite(one.low)
        bands.append((x, one.low if known else None, one.high if known else None))
        points.append((x, one.value))
    dots = [_day_point(one, write, marked) for one in charted]
    told = [dot for dot in dots if dot is not None]
    last = charted[-1]
    levels = [end for one in charted for end in (one.value, one.low, one.high) if math.isfinite(end)]
    look: Kind = "main" if dots[-1] is None or dots[-1].kind == "second" else dots[-1].kind
    marks: list[Mark] = [IntervalBand(bands, "expected"), LinePath(points), LinkedPoints(told)]
    marks.append(
        MarginLabel(last.value, f"{write(last.value)} on {day_words(last.start, marked.today)}", look)
    )
    legend = [LegendKey("area", "expected", "expected")]
    if any(dot.kind in ("warning", "critical") for dot in told):
        worst: Kind = "critical" if any(dot.kind == "critical" for dot in told) else "warning"
        legend.append(LegendKey("dot", worst, "alert"))
    chart = StackChart(
        title=f"{title} by day",
        note=_UNITS.get(title, ""),
        y=linear_axis(levels, label=choose_tick_format(measure) if measure else approximate_text),
        marks=tuple(marks),
        legend=tuple(legend),
        height=height,
        stops=tuple((one.start + one.end) / 2 for one in charted),
        columns=("day", title, "expected"),
        rows=tuple((weekday_words(one.start), write(one.value), _band_words(one, write)) for one in charted),
    )
    return _with_gaps(chart, charted)


def _day_point(one: ChartedDay, write: Writer, marked: MarkedDays) -> LinkedPoint | None:
    """A dot where an alert stood, and a ring about the shown day."""
    is_shown, look = one.end == marked.shown_end, marked.looks.get(one.day)
    if look not in ("warning", "critical") and not is_shown:
        return None
    words = f"{weekday_words(one.start)} · {write(one.value)}, {_band_words(one, write)}"
    kind: Kind = "critical" if look == "critical" else "warning" if look == "warning" else "second"
    return LinkedPoint(
        x=(one.start + one.end) / 2, y=one.value, kind=kind, ring=is_shown,
        words=f"{words} · alert" if kind != "second" else words,
        href=marked.link(one.end),
    )  # fmt: skip


def _with_gaps(chart: StackChart, charted: Sequence[ChartedDay]) -> StackChart:
    """The chart with days that were not compared hatched."""
    compared = {one.day for one in charted if math.isfinite(one.low)}
    first, spans, run = charted[0], list[Mark](), None
    for day in range(first.day, charted[-1].day + 2):
        is_gap = day not in compared and day <= charted[-1].day
        if is_gap and run is None:
            run = day
        elif not is_gap and run is not None:
            ends = [float(first.start + (at - first.day) * DAY) for at in (run, day)]
            spans.append(ShadedSpan(ends[0], ends[1], "hatched"))
            run = None
    if not spans:
        return chart
    legend = (*chart.legend, LegendKey("zone", "hatched", "not compared"))
    return replace(chart, marks=(*spans, *chart.marks), legend=legend)


def series_title(kind: str, category: str, *, in_unit: bool = False) -> str:
    """What a series is, as a switch has room for it: "Mean", "Share of UA"."""
    if kind == "level" and in_unit:
        return "Mean"
    return _TITLES.get(kind) or capitalize_first(chart_title(Change(kind=kind, category=category)))


def weekday_words(start: int) -> str:
    """Day in words: "Tue 31 Dec"."""
    date = to_datetime(start + DAY // 2)  # of a zone west or east of UTC, too
    return f"{date:%a} {date.day} {date:%b}"


def _band_words(one: ChartedDay, write: Writer) -> str:
    if math.isnan(one.low):
        return "not compared"
    return f"{write(one.low)} to {write(one.high)}"


def day_sentence(one: ChartedDay, kind: str, title: str, today: int) -> str:
    """Value of a day, and what is usual on such a day."""
    measure, write = chart_measure(Change(kind=kind)), writer_of(kind)
    date = to_datetime(one.start + DAY // 2)
    when = f"{date:%a} {day_words(one.start + DAY // 2, today)}"
    said = f"{title} {write(one.value)}{' sd' if _UNITS.get(title) == _DEVIATIONS else ''} on {when}"
    if math.isnan(one.low):
        return f"{said}; that day was not compared."
    usual = (
        f"up to {write(one.high)}" if one.low <= 0 and measure else f"{write(one.low)} to {write(one.high)}"
    )
    return f"{said}; {date:%A}s are usually {usual}."
