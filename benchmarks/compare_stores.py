"""Compare two SQLite stores of the same replay, table by table and row by row, with ==.

Wall clocks, processes and hosts are left out. Ends with 1 where anything differs; snapshots that
differ are counted by measure. After a change that must not move a number:
monitor demo --exit --directory NEW; python benchmarks/compare_stores.py OLD/monitor.db NEW/monitor.db
"""

import sqlite3
import sys
from collections import Counter

LEFT_OUT = {"code", "created", "expires_at", "owner", "seen_at", "started_at"}
NUMBERED = {"series", "row_sets", "details", "current_rows", "snapshot_rows"}  # compared as the views of them
LISTED = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' ORDER BY 1"
)


def main(old: str, new: str) -> int:
    """Print each table, and what differs; 1 where anything does."""
    stores = [sqlite3.connect(f"file:{path}?mode=ro", uri=True) for path in (old, new)]
    tables = [[name for (name,) in store.execute(LISTED) if name not in NUMBERED] for store in stores]
    differs = tables[0] != tables[1]
    if differs:
        print(f"tables: {set(tables[0]) ^ set(tables[1])} in one of them only")
    for table in sorted({*tables[0]} & {*tables[1]}):
        columns = [_columns(store, table) for store in stores]
        shared = [column for column in columns[0] if column in columns[1]]
        before, after = (_rows(store, table, shared) for store in stores)
        gone, come = before - after, after - before
        differs |= bool(gone or come)
        print(f"{table}: {before.total():,} rows, {gone.total():,} gone, {come.total():,} new")
        if gone and table == "snapshots":
            print("  by measure:", dict(Counter(dict(row)["measure"] for row in gone.elements())))
    return int(differs)


def _columns(store: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in store.execute(f'PRAGMA table_info("{table}")') if row[1] not in LEFT_OUT]


def _rows(
    store: sqlite3.Connection, table: str, columns: list[str]
) -> Counter[tuple[tuple[str, object], ...]]:
    listed = ", ".join(f'"{column}"' for column in columns)
    return Counter(
        tuple(zip(columns, row, strict=True)) for row in store.execute(f'SELECT {listed} FROM "{table}"')
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
