"""Measurement rows as columns of `current` and `snapshots`, and back."""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, FromClause

from monitor.core.change import TABLE_BEFORE, Change
from monitor.core.errors import DAMAGE, damage_error
from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow

COLUMNS = (
    "window", "window_end", "truth", "version", "segment", "measure", "subject", "against", "value", "reason",
    "n", "lower", "upper", "level", "resolution", "coverage", "warning", "detail",
)  # fmt: skip

_END, _MEASURE, _SUBJECT = (COLUMNS.index(name) for name in ("window_end", "measure", "subject"))
AT_ONCE = 500  # rows: thousands at a time keep the garbage collector busy
_TRUTHS = {truth.value: truth for truth in LabelTruth}
_REASONS = {reason.value: reason for reason in Reason}
_PLAIN = frozenset({type(None), str, bool, int, float})  # types of a detail's cells
_EMPTY = "(empty)"  # an empty text is the whole in the tables


def columns_of(table: FromClause) -> tuple[ColumnElement[Any], ...]:
    """Columns in the order that `row_of` reads."""
    return tuple(table.c[name] for name in COLUMNS)


def values_of(run: str, model: str, as_of: int, row: MeasurementRow) -> tuple[Any, ...]:
    """Values in the order of the tables. Numbers become plain ones: SQLite would keep NumPy's as bytes."""
    measurement = row.measurement
    interval = measurement.interval
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
        row.against,
        None if measurement.value is None else float(measurement.value),
        None if measurement.reason is None else measurement.reason.value,
        int(measurement.n),
        None if interval is None else float(interval.lower),
        None if interval is None else float(interval.upper),
        None if interval is None else float(interval.level),
        float(measurement.resolution),
        None if row.coverage is None else float(row.coverage),
        row.warning,
        text_behind(measurement.detail, measurement.change),
    )


def text_behind(detail: DetailTable | None, change: Change | None) -> str | None:
    """JSON of what is behind a value: a change, or a table."""
    behind = detail if change is None else change
    return None if behind is None else behind.text


def read_behind(text: str | None) -> tuple[DetailTable | None, Change | None]:
    """Table, or change, of its JSON; a change that was kept as a table is one all the same."""
    if text is None:
        return None, None
    plain = json.loads(text)
    if "change" in plain:
        if not _PLAIN.issuperset(map(type, plain["change"].values())):
            raise ValueError("plain values expected")
        return None, Change.from_cells(plain["change"])
    detail = _table_of(plain)
    if detail.columns[:2] == TABLE_BEFORE and len(detail.rows) == 1:
        return None, Change.from_table(detail.columns, detail.rows[0])
    return detail, None


def _table_of(plain: Any) -> DetailTable:
    columns, rows = tuple(plain["columns"]), tuple(tuple(row) for row in plain["rows"])
    if not _PLAIN.issuperset(map(type, chain(columns, *rows))):
        raise ValueError("plain values expected")
    if not {len(columns)}.issuperset(map(len, rows)):
        raise ValueError(f"rows of {len(columns)} cells expected")
    return DetailTable(columns, rows)


def key_of(values: Sequence[Any]) -> tuple[int, str, str]:
    """(end, measure, subject) of the values of COLUMNS."""
    return values[_END], values[_MEASURE], values[_SUBJECT]


def row_of(values: Sequence[Any]) -> MeasurementRow:
    """Row of the values of COLUMNS.

    Raises
    ------
    CodecError
        if they are not those of a row.
    """
    (
        window, end, truth, version, segment, measure, subject, against, value, reason,
        n, lower, upper, level, resolution, coverage, warning, detail,
    ) = values  # fmt: skip
    try:
        table, change = read_behind(detail)
        return MeasurementRow(
            window=window,
            window_end=end,
            truth=_TRUTHS[truth],
            version=version or None,
            segment=segment or None,
            measure=measure,
            subject=subject,
            measurement=Measurement(
                value,
                n,
                None if reason is None else _REASONS[reason],
                None if level is None else Interval(lower, upper, level),
                resolution,
                table,
                change,
            ),
            coverage=coverage,
            warning=warning,
            against=against,
        )
    except DAMAGE as error:
        raise damage_error(f'a measurement "{measure}" of the window "{window}"', repr(error)) from error
