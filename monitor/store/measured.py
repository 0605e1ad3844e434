"""Measurement rows as columns of `current` and `snapshots`, and back."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table

from monitor.core.interval import Interval
from monitor.core.measurement import Measurement, Reason
from monitor.specs.rows import MeasurementRow, Truth

COLUMNS = (
    "window", "window_end", "truth", "version", "segment", "measure", "subject", "value", "reason", "n",
    "lower", "upper", "level", "resolution", "coverage", "warning",
)  # fmt: skip

_TRUTHS = {truth.value: truth for truth in Truth}
_REASONS = {reason.value: reason for reason in Reason}
_EMPTY = "(empty)"  # an empty text is the whole in the tables


def columns_of(table: Table) -> tuple[ColumnElement[Any], ...]:
    """Columns in the order that `row_of` reads."""
    return tuple(table.c[name] for name in COLUMNS)


def values_of(run: str, model: str, as_of: int, row: MeasurementRow) -> tuple[Any, ...]:
    """Values in the order of the tables. Numbers become plain ones: SQLite would keep NumPy's as bytes."""
    measured = row.measurement
    interval = measured.interval
    return (
        run,
        model,
        row.window,
        int(row.window_end),
        as_of,
        row.truth.value,
        "" if row.version is None else row.version or _EMPTY,
        "" if row.segment is None else row.segment or _EMPTY,
        row.measure,
        row.subject,
        None if measured.value is None else float(measured.value),
        None if measured.reason is None else measured.reason.value,
        int(measured.n),
        None if interval is None else float(interval.lower),
        None if interval is None else float(interval.upper),
        None if interval is None else float(interval.level),
        float(measured.resolution),
        None if row.coverage is None else float(row.coverage),
        row.warning,
    )


def key_of(found: Sequence[Any]) -> tuple[int, str, str]:
    """(end, measure, subject) of the values of COLUMNS."""
    return found[1], found[5], found[6]


def is_sure_or_absent(found: Sequence[Any]) -> bool:
    """Whether the values of COLUMNS hold an interval or a reason."""
    return found[8] is not None or found[12] is not None


def row_of(found: Sequence[Any]) -> MeasurementRow:
    """Row of the values of COLUMNS."""
    window, end, truth, version, segment, measure, subject, value, reason, n, *sure = found
    lower, upper, level, resolution, coverage, warning = sure
    return MeasurementRow(
        window=window,
        window_end=end,
        truth=_TRUTHS[truth],
        version=version or None,
        segment=segment or None,
        measure=measure,
        subject=subject,
        measurement=Measurement(
            value=value,
            n=n,
            reason=None if reason is None else _REASONS[reason],
            interval=None if level is None else Interval(lower, upper, level),
            resolution=resolution,
        ),
        coverage=coverage,
        warning=warning,
    )
