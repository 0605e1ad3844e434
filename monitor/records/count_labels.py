"""Count the labels part of panes: coverage, label, confusion, scores, losses, errors, delays."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from monitor.core.clock import SECOND
from monitor.core.typing import Bools, Floats, Ints
from monitor.records.count_records import cells_of, newest_by_pane
from monitor.records.counting import DELAY_EDGES, ERRORS, Counting
from monitor.records.dedupe import smallest
from monitor.records.pane import PanePart
from monitor.records.reading import Task
from monitor.records.rows import Rows, prediction_of, read_rows, score_of, times
from monitor.records.tabulate import Table
from monitor.records.values import Categories, Numbers, categories, numbers
from monitor.states.counters import Counters
from monitor.states.grids import lookup
from monitor.states.strata import WHOLE, Stratum

_CLIP = 2.0**-52  # of probabilities in the log loss, as scikit-learn does
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Labels:
    """The winning label of each winning row; `known` is false where there is none or it is no value."""

    known: Bools
    cell: Ints
    number: Numbers | None
    retracted: Bools
    invalid: Bools
    corrections: Ints
    stale: Ints
    delay: Ints
    newest: Ints


def count_labels(table: pa.Table, counting: Counting, *, panes: Ints, as_of: int) -> list[PanePart]:
    """Labels part of each of the given panes.

    Parameters
    ----------
    table
        predictions joined (outer) with their labels: role-named columns; a prediction with several
        labels has several rows, one without has nulls in the columns of the label.
    panes
        int64 starts, ascending.
    """
    rows = read_rows(table, counting, panes, as_of)
    chosen = table.take(pa.array(rows.rows))
    labels = winning_labels(table, rows, counting, as_of) if counting.label is not None else None
    strata: list[dict[Stratum, Counters]] = [{} for _ in panes]
    terms = label_terms(chosen, labels, counting) if labels is not None else None
    for names, code in rows.strata(counting.reading):
        tabulated = Table(counting.labels, rows.pane * len(names) + code, len(panes) * len(names))
        fill(tabulated, labels, terms, len(rows.rows), whole=names == [WHOLE])
        for group, counters in tabulated.counters():
            strata[group // len(names)][names[group % len(names)]] = counters
    return [_part(start, strata[at], at, rows, labels) for at, start in enumerate(panes.tolist())]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a labelled row adds: cells and sums, each with the mask of the rows that have it."""

    counting: Counting
    cells: dict[str, tuple[Ints, Bools]]
    sums: dict[str, tuple[list[Floats], list[float], Bools]]
    clipped: Bools


def winning_labels(table: pa.Table, rows: Rows, counting: Counting, as_of: int) -> Labels:
    """Of several labels the highest revision, then the latest report, then the smallest value."""
    reading = counting.reading
    member = rows.member
    here = table.take(pa.array(member))
    value = numbers(here["label"]) if reading.task is Task.REGRESSION else categories(here["label"])
    there = _reported(here, value)
    reported = np.zeros(len(member), np.int64)
    if "reported_at" in here.column_names:
        parsed = times(here, "reported_at", reading)
        reported = np.where(parsed.known, parsed.us, rows.event_time[rows.group])
        there &= ~parsed.known | (parsed.us <= as_of)
    revision = np.zeros(len(member), np.int64)
    if "revision" in here.column_names:
        revision = numbers(here["revision"]).rank()
    at = np.flatnonzero(there)
    group = rows.group[at]
    keys = [-revision[at], -reported[at], value.rank()[at]]
    best, _ = smallest(group, keys)
    has = np.unique(group)
    reports = _Reports(group, reported[at], keys, dated="reported_at" in here.column_names)
    return _labels_of(rows, counting, value.take(at[best]), has, reports)


def label_terms(chosen: pa.Table, labels: Labels, counting: Counting) -> Terms:
    """Cells and sums of the labelled rows."""
    reading = counting.reading
    score = score_of(chosen, reading)
    prediction = prediction_of(chosen, reading, score)
    assert counting.label is not None
    everywhere = np.ones(len(labels.known), dtype=bool)
    cells = {"label": (labels.cell, everywhere)}
    sums: dict[str, tuple[list[Floats], list[float], Bools]] = {}
    clipped = np.zeros(len(labels.known), dtype=bool)
    if isinstance(prediction, Numbers):
        assert labels.number is not None
        sums["errors"] = _errors(prediction, labels.number, labels.known, counting.scale)
    else:
        side = len(reading.classes) + 1
        actual = np.minimum(labels.cell, side - 1)
        predicted = prediction.positions(reading.classes, side - 1)
        cells["confusion"] = (actual * side + predicted, labels.known & (predicted >= 0))
    if counting.scored and score is not None and counting.score is not None:
        binary = labels.known & (labels.cell < 2)
        cell = counting.score.cells(score.values, score.missing)
        valid = binary & (cell < counting.score.regular)
        cells["scores"] = (labels.cell * counting.score.regular + cell, valid)
        if counting.probabilistic:
            sums["losses"], clipped = _losses(score.values, labels.cell, valid)
    delay_class = labels.cell if reading.classes else np.zeros_like(labels.cell)
    reported = labels.known & (labels.delay != _NEVER) & (delay_class < max(1, len(reading.classes)))
    seconds = np.where(reported, labels.delay, 0) / SECOND
    delay_cell = lookup(DELAY_EDGES)(seconds)
    cells["delays"] = (delay_class * (len(DELAY_EDGES) + 1) + delay_cell, reported)
    return Terms(counting, cells, sums, clipped)


