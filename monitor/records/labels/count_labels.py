"""Count the labels part of panes: coverage, label, confusion, scores, losses, errors, delays."""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from monitor.core.clock import SECOND
from monitor.core.typing import Bools, Floats, Ints
from monitor.records.checksum import Bits, bits_of_numbers, bits_of_texts, checksum, mix
from monitor.records.count_records import by_stratum, cells_of, newest_by_pane
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.dedupe import distinct, smallest
from monitor.records.labels.error_terms import (
    WHOLE_ONLY,
    error_cells,
    label_sums,
    moment_terms,
    percentage_terms,
    prediction_sums,
)
from monitor.records.labels.pairing import PAIRED, Predicted, challenger_of, class_cells, paired_cells
from monitor.records.pane import PanePart
from monitor.records.probabilities import ClassProbabilities, loss_terms, probabilities_of, probability_terms
from monitor.records.reading import Reading, Task
from monitor.records.rows import WinningRows, outputs_of, prediction_of, read_rows, score_of, times
from monitor.records.tabulate import Table
from monitor.records.values import Categories, Numbers, categories, is_nan, numbers
from monitor.states.counters import Counters
from monitor.states.grids import NumericGrid, lookup
from monitor.states.strata import Stratum

COUNTED_BY = 1  # another number wherever equal rows would be counted otherwise
_OF_LABELS = ("label", "reported_at", "revision")
_WHOLE_ONLY = frozenset({"delays", *WHOLE_ONLY, *PAIRED})
_NEVER = np.iinfo(np.int64).max
_NONE = np.iinfo(np.int64).min

_Cells = tuple[Ints, Bools]
_Terms = tuple[list[Floats], Bools]
_CellTerms = tuple[Ints, list[Floats], Bools]


@dataclass(frozen=True, slots=True)
class WinningLabels:
    """The winning label of each winning row.

    Parameters
    ----------
    known
        there is a label, and it is a value (of several classes it may be an unseen one).
    cell
        of the label's grid.
    number
        the label of a regression.
    retracted, invalid
        the winning label is NULL; is no value, or no class of the model.
    corrections
        different labels less one.
    stale
        1 where one was reported later than the horizon.
    delay
        microseconds from the event to the first report of a value; the largest int64 where unknown.
    newest
        last report; the smallest int64 where unknown.
    """

    known: Bools
    cell: Ints
    number: Numbers | None
    retracted: Bools
    invalid: Bools
    corrections: Ints
    stale: Ints
    delay: Ints
    newest: Ints

    def take(self, rows: Ints) -> "WinningLabels":
        """Labels of chosen rows."""
        columns = {name: getattr(self, name)[rows] for name in WinningLabels.__slots__ if name != "number"}
        return WinningLabels(number=None if self.number is None else self.number.take(rows), **columns)


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
    rows = read_rows(table, counting, panes, as_of)
    return _counted(table, rows, counting, np.full(len(panes), as_of))


def count_labels_twice(
    table: pa.Table, counting: Counting, *, panes: Ints, since: Ints, until: int, as_of: int
) -> list[tuple[PanePart, PanePart]]:
    """The labels part of some records of each pane: with the labels known then, and with those known later.

    Parameters
    ----------
    table
        as for `count_labels`; of each record all of its rows and all of its labels.
    since
        int64, shape of `panes`: labels reported later were not known then.
    until
        labels reported later are not known yet.
    """
    rows = read_rows(table, counting, panes, as_of)
    known_later = _counted(table, rows, counting, np.full_like(since, until))
    return list(zip(_counted(table, rows, counting, since), known_later, strict=True))


