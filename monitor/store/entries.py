"""What has entered, once and for good: sequential tests, and the judgement of days.

Integers of any size are kept as JSON.
"""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select

from monitor.records.pane import Part
from monitor.specs.rows import Day, Entry
from monitor.store.damage import understood
from monitor.store.statements import add
from monitor.store.tables import days, entries


def append(connection: Connection, run: str, model: str, entered: Sequence[Entry]) -> None:
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
    add(connection, entries, rows)


def read(connection: Connection, run: str, model: str) -> list[Entry]:
    """Entries of a model, by comparison, key and start."""
    chosen = select(entries).where(entries.c.run == run, entries.c.model == model)
    rows = connection.execute(chosen.order_by(entries.c.comparison, entries.c.key, entries.c.start))
    with understood(f'table entries, comparisons of "{model}"'):
        return [_entry(row) for row in rows.mappings()]


def _entry(row: RowMapping) -> Entry:
    entered, total = (tuple(map(int, json.loads(row[name]))) for name in ("entered", "total"))
    return Entry(
        comparison=row["comparison"],
        key=row["key"],
        start=row["start"],
        end=row["until"],
        as_of=row["as_of"],
        entered=entered,
        total=total,
        most=row["most"],
    )


def append_days(connection: Connection, run: str, model: str, judged: Sequence[Day]) -> None:
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
    add(connection, days, rows)


def read_days(
    connection: Connection, run: str, model: str, part: Part, key: str, newest: int, until: int, due: int
) -> list[Day]:
    """The newest days up to a moment, and due by one, judged under a key, oldest first."""
    of = (days.c.run == run, days.c.model == model, days.c.part == part.value, days.c.key == key)
    then = (days.c.until <= until, days.c.due <= due)
    chosen = select(days).where(*of, *then).order_by(days.c.start.desc()).limit(newest)
    with understood(f'table days of "{model}"'):
        return [_day(row) for row in connection.execute(chosen).mappings()][::-1]


def _day(row: RowMapping) -> Day:
    return Day(
        key=row["key"],
        part=Part(row["part"]),
        start=row["start"],
        end=row["until"],
        due=row["due"],
        age=row["age"],
        blob=bytes(row["blob"]),
    )
