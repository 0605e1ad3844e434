"""Performance of a window by the labels so far, its panes weighed: rows of the truth `nowcast`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import DAY, SECOND
from monitor.core.measurement import Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.nowcast import (
    LEAST_RECORDS,
    LEAST_SHARE,
    absent_nowcasts,
    count_class_labels,
    nowcast_results,
    weight_labels,
)
from monitor.pipeline.delay_counts import DelayCounts
from monitor.pipeline.windows.due_windows import LabelArrivals
from monitor.pipeline.windows.window_target import WindowTarget
from monitor.records.counting import DELAY_EDGES
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.windows.label_shares import COMPLETE, LabelShares, ReportedSteps, look_back_covariance
from monitor.windows.settling import DelayCurve, limit_heard_time, measure_heard_time

_EDGES: Floats = np.asarray(DELAY_EDGES)
MARGIN = 1.25  # times the age of 99 % that the log must show, before the curves are believed
_KNOWN = 0.9  # share of a step's labels from which on one looks back at it
_ONE_WEIGHT = 0.01  # panes of a day whose shares differ by less, relatively, are merged first: a delay cell


@dataclass(frozen=True, slots=True)
class _SpanPanes:
    """Panes of some spans: their starts, when labels were last heard of, records, and labels that are in."""

    start: Ints
    heard: Ints
    records: Ints
    labelled: Ints


def nowcast_rows(target: WindowTarget, truths: LabelArrivals) -> list[MeasurementRow]:
    """Rows of a window of a model with labels; of the whole alone.

    Cost: the non-zero counters of the panes whose labels still come, and of the sums of days before them.
    """
    spans = [(target.start, target.end)]
    panes = _panes_in_spans(truths, spans)
    results = nowcast_pooled_spans(target, truths, spans)
    records = int(panes.records.sum())
    coverage = int(panes.labelled.sum()) / records if records else None
    return [target.result_row(result, LabelTruth.NOWCAST, WHOLE, coverage) for result in results]


def nowcast_pooled_spans(
    target: WindowTarget, truths: LabelArrivals, spans: Sequence[tuple[int, int]]
) -> list[MeasureResult]:
    """Every nowcast of some spans of panes together.

    `too_early` where nothing tells how late labels are, or too few records remain: those of panes of which
    each class has at least a fifth of its labels.
    """
    counting, options = target.model.counting, target.options
    panes = _panes_in_spans(truths, spans)
    records, labels = int(panes.records.sum()), int(panes.labelled.sum())
    if records == 0:
        return absent_nowcasts(counting, Reason.NO_LABELS, options, n=0)
    if not are_delays_reliable(truths):
        return absent_nowcasts(counting, Reason.TOO_EARLY, options, n=labels)
    pane = counting.reading.pane
    shares = estimate_label_shares(truths.ages.curves, panes.heard, panes.start, pane)
    used_mask = shares.are_complete(LEAST_SHARE)
    # The youngest panes would weigh few labels by a lot. They are left out, unless too little of the window
    # is left to speak for it.
    if panes.records[used_mask].sum() < LEAST_RECORDS * records:
        return absent_nowcasts(counting, Reason.TOO_EARLY, options, n=labels)
    start, kept = panes.start[used_mask], LabelShares(shares.share[used_mask], shares.variance[used_mask])
    pieces, merged = _weigh_pieces(target, truths, spans, start, kept)
    spread = total_covariance(
        truths.ages.curves,
        target.caches.panes.delay_counts,
        merged,
        count_class_labels(counting, pieces),
        last_heard=truths.spoken,
        window=(min(first for first, _ in spans), max(last for _, last in spans)),
    )
    return list(nowcast_results(weight_labels(counting, pieces, merged.share, spread), options))


def _panes_in_spans(truths: LabelArrivals, spans: Sequence[tuple[int, int]]) -> _SpanPanes:
    panes = truths.panes
    inside = np.zeros(len(panes.start), dtype=bool)
    for start, end in spans:
        inside |= (panes.start >= start) & (panes.start < end)
    heard = np.minimum(panes.counted_as_of[inside], truths.spoken)
    return _SpanPanes(panes.start[inside], heard, panes.records[inside], panes.labelled[inside])


def _weigh_pieces(
    target: WindowTarget,
    truths: LabelArrivals,
    spans: Sequence[tuple[int, int]],
    start: Ints,
    shares: LabelShares,
) -> tuple[list[Counters], LabelShares]:
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
    for days in _group_complete_days(
        day.tolist(), [shares.share[slice(*each)] for each in pairwise(bounds)], spans
    ):
        rows = slice(bounds[days.start], bounds[days.stop])
        begin, end = int(day[days.start]) * DAY, (int(day[days.stop - 1]) + 1) * DAY
        share = shares.share[rows]
        inside = any(first <= begin and end <= last for first, last in spans)
        # Panes of nearly one weight are added up first, as integers, and weighed once.
        alike = (share.min(axis=0) >= (1 - _ONE_WEIGHT) * share.max(axis=0)).all()
        runs.append((rows, begin, end, bool(inside and alike)))
    apart = (start[rows].tolist() for rows, _, _, together in runs if not together)
    # One query for all of them; another window of this moment that holds them asks for none.
    unread = [one for starts in apart for one in starts if one not in truths.read]
    read = panes.read_panes(PaneHalf.LABELS, unread)
    truths.read.update((one, strata.get(WHOLE)) for one, strata in zip(unread, read, strict=True))
    for rows, begin, end, together in runs:
        if together:
            # A run of complete days is much the same in the next cycle, a single day is packed as a sum
            # anyway.
            kept = end - begin > DAY
            weigh(panes.sum_window(PaneHalf.LABELS, begin, end, strata=False, kept=kept).get(WHOLE), rows)
        else:
            for row, one in enumerate(start[rows].tolist(), rows.start):
                weigh(truths.read[one], slice(row, row + 1))
    none = np.empty((0, shares.share.shape[1]))
    stacked = (np.stack([pair[side] for pair in at]) if at else none for side in (0, 1))
    return pieces, LabelShares(*stacked)


def _group_complete_days(
    days: Sequence[int], shares: Sequence[Floats], spans: Sequence[tuple[int, int]]
) -> list[range]:
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


def are_delays_reliable(truths: LabelArrivals) -> bool:
    """Whether the log is old enough to show nearly all delays that there are, and has enough of them.

    Of two classes each needs enough of its own: how they differ is what nowcasts stand on.
    """
    ages, rule = truths.ages, truths.rule
    if not ages.curves or (ages.few and len(ages.curves) == 2):
        return False
    return measure_heard_time(truths.panes, rule) >= limit_heard_time(MARGIN * ages.nearly_all, rule)


def estimate_label_shares(
    curves: tuple[DelayCurve, ...], heard: Ints | int, start: Ints, width: int
) -> LabelShares:
    """Shares of spans of one width, as of when they were last heard of; all in microseconds."""
    age = (heard - start - width) / SECOND
    return LabelShares.from_curves(curves, _EDGES, age, np.full(len(start), width / SECOND))


def total_covariance(
    curves: tuple[DelayCurve, ...],
    delays: DelayCounts,
    shares: LabelShares,
    labels: Ints,
    *,
    last_heard: int,
    window: tuple[int, int],
) -> Floats:
    """Covariance of the relative errors of the classes' totals: the curves' own, and what looking back shows.

    Parameters
    ----------
    shares
        of the window's panes that are weighed.
    labels
        int64, shape (panes, classes): theirs.
    """
    totals = labels / shares.share
    own = np.diag(shares.total_variance(totals))
    step = delays.step
    first, count = delays.count_delays_by_step(last_heard)
    if count.shape[1] == 0:
        return own
    lags = np.arange(count.shape[2]) * step
    by_lag = estimate_label_shares(curves, 0, -lags - step, step)
    starts = (first + np.arange(count.shape[1])) * step
    is_known = estimate_label_shares(curves, last_heard, starts, step).are_complete(_KNOWN)
    behind = range(max(0, (last_heard - window[1]) // step), -((window[0] - last_heard) // step))
    looked = look_back_covariance(ReportedSteps(count, by_lag.share, is_known), behind, LEAST_SHARE)
    still_to_come: Bools = shares.share.min(axis=1) < COMPLETE
    # Looking back shows the error of what is still open: panes that are all in have no part in it.
    part = totals[still_to_come].sum(axis=0) / np.maximum(totals.sum(axis=0), 1.0)
    summed: Floats = own + looked * np.outer(part, part)
    return summed
