"""Files of a lake as the pipeline sees them: a database that also tells which of its rows were rewritten."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from monitor.core.clock import FIRST
from monitor.records.pane import PaneHalf
from monitor.records.winning_rows import parse_dated_rows
from monitor.sources.engines.lake import FilesSince, files_since_name
from monitor.sources.engines.readers.lake_formats import ChangedFiles
from monitor.sources.engines.readers.lake_tables import LakeReader
from monitor.sources.source_meter import SourceMeter
from monitor.sources.sql.change_statements import WantedChanges, read_changed_labels, read_changed_records
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import Range, Rewrites


@dataclass(frozen=True, slots=True)
class _OldRows:
    """Rows that no search by their own times finds: all of a relation, or those seen before `until`."""

    relation: Relation
    until: int | None = None


class LakeSource(SqlSource):
    """The `Source` of files."""

    def __init__(self, reader: LakeReader, meter: SourceMeter | None = None) -> None:
        super().__init__(reader, meter)
        self._files = reader

    def find_rewrites(
        self,
        model: ModelSpec,
        position: str,
        *,
        since: int | None,
        labels_since: int | None,
        as_of: int,
        bounds: Range,
    ) -> Rewrites:
        """What was rewritten, by the files that tables lost and got; see `Source.find_rewrites`.

        Rows of files that went are compared with those of files that came in their place: what stands in both
        was merely moved. Cost: these files.
        """
        before: dict[str, str] = json.loads(position or "{}")
        found: dict[PaneHalf, set[int]] = {PaneHalf.RECORDS: set(), PaneHalf.LABELS: set()}
        now, lost = {}, []
        halves = (PaneHalf.RECORDS, model.predictions, since), (PaneHalf.LABELS, model.labels, labels_since)
        for half, relation, cursor in halves:
            if relation is None or relation.table is None:
                continue  # the owner's own query, or labels that stand in the predictions
            name = relation.table
            now[name] = self._files.position_of(name)
            if name not in before:
                continue
            changed = self._files.find_changed_files(name, before[name])
            if changed.lost:
                lost.append(f'table "{name}": {changed.lost}')
            for rows in self._old_rows(relation, before[name], cursor, changed):
                read = partial(self._pane_starts, model, half, rows, as_of, bounds)
                found[half] |= self._retries.run_read(read)
        return Rewrites(
            json.dumps(now, sort_keys=True) if now else "",
            tuple(sorted(found[PaneHalf.RECORDS])),
            tuple(sorted(found[PaneHalf.LABELS])),
            "; ".join(lost),
        )

    def _old_rows(
        self, relation: Relation, position: str, cursor: int | None, changed: ChangedFiles
    ) -> Iterator[_OldRows]:
        """Rows that went, and those that came with times before the cursor."""
        table = str(relation.table)
        gone, came = (
            None if files is None else self.reader.engine.quote_name(files_since_name(table, which, position))
            for which, files in ((FilesSince.GONE, changed.gone), (FilesSince.CAME, changed.came))
        )
        if gone is not None:
            yield _OldRows(_without_rows(relation, gone, came))
        if came is not None and cursor is not None:
            yield _OldRows(_without_rows(relation, came, gone), cursor)

    def _pane_starts(
        self,
        model: ModelSpec,
        half: PaneHalf,
        rows: _OldRows,
        as_of: int,
        bounds: Range,
        session: ReadSession,
    ) -> set[int]:
        """Starts of the panes of some rows, or of the predictions of some labels."""
        wanted = (
            WantedChanges(None, as_of, bounds)
            if rows.until is None
            else WantedChanges(FIRST, rows.until - 1, bounds)
        )
        if half is PaneHalf.RECORDS:
            spec, read, role = replace(model, predictions=rows.relation), read_changed_records, "logged_at"
        else:
            spec, read, role = replace(model, labels=rows.relation), read_changed_labels, "reported_at"
        starts: set[int] = set()
        for batch in parse_dated_rows(read(session, self.reader.engine, spec, wanted), role, model.reading):
            event = batch.event.us[batch.event.known]
            starts.update(np.unique(event - event % model.reading.pane).tolist())
        return starts


def _without_rows(relation: Relation, table: str, other: str | None) -> Relation:
    """Rows of a table, each as often as it stands there more often than in the other."""
    rows = f"SELECT * FROM {table}" + (f" EXCEPT ALL SELECT * FROM {other}" if other else "")
    return replace(relation, table=None, query=rows)
