"""Control and treatment by week, their difference with its always-valid band, the challenger by window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.charts.marks import IntervalWhiskers, Kind, LegendKey, LinePath, Mark, PointDots, RuleLine
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, linear_axis
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import DetailTable
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import CUMULATIVE, MeasurementRow, StoredMeasurement
from monitor.measures.statistics.intervals import wilson_interval
from monitor.measures.value_words import (
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
    is_percent,
)
from monitor.pages.figures import Figure, choose_tick_format, draw_timeline, value_axis
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import time_axis
from monitor.pages.window.headline_tiles import HeadlineTile
from monitor.pages.window_readings import window_readings
from monitor.sentences.known_measurements import readable_name
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

VALID = "_always_valid"
_WEEK = 7 * DAY
_ARMS: tuple[tuple[str, Kind], ...] = (("control", "second"), ("treatment", "main"))
_MOST = 6  # charts of a kind


@dataclass(frozen=True, slots=True)
class WeeklyValues:
    """An arm's weekly values of one outcome: how many, their mean and standard deviation, in words."""

    outcome: str
    arm: str
    weeks: str
    mean: str
    deviation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """Page of the comparisons of a model; `without`: why there is none."""

    model: str
    without: str
    tiles: tuple[HeadlineTile, ...]
    arms: tuple[Figure, ...]
    weekly: tuple[WeeklyValues, ...]
    challenger: tuple[Figure, ...]


def compare_page(data: PageData, request: PageRequest, name: str) -> ComparePage:
    """Page of the comparisons of a model."""
    spec, cumulative, challenged = _resolve_compare_request(data, request, name)
    by_end = sorted((stored.row for stored in cumulative), key=lambda row: row.window_end)
    last = {(row.measure, row.subject): row for row in by_end}
    differences = [row for (measure, _), row in last.items() if "_difference" in measure][:_MOST]
    arms = [figure for row in differences for figure in _draw_arms(spec, row, cumulative)]
    window = _comparison_window(spec)
    challenger = tuple(_challenger_figures(challenged, window))
    return ComparePage(
        model=name,
        without=_why_no_comparison(spec, there=bool(arms or challenger)),
        tiles=tuple(_comparison_tile(row) for row in last.values() if row.measurement.value is not None),
        arms=tuple(arms),
        weekly=tuple(line for row in differences for line in _weekly_values(row)),
        challenger=challenger,
    )


