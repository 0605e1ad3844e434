"""Which event times a cycle and an audit ask a source for: half-open ranges in microseconds. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.core.clock import DAY, FIRST, floor_to, from_iso
from monitor.records.reading import ReadingOptions
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range

OLDEST_LOG = from_iso("1990-01-01")  # nobody logged predictions before
AHEAD = 3_652 * DAY  # ten years: no replay of a log goes back further


@dataclass(frozen=True, slots=True)
class AuditRanges:
    """What an audit looks through."""

    log: Range  # all rows, and rows without an id or an event time
    repeated: Range  # ids that stand in several panes
    orphans: Range  # by the time of their report: labels that no audit has looked at
    recent: Range  # event times that rows logged since the last audit may have: cycles or audits read them
    # event times that any row may have, whenever it was logged: old ones may be the log's own past, and a
    # replay of a log that does not say when rows came sees what was then to come.
    ever: Range


def oldest_pane(reading: ReadingOptions, as_of: int) -> int:
    """Start of the oldest pane within the horizon: the horizon is cut at a pane's start."""
    return -(-(as_of - reading.horizon) // reading.pane) * reading.pane


def changed_records_range(spec: ModelSpec, reading: ReadingOptions, as_of: int, *, first: bool) -> Range:
    """Event times among which new records are looked for.

    Parameters
    ----------
    first
        no cycle was before: else the last ones, where no column tells which rows are new.
    """
    bounds = _horizon_range(reading, as_of)
    return (
        bounds
        if first or spec.predictions.column_of("logged_at") is not None
        else _lookback_range(spec, bounds, as_of)
    )


def changed_labels_range(spec: ModelSpec, reading: ReadingOptions, as_of: int) -> Range:
    """Event times among which new labels are looked for: those of all records within the horizon.

    Where no column tells which labels are new, of the last ones.
    """
    bounds = _horizon_range(reading, as_of)
    dated = spec.labels is not None and spec.labels.column_of("reported_at") is not None
    return bounds if dated else _lookback_range(spec, bounds, as_of)


def pane_ranges(starts: Sequence[int], pane: int) -> list[Range]:
    """Event times of ascending panes, at least one, neighbours merged."""
    edges = np.asarray(starts, dtype=np.int64)
    breaks = np.flatnonzero(np.diff(edges) != pane)
    first = edges[np.concatenate([[0], breaks + 1])]
    last = edges[np.concatenate([breaks, [len(edges) - 1]])] + pane
    return list(zip(first.tolist(), last.tolist(), strict=True))


def counted_ranges(starts: Sequence[int], reading: ReadingOptions, as_of: int) -> list[Range]:
    """Event times of panes that are counted: rows in the future wait."""
    latest = as_of + reading.tolerance + 1
    return [(first, min(last, latest)) for first, last in pane_ranges(starts, reading.pane)]


def audit_ranges(reading: ReadingOptions, as_of: int, audited: int | None = None) -> AuditRanges:
    """What an audit looks through: two horizons, and one to come.

    Parameters
    ----------
    audited
        as of of the audit before; None: there was none.
    """
    first, last = as_of - 2 * reading.horizon, as_of + reading.horizon
    return AuditRanges(
        log=(first, last),
        repeated=(first, as_of + reading.tolerance + 1),
        orphans=(first if audited is None else max(first, audited + 1), as_of + 1),
        recent=((as_of if audited is None else audited) - 2 * reading.horizon, last),
        ever=(OLDEST_LOG if as_of - AHEAD > OLDEST_LOG else FIRST, as_of + max(reading.horizon, AHEAD)),
    )


def _horizon_range(reading: ReadingOptions, as_of: int) -> Range:
    return oldest_pane(reading, as_of), as_of + reading.tolerance + 1


def _lookback_range(spec: ModelSpec, bounds: Range, as_of: int) -> Range:
    return max(bounds[0], floor_to(as_of - spec.keys.reading.lookback, spec.reading.pane)), bounds[1]
