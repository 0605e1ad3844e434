"""Charts of a window by what was kept of it: the tables behind its values, where there are no counts."""

from collections.abc import Iterator, Sequence

import numpy as np

from monitor.charts.marks import (
    Kind,
    LegendKey,
    LinePath,
    Mark,
    PointDots,
    RuleLine,
    StandingBars,
    StraightLine,
)
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.core.array_types import Floats
from monitor.core.measurement import DetailTable
from monitor.core.text import number_text
from monitor.measures.measurement_row import LabelTruth, StoredMeasurement, newest_revisions
from monitor.measures.value_words import value_with_interval
from monitor.pages.figures import Figure, FigureGroup, number_tick, percent_tick
from monitor.pages.window.curve_charts import HEIGHT
from monitor.pages.window_readings import select_best_readings
from monitor.sentences.time_words import local_moment_words

_SKETCH = 21  # points of a curve that is no whole one
_SHARES = linear_axis([0.0, 1.0])
_WHOLE = ("roc_auc", "ks_separation", "average_precision", "best_profit")


def draw_kept_groups(rows: Sequence[StoredMeasurement]) -> Iterator[FigureGroup]:
    """Curves and deciles that were kept, each of the best labels: settled before others."""
    with_table = (
        stored
        for stored in newest_revisions(rows)
        if not (stored.row.subject or stored.row.against)
        and stored.row.truth is not LabelTruth.NONE
        and stored.row.measurement.detail is not None
        and stored.row.measurement.value is not None
    )
    found = select_best_readings(with_table, lambda row: row.measure)
    tables = {name: detail for name, kept in found.items() if (detail := kept.row.measurement.detail)}
    curves = tuple(
        _DRAWN[name](tables[name], _kept_note(found[name], tables[name])) for name in _WHOLE if name in tables
    )
    if curves:
        yield FigureGroup("Curves, as measured then", "three", curves)
    if (deciles := tables.get("lift_top_decile")) is not None:
        note = _kept_note(found["lift_top_decile"], deciles)
        figures = tuple(_kept_deciles(deciles, note, name) for name in ("gain", "lift"))
        yield FigureGroup("Whom did it find?", "four", figures)


def _kept_note(kept: StoredMeasurement, detail: DetailTable) -> str:
    row = kept.row
    sketch = ", a sketch" if row.measure in _WHOLE and len(detail.rows) <= _SKETCH else ""
    return (
        f"{row.measure} {value_with_interval(row.measure, row.measurement)}, {row.truth}, measured "
        f"{local_moment_words(kept.as_of)}{sketch}"
    )


def _kept_roc(detail: DetailTable, note: str) -> Figure:
    x, y = (_number_column(detail, name) for name in ("false_positive_rate", "true_positive_rate"))
    marks: list[Mark] = [StraightLine((0.0, 0.0), (1.0, 1.0)), _line_path(x, y)]
    return _kept_figure("ROC", f"{note}; true positive rate ↑", "false positive rate", detail, marks, x)


def _kept_precision(detail: DetailTable, note: str) -> Figure:
    x, y = (_number_column(detail, name) for name in ("recall", "precision"))
    return _kept_figure(
        "Precision and recall", f"{note}; precision ↑", "recall", detail, [_line_path(x, y)], x
    )


def _kept_separation(detail: DetailTable, note: str) -> Figure:
    x, negative, positive = (_number_column(detail, name) for name in ("score", "negative", "positive"))
    at = int(np.argmax(np.abs(negative - positive)))
    marks: list[Mark] = [_line_path(x, negative), _line_path(x, positive, "second")]
    low, high = (float(x[at]), float(negative[at])), (float(x[at]), float(positive[at]))
    marks.append(StraightLine(low, high, "now", f"{abs(low[1] - high[1]):.3f} at {number_text(low[0])}"))
    legend = (LegendKey("line", "main", "negative"), LegendKey("line", "second", "positive"))
    note = f"{note}; share with a score up to here ↑"
    return _kept_figure("K-S chart", note, "score", detail, marks, x, legend)


def _kept_profit(detail: DetailTable, note: str) -> Figure:
    x, worth = (_number_column(detail, name) for name in ("predicted_rate", "profit"))
    best = int(np.argmax(worth))
    marks: list[Mark] = [_line_path(x, worth), PointDots([(float(x[best]), float(worth[best]))], "second")]
    levels = linear_axis([float(worth.min()), float(worth.max())], label=number_tick)
    legend = (LegendKey("line", "main", "profit"), LegendKey("dot", "second", "the best"))
    title = "share of the records that count as positive"
    return _kept_figure("Profit", note, title, detail, marks, x, legend, levels)


_DRAWN = {
    "roc_auc": _kept_roc,
    "ks_separation": _kept_separation,
    "average_precision": _kept_precision,
    "best_profit": _kept_profit,
}


def _kept_figure(
    title: str,
    note: str,
    x_title: str,
    detail: DetailTable,
    marks: Sequence[Mark],
    x: Floats,
    legend: tuple[LegendKey, ...] = (),
    y: Axis = _SHARES,
) -> Figure:
    axis = linear_axis([float(x.min()), float(x.max())], title=x_title)
    plot = Plot(
        x=axis, y=y, marks=marks, label=f"{title}, as measured then", height=HEIGHT, stops=tuple(x.tolist())
    )
    return Figure(
        title=title,
        note=note,
        legend=legend,
        plot=plot,
        columns=tuple(name.replace("_", " ") for name in detail.columns),
        rows=_table_cells(detail),
    )


def _kept_deciles(detail: DetailTable, note: str, name: str) -> Figure:
    """Gain, or lift, by decile."""
    at, heights = _number_column(detail, "decile"), _number_column(detail, name)
    chance, label = (0.1, percent_tick) if name == "gain" else (1.0, number_tick)
    bars = [(x - 0.95, x - 0.05, height) for x, height in zip(at.tolist(), heights.tolist(), strict=True)]
    ticks = tuple(AxisTick(x - 0.5, f"{x:g}") for x in at.tolist())
    plot = Plot(
        x=Axis(0.0, 10.0, ticks, title="decile, highest scores first"),
        y=linear_axis([0.0, chance, *heights.tolist()], label=label),
        marks=[StandingBars(bars), RuleLine(chance, "y", "chance")],
        label=f"{name} by decile, as measured then",
        height=140,
        stops=tuple((at - 0.5).tolist()),
    )
    columns = tuple(name.replace("_", " ") for name in detail.columns)
    legend = (LegendKey("area", "main", "model"), LegendKey("line", "chance", "at random"))
    title = name.capitalize()
    return Figure(
        title=title, note=note, legend=legend, plot=plot, columns=columns, rows=_table_cells(detail)
    )


def _table_cells(detail: DetailTable) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(cell if isinstance(cell, str) else number_text(cell) or "none" for cell in row)
        for row in detail.rows
    )


def _line_path(x: Floats, y: Floats, kind: Kind = "main") -> LinePath:
    return LinePath(list(zip(x.tolist(), y.tolist(), strict=True)), kind)


def _number_column(detail: DetailTable, name: str) -> Floats:
    """A column of numbers; what is none is 0."""
    at = detail.columns.index(name)
    return np.asarray([cell if isinstance(cell := row[at], float | int) else 0.0 for row in detail.rows])
