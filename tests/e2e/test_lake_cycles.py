"""Cycles over the flights in files, here and on an S3 server, leave the panes that SQLite leaves."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import fs as pafs
from spark_flights import Flights, PaneKey, flights_in

from monitor.core.clock import from_iso
from monitor.records.pane import PanePart
from monitor.specs.model_spec import SourceSpec

MOMENTS = (from_iso("2013-03-04"), from_iso("2013-03-05"), from_iso("2013-03-08"))
TABLES = {"predictions": "event_time", "labels": "reported_at"}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Flights:
    """The flights of a week."""
    return flights_in(tmp_path_factory.mktemp("flights"), MOMENTS[-1])


@pytest.fixture(scope="module")
def here(flights: Flights, tmp_path_factory: pytest.TempPathFactory) -> dict[PaneKey, PanePart]:
    """Panes by SQLite."""
    return flights.cycles(flights.local, tmp_path_factory.mktemp("here") / "local.db", moments=MOMENTS)


def parts_by_day(table: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """Rows by the day of a column."""
    days = pc.strftime(table[column].cast(pa.timestamp("us")), "%Y-%m-%d")
    for day in sorted(set(days.to_pylist())):
        yield day, table.filter(pc.equal(days, day))


def write_parquet(files: pafs.FileSystem, folder: str, table: pa.Table, column: str) -> None:
    """A folder a day."""
    for day, rows in parts_by_day(table, column):
        files.create_dir(f"{folder}/day={day}", recursive=True)
        pq.write_table(rows, f"{folder}/day={day}/part-0.parquet", filesystem=files)


def write_delta(url: str, table: pa.Table, column: str, options: dict[str, str] | None = None) -> None:
    """A version a day."""
    import deltalake

    for _, rows in parts_by_day(table, column):
        deltalake.write_deltalake(url, rows, mode="append", storage_options=options)


def test_cycles_over_files_leave_the_panes_of_sqlite(
    flights: Flights, here: dict[PaneKey, PanePart], tmp_path: Path
) -> None:
    for name, column in TABLES.items():
        table = pq.read_table(flights.file(name))
        write_parquet(pafs.LocalFileSystem(), str(tmp_path / "folders" / name), table, column)
        write_delta(str(tmp_path / "delta" / name), table, column)
    urls = {"one file": flights.directory.as_uri()}
    urls |= {kind: (tmp_path / kind).as_uri() for kind in ("folders", "delta")}

    for kind, url in urls.items():
        source = SourceSpec(name="log", url=url)
        assert flights.cycles(source, tmp_path / f"{kind}.db", moments=MOMENTS) == here, kind


@pytest.mark.lakes
def test_cycles_over_a_bucket_leave_the_panes_of_sqlite(
    flights: Flights, here: dict[PaneKey, PanePart], tmp_path: Path, s3: str
) -> None:
    host = s3.removeprefix("http://")
    files = pafs.S3FileSystem(
        endpoint_override=host, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    files.create_dir("bucket")
    options = {"AWS_ENDPOINT_URL": s3, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    for name, column in TABLES.items():
        table = pq.read_table(flights.file(name))
        write_parquet(files, f"bucket/folders/{name}", table, column)
        write_delta(f"s3://bucket/delta/{name}", table, column, options)

    for kind in ("folders", "delta"):
        source = SourceSpec(name="log", url=f"s3://bucket/{kind}?endpoint={s3}&region=us-east-1")
        assert flights.cycles(source, tmp_path / f"{kind}.db", moments=MOMENTS) == here, kind


@pytest.mark.lakes
def test_cycles_over_iceberg_leave_the_panes_of_sqlite(
    flights: Flights, here: dict[PaneKey, PanePart], tmp_path: Path, s3: str
) -> None:
    """By a catalogue in SQLite, and by the newest metadata in the bucket."""
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    host = s3.removeprefix("http://")
    files = pafs.S3FileSystem(
        endpoint_override=host, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    files.create_dir("iceberg")
    at = f"sqlite:///{tmp_path}/catalog.db"
    keys = {"s3.endpoint": s3, "s3.region": "us-east-1", "warehouse": "s3://iceberg/wh"}
    catalog = catalogs.SqlCatalog("flights", uri=at, **keys)
    catalog.create_namespace("ml")
    for name, column in TABLES.items():
        rows = pq.read_table(flights.file(name))
        table = catalog.create_table(("ml", name), rows.schema)
        for _, part in parts_by_day(rows, column):
            table.append(part)
    place = f"s3://iceberg/wh/ml?endpoint={s3}&region=us-east-1"

    for kind, named in {"sql": f"{at}?catalog=flights&namespace=ml", "folder": None}.items():
        source = SourceSpec(name="log", url=place, catalog=named)
        assert flights.cycles(source, tmp_path / f"{kind}.db", moments=MOMENTS) == here, kind
