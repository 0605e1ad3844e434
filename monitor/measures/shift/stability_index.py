"""Shift: how far distributions of outputs, features and labels have moved from the reference's."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from monitor.core.array_types import Counts, Floats, Ints
from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measure_options import LABEL, MeasureOptions, MeasureResult
from monitor.measures.shift import distances
from monitor.measures.shift.shift_cells import (
    CumulativeSteps,
    ExpectedCells,
    ShiftSubject,
    mix_expected_cells,
    round_to_two_digits,
    simulate_counts,
)
from monitor.states.grids import Grid, NumericGrid
from monitor.states.views import CellHistogram

ENOUGH = 50  # expected records a cell, below which the chi-squared limit is not trusted
MOVED = 5  # cells that are shown where not all are: those that moved most
_COMPARED_WITH = ("reference_records",)
NAMES = ("stability_index", "stability_index_critical", "stability_index_bias")


@dataclass(frozen=True, slots=True)
class StabilityCounts:
    """Counts of both sides in the cells of the stability index."""

    expected: ExpectedCells
    current: Floats  # float64, shape (subjects, width): the window's counts
    n: Ints  # int64: records of the window
    absent: Reason = Reason.NO_RECORDS  # why a subject without any has none

    @classmethod
    def from_counts(
        cls, expected: ExpectedCells, index: Ints, value: Counts, absent: Reason
    ) -> "StabilityCounts":
        """Sides of counts at positions of a vector."""
        current = expected.tabulate_counts(index, value)
        return cls(expected, current, current.sum(axis=1).astype(np.int64), absent)

    def why_incomparable(self, row: int) -> Reason | None:
        """Why a subject can not be compared."""
        if self.expected.m[row] == 0:
            return Reason.NO_REFERENCE
        return self.absent if self.n[row] == 0 else None


def stability_results(
    expected: ExpectedCells,
    index: Ints,
    value: Counts,
    options: MeasureOptions,
    absent: Reason = Reason.NO_RECORDS,
) -> Iterator[MeasureResult]:
    """All measures of the shift of every subject; K-S for numbers only.

    Parameters
    ----------
    index, value
        counts of the window at positions of the vector that the subjects lie in.
    absent
        reason of a subject without a record.
    """
    sides = StabilityCounts.from_counts(expected, index, value, absent)
    columns = [
        stability_indices(sides, options),
        critical_indices(sides, options),
        expected_chance_indices(sides),
    ]
    reasons = [sides.why_incomparable(row) for row in range(len(sides.n))]
    further = options.whole and MeasureFamily.DISTANCES in options.families
    steps = CumulativeSteps.from_counts(expected, index, value) if further or expected.numeric_rows else None
    by_row = {} if steps is None else dict(distances.kolmogorov_smirnov(expected, steps, reasons))
    for row, subject in enumerate(expected.subjects):
        for name, column in zip(NAMES, columns, strict=True):
            yield MeasureResult(name, subject.name, column[row])
        for name, measurement in zip(distances.KS_NAMES, by_row.get(row, ()), strict=False):
            yield MeasureResult(name, subject.name, measurement)
    if further and steps is not None:
        yield from distances.distance_results(expected, sides.current, steps, reasons, options.level)


def list_absent_shifts(
    subject: str, grid: Grid, reason: Reason, n: int, options: MeasureOptions
) -> Iterator[MeasureResult]:
    """Give the same names, all absent for one reason."""
    numeric = isinstance(grid, NumericGrid)
    for name in (*NAMES, *distances.KS_NAMES) if numeric else NAMES:
        yield MeasureResult(name, subject, Measurement.without_value(reason, n=n))
    if options.whole and MeasureFamily.DISTANCES in options.families:
        yield from distances.list_absent_distances(subject, reason, n, numeric=numeric)


def stability_indices(sides: StabilityCounts, options: MeasureOptions) -> list[Measurement]:
    """Σ (p - q)·ln(p / q), q and p the shares of the reference and the window [1]_, of each subject.

    Cells: the reference's deciles, or its 19 most frequent levels and the rest; unseen, missing, invalid.
    `pseudocount` is added to each cell on both sides; 0 gives the textbook's value, and none where a cell is
    empty on one side. A cell empty on both sides contributes nothing and gets none. The window must have
    `min_per_cell` records for each cell that is not empty on both sides.

    Returns
    -------
    list of Measurement
        or ``no_reference``, ``no_records``, ``too_few``, ``undefined``. Of the whole its detail are the
        cells that contribute most, or, if `detailed`, all that hold a record, and their shares.

    Notes
    -----
    Without any shift it is about (B - 1)·(1/n + 1/m), never 0: see `expected_chance_indices`.

    References
    ----------
    .. [1] Siddiqi (2006). Credit Risk Scorecards. Wiley.
    """
    expected = sides.expected
    terms = _stability_terms(expected.reference_counts, sides.current, options.pseudocount)
    values = terms.sum(axis=1).tolist()
    used = ((expected.reference_counts + sides.current) > 0).sum(axis=1)
    few = (sides.n < options.min_per_cell * used).tolist()
    most = terms.shape[1] if options.detailed else MOVED
    order = np.argsort(-terms, axis=1, kind="stable")[:, :most].tolist() if options.whole else None
    before, now = (
        _record_shares(expected.reference_counts, expected.m),
        _record_shares(sides.current, sides.n),
    )
    indices = []
    for row, value in enumerate(values):
        n, reason = int(sides.n[row]), sides.why_incomparable(row)
        reason = reason or (Reason.TOO_FEW if few[row] else None)
        reason = reason or (None if math.isfinite(value) else Reason.UNDEFINED)
        if reason is not None:
            indices.append(Measurement.without_value(reason, n=n))
            continue
        columns = (before[row], now[row], terms[row])
        detail = None if order is None else _moved_cells(expected, row, order[row], columns)
        indices.append(Measurement(value=value, n=n, detail=detail))
    return indices


def expected_chance_indices(sides: StabilityCounts) -> list[Measurement]:
    """Index to expect where nothing has shifted: (B - 1)·(1/n + 1/m), B the cells with reference records."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = ((sides.expected.held_cells - 1) * (1 / sides.n + 1 / sides.expected.m)).tolist()
    return [_row_measurement(sides, row, value) for row, value in enumerate(values)]


