"""Rows as they are read, and as plain values: JSON and CSV."""

import csv
import io
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from monitor.core.clock import to_iso
from monitor.core.measurement import DetailTable
from monitor.core.text import csv_cell, json_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import MeasurementRow
from monitor.windows.window_ends import nominal_length

Shown: TypeAlias = tuple[str, int, MeasurementRow]

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
_AGAINST = ("", "reference", "previous")


@dataclass(frozen=True, slots=True)
class FurtherColumns:
    """Further columns: their names, and their values for a model and an as of."""

    names: tuple[str, ...] = ()
    values: Callable[[str, int], dict[str, object]] = lambda _model, _as_of: {}


NOTHING = FurtherColumns()


def plain_row(model: str, as_of: int, row: MeasurementRow) -> dict[str, object]:
    """One row as plain values; times are ISO-8601 UTC; None for the whole and for what is absent."""
    result = row.measurement
    return {
        "model": model,
        "version": row.version,
        "window": row.window or None,
        "window_end": to_iso(row.window_end),
        "as_of": to_iso(as_of),
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
        "detail": None if result.table is None else detail_row_dicts(result.table),
    }


def detail_row_dicts(detail: DetailTable) -> list[dict[str, float | str | None]]:
    """Rows of a detail, each by its columns."""
    return [dict(zip(detail.columns, row, strict=True)) for row in detail.rows]


def order_rows(rows: Iterable[Shown]) -> list[Shown]:
    """Rows as they are read: by window, by what they stand on, then as the catalogue has the measures."""
    return sorted(rows, key=_row_order)


def select_newest_rows(rows: Iterable[Shown], most: int | None) -> tuple[list[Shown], int]:
    """The newest rows by as of and window, each with what it is compared with; of how many.

    Parameters
    ----------
    most
        how many; None: all.
    """
    by_place: dict[tuple[object, ...], list[Shown]] = {}
    for model, as_of, row in order_rows(rows):
        of = (model, as_of, row.window, row.window_end, row.truth, row.version, row.segment)
        by_place.setdefault((*of, row.measure, row.subject), []).append((model, as_of, row))
    newest = sorted(by_place.values(), key=lambda same: (-same[0][1], -same[0][2].window_end))
    return [keyed_row for same in newest[:most] for keyed_row in same], len(newest)


def rows_as_json(rows: Iterable[Shown], further: FurtherColumns = NOTHING) -> str:
    """JSON list of rows."""
    records = [plain_row(*row) | further.values(row[0], row[1]) for row in order_rows(rows)]
    return json_text(records, indent=1)


def rows_as_csv(rows: Iterable[Shown], further: FurtherColumns = NOTHING) -> str:
    """CSV with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, (*FIELDS, *further.names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        csv_row(plain_row(*row) | further.values(row[0], row[1]), "detail") for row in order_rows(rows)
    )
    return out.getvalue()


def csv_row(values: dict[str, object], table: str) -> dict[str, object]:
    """A row for a CSV: its table as JSON, its texts readable and no formulas."""
    cells = {name: csv_cell(value) for name, value in values.items()}
    return cells if values[table] is None else cells | {table: json_text(values[table])}


def _row_order(keyed_row: Shown) -> tuple[object, ...]:
    model, as_of, row = keyed_row
    length = _window_length(row.window)
    end = row.window_end if row.window else 0  # figures of the log have moments of their own, and no window
    window = (length, row.window, end, as_of, row.truth, row.version or "", row.segment or "")
    measure = BY_NAME.get(row.measure)
    family = len(_FAMILIES) if measure is None else _FAMILIES[measure.family]
    subject = _SUBJECTS.index(row.subject) if row.subject in _SUBJECTS else len(_SUBJECTS)
    against = _AGAINST.index(row.against) if row.against in _AGAINST else len(_AGAINST)
    measured = (_CATALOGUED.get(row.measure, 0), row.measure, against, row.against)
    return (model, *window, family, subject, row.subject, *measured)


@lru_cache
def _window_length(window: str) -> int:
    """Length of a window by its name; 0 of figures without one, and of a name that no window has."""
    with suppress(ValueError):
        return nominal_length(window)
    return 0
