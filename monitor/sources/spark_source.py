"""A Spark cluster as the pipeline sees it: any other database, but that panes are counted by its workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.typing import Ints
from monitor.records.counting import Counting
from monitor.records.pane import CountedPanes, Part
from monitor.records.rows import Batches
from monitor.records.shipped import job_text, parts_of
from monitor.sources import scan
from monitor.sources.meter import Meter
from monitor.sources.plans import Read
from monitor.sources.source import SqlSource
from monitor.sources.spark_cluster import SparkReader
from monitor.sources.statements import Session, Statement
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import AtOnce, Range


@dataclass(slots=True)
class Tallied:
    """A session whose statements are not read: their rows are counted."""

    session: Session
    n: int = 0

    def read(self, statement: Statement) -> pa.Table:
        """No rows of a statement."""
        self.n += self.session.rows(f"SELECT count(*) AS n FROM ({statement.text()})")[0][0]
        return statement.empty()

    def batches(self, statement: Statement) -> Batches:
        """No rows of a statement."""
        yield self.read(statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        return self.session.rows(sql)

    def described(self, sql: str) -> dict[str, object]:
        """Names of a query's columns, and their types."""
        return self.session.described(sql)

    def settle(self, sql: str) -> None:
        """Run a statement without rows."""
        self.session.settle(sql)


class SparkSource(SqlSource):
    """The `Source` of a cluster: rows of panes stay there, their states come. Changes come as moments."""

    at_once: AtOnce | None = AtOnce(1_000, 20_000_000)
    slice_rows: int | None = 5_000_000

    def __init__(self, reader: SparkReader, meter: Meter | None = None) -> None:
        super().__init__(reader, meter)
        self._cluster = reader

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
        """A part of each of some panes, counted by the workers."""
        labels = part is Part.LABELS
        self._meter.wait()
        with self._cluster.session() as session, self._meter.timed() as read:
            look = scan.labelled_scan if labels else scan.record_scan
            wanted = look(session, self.reader.dialect, model, ranges)
            names = [output.name for output in wanted.outputs]
            job = job_text(counting, names, labels=labels, panes=panes, as_of=as_of)
            table = session.counted(wanted, counting.reading, panes.tolist(), job)
            read.rows = int(pc.sum(table["read"]).as_py() or 0)
        missing = () if labels else (name for name, _ in counting.features if f"feature:{name}" not in names)
        parts = parts_of(table, counting, labels=labels, panes=panes)
        return CountedPanes(parts, read.rows, tuple(sorted(missing)))

    def _expected(self, read: Read, predictions: Read, span: Range) -> int | None:  # noqa: ARG002 -- judged by plans elsewhere
        def count(session: Session) -> int:
            tallied = Tallied(session)
            for _ in read(tallied, span):
                pass
            return tallied.n

        return self._patience.run(count)
