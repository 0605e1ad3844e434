"""Figures: a chart, what it shows in words, and the numbers behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from monitor.charts.marks import LegendKey
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.core.text import number_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureUnit
from monitor.measures.value_words import (
    is_compared_by_difference,
    is_percent,
    with_minus,
)

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


def number_tick(at: float) -> str:
    """Number of a tick: thousands in short.

    >>> number_tick(0.25), number_tick(50_000), number_tick(-2_000)
    ('0.25', '50k', '-2000')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(at) >= 10 * size or (abs(at) >= size > 1e3):
            return f"{at / size:.10g}{unit}"
    return f"{at:.10g}"
