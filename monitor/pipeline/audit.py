"""The audit: once a day the log is compared with what is stored, and what has no pane is counted."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.clock import to_iso
from monitor.core.errors import SourceUnavailable
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.statistics.intervals import rate_measurement
from monitor.pipeline.changes.dirty_panes import ChangedPanes
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.pane_counting import chunk_starts
from monitor.pipeline.windows.log_rows import log_row
from monitor.records.label_checksum import checksum_of_moments
from monitor.records.labels.count_labels import sum_label_facts
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reading import ReadingOptions
from monitor.records.winning_rows import DatedRows, parse_dated_rows
from monitor.specs.protocols import MisdatedRows
from monitor.specs.read_ranges import audit_ranges, pane_ranges
from monitor.specs.stored_rows import HistoryEvent, PaneFacts, WaitingPane

MISDATED, MISDATED_RATE, ORPHANS = "misdated_records", "misdated_rate", "orphan_labels"
SINCE_AUDIT = MISDATED, MISDATED_RATE, ORPHANS  # of rows and labels that came since the audit before
WRONG = "label_differences_wrong"  # kind of event
DECIDED = "recounted"  # the kind that ends it


@dataclass(frozen=True, slots=True)
class AuditFindings:
    """Panes that differ from the log, and figures of the rows that have no pane."""

    as_of: int | None
    waiting: list[WaitingPane] = field(default_factory=list)
    rows: tuple[MeasurementRow, ...] = ()
    # starts of panes whose labels were moved by differences, and are others now; not those that merely have
    # more labels: these became visible late.
    wrong: tuple[int, ...] = ()


def audit_log(
    model: CycleModel,
    panes: ModelPanes,
    changes: ChangedPanes,
    before: tuple[MeasurementRow, ...],
    as_of: int,
    *,
    labels: bool = True,
) -> AuditFindings:
    """Audit the log if it is time.

    Rows gone at the old end of the log are its own retention: panes that begin before its oldest row are
    left alone, but for the labels of the newest of them where all of its rows are there. Labels are compared
    pane by pane, except where they have just been, or are about to be, counted. Cost: two columns of two
    horizons' rows, and of the rows logged since the audit before; of about `recount_rows` rows the narrow
    columns that tell the labels. A log with k times as many has each pane's labels compared by every k-th
    audit.

    Parameters
    ----------
    before
        figures of the last audit, which stay until the next one.
    labels
        whether labels are compared: not with each tick of a replay, which lives a year in minutes.
    """
    state = changes.state
    recent = state.audited_as_of is not None and as_of - state.audited_as_of < model.audit_every
    if recent and not changes.lost:
        return AuditFindings(state.audited_as_of, rows=before)
    reading = model.reading
    ranges = audit_ranges(reading, as_of, state.audited_as_of)
    misdated_rows = model.source.count_misdated_rows(
        model.spec, since=state.audited_as_of, as_of=as_of, recent=ranges.recent, ever=ranges.ever
    )
    batches = model.source.read_changed_records(model.spec, since=None, as_of=as_of, bounds=ranges.log)
    log = _read_log(parse_dated_rows(batches, "logged_at", reading), reading, as_of)
    figures = {
        **log.figures,
        **model.source.count_incomplete_rows(model.spec, as_of=as_of, bounds=ranges.log),
    }
    measurements = {name: _count_figure(count) for name, count in figures.items()}
    if reading.labelled:
        orphans = model.source.count_orphans(model.spec, ranges.orphans)
        measurements[ORPHANS] = _count_figure(orphans)
    measurements["repeated_ids"] = _measure_repeated_ids(model, as_of, ranges.repeated)
    since_last = ranges.log[0] if state.audited_as_of is None else state.audited_as_of
    measurements |= _measure_misdated_rows(model, misdated_rows, log, before, since_last)
    rows = tuple(log_row(as_of, name, measurements[name]) for name in sorted(measurements))
    if not log.panes:
        return AuditFindings(as_of, rows=rows)
    # Before its oldest row a log's own retention has deleted rows: what was counted of them stays.
    oldest = max(model.find_horizon_start(as_of), log.oldest)
    waiting = _differing_panes(panes, log.panes, oldest, as_of, every=bool(changes.lost))
    if reading.labelled and labels:
        uncounted = [*changes.waiting, *waiting, *model.store.panes.read_waiting_panes(model.name)]
        # The pane of the oldest row begins before it. Where it has all of its rows its labels are compared
        # too.
        if not _is_purged(model, panes, log):
            oldest = max(model.find_horizon_start(as_of), log.oldest - log.oldest % reading.pane)
        others = _read_relabelled_parts(model, panes, {pane.start for pane in uncounted}, oldest, as_of)
        facts = panes.facts_by_start(PaneHalf.LABELS)
        wrong = [
            in_log.start
            for in_log in others
            # Moved by differences, and not merely short of labels that became visible late: wrong.
            if facts[in_log.start].labelled_as_of > facts[in_log.start].counted_as_of
            and in_log.labelled <= facts[in_log.start].labelled
        ]
        waiting += [WaitingPane(start=in_log.start, part=PaneHalf.LABELS, since=as_of) for in_log in others]
        return AuditFindings(as_of, waiting, rows, tuple(wrong))
    return AuditFindings(as_of, waiting, rows)


def make_wrong_difference_event(model: CycleModel, audited: AuditFindings, as_of: int) -> list[HistoryEvent]:
    """That differences were wrong: from now on labels are counted whole, until somebody decides."""
    if not audited.wrong or audited.as_of != as_of:
        return []
    oldest = to_iso(min(audited.wrong))
    detail = json.dumps({"panes": len(audited.wrong), "oldest_pane": oldest})
    return [HistoryEvent(model=model.name, at=as_of, kind=WRONG, detail=detail)]


def find_prunable_span(model: CycleModel, as_of: int, *, is_first: bool) -> tuple[int, int] | None:
    """Which windows lose the revisions between their first and last, and before when; None: none do.

    Windows within the horizon are left alone. After the first time only those are looked at whose revisions
    have grown old since.

    `is_first`: whether nothing was pruned in this process yet.
    """
    if model.retention is None:
        return None
    followed = model.reading.horizon + model.longest_window_length()
    before = as_of - max(model.retention, followed)
    # A window is revised as long as it is followed: one that ended longer ago lost its revisions at an
    # earlier audit.
    return 0 if is_first else before - 2 * followed - model.audit_every, before


def _measure_repeated_ids(model: CycleModel, as_of: int, bounds: tuple[int, int]) -> Measurement:
    """Ids in more than one pane; what a database gives up to group is not counted, and the audit goes on."""
    try:
        return _count_figure(model.source.count_repeated_ids(model.spec, as_of=as_of, bounds=bounds))
    except SourceUnavailable:
        return _count_figure(None)


def _measure_misdated_rows(
    model: CycleModel,
    misdated_rows: MisdatedRows,
    log: "_LogSums",
    before: Sequence[MeasurementRow],
    since: int,
) -> dict[str, Measurement]:
    """Misdated rows, and their share of the rows that came since the audit before."""
    new, came = misdated_rows.misdated, misdated_rows.logged
    if came is None:  # all there are: those are new that the audit before did not find
        earlier = (row.measurement.value for row in before if row.measure == MISDATED)
        new = max(0, new - int(next(earlier, None) or 0))
        came = new + sum(rows for start, (rows, *_) in log.panes.items() if start >= since)
    share = rate_measurement(min(new, came), came, model.spec.keys.level, Reason.NO_RECORDS)
    return {MISDATED: _count_figure(misdated_rows.misdated), MISDATED_RATE: share}


def _count_figure(count: int | None) -> Measurement:
    if count is None:
        return Measurement.without_value(Reason.NOT_COUNTED, n=0)
    return Measurement(float(count), n=count)


_Rows: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _LogSums:
    """The log, added up: rows, newest `logged_at`, checksum by pane start; the oldest event time, figures."""

    panes: dict[int, _Rows]
    oldest: int
    figures: dict[str, int]


def _read_log(batches: Iterator[DatedRows], reading: ReadingOptions, as_of: int) -> _LogSums:
    """Add the log up batch by batch: memory does not grow with it."""
    panes: dict[int, _Rows] = {}
    oldest = np.iinfo(np.int64).max
    figures: Counter[str] = Counter(future_records=0, stale_log_records=0, invalid_times=0)
    for batch in batches:
        event, logged = batch.event.us, batch.seen
        visible = batch.event.known & (logged <= as_of)
        present = visible & (event <= as_of + reading.tolerance)
        figures["future_records"] += int((visible & ~present).sum())
        figures["stale_log_records"] += int((visible & (logged - event > reading.horizon)).sum())
        figures["invalid_times"] += batch.count_invalid_times(as_of)
        oldest = int(event[present].min(initial=oldest))
        for start, rows, newest, checksum in _pane_sums(event[present], logged[present], reading.pane):
            before, last, sum_before = panes.get(start, (0, newest, 0))
            # Checksums add up, so that batches may come in any order; 63 bits are what the store keeps.
            panes[start] = (before + rows, max(last, newest), (sum_before + checksum) % 2**63)
    return _LogSums(panes, oldest, dict(figures))


def _pane_sums(event: Ints, logged: Ints, pane: int) -> Iterator[tuple[int, int, int, int]]:
    starts, inverse, counts = np.unique(event - event % pane, return_inverse=True, return_counts=True)
    newest = np.full(len(starts), np.iinfo(np.int64).min)
    np.maximum.at(newest, inverse, logged)
    checksums = checksum_of_moments(event, logged, inverse, len(starts))
    return zip(starts.tolist(), counts.tolist(), newest.tolist(), checksums.tolist(), strict=True)


def _is_purged(model: CycleModel, panes: ModelPanes, log: _LogSums) -> bool:
    """Whether the pane of the log's oldest row has lost rows since it was counted."""
    start = log.oldest - log.oldest % model.reading.pane
    return _is_different(panes.facts_by_start(PaneHalf.RECORDS).get(start), log.panes.get(start))


