"""Rows of figures that no window has: of the log, and of the cycle itself."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from monitor.core.clock import DAY, SECOND, from_iso, to_iso
from monitor.core.measurement import BECAUSE, DetailTable, Measurement, Reason
from monitor.measures.catalogue.volume_measures import SILENCE_LIMIT
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.changes.dirty_panes import ChangedPanes
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.windows.due_windows import LabelArrivals
from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import HistoryEvent, ModelState, WaitingPane
from monitor.states.strata import NONE
from monitor.windows.settling import SettlingForecast
from monitor.windows.strata_folding import VERSIONS
from monitor.windows.window_ends import Window

FIRST_SEEN = "version_first_seen"  # kind of event
VERSION_SEEN = "version_first_seen_timestamp"
LATE = ("late_visible_records", "late_visible_labels")
WAITING = ("panes_waiting", "longest_wait", "labels_counted_whole")
AGES = ("log_age", "label_age")
_LATENESS = ("day", "seen_late")
SETTLING_AGE, NEXT_SETTLING = "settling_age", "next_settling"


def make_late_rows(
    as_of: int, changes: ChangedPanes, before: Sequence[MeasurementRow]
) -> tuple[MeasurementRow, ...]:
    """What became visible late; none of labels, or of rows, that have no such time.

    Parameters
    ----------
    before
        of the last cycle: one of the same as of saw first what this one saw again.
    """
    if before and before[0].window_end == as_of:
        return tuple(before)
    counts = zip(LATE, (changes.late, changes.late_labels), strict=True)
    return tuple(log_row(as_of, name, Measurement(float(n), n=n)) for name, n in counts if n is not None)


def make_backlog_rows(
    as_of: int, waiting: list[WaitingPane], *, whole_labels: bool
) -> tuple[MeasurementRow, ...]:
    """What still waits after the cycle, how long the first has waited; whether differences were wrong."""
    panes = {pane.start for pane in waiting}
    longest = max((as_of - pane.since for pane in waiting), default=0)
    figures = zip(WAITING, (float(len(panes)), longest / SECOND, float(whole_labels)), strict=True)
    return tuple(log_row(as_of, name, Measurement(value, n=len(panes))) for name, value in figures)


def newest_seen(
    model: CycleModel, panes: ModelPanes, state: ModelState, *, oldest_needed: int
) -> dict[str, int | None]:
    """Moments that ages are counted from: of the newest row logged, of the newest label reported.

    Without such a column the newest event that is counted, that has a label; where none is known any more,
    or no label has ever come, the oldest moment since which there is none.

    Parameters
    ----------
    oldest_needed
        start of the panes that are known: see `CycleModel.find_needed_start`.
    """
    spec, seen = model.spec, {"log_age": state.logged_cursor}
    if spec.predictions.column_of("logged_at") is None:
        seen["log_age"] = _newest_event(panes, state, PaneHalf.RECORDS, oldest_needed)
    if spec.labels is not None and model.reading.labelled:
        # Before the first label has come nobody knows how long they take, and none is overdue: the horizon is
        # the longest that they can.
        is_first_awaited = (
            spec.labels.column_of("reported_at") is not None
            and state.reported_cursor is None
            and (state.as_of or 0) - (state.oldest or 0) < model.reading.horizon - DAY
        )
        seen["label_age"] = state.reported_cursor
        if state.reported_cursor is None and not is_first_awaited:
            seen["label_age"] = _newest_event(panes, state, PaneHalf.LABELS, oldest_needed)
    return seen


def _newest_event(panes: ModelPanes, state: ModelState, part: PaneHalf, oldest_needed: int) -> int | None:
    newest = panes.newest_event(part)
    if newest is None and state.oldest is not None:
        return max(state.oldest, oldest_needed)
    return newest


def age_rows(as_of: int, seen: Mapping[str, int | None]) -> list[MeasurementRow]:
    """For how long nothing has been logged, and no label reported: see `newest_seen`."""
    reasons = dict(zip(AGES, (Reason.NO_RECORDS, Reason.NO_LABELS), strict=True))
    return [
        log_row(
            as_of,
            name,
            Measurement.without_value(reasons[name], n=0)
            if at is None
            else Measurement(max(0, as_of - at) / SECOND, n=0),
        )
        for name, at in seen.items()
    ]


def silence_row(as_of: int, limit: int | None, lateness: Mapping[int, int]) -> MeasurementRow:
    """How old the log may be; None: as old as the rule says, see `SILENCE_LIMIT`.

    Parameters
    ----------
    lateness
        by day from 1970 how late records were seen: what the next cycles go on from.
    """
    result = Measurement.without_value(Reason.LEARNING, n=0)
    result = result if limit is None else Measurement(limit / SECOND, n=0)
    days = tuple((to_iso(day * DAY)[:10], late / SECOND) for day, late in sorted(lateness.items()))
    detail = DetailTable(_LATENESS, days) if days else None
    return log_row(as_of, SILENCE_LIMIT, replace(result, detail=detail))


def read_lateness(rows: Iterable[MeasurementRow]) -> dict[int, int]:
    """By day how late records were seen, of the figures of a cycle: see `silence_row`."""
    details = (row.measurement.detail for row in rows if row.measure == SILENCE_LIMIT)
    days = [day for detail in details if detail is not None for day in detail.rows]
    return {from_iso(str(day)) // DAY: int(float(late or 0) * SECOND) for day, late in days}


def settling_rows(model: CycleModel, as_of: int, truth: LabelArrivals) -> list[MeasurementRow]:
    """Age from which windows settle; no row of models without labels."""
    if not model.reading.labelled:
        return []
    measurement = Measurement.without_value(Reason.TOO_FEW, n=0)
    if truth.least_settling_age is not None:
        measurement = Measurement(truth.least_settling_age / SECOND, n=0)
    return [log_row(as_of, SETTLING_AGE, measurement)]


def next_settling_row(window: Window, newest: int, expected: SettlingForecast) -> MeasurementRow:
    """When the next window of a kind is expected to settle, beside the rows of the newest one."""
    measurement = Measurement.without_value(Reason.NOT_SETTLED, n=0)
    if expected.at is not None:
        measurement = Measurement(expected.at / SECOND, n=0)
    measurement = replace(measurement, detail=DetailTable(BECAUSE, ((expected.because,),)))
    return replace(log_row(newest, NEXT_SETTLING, measurement), window=window.name)


def make_first_seen_events(
    model: CycleModel, versions: Mapping[str, int], seen: Mapping[str, int], as_of: int
) -> list[HistoryEvent]:
    """First sight of each version that was never counted before.

    Parameters
    ----------
    versions
        start of the oldest pane that counts each.
    seen
        those that were seen before.
    """
    return [
        HistoryEvent(
            model=model.name,
            at=as_of,
            kind=FIRST_SEEN,
            subject=version,
            detail=json.dumps({"oldest_pane": to_iso(versions[version])}),
        )
        for version in sorted(versions.keys() - seen.keys() - {NONE})
    ]


def first_seen_rows(first_seen: Mapping[str, int]) -> list[MeasurementRow]:
    """When the versions that came last were first seen."""
    newest = sorted(first_seen.items(), key=lambda item: (-item[1], item[0]))[:VERSIONS]
    return [
        replace(log_row(at, VERSION_SEEN, Measurement(value=at / SECOND, n=0)), version=version)
        for version, at in newest
    ]


def log_row(as_of: int, name: str, measurement: Measurement) -> MeasurementRow:
    """One figure of the whole model."""
    return MeasurementRow(
        window="",
        window_end=as_of,
        truth=LabelTruth.NONE,
        version=None,
        segment=None,
        measure=name,
        subject="",
        measurement=measurement,
    )
