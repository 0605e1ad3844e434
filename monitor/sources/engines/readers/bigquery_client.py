"""BigQuery by Google's client: a job a statement, with a limit of what it may bill."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from monitor.core.errors import DatabaseTrouble, SourceError
from monitor.core.version import install_command
from monitor.sources.engines.engine import DriverText
from monitor.sources.engines.readers.warehouse_reader import signing_in
from monitor.sources.sql.statements import TYPES, OutputColumn
from monitor.specs.deadlines import CONNECTED

DRY_RUN = "DRY RUN OF"  # before a statement of which the bytes are wanted, not the rows
_LATE = DriverText("google-cloud-bigquery", "Job timed out", "it is a bad request as any other")
LISTING = "TABLES OF THE DATASET"  # in the place of a statement
_UNITS = {"KB": 1_000, "MB": 10**6, "GB": 10**9, "TB": 10**12, "": 1}


class BigqueryConnection:
    """A client of a project."""

    def __init__(
        self, project: str | None, dataset: str | None, options: Mapping[str, str], limit: float
    ) -> None:
        try:
            from google.cloud import bigquery
        except ImportError as error:
            raise SourceError(f"BigQuery needs its client: {install_command('bigquery')}") from error
        self._bigquery, self._limit, self._dataset = bigquery, limit, dataset
        self._most = parse_bytes(options.get("maximum_bytes_billed", "100GB"))
        self._retry = bigquery.DEFAULT_RETRY.with_timeout(CONNECTED)
        with signing_in():
            self._client = bigquery.Client(
                project=project,
                credentials=_credentials(options),
                location=options.get("location"),
                client_options={"api_endpoint": options["endpoint"]} if "endpoint" in options else None,
                default_query_job_config=bigquery.QueryJobConfig(
                    default_dataset=f"{project}.{dataset}" if dataset else None, labels={"tool": "monitor"}
                ),
            )
        self._storage = "endpoint" not in options  # an endpoint of one's own has no second one for rows

    def run_query(self, sql: str, outputs: Sequence[OutputColumn] | None) -> pa.RecordBatchReader:
        """Rows of a job, by the Storage API where that is installed and allowed."""
        if sql.startswith(DRY_RUN):
            job = self._start_job(sql.removeprefix(DRY_RUN), dry_run=True)
            named = len(job.referenced_tables or ())
            return pa.table({"bytes": [int(job.total_bytes_processed)], "tables": [named]}).to_reader()
        if sql == LISTING:
            tables = self._client.list_tables(self._dataset) if self._dataset else ()
            return pa.table({"name": pa.array([table.table_id for table in tables], pa.string())}).to_reader()
        rows = self._start_job(sql).result(retry=self._retry, timeout=self._limit)
        # its public way to the Storage API reads all rows at once
        storage = self._client._ensure_bqstorage_client() if self._storage and outputs else None  # noqa: SLF001
        batches = rows.to_arrow_iterable(bqstorage_client=storage)
        return _reader_of(batches, outputs)

    def describe_query(self, sql: str) -> dict[str, str]:
        """Columns by a dry run, which costs nothing."""
        schema = self._start_job(sql, dry_run=True).schema or ()
        return {
            field.name: field.field_type.lower() if field.mode != "REPEATED" else "array" for field in schema
        }

    def trouble_of(self, error: Exception) -> DatabaseTrouble | None:
        """By the kind of the client's error: what it says of the statement is a bad request."""
        from google.api_core import exceptions

        if isinstance(error, exceptions.GatewayTimeout | TimeoutError):
            return DatabaseTrouble.TIMEOUT
        if isinstance(error, exceptions.BadRequest | exceptions.NotFound):
            return DatabaseTrouble.TIMEOUT if _LATE.text in str(error) else None
        reasons = {said.get("reason") for said in getattr(error, "errors", ())}
        refused = {"accessDenied", "bytesBilledLimitExceeded"}
        return None if reasons & refused else DatabaseTrouble.NO_ANSWER

    def close(self) -> None:
        """End the client's connections."""
        self._client.close()

    def _start_job(self, sql: str, *, dry_run: bool = False) -> Any:
        config = self._bigquery.QueryJobConfig(dry_run=dry_run, use_query_cache=not dry_run)
        if not dry_run:
            config.maximum_bytes_billed = self._most
            config.job_timeout_ms = round(self._limit * 1_000)
        return self._client.query(
            sql, job_config=config, retry=self._retry, timeout=self._limit, job_retry=None
        )


def parse_bytes(text: str) -> int:
    """Bytes of a text as 10GB.

    >>> parse_bytes("1.5 GB")
    1500000000
    """
    number = text.strip().upper()
    for unit, factor in _UNITS.items():
        if number.endswith(unit):
            try:
                return round(float(number.removesuffix(unit)) * factor)
            except ValueError:
                break
    raise SourceError(f'maximum_bytes_billed is an amount as "10GB": got "{text}"')


def _credentials(options: Mapping[str, str]) -> Any:
    """Those of a file, none for an emulator; else None: Google's default chain."""
    if options.get("anonymous") == "true":
        from google.auth.credentials import AnonymousCredentials

        return AnonymousCredentials()
    if file := options.get("service_account"):
        from google.auth import load_credentials_from_file

        return load_credentials_from_file(file, scopes=["https://www.googleapis.com/auth/bigquery"])[0]
    return None


def _reader_of(
    batches: Iterator[pa.RecordBatch], outputs: Sequence[OutputColumn] | None
) -> pa.RecordBatchReader:
    first = next(batches, None)
    if first is None:
        schema = pa.schema([(output.name, TYPES[output.kind]) for output in outputs or ()])
        return pa.RecordBatchReader.from_batches(schema, ())
    return pa.RecordBatchReader.from_batches(first.schema, _chain(first, batches))


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