def read_compare_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows behind the page, the newest revision of each."""
    _, cumulative, challenged = _resolve_compare_request(data, request, name)
    return [*cumulative, *challenged]


def _resolve_compare_request(
    data: PageData, request: PageRequest, name: str
) -> tuple[ModelSpec, list[StoredMeasurement], list[StoredMeasurement]]:
    request.refuse_unknown_parameters()
    spec, placed = spec_of(data, name), data.read_model_place(name, request.as_of)
    valid = [measure.name for measure in BY_NAME.values() if measure.name.endswith(VALID)]
    other = [measure.name for measure in BY_NAME.values() if measure.of_challenger and not measure.cumulative]
    found = []
    for window, measures, details in (
        (CUMULATIVE, valid, True),
        (_comparison_window(spec).name, other, False),
    ):
        which = ChartedRows(
            window=window,
            after=0,
            until=placed.as_of or 0,
            measures=measures,
            as_of=request.as_of,
            details=details,
            newest=True,
        )
        found.append(data.read_revisions(name, which))
    return spec, found[0], found[1]


def _comparison_window(spec: ModelSpec) -> Window:
    """Calendar months if the model has them, else its longest windows."""
    names = [window.name for window in spec.windows]
    longest = max(spec.windows, key=lambda window: window.length)
    return find_named_window(spec, "month") if "month" in names else longest


def _comparison_tile(row: MeasurementRow) -> HeadlineTile:
    label = " ".join(filter(None, (row.measure.removesuffix(VALID), readable_name(row.subject))))
    result = row.measurement
    if "_difference" in row.measure:
        bounds = format_interval_bounds(row.measure, result.interval, differs=True)
        return HeadlineTile(
            label, format_measure_difference(row.measure, result.value), f"{bounds} n {result.n:,}".strip()
        )
    return HeadlineTile(label, format_measure_value(row.measure, result.value), f"n {result.n:,}")


def _draw_arms(spec: ModelSpec, row: MeasurementRow, rows: Sequence[StoredMeasurement]) -> Iterator[Figure]:
    """Both arms by week, and their difference so far with the band that holds at every moment."""
    if row.measurement.detail is not None:
        yield _draw_weeks(row, row.measurement.detail)
    window = replace(spec.windows[0], name=CUMULATIVE, length=DAY, step=_WEEK)
    series = _readings_with_value(rows, row.measure, row.subject)
    if len(series) > 1:
        axis = time_axis(series[0].row.window_end, series[-1].row.window_end, window.zone)
        title = " ".join(filter(None, ("Difference so far", readable_name(row.subject))))
        note = "treatment less control, of all that has settled; the band holds however often one looks"
        yield _draw_differences(row.measure, series, window, axis, note, title)


def _readings_with_value(
    rows: Sequence[StoredMeasurement], measure: str, subject: str = ""
) -> list[StoredMeasurement]:
    readings = window_readings(rows, measure, subject)
    return [one for one in readings if one.row.measurement.value is not None]


def _draw_differences(
    measure: str, series: Sequence[StoredMeasurement], window: Window, axis: Axis, note: str, title: str = ""
) -> Figure:
    """Differences over time, 0 among them."""
    marks = [RuleLine(0.0, "y", "chance")]
    figure = draw_timeline(measure, series, window, axis, title=title, marks=marks, note=note)
    y = value_axis(measure, [figure.plot.y.low, figure.plot.y.high, 0.0], differs=True)
    return replace(figure, plot=replace(figure.plot, y=y))


def _draw_weeks(row: MeasurementRow, weeks: DetailTable) -> Figure:
    """Outcome of each arm, week by week."""
    measure = _arm_measure(row)
    rate = is_percent(measure)
    starts = [float(from_iso(str(line[0]))) for line in weeks.rows]
    marks: list[Mark] = []
    levels: list[float] = []
    columns: list[list[str]] = []
    for arm, kind in _ARMS:
        values, counts = _column_numbers(weeks, arm), _column_numbers(weeks, f"{arm}_n")
        sizes = [int(count or 0) for count in counts]
        middles = [start + _WEEK / 2 for start in starts]
        bars = []
        for middle, value, n in zip(middles, values, sizes, strict=True):
            if rate and value is not None and n:
                interval = wilson_interval(round(value * n), n)
                bars.append((middle, interval.lower, interval.upper))
        points = list(zip(middles, values, strict=True))
        marks += [IntervalWhiskers(bars, kind), LinePath(points, kind)]
        marks.append(PointDots([(x, y) for x, y in points if y is not None], kind))
        levels += [value for value in values if value is not None]
        levels += [end for _, *ends in bars for end in ends]
        columns += [[format_measure_value(measure, value) for value in values], [f"{n:,}" for n in sizes]]
    axis = time_axis(int(starts[0]), int(starts[-1] + _WEEK))
    title = " ".join(filter(None, ("Outcome by week", readable_name(row.subject))))
    plot = Plot(
        x=axis,
        y=linear_axis(levels, label=choose_tick_format(measure)),
        marks=marks,
        label=f"{title}, control and treatment",
        height=160,
        stops=tuple(start + _WEEK / 2 for start in starts),
    )
    names = [str(line[0]) for line in weeks.rows]
    return Figure(
        title=title,
        note="weeks whose labels have settled" + (", with 95 % intervals" if rate else ""),
        legend=tuple(LegendKey("line", kind, arm) for arm, kind in _ARMS),
        plot=plot,
        columns=("week from", "control", "records", "treatment", "records"),
        rows=tuple(zip(names, *columns, strict=True)),
    )


def _arm_measure(row: MeasurementRow) -> str:
    """Measure as whose values the arms of a difference are told."""
    return "control_" + row.measure.removesuffix(VALID).removesuffix("_difference")


def _weekly_values(row: MeasurementRow) -> Iterator[WeeklyValues]:
    """Mean and standard deviation of the weekly values of each arm."""
    detail, measure = row.measurement.detail, _arm_measure(row)
    for arm, _ in _ARMS:
        known = [value for value in _column_numbers(detail, arm) if value is not None]
        if known:
            deviation = float(np.std(known, ddof=1)) if len(known) > 1 else None
            yield WeeklyValues(
                readable_name(row.subject) if row.subject else "outcome",
                arm,
                str(len(known)),
                format_measure_value(measure, float(np.mean(known))),
                format_measure_value(measure, deviation),
            )


def _challenger_figures(rows: Sequence[StoredMeasurement], window: Window) -> Iterator[Figure]:
    """Differences of champion and challenger on the same records, window by window."""
    names = dict.fromkeys(stored.row.measure for stored in rows)
    for measure in [
        name for name in names if BY_NAME[name].family is MeasureFamily.COMPARISON and "difference" in name
    ]:
        series = _readings_with_value(rows, measure)
        if series:
            first, last = series[0].row.window_end, series[-1].row.window_end
            axis = time_axis(window.start_of(first), last, window.zone)
            note = f"challenger less champion on the same records, by {window.name}"
            yield _draw_differences(measure, series, window, axis, note)


def _why_no_comparison(spec: ModelSpec, *, there: bool) -> str:
    if there:
        return ""
    if spec.reading.arms is None and spec.reading.challenger is None:
        return (
            "Neither a control group nor a challenger is configured: [models.control], [models.challenger]."
        )
    return "Nothing has settled yet: comparisons stand on settled labels."


def _column_numbers(detail: DetailTable | None, name: str) -> list[float | None]:
    """Numbers of a column; None where there is none."""
    if detail is None or name not in detail.columns:
        return []
    cells = (row[detail.columns.index(name)] for row in detail.rows)
    return [float(cell) if isinstance(cell, float | int) else None for cell in cells]
