"""Where the newest, or the oldest, rows of a large table of files are: by the bounds of its files."""

from bisect import bisect_left
from dataclasses import dataclass

from monitor.core.clock import HOUR
from monitor.sources.indexes import count_rows
from monitor.sources.sql.relations import SurveyedRelation
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql.table_files import TableFiles
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape, TimesOfRows
from monitor.specs.model_spec import Relation
from monitor.specs.protocols import Range

_FEW_FILES, _PART = 8, 4  # that are read for the rows at an end: so many, or a fourth of all


@dataclass(frozen=True, slots=True)
class RowEdge:
    """So many rows at an end of a span of time."""

    span: Range
    rows: int
    newest: bool = True

    def part_of(self, width: int) -> Range:
        """Part of the span at that end."""
        lo, hi = self.span
        return (max(hi - width, lo), hi) if self.newest else (lo, min(lo + width, hi))


@dataclass(frozen=True, slots=True)
class TimedFiles:
    """Files of a table, looked at by a column of times."""

    relation: Relation
    survey: SurveyedRelation
    files: TableFiles
    column: str
    time: ComparableTime

    def find_edge(self, session: ReadSession, edge: RowEdge) -> Range | None:
        """Part of a span that has as many rows at its end, or all; None: too many files would be read.

        Which files may hold rows of a part their bounds say; rows are counted of these alone.
        """
        whole = edge.span[1] - edge.span[0]
        empty = HOUR * bisect_left(
            range(whole // HOUR + 1),
            1,
            key=lambda hours: min(self._count_files(session, edge.part_of(hours * HOUR)), 1),
        )
        width, most = HOUR, max(_FEW_FILES, self.files.n // _PART)
        while self._count_files(session, part := edge.part_of(empty + width)) <= most:
            held = count_rows(session, self.survey.item, self.time.range_condition(*part), edge.rows)
            if empty + width >= whole or held.n >= edge.rows:
                return part
            width *= 2
        return None

    def _count_files(self, session: ReadSession, part: Range) -> int:
        unit = self.time.unit if self.time.shape is TimeShape.EPOCH else None
        kind, zone = self.survey.types[self.column], self.time.zone
        times = TimesOfRows(self.column, kind, unit, (part,), undated=False, zone=zone)
        return self.survey.engine.count_files(session, self.relation, times) or 0
