"""Spark: tables and Parquet files of a cluster; its optimizer joins and skips files without indexes."""

from typing import ClassVar

from monitor.sources.engines.engine import Engine, type_refusal
from monitor.sources.sql.statements import INT64_MAX, ColumnKind, OutputColumn, ReadSession, WantedKind
from monitor.sources.sql.time_ranges import (
    FACTORS,
    ComparableTime,
    TimeColumn,
    sample_texts_near,
    shape_by_texts,
    shape_epoch_times,
    shape_utc_times,
)
from monitor.specs.model_spec import Relation

CLUSTER = "spark"  # the source's `engine`, whose workers count
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_TIMES = {"timestamp": ColumnKind.INSTANT, "timestamp_ntz": ColumnKind.NAIVE, "date": ColumnKind.NAIVE}
_TEXTS = ("string", "char", "varchar")


class SparkEngine(Engine):
    """A cluster. Each statement lists its files anew: what several of them count is compared."""

    has_indexes: ClassVar[bool] = False
    skips_by_bounds: ClassVar[bool] = True
    integer: ClassVar[str] = "int"

    def quote_table(self, name: str) -> str:
        """A table's name, split at dots, or the path of Parquet files."""
        return f"parquet.{self.quote_name(name)}" if "/" in name else super().quote_table(name)

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types of a session that knows no older files of a table."""
        if relation.table is not None and "/" not in relation.table:
            # Else the files are listed that were there when the session saw the table first.
            session.run_command(f"REFRESH TABLE {self.quote_table(relation.table)}")
        return {name: str(kind) for name, kind in self.describe_relation(session, relation).items()}

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
        if want is WantedKind.TIME:
            return _time_output(name, ref, kind)
        if (base in _NUMBERS and want is not WantedKind.TEXT) or (
            base == "boolean" and want is WantedKind.NUMBER
        ):
            return OutputColumn(name, f"CAST({ref} AS DOUBLE)", ColumnKind.NUMBER)
        readable = _TEXTS if want is WantedKind.NUMBER else (*_NUMBERS, *_TIMES, *_TEXTS, "boolean", "binary")
        if base not in readable:
            raise type_refusal(WantedKind.TEXT if want is WantedKind.VALUE else want, name, ref, kind)
        return OutputColumn(name, f"CAST({ref} AS STRING)", ColumnKind.TEXT)

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """By its type; the session is in UTC: so are timestamps."""
        base = base_type(time_column.kind)
        if base in _TIMES:
            return shape_utc_times(time, zoned=base == "timestamp")
        if base in _NUMBERS:
            return shape_epoch_times(time_column, time)
        if time_column.unit is not None or base not in _TEXTS:
            return time
        odd = f"{time.sql} NOT RLIKE '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}'"
        return shape_by_texts(time, sample_texts_near(session, time_column, time), odd)

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """As they are where both are numbers, or texts; else as texts."""
        kinds = {base_type(left_kind), base_type(right_kind)}
        if left_kind == right_kind or kinds <= {*_NUMBERS} or kinds <= {*_TEXTS}:
            return f"{right} = {left}"
        return f"CAST({right} AS STRING) = CAST({left} AS STRING)"


def base_type(kind: str) -> str:
    """Type without its arguments: decimal of decimal(10,2)."""
    return kind.partition("(")[0].partition("<")[0]


def micros_of_column(column: str, kind: ColumnKind, unit: str | None, zone: str) -> str | None:
    """SQL of the microseconds of a column of times; None where only parsing tells them."""
    if kind is ColumnKind.EPOCH and unit is not None:
        return f"try_multiply({column}, {FACTORS[unit]})"
    if kind is ColumnKind.INSTANT or (kind is ColumnKind.NAIVE and zone == "UTC"):
        return f"unix_micros(CAST({column} AS TIMESTAMP))"
    return None


def _time_output(name: str, ref: str, kind: str) -> OutputColumn:
    """Column of timestamps, of int64 or of texts."""
    base = base_type(kind)
    if base in _TIMES:
        return OutputColumn(name, f"CAST({ref} AS TIMESTAMP_NTZ)" if kind == "date" else ref, _TIMES[base])
    if base in _WHOLE:
        return OutputColumn(name, f"CAST({ref} AS BIGINT)", ColumnKind.EPOCH)
    if base in _NUMBERS:
        whole = f"WHEN abs({ref}) < 9.2e18D THEN CAST({ref} AS BIGINT)"
        return OutputColumn(
            name, f"CASE {whole} WHEN {ref} IS NOT NULL THEN {INT64_MAX} END", ColumnKind.EPOCH
        )
    if base in _TEXTS:
        return OutputColumn(name, f"CAST({ref} AS STRING)", ColumnKind.TEXT)
    raise type_refusal(WantedKind.TIME, name, ref, kind)
