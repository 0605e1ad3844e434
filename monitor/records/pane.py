"""A part of a pane: what was counted of one tile of event time, as of one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what only reads the store does without NumPy
    from monitor.states.counters import Counters, Layout
    from monitor.states.strata import Stratum


class Part(StrEnum):
    """The two parts of a pane."""

    RECORDS = "records"
    LABELS = "labels"


@dataclass(frozen=True, slots=True)
class PanePart:
    """Counters of a pane by stratum, and the facts by which the source is compared with it.

    Parameters
    ----------
    start
        microseconds; the pane is [start, start + width).
    strata
        the whole and every stratum that has records; empty for a pane without records.
    rows
        records part: rows read, repeats included; labels part: those of them that were taken, one a record.
    newest
        largest `logged_at` (records) or `reported_at` (labels) among them, None without any.
    records, labelled
        of the whole.
    checksum
        records part: the moments of its rows; labels part: which record has which label. See
        `monitor.records.checksum`.
    """

    start: int
    strata: Mapping[Stratum, Counters]
    rows: int = 0
    newest: int | None = None
    records: int = 0
    labelled: int = 0
    checksum: int = 0


def moved_parts(
    layout: Layout, stood: Sequence[PanePart], pairs: Sequence[tuple[PanePart, PanePart]]
) -> list[PanePart | None]:
    """Labels parts with what some of their records add now in place of what these added before.

    Equal to whole counts, if all were counted of the same rows. None: they were not, since a count would fall
    below 0, a stratum is not there, or more would be labelled than there are records.

    Parameters
    ----------
    pairs
        what the records added, and what they add now, of each part.
    """
    from monitor.states.counters import moved_all

    sound = [
        after.strata.keys() <= part.strata.keys()
        and part.labelled + after.labelled - before.labelled <= part.records
        for part, (before, after) in zip(stood, pairs, strict=True)
    ]
    moves = [
        (part.strata[stratum], [before.strata[stratum]], [counters])
        for part, (before, after), can_be in zip(stood, pairs, sound, strict=True)
        if can_be
        for stratum, counters in after.strata.items()
    ]
    counted = iter(moved_all(layout, moves))
    parts: list[PanePart | None] = []
    for part, (before, after), can_be in zip(stood, pairs, sound, strict=True):
        new = {stratum: next(counted) for stratum in after.strata} if can_be else {}
        known = {stratum: counters for stratum, counters in new.items() if counters is not None}
        newest = [moment for moment in (part.newest, after.newest) if moment is not None]
        moved = replace(
            part,
            strata={**part.strata, **known},
            newest=max(newest, default=None),
            labelled=part.labelled + after.labelled - before.labelled,
            checksum=(part.checksum - before.checksum + after.checksum) % 2**63,
        )
        parts.append(moved if can_be and len(known) == len(new) else None)
    return parts


@dataclass(frozen=True, slots=True)
class CountedPanes:
    """Parts of panes as they were counted just now, the rows read for them, features without a column."""

    parts: Sequence[PanePart]
    rows: int
    missing: tuple[str, ...] = ()