def critical_indices(sides: StabilityCounts, options: MeasureOptions) -> list[Measurement]:
    """Quantile of the index where nothing has shifted: (1/n + 1/m)·χ²(B - 1) [1]_, of each subject.

    Where a cell expects fewer than 50 records, 1,000 pairs of samples are drawn from the reference's shares,
    all rounded to two digits, so that windows of about one size share one simulation.

    Returns
    -------
    list of Measurement
        of the whole its detail is m, the records of the reference.

    References
    ----------
    .. [1] Yurdakul & Naranjo (2020). Statistical properties of the population stability index.
       J. Risk Model Validation 14(4).
    """
    expected = sides.expected
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = expected.fewest_records * np.minimum(1.0, sides.n / expected.m) >= ENOUGH
        both = 1 / sides.n + 1 / expected.m
        limits = [_chi_squared_quantile(held - 1, options.level) for held in expected.held_cells.tolist()]
        values = (both * np.asarray(limits)).tolist()
    for row in np.flatnonzero(~enough).tolist():
        if sides.why_incomparable(row) is None:
            sizes = round_to_two_digits(sides.n[row]), round_to_two_digits(expected.m[row])
            values[row] = simulate_critical_index(
                *sizes, expected.cell_shares(row), options.pseudocount, options.level
            )
    details = [DetailTable(_COMPARED_WITH, ((m,),)) if options.whole else None for m in expected.m.tolist()]
    return [_row_measurement(sides, row, value, details[row]) for row, value in enumerate(values)]