def _counted(table: pa.Table, rows: WinningRows, counting: Counting, until: Ints) -> list[PanePart]:
    """Parts of all panes, with the labels that were reported until a moment of each pane."""
    labels, known, terms = (
        _no_labels(len(rows.rows)),
        np.empty(0, np.int64),
        LabelTerms({}, {}, np.empty(0, bool)),
    )
    if counting.label is not None:
        labels = winning_labels(table, rows, counting, until)
        known = np.flatnonzero(labels.known)
        terms = label_terms(outputs_of(table, rows.rows[known]), labels.take(known), counting)
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

    def fill(tabulated: Table) -> None:
        tabulated.add_tallies("tally", tally)
        if counting.label is not None:
            tabulated.add("label", labels.cell)
        labelled = tabulated.chosen(known)
        for block, (cell, mask) in terms.cells.items():
            labelled.add(block, cell, mask)
        for block, (cell, columns, mask) in terms.cell_sums.items():
            labelled.add_cell_sums(block, cell, columns, mask)
        for block, (columns, mask) in terms.sums.items():
            labelled.add_sums(block, ((column, mask) for column in columns))

    return _parts(table, rows, labels, by_stratum(rows, counting, counting.labels, fill, _WHOLE_ONLY))


def label_facts(table: pa.Table, counting: Counting, *, panes: Ints, as_of: int) -> list[PanePart]:
    """Facts of the labels part of each of the given panes, without its counters: what an audit compares."""
    rows = read_rows(table, counting, panes, as_of)
    labels = _no_labels(len(rows.rows))
    if counting.label is not None:
        labels = winning_labels(table, rows, counting, np.full(len(panes), as_of))
    return _parts(table, rows, labels, [{} for _ in rows.panes])


def winning_labels(table: pa.Table, rows: WinningRows, counting: Counting, until: Ints) -> WinningLabels:
    """Of several labels the highest revision, then the latest report, then the smallest value.

    Parameters
    ----------
    until
        int64 of each pane: labels reported later are not known.
    """
    roles = [name for name in _OF_LABELS if name in table.column_names]
    held = np.flatnonzero(_holds_label(table, roles)[rows.member])
    here, group = table.select(roles).take(pa.array(rows.member[held])), rows.group[held]
    regression = counting.reading.task is Task.REGRESSION
    value = numbers(here["label"]) if regression else categories(here["label"])
    reported, revision = np.zeros((2, len(held)), dtype=np.int64)
    if "revision" in roles:
        revision = numbers(here["revision"]).rank()
    if dated := "reported_at" in roles:
        parsed = times(here, "reported_at", counting.reading)
        reported = np.where(parsed.known, parsed.us, rows.event_time[group])
    is_known = reported <= until[rows.pane[group]]
    at = np.flatnonzero(is_known) if dated else np.arange(len(held))
    keys = [-revision[at], -reported[at], value.rank()[at]]
    best, _ = smallest(group[at], keys)
    labels = _values_of(value.take(at[best]), group[at[best]], counting, len(rows.rows))
    reports = _Reports(group[at], reported[at], ~_missing(value)[at], keys)
    return _with_reports(labels, reports, rows, counting.reading, dated=dated)


def label_terms(chosen: pa.Table, labels: WinningLabels, counting: Counting) -> LabelTerms:
    """Cells and sums of the labelled rows."""
    reading = counting.reading
    score = score_of(chosen, reading)
    prediction = prediction_of(chosen, reading, score)
    cells = {"delays": _delays(labels, len(reading.classes))}
    sums: dict[str, _Terms] = {}
    cell_sums: dict[str, _CellTerms] = {}
    clipped = np.zeros(len(labels.known), dtype=bool)
    if isinstance(prediction, Numbers) and labels.number is not None:
        pairs = prediction, labels.number, labels.known
        sums["errors"] = moment_terms(*pairs, counting.scale)
        sums["percentages"] = percentage_terms(*pairs)
        cells["error_cells"] = error_cells(*pairs, counting.scale)
        cell_sums["label_cells"] = label_sums(*pairs, counting.scale, counting.centre)
        if "prediction_errors" in counting.labels.by_name and isinstance(counting.prediction, NumericGrid):
            cell_sums["prediction_errors"] = prediction_sums(*pairs, counting.scale, counting.prediction)
    if isinstance(prediction, Categories) and labels.number is None:
        cells["confusion"] = _confusion(prediction, labels, reading.classes)
    if counting.scored and counting.score is not None and score is not None:
        cell = counting.score.cells(score.values, score.missing)
        valid = labels.known & (labels.cell < 2) & (cell < counting.score.regular)
        cells["scores"] = (labels.cell * counting.score.regular + cell, valid)
        if counting.probabilistic:
            sums["losses"], clipped = _losses(score.values, labels.cell, valid)
    if isinstance(prediction, Categories):
        cells |= _paired(chosen, score, prediction, labels, counting)
    found = probabilities_of(chosen, reading) if counting.probable else None
    if found is not None and counting.score is not None:
        actual = _position(labels, found, reading.classes)
        held, sums["losses"], clipped = probability_terms(found, actual, labels.known, counting.score)
        cells |= held
    return LabelTerms(cells, sums, clipped, cell_sums)


