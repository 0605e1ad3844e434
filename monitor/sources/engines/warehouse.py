"""What warehouses have in common: names of types, times that prune partitions, sign-in by a URL."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Protocol

from sqlalchemy import URL

from monitor.core.clock import DAY
from monitor.core.errors import SourceError
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.engines.columnar import ColumnarEngine
from monitor.sources.engines.readers.warehouse_reader import DriverFault, WarehouseConnection, WarehouseReader
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, WantedKind
from monitor.sources.sql.time_ranges import (
    ComparableTime,
    TimeColumn,
    TimeShape,
    TimesOfRows,
    shape_utc_times,
)
from monitor.specs.model_spec import Relation, SourceSpec

INSTANT, NAIVE = "timestamp with time zone", "timestamp"
STANDARD_CASTS = {ColumnKind.TEXT: "VARCHAR", ColumnKind.NUMBER: "DOUBLE", ColumnKind.EPOCH: "BIGINT"}


class WarehouseEngine(ColumnarEngine, Protocol):
    """A service that is paid by what it reads: each statement says between which times its rows lie.

    Parameters
    ----------
    type_names
        its names of types, as column stores call them here; any other type is not read.
    casts
        type of a text, a double, a whole number.
    literals
        what stands before a literal of a time, by the type of the column it is compared with.
    longest_name
        bytes of a name, where a longer one would be cut without a word.
    """

    has_arrow: ClassVar[bool] = True
    can_be_proven: ClassVar[bool] = True
    most_grouped: ClassVar[int] = 40  # Databricks takes 64 columns; BigQuery and Trino a text of a megabyte
    has_indexes: ClassVar[bool] = False
    scans_are_paid: ClassVar[bool] = True
    alike: ClassVar[tuple[tuple[str, ...], ...]] = (("bigint", "double", "decimal"),)
    type_names: ClassVar[Mapping[str, str]] = {}
    casts: ClassVar[Mapping[ColumnKind, str]] = STANDARD_CASTS
    literals: ClassVar[Mapping[str, str]] = {}
    longest_name: ClassVar[int | None] = None

    def connect(self, url: URL, limit: float) -> WarehouseConnection:
        """Connect; `limit`: seconds that an answer may take.

        Raises
        ------
        SourceError
            if the URL lacks what is needed to sign in, or the driver is not installed.
        """
        ...

    def make_reader(self, spec: SourceSpec, address: DatabaseAddress) -> WarehouseReader:
        """Rows in Arrow."""
        return WarehouseReader(spec, address, self.connect)

    def quote_table(self, name: str) -> str:
        """A table's name, split at dots.

        Raises
        ------
        SourceError
            if no table can have this name.
        """
        parts = self.parts_of(name)
        if not all(parts) or "\0" in name:
            raise SourceError(f"no table of {self.title} can have the name {json.dumps(name)}")
        for part in parts:
            if self.longest_name is not None and len(part.encode()) > self.longest_name:
                raise SourceError(
                    f'a name of {self.title} has at most {self.longest_name} bytes: got "{part}"'
                )
        return ".".join(map(self.quote_name, parts))

    def parts_of(self, name: str) -> list[str]:
        """Database, schema and table, as far as a name says them."""
        return name.split(".")

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types as column stores call them here."""
        try:
            types = super().types_of(session, relation)
        except DriverFault as error:
            # To look first would be a query more for each statement, and a bill.
            if relation.table is None or error.trouble is not None:
                raise
            tables = self.list_tables(session)
            if not tables or relation.table in tables:
                raise
            raise self.missing_table_error(session, relation.table) from error
        return {name: self.common_type(kind) for name, kind in types.items()}

    def common_type(self, kind: str) -> str:
        """Name of a type among column stores; its own where it is not read.

        Arguments are left out, as those of numeric(10, 2); what follows them stays.
        """
        bare = kind.partition("(")[0] + kind.partition(")")[2]
        return self.type_names.get(bare.strip(), kind)

    def cast_sql(self, ref: str, kind: ColumnKind) -> str:
        """A cast that keeps NULL."""
        return f"CAST({ref} AS {self.casts[kind]})"

    def bigint_sql(self, sql: str) -> str:
        """A cast of a whole number."""
        return self.cast_sql(sql, ColumnKind.EPOCH)

    def cast_time(self, ref: str, kind: ColumnKind) -> str:  # noqa: ARG002
        """Arrow has a type for each."""
        return ref

    def output_column(
        self, want: WantedKind, name: str, ref: str, kind: str, unit: str | None = None
    ) -> OutputColumn:
        """Truth is written and counted alike everywhere: services cast it in ways of their own."""
        if kind == "boolean" and want is not WantedKind.TIME:
            number = want is WantedKind.NUMBER or want is WantedKind.VALUE
            yes, no = ("1", "0") if number else ("'true'", "'false'")
            sql = f"CASE WHEN {ref} THEN {yes} WHEN NOT {ref} THEN {no} END"
            return OutputColumn(name, sql, ColumnKind.NUMBER if number else ColumnKind.TEXT)
        return super().output_column(want, name, ref, kind, unit)

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """By its type, with the literals of that type."""
        known = super().comparable_time(session, time_column, time)
        return replace(known, literal=self.literals.get(time_column.kind, known.literal))

    def narrowed_sql(self, relation: Relation, alias: str, times: TimesOfRows) -> str | None:
        """Rows within a day around what is wanted: a label has no other bound than when it was reported."""
        column, kind = times.partition or ("", "")
        days = self.day_column(f"t.{self.quote_name(column)}", kind) if column else None
        if not times.ranges or (times.kind not in (INSTANT, NAIVE, "date") and days is None):
            return None
        ref = self.quote_name(times.column)
        time = ComparableTime(f"t.{ref}", TimeShape.UNKNOWN, days=days)
        if times.kind in (INSTANT, NAIVE, "date"):
            time = shape_utc_times(time, zoned=True)
            time = replace(time, literal=self.literals.get(times.kind, time.literal))
        around = (min(lo for lo, _ in times.ranges) - DAY, max(hi for _, hi in times.ranges) + DAY)
        wanted = time.range_condition(*around)
        if times.undated:
            nothing = f"t.{ref} IS NULL"
            nothing = nothing if days is None else f"({nothing} AND {days.sql} IS NULL)"
            wanted = f"({wanted}) OR {nothing}"
        item = self.relation_sql(relation, "t")
        return f"(SELECT * FROM {item} WHERE {wanted}) AS {alias}"

    def database_of(self, url: URL) -> tuple[str, ...]:
        """Parts of the path of a URL: those that its address names of a database and a schema."""
        return tuple(part for part in (url.database or "").split("/") if part)
