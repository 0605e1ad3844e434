"""What several references together lead one to expect."""

from dataclasses import dataclass

import numpy as np

from monitor.core.typing import Counts, Floats
from monitor.states.counters import Counters


@dataclass(frozen=True, slots=True)
class Mixture:
    """Records parts of references, and the share w of a window's records that each is compared with.

    The expected shares are q = Σ w·q_r, and their uncertainty is that of m records: 1/m = Σ w²/m_r, the
    variance of a sum of independent shares.

    Parameters
    ----------
    parts
        (share, counters) of distinct references on one layout; the shares add up to 1.
    """

    parts: tuple[tuple[float, Counters], ...]

    def dense(self) -> Floats:
        """Expected counters m·q of all blocks; a block that a reference did not count is empty."""
        layout = self.parts[0][1].layout
        shares = np.asarray([share for share, _ in self.parts])
        counted = np.stack([counters.dense() for _, counters in self.parts])
        expected = np.zeros(layout.size)
        for block in layout.blocks:
            expected[layout.slice(block.name)] = mixed_cells(shares, counted[:, layout.slice(block.name)])
        return expected


def mixed_cells(shares: Floats, cells: Counts) -> Floats:
    """Expected counts m·q of one block's cells, shape (references, cells); 0 where a reference has none."""
    records = cells.sum(axis=1)
    if not (records > 0).all():
        return np.zeros(cells.shape[1])
    worth = 1 / (shares**2 / records).sum()
    mixed: Floats = worth * ((shares / records)[:, None] * cells).sum(axis=0)
    return mixed
