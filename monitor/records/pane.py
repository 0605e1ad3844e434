"""A part of a pane: what was counted of one tile of event time, as of one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what only reads the store does without NumPy
    from monitor.states.counters import Counters
    from monitor.states.strata import Stratum


class PaneHalf(StrEnum):
    """The two parts of a pane."""

    RECORDS = "records"
    LABELS = "labels"


@dataclass(frozen=True, slots=True)
class PanePart:
    """Counters of a pane by stratum, and the facts by which the source is compared with it."""

    start: int  # microseconds; the pane is [start, start + width)
    # the whole and every stratum that has records; empty for a pane without records.
    strata: Mapping[Stratum, Counters]
    # records part: rows read, repeats included; labels part: those of them that were taken, one a record.
    rows: int = 0
    # largest `logged_at` (records) or `reported_at` (labels) among them, None without any.
    newest: int | None = None
    # records, labelled: of the whole.
    records: int = 0
    labelled: int = 0
    # records part: the moments of its rows; labels part: which record has which label. See
    # `monitor.records.label_checksum`.
    checksum: int = 0


@dataclass(frozen=True, slots=True)
class CountedPanes:
    """Parts of panes as they were counted just now, the rows read for them, features without a column."""

    parts: Sequence[PanePart]
    rows: int
    missing: tuple[str, ...] = ()
