"""Count the labels part of panes: coverage, label, confusion, scores, losses, errors, delays."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import SECOND
from monitor.records.column_values import CategoryValues, NumberValues
from monitor.records.count_records import count_each_dimension, count_each_stratum
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.label_checksum import Bits, bits_of_numbers, bits_of_texts, mix_bits, pane_checksums
from monitor.records.labels.error_terms import (
    WHOLE_ONLY,
    error_cells,
    make_error_moments,
    make_label_cell_terms,
    make_prediction_group_terms,
    percentage_terms,
)
from monitor.records.labels.label_differences import NO_REPORT, LabelDifferences, make_label_differences
from monitor.records.labels.paired_scores import (
    PAIRED,
    PredictedScores,
    find_agreement_cells,
    find_paired_score_cells,
    parse_challenger_scores,
)
from monitor.records.labels.winning_labels import NEVER, WinningLabels, make_empty_labels, winning_labels
from monitor.records.pane import PanePart
from monitor.records.probabilities import (
    ClassProbabilities,
    loss_terms,
    parse_class_probabilities,
    probability_terms,
)
from monitor.records.tabulate import CountTable
from monitor.records.winning_rows import (
    WinningRows,
    are_labels_expected,
    parse_predictions,
    parse_scores,
    parse_winning_rows,
    predicted_classes,
    select_output_columns,
)
from monitor.states.counters import Counters
from monitor.states.grids import NumericGrid, cached_lookup
from monitor.states.strata import Stratum

_WHOLE_ONLY = frozenset({"delays", "delay_sums", "predicted", *WHOLE_ONLY, *PAIRED})

_Cells = tuple[Ints, Bools]
_Terms = tuple[list[Floats], Bools]
_CellTerms = tuple[Ints, list[Floats], Bools]


def find_rules_version(counting: Counting) -> int:
    """Number of the rules that labels are counted by: another wherever equal rows would count otherwise."""
    # Differences are added only to panes counted by the same rules: a higher number has those of a model
    # counted whole once.
    return 2 if counting.probability_classes else 1


@dataclass(frozen=True, slots=True)
class LabelTerms:
    """What a labelled row adds: cells, sums, sums by cell, each with the mask of the rows that have it."""

    cells: dict[str, _Cells]
    sums: dict[str, _Terms]
    clipped: Bools
    cell_sums: dict[str, _CellTerms] = field(default_factory=dict)


def count_labels(table: pa.Table, counting: Counting, *, panes: Ints, as_of: int) -> list[PanePart]:
    """Count the labels part of each of the given panes.

    Parameters
    ----------
    table
        predictions joined (outer) with their labels: role-named columns; a prediction with several
        labels has several rows, one without has nulls in the columns of the label.
    panes
        int64 starts, ascending.
    """
    rows = labelled_rows(table, counting, panes, as_of)
    labels, fill = _prepare_label_filler(table, rows, counting, np.full(len(panes), as_of))
    strata = count_each_stratum(rows, counting, counting.labels_layout, fill, _WHOLE_ONLY)
    return _make_pane_parts(rows, _pane_label_facts(table, rows, labels), strata)


def labelled_rows(table: pa.Table, counting: Counting, panes: Ints, as_of: int) -> WinningRows:
    """Winning rows of the records that the labels part holds: those that labels come for."""
    rows = parse_winning_rows(table, counting, panes, as_of)
    return rows.filter_rows(are_labels_expected(select_output_columns(table, rows.rows), counting.reading))


def count_label_differences(
    table: pa.Table, counting: Counting, *, panes: Ints, since: Ints, until: int, as_of: int
) -> LabelDifferences:
    """What the labels of some records of each pane add: with those known later, less with those known then.

    Its facts are how many labelled records more there are, by how much the checksum moves, the newest report.

    Parameters
    ----------
    table
        as for `count_labels`; of each record all of its rows and all of its labels.
    since
        int64, shape of `panes`: labels reported later were not known then.
    until
        labels reported later are not known yet.
    """
    rows = labelled_rows(table, counting, panes, as_of)
    sides, facts = [], []
    # The same rows, counted twice by the function that counts a pane: what no new label concerns cancels, and
    # the rest is exact whatever a label changes.
    for known, sign in (since, -1), (np.full_like(since, until), 1):
        labels, fill = _prepare_label_filler(table, rows, counting, known)
        sides += [
            (names, key, sign * value)
            for names, key, value in count_each_dimension(
                rows, counting, counting.labels_layout, fill, _WHOLE_ONLY
            )
        ]
        facts.append(_pane_label_facts(table, rows, labels))
    before, after = facts
    moved = np.stack(
        [panes, after.labelled - before.labelled, after.checksum - before.checksum, after.newest]
    )
    return make_label_differences(counting.labels_layout.size, moved, sides, until)


def _prepare_label_filler(
    table: pa.Table, rows: WinningRows, counting: Counting, until: Ints
) -> tuple[WinningLabels, Callable[[CountTable], None]]:
    """The labels that were reported until a moment of each pane, and what adds them to a table."""
    labels, known, terms = (
        make_empty_labels(len(rows.rows)),
        np.empty(0, np.int64),
        LabelTerms({}, {}, np.empty(0, bool)),
    )
    if counting.label is not None:
        labels = winning_labels(table, rows, counting, until)
        known = np.flatnonzero(labels.known)
        terms = label_terms(select_output_columns(table, rows.rows[known]), labels.take_rows(known), counting)
    predicted = _predicted_positions(table, rows, counting)
    clipped = np.zeros(len(rows.rows), dtype=bool)
    clipped[known] = terms.clipped
    tally: list[Ints | Bools] = [
        np.ones_like(rows.pane),
        labels.known,
        labels.corrections,
        labels.retracted,
        labels.invalid,
    ]
    tally += [labels.stale, clipped, labels.known & (labels.delay < 0)]

    def fill(tabulated: CountTable) -> None:
        tabulated.add_tallies("tally", tally)
        if counting.label is not None:
            tabulated.add_cells("label", labels.cell)
        if predicted is not None:
            tabulated.add_cells("predicted", labels.known * (len(counting.reading.classes) + 2) + predicted)
        labelled = tabulated.take_rows(known)
        for block, (cell, mask) in terms.cells.items():
            labelled.add_cells(block, cell, mask)
        for block, (cell, columns, mask) in terms.cell_sums.items():
            labelled.add_cell_sums(block, cell, columns, mask)
        for block, (columns, mask) in terms.sums.items():
            labelled.add_sums(block, ((column, mask) for column in columns))

    return labels, fill


def sum_label_facts(table: pa.Table, counting: Counting, *, panes: Ints, as_of: int) -> list[PanePart]:
    """Facts of the labels part of each of the given panes, without its counters: what an audit compares."""
    rows = labelled_rows(table, counting, panes, as_of)
    labels = make_empty_labels(len(rows.rows))
    if counting.label is not None:
        labels = winning_labels(table, rows, counting, np.full(len(panes), as_of))
    return _make_pane_parts(rows, _pane_label_facts(table, rows, labels), [{} for _ in rows.panes])


def label_terms(chosen: pa.Table, labels: WinningLabels, counting: Counting) -> LabelTerms:
    """Cells and sums of the labelled rows."""
    reading = counting.reading
    score = parse_scores(chosen, reading)
    prediction = parse_predictions(chosen, reading, score)
    cells = {"delays": _delay_cells(labels, len(reading.classes))}
    sums: dict[str, _Terms] = {}
    cell_sums: dict[str, _CellTerms] = {}
    clipped = np.zeros(len(labels.known), dtype=bool)
    if isinstance(prediction, NumberValues) and labels.number is not None:
        pairs = prediction, labels.number, labels.known
        sums["errors"] = make_error_moments(*pairs, counting.scale)
        sums["percentages"] = percentage_terms(*pairs)
        cells["error_cells"] = error_cells(*pairs, counting.scale)
        cell_sums["label_cells"] = make_label_cell_terms(*pairs, counting.scale, counting.label_centre)
        if "prediction_errors" in counting.labels_layout.blocks_by_name and isinstance(
            counting.prediction, NumericGrid
        ):
            cell_sums["prediction_errors"] = make_prediction_group_terms(
                *pairs, counting.scale, counting.label_centre, counting.prediction
            )
    if isinstance(prediction, CategoryValues) and labels.number is None:
        cells["confusion"] = _confusion_cells(prediction, labels, reading.classes)
    if counting.counts_scores and counting.score is not None and score is not None:
        cell = counting.score.value_cells(score.values, score.missing)
        valid = labels.known & (labels.cell < 2) & (cell < counting.score.regular_size)
        cells["scores"] = (labels.cell * counting.score.regular_size + cell, valid)
        if counting.has_probability_scores:
            (losses, _), clipped = _loss_terms(score.values, labels.cell, valid)
            cell_sums["losses"] = labels.cell, losses, valid
    if isinstance(prediction, CategoryValues):
        cells |= _paired_cells(chosen, score, prediction, labels, counting)
    class_probabilities = parse_class_probabilities(chosen, reading) if counting.probability_classes else None
    if (
        class_probabilities is not None
        and counting.score is not None
        and isinstance(prediction, CategoryValues)
    ):
        actual = _label_positions(labels, class_probabilities, reading.classes)
        predicted = prediction.level_positions(class_probabilities.names, -1)
        held, (losses, used_mask), clipped = probability_terms(
            class_probabilities, actual, predicted, labels.known, counting.score
        )
        cells |= held
        cell_sums["losses"] = labels.cell, losses, used_mask
    numbers = labels.number or score
    cell_sums |= _delay_terms(*cells["delays"], labels, numbers, counting.delay_grid)
    return LabelTerms(cells, sums, clipped, cell_sums)


def _paired_cells(
    chosen: pa.Table,
    score: NumberValues | None,
    prediction: CategoryValues,
    labels: WinningLabels,
    counting: Counting,
) -> dict[str, _Cells]:
    """Cells of the records that a challenger predicted too."""
    challenger, classes = counting.reading.challenger, counting.reading.classes
    if not counting.counts_challenger or challenger is None or "challenger" not in chosen.column_names:
        return {}
    of_class = labels.cell, labels.known & (labels.cell < len(classes))
    if not counting.counts_scores:
        other_class = predicted_classes(chosen["challenger"], counting.reading)
        return {"paired": find_agreement_cells(prediction, other_class, of_class, classes)}
    if counting.score is None or score is None or challenger.threshold is None:
        return {}
    champion = PredictedScores(score, prediction.level_positions(classes, -1))
    other = parse_challenger_scores(chosen, challenger.threshold)
    return find_paired_score_cells(
        counting.score, champion, other, of_class, probabilistic=counting.has_probability_scores
    )


def _delay_cells(labels: WinningLabels, classes: int) -> _Cells:
    """Cells of the first labels' delays; the labels of a regression have one class."""
    kind = labels.cell if classes else np.zeros_like(labels.cell)
    reported = labels.known & (labels.delay != NEVER) & (kind < max(1, classes))
    cell = kind * (len(DELAY_EDGES) + 1)
    cell[reported] += cached_lookup(DELAY_EDGES)(labels.delay[reported] / SECOND)
    return cell, reported


