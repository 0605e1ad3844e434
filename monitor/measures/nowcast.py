"""Performance on the labels so far, weighed: what the records that will be labelled would give.

A pane's labels of a class count 1/π each, π the share of the labels of that class and age that is in: an
adjustment for the delay of reports [1]_, with weights as Horvitz and Thompson's. It assumes that the delay
does not depend on score and prediction, given class and pane; of numbers, not on the value.

Variances: labels come as a Poisson process, so that a weighed count Σ n/π has the variance Σ n/π². The errors
of the classes' totals, which all records of a class share, come on top, by the delta method.

References
----------
.. [1] Lawless (1994), "Adjustments for reporting delays and the prediction of occurred but not reported
   events", Canadian Journal of Statistics 22:15.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.classification import confusion_statistics as statistics
from monitor.measures.classification.confusion import make_class_amounts
from monitor.measures.classification.confusion_statistics import ResampledSums
from monitor.measures.classification.discrimination import auc_interval, gini_coefficient
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.regression import square_root
from monitor.measures.statistics.intervals import normal_interval, normal_quantile, score_bounds
from monitor.records.counting import LOSSES, Counting
from monitor.records.labels.error_terms import ERRORS
from monitor.records.reading import ModelTask
from monitor.states.counters import Counters
from monitor.states.sums import HALF

LEAST_SHARE = 0.2  # of a class's labels: panes with less are left out
LEAST_RECORDS = 0.5  # of the window's, that must remain
_STEP = 2.0**-12  # of a numerical derivative, relative
_BLOCK = 1_000_000  # cells of derivatives that are in memory at once
_NUMBERS: Mapping[str, tuple[str, str]] = {
    "mean_absolute_error": ("absolute_error", "squared_error"),
    "root_mean_squared_error": ("squared_error", "quartic_error"),
    "bias": ("error", "squared_error"),
}
_RATES_OF_CLASS = ("precision", "recall", "base_rate")
_AVERAGES: Mapping[str, Callable[[ResampledSums], Floats]] = {
    "average_class_accuracy": statistics.average_recalls,
    "recall_macro": statistics.average_recalls,
    "harmonic_class_accuracy": statistics.harmonic_recalls,
}
_LOSSES: Mapping[str, tuple[str, str]] = {
    "brier_score": ("brier", "squared_brier"),
    "log_loss": ("log_loss", "squared_log_loss"),
}


@dataclass(frozen=True, slots=True)
class WeightedCounts:
    """Counts of a labels part, weighed class by class."""

    counting: Counting  # what the positions mean
    # count, total, square: shape (layout.size,): Σ n, Σ n/π and Σ n/π²; 0 in blocks that no nowcast reads.
    count: Floats
    total: Floats
    square: Floats
    covariance: Floats  # shape (classes, classes): of the relative errors of the classes' totals

    @property
    def n(self) -> int:
        """Labels behind."""
        return int(self.count[self.counting.labels_layout.block_slice("label")].sum())

    def weighted_block(self, name: str) -> tuple[Floats, Floats]:
        """Weighed counts of a block, and their variances."""
        layout = self.counting.labels_layout
        where, shape = layout.block_slice(name), layout.blocks_by_name[name].shape
        return self.total[where].reshape(shape), self.square[where].reshape(shape)


@lru_cache(maxsize=64)
def _map_counters_to_classes(counting: Counting) -> Ints:
    """Position of the class by which each counter is weighed; after all classes *unseen*; -1: it is not."""
    layout, k = counting.labels_layout, len(counting.reading.classes)
    kind = np.full(layout.size, -1)
    for block in layout.blocks:
        position = np.arange(block.size)
        if counting.reading.task is ModelTask.REGRESSION:
            if block.name in ("errors", "label"):
                kind[layout.block_slice(block.name)] = 0
        elif block.name == "confusion":
            kind[layout.block_slice("confusion")] = position // (k + 1)
        elif block.name == "label":
            kind[layout.block_slice("label")] = np.where(position <= k, position, -1)
        elif block.name == "losses":
            kind[layout.block_slice("losses")] = position % k
        elif block.name == "scores" and counting.counts_scores:
            kind[layout.block_slice("scores")] = position // (block.size // 2)
    return kind


def count_class_labels(counting: Counting, pieces: Sequence[Counters]) -> Ints:
    """Labels of each piece and class, shape (pieces, classes)."""
    k = max(1, len(counting.reading.classes))
    where = counting.labels_layout.block_slice("label")
    totals = np.zeros((len(pieces), k), dtype=np.int64)
    for at, counters in enumerate(pieces):
        first, last = np.searchsorted(counters.index, [where.start, where.stop])
        position, value = counters.index[first:last] - where.start, counters.value[first:last]
        if k == 1:
            totals[at] = value.sum()
        else:
            known = position < k
            totals[at, position[known]] = value[known]
    return totals


def weight_labels(
    counting: Counting, pieces: Sequence[Counters], share: Floats, covariance: Floats
) -> WeightedCounts:
    """Weigh the labels parts of some panes, or of sums of panes of one weight.

    An *unseen* class has the mean weight of all. Cost: the pieces' non-zero counters, once.

    Parameters
    ----------
    share
        shape (pieces, classes): share of the labels that is in.
    covariance
        shape (classes, classes): of the relative errors of the classes' totals.
    """
    layout, kind = counting.labels_layout, _map_counters_to_classes(counting)
    none = np.empty(0, dtype=np.int64)
    index = np.concatenate([none, *(piece.index for piece in pieces)])
    value = np.concatenate([none, *(piece.value for piece in pieces)])
    piece = np.repeat(np.arange(len(pieces)), [len(counters.index) for counters in pieces])
    used = kind[index] >= 0
    index, value, piece = index[used], value[used], piece[used]
    weights = 1 / np.column_stack([share, share.mean(axis=1)])
    weight = weights[piece, kind[index]]
    once = value * weight
    sums = (np.bincount(index, each, minlength=layout.size) for each in (value, once, once * weight))
    count, total, square = (each.astype(np.float64) for each in sums)
    return WeightedCounts(counting, count, total, square, covariance)


def nowcast_results(counts: WeightedCounts, options: MeasureOptions) -> Iterator[MeasureResult]:
    """Every nowcast of a model."""
    counting = counts.counting
    if counting.reading.task is ModelTask.REGRESSION:
        yield from _number_nowcasts(counts, options)
        return
    yield from _class_nowcasts(counts, options)
    if counting.counts_scores:
        area = _weighted_area(counts, options.level)
        yield MeasureResult("roc_auc", "", area)
        yield MeasureResult("gini", "", gini_coefficient(area))
    if counting.has_probability_scores or counting.probability_classes:
        for name, terms in _LOSSES.items():
            yield MeasureResult(name, "", _weighted_loss(counts, terms, options.level))


def absent_nowcasts(
    counting: Counting, reason: Reason, options: MeasureOptions, *, n: int
) -> list[MeasureResult]:
    """Every nowcast of a model, without a value."""
    nothing = np.zeros(counting.labels_layout.size)
    k = max(1, len(counting.reading.classes))
    empty = WeightedCounts(counting, nothing, nothing, nothing, np.zeros((k, k)))
    missing = Measurement.without_value(reason, n=n)
    return [replace(result, measurement=missing) for result in nowcast_results(empty, options)]


def _class_nowcasts(counts: WeightedCounts, options: MeasureOptions) -> Iterator[MeasureResult]:
    total, square = counts.weighted_block("confusion")
    classes, k = counts.counting.reading.classes, len(counts.counting.reading.classes)
    is_known: Bools = np.zeros(total.shape, dtype=bool)
    diagonal: Bools = np.eye(k + 1, dtype=bool)
    # The last place is *unseen*: an unseen class that was predicted as unseen is not right.
    diagonal[k, k] = False
    everything = ~is_known
    masks: dict[tuple[str, str], tuple[Bools, Bools]] = {
        ("accuracy", ""): (diagonal, everything),
        ("error_rate", ""): (~diagonal, everything),
    }
    subjects = {1: ""} if k == 2 else {at: f"class:{name}" for at, name in enumerate(classes)}
    for at, subject in subjects.items():
        row, column, hit = is_known.copy(), is_known.copy(), is_known.copy()
        row[at], column[:, at], hit[at, at] = True, True, True
        of_class = (hit, column), (hit, row), (row, everything)
        masks |= {(name, subject): mask for name, mask in zip(_RATES_OF_CLASS, of_class, strict=True)}
    for (name, subject), (having, row_mask) in masks.items():
        n = int(counts.count[counts.counting.labels_layout.block_slice("confusion")][row_mask.ravel()].sum())
        rate = _weighted_rate(counts, (total, square), having, row_mask, options.level)
        yield MeasureResult(name, subject, rate if rate.value is None else replace(rate, n=n))
    yield from _statistic_results(counts, total, square, list(subjects.values()), options)


def _weighted_rate(
    counts: WeightedCounts, cells: tuple[Floats, Floats], having: Bools, mask: Bools, level: float
) -> Measurement:
    """Share of weighed counts, with Wilson's interval of as many records as have its variance."""
    total, square = cells
    below = float(total[mask].sum())
    if below <= 0:
        return _undefined_measurement(counts)
    value = min(1.0, float(total[having].sum()) / below)
    influence = (having - value * mask) / below
    variance = float((influence**2 * square).sum()) + _class_total_variance(
        counts, (influence * total).sum(axis=1)
    )
    trials = below**2 / float(square[mask].sum())
    if 0 < value < 1 and variance > 0:
        trials = value * (1 - value) / variance
    lower, upper = score_bounds(value, trials, normal_quantile(level))
    return Measurement(value, counts.n, interval=Interval(min(lower, value), max(upper, value), level))


