"""Rows of figures that no window has: of the log, and of the cycle itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from monitor.core.clock import SECOND
from monitor.core.measurement import Measurement, Reason
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.changes.dirty import Changes
from monitor.pipeline.model import LATE, WAITING, Monitored
from monitor.records.pane import Part
from monitor.specs.rows import ModelState, WaitingPane
from monitor.windows.fold import VERSIONS

VERSION_SEEN = "version_first_seen_timestamp"


def cycle_rows(
    monitored: Monitored, as_of: int, changes: Changes, waiting: list[WaitingPane]
) -> list[MeasurementRow]:
    """What became visible late, it is remembered here; what waits; ages; when versions were first seen."""
    monitored.late = late_rows(as_of, changes, monitored.late)
    ages = age_rows(as_of, newest_seen(monitored, changes.state, as_of))
    return [*monitored.late, *waiting_rows(as_of, waiting), *ages, *first_seen_rows(monitored)]


def late_rows(as_of: int, changes: Changes, before: Sequence[MeasurementRow]) -> tuple[MeasurementRow, ...]:
    """What became visible late; none of labels, or of rows, that have no such time.

    Parameters
    ----------
    before
        of the last cycle: one of the same as of saw first what this one saw again.
    """
    if before and before[0].window_end == as_of:
        return tuple(before)
    found = zip(LATE, (changes.late, changes.late_labels), strict=True)
    return tuple(log_row(as_of, name, Measurement(float(n), n=n)) for name, n in found if n is not None)


def waiting_rows(as_of: int, waiting: list[WaitingPane]) -> tuple[MeasurementRow, ...]:
    """What still waits after the cycle, and how long the first has waited."""
    panes = {pane.start for pane in waiting}
    longest = max((as_of - pane.since for pane in waiting), default=0)
    found = zip(WAITING, (float(len(panes)), longest / SECOND), strict=True)
    return tuple(log_row(as_of, name, Measurement(value, n=len(panes))) for name, value in found)


def newest_seen(monitored: Monitored, state: ModelState, as_of: int) -> dict[str, int | None]:
    """Moments that ages are counted from: of the newest row logged, of the newest label reported.

    Without such a column the newest event that is counted, that has a label; where none is known any more,
    the oldest moment since which there is none.
    """
    spec, seen = monitored.spec, {"log_age": state.logged_cursor}
    if spec.predictions.column("logged_at") is None:
        seen["log_age"] = _newest_event(monitored, state, Part.RECORDS, as_of)
    if spec.labels is not None and monitored.counting.reading.labelled:
        seen["label_age"] = state.reported_cursor
        if spec.labels.column("reported_at") is None:
            seen["label_age"] = _newest_event(monitored, state, Part.LABELS, as_of)
    return seen


def _newest_event(monitored: Monitored, state: ModelState, part: Part, as_of: int) -> int | None:
    found = monitored.panes.newest_event(part)
    if found is None and state.oldest is not None:
        return max(state.oldest, monitored.oldest_needed(as_of))
    return found


def age_rows(as_of: int, seen: Mapping[str, int | None]) -> list[MeasurementRow]:
    """For how long nothing has been logged, and no label reported: see `newest_seen`."""
    absent = Measurement.absent(Reason.NO_RECORDS, n=0)
    return [
        log_row(as_of, name, absent if at is None else Measurement(max(0, as_of - at) / SECOND, n=0))
        for name, at in seen.items()
    ]


def first_seen_rows(monitored: Monitored) -> list[MeasurementRow]:
    """When the versions that came last were first seen."""
    newest = sorted(monitored.first_seen.items(), key=lambda item: (-item[1], item[0]))[:VERSIONS]
    return [
        replace(log_row(at, VERSION_SEEN, Measurement(value=at / SECOND, n=0)), version=version)
        for version, at in newest
    ]


def log_row(as_of: int, name: str, measurement: Measurement) -> MeasurementRow:
    """One figure of the whole model."""
    return MeasurementRow(
        window="",
        window_end=as_of,
        truth=Truth.NONE,
        version=None,
        segment=None,
        measure=name,
        subject="",
        measurement=measurement,
    )
