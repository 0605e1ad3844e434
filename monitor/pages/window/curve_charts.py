"""Charts of a binary model's scores, from the exact counts of a window: the curves are the curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from monitor.charts.marks import (
    CellOutline,
    IntervalWhiskers,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    Mark,
    PointDots,
    RuleLine,
    StandingBars,
    StraightLine,
)
from monitor.charts.plot import Plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.core.array_types import Floats
from monitor.core.text import number_text
from monitor.measures.classification.calibration import (
    RankedProbabilities,
    ReliabilityGroups,
    has_too_few_records,
)
from monitor.measures.classification.discrimination import roc_auc, separation_curve
from monitor.measures.classification.gains import (
    decile_table,
    make_binary_amounts,
    profit_curve,
)
from monitor.measures.statistics.curve_corners import find_corners
from monitor.measures.statistics.intervals import wilson_interval
from monitor.measures.statistics.ranked_scores import RankedScores, merge_score_cells
from monitor.measures.value_words import format_measure_value, with_minus
from monitor.pages.figures import Figure, number_tick, percent_tick
from monitor.states.views import ConfusionCounts

HEIGHT = 220
_CELLS = 50  # of a histogram
_ENOUGH = 30  # records of which a precision is drawn
_NEARLY = 0.01  # share of the decisions by which a threshold may miss them
_SHARES = linear_axis([0.0, 1.0])
_PERCENTS = linear_axis([0.0, 1.0], label=percent_tick)
_CHANCE = LegendKey("line", "chance", "at random")


@dataclass(frozen=True, slots=True)
class ScoreSide:
    """One set of ranked scores that is drawn: the model, its reference, its challenger."""

    name: str
    kind: Kind
    ranked: RankedScores


def _curve_lines(points: Mapping[str, tuple[Floats, Floats]], sides: Sequence[ScoreSide]) -> list[Mark]:
    return [_curve_path(*points[side.name], side.kind) for side in sides]


def _curve_path(x: Floats, y: Floats, kind: Kind = "main", must: Sequence[int] = ()) -> LinePath:
    """A curve by its corners."""
    kept = find_corners(x, y, must=must)
    return LinePath(list(zip(x[kept].tolist(), y[kept].tolist(), strict=True)), kind)


_CurveTable: TypeAlias = tuple[tuple[float, ...], tuple[tuple[str, ...], ...]]


def _curve_table(x: Floats, *columns: Floats, words: Callable[[float], str]) -> _CurveTable:
    """Stops and rows of a table of some twenty points of a curve."""
    at = np.unique(np.linspace(0, len(x) - 1, 21).round().astype(int))
    rows = zip(*(column[at].tolist() for column in (x, *columns)), strict=True)
    return tuple(x[at].tolist()), tuple(tuple(map(words, row)) for row in rows)


def three_digits(value: float) -> str:
    """A share as a table of a curve holds it."""
    return f"{value:.3f}"


def draw_roc(
    sides: Sequence[ScoreSide],
    confusion: ConfusionCounts | None,
    words: str,
    title: str = "ROC",
    mark: str = "as predicted",
    *,
    valued: bool = False,
) -> Figure:
    """True positive rate by false positive rate, and where the model's own decisions lie, if these are.

    `valued`: whether the legend has the area of each: as counted, which kept figures may differ from a
    little.
    """
    points = {side.name: _prepend_origin(side.ranked.fallout, side.ranked.recall) for side in sides}
    marks: list[Mark] = [StraightLine((0.0, 0.0), (1.0, 1.0)), *_curve_lines(points, sides)]
    keys = [
        LegendKey(
            "line",
            side.kind,
            f"{side.name} {format_measure_value('roc_auc', roc_auc(side.ranked.table).value)}"
            if valued
            else side.name,
        )
        for side in sides
    ]
    keys.append(_CHANCE)
    (tn, fp), (fn, tp) = ((0, 0), (0, 0)) if confusion is None else confusion.counts[:2, :2].tolist()
    if tn + fp and fn + tp and tp + fp:
        marks += _labelled_point((fp / (tn + fp), tp / (fn + tp)), mark)
    stops, rows = _curve_table(*points[sides[0].name], words=three_digits)
    x = Axis(0.0, 1.0, _PERCENTS.ticks, title="false positive rate")
    plot = Plot(
        x=x, y=_PERCENTS, marks=marks, label=f"ROC curve, {words}", height=HEIGHT, stops=stops, square=True
    )
    return Figure(
        title=title,
        note=words if title != "ROC" else "true positive rate",
        legend=tuple(keys),
        plot=plot,
        columns=("false positive rate", "true positive rate"),
        rows=rows,
    )


def _labelled_point(at: tuple[float, float], label: str) -> list[Mark]:
    """A dot with a text beside it."""
    return [
        StraightLine(at, at, "now", label),
        LinkedPoints([LinkedPoint(x=at[0], y=at[1], kind="main", words="")]),
    ]


def score_text(score: float) -> str:
    """A threshold as people say it, to two digits.

    >>> score_text(0.2999), score_text(0.16348), score_text(-3.21)
    ('0.3', '0.16', '\N{MINUS SIGN}3.2')
    """
    return with_minus(f"{float(f'{score:.2g}'):.10g}")


def find_used_threshold(scores: RankedScores, confusion: ConfusionCounts) -> float | None:
    """Threshold by which a model decides, read from its own decisions; None: they follow no threshold.

    It is the lower bound of the score cell down to which as many records of each class lie as were predicted
    positive, but for one in a hundred.
    """
    _, (false, true) = confusion.counts[:2, 1], confusion.counts[:2, 1].tolist()
    if not 0 < false + true < scores.n:
        return None
    off = np.abs(scores.true - true) + np.abs(scores.false - false)
    at = int(np.argmin(off))
    return float(scores.lower[at]) if off[at] <= _NEARLY * (false + true) else None


def draw_precision_recall(sides: Sequence[ScoreSide], words: str) -> Figure:
    """Precision by recall, and the share of positives, which random scores would give."""
    points = {side.name: (side.ranked.recall, side.ranked.true / side.ranked.both) for side in sides}
    scores = sides[0].ranked
    rate = scores.positives / scores.n
    marks = [*_curve_lines(points, sides), RuleLine(rate, "y", "chance")]
    stops, rows = _curve_table(*points[sides[0].name], words=three_digits)
    x = Axis(0.0, 1.0, _SHARES.ticks, title="recall")
    plot = Plot(
        x=x, y=_SHARES, marks=marks, label=f"precision by recall, {words}", height=HEIGHT, stops=stops
    )
    return Figure(
        title="Precision and recall",
        note=f"{words}; precision ↑",
        legend=(*_side_keys(sides), LegendKey("line", "chance", f"at random {rate:.3f}")),
        plot=plot,
        columns=("recall", "precision"),
        rows=rows,
    )


def draw_separation(scores: RankedScores, words: str) -> Figure:
    """K-S chart: the shares of each class with a score up to here, and where they lie farthest apart."""
    score, negative, positive = separation_curve(scores)
    at = int(np.argmax(np.abs(negative - positive)))
    sides: tuple[tuple[Floats, Kind], ...] = ((negative, "main"), (positive, "second"))
    lines: list[Mark] = [_curve_path(score, side, kind, must=[at]) for side, kind in sides]
    apart = abs(float(negative[at] - positive[at]))
    label = f"{apart:.3f} at {number_text(float(score[at]))}"
    here = float(score[at])
    lines.append(StraightLine((here, float(negative[at])), (here, float(positive[at])), "now", label))
    stops, rows = _curve_table(score, negative, positive, words=three_digits)
    axis = linear_axis([float(score.min()), float(score.max())], title="score")
    plot = Plot(x=axis, y=_SHARES, marks=lines, label=f"K-S chart, {words}", height=HEIGHT, stops=stops)
    return Figure(
        title="K-S chart",
        note=f"largest distance {words}; share with a score up to here ↑",
        legend=(LegendKey("line", "main", "negative"), LegendKey("line", "second", "positive")),
        plot=plot,
        columns=("score", "negative", "positive"),
        rows=rows,
    )


def draw_scores(
    sides: Sequence[ScoreSide], bounds: Floats, classes: Sequence[str], threshold: float | None
) -> Figure:
    """Scores by class: densities on equal cells, the reference's as outlines."""
    scores = sides[0].ranked
    lows = [side.ranked.lower[np.isfinite(side.ranked.lower)].min(initial=np.inf) for side in sides]
    highs = [side.ranked.upper[np.isfinite(side.ranked.upper)].max(initial=-np.inf) for side in sides]
    low, high = (0.0, 1.0) if np.isfinite(bounds[[0, -1]]).all() else (min(lows), max(highs))
    if not low < high:
        low, high = low - 0.5, low + 0.5
    edges = np.linspace(low, high, _CELLS + 1)
    marks: list[Mark] = []
    legend: list[LegendKey] = []
    tall = []
    kinds: tuple[tuple[Kind, Kind], ...] = (("second", "main"), ("reference", "reference"))
    for side, pair in zip(sides[:2], kinds, strict=False):
        filled = side is sides[0]
        for counts, kind, name in zip(
            (side.ranked.negative, side.ranked.positive), pair, classes, strict=True
        ):
            heights = _score_density(side.ranked, counts, edges)
            tall.append(float(heights.max(initial=0.0)))
            marks.append(CellOutline(edges.tolist(), heights.tolist(), kind, filled=filled))
            if filled:
                legend.append(LegendKey("area", kind, f"was {name}"))
        if not filled:
            legend.append(LegendKey("line", "reference", side.name))
    if threshold is not None:
        marks.append(RuleLine(threshold, "x", "now", f"threshold {score_text(threshold)}"))
    middles = tuple(((edges[1:] + edges[:-1]) / 2).tolist())
    columns = [_score_density(scores, counts, edges) for counts in (scores.negative, scores.positive)]
    rows = tuple(
        (number_text(at), three_digits(a), three_digits(b))
        for at, a, b in zip(middles, *map(np.ndarray.tolist, columns), strict=True)
    )
    plot = Plot(
        x=linear_axis([low, high], title="score"),
        y=linear_axis([0.0, *tall]),
        marks=marks,
        label="distribution of the scores by class",
        height=HEIGHT,
        stops=middles,
    )
    return Figure(
        title="Scores by class",
        note="density; each class has area 1",
        legend=tuple(legend),
        plot=plot,
        columns=("score", *classes),
        rows=rows,
    )


