"""Panes of a width merged to panes of a multiple of it: exact, no record is counted again."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from monitor.core.clock import DAY, MINUTE, floor_to
from monitor.records.checksum import wrapped
from monitor.records.pane import PanePart
from monitor.states.counters import Layout
from monitor.windows.fold import fold

_A_DAY = DAY // MINUTE


def widened(layout: Layout, parts: Iterable[PanePart], pane: int) -> list[PanePart]:
    """Parts of panes of width `pane`, each the sum of those that begin in it, by start.

    A record whose id stands in several of the narrow panes stays counted in each of them.
    """
    by_start: dict[int, list[PanePart]] = defaultdict(list)
    for part in parts:
        by_start[floor_to(part.start, pane)].append(part)
    return [_sum(layout, start, by_start[start]) for start in sorted(by_start)]


def divisors(pane: int) -> list[int]:
    """Narrower widths of which a pane is a multiple: whole minutes that divide a day, and whole days."""
    minutes = (count * MINUTE for count in range(1, _A_DAY + 1) if _A_DAY % count == 0)
    days = (count * DAY for count in range(2, pane // DAY))
    return [width for width in (*minutes, *days) if width < pane and pane % width == 0]


def _sum(layout: Layout, start: int, parts: list[PanePart]) -> PanePart:
    newest = [part.newest for part in parts if part.newest is not None]
    checksums = np.asarray([part.checksum for part in parts], dtype=np.int64)
    return PanePart(
        start=start,
        strata=fold(layout, (part.strata for part in parts)),
        rows=sum(part.rows for part in parts),
        newest=max(newest, default=None),
        records=sum(part.records for part in parts),
        labelled=sum(part.labelled for part in parts),
        checksum=int(wrapped(checksums.sum())),
    )