def _delay_terms(
    cell: Ints, reported: Bools, labels: WinningLabels, numbers: NumberValues | None, grid: NumericGrid | None
) -> dict[str, _CellTerms]:
    """Logarithms of the delays and ranks of what they may depend on, by class: see `DELAY_SUMS`."""
    if grid is None or numbers is None:
        return {}
    at = grid.value_cells(numbers.values, numbers.missing)
    has = reported & (at < grid.regular_size)
    # Delays below a second, or negative ones, count as one second: their logarithm is 0.
    delay = np.log(np.maximum(np.where(has, labels.delay, 0) / SECOND, 1.0))
    rank = np.where(has, at, 0) / grid.regular_size
    terms = [delay, delay * delay, rank, rank * rank, delay * rank]
    return {"delay_sums": (cell // (len(DELAY_EDGES) + 1), terms, has)}


def _predicted_positions(table: pa.Table, rows: WinningRows, counting: Counting) -> Ints | None:
    """Position of each record's predicted class; after all classes *unseen*, then *missing*."""
    if "predicted" not in counting.labels_layout.blocks_by_name:
        return None
    chosen, classes = select_output_columns(table, rows.rows), counting.reading.classes
    prediction = parse_predictions(chosen, counting.reading, parse_scores(chosen, counting.reading))
    if not isinstance(prediction, CategoryValues):
        return np.full(len(rows.rows), len(classes) + 1)
    position = prediction.level_positions(classes, len(classes))
    return np.where(position < 0, len(classes) + 1, position)


def _confusion_cells(prediction: CategoryValues, labels: WinningLabels, classes: tuple[str, ...]) -> _Cells:
    unseen = len(classes)
    predicted = prediction.level_positions(classes, unseen)
    return np.minimum(labels.cell, unseen) * (unseen + 1) + predicted, labels.known & (predicted >= 0)


def _label_positions(
    labels: WinningLabels, probabilities: ClassProbabilities, classes: tuple[str, ...]
) -> Ints:
    """Position of each label's class among those that have probabilities; -1: none."""
    place = {name: at for at, name in enumerate(probabilities.names)}
    # The last one is of all cells beyond the classes: unseen, missing, invalid.
    of_class = np.asarray([*(place.get(name, -1) for name in classes), -1], dtype=np.int64)
    return of_class[np.minimum(labels.cell, len(classes))]


def _loss_terms(score: Floats, actual: Ints, mask: Bools) -> tuple[_Terms, Bools]:
    """Terms in the order of LOSSES, and where a probability was clipped."""
    # Outside of the mask anything in (0, 1): it is not added, but its logarithm is taken.
    p = np.where(mask, score, 0.5)
    right, wrong = np.where(actual == 1, (p, 1.0 - p), (1.0 - p, p))
    return loss_terms(right, wrong * wrong, mask)


@dataclass(frozen=True, slots=True)
class _PaneLabelFacts:
    """Of each pane: labelled records, checksum, newest report (`NO_REPORT`: none)."""

    labelled: Ints
    checksum: Ints
    newest: Ints


def _pane_label_facts(table: pa.Table, rows: WinningRows, labels: WinningLabels) -> _PaneLabelFacts:
    panes = len(rows.panes)
    newest = np.full(panes, NO_REPORT)
    np.maximum.at(newest, rows.pane, labels.newest)
    labelled = np.bincount(rows.pane[labels.known & rows.serves], minlength=panes)
    return _PaneLabelFacts(labelled, _label_checksums(table, rows, labels), newest)


def _make_pane_parts(
    rows: WinningRows, facts: _PaneLabelFacts, strata: list[dict[Stratum, Counters]]
) -> list[PanePart]:
    panes = len(rows.panes)
    winners = np.bincount(rows.pane, minlength=panes).tolist()
    records = np.bincount(rows.pane[rows.serves], minlength=panes).tolist()
    newest = [None if moment == NO_REPORT else moment for moment in facts.newest.tolist()]
    return [
        PanePart(
            start,
            strata[at],
            winners[at],
            newest[at],
            records=records[at],
            labelled=int(facts.labelled[at]),
            checksum=int(facts.checksum[at]),
        )
        for at, start in enumerate(rows.panes.tolist())
    ]


def _label_checksums(table: pa.Table, rows: WinningRows, labels: WinningLabels) -> Ints:
    """Of each pane's records with a label, be it a value or not: the label, corrections, the first report."""
    at = np.flatnonzero(labels.known | labels.retracted | labels.invalid)
    members = bits_of_texts(table["id"].take(pa.array(rows.rows[at])))
    reports = mix_bits(labels.delay[at].view(np.uint64) + mix_bits(labels.corrections[at].view(np.uint64)))
    values = _checksum_values(labels)[at] ^ reports
    return pane_checksums(members, values, rows.event_time[at], rows.pane[at], len(rows.panes))


def _checksum_values(labels: WinningLabels) -> Bits:
    """Cells of the labels, or numbers where they are numbers."""
    if labels.number is None:
        return labels.cell.astype(np.uint64)
    return np.where(labels.known, bits_of_numbers(labels.number.values), labels.cell.astype(np.uint64))
