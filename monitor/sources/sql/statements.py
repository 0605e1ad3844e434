"""What a reader is asked for: typed columns of a SELECT, and what their values become in Arrow."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from monitor.records.column_values import parse_numbers
from monitor.records.winning_rows import Batches

INT64_MAX = 2**63 - 1
_UNEQUAL = (  # no operator compares them, or one that compares areas
    *("json", "jsonpath", "xml", "refcursor"),
    *("point", "line", "lseg", "box", "path", "polygon", "circle"),
)


class WantedKind(StrEnum):
    """What a role needs."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    VALUE = "value"


class ColumnKind(StrEnum):
    """What a column of a result holds.

    TEXT becomes a string, or an integer that prints like it; NUMBER a double (NaN where the value is no
    number); EPOCH an int64, or a string where a value is no integer; INSTANT and NAIVE a timestamp with and
    without a zone; MOMENT whichever of these its values are; VALUE a double or a string. EPOCH, MOMENT and
    VALUE have Arrow's type null where all of their values are missing.
    """

    TEXT = "text"
    NUMBER = "number"
    EPOCH = "epoch"
    INSTANT = "instant"
    NAIVE = "naive"
    MOMENT = "moment"
    VALUE = "value"


TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.EPOCH: pa.int64(),
    ColumnKind.INSTANT: pa.timestamp("us", "UTC"),
    ColumnKind.NAIVE: pa.timestamp("us"),
    ColumnKind.MOMENT: pa.null(),
    ColumnKind.VALUE: pa.null(),
}


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a result: role name, SQL expression of qualified columns, kind.

    `plain`: the column is declared to hold such values (of a TEXT: integers), and may come as it is.
    """

    name: str
    sql: str
    kind: ColumnKind
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT: its outputs, what comes before it (WITH …) and after them (FROM … WHERE …)."""

    outputs: tuple[OutputColumn, ...]
    body: str
    before: str = ""

    def sql_text(self) -> str:
        """Plain SQL, as `fetchmany` and PostgreSQL run it."""
        selected = ", ".join(f"{output.sql} AS c{at}" for at, output in enumerate(self.outputs))
        return f"{self.before}SELECT {selected} {self.body}"

    def empty_table(self) -> pa.Table:
        """Result without rows."""
        return pa.table({output.name: pa.array([], TYPES[output.kind]) for output in self.outputs})


class ReadSession(Protocol):
    """One connection in one read-only transaction."""

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement; its cursor is closed."""
        ...

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement batch by batch, at least one batch; its cursor is open in between."""
        ...

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query about the tables."""
        ...

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names of a query's columns, and what the driver calls their types."""
        ...

    def run_command(self, sql: str) -> None:
        """Run a statement without rows: a setting of this transaction."""
        ...


def has_equality(kind: str) -> bool:
    """Whether values of a database's type are compared as wholes: no id and no index is of another."""
    return kind not in _UNEQUAL


def merge_number_columns(doubles: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """One column of doubles of numbers and texts that stood in one column; NaN where a text is no number."""
    if texts.null_count == len(texts):
        return doubles
    parsed = pa.array(parse_numbers(texts).values)
    return pa.chunked_array([pc.if_else(texts.is_valid().combine_chunks(), parsed, doubles.combine_chunks())])


def merge_text_columns(other: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers where there is no text, strings where there is any, of the type null where there is nothing."""
    if texts.null_count < len(texts):
        return pa.chunked_array(
            [pc.coalesce(texts.combine_chunks(), other.combine_chunks().cast(pa.string()))]
        )
    return null_if_empty(other)


def null_if_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, of the type null where there is nothing in it."""
    return column if column.null_count < len(column) else pa.chunked_array([pa.nulls(len(column))])


def text_or_digits(raw: bytes) -> str:
    """Text of bytes; what is no text is told apart by its hexadecimal digits: of ids and categories."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.hex()


def concat_mixed_tables(tables: list[pa.Table]) -> pa.Table:
    """Tables below one another; a column that is text in one of them becomes text."""
    if len(tables) == 1:
        return tables[0]
    schemas = [table.schema for table in tables]
    fields = [max((schema.field(name) for schema in schemas), key=_type_breadth) for name in schemas[0].names]
    return pa.concat_tables([table.cast(pa.schema(fields)) for table in tables])


def _type_breadth(field: pa.Field) -> tuple[bool, bool]:
    return pa.types.is_string(field.type), not pa.types.is_null(field.type)
