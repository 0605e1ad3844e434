"""Figures: a chart, what it shows in words, and the numbers behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from monitor.charts.marks import IntervalBand, LegendKey, LinePath, Mark, PointDots, RuleLine
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.core.text import number_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily, MeasureUnit
from monitor.measures.measurement_row import LabelTruth, StoredMeasurement
from monitor.measures.value_words import (
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
    is_compared_by_difference,
    is_percent,
    with_minus,
)
from monitor.pages.period_words import period_words
from monitor.pages.window_readings import band_points, drop_scarcely_labelled, line_points, value_points
from monitor.windows.window_ends import Window

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with its caption and its table."""

    title: str
    plot: Plot
    note: str = ""
    legend: tuple[LegendKey, ...] = ()
    # columns, rows: the numbers behind it, in words: a row for each stop of the chart.
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Charts that answer one question, so many in a row; `answer`: what they say, in a sentence or two."""

    title: str
    columns: str
    figures: tuple[Figure, ...]
    answer: str = ""


def chart_number_text(value: float) -> str:
    """Number as a table of a chart holds it."""
    return with_minus(number_text(value))


def definition_of(measure: str) -> str:
    """What a measure is, in a sentence; empty where it has none, as a rule's own."""
    definition = BY_NAME[measure].definition if measure in BY_NAME else ""
    return definition.replace("`", "").partition(". ")[0].rstrip(".")


def critical_measure_name(measure: str) -> str | None:
    """Name of the measure that is its critical value; None: it has none."""
    return BY_NAME[measure].critical if measure in BY_NAME else None


def axis_within(low: float, high: float, title: str) -> Axis:
    """Axis that ends at these values, whatever its ticks."""
    ticks = linear_axis([low, high], label=number_tick).ticks
    return Axis(low, high, tuple(tick for tick in ticks if low <= tick.at <= high), title=title)


def is_difference(measure: str, against: str) -> bool:
    """Whether values are differences: from another moment, or of two sides."""
    return is_compared_by_difference(measure, against) or "_difference" in measure


def choose_tick_format(measure: str, *, differs: bool = False) -> Callable[[float], str]:
    """How ticks of an axis of a measure are written: rates in %, large numbers in short.

    Those of differences bear their signs, and are points where values are in %.

    >>> [choose_tick_format("accuracy", differs=True)(at) for at in (-0.1, 0.0, 0.025)]
    ['-10', '0', '+2.5']
    """
    if measure == "records":
        return lambda at: f"{at:,.10g}"
    if not differs:
        return percent_tick if is_percent(measure) else number_tick
    scale = 100 if is_percent(measure) else 1
    return lambda at: f"{'+' if at > 0 else ''}{number_tick(scale * at)}"


def value_axis(measure: str, levels: Sequence[float], *, differs: bool = False, most: int = 5) -> Axis:
    """Axis of values of a measure, with so many ticks at most; those of durations lie at whole units.

    >>> [tick.label for tick in value_axis("label_delay_median", [0.0, 9_000.0]).ticks]
    ['0 h', '1 h', '2 h', '3 h']
    """
    measured = BY_NAME.get(measure)
    if measured is None or measured.unit is not MeasureUnit.SECONDS or measured.moment:
        return linear_axis(levels, most=most, label=choose_tick_format(measure, differs=differs))
    longest = max(map(abs, levels), default=0.0)
    size, name = next((unit for unit in _UNITS if longest >= 2 * unit[0]), _UNITS[-1])
    axis = linear_axis([level / size for level in levels], most=most, label=lambda at: f"{at:.10g} {name}")
    ticks = tuple(AxisTick(tick.at * size, tick.label) for tick in axis.ticks)
    return Axis(axis.low * size, axis.high * size, ticks)


def percent_tick(at: float) -> str:
    """Share as a tick in %."""
    return f"{100 * at:.10g} %"


