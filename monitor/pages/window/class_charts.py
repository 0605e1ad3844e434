"""Charts of a model of several classes, from the exact counts of a window."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.measurement import Measurement
from monitor.measures.classification.calibration import RankedProbabilities
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import wilson_interval
from monitor.measures.statistics.ranked_scores import RankedScores
from monitor.measures.value_words import format_interval_bounds, format_measure_value
from monitor.pages.figures import Figure, FigureGroup
from monitor.pages.page_request import CountedWindow
from monitor.pages.window import curve_charts
from monitor.pages.window.curve_charts import ScoreSide
from monitor.records.counting import Counting
from monitor.records.probabilities import EDGES
from monitor.sentences.known_measurements import readable_name
from monitor.states.counters import Counters
from monitor.states.views import ConfusionCounts, ScoreTable

MOST = 20  # classes that are shown, the most frequent ones
_MOST_CURVES = 8  # of them have a curve
_SHARES = (0.02, 0.1, 0.25, 0.5)  # of a row, from which a cell is darker
OF_CLASS = {"precision": "Precision", "recall": "Recall", "f1": "F1"}  # and how they are headed


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Confusion matrix in words, the rows actual, the columns predicted."""

    classes: tuple[str, ...]
    # (records, share of the row, class of its shade) of each cell.
    rows: tuple[tuple[tuple[str, str, str], ...], ...]
    left_out: int  # classes that one row and one column hold together


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class: labelled records, its share now and in the reference, and its rates."""

    name: str
    records: str
    share: float
    reference: float | None  # None: there is no reference, or it has no labels
    words: str
    # of each of the page's `rates_of_classes`: in words, its bounds, and (lower, value, upper); None without
    # an interval.
    rates: tuple[tuple[str, str, tuple[float, float, float] | None], ...]


def confusion_table(confusion: ConfusionCounts) -> ConfusionTable:
    """The matrix of the most frequent classes; the others, and unseen ones, are a class each."""
    counts, names = _merge_classes(confusion)
    rows = tuple(
        tuple(
            (f"{cell:,}", format_measure_value("recall", cell / (sum(row) or 1)), _cell_shade(cell, row))
            for cell in row
        )
        for row in counts.tolist()
    )
    return ConfusionTable(names, rows, max(0, len(confusion.classes) - MOST))


def class_rows(
    confusion: ConfusionCounts, results: Sequence[MeasureResult], of_reference: ConfusionCounts | None
) -> tuple[ClassRow, ...]:
    """The most frequent classes, the most frequent first; none of a model of two classes."""
    if len(confusion.classes) < 3:
        return ()
    known = {(result.measure, result.subject): result.measurement for result in results}
    labelled = of_reference is not None and of_reference.counts.any()
    now, then = _class_shares(confusion), _class_shares(of_reference) if of_reference and labelled else None
    actual = confusion.counts.sum(axis=1).tolist()
    rows = []
    for at in frequent_class_positions(confusion):
        subject = f"class:{confusion.classes[at]}"
        words = format_measure_value("base_rate", now[at])
        if then is not None:
            words += f", reference {format_measure_value('base_rate', then[at])}"
        row = ClassRow(
            name=confusion.classes[at],
            records=f"{actual[at]:,}",
            share=now[at],
            reference=None if then is None else then[at],
            words=words,
            rates=tuple(format_rate_cells(measure, known.get((measure, subject))) for measure in OF_CLASS),
        )
        rows.append(row)
    return tuple(rows)


def draw_class_groups(
    window_counts: CountedWindow,
    labels: Counters,
    results: Sequence[MeasureResult],
    level: float,
) -> Iterator[FigureGroup]:
    """ROC of each frequent class, and whether the largest probability is right as often as it says."""
    counting = window_counts.counting
    if not counting.probability_classes:
        return
    yield FigureGroup(
        "Does it tell classes apart?", "four", tuple(_draw_class_rocs(window_counts, labels, results)),
        _lowest_class_words(results),
    )  # fmt: skip
    scores = RankedScores.from_table(counting.score_table(labels), counting.score_bounds)
    if not scores.n:
        return
    figure = curve_charts.draw_calibration(scores, "largest probability", level, "right")
    if figure is not None:
        said = float(RankedProbabilities.from_ranked(scores).weighted.sum() / scores.n)
        right = scores.positives / scores.n
        of = wilson_interval(scores.positives, scores.n, level)
        how = "On average yes" if of.lower <= said <= of.upper else "They are too " + (
            "low" if said < of.lower else "high"
        )  # fmt: skip
        answer = (
            f"{how}: {format_measure_value('accuracy', right)} of the answers were right, their largest "
            f"probability said {format_measure_value('accuracy', said)}."
        )
        yield FigureGroup("Can its probabilities be trusted?", "three", (figure,), answer)


def _lowest_class_words(results: Sequence[MeasureResult]) -> str:
    """The class that is told apart worst; empty: no area is known."""
    known = [
        (result.measurement.value, result.subject.removeprefix("class:"))
        for result in results
        if result.measure == "roc_auc" and result.subject and result.measurement.value is not None
    ]
    if not known:
        return ""
    value, name = min(known)
    area = format_measure_value("roc_auc", value)
    return f"Hardest to tell from the others: {readable_name(name)}, ROC AUC {area}."


def _draw_class_rocs(
    window_counts: CountedWindow, labels: Counters, results: Sequence[MeasureResult]
) -> Iterator[Figure]:
    """ROC of each frequent class against all others, beside the reference's."""
    counting = window_counts.counting
    confusion = counting.confusion_view(labels)
    told = {
        result.subject: format_measure_value("roc_auc", result.measurement.value)
        for result in results
        if result.measure == "roc_auc"
    }
    now = _rank_class_scores(counting, labels)
    then = (
        {}
        if window_counts.reference is None
        else _rank_class_scores(counting, window_counts.reference.labels)
    )
    for at in frequent_class_positions(confusion)[:_MOST_CURVES]:
        name = confusion.classes[at]
        if name not in now:
            continue
        sides = [ScoreSide("model", "main", now[name])]
        sides += [ScoreSide("reference", "reference", then[name])] if name in then else []
        words = f"AUC {told.get(f'class:{name}', 'unknown')}, against all others"
        yield curve_charts.draw_roc(sides, _class_and_rest(confusion, at), words, name)


