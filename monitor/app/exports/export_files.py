"""Kept measurements for other programs: files of Parquet and CSV, frames of pandas."""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from monitor.core.clock import from_iso
from monitor.core.errors import ConfigurationError, StoreError
from monitor.core.text import csv_cell, json_text
from monitor.specs.urls import same_file
from monitor.store import LIVE
from monitor.store.damaged_rows import named_damage
from monitor.store.measurements import arrow_snapshots
from monitor.store.measurements.measurement_columns import COLUMNS
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import require_kept

if TYPE_CHECKING:
    import pandas as pd  # a tenth of a second, for notebooks alone

When: TypeAlias = str | datetime

_TIME, _TEXT = pa.timestamp("us", "UTC"), pa.string()
_TYPES = {
    "window_end": _TIME,
    "as_of": _TIME,
    "value": pa.float64(),
    "n": pa.int64(),
    "lower": pa.float64(),
    "upper": pa.float64(),
    "level": pa.float64(),
    "resolution": pa.float64(),
    "coverage": pa.float64(),
}
_READ = ("model", "as_of", *COLUMNS)
_ORDER = (
    "run", "model", "version", "window", "window_end", "as_of", "truth", "segment", "measure", "subject",
    "against", "value", "reason", "n", "lower", "upper", "level", "resolution", "coverage", "warning",
    "detail",
)  # fmt: skip
_EMPTY_IS_NULL = ("version", "window", "truth", "segment", "against", "warning")
SCHEMA = pa.schema([(name, _TYPES.get(name, _TEXT)) for name in _ORDER])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSelection:
    """Which kept measurements; None: any."""

    model: str | None = None
    window: str | None = None
    measure: str | None = None
    # start, end: windows whose ends lie in (start, end]: those of a month are asked for by its first day and
    # the next month's.
    start: int | None = None
    end: int | None = None
    as_of: int | None = None  # of each window, measure, … the newest revision at or before it, instead of all


