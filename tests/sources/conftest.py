"""One database a test, over every engine that there is."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import lake_servers
import own_engine
import pytest
import servers
import warehouse_emulators
from lake_servers import LakeStore
from made_databases import (
    IcebergPlace,
    Made,
    catalog_url,
    into_chdb,
    into_delta,
    into_duckdb,
    into_iceberg,
    into_parquet,
    into_server,
    into_sqlite,
    into_store,
)
from source_databases import Database
from sqlalchemy import make_url

from monitor.sources.engines.schemes import SCHEMES, engine_of

_NUMBERS = count()


@pytest.fixture(scope="session")
def s3_store() -> Iterator[LakeStore]:
    """A bucket of an S3 server."""
    with lake_servers.s3_server() as server:
        yield lake_servers.s3_bucket(server, "contract")


@pytest.fixture(scope="session")
def gs_store() -> Iterator[LakeStore]:
    """A bucket of Google's storage."""
    with lake_servers.gcs_bucket("contract") as store:
        yield store


@pytest.fixture(scope="session")
def az_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeStore]:
    """A container of Azure's storage."""
    with lake_servers.azure_container("contract", tmp_path_factory.mktemp("azurite")) as store:
        yield store


LAKES = ("parquet", "delta", "iceberg", "s3", "gs", "az")


def _made_files(request: pytest.FixtureRequest, place: str, kind: str, path: Path) -> Made:
    """Tables of files, here or in a store."""
    if "iceberg" in (place, kind):
        pytest.importorskip("pyiceberg")
    if not kind and place != "iceberg":
        path.mkdir()
        return Made(path.as_uri(), {"parquet": into_parquet, "delta": into_delta}[place](path))
    if not kind:
        warehouse = IcebergPlace(path, path.as_uri())
        return Made(path.as_uri(), into_iceberg(warehouse), catalog=catalog_url(path))
    store, folder = request.getfixturevalue(f"{place}_store"), f"t{next(_NUMBERS)}"
    if kind != "iceberg":
        return Made(store.url(folder), into_store(store, folder, kind))
    warehouse = IcebergPlace(path, store.address(folder), store.iceberg)
    return Made(store.url(folder), into_iceberg(warehouse), catalog=catalog_url(path))


@pytest.fixture(
    params=[
        "own",
        "sqlite-adbc",
        "sqlite-fetchmany",
        pytest.param("postgres-adbc", marks=pytest.mark.postgres),
        pytest.param("postgres-fetchmany", marks=pytest.mark.postgres),
        pytest.param("mariadb-fetchmany", marks=pytest.mark.mariadb),
        pytest.param("duckdb", marks=pytest.mark.columnar),
        pytest.param("chdb", marks=pytest.mark.columnar),
        "parquet",
        pytest.param("delta", marks=pytest.mark.columnar),
        pytest.param("iceberg", marks=pytest.mark.lakes),
        pytest.param("adbc", marks=pytest.mark.columnar),
        *(pytest.param(name, marks=pytest.mark.warehouses) for name in warehouse_emulators.WAREHOUSES),
        pytest.param("s3-parquet", marks=pytest.mark.lakes),
        pytest.param("s3-delta", marks=pytest.mark.lakes),
        pytest.param("s3-iceberg", marks=pytest.mark.lakes),
        pytest.param("gs-parquet", marks=pytest.mark.lakes),
        pytest.param("gs-iceberg", marks=pytest.mark.lakes),
        pytest.param("az-iceberg", marks=pytest.mark.lakes),
        pytest.param("az-parquet", marks=pytest.mark.lakes),
        pytest.param("az-delta", marks=pytest.mark.lakes),
    ]
)
def made(  # noqa: C901
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Made]:
    """A database of each engine."""
    engine, _, reader = request.param.partition("-")
    path, opened = tmp_path / "log", ExitStack()
    if engine in ("postgres", "mariadb"):
        url = request.getfixturevalue(f"{engine}_url")
        found = Made(url, into_server(Database(url, reader)), reader)
    elif engine in ("own", "sqlite"):
        for scheme, row in own_engine.ROW.items():
            monkeypatch.setitem(SCHEMES, scheme, row)
        scheme = "kept" if engine == "own" else "sqlite"
        found = Made(f"{scheme}:///{path}", into_sqlite(path), reader or None)
    elif engine == "adbc":
        library = pytest.importorskip("_duckdb").__file__
        found = Made(f"adbc://{library}?entrypoint=duckdb_adbc_init&path={path}", into_duckdb(path))
    elif engine in ("snowflake", "bigquery"):
        place = request.getfixturevalue(f"{engine}_url")
        database = opened.enter_context(warehouse_emulators.filled_database(place, f"db{next(_NUMBERS)}"))
        found = Made(database.url, database.create)
    elif engine in warehouse_emulators.TRANSPILED:
        pytest.importorskip("sqlglot")
        kind = type(engine_of(make_url(f"{engine}://host")))
        monkeypatch.setattr(kind, "connect", warehouse_emulators.transpiled(path, engine))
        found = Made(f"{engine}://host/ml", into_duckdb(path))
    elif engine in LAKES:
        found = _made_files(request, engine, reader, path)
    else:
        servers.require_extra(engine)
        fill = into_duckdb if engine == "duckdb" else into_chdb
        found = Made(f"{engine}:///{path}", fill(path))
    with opened:
        yield found
        for source in found.opened:
            source.close()


@pytest.fixture(scope="session")
def snowflake_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An emulator of Snowflake."""
    with warehouse_emulators.snowflake(tmp_path_factory.mktemp("snowflake")) as url:
        yield url


@pytest.fixture(scope="session")
def bigquery_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An emulator of BigQuery."""
    with warehouse_emulators.bigquery(tmp_path_factory.mktemp("bigquery")) as url:
        yield url
