"""Three questions to the performance of a window, each with its answer and its charts.

Of a binary model: does it rank well, is its threshold right, can its probabilities be trusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.charts.marks import Kind
from monitor.core.measurement import Measurement
from monitor.measures.classification.calibration import RankedProbabilities
from monitor.measures.classification.discrimination import roc_auc
from monitor.measures.classification.gains import make_binary_amounts, profit_curve
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.measurement_comparison import measurement_difference
from monitor.measures.statistics.intervals import wilson_interval
from monitor.measures.statistics.ranked_scores import RankedScores
from monitor.measures.value_words import CHANCE, certainty_words, format_measure_value
from monitor.pages.figures import Figure, FigureGroup
from monitor.pages.page_request import CountedWindow
from monitor.pages.window import curve_charts
from monitor.pages.window.curve_charts import ScoreSide
from monitor.records.labels.paired_scores import paired_scores_view
from monitor.sentences.known_measurements import readable_name
from monitor.specs.model_spec import ModelSpec
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Stratum, select_segments

_LARGE = 10  # segments, of which the one with the lowest area is drawn
_WORTH = 0.05  # of the profit: what another threshold must bring more to be named
_TOP = 0.2  # of the records, of which it is said how many positives they hold
_OF_MANY: tuple[Kind, ...] = ("estimate", "provisional", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """What a window is compared with beside the reference: another window, a version or a segment."""

    name: str
    known: Mapping[str, Measurement]
    scores: RankedScores | None = None  # of a binary model; None: they are not counted


def answer_binary_questions(
    spec: ModelSpec,
    window_counts: CountedWindow,
    slice_: Stratum,
    options: MeasureOptions,
    period: str,
    now: Mapping[str, Measurement],
    steps: Mapping[str, Measurement],
    other: ComparedSide | None,
) -> tuple[tuple[FigureGroup, ...], tuple[Figure, ...]]:
    """The three questions to a binary model's scores, and charts for those who want more.

    Parameters
    ----------
    period
        what the window is called in legends.
    now, steps
        measures of the window, and their differences from the reference.
    """
    counting, labels = window_counts.counting, window_counts.strata[slice_]
    scores = RankedScores.from_table(counting.score_table(labels), counting.score_bounds)
    if not scores.has_both_classes:
        return (), ()
    confusion, classes = counting.confusion_view(labels), counting.reading.classes
    threshold = spec.reading.threshold
    if threshold is None:
        threshold = curve_charts.find_used_threshold(scores, confusion)
    mark = "as predicted" if threshold is None else f"threshold {curve_charts.score_text(threshold)}"
    main = ScoreSide(period, "main", scores)
    beside = list(_reference_side(window_counts))
    sides = [main]
    if other is not None and other.scores is not None:
        sides.append(ScoreSide(other.name, "third", other.scores))
    rivals = [*sides, *_challenger_side(window_counts, labels), *beside]
    ranking = (
        curve_charts.draw_roc(rivals, confusion, format_measure_value("roc_auc", roc_auc(scores.table).value),
                              mark=mark),
        *curve_charts.draw_deciles(rivals, confusion, mark),
    )  # fmt: skip
    decided = [
        curve_charts.draw_scores([main, *beside], counting.score_bounds, classes, threshold),
        curve_charts.draw_threshold_rates(scores, threshold),
    ]
    if options.profit:
        decided.append(curve_charts.draw_threshold_profit(scores, classes, options.profit, threshold))
    groups = [
        FigureGroup("Does it rank well?", "three", ranking, _ranking_answer(scores, now, steps, other)),
        FigureGroup(
            "Is the threshold right?", "three", tuple(decided),
            _threshold_answer(scores, classes, options, threshold, now),
        ),
    ]  # fmt: skip
    if counting.has_probability_scores:
        figure = curve_charts.draw_calibration(scores, period, options.level)
        figures = () if figure is None else (figure,)
        answer = _probability_answer(scores, options.level)
        groups.append(FigureGroup("Can its probabilities be trusted?", "three", figures, answer))
    more = (
        curve_charts.draw_precision_recall(rivals, "precision by recall"),
        curve_charts.draw_separation(scores, _value_of(now, "ks_separation")),
        *_draw_slices(window_counts, slice_, main),
    )
    return tuple(groups), more


def _ranking_answer(
    scores: RankedScores,
    now: Mapping[str, Measurement],
    steps: Mapping[str, Measurement],
    other: ComparedSide | None,
) -> str:
    """How well it ranks, beside what it is compared with, and what its highest scores hold."""
    said = []
    if "roc_auc" in steps:
        said.append(_beside_words(steps["roc_auc"], "the reference"))
    if other is not None and "roc_auc" in now and "roc_auc" in other.known:
        step = measurement_difference(now["roc_auc"], other.known["roc_auc"])
        said.append(_beside_words(step, readable_name(other.name)))
    first = " and ".join(filter(None, said))
    at = int(np.searchsorted(scores.both, _TOP * scores.n))
    held = format_measure_value("recall", float(scores.recall[min(at, len(scores.recall) - 1)]))
    top = f"The highest {100 * _TOP:.0f} % of the scores hold {held} of the positives."
    return f"{first[0].upper()}{first[1:]}. {top}" if first else top


def _beside_words(step: Measurement, name: str) -> str:
    """How a difference reads; empty: nothing is known of it."""
    how = {CHANCE: "as in", "surely better": "better than in", "surely worse": "worse than in"}
    words = how.get(certainty_words("roc_auc", step))
    return "" if words is None else f"{words} {name}"


def _threshold_answer(
    scores: RankedScores,
    classes: tuple[str, ...],
    options: MeasureOptions,
    threshold: float | None,
    now: Mapping[str, Measurement],
) -> str:
    """What the threshold earns beside the best one in hindsight; without a profit what it finds."""
    known = now.get("profit")
    if not options.profit or known is None or known.value is None:
        found, right = (_value_of(now, name) for name in ("recall", "precision"))
        words = f"It finds {found} of the positives; of what it calls positive {right} are."
        return words if found else ""
    worth = profit_curve(scores, make_binary_amounts(classes, options.profit))
    best = int(np.argmax(worth))
    most = float(worth[best])
    at = float(scores.lower[best - 1]) if best else float(scores.upper[0])
    earned = format_measure_value("profit", known.value)
    if most - known.value <= _WORTH * abs(known.value) or threshold is None:
        return f"Profit was {earned}; the best threshold in hindsight gives {most:,.0f}."
    side = "high" if at < threshold else "low"
    best_at, used = (curve_charts.score_text(one) for one in (at, threshold))
    return (
        f"Too {side} for these records: at {best_at} instead of {used} profit would have been {most:,.0f}, "
        f"not {earned}."
    )


def _probability_answer(scores: RankedScores, level: float) -> str:
    """Whether probabilities are too high or too low on average."""
    mean = float(RankedProbabilities.from_ranked(scores).weighted.sum() / scores.n)
    rate = wilson_interval(scores.positives, scores.n, level)
    said = format_measure_value("base_rate", mean)
    were = format_measure_value("base_rate", scores.positives / scores.n)
    figures = f"{were} of the records were positive, {said} were predicted."
    if rate.lower <= mean <= rate.upper:
        return f"On average yes: {figures}"
    return f"They are too {'low' if mean < rate.lower else 'high'}: {figures}"


def _value_of(now: Mapping[str, Measurement], measure: str) -> str:
    result = now.get(measure)
    return "" if result is None or result.value is None else format_measure_value(measure, result.value)


def _reference_side(window_counts: CountedWindow) -> Iterator[ScoreSide]:
    if window_counts.reference is None:
        return
    counting = window_counts.counting
    scores = RankedScores.from_table(
        counting.score_table(window_counts.reference.labels), counting.score_bounds
    )
    if scores.has_both_classes:
        yield ScoreSide("reference", "reference", scores)


def _challenger_side(window_counts: CountedWindow, labels: Counters) -> Iterator[ScoreSide]:
    """The challenger's scores on the same records; of its cells only the order is known."""
    if not (window_counts.counting.counts_challenger and window_counts.counting.counts_scores):
        return
    table = paired_scores_view(labels.make_dense()).challenger
    scores = RankedScores.from_table(table, np.arange(len(table.negative) + 1.0))
    if scores.has_both_classes:
        yield ScoreSide("challenger", "estimate", scores)