def _differing_panes(
    panes: ModelPanes, here: dict[int, _Rows], oldest: int, as_of: int, *, every: bool
) -> list[WaitingPane]:
    """Panes from `oldest` on whose rows, newest row or moments are not those of the log.

    `every`: all panes: their moments do not tell whether a value was rewritten in place.
    """
    facts = panes.facts_by_start(PaneHalf.RECORDS)
    return [
        WaitingPane(start=start, part=PaneHalf.RECORDS, since=as_of)
        for start in sorted({*here, *facts})
        if start >= oldest and (every or _is_different(facts.get(start), here.get(start)))
    ]


def _is_different(stored: PaneFacts | None, in_log: _Rows | None) -> bool:
    if stored is None:
        return in_log is not None
    if in_log is None:
        return stored.rows > 0
    # an older version kept no checksum of the moments
    return (stored.rows, stored.newest, stored.checksum or in_log[2]) != in_log


def _read_relabelled_parts(
    model: CycleModel, panes: ModelPanes, waiting: set[int], oldest: int, as_of: int
) -> list[PanePart]:
    """Labels, as the log has them now, of panes from `oldest` on that hold others."""
    facts = panes.facts_by_start(PaneHalf.LABELS)
    rested = as_of - model.audit_every
    starts = [
        start
        for start in sorted(facts)
        if start >= oldest and start not in waiting and facts[start].counted_as_of <= rested
    ]
    chosen = _choose_audited_panes(model, panes, starts, as_of)
    return [
        in_log
        for in_log in _read_label_facts(model, panes, chosen, as_of)
        if _labels_differ(facts[in_log.start], in_log)
    ]


