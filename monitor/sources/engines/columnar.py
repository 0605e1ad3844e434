"""What column stores have in common: types, casts, results in Arrow. Times of a session are in UTC."""

from typing import ClassVar, Protocol

import pyarrow as pa

from monitor.sources.engines.engine import Engine, refusal
from monitor.sources.sql.statements import TYPES, ColumnKind, Output, Session, Statement, Want
from monitor.sources.sql.time_ranges import Comparable
from monitor.sources.sql.time_shapes import TimeColumn, epoch, of_texts, texts_near, utc
from monitor.specs.model import Relation

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


class Columnar(Engine, Protocol):
    """A column store: it skips parts of a table by their bounds, and casts as its engine says."""

    counts: ClassVar[bool] = True
    skips_by_bounds: ClassVar[bool] = True

    def types_of(self, session: Session, relation: Relation) -> dict[str, str]:
        """Types as the driver describes them."""
        described = self.described(session, relation)
        return {
            name: str(code[0] if isinstance(code, tuple) else code).lower()
            for name, code in described.items()
        }

    def cast(self, ref: str, kind: ColumnKind) -> str:
        """A cast to text, a double or a whole number that keeps NULL."""
        ...

    def cast_time(self, ref: str, kind: ColumnKind) -> str:
        """A cast to a timestamp with or without a zone."""
        ...

    def output(self, want: Want, name: str, ref: str, kind: str, unit: str | None = None) -> Output:  # noqa: ARG002
        """Texts are parsed later: a cast that fails would end the query."""
        base = plain(kind)
        if want is Want.NUMBER and (base in _NUMBERS or not kind):  # an expression of ours has no type
            return Output(name, self.cast(ref, ColumnKind.NUMBER), ColumnKind.NUMBER)
        if want is Want.VALUE and base in _NUMBERS:
            return Output(name, self.cast(ref, ColumnKind.NUMBER), ColumnKind.NUMBER)
        if want is Want.TIME and base in _TIMES:
            time_kind = ColumnKind.NAIVE if base in _NAIVE else ColumnKind.INSTANT
            return Output(name, self.cast_time(ref, time_kind), time_kind)
        if want is Want.TIME and base in _WHOLE:
            return Output(name, self.cast(ref, ColumnKind.EPOCH), ColumnKind.EPOCH)
        readable = (*_TEXTS, *_NUMBERS, *_TIMES) if want in (Want.TEXT, Want.VALUE) else _TEXTS
        if base not in readable:
            raise refusal(Want.TEXT if want is Want.VALUE else want, name, ref, kind)
        return Output(name, self.cast(ref, ColumnKind.TEXT), ColumnKind.TEXT)

    def comparable(self, session: Session, asked: TimeColumn, time: Comparable) -> Comparable:
        """By its type; texts by a look at some."""
        base = plain(asked.kind)
        if base in _TIMES:
            return utc(time, zoned=base not in _NAIVE)
        if base in _NUMBERS:
            return epoch(asked, time)
        return time if asked.unit is not None else of_texts(time, texts_near(session, asked, time), None)


def plain(kind: str) -> str:
    """Type without its arguments, and without what ClickHouse wraps around it."""
    for wrapper in _WRAPPERS:
        if kind.startswith(wrapper):
            return plain(kind.removeprefix(wrapper).removesuffix(")"))
    return kind.partition("(")[0].strip()


def typed(statement: Statement, table: pa.Table) -> pa.Table:
    """Columns of a statement of a result in Arrow, whose types are the engine's."""
    columns = zip(statement.outputs, table.columns, strict=True)
    return pa.table({output.name: _typed(output.kind, column) for output, column in columns})


def _typed(kind: ColumnKind, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if kind is ColumnKind.NAIVE and column.type != pa.timestamp("us"):
        # ClickHouse: of UTC, as the session is
        column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.timestamp("us"))
    return column.cast(TYPES[kind])
