"""Differences of labels parts, made of the parts themselves."""

from collections.abc import Sequence

import numpy as np

from monitor.records.labels.label_differences import NO_REPORT, LabelDifferences, make_label_differences
from monitor.records.pane import PanePart


def differing(
    size: int,
    pairs: Sequence[tuple[PanePart, PanePart]],
    facts: Sequence[tuple[int, int, int, int | None]],
    as_of: int,
) -> LabelDifferences:
    """What panes get that held the first of a pair, and hold the second: ascending by start.

    Parameters
    ----------
    facts
        start, labelled records, checksum and newest report of each pane from then on.
    """
    sides = [
        ([stratum], at * size + counters.index, sign * counters.value)
        for at, pair in enumerate(pairs)
        for part, sign in zip(pair, (-1, 1), strict=True)
        for stratum, counters in part.strata.items()
    ]
    rows = [(*known, NO_REPORT if newest is None else newest) for *known, newest in facts]
    return make_label_differences(size, np.asarray(rows, dtype=np.int64).T, sides, as_of)