def draw_calibration(scores: RankedScores, words: str, level: float, what: str = "positive") -> Figure | None:
    """Share of positives by mean probability of groups of about equal size; None: too few records.

    `what`: the positives are: of several classes, answers that were right.
    """
    if has_too_few_records(scores.n) or not np.isfinite([scores.lower.min(), scores.upper.max()]).all():
        return None
    first, group = merge_score_cells(scores)
    groups = ReliabilityGroups.from_cells(RankedProbabilities.from_ranked(scores), first[group])
    means = groups.mean[::-1].tolist()
    counts = list(zip(groups.positives[::-1].tolist(), groups.records[::-1].tolist(), strict=True))
    rates = [positives / records for positives, records in counts]
    bars = [(at, *_rate_bounds(*pair, level)) for at, pair in zip(means, counts, strict=True)]
    top = max(*means, *(high for _, _, high in bars))
    axis = linear_axis([0.0, top], label=percent_tick)
    plot = Plot(
        x=Axis(axis.low, axis.high, axis.ticks, title="predicted probability"),
        y=axis,
        marks=[
            StraightLine((axis.low, axis.low), (axis.high, axis.high)),
            IntervalWhiskers(bars),
            LinePath(list(zip(means, rates, strict=True))),
            PointDots(list(zip(means, rates, strict=True))),
        ],
        label=f"calibration, {words}",
        height=HEIGHT,
        stops=tuple(means),
        square=True,
    )
    return Figure(
        title="Calibration",
        note=f"share that was {what}, {100 * level:g} %",
        legend=(LegendKey("line", "chance", "as predicted"),),
        plot=plot,
        columns=("mean probability", what, "interval", "records"),
        rows=tuple(
            (three_digits(at), three_digits(rate), f"[{low:.3f}, {high:.3f}]", f"{records:,}")
            for at, rate, (_, low, high), (_, records) in zip(means, rates, bars, counts, strict=True)
        ),
    )