def _draw_slices(window_counts: CountedWindow, slice_: Stratum, main: ScoreSide) -> Iterator[Figure]:
    """ROC of versions beside the whole; of the segments with the most labels, the lowest of them first."""
    if slice_ != WHOLE:
        if WHOLE in window_counts.strata:
            whole = _largest_sides(window_counts, [WHOLE], ("reference",))
            name = replace(main, name=stratum_name(slice_))
            yield curve_charts.draw_roc(
                [name, *whole], None, "beside all records", "ROC beside all records", valued=True
            )
        return
    versions = [each for each in window_counts.strata if each.version is not None and each.segment is None]
    if len(versions) > 1:
        sides = _largest_sides(window_counts, versions, _OF_MANY)
        yield curve_charts.draw_roc(
            [main, *sides], None, "those with the most labels", "ROC by version", valued=True
        )
    segments = select_segments(window_counts.strata, window_counts.counting.segments)
    large = sorted(_rank_strata_scores(window_counts, segments), key=lambda pair: -pair[1].n)[:_LARGE]
    if not large:
        return
    lowest = min(large, key=lambda pair: roc_auc(pair[1].table).value or 0.0)
    drawn = [lowest, *(pair for pair in large if pair is not lowest)]
    kinds: tuple[Kind, ...] = ("main", "second", "third", "estimate")
    sides_of = [
        ScoreSide(stratum_name(each), kind, scores)
        for kind, (each, scores) in zip(kinds, drawn, strict=False)
    ]
    which = ": the lowest of the largest, then the largest" if len(sides_of) < len(segments) else ""
    note = f"{len(sides_of)} of {len(segments)} segments{which}"
    whole = _largest_sides(window_counts, [WHOLE], ("reference",))
    yield curve_charts.draw_roc([*sides_of, *whole], None, note, "ROC by segment", valued=True)


