"""Against SQLite's types by value: what a column holds must not change in mid-stream.

The driver infers a column's type from its first batch, and raises or changes values where later ones differ.
Hence the first row is made of typed literals, every expression has one type, and numbers and texts that stand
in one column are fetched apart.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from monitor.sources.statements import Kind, Output, Statement, join_numbers, join_texts

_MARK = -1.797e308  # stands for a text among numbers; one that is meant costs a second read, no more


def read(statement: Statement, fetch: Callable[[str], pa.Table]) -> pa.Table:
    """All rows of a statement.

    Texts among numbers are rare: they are looked for first, at two thirds of the cost of reading them.
    """
    table = unguarded(statement, fetch(guarded(statement, texts=False)).slice(1), texts=False)
    if any(_marked(table[output.name]) for output in statement.outputs if output.kind is Kind.NUMBER):
        return unguarded(statement, fetch(guarded(statement)).slice(1))
    return table


def batches(statement: Statement, fetch: Callable[[str], Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Rows of a statement batch by batch, texts among numbers read at once."""
    literals = 1
    for table in fetch(guarded(statement)):
        yield unguarded(statement, table.slice(literals))
        literals = max(0, literals - table.num_rows)


def guarded(statement: Statement, *, texts: bool = True) -> str:
    """SQL with a row of literals first; without `texts`, a number that is text is marked, not read."""
    literals: list[str] = []
    selected: list[str] = []
    for output in statement.outputs:
        for literal, sql in _guards(output, texts=texts):
            selected.append(f"{sql} AS c{len(literals)}")
            literals.append(literal)
    first = f"SELECT {', '.join(literals)}"
    return f"{statement.before}{first} UNION ALL SELECT {', '.join(selected)} {statement.body}"


def unguarded(statement: Statement, table: pa.Table, *, texts: bool = True) -> pa.Table:
    """Columns of the statement, of those of its guarded form."""
    columns: dict[str, pa.ChunkedArray] = {}
    at = 0
    for output in statement.outputs:
        width = len(_guards(output, texts=texts))
        columns[output.name] = _joined(output.kind, [table.column(at + place) for place in range(width)])
        at += width
    return pa.table(columns)


def _guards(output: Output, *, texts: bool) -> list[tuple[str, str]]:
    """(Literal of the type, expression) of each column that is fetched for an output."""
    sql = output.sql
    is_text = f"typeof({sql}) IN ('text', 'blob')"
    text = ("''", f"CASE WHEN {is_text} THEN CAST({sql} AS TEXT) END")
    number = f"CASE WHEN typeof({sql}) IN ('real', 'integer') THEN CAST({sql} AS "
    match output.kind:
        case Kind.TEXT:
            return [("''", f"CAST({sql} AS TEXT)")]
        case Kind.NUMBER if not texts:
            return [("0.0", f"CASE WHEN {is_text} THEN {_MARK!r} ELSE CAST({sql} AS REAL) END")]
        case Kind.NUMBER | Kind.VALUE:
            return [("0.0", f"{number}REAL) END"), text]
        case _:
            return [("0", f"{number}INTEGER) END"), text]


def _joined(kind: Kind, columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    match kind:
        case Kind.TEXT:
            return _decoded(columns[0])
        case Kind.NUMBER if len(columns) == 1:
            return columns[0]
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


def _marked(column: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.equal(column, _MARK)).as_py())  # not the least one: -inf may be there too
