"""BigQuery: paid by the bytes of the columns and partitions that a statement names."""

from collections.abc import Sequence
from typing import Any, ClassVar

from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.sources.engines.readers.bigquery_client import DRY_RUN, LISTING, BigqueryConnection
from monitor.sources.engines.warehouse import INSTANT, NAIVE, WarehouseEngine
from monitor.sources.sql.sql_names import backslash_escaped
from monitor.sources.sql.statements import ColumnKind, ReadSession
from monitor.specs.model_spec import Relation

_LEAST = 10 * 2**20  # of each table that a statement names
_KEYS = ("location", "service_account", "maximum_bytes_billed", "endpoint", "anonymous")


class BigqueryEngine(WarehouseEngine):
    """A project and a dataset of it."""

    title: ClassVar[str] = "BigQuery"
    untested: ClassVar[str] = (
        "BigQuery was tested by an emulator alone: compare a day with a count of your own"
    )
    explain: ClassVar[str] = DRY_RUN
    dollars_per_tib: ClassVar[float | None] = 6.25  # on demand: cloud.google.com/bigquery/pricing
    type_names: ClassVar = {
        **dict.fromkeys(("string", "uuid"), "varchar"),
        **dict.fromkeys(("int64", "integer"), "bigint"),
        **dict.fromkeys(("float64", "float"), "double"),
        **dict.fromkeys(("numeric", "bignumeric"), "decimal"),
        **dict.fromkeys(("bool", "boolean"), "boolean"),
        "timestamp": INSTANT,
        "datetime": NAIVE,
        "date": "date",
    }
    casts: ClassVar = {ColumnKind.TEXT: "STRING", ColumnKind.NUMBER: "FLOAT64", ColumnKind.EPOCH: "INT64"}
    literals: ClassVar = {NAIVE: "DATETIME", "date": "DATE"}
    escapes_texts: ClassVar[bool] = True

    def quote_name(self, name: str) -> str:
        """A name, escaped as a text is."""
        return backslash_escaped(name, "`")

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types by a dry run."""
        if relation.table is not None and relation.table.count(".") > 2:
            raise SourceError(f'a table of BigQuery is [[project.]dataset.]table: got "{relation.table}"')
        return super().types_of(session, relation)

    def list_tables(self, session: ReadSession) -> list[str]:
        """Tables and views of the dataset, which no query has to read."""
        return sorted(str(row[0]) for row in session.read_rows(LISTING))

    def plan_line(self, row: tuple[Any, ...]) -> str:
        """Bytes that the dry run tells."""
        return f"reads {row[0] / 1e6:,.1f} MB"

    def bytes_of_plan(self, rows: Sequence[tuple[Any, ...]]) -> int:
        """Bytes that are billed: whole megabytes, ten at least of each table."""
        return sum(max(-(-int(read) // 2**20) * 2**20, _LEAST * max(tables, 1)) for read, tables in rows)

    def micros_sql(self, column: str) -> str:
        """A DATETIME is of UTC."""
        return f"UNIX_MICROS(CAST({column} AS TIMESTAMP))"

    def cell_sql(self, sql: str, edges: Sequence[str], first: int) -> str | None:
        """A binary search of its own: what equals an edge lies above it."""
        return f"{first} + RANGE_BUCKET({sql}, [{', '.join(edges)}])" if edges else None

    def connect(self, url: URL, limit: float) -> BigqueryConnection:
        """A client; without a service_account's file Google's default chain signs in."""
        unknown = set(url.query) - {*_KEYS}
        if unknown:
            raise SourceError(
                f"a url of BigQuery has the options {', '.join(_KEYS)}: got {', '.join(sorted(unknown))}"
            )
        dataset = next(iter(self.database_of(url)), None)
        return BigqueryConnection(
            url.host, dataset, {name: str(value) for name, value in url.query.items()}, limit
        )
