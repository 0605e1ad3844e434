"""A user's database as the pipeline sees it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from monitor.core.clock import DAY, HOUR
from monitor.core.typing import Ints
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import CountedPanes, Part
from monitor.records.rows import Batches
from monitor.sources import retries
from monitor.sources.engines.engine import Engine, Reader
from monitor.sources.meter import Meter, MeteredSession, Usage
from monitor.sources.retries import Retries
from monitor.sources.sql import changes, scan
from monitor.sources.sql.changes import MisdatedRange, Wanted
from monitor.sources.sql.relabelled import read_relabelled, why_whole
from monitor.sources.sql.relations import look
from monitor.sources.sql.statements import Session
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import AtOnce, MisdatedRows, Range

T = TypeVar("T")
ReadChanged = Callable[[Session, Engine, ModelSpec, Wanted], Batches]


class SqlSource:
    """The `Source` of a database: a table that it returns is in memory, no cursor is open.

    `at_once` is how much it counts at once if that is not brought here; `slice_rows`: rows of a slice of the
    changes.

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

    at_once: AtOnce | None = None
    slice_rows: int | None = None

    def __init__(
        self, reader: Reader, meter: Meter | None = None, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.reader = reader
        self._meter = meter or Meter()
        self._retries = Retries(self.session, sleep)
        self._width: dict[tuple[str, str], int] = {}  # of a slice, by the rows that were read last

    @property
    def usage(self) -> Usage:
        """Seconds that queries have taken, rows that they have delivered, whether the last was answered."""
        return self._meter.usage

    @contextmanager
    def session(self, *, whole: bool = False) -> Iterator[MeteredSession]:
        """One read-only transaction, once what was delivered before is paid for: see `Reader.session`."""
        self._meter.wait()
        with self._meter.heard(), self.reader.session() as session:
            yield MeteredSession(session, self._meter, whole=whole, paced=self.reader.engine.paced)

    def changed_records(self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range) -> Batches:
        """`event_time` (and `logged_at`) of rows logged from `since` on, within event-time bounds."""
        yield from self._changed(changes.read_changed_records, model, Wanted(since, as_of, bounds))

    def changed_labels(self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range) -> Batches:
        """`event_time`, `reported_at` of predictions whose labels were reported from `since` on."""
        yield from self._changed(changes.read_changed_labels, model, Wanted(since, as_of, bounds))

    def relabelled(
        self, model: ModelSpec, *, since: int, cursor: int, as_of: int, bounds: Range
    ) -> Iterator[tuple[Range, pa.Table]]:
        """Records of which a label was reported from `since` on, by pieces of the time of reports.

        Those of a cycle or two are one piece; after a longer pause a piece holds about 200,000 rows.
        """
        engine, first = self.reader.engine, min(cursor, as_of)
        most = self.slice_rows or retries.ROWS
        recent = as_of - since <= 2 * max(model.every, DAY)

        def reported(piece: Range) -> Range:
            return (since, piece[1]) if piece[0] == first else piece

        def read(session: Session, piece: Range, _limit: int | None) -> Batches:
            undated = piece[0] == first
            yield read_relabelled(session, engine, model, bounds, reported(piece), undated=undated)

        whole = Retries(partial(self.session, whole=True), self._retries.sleep)
        width = as_of + 1 - first if recent else HOUR * most // retries.ROWS
        for piece, table in whole.slices(read, (first, as_of + 1), width=width, most=most, limited=False):
            yield reported(piece), table

    def counts_labels_whole(self, model: ModelSpec) -> str:
        """Why labels of a model cannot be counted by difference; empty: they can."""
        return self._retries.run(lambda session: why_whole(session, self.reader.engine, model))

    def records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """Rows with event times in the half-open ranges: id, times, version, arm, outputs, features."""
        engine = self.reader.engine
        return self._retries.ranges(
            lambda session, some: scan.read_records(session, engine, model, some), ranges, model.reading
        )

    def labelled(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The same predictions without features, joined (outer) with their labels."""
        engine = self.reader.engine
        return self._retries.ranges(
            lambda session, some: scan.read_labelled(session, engine, model, some), ranges, model.reading
        )

    def counted(
        self,
        model: ModelSpec,
        part: Part,
        ranges: Sequence[Range],
        counting: Counting,
        *,
        panes: Ints,
        as_of: int,
    ) -> CountedPanes:
        """A part of each of some panes, of their rows."""
        if part is Part.LABELS:
            table = self.labelled(model, ranges)
            return CountedPanes(count_labels(table, counting, panes=panes, as_of=as_of), table.num_rows)
        table = self.records(model, ranges)
        names = (f"feature:{name}" for name, _ in counting.features)
        missing = {name.removeprefix("feature:") for name in names if name not in table.column_names}
        parts = count_records(table, counting, panes=panes, as_of=as_of)
        return CountedPanes(parts, table.num_rows, tuple(sorted(missing)))

    def without_rows(self, model: ModelSpec, part: Part) -> str:
        """Title of the table of a part, if it has no row at all; else empty."""
        engine = self.reader.engine
        return self._retries.run(lambda session: changes.without_rows(session, engine, model, part))

    def has_records(self, model: ModelSpec, *, as_of: int, bounds: Range) -> bool:
        """Whether visible rows have event times within the bounds."""
        engine = self.reader.engine
        return self._retries.run(lambda session: changes.has_rows(session, engine, model, as_of, bounds))

    def orphans(self, model: ModelSpec, bounds: Range) -> int | None:
        """Labels reported within the bounds whose prediction is not there; None where that cannot be told."""
        engine = self.reader.engine
        return self._retries.run(lambda session: changes.count_orphans(session, engine, model, bounds))

    def strays(self, model: ModelSpec, *, as_of: int, bounds: Range) -> Mapping[str, int]:
        """Visible rows that no pane counts: `rows_without_id`, `rows_without_time` (logged within bounds)."""
        engine = self.reader.engine
        return self._retries.run(lambda session: changes.count_strays(session, engine, model, as_of, bounds))

    def misdated_rows(
        self, model: ModelSpec, *, since: int | None, as_of: int, recent: Range, ever: Range
    ) -> MisdatedRows:
        """Visible rows whose event time lies outside of what is read: see the `Source` of the pipeline."""
        engine, asked = self.reader.engine, MisdatedRange(since, as_of, recent, ever)
        return self._retries.run(lambda session: changes.count_misdated(session, engine, model, asked))

    def repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        """Ids (with their version) that stand in more than one pane within event-time bounds."""
        engine = self.reader.engine
        return self._retries.run(
            lambda session: changes.count_repeated(session, engine, model, as_of, bounds)
        )

    def columns(self, model: ModelSpec) -> Mapping[str, str]:
        """Names and database types of the prediction table's columns."""
        engine = self.reader.engine
        return self._retries.run(lambda session: look(session, engine, model.predictions, "p").types)

    def planning(self, reader: Reader) -> "SqlSource":
        """A source that asks another reader the same: one whose sessions ask for plans.

        A cluster's rows of panes are shown by the statements that its workers run.
        """
        return SqlSource(reader)

    def read(self, read: Callable[[Session], T]) -> T:
        """What a function reads in a session; after a conflict with other transactions again."""
        return self._retries.run(read)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()

    def _changed(self, read_changed: ReadChanged, model: ModelSpec, wanted: Wanted) -> Batches:
        """Changes in slices of time: the first an hour, the next as wide as would hold 200,000 rows.

        Changes of a cycle or two are one slice, and so is what was as few when it was read last. Where an
        index finds what was seen since a moment, slices are of that time, else of event time: each of those
        would go through all that was seen. Where nothing finds a slice without reading all rows, they come
        as one stream, which cannot be tried again once a part of it has been handed on, and takes as long as
        its rows take to be added up.
        """
        span, engine = wanted.bounds, self.reader.engine
        key = (model.name, read_changed.__name__)
        labels = read_changed is changes.read_changed_labels
        most = self.slice_rows or retries.ROWS
        recent = wanted.since is not None and wanted.as_of - wanted.since <= 2 * max(model.every, DAY)
        by_seen = (
            wanted.since is not None
            and not recent
            and self._retries.run(
                lambda session: changes.finds_seen(session, engine, model, wanted, labels=labels)
            )
        )
        if by_seen:
            span = (wanted.since or 0, wanted.as_of + 1)
        width = span[1] - span[0] if recent else self._width.get(key, HOUR * most // retries.ROWS)

        def read(session: Session, piece: Range, limit: int | None) -> Batches:
            part = replace(wanted, seen=piece) if by_seen else wanted.of(piece)
            return read_changed(session, engine, model, replace(part, limit=limit))

        def finds_slices(session: Session) -> bool:
            return by_seen or changes.finds_slices(session, engine, model, span, labels=labels)

        if width < span[1] - span[0] and not self._retries.run(finds_slices):
            with self.session() as session:
                yield from read(session, span, None)
            return
        rows = 0
        whole = Retries(partial(self.session, whole=True), self._retries.sleep)
        for _, table in whole.slices(read, span, width=width, most=most):
            rows += table.num_rows
            yield table
        if wanted.since is None:
            self._width[key] = most * max(span[1] - span[0], 1) // max(rows, 1)
