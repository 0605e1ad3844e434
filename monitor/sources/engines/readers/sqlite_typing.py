"""Against SQLite's types by value: what a column holds must not change in mid-stream.

The driver infers a column's type from its first batch: a value of another type changes the column's type if
it stands there, and ends the query if it comes later. Hence the first row is made of typed literals. Columns
that are declared to hold what is wanted are asked for as they are; if they do not come as that, all is read
again. What is left has expressions of one type each: numbers and texts that stand in one column are fetched
apart. Numbers sort before '', texts and blobs do not.
"""

from collections.abc import Callable, Iterator
from functools import partial

import adbc_driver_manager
import pyarrow as pa
import pyarrow.compute as pc

from monitor.sources.engines.engine import DriverText
from monitor.sources.sql.statements import (
    ColumnKind,
    OutputColumn,
    Statement,
    merge_number_columns,
    merge_text_columns,
    null_if_empty,
    text_or_digits,
)

_MARK = "#"  # stands for a number among texts; one that is meant costs a second read, no more
MIXED_TYPES = DriverText(
    "adbc_driver_sqlite",
    "Type mismatch",
    "a value is of another type than its column's first ones: its status is INTERNAL, as of any failure",
)
# Types of columns as they are, by a literal.
_PLAIN = {ColumnKind.TEXT: "0", ColumnKind.NUMBER: "0.0", ColumnKind.EPOCH: "0"}
_TYPES = {"0.0": pa.float64(), "0": pa.int64(), "''": pa.string()}


def read_typed(statement: Statement, fetch: Callable[[str], pa.Table]) -> pa.Table:
    """All rows of a statement. What is not as its column says is rare: it costs a second read."""
    return _read_if_uniform(statement, fetch) or unguarded_columns(
        statement, fetch(guarded_sql(statement)).slice(1)
    )


def read_typed_batches(
    statement: Statement, fetch: Callable[[str], Iterator[pa.Table]]
) -> Iterator[pa.Table]:
    """Rows of a statement batch by batch, texts and numbers of one column read at once."""
    literals = 1
    for table in fetch(guarded_sql(statement)):
        yield unguarded_columns(statement, table.slice(literals))
        literals = max(0, literals - table.num_rows)


def _read_if_uniform(statement: Statement, fetch: Callable[[str], pa.Table]) -> pa.Table | None:
    """All rows, if all values are as their columns say."""
    try:
        fetched = fetch(guarded_sql(statement, mixed=False)).slice(1)
    except adbc_driver_manager.Error as error:
        if MIXED_TYPES.text not in str(error):
            raise
        return None
    if [_TYPES[literal] for literal, _ in _column_places(statement, mixed=False)] != fetched.schema.types:
        return None
    table = unguarded_columns(statement, fetched, mixed=False)
    times = (table[output.name] for output in statement.outputs if output.kind is ColumnKind.MOMENT)
    return None if any(map(_contains_mark, times)) else table


def guarded_sql(statement: Statement, *, mixed: bool = True) -> str:
    """SQL with a row of literals first; unless `mixed`, for columns whose values are of one type."""
    columns = _column_places(statement, mixed=mixed)
    first = f"SELECT {', '.join(literal for literal, _ in columns)}"
    selected = ", ".join(f"{sql} AS c{at}" for (_, sql), at in columns.items())
    return f"{statement.before}{first} UNION ALL SELECT {selected} {statement.body}"


def unguarded_columns(statement: Statement, table: pa.Table, *, mixed: bool = True) -> pa.Table:
    """Columns of the statement, of those of its guarded form."""
    places = _column_places(statement, mixed=mixed)
    return pa.table(
        {
            output.name: _join_columns(
                output.kind, [table.column(places[guard]) for guard in _guard_columns(output, mixed=mixed)]
            )
            for output in statement.outputs
        }
    )


def time_text_sql(sql: str) -> str:
    """Text of a time; a blob is none, whatever its bytes say: no range of texts holds it."""
    return f"CASE typeof({sql}) WHEN 'blob' THEN hex({sql}) ELSE CAST({sql} AS TEXT) END"


def _column_places(statement: Statement, *, mixed: bool) -> dict[tuple[str, str], int]:
    """Place of each column that is fetched; what outputs share is fetched once."""
    guards = (guard for output in statement.outputs for guard in _guard_columns(output, mixed=mixed))
    return {guard: at for at, guard in enumerate(dict.fromkeys(guards))}


def _guard_columns(output: OutputColumn, *, mixed: bool) -> list[tuple[str, str]]:
    """(Literal of the type, expression) of each column that is fetched for an output."""
    sql = output.sql
    number = f"CASE WHEN {sql} < '' THEN"
    apart = ("''", f"CASE WHEN {sql} >= '' THEN CAST({sql} AS TEXT) END")
    match output.kind:
        case ColumnKind.TEXT | ColumnKind.NUMBER | ColumnKind.EPOCH if output.plain and not mixed:
            return [(_PLAIN[output.kind], sql)]
        case ColumnKind.TEXT:
            return [("''", f"CAST({sql} AS TEXT)")]
        case ColumnKind.MOMENT if not mixed:
            return [("''", f"{number} {_MARK!r} ELSE {time_text_sql(sql)} END")]
        case ColumnKind.NUMBER | ColumnKind.VALUE:
            return [("0.0", f"{number} CAST({sql} AS REAL) END"), apart]
        case _:
            apart = ("''", f"CASE WHEN {sql} >= '' THEN {time_text_sql(sql)} END")
            return [("0", f"{number} CAST({sql} AS INTEGER) END"), apart]


def _join_columns(kind: ColumnKind, columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    match kind:
        case ColumnKind.TEXT:
            return decode_texts(columns[0], named=True)
        case ColumnKind.NUMBER if len(columns) == 1:
            return columns[0]
        case ColumnKind.EPOCH if len(columns) == 1:
            return null_if_empty(columns[0])
        case ColumnKind.MOMENT if len(columns) == 1:
            return null_if_empty(decode_texts(columns[0]))
        case ColumnKind.NUMBER:
            return merge_number_columns(columns[0], decode_texts(columns[1]))
        case _:
            return merge_text_columns(columns[0], decode_texts(columns[1]))


def decode_texts(column: pa.ChunkedArray, *, named: bool = False) -> pa.ChunkedArray:
    """SQLite does not check that text is UTF-8: of what is not, bad bytes are replaced.

    `named`: texts tell rows apart: what is not is read as its hexadecimal digits.
    """
    if pa.types.is_integer(column.type):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        decode = text_or_digits if named else partial(bytes.decode, errors="replace")
        raw = column.cast(pa.binary()).to_pylist()
        texts = [None if value is None else decode(value) for value in raw]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return column


def _contains_mark(column: pa.ChunkedArray) -> bool:
    return not pa.types.is_null(column.type) and bool(pc.any(pc.equal(column, _MARK)).as_py())
