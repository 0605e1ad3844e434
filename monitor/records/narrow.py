"""Counts of more features than are asked for, as counts of those that are: no record is read.

Exact where no id repeats: of rows that tie, one is chosen by all that is counted of them.
"""

import numpy as np

from monitor.core.typing import Ints
from monitor.records.counting import VOLUME, Counting
from monitor.records.pane import PanePart
from monitor.states.counters import Counters, Layout
from monitor.states.strata import WHOLE

_GONE = -1
_POWERS = 2  # sums of a number: of its deviation, and of the square


def places(old: Counting, new: Counting) -> Ints | None:
    """Where each counter of the old layout of records stands in the new one, -1 if nowhere.

    None where the new layout counts what the old one does not, on other grids, or by other segments.
    """
    if old.segments != new.segments:
        return None
    found = np.full(old.records.size, _GONE, dtype=np.int64)
    for block in new.records.blocks:
        before = old.records.by_name.get(block.name)
        if before is None:
            return None
        taken = np.arange(before.size)
        if block.name == "moments" and set(new.summed) <= set(old.summed):
            columns = [old.summed.index(name) for name in new.summed]
            taken = taken.reshape(-1, len(old.summed), _POWERS)[:, columns].ravel()
        elif before != block:
            return None
        first = new.records.offsets[block.name]
        found[old.records.offsets[block.name] + taken] = np.arange(first, first + block.size)
    return found


def hangs_on_features(part: PanePart) -> bool:
    """Whether ids repeat in a part of records, of which any feature may decide the row that counts.

    Or whether it holds unusual names, which are counted of all features together.
    """
    whole = part.strata.get(WHOLE)
    if whole is None:
        return False
    repeats = whole.block("volume")[VOLUME.index("duplicates")]
    return bool(repeats or whole.block("unusual_names")[0])


def narrowed(part: PanePart, where: Ints, layout: Layout) -> PanePart:
    """A part on the new layout.

    Parameters
    ----------
    where
        see `places`.
    """
    strata = {}
    for stratum, counters in part.strata.items():
        index = where[counters.index]
        order = np.argsort(index)[np.count_nonzero(index == _GONE) :]
        strata[stratum] = Counters(layout, index[order], counters.value[order])
    return PanePart(part.start, strata, part.rows, part.newest, part.records, part.labelled, part.checksum)
