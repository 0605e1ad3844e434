"""Comparisons that go on: what has settled since a moment enters once, and is never taken back.

Panes enter in the order of their event time, a day at a time (a pane, if it is longer), when the day is
settled, or, of what needs no labels, counted and over. What is corrected later changes windows, not these
sums: a test that is looked at again and again would not stay valid. Days that leave the horizon before they
can enter never do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from monitor.core.clock import DAY
from monitor.core.typing import Ints
from monitor.measures.options import Result
from monitor.measures.rows import CUMULATIVE, MeasurementRow, Truth
from monitor.pipeline.model import Monitored
from monitor.pipeline.sequential.ledger import Ledger
from monitor.pipeline.sequential.tests import Comparison, comparisons_of
from monitor.pipeline.windows.due import Truths
from monitor.records.pane import Part
from monitor.specs.rows import Entry, ModelState
from monitor.windows.settling import Settled


@dataclass(frozen=True, slots=True)
class Entered:
    """What a cycle adds.

    Parameters
    ----------
    rows
        of all comparisons, and `kept` of those to which something was added.
    ledgers
        by comparison and key, to be remembered once the entries are committed.
    """

    entries: list[Entry] = field(default_factory=list)
    rows: list[MeasurementRow] = field(default_factory=list)
    kept: list[MeasurementRow] = field(default_factory=list)
    ledgers: dict[tuple[str, str], Ledger] = field(default_factory=dict)


def enter(monitored: Monitored, state: ModelState, truth: Truths, lacking: Ints) -> Entered:
    """Let in what can enter now, and measure everything that has entered.

    Parameters
    ----------
    lacking
        int64, ascending: starts of panes that are not counted.
    """
    found = Entered()
    going_on = comparisons_of(monitored.spec, monitored.counting)
    if state.oldest is None or not going_on:
        return found
    known = _ledgers(monitored) if monitored.ledgers is None else monitored.ledgers
    for one in going_on:
        ledger = known.get((one.name, one.key), Ledger(one.nothing))
        entries = list(_entries(monitored, one, ledger, _days(monitored, one, ledger, state, truth, lacking)))
        for entry in entries:
            ledger = ledger.after(entry)
        rows = [_row(one, ledger, truth.as_of, result) for result in one.results(ledger)]
        found.entries.extend(entries)
        found.rows.extend(rows)
        found.kept.extend(rows if entries else [])
        found.ledgers[one.name, one.key] = ledger
    return found


def _ledgers(monitored: Monitored) -> dict[tuple[str, str], Ledger]:
    found: dict[tuple[str, str], Ledger] = {}
    for entry in monitored.store.entries(monitored.name):
        key = entry.comparison, entry.key
        found[key] = found.get(key, Ledger(entry.total)).after(entry)
    return found


def _days(
    monitored: Monitored, one: Comparison, ledger: Ledger, state: ModelState, truth: Truths, lacking: Ints
) -> Iterator[tuple[int, int, int]]:
    """(start, end, as of) of the days that enter: the first that has not, and those after it."""
    step = max(DAY, monitored.counting.reading.pane)
    first = monitored.oldest_pane(truth.as_of)
    if ledger.end is None:
        first = max(first, monitored.first_counted(state), one.since or 0)
    start = max(-(-first // step) * step, ledger.end or 0)
    while _is_over(monitored, one, (start, start + step), truth, lacking):
        yield start, start + step, truth.as_of
        start += step


def _is_over(
    monitored: Monitored, one: Comparison, span: tuple[int, int], truth: Truths, lacking: Ints
) -> bool:
    """Whether nothing of a span is expected any more: it is settled, or all of it is counted."""
    if span[1] > truth.as_of - monitored.spec.ready_after:
        return False
    if one.part is Part.LABELS:
        return truth.of_span(*span) is not Settled.NO
    first, last = np.searchsorted(lacking, span)
    return bool(first == last)


def _entries(
    monitored: Monitored, one: Comparison, ledger: Ledger, days: Iterator[tuple[int, int, int]]
) -> Iterator[Entry]:
    pane = monitored.counting.reading.pane
    for start, end, as_of in days:
        panes = [
            one.counts(monitored.panes.window(one.part, at, at + pane)) for at in range(start, end, pane)
        ]
        total, most = ledger.looked(panes, one.evidence)
        entry = Entry(
            comparison=one.name,
            key=one.key,
            start=start,
            end=end,
            as_of=as_of,
            entered=tuple(map(sum, zip(*panes, strict=True))),
            total=total,
            most=most,
        )
        ledger = ledger.after(entry)
        yield entry


def _row(one: Comparison, ledger: Ledger, as_of: int, result: Result) -> MeasurementRow:
    return MeasurementRow(
        window=CUMULATIVE,
        window_end=as_of if ledger.end is None else ledger.end,
        truth=Truth.SETTLED if one.part is Part.LABELS else Truth.NONE,
        version=None,
        segment=None,
        measure=result.measure,
        subject=result.subject,
        measurement=result.measurement,
    )
