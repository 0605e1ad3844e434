"""What a source has delivered, and how fast it may: one meter for all queries of a source together."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable
from monitor.records.winning_rows import Batches
from monitor.sources.sql.statements import ReadSession, Statement

_LONGEST = 1.0  # seconds of a pause, after which it is asked again how long


@dataclass(frozen=True, slots=True)
class SourceUsage:
    """Seconds that queries of a source have taken, and rows that they have delivered."""

    seconds: float = 0.0
    rows: int = 0
    silent: float = 0.0  # seconds since the first of the tries that had no answer; 0: the last one had
    why: str = ""  # what was said of the last of them


UNUSED = SourceUsage()


class SourceMeter:
    """Adds up what a source delivers, and lets the next query wait until its rows are paid for.

    Rows are owed once they are delivered, and paid at the rate: so the mean rate holds over all threads,
    whatever the size of a single result.

    Parameters
    ----------
    rate
        rows a second; None: no limit.
    spent
        what has been used before, as by the same source of an older configuration.
    now, sleep
        a clock that never goes back, in seconds; waits.
    """

    def __init__(
        self,
        rate: float | None = None,
        spent: SourceUsage = UNUSED,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate, self._now, self._sleep = rate, now, sleep
        self._lock = threading.Lock()
        self._usage = replace(spent, silent=0.0, why="")
        self._paid_at = now()
        self._silent: tuple[float, str] | None = None  # since when, and why

    @property
    def usage(self) -> SourceUsage:
        """What has been used so far."""
        with self._lock:
            if self._silent is None:
                return self._usage
            since, why = self._silent
            return replace(self._usage, silent=self._now() - since, why=why)

    @contextmanager
    def note_availability(self) -> Iterator[None]:
        """Note whether the source answers what is asked meanwhile, be it by an error."""
        began = self._now()
        try:
            yield
        except SourceUnavailable as error:
            if error.trouble is not DatabaseTrouble.NO_ANSWER:
                self._note_answer()
                raise
            with self._lock:
                self._silent = (began if self._silent is None else self._silent[0]), str(error)
            raise
        except SourceError:
            self._note_answer()
            raise

    def _note_answer(self) -> None:
        with self._lock:
            self._silent = None

    def note_query(self, seconds: float, rows: int) -> None:
        """Note a query, or a part of it."""
        with self._lock:
            self._usage = replace(
                self._usage, seconds=self._usage.seconds + seconds, rows=self._usage.rows + rows
            )
            if self._rate is not None:
                self._paid_at = max(self._paid_at, self._now()) + rows / self._rate

    def apply_rate_limit(self) -> None:
        """Wait until what was delivered is paid for."""
        while (owed := self._seconds_to_wait()) > 0:
            self._sleep(min(owed, _LONGEST))

    def _seconds_to_wait(self) -> float:
        with self._lock:
            return 0.0 if self._rate is None else self._paid_at - self._now()

    @contextmanager
    def note_query_part(self) -> Iterator["QueryPart"]:
        """Note the part of a query that is run meanwhile, also where it fails."""
        part, began = QueryPart(), self._now()
        try:
            yield part
            self._note_answer()
        finally:
            self.note_query(self._now() - began, part.rows)


@dataclass(slots=True)
class QueryPart:
    """Rows of a part of a query."""

    rows: int = 0


@dataclass(frozen=True, slots=True)
class MeteredSession:
    """A session whose queries are noted."""

    session: ReadSession
    meter: SourceMeter
    # results that would come batch by batch come at once: while they are waited for nothing else is done, no
    # timeout of the server runs on, and drivers tell their errors in full.
    whole: bool = False
    paced: bool = False  # between batches, too, it is waited until what was delivered is paid for

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        with self.meter.note_query_part() as part:
            table = self.session.read_table(statement)
            part.rows = table.num_rows
        return table

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement batch by batch."""
        if self.whole:
            yield self.read_table(statement)
            return
        tables = iter(self.session.read_batches(statement))
        while True:
            with self.meter.note_query_part() as part:
                table = next(tables, None)
                part.rows = 0 if table is None else table.num_rows
            if table is None:
                return
            yield table
            if self.paced:
                self.meter.apply_rate_limit()

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        with self.meter.note_query_part():
            return self.session.read_rows(sql)

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names of a query's columns, and what the driver calls their types."""
        with self.meter.note_query_part():
            return self.session.describe_query(sql)

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        self.session.run_command(sql)
