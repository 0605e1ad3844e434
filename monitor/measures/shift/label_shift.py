"""Label shift: how far the distribution of the labels has moved from the reference's."""

from collections.abc import Iterator, Sequence

import numpy as np

from monitor.core.array_types import Counts, Ints
from monitor.core.measurement import Reason
from monitor.measures.measure_options import LABEL, MeasureOptions, MeasureResult
from monitor.measures.shift import stability_index as shift
from monitor.measures.shift.shift_cells import ExpectedCells, ShiftSubject, mix_expected_cells
from monitor.states.views import CellHistogram


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
        yield from shift.list_absent_shifts(
            LABEL, labels.grid, Reason.NO_REFERENCE, int(counted.sum()), options
        )
        return
    yield from shift.stability_results(expected, np.arange(len(counted)), counted, options, Reason.NO_LABELS)


def _label_counts(labels: CellHistogram) -> Ints:
    """Counts of the records that have a label, be it unseen or invalid."""
    counts = np.array(labels.counts, dtype=np.int64)
    counts[-2] = 0
    return counts
