"""Performance of a window by the labels so far, weighed: rows of the truth `nowcast`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from monitor.core.clock import DAY
from monitor.core.measurement import Reason
from monitor.core.typing import Floats, Ints
from monitor.measures.nowcast import LEAST_RECORDS, LEAST_SHARE, absent, class_totals, results, weighed
from monitor.measures.options import Result
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.windows.due import Truths
from monitor.pipeline.windows.target import Target
from monitor.pipeline.windows.weights import believed, covariance, shares_of
from monitor.records.pane import Part
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.windows.shares import COMPLETE, Shares

_ONE_WEIGHT = 0.01  # panes of a day whose shares differ by less, relatively, are merged first: a delay cell


@dataclass(frozen=True, slots=True)
class _Spans:
    """Panes of some spans: their starts, when labels were last heard of, records, and labels that are in."""

    start: Ints
    heard: Ints
    records: Ints
    labelled: Ints


def nowcast_rows(target: Target, truths: Truths) -> list[MeasurementRow]:
    """Rows of a window of a model with labels; of the whole alone.

    Cost: the non-zero counters of the panes whose labels still come, and of the sums of days before them.
    """
    spans = [(target.start, target.end)]
    panes = _panes(truths, spans)
    measured = nowcast(target, truths, spans)
    records = int(panes.records.sum())
    coverage = int(panes.labelled.sum()) / records if records else None
    return [target.row(result, Truth.NOWCAST, WHOLE, coverage) for result in measured]


def nowcast(target: Target, truths: Truths, spans: Sequence[tuple[int, int]]) -> list[Result]:
    """Every nowcast of some spans of panes together.

    `too_early` where nothing tells how late labels are, or too few records remain: those of panes of which
    each class has at least a fifth of its labels.
    """
    counting, options = target.model.counting, target.options
    panes = _panes(truths, spans)
    records, labels = int(panes.records.sum()), int(panes.labelled.sum())
    if records == 0:
        return absent(counting, Reason.NO_LABELS, options, n=0)
    if not believed(truths):
        return absent(counting, Reason.TOO_EARLY, options, n=labels)
    pane = counting.reading.pane
    shares = shares_of(truths.ages.curves, panes.heard, panes.start, pane)
    used = shares.are_in(LEAST_SHARE)
    if panes.records[used].sum() < LEAST_RECORDS * records:
        return absent(counting, Reason.TOO_EARLY, options, n=labels)
    start, kept = panes.start[used], Shares(shares.share[used], shares.variance[used])
    pieces, merged = _pieces(target, truths, spans, start, kept)
    spread = covariance(
        truths.ages.curves,
        target.caches.panes.delay_counts,
        merged,
        class_totals(counting, pieces),
        heard=truths.spoken,
        window=(min(first for first, _ in spans), max(last for _, last in spans)),
    )
    return list(results(weighed(counting, pieces, merged.share, spread), options))


def _panes(truths: Truths, spans: Sequence[tuple[int, int]]) -> _Spans:
    panes = truths.panes
    inside = np.zeros(len(panes.start), dtype=bool)
    for start, end in spans:
        inside |= (panes.start >= start) & (panes.start < end)
    heard = np.minimum(panes.counted_as_of[inside], truths.spoken)
    return _Spans(panes.start[inside], heard, panes.records[inside], panes.labelled[inside])


def _pieces(
    target: Target, truths: Truths, spans: Sequence[tuple[int, int]], start: Ints, shares: Shares
) -> tuple[list[Counters], Shares]:
    """Panes by weight: complete days together, days of one weight, all other panes one by one."""
    panes = target.caches.panes
    day, first = np.unique(start // DAY, return_index=True)
    bounds = [*first.tolist(), len(start)]
    pieces: list[Counters] = []
    at: list[tuple[Floats, Floats]] = []

    def weigh(whole: Counters | None, rows: slice) -> None:
        if whole is not None:
            pieces.append(whole)
            at.append((shares.share[rows].mean(axis=0), shares.variance[rows].mean(axis=0)))

    runs: list[tuple[slice, int, int, bool]] = []
    for days in _runs(day.tolist(), [shares.share[slice(*each)] for each in pairwise(bounds)], spans):
        rows = slice(bounds[days.start], bounds[days.stop])
        begin, end = int(day[days.start]) * DAY, (int(day[days.stop - 1]) + 1) * DAY
        share = shares.share[rows]
        inside = any(first <= begin and end <= last for first, last in spans)
        alike = (share.min(axis=0) >= (1 - _ONE_WEIGHT) * share.max(axis=0)).all()
        runs.append((rows, begin, end, bool(inside and alike)))
    apart = (start[rows].tolist() for rows, _, _, together in runs if not together)
    unread = [one for starts in apart for one in starts if one not in truths.read]
    read = panes.each(Part.LABELS, unread)
    truths.read.update((one, strata.get(WHOLE)) for one, strata in zip(unread, read, strict=True))
    for rows, begin, end, together in runs:
        if together:
            kept = end - begin > DAY
            weigh(panes.window(Part.LABELS, begin, end, strata=False, kept=kept).get(WHOLE), rows)
        else:
            for row, one in enumerate(start[rows].tolist(), rows.start):
                weigh(truths.read[one], slice(row, row + 1))
    none = np.empty((0, shares.share.shape[1]))
    stacked = (np.stack([pair[side] for pair in at]) if at else none for side in (0, 1))
    return pieces, Shares(*stacked)


def _runs(days: Sequence[int], shares: Sequence[Floats], spans: Sequence[tuple[int, int]]) -> list[range]:
    """Positions of days, one by one; those that follow one another, complete and within a span, together."""
    runs: list[range] = []
    complete = [
        bool((share >= COMPLETE).all())
        and any(begin <= day * DAY and (day + 1) * DAY <= end for begin, end in spans)
        for day, share in zip(days, shares, strict=True)
    ]
    for at, whole in enumerate(complete):
        if whole and at and complete[at - 1] and days[at] == days[at - 1] + 1:
            runs[-1] = range(runs[-1].start, at + 1)
        else:
            runs.append(range(at, at + 1))
    return runs
