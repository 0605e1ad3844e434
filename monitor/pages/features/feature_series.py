"""Days of a series of a feature: a chart with what was expected, alerts and the shown day; in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.charts.marks import (
    Kind,
    LinkedPoint,
)
from monitor.charts.stacks import StackChart
from monitor.charts.strips import StripLook
from monitor.core.change import Change
from monitor.core.clock import DAY, to_datetime
from monitor.pages.day_charts import draw_days, expected_words, weekday_words, writer_of
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

    `means`: by day since 1970-01-01.
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


def draw_feature_days(
    charted: Sequence[ChartedDay], title: str, kind: str, marked: MarkedDays, *, height: int
) -> StackChart:
    """Values by day; days on which an alert stood and the shown one are marked."""
    dots = [_day_point(one, kind, marked) for one in charted]
    told = [dot for dot in dots if dot is not None]
    look: Kind = "main" if dots[-1] is None or dots[-1].kind == "second" else dots[-1].kind
    chart = draw_days(charted, title, kind, told, look, marked.today, height)
    return replace(chart, title=f"{title} by day", note=_UNITS.get(title, ""))


def _day_point(one: ChartedDay, kind: str, marked: MarkedDays) -> LinkedPoint | None:
    """A dot where an alert stood, and a ring about the shown day."""
    is_shown, look = one.end == marked.shown_end, marked.looks.get(one.day)
    if look not in ("warning", "critical") and not is_shown:
        return None
    write = writer_of(kind)
    words = f"{weekday_words(one.start)} · {write(one.value)}, {expected_words(one, write)}"
    colour: Kind = "critical" if look == "critical" else "warning" if look == "warning" else "second"
    return LinkedPoint(
        x=(one.start + one.end) / 2, y=one.value, kind=colour, ring=is_shown,
        words=f"{words} · alert" if colour != "second" else words,
        href=marked.link(one.end),
    )  # fmt: skip


def series_title(kind: str, category: str, *, in_unit: bool = False) -> str:
    """What a series is, as a switch has room for it: "Mean", "Share of UA"."""
    if kind == "level" and in_unit:
        return "Mean"
    return _TITLES.get(kind) or capitalize_first(chart_title(Change(kind=kind, category=category)))


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
