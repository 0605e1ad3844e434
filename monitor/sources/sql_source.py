"""A user's database as the pipeline sees it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.records.winning_rows import Batches
from monitor.sources import retries
from monitor.sources.engines.engine import Engine, RowReader
from monitor.sources.retries import RetriedReads
from monitor.sources.source_meter import MeteredSession, SourceMeter, SourceUsage
from monitor.sources.sql import change_statements, scan
from monitor.sources.sql.change_statements import MisdatedRange, WantedChanges
from monitor.sources.sql.relabelled_records import read_relabelled, why_no_label_differences
from monitor.sources.sql.relations import survey_relation
from monitor.sources.sql.statements import ReadSession
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import NO_REWRITES, AtOnce, MisdatedRows, Range, Rewrites

T = TypeVar("T")
ReadChanged = Callable[[ReadSession, Engine, ModelSpec, WantedChanges], Batches]


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
        self,
        reader: RowReader,
        meter: SourceMeter | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.reader = reader
        self._meter = meter or SourceMeter()
        self._retries = RetriedReads(self.open_session, sleep)
        self._width: dict[tuple[str, str], int] = {}  # of a slice, by the rows that were read last

    @property
    def usage(self) -> SourceUsage:
        """Seconds that queries have taken, rows that they have delivered, whether the last was answered."""
        return self._meter.usage

    @contextmanager
    def open_session(self, *, whole: bool = False) -> Iterator[MeteredSession]:
        """One read-only transaction, once what came before is paid for: see `RowReader.open_session`."""
        self._meter.apply_rate_limit()
        with self._meter.note_availability(), self.reader.open_session() as session:
            yield MeteredSession(session, self._meter, whole=whole, paced=self.reader.engine.paced)

    def read_changed_records(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> Batches:
        """`event_time` (and `logged_at`) of rows logged from `since` on, within event-time bounds."""
        yield from self._read_changed(
            change_statements.read_changed_records, model, WantedChanges(since, as_of, bounds)
        )

    def find_rewrites(
        self,
        model: ModelSpec,
        position: str,
        *,
        since: int | None,
        labels_since: int | None,
        as_of: int,
        bounds: Range,
    ) -> Rewrites:  # a database does not tell: audits find what was changed in place
        """Nothing is known of rewritten rows."""
        del model, position, since, labels_since, as_of, bounds
        return NO_REWRITES

    def read_changed_labels(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> Batches:
        """`event_time`, `reported_at` of predictions whose labels were reported from `since` on."""
        yield from self._read_changed(
            change_statements.read_changed_labels, model, WantedChanges(since, as_of, bounds)
        )

    def read_relabelled(
        self, model: ModelSpec, *, since: int, cursor: int, as_of: int, bounds: Range
    ) -> Iterator[tuple[Range, pa.Table]]:
        """Records of which a label was reported from `since` on, by pieces of the time of reports.

        Those of a cycle or two are one piece; after a longer pause a piece holds about 200,000 rows.
        """
        engine, first = self.reader.engine, min(cursor, as_of)
        most = self.slice_rows or retries.ROWS
        recent = as_of - since <= 2 * max(model.keys.every, DAY)

        def reported(piece: Range) -> Range:
            return (since, piece[1]) if piece[0] == first else piece

        def read(session: ReadSession, piece: Range, _limit: int | None) -> Batches:
            undated = piece[0] == first
            yield read_relabelled(session, engine, model, bounds, reported(piece), undated=undated)

        whole = RetriedReads(partial(self.open_session, whole=True), self._retries.sleep)
        width = as_of + 1 - first if recent else HOUR * most // retries.ROWS
        for piece, table in whole.read_slices(
            read, (first, as_of + 1), width=width, most=most, limited=False
        ):
            yield reported(piece), table

    def why_labels_counted_whole(self, model: ModelSpec) -> str:
        """Why labels of a model cannot be counted by difference; empty: they can."""
        return self._retries.run_read(
            lambda session: why_no_label_differences(session, self.reader.engine, model)
        )

    def read_records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """Rows with event times in the half-open ranges: id, times, version, arm, outputs, features."""
        engine = self.reader.engine
        return self._retries.read_ranges(
            lambda session, some: scan.read_records(session, engine, model, some), ranges, model.reading
        )

    def read_records_with_labels(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The same predictions without features, joined (outer) with their labels."""
        engine = self.reader.engine
        return self._retries.read_ranges(
            lambda session, some: scan.read_records_with_labels(session, engine, model, some),
            ranges,
            model.reading,
        )

    def count_panes(
        self,
        model: ModelSpec,
        part: PaneHalf,
        ranges: Sequence[Range],
        counting: Counting,
        *,
        panes: Ints,
        as_of: int,
    ) -> CountedPanes:
        """A part of each of some panes, of their rows."""
        if part is PaneHalf.LABELS:
            table = self.read_records_with_labels(model, ranges)
            return CountedPanes(count_labels(table, counting, panes=panes, as_of=as_of), table.num_rows)
        table = self.read_records(model, ranges)
        names = (f"feature:{name}" for name, _ in counting.features)
        missing = {name.removeprefix("feature:") for name in names if name not in table.column_names}
        parts = count_records(table, counting, panes=panes, as_of=as_of)
        return CountedPanes(parts, table.num_rows, tuple(sorted(missing)))

    def find_empty_table(self, model: ModelSpec, part: PaneHalf) -> str:
        """Title of the table of a part, if it has no row at all; else empty."""
        engine = self.reader.engine
        return self._retries.run_read(
            lambda session: change_statements.empty_table_title(session, engine, model, part)
        )

    def has_records(self, model: ModelSpec, *, as_of: int, bounds: Range) -> bool:
        """Whether visible rows have event times within the bounds."""
        engine = self.reader.engine
        return self._retries.run_read(
            lambda session: change_statements.has_rows(session, engine, model, as_of, bounds)
        )

    def count_orphans(self, model: ModelSpec, bounds: Range) -> int | None:
        """Labels reported within the bounds whose prediction is not there; None where that cannot be told."""
        engine = self.reader.engine
        return self._retries.run_read(
            lambda session: change_statements.count_orphans(session, engine, model, bounds)
        )

    def count_incomplete_rows(self, model: ModelSpec, *, as_of: int, bounds: Range) -> Mapping[str, int]:
        """Visible rows that no pane counts: `rows_without_id`, `rows_without_time` (logged within bounds)."""
        engine = self.reader.engine
        return self._retries.run_read(
            lambda session: change_statements.count_incomplete_rows(session, engine, model, as_of, bounds)
        )

    def count_misdated_rows(
        self, model: ModelSpec, *, since: int | None, as_of: int, recent: Range, ever: Range
    ) -> MisdatedRows:
        """Visible rows whose event time lies outside of what is read: see the `Source` of the pipeline."""
        engine, misdated_range = self.reader.engine, MisdatedRange(since, as_of, recent, ever)
        return self._retries.run_read(
            lambda session: change_statements.count_misdated(session, engine, model, misdated_range)
        )

    def count_repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        """Ids (with their version) that stand in more than one pane within event-time bounds."""
        engine = self.reader.engine
        return self._retries.run_read(
            lambda session: change_statements.count_repeated(session, engine, model, as_of, bounds)
        )

    def list_columns(self, model: ModelSpec) -> Mapping[str, str]:
        """Names and database types of the prediction table's columns."""
        engine = self.reader.engine
        return self._retries.run_read(
            lambda session: survey_relation(session, engine, model.predictions, "p").types
        )

    def planning_source(self, reader: RowReader) -> "SqlSource":
        """A source that asks another reader the same: one whose sessions ask for plans.

        A cluster's rows of panes are shown by the statements that its workers run.
        """
        return SqlSource(reader)

    def read_with_retries(self, read: Callable[[ReadSession], T]) -> T:
        """What a function reads in a session; after a conflict with other transactions again."""
        return self._retries.run_read(read)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()

    def _read_changed(
        self, read_changed: ReadChanged, model: ModelSpec, wanted_changes: WantedChanges
    ) -> Batches:
        """Changes in slices of time: the first an hour, the next as wide as would hold 200,000 rows.

        Changes of a cycle or two are one slice, and so is what was as few when it was read last. Where an
        index finds what was seen since a moment, slices are of that time, else of event time: each of those
        would go through all that was seen. Where nothing finds a slice without reading all rows, they come
        as one stream, which cannot be tried again once a part of it has been handed on, and takes as long as
        its rows take to be added up.
        """
        span, engine = wanted_changes.bounds, self.reader.engine
        key = (model.name, read_changed.__name__)
        labels = read_changed is change_statements.read_changed_labels
        most = self.slice_rows or retries.ROWS
        recent = wanted_changes.since is not None and wanted_changes.as_of - wanted_changes.since <= 2 * max(
            model.keys.every, DAY
        )
        by_seen = (
            wanted_changes.since is not None
            and not recent
            and self._retries.run_read(
                lambda session: change_statements.can_find_seen_rows(
                    session, engine, model, wanted_changes, labels=labels
                )
            )
        )
        if by_seen:
            span = (wanted_changes.since or 0, wanted_changes.as_of + 1)
        width = span[1] - span[0] if recent else self._width.get(key, HOUR * most // retries.ROWS)

        def read(session: ReadSession, piece: Range, limit: int | None) -> Batches:
            part = replace(wanted_changes, seen=piece) if by_seen else wanted_changes.narrow_to_piece(piece)
            return read_changed(session, engine, model, replace(part, limit=limit))

        def finds_slices(session: ReadSession) -> bool:
            return by_seen or change_statements.can_slice_cheaply(session, engine, model, span, labels=labels)

        # Where each slice would read the whole table, many slices would read it many times.
        if width < span[1] - span[0] and not self._retries.run_read(finds_slices):
            with self.open_session() as session:
                yield from read(session, span, None)
            return
        rows = 0
        whole = RetriedReads(partial(self.open_session, whole=True), self._retries.sleep)
        for _, table in whole.read_slices(read, span, width=width, most=most):
            rows += table.num_rows
            yield table
        if wanted_changes.since is None:
            self._width[key] = most * max(span[1] - span[0], 1) // max(rows, 1)
