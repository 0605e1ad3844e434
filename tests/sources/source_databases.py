"""Databases that the tests of sources fill and read."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pyarrow as pa

from monitor.records.rows import Batches
from monitor.sources import SqlSource, open_source
from monitor.sources.statements import concat
from monitor.specs.model import SourceSpec


def whole(batches: Batches) -> pa.Table:
    """All rows of some batches."""
    return concat(list(batches))


@dataclass
class Database:
    """A database that a test fills, and sources that read it."""

    url: str
    reader: str
    opened: list[SqlSource] = field(default_factory=list)

    @property
    def postgres(self) -> bool:
        return self.url.startswith("postgresql")

    def run(self, *statements: str) -> None:
        """Run statements."""
        self._fill(statements, "", ())

    def create(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]] = ()) -> None:
        """Create a table (its name as SQL) and fill it."""
        typed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        self._fill([f"CREATE TABLE {table} ({typed})"], table, rows)

    def _fill(self, statements: Sequence[str], table: str, rows: Sequence[Sequence[Any]]) -> None:
        if self.postgres:
            with psycopg.connect(self.url.replace("+psycopg", "")) as server, server.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement.encode())
                if rows:
                    with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                        for row in rows:
                            copy.write_row(row)
            return
        file = sqlite3.connect(self.url.removeprefix("sqlite:///"))
        for statement in statements:
            file.execute(statement)
        if rows:
            holes = ", ".join("?" for _ in rows[0])
            file.executemany(f"INSERT INTO {table} VALUES ({holes})", rows)
        file.commit()
        file.close()

    def source(self, *, batch_rows: int = 20_000) -> SqlSource:
        """A source on this database, closed at the end of the test."""
        spec = SourceSpec(name="source", url=self.url, batch_rows=batch_rows)
        self.opened.append(open_source(spec, reader=self.reader))
        return self.opened[-1]
