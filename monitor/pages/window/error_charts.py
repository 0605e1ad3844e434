"""Charts of a regression model's errors, from the exact counts of a window."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.charts.marks import (
    CellOutline,
    IntervalWhiskers,
    LegendKey,
    LinePath,
    Mark,
    PointDots,
    RuleLine,
    StraightLine,
)
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement
from monitor.core.text import number_text
from monitor.measures.regression import QUANTILES
from monitor.measures.statistics.intervals import normal_quantile
from monitor.measures.value_words import MINUS, format_measure_value, range_words
from monitor.pages.figures import Figure, FigureGroup, axis_within, chart_number_text, number_tick
from monitor.pages.page_request import CountedWindow
from monitor.records.counting import Counting
from monitor.records.labels.error_terms import prediction_groups
from monitor.states.counters import Counters
from monitor.states.error_tables import ErrorTable
from monitor.states.grids import NumericGrid

HEIGHT = 220
_CELLS = 50  # of the histogram
_TAIL = 0.005  # of the errors at each end that are not drawn


@dataclass(frozen=True, slots=True)
class PredictionGroups:
    """Means by group of the predictions, of the groups that hold records."""

    # lower, upper: bounds of the predictions of each group; infinite where it is open.
    lower: Floats
    upper: Floats
    n: Ints  # records
    # absolute, signed: mean absolute error, and mean of prediction - label.
    absolute: Floats
    # absolute_half, signed_half: half widths of their normal intervals.
    absolute_half: Floats
    signed: Floats
    signed_half: Floats
    # prediction, actual: means.
    prediction: Floats
    actual: Floats

    @classmethod
    def from_labels(cls, counting: Counting, labels: Counters, level: float) -> "PredictionGroups | None":
        """Groups of a labels part; None without a reference, without records, or out of range."""
        errors, grid = counting.prediction_errors(labels), counting.prediction
        if (
            errors is None
            or not isinstance(grid, NumericGrid)
            or errors.counts[1].any()
            or not errors.n.any()
        ):
            return None
        held = np.flatnonzero(errors.n)
        n = errors.n[held]
        absolute, squared, signed, away = (side[held] / n for side in errors.sums)
        z = normal_quantile(level)
        halves = [
            z * np.sqrt(np.maximum(squared - mean * mean, 0.0) / np.maximum(n - 1, 1))
            for mean in (absolute, signed)
        ]
        groups, bounds = prediction_groups(grid.regular_size), np.asarray([-np.inf, *grid.edges, np.inf])
        lower, upper = bounds[np.searchsorted(groups, held)], bounds[np.searchsorted(groups, held, "right")]
        prediction = away + errors.centre
        return cls(lower, upper, n, absolute, halves[0], signed, halves[1], prediction, prediction - signed)


def draw_error_groups(
    window_counts: CountedWindow, labels: Counters, now: Mapping[str, Measurement], level: float
) -> Iterator[FigureGroup]:
    """How large errors are, where they are large, and whether they lean to one side."""
    errors = tuple(_error_histogram(window_counts, labels, now))
    if errors:
        yield FigureGroup("How large are its errors?", "three", errors, _size_answer(now))
    means, sizes, leans = [*_draw_prediction_groups(window_counts, labels, level), None, None, None][:3]
    if means is not None and sizes is not None:
        yield FigureGroup("Where does it err?", "three", (means, sizes))
    if leans is not None:
        yield FigureGroup("Does it lean to one side?", "three", (leans,), _bias_answer(now))


def _size_answer(now: Mapping[str, Measurement]) -> str:
    """Between which bounds most errors lie."""
    low, high = (now.get(name) for name in ("error_p05", "error_p95"))
    if low is None or high is None or low.value is None or high.value is None:
        return ""
    ends = " to ".join(
        format_measure_value(name, end.value) for name, end in (("error_p05", low), ("error_p95", high))
    )
    return f"Nine of ten errors lie within {ends}."


def _bias_answer(now: Mapping[str, Measurement]) -> str:
    """Whether predictions are too high or too low on average."""
    bias = now.get("bias")
    if bias is None or bias.value is None or bias.interval is None:
        return ""
    mean = format_measure_value("bias", bias.value)
    if bias.interval.lower <= 0 <= bias.interval.upper:
        return f"Not detectably: the mean error is {mean}."
    return f"Predictions are too {'high' if bias.value > 0 else 'low'} on average: by {mean.lstrip(MINUS)}."


def _error_histogram(
    window_counts: CountedWindow,
    labels: Counters,
    now: Mapping[str, Measurement],
) -> Iterator[Figure]:
    """Histogram of the signed errors with its quantiles; nothing without errors."""
    table = window_counts.counting.error_table(labels)
    then = None
    if window_counts.reference is not None:
        then = window_counts.counting.error_table(window_counts.reference.labels)
    if table.counts.any():
        yield _draw_histogram(table, then if then is not None and then.counts.any() else None, now)


def _draw_prediction_groups(window_counts: CountedWindow, labels: Counters, level: float) -> Iterator[Figure]:
    """Errors and bias by group of the prediction, and mean label by mean prediction."""
    now = PredictionGroups.from_labels(window_counts.counting, labels, level)
    if now is None:
        return
    then = None
    if window_counts.reference is not None:
        then = PredictionGroups.from_labels(window_counts.counting, window_counts.reference.labels, level)
    yield _draw_mean_labels(now, then, level)
    yield _draw_group_errors(now, then, level, signed=False)
    yield _draw_group_errors(now, then, level, signed=True)


def _draw_histogram(
    table: ErrorTable,
    then: ErrorTable | None,
    now: Mapping[str, Measurement],
) -> Figure:
    lower, upper = _trimmed_error_range(table)
    known = {name: now[name].value for name in QUANTILES if name in now}
    inside = [value for value in known.values() if value is not None]
    low, high = min([lower, 0.0, *inside]), max([upper, 0.0, *inside])
    edges = (
        np.linspace(low, high, _CELLS + 1) if low < high else np.linspace(low - 0.5, high + 0.5, _CELLS + 1)
    )
    heights, beyond = _error_density(table, edges)
    marks: list[Mark] = [CellOutline(edges.tolist(), heights.tolist(), "main")]
    tall, legend = [0.0, *heights.tolist()], [LegendKey("area", "main", "model")]
    if then is not None:
        before, _ = _error_density(then, edges)
        marks.append(CellOutline(edges.tolist(), before.tolist(), "reference", filled=False))
        tall += before.tolist()
        legend.append(LegendKey("line", "reference", "reference"))
    marks.append(RuleLine(0.0, "x", "chance"))
    for name, label in (("error_p05", "5 %"), ("error_median", "median"), ("error_p95", "95 %")):
        value = known.get(name)
        if value is not None:
            marks.append(RuleLine(value, "x", "now", label if name != "error_median" else ""))
    quantiles = ", ".join(
        f"{percent} % {format_measure_value(name, known[name])}"
        for name, percent in QUANTILES.items()
        if name in known
    )
    outside = f"; {format_measure_value('missing_rate', beyond)} lie beyond" if beyond > 0.0005 else ""
    middles = tuple(((edges[1:] + edges[:-1]) / 2).tolist())
    plot = Plot(
        x=axis_within(float(edges[0]), float(edges[-1]), f"prediction {MINUS} label"),
        y=linear_axis(tall, label=number_tick),
        marks=marks,
        label=f"density of the errors; quantiles: {quantiles}",
        height=HEIGHT,
        stops=middles,
    )
    return Figure(
        title="Errors",
        note=f"prediction {MINUS} label{outside}",
        legend=tuple(legend),
        plot=plot,
        columns=("error", "density"),
        rows=tuple(
            (chart_number_text(at), number_text(height))
            for at, height in zip(middles, heights.tolist(), strict=True)
        ),
    )


def _error_density(table: ErrorTable, edges: Floats) -> tuple[Floats, float]:
    """Density on equal cells of counts in others, by their middles; the share that lies beyond."""
    bounds = table.edges * table.scale
    ends = np.concatenate([[bounds[0]], bounds, [bounds[-1]]])
    held, _ = np.histogram((ends[1:] + ends[:-1]) / 2, bins=edges, weights=table.counts)
    total = int(table.counts.sum())
    density: Floats = held / (total * (edges[1] - edges[0]))
    return density, max(0.0, 1 - float(held.sum()) / total)


def _trimmed_error_range(table: ErrorTable) -> tuple[float, float]:
    """Bounds of all errors but few at each end."""
    shares, bounds = np.cumsum(table.counts) / table.counts.sum(), table.edges * table.scale
    first, last = (int(np.searchsorted(shares, share)) for share in (_TAIL, 1 - _TAIL))
    return float(bounds[max(first - 1, 0)]), float(bounds[min(last, len(bounds) - 1)])


def _draw_group_errors(
    now: PredictionGroups, then: PredictionGroups | None, level: float, *, signed: bool
) -> Figure:
    """Mean absolute error, or bias, by group of the prediction."""
    title = "Bias by prediction" if signed else "Absolute error by prediction"
    difference = f"prediction {MINUS} label"
    text = f"mean of {difference}; above 0: predicted too high" if signed else f"mean of |{difference}|"
    values, halves = (now.signed, now.signed_half) if signed else (now.absolute, now.absolute_half)
    x = np.arange(len(now.n)) + 0.5
    lowest = values - halves if signed else np.maximum(values - halves, 0.0)
    bars = list(zip(x.tolist(), lowest.tolist(), (values + halves).tolist(), strict=True))
    points = list(zip(x.tolist(), values.tolist(), strict=True))
    marks: list[Mark] = [IntervalWhiskers(bars), LinePath(points), PointDots(points)]
    legend = [LegendKey("line", "main", f"model, {100 * level:g} %")]
    levels = [0.0, *(end for _, *ends in bars for end in ends)]
    if then is not None:
        values_then = then.signed if signed else then.absolute
        of_group = dict(zip(then.lower.tolist(), values_then.tolist(), strict=True))
        kept = [
            (at, of_group[low])
            for at, low in zip(x.tolist(), now.lower.tolist(), strict=True)
            if low in of_group
        ]
        marks.append(LinePath(kept, "reference"))
        levels += [value for _, value in kept]
        legend.append(LegendKey("line", "reference", "reference"))
    if signed:
        marks.append(RuleLine(0.0, "y", "chance"))
    names = [range_words(*bounds) for bounds in zip(now.lower.tolist(), now.upper.tolist(), strict=True)]
    lowest_of = enumerate(now.lower.tolist())
    ticks = tuple(
        AxisTick(at, chart_number_text(low)) for at, low in lowest_of if at % 4 == 0 and np.isfinite(low)
    )
    plot = Plot(
        x=Axis(0.0, float(len(now.n)), ticks, title="predictions from"),
        y=linear_axis(levels, label=number_tick),
        marks=marks,
        label=f"{title}, {len(names)} groups",
        height=HEIGHT,
        stops=tuple(x.tolist()),
    )
    return Figure(
        title=title,
        note=f"{text}; groups hold about as many of the reference's predictions each",
        legend=tuple(legend),
        plot=plot,
        columns=("predictions", "bias" if signed else "mean absolute error", "interval", "records"),
        rows=_group_rows(names, values, bars, now.n),
    )


def _draw_mean_labels(now: PredictionGroups, then: PredictionGroups | None, level: float) -> Figure:
    """Mean label by mean prediction of each group."""
    points = list(zip(now.prediction.tolist(), now.actual.tolist(), strict=True))
    bars = [(x, y - half, y + half) for (x, y), half in zip(points, now.signed_half.tolist(), strict=True)]
    both = [*now.prediction.tolist(), *(end for _, *ends in bars for end in ends)]
    marks: list[Mark] = []
    legend = [
        LegendKey("line", "main", f"model, {100 * level:g} %"),
        LegendKey("line", "chance", "as predicted"),
    ]
    if then is not None:
        before = list(zip(then.prediction.tolist(), then.actual.tolist(), strict=True))
        marks.append(LinePath(before, "reference"))
        both += [end for pair in before for end in pair]
        legend.insert(1, LegendKey("line", "reference", "reference"))
    axis = linear_axis(both, label=number_tick)
    marks = [
        StraightLine((axis.low, axis.low), (axis.high, axis.high)),
        *marks,
        IntervalWhiskers(bars),
        LinePath(points),
        PointDots(points),
    ]
    plot = Plot(
        x=Axis(axis.low, axis.high, axis.ticks, title="mean prediction of a group"),
        y=axis,
        marks=marks,
        label="mean label by mean prediction",
        height=HEIGHT,
        stops=tuple(now.prediction.tolist()),
    )
    return Figure(
        title="Predicted against actual",
        note="means of the groups of the prediction; mean label ↑",
        legend=tuple(legend),
        plot=plot,
        columns=("mean prediction", "mean label", "interval", "records"),
        rows=_group_rows([chart_number_text(x) for x, _ in points], now.actual, bars, now.n),
    )


def _group_rows(
    names: Sequence[str], values: Floats, bars: Sequence[tuple[float, float, float]], n: Ints
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            name,
            chart_number_text(value),
            f"[{chart_number_text(low)}, {chart_number_text(high)}]",
            f"{records:,}",
        )
        for name, value, (_, low, high), records in zip(names, values.tolist(), bars, n.tolist(), strict=True)
    )