def _paired(
    chosen: pa.Table, score: Numbers | None, prediction: Categories, labels: WinningLabels, counting: Counting
) -> dict[str, _Cells]:
    """Cells of the records that a challenger predicted too."""
    challenger, classes = counting.reading.challenger, counting.reading.classes
    if not counting.challenged or challenger is None or "challenger" not in chosen.column_names:
        return {}
    of_class = labels.cell, labels.known & (labels.cell < len(classes))
    if not counting.scored:
        return {"paired": class_cells(prediction, chosen["challenger"], of_class, classes)}
    if counting.score is None or score is None or challenger.threshold is None:
        return {}
    champion = Predicted(score, prediction.positions(classes, -1))
    other = challenger_of(chosen, challenger.threshold)
    return paired_cells(counting.score, champion, other, of_class, probabilistic=counting.probabilistic)


@dataclass(frozen=True, slots=True)
class _Reports:
    """Every row that holds a label: its winner, when it was reported, whether it holds a value, its keys."""

    group: Ints
    reported: Ints
    valued: Bools
    keys: list[Ints]


def _missing(value: Numbers | Categories) -> Bools:
    return value.missing if isinstance(value, Numbers) else value.codes < 0


def _holds_label(table: pa.Table, roles: list[str]) -> Bools:
    """Rows that hold a label: a join without one gives nulls; a NULL label that was reported retracts."""
    holds: Bools = np.zeros(table.num_rows, dtype=bool)
    for role in roles:
        holds |= np.asarray(table[role].is_valid().combine_chunks())
    return holds


def _no_labels(n: int) -> WinningLabels:
    no, zero = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
    return WinningLabels(no, zero, None, no, no, zero, zero, np.full(n, _NEVER), np.full(n, _NONE))


def _values_of(value: Numbers | Categories, has: Ints, counting: Counting, n: int) -> WinningLabels:
    """Labels of n rows, of which those numbered `has` have the values."""
    if counting.label is None:
        raise ValueError("labels are counted on a grid: the model has none")
    there = np.zeros(n, dtype=bool)
    there[has] = True
    cell = np.full(n, counting.label.regular + 1)
    cell[has] = cells_of(value, counting.label)
    if isinstance(value, Categories):
        cell[has[_no_class(value, cell[has] == counting.label.regular, counting.reading.task)]] += 2
    number = None
    if isinstance(value, Numbers):
        number = Numbers(np.zeros(n), ~there)
        number.values[has], number.missing[has] = value.values, value.missing
    missing, invalid = cell == counting.label.regular + 1, cell == counting.label.regular + 2
    return replace(
        _no_labels(n),
        known=~missing & ~invalid,
        cell=cell,
        number=number,
        retracted=there & missing,
        invalid=invalid,
    )


def _no_class(value: Categories, unseen: Bools, task: Task) -> Bools:
    """Labels that are no class: of two classes every unseen one, of several an unseen NaN."""
    if task is Task.BINARY or not unseen.any():
        return unseen
    return unseen & np.isin(value.codes, [at for at, level in enumerate(value.levels) if is_nan(level)])


