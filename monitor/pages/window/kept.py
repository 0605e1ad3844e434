"""Charts of a window by what was kept of it: the tables behind its values, where there are no counts."""

from collections.abc import Iterator, Sequence

import numpy as np

from monitor.charts.marks import Bars, Dots, Kind, Mark, Path, RuleLine, Segment
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear
from monitor.core.measurement import Detail
from monitor.core.text import number
from monitor.core.typing import Floats
from monitor.measures.rows import MeasurementRow, Revision, Truth, newest
from monitor.measures.worded import with_interval
from monitor.pages.figures import Figure, FigureGroup, LegendKey, percent, short
from monitor.pages.moments import day
from monitor.pages.window.curves import HEIGHT

_SKETCH = 21  # points of a curve that is no whole one
_SHARES = linear([0.0, 1.0])
_ORDER = (Truth.PROVISIONAL, Truth.NOWCAST, Truth.SETTLED)
_WHOLE = ("roc_auc", "ks_separation", "average_precision", "best_profit")


def kept_groups(rows: Sequence[Revision]) -> Iterator[FigureGroup]:
    """Curves and deciles that were kept, each of the best labels: settled before others."""
    found: dict[str, tuple[int, MeasurementRow, Detail]] = {}
    known = [pair for pair in newest(rows) if not (pair[1].subject or pair[1].against)]
    for kept, row in sorted((pair for pair in known if pair[1].truth in _ORDER), key=_best):
        if row.measurement.detail is not None and row.measurement.value is not None:
            found[row.measure] = (kept, row, row.measurement.detail)
    curves = tuple(
        _DRAWN[name](detail, _note(kept, row, detail))
        for name in _WHOLE
        if name in found
        for kept, row, detail in [found[name]]
    )
    if curves:
        yield FigureGroup("Curves, as they were kept", "three", curves)
    if "lift_top_decile" in found:
        kept, row, detail = found["lift_top_decile"]
        figures = tuple(_deciles(detail, _note(kept, row, detail), name) for name in ("gain", "lift"))
        yield FigureGroup("Whom did it find?", "four", figures)


def _best(pair: Revision) -> tuple[int, int]:
    """Ascending: what is more final, then what was kept later."""
    return _ORDER.index(pair[1].truth), pair[0]


def _note(kept: int, row: MeasurementRow, detail: Detail) -> str:
    sketch = ", a sketch" if row.measure in _WHOLE and len(detail.rows) <= _SKETCH else ""
    return (
        f"{row.measure} {with_interval(row.measure, row.measurement)}, {row.truth}, kept {day(kept)}{sketch}"
    )


def _roc(detail: Detail, note: str) -> Figure:
    x, y = (_column(detail, name) for name in ("false_positive_rate", "true_positive_rate"))
    marks: list[Mark] = [Segment((0.0, 0.0), (1.0, 1.0)), _path(x, y)]
    return _figure("ROC", f"{note}; true positive rate ↑", "false positive rate", detail, marks, x)


def _precision(detail: Detail, note: str) -> Figure:
    x, y = (_column(detail, name) for name in ("recall", "precision"))
    return _figure("Precision and recall", f"{note}; precision ↑", "recall", detail, [_path(x, y)], x)


def _separation(detail: Detail, note: str) -> Figure:
    x, negative, positive = (_column(detail, name) for name in ("score", "negative", "positive"))
    at = int(np.argmax(np.abs(negative - positive)))
    marks: list[Mark] = [_path(x, negative), _path(x, positive, "second")]
    low, high = (float(x[at]), float(negative[at])), (float(x[at]), float(positive[at]))
    marks.append(Segment(low, high, "now", f"{abs(low[1] - high[1]):.3f} at {number(low[0])}"))
    legend = (LegendKey("line", "main", "negative"), LegendKey("line", "second", "positive"))
    note = f"{note}; share with a score up to here ↑"
    return _figure("K-S chart", note, "score", detail, marks, x, legend)


def _profit(detail: Detail, note: str) -> Figure:
    x, worth = (_column(detail, name) for name in ("predicted_rate", "profit"))
    best = int(np.argmax(worth))
    marks: list[Mark] = [_path(x, worth), Dots([(float(x[best]), float(worth[best]))], "second")]
    levels = linear([float(worth.min()), float(worth.max())], label=short)
    legend = (LegendKey("line", "main", "profit"), LegendKey("dot", "second", "the best"))
    title = "share of the records that count as positive"
    return _figure("Profit", note, title, detail, marks, x, legend, levels)


_DRAWN = {
    "roc_auc": _roc,
    "ks_separation": _separation,
    "average_precision": _precision,
    "best_profit": _profit,
}


def _figure(
    title: str,
    note: str,
    x_title: str,
    detail: Detail,
    marks: Sequence[Mark],
    x: Floats,
    legend: tuple[LegendKey, ...] = (),
    y: Axis = _SHARES,
) -> Figure:
    axis = linear([float(x.min()), float(x.max())], title=x_title)
    plot = Plot(x=axis, y=y, marks=marks, label=f"{title}, as kept", height=HEIGHT, stops=tuple(x.tolist()))
    return Figure(
        title=title,
        note=note,
        legend=legend,
        plot=plot,
        columns=tuple(name.replace("_", " ") for name in detail.columns),
        rows=_cells(detail),
    )


def _deciles(detail: Detail, note: str, name: str) -> Figure:
    """Gain, or lift, by decile."""
    at, heights = _column(detail, "decile"), _column(detail, name)
    chance, label = (0.1, percent) if name == "gain" else (1.0, short)
    bars = [(x - 0.95, x - 0.05, height) for x, height in zip(at.tolist(), heights.tolist(), strict=True)]
    ticks = tuple(AxisTick(x - 0.5, f"{x:g}") for x in at.tolist())
    plot = Plot(
        x=Axis(0.0, 10.0, ticks, title="decile, highest scores first"),
        y=linear([0.0, chance, *heights.tolist()], label=label),
        marks=[Bars(bars), RuleLine(chance, "y", "chance")],
        label=f"{name} by decile, as kept",
        height=140,
        stops=tuple((at - 0.5).tolist()),
    )
    columns = tuple(name.replace("_", " ") for name in detail.columns)
    legend = (LegendKey("area", "main", "model"), LegendKey("line", "chance", "at random"))
    title = name.capitalize()
    return Figure(title=title, note=note, legend=legend, plot=plot, columns=columns, rows=_cells(detail))


def _cells(detail: Detail) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(cell if isinstance(cell, str) else number(cell) or "none" for cell in row)
        for row in detail.rows
    )


def _path(x: Floats, y: Floats, kind: Kind = "main") -> Path:
    return Path(list(zip(x.tolist(), y.tolist(), strict=True)), kind)


def _column(detail: Detail, name: str) -> Floats:
    """A column of numbers; what is none is 0."""
    at = detail.columns.index(name)
    return np.asarray([cell if isinstance(cell := row[at], float | int) else 0.0 for row in detail.rows])
