"""Warehouses on loopback: emulators of Snowflake and BigQuery, and DuckDB behind the drivers of others.

Emulators prove protocol, types and NULLs, never arithmetic.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import servers
from emulators import find_emulator, running_emulator
from sqlalchemy import make_url

from monitor.sources.engines.readers.bigquery_client import BigqueryConnection
from monitor.sources.engines.readers.dbapi_connection import DbapiConnection
from monitor.sources.engines.readers.warehouse_reader import WarehouseConnection
from monitor.sources.engines.schemes import engine_of
from monitor.sources.engines.warehouse import WarehouseEngine

_ROWS = 200  # of a statement
_COLUMNS = ("text", "timestamp", "double precision", "bigint", "boolean")  # of tests
_ALIKE = {
    name: name
    for name in ("varchar", "double", "bigint", "integer", "smallint", "tinyint", "boolean", "date")
}
_ZONED = "timestamp with time zone"
TRANSPILED = {  # what services without an emulator call DuckDB's types
    "redshift": _ALIKE | {"float": "real", "timestamp": "timestamp", _ZONED: "timestamptz"},
    "trino": _ALIKE | {"float": "real", "timestamp": "timestamp(6)", _ZONED: "timestamp(6) with time zone"},
    "databricks": _ALIKE
    | {
        "varchar": "string",
        "integer": "int",
        "float": "float",
        "timestamp": "timestamp_ntz",
        _ZONED: "timestamp",
    },
}
WAREHOUSES = ("snowflake", "bigquery", *TRANSPILED)
_KINDS = {
    "snowflake": {
        "text": "VARCHAR",
        "timestamp": "TIMESTAMP_NTZ",
        "double precision": "FLOAT",
        "bigint": "NUMBER",
        "boolean": "BOOLEAN",
    },
    "bigquery": {
        "text": "STRING",
        "timestamp": "DATETIME",
        "double precision": "FLOAT64",
        "bigint": "INT64",
        "boolean": "BOOL",
    },
}


@contextlib.contextmanager
def snowflake(directory: Path) -> Iterator[str]:
    """Fakesnow; URL of a source of one of its databases."""
    program, port = find_emulator("fakesnow", "bin/fakesnow"), servers.free_port()
    with running_emulator([str(program), "-s", "-p", str(port)], directory, port):
        yield f"snowflake://monitor@fakesnow/{{}}/public?token=x&host=127.0.0.1&port={port}&protocol=http"


@contextlib.contextmanager
def bigquery(directory: Path) -> Iterator[str]:
    """Bqemulator; URL of a source of one of its datasets."""
    program, port = find_emulator("bqemulator", "bin/bqemulator"), servers.free_port()
    spatial = next((program.parents[1] / "lib").rglob("spatial.duckdb_extension"))
    place = directory / ".duckdb" / "extensions" / spatial.parent.name / "linux_amd64"
    place.mkdir(parents=True)
    shutil.copy(spatial, place)  # which it loads without using it
    ports = "--rest-port", str(port), "--grpc-port", str(servers.free_port())
    with running_emulator([str(program), "start", *ports, "--project", "lab"], directory, port):
        yield f"bigquery://lab/{{}}?location=US&anonymous=true&endpoint=http://127.0.0.1:{port}"


@dataclass(frozen=True, slots=True)
class FilledDatabase:
    """A database of an emulator, and how tables come into it: by its own statements."""

    url: str
    engine: WarehouseEngine
    connection: WarehouseConnection

    def create(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """A table, or more rows of one."""
        kinds = [_KINDS[self.engine.name][kind] for kind in columns.values()]
        name = self.engine.quote_name(table.strip('"').replace('""', '"'))
        typed = [
            f"{self.engine.quote_name(column)} {kind}" for column, kind in zip(columns, kinds, strict=True)
        ]
        self.run_command(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(typed)})")
        for at in range(0, len(rows), _ROWS):
            some = rows[at : at + _ROWS]
            if self.engine.name == "bigquery":  # its statements take seconds a hundred rows
                self._stream_rows(name.strip("`"), list(columns), some)
            else:
                values = ", ".join(f"({', '.join(map(_literal, row, kinds))})" for row in some)
                self.run_command(f"INSERT INTO {name} VALUES {values}")

    def _stream_rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        client = cast("BigqueryConnection", self.connection)._client
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        failed = client.insert_rows_json(f"lab.{make_url(self.url).database}.{table}", named)
        assert not failed, failed

    def run_command(self, sql: str) -> None:
        """A statement without rows."""
        self.connection.run_query(sql, None).read_all()


@contextlib.contextmanager
def filled_database(place: str, name: str) -> Iterator[FilledDatabase]:
    """A database of its own; `place`: URL of an emulator, with a gap for its name."""
    url = make_url(place.format(name))
    engine = cast("WarehouseEngine", engine_of(url))
    snowflake = engine.name == "snowflake"
    with contextlib.closing(engine.connect(url.set(database="") if snowflake else url, 60.0)) as connection:
        database = FilledDatabase(place.format(name), engine, connection)
        made = (
            f"CREATE DATABASE {name}; USE DATABASE {name}; CREATE SCHEMA public; USE SCHEMA public"
            if snowflake
            else f"CREATE SCHEMA `{name}`"
        )
        for statement in made.split("; "):
            database.run_command(statement)
        yield database


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"CAST('{escaped}' AS {kind})"
    return f"CAST('{value!r}' AS {kind})" if isinstance(value, float) else str(value)


class TranspiledConnection:
    """A driver's connection to a DuckDB that is spoken to in another dialect, as far as sqlglot knows it."""

    def __init__(self, path: Path, dialect: str, type_names: Mapping[str, str]) -> None:
        import duckdb

        self._connection = duckdb.connect(str(path))
        self._connection.execute("SET TimeZone = 'UTC'")
        self._dialect, self._type_names = dialect, type_names

    def cursor(self) -> "TranspiledCursor":
        return TranspiledCursor(self._connection.cursor(), self._dialect, self._type_names)

    def close(self) -> None:
        self._connection.close()


class TranspiledCursor:
    """What PEP 249 asks of a cursor, as far as it is used."""

    def __init__(self, cursor: Any, dialect: str, type_names: Mapping[str, str]) -> None:
        self._cursor, self._dialect, self._type_names = cursor, dialect, type_names

    def execute(self, sql: str) -> None:
        import sqlglot

        plan = "EXPLAIN " if sql.startswith("EXPLAIN ") else ""
        sql = sql.removeprefix(plan)
        (translated,) = sqlglot.transpile(
            sql, read=self._dialect, write="duckdb", error_level=sqlglot.ErrorLevel.RAISE
        )
        self._cursor.execute("SET TimeZone = 'UTC'")
        self._cursor.execute(f"{plan}{translated}")

    @property
    def description(self) -> list[tuple[Any, ...]]:
        return [
            (name, self._type_names[str(kind).partition("(")[0].lower()])
            for name, kind, *_ in self._cursor.description
        ]

    def fetchall(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._cursor.fetchmany(size)
        return rows

    def close(self) -> None:
        self._cursor.close()


def transpiled(path: Path, dialect: str) -> Callable[..., DbapiConnection]:
    """What the `connect` of an engine is replaced by."""
    return lambda *_: DbapiConnection(lambda: TranspiledConnection(path, dialect, TRANSPILED[dialect]))
