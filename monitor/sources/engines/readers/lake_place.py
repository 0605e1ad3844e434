"""A place of files by its URL, and the tables in it: folders of Parquet files, Delta and Iceberg tables."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs as pafs

from monitor.core.errors import SourceError
from monitor.sources.engines.readers.lake_answers import PlaceProbe
from monitor.sources.engines.readers.lake_formats import (
    DELTA_LOG,
    HIDDEN,
    DeltaFolder,
    LakeTable,
    ParquetFolder,
)
from monitor.sources.engines.readers.lake_iceberg import (
    CONNECT,
    METADATA,
    IcebergCatalog,
    has_metadata,
    iceberg_properties,
    open_iceberg_folder,
)
from monitor.sources.sql.sql_names import name_nearest
from monitor.specs.urls import shown_url

_PARQUET = ".parquet"
_RETRIED = timedelta(seconds=30)  # for which Google's library tries again
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
    "gs": {"endpoint": "GOOGLE_BASE_URL", "anonymous": "GOOGLE_SKIP_SIGNATURE"},
    "az": {
        "account": "AZURE_STORAGE_ACCOUNT_NAME",
        "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
        "endpoint": "AZURE_STORAGE_ENDPOINT",
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
    probe: PlaceProbe | None = None  # None: files of this machine
    endpoint: str = ""

    def list_tables(self, below: str = "") -> list[str]:
        """Names of folders and of Parquet files, from the place on, these without their ending.

        Parameters
        ----------
        below
            the folder that holds them, of a place without a catalogue; empty: the place itself.

        Raises
        ------
        SourceError
            if there is no such folder, or the place is a table; the message says what to write.
        """
        if self.catalog is not None:
            return self.catalog.list_tables()
        try:
            names = self._names_in(self._path_of(below) if below else self.folder)
        except FileNotFoundError:
            raise SourceError(f"{self.shown}{f'/{below}' if below else ''}: {self._why_nowhere()}") from None
        if not below and DELTA_LOG in names:
            above, _, name = self.shown.rpartition("/")
            raise SourceError(f'{self.shown} is a table itself: write url = "{above}" and table = "{name}"')
        return [f"{below}{'/' if below else ''}{name}" for name in names if not name.startswith(HIDDEN)]

    def _names_in(self, folder: str) -> list[str]:
        entries = self.files.get_file_info(pafs.FileSelector(folder, allow_not_found=False))
        return sorted(
            entry.base_name.removesuffix(_PARQUET)
            for entry in entries
            if entry.type is pafs.FileType.Directory or entry.base_name.endswith(_PARQUET)
        )

    def _why_nowhere(self) -> str:
        """What is said of a folder that is not there."""
        above, _, name = self.folder.rpartition("/")
        near = ""
        with suppress(OSError):
            near = name_nearest(name, self._names_in(above)) if above else ""
        return f"there is no such folder, or nothing in it{near}"

    def find_table(self, name: str) -> LakeTable | None:
        """Table of a name; None: there is nothing of that name."""
        if self.catalog is not None:
            return self.catalog.find_table(name)
        path = self._path_of(name)
        shown = f"{self.shown}{path.removeprefix(self.folder)}"
        folder, file, log, metadata = self.files.get_file_info(
            [path, f"{path}{_PARQUET}", f"{path}/{DELTA_LOG}", f"{path}/{METADATA}"]
        )
        if log.type is pafs.FileType.Directory:
            return DeltaFolder(self.files, path, shown, dict(self.delta_options))
        if metadata.type is pafs.FileType.Directory and has_metadata(self.files, metadata.path):
            return open_iceberg_folder(self.files, path, shown, self.iceberg_options)
        if folder.type is not pafs.FileType.NotFound:
            return ParquetFolder(self.files, path, is_file=folder.type is pafs.FileType.File)
        return (
            None
            if file.type is pafs.FileType.NotFound
            else ParquetFolder(self.files, file.path, is_file=True)
        )

    def _path_of(self, name: str) -> str:
        if "://" in name:
            start = f'; write "{name.removeprefix(self.shown).strip("/")}"' * name.startswith(
                f"{self.shown}/"
            )
            raise SourceError(f'a table is named from {self.shown} on: got the URL "{name}"{start}')
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not parts or ".." in parts:
            raise SourceError(f'a table is a folder below {self.shown}: got "{name}"')
        return "/".join((self.folder, *parts))


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
    options = _options_of(parts.query)
    shown = url.partition("?")[0].rstrip("/")
    known = _OPTIONS[parts.scheme]
    if unknown := sorted(set(options) - set(known)):
        raise SourceError(
            f"{shown}: options of {parts.scheme}:// are {', '.join(known) or 'none'}: "
            f"got {', '.join(unknown)}"
        )
    if fault := _fault_of_path(parts) or _fault_of_options(options):
        raise SourceError(f"{shown}: {fault}")
    path, properties = unquote(parts.path).rstrip("/"), iceberg_properties(parts.scheme, options, limit)
    tables = None if catalog is None else IcebergCatalog(catalog, shown_url(catalog), properties, limit)
    if parts.scheme == "file":
        return LakePlace(shown, pafs.LocalFileSystem(), path, {}, properties, tables)
    folder = f"{parts.netloc}{path}".rstrip("/")
    try:
        files = _open_files(parts.scheme, options, limit)
    except ImportError as error:  # as in an image that was made small
        raise SourceError(f"{shown}: {error}; build the image with EXTRAS=files") from None
    endpoint = options.get("endpoint", "")
    probe = PlaceProbe(shown, lambda: files.get_file_info([folder]), endpoint, CONNECT)
    delta = _delta_options(options, known, limit)
    return LakePlace(shown, files, folder, delta, properties, tables, probe, endpoint)


def _options_of(query: str) -> dict[str, str]:
    """Options of a URL: keys of stores hold the sign +, which is no space here."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return {unquote(name): unquote(value) for name, _, value in pairs}