def frequent_class_positions(confusion: ConfusionCounts) -> list[int]:
    """Positions of the most frequent classes, the most frequent first."""
    actual = confusion.counts.sum(axis=1)[: len(confusion.classes)]
    order: list[int] = np.argsort(-actual, kind="stable")[:MOST].tolist()
    return order


def _merge_classes(confusion: ConfusionCounts) -> tuple[Ints, tuple[str, ...]]:
    """Counts and names of the classes that are shown, of the others together, and of what is unseen."""
    k, counts = len(confusion.classes), confusion.counts
    kept = list(range(k)) if k <= MOST else frequent_class_positions(confusion)
    rest = [at for at in range(k) if at not in set(kept)]
    groups = [[at] for at in kept] + ([rest] if rest else [])
    names = [confusion.classes[at] for at in kept] + ([f"{len(rest)} others"] if rest else [])
    if counts[k].any() or counts[:, k].any():
        groups.append([k])
        names.append("unseen")
    table = np.asarray([[counts[np.ix_(of, to)].sum() for to in groups] for of in groups])
    return table, tuple(names)


def _cell_shade(cell: int, row: Sequence[int]) -> str:
    share = cell / (sum(row) or 1)
    return f"q{sum(share >= bound for bound in _SHARES)}"


def _class_shares(confusion: ConfusionCounts) -> list[float]:
    actual = confusion.counts.sum(axis=1)
    shares: list[float] = (actual / max(int(actual.sum()), 1)).tolist()
    return shares


def format_rate_cells(
    measure: str, result: Measurement | None
) -> tuple[str, str, tuple[float, float, float] | None]:
    """Value of a rate in words, its bounds, and both as numbers; see `ClassRow`."""
    if result is None or result.value is None:
        return "" if result is None else f"({result.reason})", "", None
    interval = result.interval
    places = None if interval is None else (interval.lower, result.value, interval.upper)
    return format_measure_value(measure, result.value), format_interval_bounds(measure, interval), places


def _rank_class_scores(counting: Counting, labels: Counters) -> Mapping[str, RankedScores]:
    """Ranked probabilities of each class that has records of its own and of others."""
    if not counting.probability_classes:
        return {}
    tables, bounds = counting.class_tables(labels), np.asarray([0.0, *EDGES, 1.0])
    ranked = {
        name: RankedScores.from_table(ScoreTable(others, own), bounds)
        for name, (others, own) in zip(tables.classes, tables.counts, strict=True)
    }
    return {name: each for name, each in ranked.items() if each.has_both_classes}


def _class_and_rest(confusion: ConfusionCounts, at: int) -> ConfusionCounts:
    """A class against all others, as the confusion of two classes."""
    counts, n = confusion.counts, int(confusion.counts.sum())
    own, actual, predicted = int(counts[at, at]), int(counts[at].sum()), int(counts[:, at].sum())
    table = np.zeros((3, 3), dtype=np.int64)
    table[:2, :2] = [[n - actual - predicted + own, predicted - own], [actual - own, own]]
    return ConfusionCounts(("others", confusion.classes[at]), table)
