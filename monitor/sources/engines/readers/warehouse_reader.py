"""The seam of warehouses: SQL goes in, record batches come out, whatever the driver is."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from sqlalchemy import URL

from monitor.core.errors import DatabaseTrouble, SourceUnavailable
from monitor.records.winning_rows import Batches
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.driver_failures import refused_error, unavailable_error
from monitor.sources.engines import columnar
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.statements import OutputColumn, Statement, concat_mixed_tables
from monitor.specs.deadlines import answered_within
from monitor.specs.model_spec import SourceSpec


class WarehouseConnection(Protocol):
    """A connection of any driver."""

    def run_query(self, sql: str, outputs: Sequence[OutputColumn] | None) -> pa.RecordBatchReader:
        """Rows of a statement.

        Parameters
        ----------
        outputs
            what its columns hold; None: what the driver says, of a small query.
        """
        ...

    def describe_query(self, sql: str) -> dict[str, str]:
        """Columns of a query and the service's names of their types, as far as the driver tells them."""
        ...

    def trouble_of(self, error: Exception) -> DatabaseTrouble | None:
        """Why an error says that the service does not serve us now; None: it refuses the statement."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class DriverFault(Exception):  # noqa: N818 -- never seen by people
    """What a driver raised, until its session tells it in our words."""

    def __init__(self, error: Exception, trouble: DatabaseTrouble | None) -> None:
        super().__init__(str(error))
        self.orig, self.trouble = error, trouble


@dataclass(frozen=True, slots=True)
class WarehouseSession:
    """A connection while some statements run."""

    connection: WarehouseConnection
    batch_rows: int

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        return concat_mixed_tables(list(self.read_batches(statement)))

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement as the driver cuts them, at most `batch_rows` at a time; the first has none."""
        yield statement.empty_table()
        with self._driver_faults():
            reader = self.connection.run_query(statement.sql_text(), statement.outputs)
        while (batch := self._next_batch(reader)) is not None:
            for at in range(0, batch.num_rows, self.batch_rows):
                piece = pa.Table.from_batches([batch.slice(at, self.batch_rows)])
                yield columnar.cast_columns(statement, piece)

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        with self._driver_faults():
            table = self.connection.run_query(sql, None).read_all()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names of a query's columns and their types."""
        with self._driver_faults():
            return dict(self.connection.describe_query(sql))

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        with self._driver_faults():
            self.connection.run_query(sql, None).read_all()

    def _next_batch(self, reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
        with self._driver_faults():
            return next(reader, None)

    @contextmanager
    def _driver_faults(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise DriverFault(error, self.connection.trouble_of(error)) from error


class WarehouseReader:
    """Connections of a warehouse, kept between sessions: signing in takes seconds."""

    def __init__(
        self,
        spec: SourceSpec,
        address: DatabaseAddress,
        connect: Callable[[URL, float], WarehouseConnection],
    ) -> None:
        self.engine: Engine = address.engine
        self._address, self._connect = address, connect
        self._batch_rows, self._timeout = spec.batch_rows, spec.statement_timeout
        self._free = threading.BoundedSemaphore(spec.max_connections)
        self._idle: list[WarehouseConnection] = []

    @contextmanager
    def open_session(self) -> Iterator[WarehouseSession]:
        """Take a connection, or sign in; one that failed is not used again.

        Raises
        ------
        SourceUnavailable
            if the service does not answer.
        SourceError
            if it refuses a statement.
        """
        with self._free:
            kept = self._idle.pop() if self._idle else None
            connection = kept or self._sign_in()
            try:
                yield WarehouseSession(connection, self._batch_rows)
            except BaseException as error:
                with suppress(Exception):
                    connection.close()
                if not isinstance(error, DriverFault):
                    raise
                if kept is not None and error.trouble is DatabaseTrouble.NO_ANSWER:
                    # The service may have ended it, and those beside it: a further try signs in anew.
                    self.close()
                    error.trouble = DatabaseTrouble.CONFLICT
                raise self._translate_fault(error) from error
            self._idle.append(connection)

    def close(self) -> None:
        """End the connections that are kept."""
        while self._idle:
            with suppress(Exception):
                self._idle.pop().close()

    def _sign_in(self) -> WarehouseConnection:
        try:
            return self._connect(self._address.current_url(), answered_within(self._timeout))
        except DriverFault as error:
            raise self._translate_fault(error) from error

    def _translate_fault(self, error: DriverFault) -> Exception:
        if error.trouble is None:
            return refused_error(self._address, error)
        return unavailable_error(self._address, error, error.trouble, limit=self._timeout)


@contextmanager
def signing_in() -> Iterator[None]:
    """Whatever goes wrong while a driver signs in, the service does not serve us."""
    try:
        yield
    except SourceUnavailable:
        raise
    except Exception as error:
        raise DriverFault(error, DatabaseTrouble.NO_ANSWER) from error