@lru_cache(maxsize=4096)
def simulate_critical_index(
    n: int, m: int, shares: tuple[float, ...], pseudocount: float, level: float
) -> float:
    """Quantile of the index of samples of n and m records drawn from one distribution.

    Seeded by its arguments: a pure function of them. Cost: 1,000 binomials a cell and side, once.
    """
    draws = stability_index_by_row(
        simulate_counts(m, shares, "reference"), simulate_counts(n, shares, "current"), pseudocount
    )
    return float(np.quantile(draws, level, method="higher"))


def stability_index_by_row(reference: Counts, current: Counts, pseudocount: float) -> Floats:
    """Index of each row of counts (last axis: cells); inf where a cell is empty on one side alone."""
    total: Floats = _stability_terms(reference, current, pseudocount).sum(axis=-1)
    return total


def _stability_terms(reference: Counts, current: Counts, pseudocount: float) -> Floats:
    """Terms of the index; cells empty on both sides have the term 0."""
    used_mask = (reference + current) > 0
    added = used_mask * pseudocount
    q, p = reference + added, current + added
    with np.errstate(divide="ignore", invalid="ignore"):
        q, p = q / q.sum(axis=-1, keepdims=True), p / p.sum(axis=-1, keepdims=True)
        terms = (p - q) * np.log(np.where(used_mask, p, 1.0) / np.where(used_mask, q, 1.0))
    return np.where(used_mask, terms, 0.0)


def _record_shares(counts: Floats, totals: Counts) -> Floats:
    """Shares of the records as they are, without pseudocounts; 0 without records."""
    shares: Floats = counts / np.maximum(totals, 1)[:, None]
    return shares


def _moved_cells(
    expected: ExpectedCells, row: int, order: list[int], columns: tuple[Floats, Floats, Floats]
) -> DetailTable | None:
    """Cells by falling contribution: share of the reference, of the window, contribution."""
    before, now, terms = (column[order].round(6).tolist() for column in columns)
    rows = [
        (expected.name_of(row, slot), *figures)
        for slot, *figures in zip(order, before, now, terms, strict=True)
        if figures[-1] > 0 or (len(order) > MOVED and max(figures) > 0)
    ]
    return DetailTable(("cell", "expected", "actual", "contribution"), tuple(rows)) if rows else None


def _row_measurement(
    sides: StabilityCounts, row: int, value: float, detail: DetailTable | None = None
) -> Measurement:
    reason = sides.why_incomparable(row) or (None if math.isfinite(value) else Reason.UNDEFINED)
    n = int(sides.n[row])
    return (
        Measurement(value=value, n=n, detail=detail)
        if reason is None
        else Measurement.without_value(reason, n=n)
    )


@lru_cache(maxsize=256)
def _chi_squared_quantile(freedom: int, level: float) -> float:
    return float(scipy.special.chdtri(freedom, 1 - level)) if freedom > 0 else 0.0


def expected_labels(references: Sequence[tuple[float, CellHistogram]]) -> ExpectedCells:
    """What the labels of references lead one to expect: made once, used often.

    Parameters
    ----------
    references
        (share of a window's records that is compared with it, its labels); the shares add up to 1.
    """
    shares = np.asarray([share for share, _ in references])
    counted = np.stack([_label_counts(labels) for _, labels in references])
    counts: Counts = counted[0] if len(counted) == 1 else mix_expected_cells(shares, counted)
    return ExpectedCells((ShiftSubject(LABEL, references[0][1].grid, 0),), counts)


def label_shift_results(
    expected: ExpectedCells | None, labels: CellHistogram, options: MeasureOptions
) -> Iterator[MeasureResult]:
    """All measures of the labels' shift; records without a label are no part of it.

    Parameters
    ----------
    expected
        None: there is no reference.
    """
    counted = _label_counts(labels)
    if expected is None:
        yield from list_absent_shifts(LABEL, labels.grid, Reason.NO_REFERENCE, int(counted.sum()), options)
        return
    yield from stability_results(expected, np.arange(len(counted)), counted, options, Reason.NO_LABELS)


def _label_counts(labels: CellHistogram) -> Ints:
    """Counts of the records that have a label, be it unseen or invalid."""
    counts = np.array(labels.counts, dtype=np.int64)
    counts[-2] = 0
    return counts
