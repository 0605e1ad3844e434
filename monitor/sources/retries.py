"""Reads that are bounded and tried again: slices of time, halves after a timeout, pauses after a conflict."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from monitor.core.errors import DatabaseTrouble, SourceUnavailable
from monitor.records.reading import ReadingOptions
from monitor.records.winning_rows import Batches, parse_role_times
from monitor.sources.sql.statements import ReadSession, concat_mixed_tables
from monitor.specs.protocols import Range

T = TypeVar("T")

PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds before each further try
ROWS = 200_000  # of a slice: 3 MB of times, 10 of texts; one that holds more is followed by narrower ones
_WIDENED = 4
_CUT = 2  # times as many rows are not taken: what follows an empty time is read narrower
_NARROWEST = 1_000_000  # microseconds
_HALVINGS = 3  # of the slices of a span, all in all


@dataclass(frozen=True, slots=True)
class RetriedReads:
    """Runs reads, each in a session of its own."""

    session: Callable[[], AbstractContextManager[ReadSession]]  # connects and begins
    sleep: Callable[[float], None] = time.sleep  # waits so many seconds

    def run_read(self, read: Callable[[ReadSession], T]) -> T:
        """Read; after a conflict with another transaction or a standby's recovery again, after a pause."""
        for pause in PAUSES:
            try:
                with self.session() as session:
                    return read(session)
            except SourceUnavailable as error:
                if error.trouble is not DatabaseTrouble.CONFLICT:
                    raise
            self.sleep(pause)
        with self.session() as session:
            return read(session)

    def read_ranges(
        self,
        read: Callable[[ReadSession, Sequence[Range]], pa.Table],
        ranges: Sequence[Range],
        reading: ReadingOptions,
    ) -> pa.Table:
        """Rows of ranges of event time; where that takes too long, those of each half, tried once."""
        try:
            return self.run_read(lambda session: read(session, ranges))
        except SourceUnavailable as error:
            first, second = halve_ranges(ranges)
            if error.trouble is not DatabaseTrouble.TIMEOUT or not first:
                raise
        head = self.run_read(lambda session: read(session, first))
        tail = self.run_read(lambda session: read(session, second))
        return concat_mixed_tables(
            [rows_in_ranges(head, first, reading, odd=True), rows_in_ranges(tail, second, reading, odd=False)]
        )

    def read_slices(
        self,
        read: Callable[[ReadSession, Range, int | None], Batches],
        span: Range,
        *,
        width: int,
        most: int,
        limited: bool = True,
    ) -> Iterator[tuple[Range, pa.Table]]:
        """Pieces of a span and their rows; one that takes too long is cut in halves, a few times at most.

        Parameters
        ----------
        read
            reads a piece of the span; pieces that make it up hold each row once. A statement may end at the
            given number of rows, a literal one among them: pieces of as many are read again, narrower.
        width
            of the first slice, microseconds.
        most
            rows: each next slice is as wide as would hold so many, and at most four times wider.
        limited
            statements may end at a number of rows; where they do not, no piece is read twice.
        """
        start, widest, halvings = span[0], max(span[1] - span[0], _NARROWEST), _HALVINGS
        width = min(max(width, _NARROWEST), widest)
        while start < span[1]:
            piece = (start, min(start + width, span[1]))
            # A busy time may follow an empty one, after which slices are wide: a statement ends before it
            # fills the memory, and its piece is read again, narrower.
            cut = limited and _NARROWEST < piece[1] - start < span[1] - span[0]
            limit = _CUT * most + 1 if cut else None
            try:
                table = self.run_read(partial(_read_whole, read, piece, limit))
            except SourceUnavailable as error:
                halvings -= 1
                if error.trouble is not DatabaseTrouble.TIMEOUT or halvings < 0:
                    raise
                # No later slice is wider than what is known to take too long.
                width = widest = max((piece[1] - start) // 2, 1)
                continue
            rows = table.num_rows
            if limit is not None and rows >= limit - 1:
                width = max((piece[1] - start) // _WIDENED**2, _NARROWEST)
                continue
            yield piece, table
            start = piece[1]
            # As wide as would hold so many rows by what this one held; a slice without rows says little, so
            # at most four times wider.
            width = min(max(width * most // max(rows, most // _WIDENED, 1), _NARROWEST), widest)


def halve_ranges(ranges: Sequence[Range]) -> tuple[list[Range], list[Range]]:
    """Ranges cut in the middle of their time; the first half is empty where there is nothing to cut."""
    ordered = sorted(span for span in ranges if span[0] < span[1])
    half = sum(end - start for start, end in ordered) // 2
    first: list[Range] = []
    second: list[Range] = []
    for start, end in ordered:
        cut = min(max(start + half, start), end)
        first += [(start, cut)] if start < cut else []
        second += [(cut, end)] if cut < end else []
        half -= cut - start
    return first, second


def rows_in_ranges(
    table: pa.Table, ranges: Sequence[Range], reading: ReadingOptions, *, odd: bool
) -> pa.Table:
    """Rows whose event times lie in the ranges: what is asked in SQL may be wider.

    `odd`: rows without an event time that can be read are among them.
    """
    event = parse_role_times(table, "event_time", reading)
    edges = np.asarray(ranges, dtype=np.int64).reshape(-1, 2)
    at = np.searchsorted(edges[:, 0], event.us, side="right") - 1
    within = (at >= 0) & (event.us < edges[np.maximum(at, 0), 1])
    return table.filter(pa.array(np.where(event.known, within, odd)))


def _read_whole(
    read: Callable[[ReadSession, Range, int | None], Batches],
    piece: Range,
    limit: int | None,
    session: ReadSession,
) -> pa.Table:
    return concat_mixed_tables(list(read(session, piece, limit)))