def fill(table: Table, labels: Labels | None, terms: Terms | None, n: int, *, whole: bool) -> None:
    """Add the rows to a table of groups; delays only for the whole."""
    one, none = np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    if labels is None or terms is None:
        table.add_tallies("tally", [one] + [none] * 7)
        return
    early = labels.known & (labels.delay < 0)
    tallies = [one, labels.known, labels.corrections, labels.retracted, labels.invalid, labels.stale]
    table.add_tallies("tally", [*tallies, terms.clipped, early])
    for block, (cell, mask) in terms.cells.items():
        if whole or block != "delays":
            table.add(block, cell, mask)
    for block, (columns, scales, mask) in terms.sums.items():
        table.add_sums(block, columns, scales, mask)


def _reported(here: pa.Table, value: Numbers | Categories) -> Bools:
    """Rows that hold a label: a join without one gives nulls; a NULL label that was reported retracts."""
    missing = value.missing if isinstance(value, Numbers) else value.codes < 0
    for role in ("reported_at", "revision"):
        if role in here.column_names:
            missing = missing & np.asarray(here[role].is_null().combine_chunks())
    return ~missing


@dataclass(frozen=True, slots=True)
class _Reports:
    """Every row that holds a label: its winner, when it was reported, what tells it from others."""

    group: Ints
    reported: Ints
    keys: list[Ints]
    dated: bool

    def distinct(self, n: int) -> Ints:
        """Different labels of each of the n winners."""
        counts = np.zeros(n, dtype=np.int64)
        if len(self.group):
            np.add.at(counts, np.unique(np.stack([self.group, *self.keys]), axis=1)[0], 1)
        return counts


def _labels_of(
    rows: Rows, counting: Counting, value: Numbers | Categories, has: Ints, reports: _Reports
) -> Labels:
    n = len(rows.rows)
    first, newest = np.full(n, _NEVER), np.full(n, -_NEVER)
    np.minimum.at(first, reports.group, reports.reported)
    np.maximum.at(newest, reports.group, reports.reported)
    assert counting.label is not None
    cell = np.full(n, counting.label.regular + 1)
    cell[has] = cells_of(value, counting.label)
    there = np.zeros(n, dtype=bool)
    there[has] = True
    number = None
    if isinstance(value, Numbers):
        number = Numbers(np.zeros(n), ~there)
        number.values[has], number.missing[has] = value.values, value.missing
    missing, invalid = cell == counting.label.regular + 1, cell == counting.label.regular + 2
    dated = there & reports.dated
    delay = np.where(dated, first - rows.event_time, _NEVER)
    return Labels(
        known=there & ~missing & ~invalid,
        cell=cell,
        number=number,
        retracted=there & missing,
        invalid=invalid,
        corrections=np.maximum(reports.distinct(n) - 1, 0),
        stale=(dated & (newest - rows.event_time > counting.reading.horizon)).astype(np.int64),
        delay=delay,
        newest=newest,
    )


def _errors(
    prediction: Numbers, label: Numbers, known: Bools, scale: float
) -> tuple[list[Floats], list[float], Bools]:
    mask = known & prediction.finite & label.finite
    with np.errstate(over="ignore", invalid="ignore"):
        y = label.values / scale
        e = (prediction.values - label.values) / scale
        columns = [e, np.abs(e), e**2, e**4, y, y**2, y**3, y**4, e**2 * y, e**2 * y**2]
    return columns, [1.0] * len(ERRORS), mask


def _losses(
    score: Floats, actual: Ints, mask: Bools
) -> tuple[tuple[list[Floats], list[float], Bools], Bools]:
    p = np.where(mask, score, 0.5)
    right = np.where(actual == 1, p, 1.0 - p)
    kept = np.clip(right, _CLIP, 1.0 - _CLIP)
    brier, loss = (1.0 - right) ** 2, -np.log(kept)
    return ([brier, brier**2, loss, loss**2], [1.0] * 4, mask), mask & (kept != right)


def _part(start: int, strata: dict[Stratum, Counters], at: int, rows: Rows, labels: Labels | None) -> PanePart:
    tally = strata[WHOLE].block("tally") if WHOLE in strata else np.zeros(2, np.int64)
    read = int((rows.pane[rows.group] == at).sum())
    if labels is None:
        return PanePart(start, strata, read, records=int(tally[0]))
    newest = newest_by_pane(rows, labels.newest, len(rows.panes))[at]
    here = (rows.pane == at) & labels.known
    checksum = int((labels.cell[here] + 1).sum())
    return PanePart(
        start,
        strata,
        read,
        newest if newest is not None and newest > -_NEVER else None,
        records=int(tally[0]),
        labelled=int(tally[1]),
        checksum=checksum,
    )