def draw_timeline(
    measure: str,
    series: Sequence[StoredMeasurement],
    window: Window,
    axis: Axis,
    *,
    reference: tuple[float, float | None, float | None] | None = None,
    marks: Sequence[Mark] = (),
    height: int = 160,
    title: str = "",
    note: str = "",
) -> Figure:
    """A measure over time: settled with its interval, what is not final dashed and hollow, the reference.

    A window of which hardly any label has come stands in the numbers alone: chance would stretch the axis.
    Not of measures of the labels themselves, whose n is another, and not where a mark is.
    """
    differ = is_difference(measure, "" if not series else series[0].row.against)
    enough = {one.row.window_end for one in drop_scarcely_labelled(series)}
    of_labels = measure in BY_NAME and BY_NAME[measure].family is MeasureFamily.LABELS
    marked = {x for mark in marks if isinstance(mark, PointDots) for x, _ in mark.points}
    middles = {one.row.window_end: window.middle_of(one.row.window_end) for one in series}
    shown = [
        one
        for one in series
        if of_labels or one.row.window_end in enough or middles[one.row.window_end] in marked
    ]
    if len(shown) < len(series):
        note = "; ".join(filter(None, (note, "windows with hardly any label yet are in the numbers alone")))
    levels = [value for _, value in value_points(shown, window)]
    bands = band_points(shown, window)
    levels += [end for _, low, high in bands if low is not None for end in (low, high or low)]
    levels += [] if reference is None else [end for end in reference if end is not None]
    final = [one for one in shown if one.row.is_final]
    tail = [one for one in shown if not one.row.is_final]
    joined = tail
    if final and tail:
        # The dashed line begins where the other one ends: both are one line to the eye.
        before = [one for one in final if one.row.window_end < tail[0].row.window_end]
        joined = [*before[-1:], *tail]
    chart_marks: list[Mark] = [*marks]
    legend: list[LegendKey] = []
    if final:
        chart_marks += [
            IntervalBand(band_points(final, window)),
            LinePath(line_points(final, window)),
            PointDots(value_points(final, window) if len(final) < 100 else []),
        ]
        kept = f"{measure}, settled" if final[0].row.truth is LabelTruth.SETTLED else measure
        legend.append(LegendKey("line", "main", f"{kept}{_confidence_level_words(final)}"))
    if tail:
        truth = str(tail[-1].row.truth)
        chart_marks += [
            IntervalBand(band_points(tail, window), "provisional"),
            LinePath(line_points(joined, window), "provisional"),
            PointDots(value_points(tail, window), "provisional", hollow=True),
        ]
        legend.append(LegendKey("line", "provisional", f"{truth}: labels are still coming"))
    if reference is not None:
        value, low, high = reference
        if low is not None and high is not None:
            chart_marks.insert(0, IntervalBand([(axis.low, low, high), (axis.high, low, high)], "reference"))
        chart_marks.append(RuleLine(value, "y", "reference"))
        legend.append(LegendKey("line", "reference", f"reference {format_measure_value(measure, value)}"))
    plot = Plot(
        x=axis,
        y=value_axis(measure, levels, differs=differ),
        marks=tuple(chart_marks),
        label=f"{title or measure} over time, {len(series)} windows of {window.name}",
        height=height,
        stops=tuple(middles.values()),
    )
    columns = ("window", measure, "interval", "truth", "n")
    rows = tuple(_timeline_table_row(measure, one, window, differs=differ) for one in series)
    note += "; in points" if differ and is_percent(measure) else ""
    return Figure(
        title=title or measure, note=note, plot=plot, legend=tuple(legend), columns=columns, rows=rows
    )


def _timeline_table_row(
    measure: str, one: StoredMeasurement, window: Window, *, differs: bool
) -> tuple[str, ...]:
    """A line of a timeline's table."""
    result = one.row.measurement
    told = format_measure_difference if differs else format_measure_value
    return (
        period_words(window, one.row.window_end),
        str(result.reason) if result.value is None else told(measure, result.value),
        format_interval_bounds(measure, result.interval, differs=differs),
        str(one.row.truth),
        f"{result.n:,}",
    )


def _confidence_level_words(series: Sequence[StoredMeasurement]) -> str:
    level = next((one.row.measurement.interval.level for one in series if one.row.measurement.interval), None)
    return "" if level is None else f", {100 * level:g} %"


def number_tick(at: float) -> str:
    """Number of a tick: thousands in short.

    >>> number_tick(0.25), number_tick(50_000), number_tick(-2_000)
    ('0.25', '50k', '-2000')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(at) >= 10 * size or (abs(at) >= size > 1e3):
            return f"{at / size:.10g}{unit}"
    return f"{at:.10g}"