def draw_deciles(
    sides: Sequence[ScoreSide], confusion: ConfusionCounts | None = None, mark: str = "as predicted"
) -> tuple[Figure, Figure]:
    """Cumulative gain, and lift by decile of descending score; the second side of lift is a line a decile."""
    rows = [tuple(map(float, row)) for row in decile_table(sides[0].ranked).rows]  # type: ignore[arg-type]
    at = [row[0] for row in rows]
    table = tuple(
        (
            f"{row[0]:g}",
            number_text(row[1]),
            number_text(row[2]),
            percent_tick(round(row[3], 4)),
            percent_tick(round(row[4], 4)),
            three_digits(row[5]),
            three_digits(row[6]),
        )
        for row in rows
    )
    columns = ("decile", "records", "positives", "gain", "cumulative gain", "lift", "cumulative lift")
    lines: list[Mark] = [StraightLine((0.0, 0.0), (1.0, 1.0))]
    for side in sides:
        found = [0.0, *(float(row[4] or 0.0) for row in decile_table(side.ranked).rows)]
        lines.append(LinePath([(tenth / 10, share) for tenth, share in enumerate(found)], side.kind))
    (_, fp), (fn, tp) = ((0, 0), (0, 0)) if confusion is None else confusion.counts[:2, :2].tolist()
    if confusion is not None and fn + tp and tp + fp:
        flagged = (fp + tp) / int(confusion.counts[:2, :2].sum())
        label = f"{mark}: {percent_tick(round(flagged, 2))} flagged"
        lines += _labelled_point((flagged, tp / (fn + tp)), label)
    plot = Plot(
        x=Axis(0.0, 1.0, _PERCENTS.ticks, title="records with the highest scores"),
        y=_PERCENTS,
        marks=lines,
        label="cumulative gain by decile",
        height=HEIGHT,
        stops=tuple(value / 10 for value in at),
        square=True,
    )
    gain = Figure(
        title="Cumulative gain", note="share of all positives found", plot=plot,
        legend=(*_side_keys(sides), _CHANCE),
        columns=columns, rows=table,
    )  # fmt: skip
    return gain, _draw_lift(sides, rows, columns, table)


