"""Views of a regression model's errors and labels by cell."""

from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.states import sums


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """Labelled records by the cell of their signed error."""

    # ascending, symmetric about 0, in units of `scale`; cell i lies between edges i - 1 and i, the first and
    # the last one are open.
    edges: Floats
    counts: Ints  # int64, shape (len(edges) + 1,)
    scale: float  # power of two, in the unit of the labels


@dataclass(frozen=True, slots=True)
class LabelErrors:
    """Exact sums of labels and of absolute errors by the cell of the label."""

    edges: Floats  # ascending, as in `ErrorTable`, of label - centre
    # int64, shape (4, 2 x cells): n, out of range, hi, lo of label - centre by cell, then those of the
    # absolute error by cell; both in units of the scale.
    counts: Ints

    @property
    def n(self) -> Ints:
        """Records by cell."""
        return self.counts[0, : len(self.edges) + 1]

    @property
    def records_out_of_range(self) -> int:
        """Records of which a term was too large to be added."""
        return int(self.counts[1].sum())

    @property
    def sums(self) -> tuple[Floats, Floats]:
        """Sums of the labels, and of the absolute errors, by cell; each rounded once to a double."""
        total: Floats = self.counts[2] + self.counts[3] / sums.HALF
        cells = len(self.edges) + 1
        return total[:cells], total[cells:]


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """Exact sums of errors and predictions by group of the prediction's cells."""

    # int64, shape (4, 4 x groups): n, out of range, hi, lo of the absolute error by group, then those of the
    # squared one, of the signed one, and of prediction - centre; in units of the scale and its square.
    counts: Ints
    scale: float  # power of two, in the unit of the labels
    centre: float  # that predictions are measured from

    @property
    def n(self) -> Ints:
        """Records by group."""
        return self.counts[0, : self.counts.shape[1] // 4]

    @property
    def records_out_of_range(self) -> int:
        """Records of which a term that estimates stand on was too large to be added."""
        return int(self.counts[1, : self.counts.shape[1] // 2].sum())

    @property
    def sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums of absolute, squared, signed errors, of prediction - centre; each rounded to a double."""
        total: Floats = self.counts[2] + self.counts[3] / sums.HALF
        absolute, squared, signed, away = np.split(total, 4)
        return absolute * self.scale, squared * self.scale**2, signed * self.scale, away * self.scale
