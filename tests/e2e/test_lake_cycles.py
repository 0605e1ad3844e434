"""Cycles over the flights in files, here and in stores of each kind, leave the panes that SQLite leaves."""

from collections.abc import Iterator
from pathlib import Path

import lake_servers
import pyarrow.parquet as pq
import pytest
from lake_servers import LakeStore
from pyarrow import fs as pafs
from spark_flights import WEEK, Flights, PaneKey

from monitor.records.pane import PanePart
from monitor.specs.model_spec import SourceSpec

TABLES = {"predictions": "event_time", "labels": "reported_at"}


def test_cycles_over_files_leave_the_panes_of_sqlite(
    week: Flights, week_panes: dict[PaneKey, PanePart], tmp_path: Path
) -> None:
    for name, column in TABLES.items():
        table = pq.read_table(week.file(name))
        lake_servers.write_parquet(pafs.LocalFileSystem(), str(tmp_path / "folders" / name), table, column)
        lake_servers.write_delta(lake_servers.lake_here(tmp_path), f"delta/{name}", table, column)
    urls = {"one file": week.directory.as_uri()}
    urls |= {kind: (tmp_path / kind).as_uri() for kind in ("folders", "delta")}

    for kind, url in urls.items():
        source = SourceSpec(name="log", url=url)
        assert week.cycles(source, tmp_path / f"{kind}.db", moments=WEEK) == week_panes, kind


@pytest.fixture(params=["s3", "gs", "az"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LakeStore]:
    """A bucket of each kind of store."""
    if request.param == "s3":
        yield lake_servers.s3_bucket(request.getfixturevalue("s3"), "bucket")
        return
    named = {"gs": lambda: lake_servers.gcs_bucket("bucket")}
    named["az"] = lambda: lake_servers.azure_container("bucket", tmp_path / "azurite")
    with named[request.param]() as store:
        yield store


@pytest.mark.lakes
def test_cycles_over_a_bucket_leave_the_panes_of_sqlite(
    week: Flights, week_panes: dict[PaneKey, PanePart], tmp_path: Path, bucket: LakeStore
) -> None:
    """Google's emulator has no listing by XML, which who reads Delta asks for."""
    kinds = ("folders", "delta") if bucket.scheme != "gs" else ("folders",)
    for name, column in TABLES.items():
        table = pq.read_table(week.file(name))
        lake_servers.write_parquet(bucket.files, f"bucket/folders/{name}", table, column)
        if "delta" in kinds:
            lake_servers.write_delta(bucket, f"delta/{name}", table, column)

    if bucket.scheme != "s3":  # below
        pytest.importorskip("pyiceberg")
        kinds = (*kinds, "iceberg/ml")
        at = f"sqlite:///{tmp_path}/catalog.db"
        for name, column in TABLES.items():
            rows = pq.read_table(week.file(name))
            lake_servers.write_iceberg(at, bucket.address("iceberg"), bucket.iceberg, (name, rows, column))

    for kind in kinds:
        source = SourceSpec(name="log", url=bucket.url(kind))
        assert week.cycles(source, tmp_path / f"{kind[:4]}.db", moments=WEEK) == week_panes, kind


@pytest.mark.lakes
def test_cycles_over_iceberg_leave_the_panes_of_sqlite(
    week: Flights, week_panes: dict[PaneKey, PanePart], tmp_path: Path, s3: str
) -> None:
    """By a catalogue in SQLite, and by the newest metadata in the bucket."""
    store = lake_servers.s3_bucket(s3, "iceberg")
    at = f"sqlite:///{tmp_path}/catalog.db"
    for name, column in TABLES.items():
        rows = pq.read_table(week.file(name))
        lake_servers.write_iceberg(at, store.address("wh"), store.iceberg, (name, rows, column))
    place = store.url("wh/ml")

    for kind, named in {"sql": f"{at}?namespace=ml", "folder": None}.items():
        source = SourceSpec(name="log", url=place, catalog=named)
        assert week.cycles(source, tmp_path / f"{kind}.db", moments=WEEK) == week_panes, kind
