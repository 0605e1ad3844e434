"""A user's database as the pipeline sees it."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from monitor.records.rows import Batches
from monitor.sources import changes, scan
from monitor.sources.adbc import PostgresReader, SqliteReader
from monitor.sources.address import Address, How, address_of
from monitor.sources.catalogue import look
from monitor.sources.fetchmany import FetchmanyReader
from monitor.sources.statements import Reader
from monitor.specs.model import ModelSpec, SourceSpec
from monitor.specs.protocols import Range


class SqlSource:
    """The `Source` of a database: every method is one session; a table that it returns is in memory.

    Parameters
    ----------
    reader
        how rows are fetched.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def changed_records(self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range) -> Batches:
        """`event_time` (and `logged_at`) of rows logged from `since` on, within event-time bounds."""
        with self.reader.session() as session:
            yield from changes.read_changed_records(session, self.reader.dialect, model, since, as_of, bounds)

    def changed_labels(self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range) -> Batches:
        """`event_time`, `reported_at` of predictions whose labels were reported from `since` on."""
        with self.reader.session() as session:
            yield from changes.read_changed_labels(session, self.reader.dialect, model, since, as_of, bounds)

    def records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """Rows with event times in the half-open ranges: id, times, version, arm, outputs, features."""
        with self.reader.session() as session:
            return scan.read_records(session, self.reader.dialect, model, ranges)

    def labelled(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The same predictions without features, joined (outer) with their labels."""
        with self.reader.session() as session:
            return scan.read_labelled(session, self.reader.dialect, model, ranges)

    def orphans(self, model: ModelSpec, bounds: Range) -> int | None:
        """Labels reported within the bounds whose prediction is not there; None where that cannot be told."""
        with self.reader.session() as session:
            return changes.count_orphans(session, self.reader.dialect, model, bounds)

    def strays(self, model: ModelSpec, *, as_of: int, bounds: Range) -> Mapping[str, int]:
        """Visible rows that no pane counts: `rows_without_id`, `rows_without_time` (logged within bounds)."""
        with self.reader.session() as session:
            return changes.count_strays(session, self.reader.dialect, model, as_of, bounds)

    def repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        """Ids (with their version) that stand in more than one pane within event-time bounds."""
        with self.reader.session() as session:
            return changes.count_repeated(session, self.reader.dialect, model, as_of, bounds)

    def columns(self, model: ModelSpec) -> Mapping[str, str]:
        """Names and database types of the prediction table's columns."""
        with self.reader.session() as session:
            return look(session, self.reader.dialect, model.predictions, "p").types

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()


def open_source(spec: SourceSpec, *, store_url: str | None = None, reader: str | None = None) -> SqlSource:
    """Source of a specification; nothing is connected yet.

    Parameters
    ----------
    store_url
        our own database: a SQLite file that is also the store is read by `fetchmany`.
    reader
        "adbc" or "fetchmany"; None: ADBC where it fits. ``?reader=fetchmany`` in the URL says the same.

    Raises
    ------
    SourceError
        if the URL cannot be used.
    """
    return SqlSource(_reader(spec, address_of(spec.url, store_url=store_url, reader=reader)))


def _reader(spec: SourceSpec, address: Address) -> Reader:
    if address.how is How.FETCHMANY:
        return FetchmanyReader(spec, address)
    return (
        SqliteReader(spec, address, address.file)
        if address.file is not None
        else PostgresReader(spec, address)
    )
