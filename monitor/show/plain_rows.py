"""Rows as they are read, and as plain values: JSON and CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import BECAUSE, WHEN, DetailTable, Measurement
from monitor.core.text import csv_cell, json_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow, StoredMeasurement
from monitor.windows.window_ends import nominal_length

FIELDS = (
    "model",
    "version",
    "window",
    "window_end",
    "as_of",
    "truth",
    "segment",
    "measure",
    "subject",
    "against",
    "value",
    "reason",
    "n",
    "lower",
    "upper",
    "resolution",
    "coverage",
    "warning",
    "detail",
)
_CATALOGUED = {name: at for at, name in enumerate(BY_NAME)}
_FAMILIES = {family: at for at, family in enumerate(MeasureFamily)}
_SUBJECTS = ("", "score", "prediction", "label")
_SMALL_TABLES = (FIGURES, BECAUSE, WHEN)  # a line, which the note of a table says too
_TRUTHS = (LabelTruth.SETTLED, LabelTruth.NOWCAST, LabelTruth.PROVISIONAL, LabelTruth.NONE)
_WEEK = 7 * DAY
_AGAINST = ("", "reference", "previous")


@dataclass(frozen=True, slots=True)
class FurtherColumns:
    """Further columns: their names, and their values for a model and an as of."""

    names: tuple[str, ...] = ()
    values: Callable[[str, int], dict[str, object]] = lambda _model, _as_of: {}


NOTHING = FurtherColumns()


def plain_row(stored: StoredMeasurement, *, details: bool = True) -> dict[str, object]:
    """One row as plain values; times are ISO-8601 UTC; None for the whole and for what is absent.

    Parameters
    ----------
    details
        False: without the table behind the value, as of a curve, or of cells that moved.
    """
    row, result = stored.row, stored.row.measurement
    table = result.table if details or not has_large_table(result) else None
    return {
        "model": stored.model,
        "version": row.version,
        "window": row.window or None,
        "window_end": to_iso(row.window_end),
        "as_of": to_iso(stored.as_of),
        "truth": row.truth.value or None,
        "segment": row.segment,
        "measure": row.measure,
        "subject": row.subject,
        "against": row.against or None,
        "value": result.value,
        "reason": result.reason.value if result.reason else None,
        "n": result.n,
        "lower": result.interval.lower if result.interval else None,
        "upper": result.interval.upper if result.interval else None,
        "resolution": result.resolution,
        "coverage": row.coverage,
        "warning": row.warning or None,
        "detail": None if table is None else detail_row_dicts(table),
    }


def has_large_table(result: Measurement) -> bool:
    """Whether a table stands behind a value that says more than a note beside it would."""
    return result.table is not None and result.table.columns not in _SMALL_TABLES


def detail_row_dicts(detail: DetailTable) -> list[dict[str, float | str | None]]:
    """Rows of a detail, each by its columns."""
    return [dict(zip(detail.columns, row, strict=True)) for row in detail.rows]


def order_rows(rows: Iterable[StoredMeasurement]) -> list[StoredMeasurement]:
    """Rows as they are read: performance, then inputs, then what goes on, then the log.

    Of each the windows of a week and more stand before shorter ones, and measures as the catalogue has them.
    """
    return sorted(rows, key=_row_order)


def select_newest_rows(
    rows: Iterable[StoredMeasurement], most: int | None
) -> tuple[list[StoredMeasurement], int]:
    """The newest rows by as of and window, each with what it is compared with; of how many.

    Parameters
    ----------
    most
        how many; None: all.
    """
    by_place: dict[tuple[object, ...], list[StoredMeasurement]] = {}
    for stored in order_rows(rows):
        row = stored.row
        of = (stored.model, stored.as_of, row.window, row.window_end, row.truth, row.version, row.segment)
        by_place.setdefault((*of, row.measure, row.subject), []).append(stored)
    newest = sorted(by_place.values(), key=lambda same: (-same[0].as_of, -same[0].row.window_end))
    return [stored for same in newest[:most] for stored in same], len(newest)


def rows_as_json(
    rows: Iterable[StoredMeasurement], further: FurtherColumns = NOTHING, *, details: bool = False
) -> str:
    """JSON list of rows; without the tables behind values, unless `details` asks for them."""
    plain = [_plain_with_further(stored, further, details=details) for stored in order_rows(rows)]
    return json_text(plain, indent=1)


def rows_as_csv(
    rows: Iterable[StoredMeasurement], further: FurtherColumns = NOTHING, *, details: bool = False
) -> str:
    """CSV with a header; `details` as in `rows_as_json`."""
    out = io.StringIO()
    writer = csv.DictWriter(out, (*FIELDS, *further.names), lineterminator="\n")
    writer.writeheader()
    plain = (_plain_with_further(stored, further, details=details) for stored in order_rows(rows))
    writer.writerows(csv_row(values, "detail") for values in plain)
    return out.getvalue()


def json_rows_as_csv(rows: str) -> str:
    """A JSON list of objects as CSV with a header; what is nested stays JSON.

    >>> json_rows_as_csv('[{"a": "=1", "b": [1]}, {"a": null, "c": 2}]').splitlines()
    ['a,b,c', "'=1,[1],", ',,2']
    """
    objects = json.loads(rows)
    names = list(dict.fromkeys(name for one in objects for name in one))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_value(value) for name, value in one.items()} for one in objects)
    return out.getvalue()


def _csv_value(value: object) -> object:
    return json_text(value) if isinstance(value, (list, dict)) else csv_cell(value)


def csv_row(values: dict[str, object], table: str) -> dict[str, object]:
    """A row for a CSV: its table as JSON, its texts readable and no formulas."""
    cells = {name: csv_cell(value) for name, value in values.items()}
    return cells if values[table] is None else cells | {table: json_text(values[table])}


def _plain_with_further(
    stored: StoredMeasurement, further: FurtherColumns, *, details: bool
) -> dict[str, object]:
    return plain_row(stored, details=details) | further.values(stored.model, stored.as_of)


def _row_order(stored: StoredMeasurement) -> tuple[object, ...]:
    row = stored.row
    length = _window_length(row.window)
    end = row.window_end if row.window else 0  # figures of the log have moments of their own, and no window
    brief = length < _WEEK  # of a day performance is mostly chance
    window = (brief, length, row.window, end, stored.as_of)
    stratum = (_TRUTHS.index(row.truth), row.version or "", row.segment or "")
    measure = BY_NAME.get(row.measure)
    family = len(_FAMILIES) if measure is None else _FAMILIES[measure.family]
    subject = _SUBJECTS.index(row.subject) if row.subject in _SUBJECTS else len(_SUBJECTS)
    against = _AGAINST.index(row.against) if row.against in _AGAINST else len(_AGAINST)
    measured = (_CATALOGUED.get(row.measure, 0), row.measure, against, row.against)
    return (stored.model, _part_rank(row), *window, *stratum, family, subject, row.subject, *measured)


def _part_rank(row: MeasurementRow) -> int:
    """What stands on labels of windows, on their records, on all that has settled, and the log itself."""
    if row.window in ("", CUMULATIVE):
        return 3 if row.window == "" else 2
    return int(row.truth is LabelTruth.NONE)


@lru_cache
def _window_length(window: str) -> int:
    """Length of a window by its name; 0 of figures without one, and of a name that no window has."""
    with suppress(ValueError):
        return nominal_length(window)
    return 0