def _draw_lift(
    sides: Sequence[ScoreSide],
    rows: Sequence[tuple[float, ...]],
    columns: tuple[str, ...],
    table: tuple[tuple[str, ...], ...],
) -> Figure:
    """Lift by decile; of what it is compared with a line a decile."""
    ticks = tuple(AxisTick(row[0] - 0.5, f"{row[0]:g}") for row in rows)
    bars = [(row[0] - 0.9, row[0] - 0.1, row[5]) for row in rows]
    marks: list[Mark] = [StandingBars(bars), RuleLine(1.0, "y", "chance")]
    legend, heights = [LegendKey("area", "main", sides[0].name)], [height for _, _, height in bars]
    for side in [one for one in sides[1:] if one.kind == "third"] or sides[1:2]:
        of_side = [float(row[5] or 0.0) for row in decile_table(side.ranked).rows]
        heights += of_side
        legend.append(LegendKey("line", side.kind, side.name))
        marks += [
            StraightLine((tenth + 0.05, height), (tenth + 0.95, height), side.kind)
            for tenth, height in enumerate(of_side)
        ]
    legend.append(_CHANCE)
    plot = Plot(
        x=Axis(0.0, 10.0, ticks, title="decile of the score, highest first"),
        y=linear_axis([0.0, 1.0, *heights], label=lambda at: f"{at:.10g}×"),
        marks=marks,
        label="lift by decile",
        height=HEIGHT,
        stops=tuple(row[0] - 0.5 for row in rows),
        square=True,
    )
    note = "by decile, times the average rate of positives"
    return Figure(title="Lift", note=note, legend=tuple(legend), plot=plot, columns=columns, rows=table)


