"""Cycles over the flights in column stores, which count their records, leave the panes that SQLite leaves."""

from pathlib import Path

import pytest
import servers
import sqlalchemy as sa
from spark_flights import Flights, flights_in

from monitor.core.clock import from_iso
from monitor.specs.model_spec import SourceSpec

MOMENTS = (from_iso("2013-03-04"), from_iso("2013-03-08"))


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Flights:
    """The flights of a week."""
    return flights_in(tmp_path_factory.mktemp("flights"), MOMENTS[-1])


def load(flights: Flights, kind: str) -> str:
    """URL of a database of that kind with the flights in it."""
    servers.require_extra(kind)
    url = f"{kind}:///{flights.directory / kind}"
    made, file = {
        "duckdb": ("CREATE TABLE {} AS SELECT * FROM ", "'{}'"),
        "chdb": ("CREATE TABLE {} ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM ", "file('{}')"),
    }[kind]
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        for name in ("predictions", "labels"):
            path = flights.directory / f"{name}.parquet"
            connection.exec_driver_sql(made.format(name) + file.format(path))
    engine.dispose()
    return url


@pytest.mark.columnar
@pytest.mark.parametrize("kind", ["duckdb", "chdb"])
def test_cycles_leave_the_panes_that_the_local_engine_leaves(
    kind: str, flights: Flights, tmp_path: Path
) -> None:
    url = load(flights, kind)

    here = flights.cycles(flights.local, tmp_path / "local.db", moments=MOMENTS)
    there = flights.cycles(
        SourceSpec(name="log", url=url, engine="sql"), tmp_path / "sql.db", moments=MOMENTS
    )

    assert {key for key in here if key not in there or here[key] != there[key]} == set()
    assert there.keys() == here.keys()
    assert sum(part.records for part in there.values()) > 10_000