def _with_reports(
    labels: WinningLabels, reports: _Reports, rows: WinningRows, reading: Reading, *, dated: bool
) -> WinningLabels:
    """Labels with what follows from all of their reports."""
    n = len(rows.rows)
    corrections = np.maximum(distinct(reports.group, reports.keys, n) - 1, 0)
    if not dated:
        return replace(labels, corrections=corrections)
    first, newest = np.full(n, _NEVER), np.full(n, _NONE)
    np.minimum.at(first, reports.group[reports.valued], reports.reported[reports.valued])
    np.maximum.at(newest, reports.group, reports.reported)
    delay = np.where(first == _NEVER, _NEVER, first - rows.event_time)
    late = (newest != _NONE) & (newest - rows.event_time > reading.horizon)
    return replace(labels, corrections=corrections, stale=late.astype(np.int64), delay=delay, newest=newest)


def _delays(labels: WinningLabels, classes: int) -> _Cells:
    """Cells of the first labels' delays; the labels of a regression have one class."""
    kind = labels.cell if classes else np.zeros_like(labels.cell)
    reported = labels.known & (labels.delay != _NEVER) & (kind < max(1, classes))
    cell = kind * (len(DELAY_EDGES) + 1)
    cell[reported] += lookup(DELAY_EDGES)(labels.delay[reported] / SECOND)
    return cell, reported


def _confusion(prediction: Categories, labels: WinningLabels, classes: tuple[str, ...]) -> _Cells:
    unseen = len(classes)
    predicted = prediction.positions(classes, unseen)
    return np.minimum(labels.cell, unseen) * (unseen + 1) + predicted, labels.known & (predicted >= 0)


def _position(labels: WinningLabels, probabilities: ClassProbabilities, classes: tuple[str, ...]) -> Ints:
    """Position of each label's class among those that have probabilities; -1: none."""
    place = {name: at for at, name in enumerate(probabilities.names)}
    of_class = np.asarray([*(place.get(name, -1) for name in classes), -1], dtype=np.int64)
    return of_class[np.minimum(labels.cell, len(classes))]


def _losses(score: Floats, actual: Ints, mask: Bools) -> tuple[_Terms, Bools]:
    """Terms in the order of LOSSES, and where a probability was clipped."""
    p = np.where(mask, score, 0.5)
    right, wrong = np.where(actual == 1, (p, 1.0 - p), (1.0 - p, p))
    return loss_terms(right, wrong * wrong, mask)


def _parts(
    table: pa.Table, rows: WinningRows, labels: WinningLabels, strata: list[dict[Stratum, Counters]]
) -> list[PanePart]:
    panes = len(rows.panes)
    winners = np.bincount(rows.pane, minlength=panes).tolist()
    records = np.bincount(rows.pane[rows.serves], minlength=panes).tolist()
    labelled = np.bincount(rows.pane[labels.known & rows.serves], minlength=panes).tolist()
    newest = newest_by_pane(rows, labels.newest, panes)
    checksums = _checksums(table, rows, labels)
    return [
        PanePart(
            start,
            strata[at],
            winners[at],
            newest[at],
            records=records[at],
            labelled=labelled[at],
            checksum=int(checksums[at]),
        )
        for at, start in enumerate(rows.panes.tolist())
    ]


def _checksums(table: pa.Table, rows: WinningRows, labels: WinningLabels) -> Ints:
    """Of each pane's records with a label, be it a value or not: the label, corrections, the first report."""
    at = np.flatnonzero(labels.known | labels.retracted | labels.invalid)
    members = bits_of_texts(table["id"].take(pa.array(rows.rows[at])))
    reports = mix(labels.delay[at].view(np.uint64) + mix(labels.corrections[at].view(np.uint64)))
    values = _values(labels)[at] ^ reports
    return checksum(members, values, rows.event_time[at], rows.pane[at], len(rows.panes))


def _values(labels: WinningLabels) -> Bits:
    """Cells of the labels, or numbers where they are numbers."""
    if labels.number is None:
        return labels.cell.astype(np.uint64)
    return np.where(labels.known, bits_of_numbers(labels.number.values), labels.cell.astype(np.uint64))