def draw_threshold_rates(scores: RankedScores, threshold: float | None) -> Figure:
    """What another threshold would do: rates of both classes, and precision."""
    score = np.where(np.isfinite(scores.lower), scores.lower, scores.upper)
    sides: tuple[tuple[str, Kind, Floats], ...] = (
        ("recall", "main", scores.recall),
        ("specificity", "second", 1 - scores.fallout),
        ("precision", "third", scores.true / scores.both),
    )
    marks: list[Mark] = []
    for name, kind, values in sides:
        enough = scores.both >= (_ENOUGH if name == "precision" else 0)  # of few records precision is chance
        if enough.any():
            marks.append(_curve_path(score[enough], values[enough], kind))
    if threshold is not None:
        marks.append(RuleLine(threshold, "x", "now", f"threshold {score_text(threshold)}"))
    stops, rows = _curve_table(score[::-1], *(values[::-1] for _, _, values in sides), words=three_digits)
    plot = Plot(
        x=linear_axis([float(score.min()), float(score.max())], title="threshold"),
        y=linear_axis([0.0, 1.0], label=percent_tick),
        marks=marks,
        label="rates by threshold",
        height=HEIGHT,
        stops=stops,
    )
    return Figure(
        title="Other thresholds",
        note="what each would give",
        legend=tuple(LegendKey("line", kind, name) for name, kind, _ in sides),
        plot=plot,
        columns=("threshold", *(name for name, _, _ in sides)),
        rows=rows,
    )


def draw_threshold_profit(
    scores: RankedScores,
    classes: tuple[str, ...],
    profit: Mapping[tuple[str, str], float],
    threshold: float | None,
) -> Figure:
    """Profit of the window by threshold, and the best one."""
    amounts = make_binary_amounts(classes, profit)
    worth = profit_curve(scores, amounts)
    score = np.where(np.isfinite(scores.lower), scores.lower, scores.upper)
    score = np.concatenate([[_finite_bound(scores.upper[0], scores)], score])
    best = int(np.argmax(worth))
    marks: list[Mark] = [_curve_path(score, worth, must=[best])]
    label = f"best {score_text(float(score[best]))}: {float(worth[best]):,.0f}"
    marks += _labelled_point((float(score[best]), float(worth[best])), label)
    if threshold is not None:
        marks.append(RuleLine(threshold, "x", "now", f"threshold {score_text(threshold)}"))
        now = int(np.argmin(np.abs(score - threshold)))
        marks.append(PointDots([(float(score[now]), float(worth[now]))], "second"))
    stops, rows = _curve_table(score[::-1], worth[::-1], words=number_text)
    plot = Plot(
        x=linear_axis([float(score.min()), float(score.max())], title="threshold"),
        y=linear_axis([float(worth.min()), float(worth.max())], label=number_tick),
        marks=marks,
        label="profit by threshold",
        height=HEIGHT,
        stops=stops,
    )
    return Figure(
        title="Profit",
        note="of the window, by threshold",
        plot=plot,
        columns=("threshold", "profit"),
        rows=rows,
    )


def _prepend_origin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    return np.concatenate([[0.0], x]), np.concatenate([[0.0], y])


def _finite_bound(bound: float, scores: RankedScores) -> float:
    """Upper end of the scores; where it is open the highest lower bound."""
    return float(bound) if math.isfinite(bound) else float(scores.lower[0])


def _score_density(scores: RankedScores, counts: np.ndarray, edges: Floats) -> Floats:
    """Density on equal cells, of counts in fine ones: by their middles."""
    lower = np.where(np.isfinite(scores.lower), scores.lower, scores.upper)
    upper = np.where(np.isfinite(scores.upper), scores.upper, scores.lower)
    held, _ = np.histogram((lower + upper) / 2, bins=edges, weights=counts)
    total = counts.sum() * (edges[1] - edges[0])
    return held / total if total else held.astype(np.float64)


def _rate_bounds(positives: int, records: int, level: float) -> tuple[float, float]:
    interval = wilson_interval(positives, records, level)
    return interval.lower, interval.upper


def _side_keys(sides: Sequence[ScoreSide]) -> tuple[LegendKey, ...]:
    return tuple(LegendKey("line", side.kind, side.name) for side in sides)