def _largest_sides(
    window_counts: CountedWindow, strata: Sequence[Stratum], kinds: Sequence[Kind]
) -> Iterator[ScoreSide]:
    """Ranked scores of the strata with the most labels that have both classes, one for each kind."""
    largest = sorted(_rank_strata_scores(window_counts, strata), key=lambda pair: -pair[1].n)
    for kind, (each, scores) in zip(kinds, largest, strict=False):
        yield ScoreSide(stratum_name(each), kind, scores)


def _rank_strata_scores(
    window_counts: CountedWindow, strata: Sequence[Stratum]
) -> list[tuple[Stratum, RankedScores]]:
    """Ranked scores of the strata that have both classes."""
    ranked = ((each, rank_stratum_scores(window_counts, each)) for each in strata)
    return [(each, scores) for each, scores in ranked if scores is not None]


def rank_stratum_scores(window_counts: CountedWindow, stratum: Stratum) -> RankedScores | None:
    """Ranked scores of a stratum; None: no scores are counted, or not both classes are labelled."""
    counting, labels = window_counts.counting, window_counts.strata.get(stratum)
    if labels is None or counting.label is None or not counting.counts_scores:
        return None
    scores = RankedScores.from_table(counting.score_table(labels), counting.score_bounds)
    return scores if scores.has_both_classes else None


def stratum_name(stratum: Stratum) -> str:
    """What a version or a segment is called."""
    return stratum.segment or (f"version {stratum.version}" if stratum.version else "all records")
