"""Facts of panes: side by side in columns, and as a difference moves them."""

from collections.abc import Iterable
from operator import attrgetter

import numpy as np

from monitor.core.array_types import Ints
from monitor.records.labels.label_differences import NO_REPORT
from monitor.specs.stored_rows import PaneFacts

_COLUMNS = attrgetter("start", "counted_as_of", "rows", "records", "labelled", "checksum", "labelled_as_of")


def moved_fact(fact: PaneFacts, labelled: int, checksum: int, newest: int, as_of: int) -> PaneFacts:
    """Facts of a labels part once so many labelled records are added, and the checksum has moved."""
    return PaneFacts(
        start=fact.start,
        part=fact.part,
        counted_as_of=fact.counted_as_of,
        labelled_as_of=as_of,
        layout=fact.layout,
        mapping=fact.mapping,
        rows=fact.rows,
        newest=fact.newest
        if newest == NO_REPORT
        else max(newest, NO_REPORT if fact.newest is None else fact.newest),
        records=fact.records,
        labelled=fact.labelled + labelled,
        checksum=(fact.checksum + checksum) % 2**63,
    )


def make_fact_columns(facts: Iterable[PaneFacts]) -> Ints:
    """Columns of facts, int64, ascending by start: see `_COLUMNS`."""
    rows = sorted(_COLUMNS(fact) for fact in facts)
    return np.asarray(rows, dtype=np.int64).reshape(-1, 7).T.copy()


def outdated_label_panes(records: Ints, labels: Ints) -> Ints:
    """Starts of panes whose records were counted later than their labels, and are others.

    Parameters
    ----------
    records, labels
        columns of the facts of both parts.
    """
    if labels.shape[1] == 0:
        everything: Ints = records[0]
        return everything
    beside = labels[:, np.minimum(np.searchsorted(labels[0], records[0]), labels.shape[1] - 1)]
    behind = (beside[1] < records[1]) & (beside[3] != records[3])
    starts: Ints = records[0, (beside[0] != records[0]) | behind]
    return starts


def replace_columns(columns: Ints, new: Ints) -> Ints:
    """Columns with those of the same start replaced."""
    joined = np.concatenate([columns[:, ~np.isin(columns[0], new[0])], new], axis=1)
    return joined[:, np.argsort(joined[0])]
