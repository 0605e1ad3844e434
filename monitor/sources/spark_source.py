"""A Spark cluster as the pipeline sees it: any other database, but that panes are counted by its workers."""

from collections.abc import Sequence

import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.records.counting import Counting
from monitor.records.pane import CountedPanes, PaneHalf
from monitor.records.worker_counts import decode_pane_parts, job_text
from monitor.sources.engines.readers.spark_cluster import SparkReader
from monitor.sources.source_meter import SourceMeter
from monitor.sources.sql import scan
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import AtOnce, Range


class SparkSource(SqlSource):
    """The `Source` of a cluster: rows of panes stay there, their states come. Changes come as moments."""

    at_once: AtOnce | None = AtOnce(1_000, 20_000_000)
    slice_rows: int | None = 5_000_000

    def __init__(self, reader: SparkReader, meter: SourceMeter | None = None) -> None:
        super().__init__(reader, meter)
        self._cluster = reader

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
        """A part of each of some panes, counted by the workers."""
        labels = part is PaneHalf.LABELS
        self._meter.apply_rate_limit()
        with self._cluster.open_session() as session, self._meter.note_query_part() as read:
            look = scan.labelled_scan if labels else scan.record_scan
            wanted = look(session, self.reader.engine, model, ranges)
            names = [output.name for output in wanted.outputs]
            job = job_text(counting, names, labels=labels, panes=panes, as_of=as_of)
            table = session.count_on_workers(wanted, counting.reading, panes.tolist(), job)
            read.rows = int(pc.sum(table["read"]).as_py() or 0)
        missing = () if labels else (name for name, _ in counting.features if f"feature:{name}" not in names)
        parts = decode_pane_parts(table, counting, labels=labels, panes=panes)
        return CountedPanes(parts, read.rows, tuple(sorted(missing)))
