"""Databases of every engine that a test fills, one of our own among them."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from lake_servers import LakeStore
from pyarrow import fs as pafs
from source_databases import Database

from monitor.sources import SqlSource, open_source
from monitor.specs.model_spec import SourceSpec

ARROW = {
    "text": pa.string(),
    "timestamp": pa.timestamp("us"),
    "double precision": pa.float64(),
    "bigint": pa.int64(),
}
Rows = Sequence[Sequence[Any]]


@dataclass
class Made:
    """A database of an engine: how a table is made, and more rows come into it."""

    url: str
    create: Callable[[str, Mapping[str, str], Rows], None]
    reader: str | None = None
    catalog: str | None = None
    opened: list[SqlSource] = field(default_factory=list)

    @property
    def columnar(self) -> bool:
        """No user makes indexes there."""
        return not self.url.startswith(("kept:", "sqlite:", "postgresql", "mysql", "mariadb"))

    def source(self) -> SqlSource:
        spec = SourceSpec(name="source", url=self.url, catalog=self.catalog)
        self.opened.append(open_source(spec, reader=self.reader))
        return self.opened[-1]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def into_sqlite(path: Path) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a file of SQLite."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        with sqlite3.connect(path) as file:
            file.execute("PRAGMA journal_mode = WAL")
            typed = ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns.items())
            file.execute(f"CREATE TABLE IF NOT EXISTS {table} ({typed})")
            file.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
        file.close()

    return create


def into_server(database: Database) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a server."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        kinds = {"text": "varchar(191)", "timestamp": "datetime(6)"} if database.engine == "mariadb" else {}
        typed = ", ".join(f"{_quoted(name)} {kinds.get(kind, kind)}" for name, kind in columns.items())
        statement = f"CREATE TABLE IF NOT EXISTS {table} ({typed})"
        database._fill([statement], table, rows)

    return create


def _arrow(columns: Mapping[str, str], rows: Rows) -> pa.Table:
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.table(
        {
            name: pa.array(list(column), pa.string()).cast(ARROW[kind])
            if kind == "timestamp"
            else pa.array(list(column), ARROW[kind])
            for (name, kind), column in zip(columns.items(), values, strict=True)
        }
    )


def into_duckdb(path: Path) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a file of DuckDB."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as connection:
            connection.register("made", _arrow(columns, rows))
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS SELECT * FROM made LIMIT 0")
            connection.execute(f"INSERT INTO {table} SELECT * FROM made")

    return create


def into_parquet(path: Path) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a folder of Parquet files: a file each time."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        folder = path / table.strip('"').replace('""', '"')
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(_arrow(columns, rows), folder / f"{len(list(folder.iterdir())):03}.parquet")

    return create


def into_store(store: LakeStore, folder: str, kind: str) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a bucket: a file, a version or a snapshot each time."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        name, made = table.strip('"').replace('""', '"'), _arrow(columns, rows)
        if kind == "delta":
            store.append_delta(f"{folder}/{name}", made)
            return
        path = f"{store.bucket}/{folder}/{name}"
        store.files.create_dir(path, recursive=True)
        there = store.files.get_file_info(pafs.FileSelector(path))
        pq.write_table(made, f"{path}/{len(there):03}.parquet", filesystem=store.files)

    return create


def into_delta(path: Path) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into Delta tables: a version each time."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        import deltalake

        folder = path / table.strip('"').replace('""', '"')
        deltalake.write_deltalake(str(folder), _arrow(columns, rows), mode="append")

    return create


@dataclass(frozen=True, slots=True)
class IcebergPlace:
    """A catalogue in a file of SQLite, below a path, and where the files of its tables are."""

    path: Path
    warehouse: str
    options: Mapping[str, str] = field(default_factory=dict)

    def catalog(self) -> Any:
        """The catalogue."""
        from pyiceberg.catalog.sql import SqlCatalog

        self.path.mkdir(parents=True, exist_ok=True)
        uri = catalog_url(self.path).partition("?")[0]
        return SqlCatalog("default", uri=uri, warehouse=self.warehouse, **self.options)


def catalog_of(path: Path) -> Any:
    """Iceberg's catalogue of a folder."""
    return IcebergPlace(path, path.as_uri()).catalog()


def catalog_url(path: Path) -> str:
    """URL of a catalogue."""
    return f"sqlite:///{path}/catalog.db?namespace=ml"


def into_iceberg(place: IcebergPlace) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a namespace of Iceberg: a snapshot each time."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        catalog = place.catalog()
        catalog.create_namespace_if_not_exists("ml")
        name, made = table.strip('"').replace('""', '"'), _arrow(columns, rows)
        catalog.create_table_if_not_exists(("ml", name), made.schema).append(made)

    return create


def into_chdb(path: Path) -> Callable[[str, Mapping[str, str], Rows], None]:
    """How tables come into a ClickHouse of this process."""

    def create(table: str, columns: Mapping[str, str], rows: Rows) -> None:
        file = path.with_name(f"{path.name}-{table}.parquet")
        pq.write_table(_arrow(columns, rows), file)
        engine = sa.create_engine(f"chdb:///{path}")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")
            made = f"CREATE TABLE {table} ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file('{file}')"
            connection.exec_driver_sql(made)
        engine.dispose()

    return create
