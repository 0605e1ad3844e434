"""Measurement rows as columns of `current` and `snapshots`, and back."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table

from monitor.core.interval import Interval
from monitor.core.measurement import Measurement, Reason
from monitor.specs.rows import MeasurementRow, Truth
from monitor.store.statements import Params

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


def params_of(run: str, model: str, as_of: int, row: MeasurementRow) -> Params:
    """Column values of a row. Numbers become plain ones: SQLite would keep NumPy's as bytes."""
    measurement = row.measurement
    interval = measurement.interval
    return {
        "run": run,
        "model": model,
        "as_of": as_of,
        "window": row.window,
        "window_end": int(row.window_end),
        "truth": str(row.truth),
        "version": _text(row.version),
        "segment": _text(row.segment),
        "measure": row.measure,
        "subject": row.subject,
        "value": _number(measurement.value),
        "reason": None if measurement.reason is None else str(measurement.reason),
        "n": int(measurement.n),
        "lower": None if interval is None else float(interval.lower),
        "upper": None if interval is None else float(interval.upper),
        "level": None if interval is None else float(interval.level),
        "resolution": float(measurement.resolution),
        "coverage": _number(row.coverage),
        "warning": row.warning,
    }


def row_of(found: Sequence[Any]) -> MeasurementRow:
    """Row of the values of COLUMNS."""
    window, end, truth, version, segment, measure, subject, value, reason, n, *rest = found
    lower, upper, level, resolution, coverage, warning = rest
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


def _text(name: str | None) -> str:
    return "" if name is None else name or _EMPTY


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
