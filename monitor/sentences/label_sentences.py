"""What is known of labels: how late they are, how many records have one, when the next window settles."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from monitor.core.clock import DAY, SECOND
from monitor.core.measurement import BECAUSE, WHEN, DetailTable, Measurement, Reason
from monitor.core.text import readable_text
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import format_measure_value
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    end_sentence,
    join_few_names,
    readable_name,
)
from monitor.sentences.reason_words import reason_words
from monitor.sentences.time_words import day_words, delay_words, window_words

_NEXT = "next_settling"


def label_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    """Sentences on delay, coverage and settling."""
    if delay := usual_delay_words(measurements):
        yield delay
    yield next_settling_sentence(measurements)
    yield from _coverage_sentences(measurements)


def usual_delay_words(measurements: KnownMeasurements) -> str:
    """How long labels take, without a stop; empty: none has come."""
    row = measurements.newest_labelled_row("label_delay_median")
    late = None if row is None else measurements.sibling_row(row, "label_delay_p90")
    if row is None or row.measurement.value is None:
        return ""
    half = delay_words(row.measurement.value)
    words = f"Half of the labels take {half} or less"
    if late is None or late.measurement.value is None:
        return words
    most = delay_words(late.measurement.value)
    return f"90 % of the labels take {most} or less" if most == half else f"{words}, 90 % {most}"


def none_settled_words(measurements: KnownMeasurements, window: str = "") -> str:
    """That no window has settled, of a name if one is given, and when the first one is expected to."""
    row = next_settling(replace(measurements, window=window or measurements.window))
    of = f" of {window}" if window else ""
    if row is None:
        return f"no window{of} has settled yet"
    if row.measurement.value is None:
        return f"no window{of} has settled yet, and when one will is not known"
    name = f" of {row.window}" if row.window else ""
    return f"no window{of} has settled yet; the first{name} is expected to settle about {_moment_words(row)}"


def next_settling_sentence(measurements: KnownMeasurements) -> str:
    """When the next window is expected to settle, and why; or that it is not known, and what would help."""
    row = next_settling(measurements)
    return "When the next window settles is not known yet." if row is None else settling_sentence(row)


def settling_sentence(row: MeasurementRow) -> str:
    """When a window is expected to settle, and why, of its row of `next_settling`."""
    if row.measurement.value is None:
        return end_sentence(f"When the next window settles is not known{settling_reason(row)}")
    name = f"of {row.window} " if row.window else ""
    return end_sentence(
        f"The next window {name}is final about {_moment_words(row)}{_because_words(row.measurement)}"
    )


def settling_reason(row: MeasurementRow) -> str:
    """Why it is not known when the next window settles, after a colon."""
    return _because_words(row.measurement) or f": {reason_words(str(row.measurement.reason))}"


def add_settling_moments(
    rows: Sequence[StoredMeasurement],
) -> list[StoredMeasurement]:
    """Current rows; those that wait for a window to settle say when it will."""
    due = {
        (stored.model, stored.row.window): settling_sentence(stored.row)
        for stored in rows
        if stored.row.measure == _NEXT
    }

    def told(stored: StoredMeasurement) -> StoredMeasurement:
        row, result = stored.row, stored.row.measurement
        when = due.get((stored.model, row.window))
        if result.reason is not Reason.NOT_SETTLED or result.detail is not None or when is None:
            return stored
        detail = DetailTable(WHEN, ((when,),))
        return replace(stored, row=replace(row, measurement=replace(result, detail=detail)))

    return list(map(told, rows))


def next_settling(measurements: KnownMeasurements) -> MeasurementRow | None:
    """The main window's next settling, or the first of others that is known."""
    rows = measurements.rows_without_truth(_NEXT)
    due = [row for row in rows if row.measurement.value is not None]
    ranked = sorted(
        due or rows, key=lambda row: (row.window != measurements.window, row.measurement.value or 0.0)
    )
    return ranked[0] if ranked else None


def forecast_knowing(measurements: KnownMeasurements, day: int, today: int) -> int | None:
    """When the labels of a day are in, and a window that holds it is final; None: it cannot be said.

    By then nine of ten labels have come. It is the next settling from there on, of the main window first.
    """
    late = measurements.newest_labelled_row("label_delay_p90")
    delay = None if late is None else late.measurement.value
    due = sorted(
        (row.window != measurements.window, round(row.measurement.value) * SECOND)
        for row in measurements.rows_without_truth(_NEXT)
        if row.measurement.value is not None
    )
    ready = max(day + DAY + round((delay or 0.0) * SECOND), today)
    later = next((at for _, at in due if at >= ready), None)
    return later if later is not None or delay is None or ready == today else ready


def _moment_words(row: MeasurementRow) -> str:
    return day_words(round(row.measurement.value or 0.0) * SECOND, row.window_end)


def _coverage_sentences(measurements: KnownMeasurements) -> Iterator[str]:
    parts: dict[str, str] = {}
    for truth in (LabelTruth.SETTLED, LabelTruth.PROVISIONAL):
        row = measurements.newest_row("coverage", truth.value)
        if row is not None and row.measurement.value is not None:
            parts.setdefault(
                window_words(row, row.window_end), format_measure_value("coverage", row.measurement.value)
            )
    if parts:
        sentence = ", ".join(f"{share} {window}" for window, share in parts.items())
        yield f"Labelled: {sentence}"
    classes = measurements.subject_rows("coverage", LabelTruth.SETTLED, "")
    classes = classes or measurements.subject_rows("coverage", LabelTruth.PROVISIONAL, "")
    if any(row.measurement.value for row in classes):
        yield f"By predicted class: {join_few_names(map(_class_value_words, classes))}"


def _class_value_words(row: MeasurementRow) -> str:
    name = row.subject.partition(":")[2] or row.subject
    return f"{readable_name(name)} {format_measure_value(row.measure, row.measurement.value)}"


def _because_words(result: Measurement) -> str:
    """The sentence that a measurement brings along, after a colon; or nothing."""
    detail = result.detail
    if detail is None or detail.columns != BECAUSE or not detail.rows:
        return ""
    return f": {readable_text(str(detail.rows[0][0]))}"
