"""A place of files by its URL, and the tables in it: folders of Parquet files, Delta and Iceberg tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs as pafs

from monitor.core.errors import SourceError
from monitor.sources.engines.readers.lake_formats import DELTA_LOG, DeltaFolder, LakeTable, ParquetFolder
from monitor.sources.engines.readers.lake_iceberg import (
    CONNECT,
    METADATA,
    IcebergCatalog,
    has_metadata,
    iceberg_properties,
    open_iceberg_folder,
)
from monitor.specs.urls import shown_url

_PARQUET = ".parquet"
# Options of a URL by scheme: what Arrow calls them, what Delta's own reader does.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "file": {},
    "s3": {
        "region": "AWS_REGION",
        "endpoint": "AWS_ENDPOINT_URL",
        "access_key": "AWS_ACCESS_KEY_ID",
        "secret_key": "AWS_SECRET_ACCESS_KEY",  # nosec B105 -- a name
        "session_token": "AWS_SESSION_TOKEN",  # nosec B105 -- a name
        "anonymous": "AWS_SKIP_SIGNATURE",
    },
    "gs": {"endpoint": "", "anonymous": ""},
    "az": {
        "account": "AZURE_STORAGE_ACCOUNT_NAME",
        "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
        "endpoint": "",
    },
}


@dataclass(frozen=True, slots=True)
class LakePlace:
    """A folder of a file system, whose entries are tables.

    Parameters
    ----------
    shown
        its URL without options: the only form that messages may hold.
    catalog
        what names its tables; None: its folders do.
    """

    shown: str
    files: pafs.FileSystem = field(repr=False)
    folder: str
    delta_options: Mapping[str, str] = field(repr=False)
    iceberg_options: Mapping[str, str] = field(repr=False)
    catalog: IcebergCatalog | None = None

    def list_tables(self) -> list[str]:
        """Names of folders and of Parquet files, these without their ending."""
        if self.catalog is not None:
            return self.catalog.list_tables()
        entries = self.files.get_file_info(pafs.FileSelector(self.folder, allow_not_found=False))
        return sorted(
            entry.base_name.removesuffix(_PARQUET)
            for entry in entries
            if entry.type is pafs.FileType.Directory or entry.base_name.endswith(_PARQUET)
        )

    def find_table(self, name: str) -> LakeTable | None:
        """Table of a name; None: there is nothing of that name."""
        if self.catalog is not None:
            return self.catalog.find_table(name)
        path = self._path_of(name)
        folder, file, log, metadata = self.files.get_file_info(
            [path, f"{path}{_PARQUET}", f"{path}/{DELTA_LOG}", f"{path}/{METADATA}"]
        )
        if log.type is pafs.FileType.Directory:
            return DeltaFolder(self.files, path, f"{self.shown}/{name}", dict(self.delta_options))
        if metadata.type is pafs.FileType.Directory and has_metadata(self.files, metadata.path):
            return open_iceberg_folder(self.files, path, f"{self.shown}/{name}", self.iceberg_options)
        if folder.type is not pafs.FileType.NotFound:
            return ParquetFolder(self.files, path, is_file=folder.type is pafs.FileType.File)
        return (
            None
            if file.type is pafs.FileType.NotFound
            else ParquetFolder(self.files, file.path, is_file=True)
        )

    def _path_of(self, name: str) -> str:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not parts or ".." in parts:
            raise SourceError(f'a table is a folder below {self.shown}: got "{name}"')
        return "/".join((self.folder, *parts)) if self.folder else "/".join(parts)


def open_place(url: str, limit: float, catalog: str | None = None) -> LakePlace:
    """The place of a URL; nothing is connected yet.

    Parameters
    ----------
    limit
        seconds that an answer may take.
    catalog
        URL of the Iceberg catalogue that names its tables.

    Raises
    ------
    SourceError
        if it names an option that its scheme does not have.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    shown = url.partition("?")[0].rstrip("/")
    known = _OPTIONS[parts.scheme]
    if unknown := sorted(set(options) - set(known)):
        raise SourceError(
            f"{shown}: options of {parts.scheme}:// are {', '.join(known) or 'none'}: "
            f"got {', '.join(unknown)}"
        )
    path, properties = unquote(parts.path).rstrip("/"), iceberg_properties(parts.scheme, options, limit)
    tables = None if catalog is None else IcebergCatalog(catalog, shown_url(catalog), properties, limit)
    if parts.scheme == "file":
        return LakePlace(shown, pafs.LocalFileSystem(), path, {}, properties, tables)
    folder, files = f"{parts.netloc}{path}".rstrip("/"), _open_files(parts.scheme, options, limit)
    return LakePlace(shown, files, folder, _delta_options(options, known), properties, tables)


def _open_files(scheme: str, options: Mapping[str, str], limit: float) -> pafs.FileSystem:
    given: dict[str, Any] = {name: value for name, value in options.items() if name != "endpoint"}
    if "anonymous" in given:
        given["anonymous"] = given["anonymous"] == "true"
    if endpoint := options.get("endpoint"):
        at = urlsplit(endpoint)
        names = (
            ("blob_storage_scheme", "blob_storage_authority")
            if scheme == "az"
            else ("scheme", "endpoint_override")
        )
        given |= dict(zip(names, (at.scheme, at.netloc), strict=True))
    if scheme == "s3":
        return pafs.S3FileSystem(connect_timeout=CONNECT, request_timeout=limit, **given)
    if scheme == "gs":
        return pafs.GcsFileSystem(retry_time_limit=timedelta(seconds=limit), **given)
    if "account" in given:
        given["account_name"] = given.pop("account")
    return pafs.AzureFileSystem(**given)


def _delta_options(options: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    found = {known[name]: value for name, value in options.items() if known[name]}
    if options.get("endpoint", "").startswith("http://"):
        found["AWS_ALLOW_HTTP"] = "true"
    return found


def arrow_listing(names: list[str]) -> pa.Table:
    """Names of tables as a table."""
    return pa.table({"name": pa.array(names, pa.string())})
