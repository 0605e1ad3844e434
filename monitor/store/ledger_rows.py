"""What has entered, once and for good: sequential tests, and the judgement of days.

Integers of any size are kept as JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, select

from monitor.core.clock import LAST
from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import KeptDay, LedgerEntry
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import insert_missing
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import days, entries


@dataclass(frozen=True, slots=True)
class LedgerRepository(Repository):
    """Entries and days of a run; a cycle's commit appends them."""

    def read_entries(self, model: str) -> list[LedgerEntry]:
        """What has entered the sequential tests of a model, by comparison, key and start."""
        statement = select(entries).where(entries.c.run == self.run, entries.c.model == model)
        statement = statement.order_by(entries.c.comparison, entries.c.key, entries.c.start)
        with read_transaction(self.engine) as connection:
            rows = connection.execute(statement).mappings()
            with named_damage(f'table entries, comparisons of "{model}"'):
                return [_entry_of_row(row) for row in rows]

    def read_days(
        self, model: str, part: PaneHalf, key: str, newest: int, until: int = LAST, due: int = LAST
    ) -> list[KeptDay]:
        """The newest days of a part up to a moment, and due by one, judged under a key, oldest first."""
        wanted = (days.c.run == self.run, days.c.model == model, days.c.part == part.value, days.c.key == key)
        then = (days.c.until <= until, days.c.due <= due)
        statement = select(days).where(*wanted, *then).order_by(days.c.start.desc()).limit(newest)
        with read_transaction(self.engine) as connection, named_damage(f'table days of "{model}"'):
            return [_day_of_row(row) for row in connection.execute(statement).mappings()][::-1]


def append_entries(connection: Connection, run: str, model: str, entered: Sequence[LedgerEntry]) -> None:
    """Keep entries; one that is there already is left as it is."""
    rows = [
        {
            "run": run,
            "model": model,
            "comparison": entry.comparison,
            "key": entry.key,
            "start": int(entry.start),
            "until": int(entry.end),
            "as_of": int(entry.as_of),
            "entered": json.dumps(entry.entered),
            "total": json.dumps(entry.total),
            "most": float(entry.most),
        }
        for entry in entered
    ]
    insert_missing(connection, entries, rows)


def _entry_of_row(row: RowMapping) -> LedgerEntry:
    entered, total = (tuple(map(int, json.loads(row[name]))) for name in ("entered", "total"))
    return LedgerEntry(
        comparison=row["comparison"],
        key=row["key"],
        start=row["start"],
        end=row["until"],
        as_of=row["as_of"],
        entered=entered,
        total=total,
        most=row["most"],
    )


def append_days(connection: Connection, run: str, model: str, judged: Sequence[KeptDay]) -> None:
    """Keep days; one that is there already is left as it is."""
    rows = [
        {
            "run": run,
            "model": model,
            "part": day.part.value,
            "start": int(day.start),
            "until": int(day.end),
            "due": int(day.due),
            "age": int(day.age),
            "key": day.key,
            "blob": day.blob,
        }
        for day in judged
    ]
    insert_missing(connection, days, rows)


def _day_of_row(row: RowMapping) -> KeptDay:
    return KeptDay(
        key=row["key"],
        part=PaneHalf(row["part"]),
        start=row["start"],
        end=row["until"],
        due=row["due"],
        age=row["age"],
        blob=bytes(row["blob"]),
    )
