"""Views: what measures read. Each is a plain, frozen picture of one block of counters."""

from dataclasses import dataclass
from fractions import Fraction

from monitor.core.array_types import Counts, Ints
from monitor.states import sums
from monitor.states.grids import EXTRA_CELLS, Grid


@dataclass(frozen=True, slots=True)
class CellHistogram:
    """Counts per cell of a grid: the regular cells, then unseen, missing, invalid."""

    grid: Grid  # the cells
    counts: Counts  # shape (grid.size,): int64, or float64 where they are expected of several references

    @property
    def regular_counts(self) -> Counts:
        """Counts of the regular cells."""
        return self.counts[:-EXTRA_CELLS]

    @property
    def unseen(self) -> int:
        """Records whose level the reference does not know."""
        return int(self.counts[-3])

    @property
    def missing(self) -> int:
        """Records without a value."""
        return int(self.counts[-2])

    @property
    def invalid(self) -> int:
        """Records whose value is not one."""
        return int(self.counts[-1])

    @property
    def n(self) -> int:
        """All records."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """Labelled records by actual and predicted class."""

    classes: tuple[str, ...]  # canonical text; for a binary model (negative, positive)
    counts: Ints  # int64, shape (k + 1, k + 1): rows actual, columns predicted, the last of each *unseen*


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Labelled records of a binary model by score cell (ascending) and class."""

    # negative, positive: int64, shape (cells,).
    negative: Ints
    positive: Ints


@dataclass(frozen=True, slots=True)
class ClassTables:
    """Labelled records of a multi-class model by the probability of each class."""

    classes: tuple[str, ...]  # canonical text
    counts: Ints  # int64, shape (k, 2, cells): cells ascending; records of other classes, then of the class
    unusable: Ints  # int64, shape (causes,): labelled records that are left out


@dataclass(frozen=True, slots=True)
class ExactSums:
    """Exact sums of named terms."""

    counts: Ints  # int64, shape (4, terms): n, out of range, hi, lo
    terms: tuple[str, ...]  # names, one a column
    scales: tuple[float, ...]  # powers of two, one a column: the unit of the term is 2^-40 of it

    def count_of(self, term: str) -> int:
        """Count the records that have the term."""
        return int(self.counts[0, self.terms.index(term)])

    def count_out_of_range(self, term: str) -> int:
        """Count the records whose term was too large to be added."""
        return int(self.counts[1, self.terms.index(term)])

    def scale_of(self, term: str) -> float:
        """Power of two that the term is measured in."""
        return self.scales[self.terms.index(term)]

    def units_of(self, term: str) -> int:
        """Exact sum of the rounded terms in units of 2^-40 of its scale."""
        at = self.terms.index(term)
        return sums.units_of_halves(int(self.counts[2, at]), int(self.counts[3, at]))

    def exact_total(self, term: str) -> Fraction:
        """Exact sum of the rounded terms."""
        at = self.terms.index(term)
        return sums.exact_fraction(int(self.counts[2, at]), int(self.counts[3, at]), self.scales[at])

    def exact_mean(self, term: str) -> Fraction:
        """Exact mean of the rounded terms; there must be a record."""
        at = self.terms.index(term)
        return self.exact_total(term) / int(self.counts[0, at] - self.counts[1, at])


@dataclass(frozen=True, slots=True)
class LabelTally:
    """What is known of the labels of a set of records."""

    # records, labelled: all records; those with a valid or unseen label.
    records: int
    labelled: int
    # corrections, retracted, invalid: labels that were replaced; records whose winning label is NULL; labels
    # that are not values.
    corrections: int
    retracted: int
    invalid: int


@dataclass(frozen=True, slots=True)
class DelayTable:
    """First label's delay by cell, all classes together."""

    edges: tuple[float, ...]  # seconds, ascending; cell 0 lies below the first edge
    counts: Ints  # int64, shape (len(edges) + 1,)
