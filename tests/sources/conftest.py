"""One database a test, over every engine that there is."""

from collections.abc import Iterator
from pathlib import Path

import own_engine
import pytest
import servers
from made_databases import (
    Made,
    catalog_url,
    into_chdb,
    into_delta,
    into_duckdb,
    into_iceberg,
    into_parquet,
    into_server,
    into_sqlite,
)
from source_databases import Database

from monitor.sources.engines.schemes import SCHEMES


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
    ]
)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """A database of each engine."""
    engine, _, reader = request.param.partition("-")
    path = tmp_path / "log"
    if engine in ("postgres", "mariadb"):
        url = request.getfixturevalue(f"{engine}_url")
        found = Made(url, into_server(Database(url, reader)), reader)
    elif engine in ("own", "sqlite"):
        for scheme, row in own_engine.ROW.items():
            monkeypatch.setitem(SCHEMES, scheme, row)
        scheme = "kept" if engine == "own" else "sqlite"
        found = Made(f"{scheme}:///{path}", into_sqlite(path), reader or None)
    elif engine in ("parquet", "delta"):
        path.mkdir()
        found = Made(path.as_uri(), {"parquet": into_parquet, "delta": into_delta}[engine](path))
    elif engine == "iceberg":
        pytest.importorskip("pyiceberg")
        found = Made(path.as_uri(), into_iceberg(path), catalog=catalog_url(path))
    else:
        servers.require_extra(engine)
        fill = into_duckdb if engine == "duckdb" else into_chdb
        found = Made(f"{engine}:///{path}", fill(path))
    yield found
    for source in found.opened:
        source.close()
