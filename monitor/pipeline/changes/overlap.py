"""Which rows will the next search see again? Those that became visible within the overlap of the newest."""

from dataclasses import dataclass, field

import numpy as np

from monitor.core.typing import Ints


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Overlap:
    """Rows of the last `width` before the newest one so far: memory grows with these only.

    Parameters
    ----------
    width
        microseconds.
    newest
        when the newest row became visible: of an earlier search, to begin with.
    start, seen
        pane of each row, and when it became visible.
    """

    width: int
    newest: int
    start: Ints = field(default_factory=_none)
    seen: Ints = field(default_factory=_none)

    def add(self, start: Ints, seen: Ints) -> None:
        """Take in further rows, in any order."""
        self.newest = int(seen.max(initial=self.newest))
        start, seen = np.concatenate([self.start, start]), np.concatenate([self.seen, seen])
        kept = seen >= self.newest - self.width
        self.start, self.seen = start[kept], seen[kept]

    def by_pane(self) -> tuple[tuple[int, int], ...]:
        """Starts of the panes that hold any of these rows, and their number."""
        starts, counts = np.unique(self.start, return_counts=True)
        return tuple(zip(starts.tolist(), counts.tolist(), strict=True))