def _choose_audited_panes(model: CycleModel, panes: ModelPanes, starts: list[int], as_of: int) -> list[int]:
    """All panes, or every k-th where their rows are k times the budget: another choice in each audit."""
    facts, pane = panes.facts_by_start(PaneHalf.LABELS), model.reading.pane
    rows = sum(facts[start].rows for start in starts)
    # Turns go by the moment, so that nothing is to be remembered, and by a pane's number, so that each audit
    # sees panes of all ages.
    turns = max(1, -(-rows // model.spec.keys.reading.recount_rows))
    turn = as_of // max(1, model.audit_every) % turns
    return [start for start in starts if start // pane % turns == turn]


def _read_label_facts(
    model: CycleModel, panes: ModelPanes, starts: list[int], as_of: int
) -> Iterator[PanePart]:
    counting, facts = model.counting, panes.facts_by_start(PaneHalf.LABELS)
    for chunk in chunk_starts(starts, {start: facts[start].rows for start in starts}):
        table = model.source.read_records_with_labels(model.spec, pane_ranges(chunk, counting.reading.pane))
        yield from sum_label_facts(table, counting, panes=np.asarray(chunk, dtype=np.int64), as_of=as_of)


def _labels_differ(stored: PaneFacts, in_log: PanePart) -> bool:
    kept = (stored.records, stored.labelled, stored.newest, stored.checksum)
    return kept != (in_log.records, in_log.labelled, in_log.newest, in_log.checksum)
