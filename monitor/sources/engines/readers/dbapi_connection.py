"""A warehouse by a driver that hands over rows, as Python's database interface has it (PEP 249)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from monitor.core.errors import DatabaseTrouble
from monitor.sources.engines.readers.fetchmany import make_batch
from monitor.sources.engines.readers.warehouse_reader import signing_in
from monitor.sources.sql.statements import TYPES, OutputColumn, Statement

_BATCH = 50_000  # rows that are asked for at once
_LOST = ("OperationalError", "InterfaceError", "TrinoConnectionError", "Http503Error", "RequestError")


class DbapiConnection:
    """A connection of a driver.

    Parameters
    ----------
    connect
        makes the driver's connection.
    settings
        statements of a session.
    type_name
        name of a type from the code by which a cursor describes a column.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        settings: Sequence[str] = (),
        type_name: Callable[[Any], str] = str,
    ) -> None:
        self._type_name = type_name
        with signing_in():
            self._connection = connect()
            for setting in settings:
                self._run_cursor(setting).close()

    def run_query(self, sql: str, outputs: Sequence[OutputColumn] | None) -> pa.RecordBatchReader:
        """Rows of a statement; those of a small query are typed by their values."""
        cursor = self._run_cursor(sql)
        if outputs is None:
            names = [column[0] for column in cursor.description or ()]
            columns = list(zip(*cursor.fetchall(), strict=True)) if names else []
            arrays = [pa.array(list(column)) for column in columns] or [pa.nulls(0) for _ in names]
            return pa.Table.from_arrays(arrays, names=[str(at) for at in range(len(names))]).to_reader()
        schema = pa.schema([(output.name, TYPES[output.kind]) for output in outputs])
        return pa.RecordBatchReader.from_batches(
            schema, _batches(cursor, Statement(tuple(outputs), ""), schema)
        )

    def describe_query(self, sql: str) -> dict[str, str]:
        """Columns as the cursor describes them."""
        cursor = self._run_cursor(sql)
        cursor.fetchall()
        return {column[0]: self._type_name(column[1]).lower() for column in cursor.description or ()}

    def trouble_of(self, error: Exception) -> DatabaseTrouble | None:
        """By the names that PEP 249 gives to errors; any other one comes from the network."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if names.isdisjoint(("Error", "DatabaseError")):
            return DatabaseTrouble.NO_ANSWER
        return DatabaseTrouble.NO_ANSWER if names & {*_LOST} else None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _run_cursor(self, sql: str) -> Any:
        cursor = self._connection.cursor()
        cursor.execute(sql)
        return cursor


def _batches(cursor: Any, statement: Statement, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while rows := cursor.fetchmany(_BATCH):
        yield from make_batch(statement, rows).cast(schema).combine_chunks().to_batches()
    cursor.close()
