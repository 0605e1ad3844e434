"""What column stores have in common: types, casts, results in Arrow. Times of a session are in UTC."""

from typing import ClassVar, Protocol

import pyarrow as pa

from monitor.sources.engines.engine import Engine, type_refusal
from monitor.sources.sql.statements import TYPES, ColumnKind, OutputColumn, ReadSession, Statement, WantedKind
from monitor.sources.sql.time_ranges import (
    ComparableTime,
    DayShape,
    TimeColumn,
    sample_texts_near,
    shape_by_texts,
    shape_epoch_times,
    shape_utc_times,
)
from monitor.specs.model_spec import Relation

_WHOLE = (
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
)
_NUMBERS = (
    *(*_WHOLE, "ubigint", "hugeint", "uint64", "int128", "decimal", "boolean", "bool"),
    *("float", "double", "float32", "float64"),
)
_TEXTS = ("varchar", "enum", "uuid", "string", "fixedstring", "enum8", "enum16")
_INSTANTS = ("timestamp with time zone", "datetime", "datetime64")
_NAIVE = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "date", "date32")
_TIMES = (*_INSTANTS, *_NAIVE)
_WRAPPERS = ("nullable(", "lowcardinality(")
_CASTS = {ColumnKind.TEXT: "VARCHAR", ColumnKind.NUMBER: "DOUBLE", ColumnKind.EPOCH: "BIGINT"}
_WHOLE_NUMBER = "^[[:space:]]*([+-]?[0-9]+)([.]0*)?[[:space:]]*$"


class ColumnarEngine(Engine, Protocol):
    """A column store: it skips parts of a table by their bounds, and casts as its engine says.

    Parameters
    ----------
    alike
        groups of types whose values are compared as they are.
    """

    skips_by_bounds: ClassVar[bool] = True
    alike: ClassVar[tuple[tuple[str, ...], ...]] = (_WHOLE, ("string", "fixedstring", "enum8", "enum16"))

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types as the driver describes them."""
        described = self.describe_relation(session, relation)
        return {
            name: str(code[0] if isinstance(code, tuple) else code).lower()
            for name, code in described.items()
        }

    def cast_sql(self, ref: str, kind: ColumnKind) -> str:
        """A cast to text, a double or a whole number that keeps NULL: by default standard SQL."""
        return f"CAST({ref} AS {_CASTS[kind]})"

    def cast_time(self, ref: str, kind: ColumnKind) -> str:
        """A cast to a timestamp with or without a zone: by default standard SQL."""
        return f"CAST({ref} AS {'TIMESTAMP' if kind is ColumnKind.NAIVE else 'TIMESTAMPTZ'})"

    def output_column(
        self,
        want: WantedKind,
        name: str,
        ref: str,
        kind: str,
        unit: str | None = None,  # noqa: ARG002
    ) -> OutputColumn:
        """Texts are parsed later: a cast that fails would end the query."""
        base = base_type(kind)
        # An expression of ours has no type.
        if want is WantedKind.NUMBER and (base in _NUMBERS or not kind):
            return OutputColumn(name, self.cast_sql(ref, ColumnKind.NUMBER), ColumnKind.NUMBER)
        if want is WantedKind.VALUE and base in _NUMBERS:
            return OutputColumn(name, self.cast_sql(ref, ColumnKind.NUMBER), ColumnKind.NUMBER)
        if want is WantedKind.TIME and base in _TIMES:
            time_kind = ColumnKind.NAIVE if base in _NAIVE else ColumnKind.INSTANT
            return OutputColumn(name, self.cast_time(ref, time_kind), time_kind)
        if want is WantedKind.TIME and base in _WHOLE:
            return OutputColumn(name, self.cast_sql(ref, ColumnKind.EPOCH), ColumnKind.EPOCH)
        if want is WantedKind.TEXT and base in _WHOLE:
            return OutputColumn(name, ref, ColumnKind.TEXT, plain=True)
        readable = (*_TEXTS, *_NUMBERS, *_TIMES) if want in (WantedKind.TEXT, WantedKind.VALUE) else _TEXTS
        if base not in readable:
            raise type_refusal(WantedKind.TEXT if want is WantedKind.VALUE else want, name, ref, kind)
        return OutputColumn(name, self.cast_sql(ref, ColumnKind.TEXT), ColumnKind.TEXT)

    def day_shape(self, kind: str) -> DayShape | None:
        """By its type: not each of them compares a date with a text."""
        base = base_type(kind)
        if base in ("date", "date32"):
            return DayShape.DATE
        return DayShape.TEXT if base in _TEXTS else DayShape.DIGITS if base in (*_WHOLE, "decimal") else None

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """By its type; texts by a look at some."""
        base = base_type(time_column.kind)
        if base in _TIMES:
            return shape_utc_times(time, zoned=base not in _NAIVE)
        if base in _NUMBERS:
            return shape_epoch_times(time_column, time)
        return (
            time
            if time_column.unit is not None
            else shape_by_texts(time, sample_texts_near(session, time_column, time), None)
        )

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """As they are where both are of one type, or of two that are alike; else as texts."""
        kinds = {base_type(left_kind), base_type(right_kind)}
        if len(kinds) == 1 or any(kinds <= {*group} for group in self.alike):
            return f"{right} = {left}"
        text = ColumnKind.TEXT
        return f"{self.cast_sql(right, text)} = {self.cast_sql(left, text)}"


def same_id_by_try(left: str, right: str, left_kind: str, right_kind: str) -> str:
    """Ids of two types in DuckDB: a text that is no whole number is no id of a column of numbers.

    By itself DuckDB casts all texts, and one that it cannot cast ends the query.
    """
    kinds = base_type(left_kind), base_type(right_kind)
    if "varchar" in kinds and not {*kinds} <= {"varchar", "enum"}:
        if kinds[0] == "varchar":
            left = _cast_id(left, right_kind)
        else:
            right = _cast_id(right, left_kind)
    return f"{right} = {left}"


def _cast_id(ref: str, kind: str) -> str:
    """A text as an id of another type; of a number by its digits: a cast would round 7.5, and read 0x10."""
    if kind != "boolean" and base_type(kind) in _NUMBERS:
        ref = f"regexp_extract({ref}, '{_WHOLE_NUMBER}', 1)"
    return f"TRY_CAST({ref} AS {kind})"


def base_type(kind: str) -> str:
    """Type without its arguments, and without what ClickHouse wraps around it."""
    for wrapper in _WRAPPERS:
        if kind.startswith(wrapper):
            return base_type(kind.removeprefix(wrapper).removesuffix(")"))
    return kind.partition("(")[0].strip()


def cast_columns(statement: Statement, table: pa.Table) -> pa.Table:
    """Columns of a statement of a result in Arrow, whose types are the engine's."""
    columns = zip(statement.outputs, table.columns, strict=True)
    return pa.table({output.name: _cast_column(output, column) for output, column in columns})


def _cast_column(output: OutputColumn, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = output.kind
    if output.plain and pa.types.is_integer(column.type):
        return column
    if kind is ColumnKind.NAIVE and column.type != pa.timestamp("us"):
        # ClickHouse: of UTC, as the session is
        column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.timestamp("us"))
    return column.cast(TYPES[kind])
