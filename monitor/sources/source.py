"""A user's database as the pipeline sees it."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import pyarrow as pa

from monitor.core.clock import DAY
from monitor.records.rows import Batches
from monitor.sources import changes, scan
from monitor.sources.adbc import PostgresReader, SqliteReader
from monitor.sources.address import Address, How, address_of
from monitor.sources.bounds import Shape
from monitor.sources.catalogue import has_index, look
from monitor.sources.fetchmany import FetchmanyReader
from monitor.sources.meter import UNUSED, Meter, MeteredSession, Usage
from monitor.sources.moments import comparable
from monitor.sources.patience import Patience, whole_of
from monitor.sources.statements import Reader, Session
from monitor.specs.model import ModelSpec, SourceSpec
from monitor.specs.protocols import Range

_RECENT = DAY  # changes since then are few: they are read at once


class SqlSource:
    """The `Source` of a database: a table that it returns is in memory, no cursor is open.

    Safe to use from several threads: connections, rates and usage are those of all of them together.

    Parameters
    ----------
    reader
        how rows are fetched.
    meter
        notes what is delivered, and holds the source's rate.
    sleep
        waits so many seconds before a read is tried again.
    """

    def __init__(
        self, reader: Reader, meter: Meter | None = None, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.reader = reader
        self._meter = meter or Meter()
        self._patience = Patience(self.session, sleep)

    @property
    def usage(self) -> Usage:
        """Seconds that queries have taken, and rows that they have delivered."""
        return self._meter.usage

    @contextmanager
    def session(self, *, whole: bool = False) -> Iterator[MeteredSession]:
        """One read-only transaction, once what was delivered before is paid for: see `Reader.session`."""
        self._meter.wait()
        with self.reader.session() as session:
            paced = self.reader.dialect.name == "sqlite"  # elsewhere a timeout of the statement runs on
            yield MeteredSession(session, self._meter, whole=whole, paced=paced)

    def changed_records(self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range) -> Batches:
        """`event_time` (and `logged_at`) of rows logged from `since` on, within event-time bounds."""
        dialect = self.reader.dialect

        def read(session: Session, some: Range) -> Batches:
            return changes.read_changed_records(session, dialect, model, since, as_of, some)

        yield from self._changed(read, model, since, as_of, bounds)

    def changed_labels(self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range) -> Batches:
        """`event_time`, `reported_at` of predictions whose labels were reported from `since` on."""
        dialect = self.reader.dialect

        def read(session: Session, some: Range) -> Batches:
            return changes.read_changed_labels(session, dialect, model, since, as_of, some)

        yield from self._changed(read, model, since, as_of, bounds)

    def records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """Rows with event times in the half-open ranges: id, times, version, arm, outputs, features."""
        dialect = self.reader.dialect
        return self._patience.ranges(
            lambda session, some: scan.read_records(session, dialect, model, some), ranges, model.reading
        )

    def labelled(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The same predictions without features, joined (outer) with their labels."""
        dialect = self.reader.dialect
        return self._patience.ranges(
            lambda session, some: scan.read_labelled(session, dialect, model, some), ranges, model.reading
        )

    def has_records(self, model: ModelSpec, bounds: Range) -> bool:
        """Whether rows have event times within the bounds, however late they were logged."""
        dialect = self.reader.dialect
        return self._patience.run(lambda session: changes.has_rows(session, dialect, model, bounds))

    def orphans(self, model: ModelSpec, bounds: Range) -> int | None:
        """Labels reported within the bounds whose prediction is not there; None where that cannot be told."""
        dialect = self.reader.dialect
        return self._patience.run(lambda session: changes.count_orphans(session, dialect, model, bounds))

    def strays(self, model: ModelSpec, *, as_of: int, bounds: Range) -> Mapping[str, int]:
        """Visible rows that no pane counts: `rows_without_id`, `rows_without_time` (logged within bounds)."""
        dialect = self.reader.dialect
        return self._patience.run(
            lambda session: changes.count_strays(session, dialect, model, as_of, bounds)
        )

    def repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        """Ids (with their version) that stand in more than one pane within event-time bounds."""
        dialect = self.reader.dialect
        return self._patience.run(
            lambda session: changes.count_repeated(session, dialect, model, as_of, bounds)
        )

    def columns(self, model: ModelSpec) -> Mapping[str, str]:
        """Names and database types of the prediction table's columns."""
        dialect = self.reader.dialect
        return self._patience.run(lambda session: look(session, dialect, model.predictions, "p").types)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()

    def _changed(
        self,
        read: Callable[[Session, Range], Batches],
        model: ModelSpec,
        since: int | None,
        as_of: int,
        bounds: Range,
    ) -> Batches:
        """Changes in bounded statements on PostgreSQL, if an index finds a slice of them; else as they come.

        A stream cannot be tried again once a part of it has been handed on, and its statement takes as long
        as its rows take to be added up.
        """
        if self.reader.dialect.name == "postgresql":
            whole = Patience(partial(self.session, whole=True), self._patience.sleep)
            recent = since is not None and as_of - since <= _RECENT
            if recent:
                yield whole.ranges(whole_of(read), [bounds], model.reading)
                return
            expected = self._patience.run(partial(self._sliceable, model=model, bounds=bounds))
            if expected is not None:
                yield from whole.slices(read, bounds, model.reading, expected=expected)
                return
        with self.session() as session:
            yield from read(session, bounds)

    def _sliceable(self, session: Session, model: ModelSpec, bounds: Range) -> int | None:
        """Rows of a span, as the planner believes; None where no index finds a slice of it."""
        dialect = self.reader.dialect
        looked = look(session, dialect, model.predictions, "p")
        column = str(model.predictions.column("event_time"))
        event = comparable(session, looked, column, "event_time", model.reading)
        if event.shape in (Shape.UNKNOWN, Shape.NOTHING):
            return None
        if not has_index(session, dialect, looked.item, event.condition(bounds[0], bounds[0] + DAY)):
            return None
        plan = session.rows(f"EXPLAIN SELECT 1 FROM {looked.item} WHERE {event.condition(*bounds)}")
        believed = re.search(r" rows=(\d+)", str(plan[0][0]))
        return int(believed[1]) if believed else None


def open_source(
    spec: SourceSpec,
    *,
    store_url: str | None = None,
    reader: str | None = None,
    spent: Usage = UNUSED,
) -> SqlSource:
    """Source of a specification; nothing is connected yet.

    Parameters
    ----------
    store_url
        our own database: a SQLite file that is also the store is read by `fetchmany`.
    reader
        "adbc" or "fetchmany"; None: ADBC where it fits. ``?reader=fetchmany`` in the URL says the same.
    spent
        what the source of an older configuration has used: counters go on from there.

    Raises
    ------
    SourceError
        if the URL cannot be used.
    """
    meter = Meter(spec.max_rows_per_second, spent)
    return SqlSource(_reader(spec, address_of(spec.url, store_url=store_url, reader=reader)), meter)


def _reader(spec: SourceSpec, address: Address) -> Reader:
    if address.how is How.FETCHMANY:
        return FetchmanyReader(spec, address)
    return (
        SqliteReader(spec, address, address.file)
        if address.file is not None
        else PostgresReader(spec, address)
    )
