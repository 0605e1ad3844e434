"""A source in memory: the twin of the SQL adapters, for fast tests of the pipeline."""

# ruff: noqa: ARG002 -- arguments of the protocol

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.records.counting import Counting
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.records.winning_rows import Batches
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import NO_REWRITES, MisdatedRows, Rewrites

Range = tuple[int, int]
_NARROW = ("id", "event_time", "logged_at", "version", "arm", "serving", "score", "prediction", "challenger")


@dataclass
class MemorySource:
    """Role-named tables; times are int64 microseconds under the unit "us"."""

    predictions: pa.Table
    labels: pa.Table | None = None

    def read_changed_records(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> Batches:
        table = _between(self.predictions, "event_time", bounds)
        if since is not None and "logged_at" in table.column_names:
            logged = pc.coalesce(table["logged_at"], table["event_time"])
            table = table.filter(pc.greater_equal(logged, since))
        yield from _halves(table, "logged_at")

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
        return NO_REWRITES

    def read_changed_labels(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> Batches:
        assert self.labels is not None
        labels = self.labels
        if since is not None and "reported_at" in labels.column_names:
            labels = labels.filter(pc.greater_equal(labels["reported_at"], since))
        names = [name for name in ("id", "event_time", "logged_at") if name in self.predictions.column_names]
        joined = _between(self.predictions.select(names), "event_time", bounds).join(
            labels, "id", join_type="inner"
        )
        yield from _halves(joined, "reported_at")

    def read_relabelled(
        self, model: ModelSpec, *, since: int, cursor: int, as_of: int, bounds: Range
    ) -> Iterator[tuple[Range, pa.Table]]:
        assert self.labels is not None
        narrow = _between(self._narrow(), "event_time", bounds)
        middle = (cursor + as_of) // 2 + 1
        for piece in ((since, middle), (middle, as_of + 1)):
            changed = _between(self.labels, "reported_at", piece)
            ids = pc.is_in(self.labels["id"], changed["id"].combine_chunks())
            yield piece, narrow.join(self.labels.filter(ids), "id", join_type="inner")

    def why_labels_counted_whole(self, model: ModelSpec) -> str:
        dated = self.labels is not None and "reported_at" in self.labels.column_names
        return "" if dated else "no column reported_at"

    def read_records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        return _within(self.predictions, ranges)

    def read_records_with_labels(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        table = _within(self._narrow(), ranges)
        return table if self.labels is None else table.join(self.labels, "id", join_type="left outer")

    def _narrow(self) -> pa.Table:
        names = [
            name
            for name in self.predictions.column_names
            if name in _NARROW or name.startswith(("probability:", "segment:"))
        ]
        return self.predictions.select(names)

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
        count = SqlSource.count_panes  # of rows, wherever they come from
        return count(self, model, part, ranges, counting, panes=panes, as_of=as_of)  # type: ignore[arg-type]

    def find_empty_table(self, model: ModelSpec, part: PaneHalf) -> str:
        table = self.predictions if part is PaneHalf.RECORDS else self.labels
        return "" if table is None or table.num_rows else part.value

    def has_records(self, model: ModelSpec, *, as_of: int, bounds: Range) -> bool:
        visible = self.predictions.filter(pc.less_equal(_logged(self.predictions), as_of))
        return bool(_between(visible, "event_time", bounds).num_rows)

    def count_orphans(self, model: ModelSpec, bounds: Range) -> int | None:
        if self.labels is None:
            return 0
        if "reported_at" not in self.labels.column_names:
            return None
        labels = _between(self.labels, "reported_at", bounds)
        known = self.predictions.filter(pc.less(_logged(self.predictions), bounds[1]))
        return int(labels.join(known.select(["id"]), "id", join_type="left anti").num_rows)

    def count_incomplete_rows(self, model: ModelSpec, *, as_of: int, bounds: Range) -> Mapping[str, int]:
        table = self.predictions
        event, logged = table["event_time"], _logged(table)
        nameless = pc.and_(table["id"].is_null(), pc.less_equal(logged, as_of))
        inside = pc.and_(pc.greater_equal(logged, bounds[0]), pc.less_equal(logged, as_of)).fill_null(True)
        return {
            "rows_without_id": _between(table.filter(nameless), "event_time", bounds).num_rows,
            "rows_without_time": pc.sum(pc.and_(event.is_null(), inside)).as_py() or 0,
        }

    def count_misdated_rows(
        self, model: ModelSpec, *, since: int | None, as_of: int, recent: Range, ever: Range
    ) -> MisdatedRows:
        table = self.predictions
        if since is not None and "logged_at" in table.column_names:
            new = _between(table, "logged_at", (since + 1, as_of + 1))
            return MisdatedRows(_outside(new, recent), new.num_rows)
        if "logged_at" in table.column_names:
            table = table.filter(pc.less_equal(_logged(table), as_of))
        return MisdatedRows(_outside(table, ever))

    def count_repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        table = _between(self.predictions, "event_time", bounds)
        table = table.filter(pc.and_(table["id"].is_valid(), pc.less_equal(_logged(table), as_of)))
        key = [name for name in ("id", "version") if name in table.column_names]
        pane = pa.array(np.asarray(table["event_time"]) // model.reading.pane)
        panes = table.append_column("pane", pane).group_by(key).aggregate([("pane", "count_distinct")])
        return int(pc.sum(pc.greater(panes["pane_count_distinct"], 1)).as_py() or 0)

    def list_columns(self, model: ModelSpec) -> Mapping[str, str]:
        return {name: str(self.predictions.schema.field(name).type) for name in self.predictions.column_names}


class ChangingSource(MemorySource):
    """A feed of labels that may change what it reported."""

    def why_labels_counted_whole(self, model: ModelSpec) -> str:
        return "it may change what it reported"


def _logged(table: pa.Table) -> pa.ChunkedArray:
    return pc.coalesce(*(table[name] for name in ("logged_at", "event_time") if name in table.column_names))


def _halves(table: pa.Table, seen: str) -> Batches:
    """Two batches: what is added up must not depend on them."""
    table = table.select(
        [name for name in dict.fromkeys(("event_time", "logged_at", seen)) if name in table.column_names]
    )
    middle = table.num_rows // 2
    yield from (table.slice(0, middle), table.slice(middle))


def _between(table: pa.Table, role: str, bounds: Range) -> pa.Table:
    moments = table[role]
    return table.filter(pc.and_(pc.greater_equal(moments, bounds[0]), pc.less(moments, bounds[1])))


def _outside(table: pa.Table, bounds: Range) -> int:
    known = int(table.num_rows - table["event_time"].null_count)
    return known - int(_between(table, "event_time", bounds).num_rows)


def _within(table: pa.Table, ranges: Sequence[Range]) -> pa.Table:
    moments = np.asarray(table["event_time"].fill_null(np.iinfo(np.int64).min))
    inside = np.zeros(len(moments), dtype=bool)
    for start, end in ranges:
        inside |= (moments >= start) & (moments < end)
    return table.filter(pa.array(inside))
