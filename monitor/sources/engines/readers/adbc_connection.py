"""A warehouse by an ADBC driver, which hands over record batches as they are."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import adbc_driver_manager
import pyarrow as pa
from adbc_driver_manager import AdbcStatusCode

from monitor.core.errors import DatabaseTrouble
from monitor.sources.engines.readers.warehouse_reader import signing_in
from monitor.sources.sql.statements import OutputColumn

_LOST = (
    *(AdbcStatusCode.IO, AdbcStatusCode.CANCELLED, AdbcStatusCode.TIMEOUT),
    *(AdbcStatusCode.UNAUTHENTICATED, AdbcStatusCode.UNAUTHORIZED),
)
_OWN_TYPE = b"SNOWFLAKE_TYPE"  # what Snowflake's driver says of a column beside Arrow's type
_OPAQUE = (
    "variant",
    "object",
    "array",
    "map",
    "geography",
    "geometry",
    "vector",
    "time",
)  # it hands over texts


class AdbcConnection:
    """A connection of a driver that the manager finds.

    Parameters
    ----------
    options, statement_options
        of the driver, and of each statement.
    entrypoint
        function of its library that makes it.
    """

    def __init__(
        self,
        driver: str,
        options: Mapping[str, str],
        statement_options: Mapping[str, str] | None = None,
        entrypoint: str | None = None,
    ) -> None:
        self._statement_options = dict(statement_options or {})
        from adbc_driver_manager import dbapi  # which brings Arrow's datasets

        with signing_in():
            self._connection: Any = dbapi.connect(
                driver, entrypoint=entrypoint, db_kwargs=dict(options), autocommit=True
            )

    def run_query(self, sql: str, outputs: Sequence[OutputColumn] | None) -> pa.RecordBatchReader:
        """Rows of a statement."""
        del outputs
        cursor = self._connection.cursor()
        try:
            if self._statement_options:
                cursor.adbc_statement.set_options(**self._statement_options)
            cursor.execute(sql)
            reader = cursor.fetch_record_batch()
        except BaseException:
            cursor.close()
            raise
        return pa.RecordBatchReader.from_batches(reader.schema, _batches(cursor, reader))

    def describe_query(self, sql: str) -> dict[str, str]:
        """Columns and their types: Arrow's, unless the driver writes values of another as texts."""
        schema = self.run_query(sql, None).read_all().schema
        return {field.name: _type_name(field) for field in schema}

    def trouble_of(self, error: Exception) -> DatabaseTrouble | None:
        """By the status of the driver's error."""
        status = getattr(error, "status_code", None)
        if status is AdbcStatusCode.TIMEOUT:
            return DatabaseTrouble.TIMEOUT
        if status in _LOST or not isinstance(error, adbc_driver_manager.Error):
            return DatabaseTrouble.NO_ANSWER
        return None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _batches(cursor: Any, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Batches of a cursor, which ends after them."""
    with closing(cursor):
        yield from reader


def _type_name(field: pa.Field) -> str:
    own = (field.metadata or {}).get(_OWN_TYPE, b"").decode()
    return own if own in _OPAQUE else str(field.type)
