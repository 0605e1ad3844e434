"""Cycles over the flights in warehouses leave the panes that SQLite leaves."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warehouse_emulators
from spark_flights import Flights, PaneKey, flights_in
from sqlalchemy import make_url

from monitor.core.clock import from_iso
from monitor.records.pane import PanePart
from monitor.sources.engines.schemes import engine_of
from monitor.specs.model_spec import SourceSpec

MOMENTS = (from_iso("2013-03-04"), from_iso("2013-03-05"), from_iso("2013-03-06"))
NAMES = ("predictions", "labels")
KINDS = {
    pa.string(): "text",
    pa.bool_(): "boolean",
    **dict.fromkeys((pa.float32(), pa.float64()), "double precision"),
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), "bigint"),
}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Flights:
    """The flights of five days."""
    return flights_in(tmp_path_factory.mktemp("flights"), MOMENTS[-1])


@pytest.fixture(scope="module")
def here(flights: Flights, tmp_path_factory: pytest.TempPathFactory) -> dict[PaneKey, PanePart]:
    """Panes by SQLite."""
    return flights.cycles(flights.local, tmp_path_factory.mktemp("here") / "local.db", moments=MOMENTS)


def into_file(flights: Flights, path: Path) -> None:
    """The tables in a file of DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        for name in NAMES:
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{flights.file(name)}')")


def date_rows(path: Path) -> None:
    """Give each table in a file the day of its time."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        for name, column in zip(NAMES, ("event_time", "reported_at"), strict=True):
            connection.execute(f"ALTER TABLE {name} ADD COLUMN dt DATE")
            connection.execute(f"UPDATE {name} SET dt = CAST({column} AS DATE)")


def kinds_of(table: pa.Table) -> Mapping[str, str]:
    return {field.name: KINDS.get(field.type, "timestamp") for field in table.schema}


def test_cycles_by_an_adbc_driver_leave_the_panes_of_sqlite(
    flights: Flights, here: dict[PaneKey, PanePart], tmp_path: Path
) -> None:
    library = pytest.importorskip("_duckdb").__file__
    into_file(flights, tmp_path / "log")
    url = f"adbc://{library}?entrypoint=duckdb_adbc_init&path={tmp_path / 'log'}"

    found = flights.cycles(SourceSpec(name="log", url=url), tmp_path / "store.db", moments=MOMENTS)

    assert found == here


@pytest.mark.warehouses
@pytest.mark.parametrize("partition", ["", "dt"])
@pytest.mark.parametrize("engine", warehouse_emulators.TRANSPILED)
def test_cycles_in_another_dialect_leave_the_panes_of_sqlite(
    flights: Flights,
    here: dict[PaneKey, PanePart],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    partition: str,
) -> None:
    pytest.importorskip("sqlglot")
    into_file(flights, tmp_path / "log")
    if partition:
        date_rows(tmp_path / "log")
    url = f"{engine}://host/ml"
    own = type(engine_of(make_url(url)))
    monkeypatch.setattr(own, "connect", warehouse_emulators.transpiled(tmp_path / "log", engine))

    found = replace(flights, partition=partition).cycles(
        SourceSpec(name="log", url=url), tmp_path / "store.db", moments=MOMENTS
    )

    assert found == here


@pytest.mark.warehouses
@pytest.mark.parametrize("engine", ["snowflake", "bigquery"])
def test_cycles_over_an_emulator_leave_the_panes_of_sqlite(
    flights: Flights, here: dict[PaneKey, PanePart], tmp_path: Path, engine: str
) -> None:
    with (
        getattr(warehouse_emulators, engine)(tmp_path) as place,
        warehouse_emulators.filled_database(place, "flights") as database,
    ):
        for name in NAMES:
            table = pq.read_table(flights.file(name))
            texts = [
                column if column.type in KINDS else column.cast(pa.timestamp("us")).cast(pa.string())
                for column in table.columns
            ]
            rows = list(zip(*(column.to_pylist() for column in texts), strict=True))
            database.create(name, kinds_of(table), rows)
        source = SourceSpec(name="log", url=database.url)
        found = flights.cycles(source, tmp_path / "store.db", moments=MOMENTS)

    assert found == here
