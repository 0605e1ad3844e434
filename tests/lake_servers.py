"""Servers of stores of files that tests start, and how tables come into them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import httpx
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import servers
from emulators import find_emulator, running_emulator
from pyarrow import fs as pafs

KEY, SECRET = "testing-key", "testing-secret"  # of a server that asks nobody
FILE_IO = "monitor.sources.engines.readers.lake_iceberg_io.PlaceFileIO"
AZURE = "devstoreaccount1"  # account of the emulator, known to all; and its key
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True, slots=True)
class LakeStore:
    """A bucket or a container of a server.

    Parameters
    ----------
    options
        what stands behind ? in a URL.
    delta, iceberg
        the same for those who write tables.
    scratch
        where Delta tables are written before they are copied: on Azure's emulator a writer finds no third
        version. None: they are written in place.
    """

    scheme: str
    bucket: str
    options: str
    files: pafs.FileSystem
    delta: Mapping[str, str] = field(default_factory=dict)
    iceberg: Mapping[str, str] = field(default_factory=dict)
    scratch: Path | None = None

    def append_delta(self, folder: str, rows: pa.Table) -> None:
        """A further version of a Delta table."""
        import deltalake

        if self.scratch is None:
            options = dict(self.delta)
            deltalake.write_deltalake(self.address(folder), rows, mode="append", storage_options=options)
            return
        here = self.scratch / folder
        deltalake.write_deltalake(str(here), rows, mode="append")
        pafs.copy_files(str(here), f"{self.bucket}/{folder}", destination_filesystem=self.files)

    def address(self, folder: str) -> str:
        """URL of a folder without options."""
        return f"{self.scheme}://{self.bucket}/{folder}"

    def url(self, folder: str) -> str:
        """URL of a source."""
        return f"{self.address(folder)}?{self.options}"


def lake_here(directory: Path) -> LakeStore:
    """A directory."""
    return LakeStore("file", str(directory), "", pafs.LocalFileSystem())


@contextmanager
def s3_server() -> Iterator[str]:
    """Address of an S3 server that asks nobody; credentials come by the environment."""
    program, port = find_emulator("moto", "bin/moto_server"), servers.free_port()
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="moto-") as directory:
        for name, value in {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}.items():
            patch.setenv(name, value)
        command = [str(program), "--host", "127.0.0.1", "--port", str(port)]
        with running_emulator(command, Path(directory), port):
            yield f"http://127.0.0.1:{port}"


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


@contextmanager
def gcs_bucket(bucket: str) -> Iterator[LakeStore]:
    """A bucket of an emulator of Google's storage."""
    pattern = "lib/**/fake_gcs*/vendor/**/fake-gcs-server-*"
    program, port = find_emulator("fake-gcs-server", pattern), servers.free_port()
    program.chmod(0o755)
    address = f"127.0.0.1:{port}"
    server = f"http://{address}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", address]
    command = [str(program), *where, "-backend", "memory"]
    with TemporaryDirectory(prefix="gcs-") as directory, running_emulator(command, Path(directory), port):
        httpx.post(f"{server}/storage/v1/b?project=tests", json={"name": bucket}).raise_for_status()
        files = pafs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=address)
        iceberg = {"gcs.service.host": server, "gcs.anonymous": "true", "py-io-impl": FILE_IO}
        yield LakeStore("gs", bucket, f"endpoint={server}&anonymous=true", files, iceberg=iceberg)


@contextmanager
def azure_container(container: str, directory: Path) -> Iterator[LakeStore]:
    """A container of an emulator of Azure's storage."""
    program, port = find_emulator("azurite", "node_modules/.bin/azurite-blob"), servers.free_port()
    address = f"127.0.0.1:{port}"
    server = f"http://{address}"
    where = ["--blobPort", str(port), "--location", str(directory)]
    command = [str(program), *where, "--skipApiVersionCheck", "--loose", "--silent"]
    directory.mkdir(exist_ok=True)
    with running_emulator(command, directory, port):
        files = pafs.AzureFileSystem(
            account_name=AZURE,
            account_key=AZURE_KEY,
            blob_storage_authority=address,
            dfs_storage_authority=address,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )
        files.create_dir(container)
        yield LakeStore(
            "az",
            container,
            f"endpoint={server}&account={AZURE}&account_key={quote(AZURE_KEY, safe='')}",
            files,
            {
                "AZURE_STORAGE_ACCOUNT_NAME": AZURE,
                "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
                "AZURE_STORAGE_ENDPOINT": f"{server}/{AZURE}",
                "ALLOW_HTTP": "true",
            },
            {
                "adls.account-name": AZURE,
                "adls.account-key": AZURE_KEY,
                "py-io-impl": FILE_IO,
                **{f"adls.{one}-storage-scheme": "http" for one in ("blob", "dfs")},
                **{f"adls.{one}-storage-authority": address for one in ("blob", "dfs")},
            },
            scratch=directory / "scratch",
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


def write_delta(store: LakeStore, folder: str, table: pa.Table, column: str) -> None:
    """A version a day."""
    for _, rows in parts_by_day(table, column):
        store.append_delta(folder, rows)


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