class _RowWriter(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...


def export_snapshots(store: SqlStore, file: Path, selection: KeptSelection, form: str | None = None) -> int:
    """Write kept measurements to a Parquet or CSV file, batch by batch; return their number.

    The file is put in place once it is whole.

    Parameters
    ----------
    form
        "parquet" or "csv"; None: as the file's name ends.

    Raises
    ------
    ConfigurationError
        if the file's name ends neither in .parquet nor in .csv, and no form is given.
    StoreError
        if the file cannot be written.
    """
    kind = file.suffix.lower() if form is None else f".{form}"
    if kind not in _WRITERS:
        raise ConfigurationError([f'a file to export to ends in .parquet or .csv: got "{file}"'])
    rows = 0
    with (
        open_replacing_file(file, store) as out,
        _WRITERS[kind](out) as writer,
        closing(read_batches(store, selection)) as read,
    ):
        for batch in read:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


@contextmanager
def open_replacing_file(file: Path, store: SqlStore) -> Iterator[BinaryIO]:
    """A file to write to, which stands in its place once it is whole.

    Raises
    ------
    StoreError
        if it cannot be written, or is the store.
    """
    if store.file is not None and same_file(file, store.file):
        raise StoreError(f"{file} is the store itself: name another file to export to")
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(file)
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def read_batches(store: SqlStore, selection: KeptSelection) -> Generator[pa.RecordBatch]:
    """Kept measurements as they are read, some thousand rows at a time."""
    wanted = {"model": selection.model, "window": selection.window, "measure": selection.measure}
    filters = {name: value for name, value in wanted.items() if value is not None}
    for rows in store.snapshots.stream_snapshots(
        filters, ends=(selection.start, selection.end), as_of=selection.as_of
    ):
        yield _make_batch(store.run, rows)


def read_snapshots(
    url: str,
    *,
    run: str = LIVE,
    model: str | None = None,
    window: str | None = None,
    measure: str | None = None,
    start: When | None = None,
    end: When | None = None,
    as_of: When | None = None,
) -> "pd.DataFrame":
    """Kept measurements as a data frame, for notebooks; nothing is written.

    Parameters
    ----------
    url
        of the store, as in the configuration: ``"sqlite:///monitor.db"``.
    run
        ``"live"``, or the name of a replay.
    model, window, measure
        None: any.
    start, end
        windows whose ends lie in (start, end]; ISO-8601 or datetimes, UTC unless they say otherwise.
    as_of
        what was known then: of each window and measure its newest revision at or before; None: all revisions.

    Returns
    -------
    pandas.DataFrame
        one row a measurement and revision, by window and revision. ``window_end`` and ``as_of`` are UTC
        timestamps; a ``value`` that is missing has a ``reason``; ``version`` and ``segment`` are missing for
        the whole, ``truth`` where a measure stands on no labels.

    Raises
    ------
    StoreError
        if there is no store of this version.
    """
    require_kept(url)
    wanted = {"model": model, "window": window, "measure": measure}
    filters = {name: value for name, value in wanted.items() if value is not None}
    kept = arrow_snapshots.read_snapshot_table(
        url, run, filters, (_moment_of(start), _moment_of(end)), _moment_of(as_of)
    )
    frame: pd.DataFrame = _order_columns(kept, run).to_pandas()
    return frame


def _order_columns(kept: pa.Table, run: str) -> pa.Table:
    """Columns of SCHEMA; what stands for the whole, or for nothing, is missing."""
    columns = {name: kept[name].cast(SCHEMA.field(name).type) for name in _ORDER if name != "run"}
    columns["run"] = pa.repeat(run, kept.num_rows)
    for name in _EMPTY_IS_NULL:
        columns[name] = pc.if_else(pc.equal(columns[name], ""), pa.scalar(None, _TEXT), columns[name])
    return pa.table([columns[name] for name in _ORDER], schema=SCHEMA)


def _make_batch(run: str, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    columns = zip(_READ, zip(*rows, strict=True), strict=True)
    read = pa.table({name: pa.array(values, _TYPES.get(name, _TEXT)) for name, values in columns})
    return _order_columns(read, run).to_batches()[0]


def moment_of(when: When) -> int:
    """Microseconds of a moment, UTC unless it says otherwise.

    Raises
    ------
    ConfigurationError
        if a text is no date or time.
    """
    text = when.isoformat() if hasattr(when, "isoformat") else str(when)
    try:
        return from_iso(text)
    except ValueError as error:
        raise ConfigurationError(
            [f'"{text}" is no date or time, as 2026-03-01 or 2026-03-01T12:00Z']
        ) from error


def _moment_of(when: When | None) -> int | None:
    return None if when is None else moment_of(when)


class _CsvWriter:
    """CSV with times as ISO-8601 UTC, and texts that are readable and no formulas."""

    def __init__(self, out: BinaryIO) -> None:
        fields = [field.with_type(_TEXT) if field.type == _TIME else field for field in SCHEMA]
        self._schema = pa.schema(fields)
        self._writer = pyarrow.csv.CSVWriter(out, self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._writer.close()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = [_csv_cells(field, column) for field, column in zip(SCHEMA, batch.columns, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))


def _csv_cells(field: pa.Field, column: pa.Array) -> pa.Array:
    if field.type == _TIME:
        return pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ")
    if field.type != _TEXT:
        return column
    write = _rewrite_detail_json if field.name == "detail" else csv_cell
    encoded = column.dictionary_encode()
    words = [None if text is None else write(text) for text in encoded.dictionary.to_pylist()]
    return pc.take(pa.array(words, _TEXT), encoded.indices)


def _rewrite_detail_json(detail: str) -> str:
    with named_damage("table details"):
        return json_text(json.loads(detail))


def _parquet_writer(out: BinaryIO) -> AbstractContextManager[_RowWriter]:
    writer: AbstractContextManager[_RowWriter] = pyarrow.parquet.ParquetWriter(
        out, SCHEMA, compression="zstd"
    )
    return writer


_WRITERS: dict[str, Callable[[BinaryIO], AbstractContextManager[_RowWriter]]] = {
    ".csv": _CsvWriter,
    ".parquet": _parquet_writer,
}
