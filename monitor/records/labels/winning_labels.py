"""The winning label of each record: of several the highest revision, then the latest report."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Ints
from monitor.records.column_values import (
    CategoryValues,
    NumberValues,
    is_nan,
    parse_categories,
    parse_numbers,
)
from monitor.records.count_records import find_cells
from monitor.records.counting import Counting
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import WinningRows, count_distinct, find_smallest_rows, parse_role_times

NEVER = np.iinfo(np.int64).max  # delay of a label that nobody dated
_NONE = np.iinfo(np.int64).min
_OF_LABELS = ("label", "reported_at", "revision")


@dataclass(frozen=True, slots=True)
class WinningLabels:
    """The winning label of each winning row."""

    known: Bools  # there is a label, and it is a value (of several classes it may be an unseen one)
    cell: Ints  # of the label's grid
    number: NumberValues | None  # the label of a regression
    # retracted, invalid: the winning label is NULL; is no value, or no class of the model.
    retracted: Bools
    invalid: Bools
    corrections: Ints  # different labels less one
    stale: Ints  # 1 where one was reported later than the horizon
    delay: Ints  # microseconds from the event to the first report of a value; the largest int64 where unknown
    newest: Ints  # last report; the smallest int64 where unknown

    def take_rows(self, rows: Ints) -> "WinningLabels":
        """Labels of chosen rows."""
        columns = {name: getattr(self, name)[rows] for name in WinningLabels.__slots__ if name != "number"}
        return WinningLabels(number=None if self.number is None else self.number.take_rows(rows), **columns)


def winning_labels(table: pa.Table, rows: WinningRows, counting: Counting, until: Ints) -> WinningLabels:
    """Of several labels the highest revision, then the latest report, then the smallest value.

    `until`: int64 of each pane: labels reported later are not known.
    """
    roles = [name for name in _OF_LABELS if name in table.column_names]
    held = np.flatnonzero(_find_label_rows(table, roles)[rows.member])
    here, group = table.select(roles).take(pa.array(rows.member[held])), rows.group[held]
    regression = counting.reading.task is ModelTask.REGRESSION
    value = parse_numbers(here["label"]) if regression else parse_categories(here["label"])
    reported, revision = np.zeros((2, len(held)), dtype=np.int64)
    if "revision" in roles:
        revision = parse_numbers(here["revision"]).rank_ties()
    if dated := "reported_at" in roles:
        parsed = parse_role_times(here, "reported_at", counting.reading)
        reported = np.where(parsed.known, parsed.us, rows.event_time[group])
    is_known = reported <= until[rows.pane[group]]
    at = np.flatnonzero(is_known) if dated else np.arange(len(held))
    keys = [-revision[at], -reported[at], value.rank_ties()[at]]
    best, _ = find_smallest_rows(group[at], keys)
    labels = _make_valued_labels(value.take_rows(at[best]), group[at[best]], counting, len(rows.rows))
    reports = _LabelReports(group[at], reported[at], ~_find_missing_rows(value)[at], keys)
    return _add_report_facts(labels, reports, rows, counting.reading, dated=dated)


@dataclass(frozen=True, slots=True)
class _LabelReports:
    """Every row that holds a label: its winner, when it was reported, whether it holds a value, its keys."""

    group: Ints
    reported: Ints
    valued: Bools
    keys: list[Ints]


def _find_missing_rows(value: NumberValues | CategoryValues) -> Bools:
    return value.missing if isinstance(value, NumberValues) else value.codes < 0


def _find_label_rows(table: pa.Table, roles: list[str]) -> Bools:
    """Rows that hold a label: a join without one gives nulls; a NULL label that was reported retracts."""
    holds: Bools = np.zeros(table.num_rows, dtype=bool)
    for role in roles:
        holds |= np.asarray(table[role].is_valid().combine_chunks())
    return holds


def make_empty_labels(n: int) -> WinningLabels:
    """Labels of n records of which none has one."""
    no, zero = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
    return WinningLabels(no, zero, None, no, no, zero, zero, np.full(n, NEVER), np.full(n, _NONE))


def _make_valued_labels(
    value: NumberValues | CategoryValues, has: Ints, counting: Counting, n: int
) -> WinningLabels:
    """Labels of n rows, of which those numbered `has` have the values."""
    if counting.label is None:
        raise ValueError("labels are counted on a grid: the model has none")
    there = np.zeros(n, dtype=bool)
    there[has] = True
    cell = np.full(n, counting.label.regular_size + 1)
    cell[has] = find_cells(value, counting.label)
    if isinstance(value, CategoryValues):
        unseen = cell[has] == counting.label.regular_size
        # *Invalid* is the second cell after *unseen*.
        cell[has[_find_classless_labels(value, unseen, counting.reading.task)]] += 2
    number = None
    if isinstance(value, NumberValues):
        number = NumberValues(np.zeros(n), ~there)
        number.values[has], number.missing[has] = value.values, value.missing
    missing, invalid = cell == counting.label.regular_size + 1, cell == counting.label.regular_size + 2
    return replace(
        make_empty_labels(n),
        known=~missing & ~invalid,
        cell=cell,
        number=number,
        retracted=there & missing,
        invalid=invalid,
    )


def _find_classless_labels(value: CategoryValues, unseen: Bools, task: ModelTask) -> Bools:
    """Labels that are no class: of two classes every unseen one, of several an unseen NaN."""
    if task is ModelTask.BINARY or not unseen.any():
        return unseen
    return unseen & np.isin(value.codes, [at for at, level in enumerate(value.levels) if is_nan(level)])


def _add_report_facts(
    labels: WinningLabels, reports: _LabelReports, rows: WinningRows, reading: ReadingOptions, *, dated: bool
) -> WinningLabels:
    """Labels with what follows from all of their reports."""
    n = len(rows.rows)
    corrections = np.maximum(count_distinct(reports.group, reports.keys, n) - 1, 0)
    if not dated:
        return replace(labels, corrections=corrections)
    first, newest = np.full(n, NEVER), np.full(n, _NONE)
    # The first report that holds a value: a NULL says nothing of how long labels take, a correction neither.
    np.minimum.at(first, reports.group[reports.valued], reports.reported[reports.valued])
    np.maximum.at(newest, reports.group, reports.reported)
    delay = np.where(first == NEVER, NEVER, first - rows.event_time)
    late = (newest != _NONE) & (newest - rows.event_time > reading.horizon)
    return replace(labels, corrections=corrections, stale=late.astype(np.int64), delay=delay, newest=newest)
