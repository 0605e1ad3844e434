"""Against SQLite's types by value: what a column holds must not change in mid-stream.

The driver infers a column's type from its first batch, and raises or changes values where later ones differ.
Hence the first row is made of typed literals, every expression has one type, and numbers and texts that stand
in one column are fetched apart. Numbers sort before '', texts and blobs do not.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from monitor.sources.statements import Kind, Output, Statement, join_numbers, join_texts, or_nulls

# stand for a text among numbers, a number among texts; one that is meant costs a second read, no more
_MARKS = {Kind.NUMBER: -1.797e308, Kind.MOMENT: "#"}  # not the least number: -inf may be there too


def read(statement: Statement, fetch: Callable[[str], pa.Table]) -> pa.Table:
    """All rows of a statement.

    Texts among numbers, and numbers among times that are text, are rare: they are looked for first, at two
    thirds of the cost of reading them.
    """
    table = unguarded(statement, fetch(guarded(statement, mixed=False)).slice(1), mixed=False)
    if any(_marked(table[output.name], output.kind) for output in statement.outputs):
        return unguarded(statement, fetch(guarded(statement)).slice(1))
    return table


def batches(statement: Statement, fetch: Callable[[str], Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Rows of a statement batch by batch, texts and numbers of one column read at once."""
    literals = 1
    for table in fetch(guarded(statement)):
        yield unguarded(statement, table.slice(literals))
        literals = max(0, literals - table.num_rows)


def guarded(statement: Statement, *, mixed: bool = True) -> str:
    """SQL with a row of literals first; unless `mixed`, what is of the other type is marked, not read."""
    literals: list[str] = []
    selected: list[str] = []
    for output in statement.outputs:
        for literal, sql in _guards(output, mixed=mixed):
            selected.append(f"{sql} AS c{len(literals)}")
            literals.append(literal)
    first = f"SELECT {', '.join(literals)}"
    return f"{statement.before}{first} UNION ALL SELECT {', '.join(selected)} {statement.body}"


def unguarded(statement: Statement, table: pa.Table, *, mixed: bool = True) -> pa.Table:
    """Columns of the statement, of those of its guarded form."""
    columns: dict[str, pa.ChunkedArray] = {}
    at = 0
    for output in statement.outputs:
        width = len(_guards(output, mixed=mixed))
        columns[output.name] = _joined(output.kind, [table.column(at + place) for place in range(width)])
        at += width
    return pa.table(columns)


def _guards(output: Output, *, mixed: bool) -> list[tuple[str, str]]:
    """(Literal of the type, expression) of each column that is fetched for an output."""
    sql = output.sql
    text, number = f"CASE WHEN {sql} >= '' THEN", f"CASE WHEN {sql} < '' THEN"
    apart = ("''", f"{text} CAST({sql} AS TEXT) END")
    match output.kind:
        case Kind.TEXT:
            return [("''", f"CAST({sql} AS TEXT)")]
        case Kind.NUMBER if not mixed:
            return [("0.0", f"{text} {_MARKS[output.kind]!r} ELSE CAST({sql} AS REAL) END")]
        case Kind.MOMENT if not mixed:
            return [("''", f"{number} {_MARKS[output.kind]!r} ELSE CAST({sql} AS TEXT) END")]
        case Kind.NUMBER | Kind.VALUE:
            return [("0.0", f"{number} CAST({sql} AS REAL) END"), apart]
        case _:
            return [("0", f"{number} CAST({sql} AS INTEGER) END"), apart]


def _joined(kind: Kind, columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    match kind:
        case Kind.TEXT:
            return _decoded(columns[0])
        case Kind.NUMBER if len(columns) == 1:
            return columns[0]
        case Kind.MOMENT if len(columns) == 1:
            return or_nulls(_decoded(columns[0]))
        case Kind.NUMBER:
            return join_numbers(columns[0], _decoded(columns[1]))
        case _:
            return join_texts(columns[0], _decoded(columns[1]))


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """SQLite does not check that text is UTF-8: what is not is replaced."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raw = column.cast(pa.binary()).to_pylist()
        return pa.chunked_array(
            [
                pa.array(
                    [None if value is None else value.decode(errors="replace") for value in raw], pa.string()
                )
            ]
        )
    return column


def _marked(column: pa.ChunkedArray, kind: Kind) -> bool:
    if kind not in _MARKS or pa.types.is_null(column.type):
        return False
    return bool(pc.any(pc.equal(column, _MARKS[kind])).as_py())
