"""Servers of stores of files that tests start, and how tables come into them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import servers
from pyarrow import fs as pafs

KEY, SECRET = "testing-key", "testing-secret"  # of a server that asks nobody


@dataclass(frozen=True, slots=True)
class LakeStore:
    """A bucket or a container of a server.

    Parameters
    ----------
    options
        what stands behind ? in a URL.
    delta, iceberg
        the same for those who write tables.
    """

    scheme: str
    bucket: str
    options: str
    files: pafs.FileSystem
    delta: Mapping[str, str] = field(default_factory=dict)
    iceberg: Mapping[str, str] = field(default_factory=dict)

    def address(self, folder: str) -> str:
        """URL of a folder without options."""
        return f"{self.scheme}://{self.bucket}/{folder}"

    def url(self, folder: str) -> str:
        """URL of a source."""
        return f"{self.address(folder)}?{self.options}"


@contextmanager
def s3_server() -> Iterator[str]:
    """Address of an S3 server in this process; credentials come by the environment."""
    moto = pytest.importorskip("moto.server")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}.items():
            patch.setenv(name, value)
        server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=servers.free_port(), verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


def s3_bucket(server: str, bucket: str) -> LakeStore:
    """A new bucket."""
    host = server.removeprefix("http://")
    files = pafs.S3FileSystem(
        endpoint_override=host, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    files.create_dir(bucket)
    return LakeStore(
        "s3",
        bucket,
        f"endpoint={server}&region=us-east-1",
        files,
        {"AWS_ENDPOINT_URL": server, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"},
        {"s3.endpoint": server, "s3.region": "us-east-1"},
    )


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


def write_delta(url: str, table: pa.Table, column: str, options: Mapping[str, str] | None = None) -> None:
    """A version a day."""
    import deltalake

    for _, rows in parts_by_day(table, column):
        deltalake.write_deltalake(url, rows, mode="append", storage_options=dict(options or {}) or None)


def write_iceberg(
    catalog: str, warehouse: str, options: Mapping[str, str], rows: tuple[str, pa.Table, str]
) -> None:
    """A snapshot a day of a table of the namespace ml.

    Parameters
    ----------
    catalog
        URL of its database.
    rows
        name of the table, rows, and the column whose days part them.
    """
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    found = catalogs.SqlCatalog("default", uri=catalog, warehouse=warehouse, **options)
    found.create_namespace_if_not_exists("ml")
    name, table, by = rows
    made = found.create_table(("ml", name), table.schema)
    for _, part in parts_by_day(table, by):
        made.append(part)