def _fault_of_path(parts: SplitResult) -> str | None:
    """What is wrong with where a place is said to be."""
    if parts.scheme != "file":
        written = f'a place is written "{parts.scheme}://bucket/folder"'
        return None if parts.netloc else f"there is no bucket or container: {written}"
    whole = 'write the whole path after three slashes, as in "file:///srv/ml"'
    if parts.netloc not in ("", "localhost"):
        return f'"{parts.netloc}" would be a machine: {whole}'
    return f"~ is no folder here: {whole}" if parts.path.startswith("/~") else None


def _fault_of_options(options: Mapping[str, str]) -> str | None:
    """What is wrong with them, without their values."""
    address = urlsplit(options.get("endpoint", "http://minio:9000"))
    together = {name for name in ("access_key", "secret_key") if name in options}
    wanting = {"session_token": "access_key", "account_key": "account"}  # nosec B105 -- names of options
    faults = (
        (
            address.scheme not in ("http", "https") or not address.hostname,
            'an endpoint is a URL, as in "http://minio:9000"',
        ),
        (options.get("anonymous", "true") not in ("true", "false"), "anonymous is true or false"),
        (len(together) == 1, f"access_key and secret_key go together: got {', '.join(together)} alone"),
        *((not value, f"{name} is empty") for name, value in options.items()),
        *(
            (name in options and other not in options, f"{name} is given without {other}")
            for name, other in wanting.items()
        ),
    )
    return next((text for fails, text in faults if fails), None)


def _open_files(scheme: str, options: Mapping[str, str], limit: float) -> pafs.FileSystem:
    given: dict[str, Any] = {name: value for name, value in options.items() if name != "endpoint"}
    if "anonymous" in given:
        given["anonymous"] = given["anonymous"] == "true"
    if endpoint := options.get("endpoint"):
        at = urlsplit(endpoint)
        if scheme == "az":
            for service in ("blob", "dfs"):
                given[f"{service}_storage_scheme"] = at.scheme
                given[f"{service}_storage_authority"] = at.netloc
        else:
            given |= {"scheme": at.scheme, "endpoint_override": at.netloc}
    if scheme == "s3":
        return pafs.S3FileSystem(connect_timeout=CONNECT, request_timeout=limit, **given)
    if scheme == "gs":
        return pafs.GcsFileSystem(retry_time_limit=min(timedelta(seconds=limit), _RETRIED), **given)
    if "account" in given:
        given["account_name"] = given.pop("account")
    return pafs.AzureFileSystem(**given)


def _delta_options(options: Mapping[str, str], known: Mapping[str, str], limit: float) -> dict[str, str]:
    found = {"timeout": f"{limit:.0f}s", "connect_timeout": f"{CONNECT:.0f}s"}
    found |= {known[name]: value for name, value in options.items()}
    if "account" in known and "endpoint" in options:  # of a service that names the account in its paths
        found[known["endpoint"]] = f"{options['endpoint'].rstrip('/')}/{options.get('account', '')}"
    if options.get("endpoint", "").startswith("http://"):
        found["ALLOW_HTTP"] = "true"
    return found


def arrow_listing(names: list[str]) -> pa.Table:
    """Names of tables as a table."""
    return pa.table({"name": pa.array(names, pa.string())})
