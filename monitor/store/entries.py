"""What has entered the sequential tests. Integers of any size are kept as JSON."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select

from monitor.specs.rows import Entry
from monitor.store.damage import understood
from monitor.store.statements import add
from monitor.store.tables import entries


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