def _undefined_measurement(counts: WeightedCounts) -> Measurement:
    return Measurement.without_value(Reason.UNDEFINED if counts.n else Reason.NO_LABELS, n=counts.n)


def _class_total_variance(counts: WeightedCounts, by_class: Floats) -> float:
    """Variance that the errors of the classes' totals bring.

    `by_class`: by how much the value moves with the logarithm of each class's total.
    """
    pull = by_class[: len(counts.covariance)]
    return max(0.0, float(pull @ counts.covariance @ pull))


def _statistic_results(
    counts: WeightedCounts, total: Floats, square: Floats, subjects: list[str], options: MeasureOptions
) -> Iterator[MeasureResult]:
    """Averages, F1 and profit: intervals by numerical derivatives, on the logit scale between 0 and 1."""
    side, cells = len(total), np.flatnonzero(total)
    amounts = make_class_amounts(counts.counting.reading.classes, options.profit) if options.profit else None

    def figures(stack: Floats, cells: Ints = cells) -> Floats:
        sums = statistics.sum_draw_blocks([stack], cells, side, amounts, counts.n)
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = [statistic(sums)[None] for statistic in _AVERAGES.values()]
            rows.append(statistics.f_betas(sums, 1.0, side - 1 - len(subjects)))
            rows += [] if amounts is None else [statistics.profits_per_record(sums)[None]]
        return np.concatenate(rows)

    names = [(name, "") for name in _AVERAGES] + [("f1", subject) for subject in subjects]
    names += [] if amounts is None else [("profit_per_record", "")]
    at = total.ravel()[cells]
    values = figures(at[:, None])[:, 0]
    # How each figure moves with the logarithm of each cell's count: some cells at once, as each of them needs
    # a copy of all counts.
    moves = np.zeros((len(values), len(cells)))
    block = max(1, _BLOCK // max(1, len(cells)))
    for first in range(0, len(cells), block):
        moved = np.arange(first, min(first + block, len(cells)))
        stack = np.repeat(at[:, None], len(moved), axis=1)
        stack[moved, np.arange(len(moved))] *= 1 + _STEP
        moves[:, moved] = (figures(stack) - values[:, None]) / _STEP
    # Variance of the logarithm of each weighed count, Σ n/π² over its square.
    noise = square.ravel()[cells] / at**2
    rows = np.zeros((side, len(cells)))
    # All cells of an actual class share the error of its total.
    rows[cells // side, np.arange(len(cells))] = 1.0
    ends = np.sort(figures(_cells_at_recall_bounds(total, square, options.level), np.arange(total.size)))
    for (name, subject), value, move, end in zip(names, values.tolist(), moves, ends.tolist(), strict=True):
        if not math.isfinite(value):
            yield MeasureResult(name, subject, _undefined_measurement(counts))
            continue
        variance = float(move**2 @ noise) + _class_total_variance(counts, rows @ move)
        share = name != "profit_per_record"
        interval = _statistic_interval(value, variance, options.level, share=share)
        # Where every class is all right or all wrong no derivative tells of a variance: what the bounds of
        # the recalls give bounds it.
        if interval is None and share:
            interval = Interval(min(end[0], value), max(end[1], value), options.level)
        yield MeasureResult(name, subject, Measurement(value, counts.n, interval=interval))


def _cells_at_recall_bounds(total: Floats, square: Floats, level: float) -> Floats:
    """Cells, shape (cells, 2), with each class's recall at its lower and at its upper bound, by Wilson.

    They bound averages and F1 where derivatives tell of no variance: classes are all right or all wrong.
    """
    ends, z = np.stack([total, total], axis=2), normal_quantile(level)
    for at, n in enumerate(total[:-1].sum(axis=1).tolist()):
        if n:
            recall = np.asarray(score_bounds(total[at, at] / n, n * n / float(square[at].sum()), z))
            wrong = total[at].copy()
            wrong[at] = 0.0
            wrong[at - 1] += not wrong.any()
            ends[at] = wrong[:, None] / wrong.sum() * n * (1 - recall)
            ends[at, at] = n * recall
    return ends.reshape(-1, 2)


def _statistic_interval(value: float, variance: float, level: float, *, share: bool) -> Interval | None:
    if share and 0 < value < 1 and variance > 0:
        lower, upper = score_bounds(value, value * (1 - value) / variance, normal_quantile(level))
        return Interval(min(lower, value), max(upper, value), level)
    return normal_interval(value, variance, level)


def _weighted_area(counts: WeightedCounts, level: float) -> Measurement:
    """Area under the ROC curve of weighed counts: P(score⁺ > score⁻) + ½ P(equal), DeLong's variance."""
    (negative, positive), (of_negative, of_positive) = counts.weighted_block("scores")
    n, p = float(negative.sum()), float(positive.sum())
    if n <= 0 or p <= 0:
        return Measurement.without_value(Reason.ONE_CLASS if counts.n else Reason.NO_LABELS, n=counts.n)
    below = np.cumsum(negative) - negative
    above = p - np.cumsum(positive)
    tied = float(positive @ negative) / (2 * p * n)
    value = min(1.0, float(positive @ below) / (p * n) + tied)
    variance = float(of_positive @ ((below + negative / 2) / n - value) ** 2) / p**2
    variance += float(of_negative @ ((above + positive / 2) / p - value) ** 2) / n**2
    sizes = round(p**2 / float(of_positive.sum())), round(n**2 / float(of_negative.sum()))
    interval = auc_interval(value, variance, (max(1, sizes[0]), max(1, sizes[1])), level)
    return Measurement(value, counts.n, interval=interval, resolution=tied)


def _weighted_loss(counts: WeightedCounts, terms: tuple[str, str], level: float) -> Measurement:
    """Mean of a loss over weighed records."""
    k = len(counts.counting.reading.classes)
    total, square = (block.reshape(4, len(LOSSES), k) for block in counts.weighted_block("losses"))
    at = [LOSSES.index(term) for term in terms]
    return _weighted_mean(counts, total[:, at], square[:, at], level, lowest=0.0)


def _number_nowcasts(counts: WeightedCounts, options: MeasureOptions) -> Iterator[MeasureResult]:
    total, square = (block.reshape(4, len(ERRORS), 1) for block in counts.weighted_block("errors"))
    names, scale = list(ERRORS), counts.counting.scale
    for name, terms in _NUMBERS.items():
        at = [names.index(term) for term in terms]
        unit = scale ** ERRORS[terms[0]]
        lowest = -math.inf if name == "bias" else 0.0
        mean = _weighted_mean(counts, total[:, at], square[:, at], options.level, lowest=lowest, unit=unit)
        yield MeasureResult(name, "", square_root(mean) if name == "root_mean_squared_error" else mean)


def _weighted_mean(
    counts: WeightedCounts, total: Floats, square: Floats, level: float, *, lowest: float, unit: float = 1.0
) -> Measurement:
    """Mean of a term over weighed records, class by class.

    Parameters
    ----------
    total, square
        shape (4, 2, classes): sums (n, out of range, hi, lo) of the term and of its square, weighed by 1/π
        and by 1/π².
    unit
        of the term, that the sums are multiples of.
    """
    records = total[0, 0]
    n = float(records.sum())
    if n <= 0:
        return Measurement.without_value(Reason.NO_LABELS, n=counts.n)
    if total[1, 0].any():
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=counts.n)
    sums = total[2] + total[3] / HALF
    value = float(sums[0].sum()) / n
    if total[1, 1].any():
        return Measurement(value * unit, counts.n)
    first, second = (square[2] + square[3] / HALF).sum(axis=1)
    noise = max(0.0, float(second - 2 * value * first + value**2 * square[0, 0].sum())) / n**2
    variance = noise + _class_total_variance(counts, (sums[0] - value * records) / n)
    interval = normal_interval(value * unit, variance * unit**2, level, lowest=lowest)
    return Measurement(value * unit, counts.n, interval=interval)
