"""Stores after what disks, hands and other programs do to them."""

import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

TABLES = (
    "panes", "waiting", "models", "windows", "series", "current_rows", "provenance", "row_sets", "details",
    "snapshot_rows", "current", "snapshots", "entries", "references_", "configurations", "days", "leases",
    "daemons", "events", "alerts", "incidents", "messages", "outbox", "troubles", "alembic_version",
)  # fmt: skip
VALUES = (
    "NULL", "''", "'x'", "-1", "0", "1", "1.5", "9223372036854775807", "-9223372036854775808", "9e999",
    "-9e999", "1e300", "x'00ff'", "x''", "CAST(x'ff41fe' AS TEXT)", "CAST(x'00' AS TEXT)", "'{'", "'[]'",
    "'{}'", "'null'", "'[[1]]'", "'{\"columns\":[1],\"rows\":[[[]]]}'",
    "'{\"columns\":[\"a\"],\"rows\":[[1,2]]}'", "'{\"outcome\":\"x\"}'", "'[1e999]'", "'[\"a\"]'",
    "'{\"format\":1}'", "zeroblob(100)", "randomblob(300)", "'99999999999999999999d'", "'0d'",
    "hex(randomblob(2000))", "'settled'", "'late'", "'live'", "'\U0001f600 \u2028'", "253402300800000000",
    "17040672",
)  # fmt: skip


def _values(file: Path, rng: random.Random) -> None:
    """Values of rows, of any column."""
    with _opened(file) as connection:
        for _ in range(rng.choice((1, 1, 2, 5))):
            table = rng.choice(TABLES)
            column = rng.choice(_columns(connection, table))
            some = rng.choice(
                ("1", "rowid % 3 = 0", "random() % 5 = 0", f'"{column}" = (SELECT "{column}" FROM {table})')
            )
            value = rng.choice((*VALUES, f"(SELECT {rng.choice(_columns(connection, table))} FROM {table})"))
            _run(connection, f'UPDATE OR IGNORE {table} SET "{column}" = {value} WHERE {some}')


def _blobs(file: Path, rng: random.Random) -> None:
    """Stored bytes cut, or with a byte changed."""
    with _opened(file) as connection:
        table, column = rng.choice((("panes", "blob"), ("references_", "records"), ("references_", "labels")))
        at = rng.randrange(1, 60)
        before, after = f"substr({column}, 1, {at})", f"substr({column}, {at + 2})"
        made = rng.choice(
            (before, f"CAST({before} || x'{rng.randrange(256):02x}' || {after} AS BLOB)", after)
        )
        _run(connection, f"UPDATE {table} SET {column} = CAST({made} AS BLOB)")


def _tables(file: Path, rng: random.Random) -> None:
    """Tables that are gone, renamed, empty, of other columns, or views."""
    with _opened(file) as connection:
        table = rng.choice(TABLES)
        column = rng.choice(_columns(connection, table))
        replaced = ("DROP TABLE", "ALTER TABLE copied RENAME TO")
        changes = (
            (f"DROP TABLE {table}",),
            (f"ALTER TABLE {table} RENAME TO gone",),
            (f"DELETE FROM {table}",),
            (f"DROP TABLE {table}", f"CREATE TABLE {table} (x)"),
            (f"ALTER TABLE {table} RENAME TO kept", f"CREATE VIEW {table} AS SELECT * FROM kept"),
            (f"ALTER TABLE {table} RENAME TO kept", f"CREATE VIEW {table} AS SELECT 1 AS one"),
            (f"CREATE TABLE copied AS SELECT * FROM {table}", *(f"{one} {table}" for one in replaced)),
            (f'ALTER TABLE {table} RENAME COLUMN "{column}" TO other',),
            (f'ALTER TABLE {table} DROP COLUMN "{column}"',),
            (f"CREATE TRIGGER no BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END",),
        )  # fmt: skip
        for statement in rng.choice(changes):
            _run(connection, statement)


def _schema(file: Path, rng: random.Random) -> None:
    """The table of tables itself."""
    with _opened(file) as connection:
        _run(connection, "PRAGMA writable_schema = ON")
        column, value = rng.choice(("sql", "name", "tbl_name", "rootpage")), rng.choice(VALUES)
        _run(
            connection, f"UPDATE sqlite_master SET {column} = {value} WHERE tbl_name = '{rng.choice(TABLES)}'"
        )


def _pages(file: Path, rng: random.Random) -> None:
    """Random bytes in random pages."""
    content = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 10, 100, 1_000))):
        content[rng.randrange(rng.choice((100, 4_096, len(content))))] = rng.randrange(256)
    file.write_bytes(bytes(content))


def _zeroed(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    at = rng.randrange(len(content) // 4_096) * 4_096
    size = 4_096 * rng.choice((1, 2, 20))
    content[at : at + size] = bytes(len(content[at : at + size]))
    file.write_bytes(bytes(content))


def _truncated(file: Path, rng: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])


def _other(file: Path, rng: random.Random) -> None:
    """What is no store at all."""
    kind = rng.randrange(5)
    file.unlink()
    if kind == 0:
        file.mkdir()
    elif kind == 1:
        file.write_bytes(b"")
    elif kind == 2:
        file.write_bytes(rng.randbytes(5_000))
    elif kind == 3:
        file.write_text("[store]\nurl = 3\n", encoding="utf-8")
    else:
        with _opened(file) as connection:
            _run(connection, f"CREATE TABLE {rng.choice(TABLES)} (id INTEGER PRIMARY KEY, name TEXT)")


_HARMS: Sequence[Callable[[Path, random.Random], None]] = (
    _values, _values, _values, _values, _values, _values, _blobs, _tables, _tables, _schema, _pages, _pages,
    _zeroed, _truncated, _other,
)  # fmt: skip


def harmed(sound: Path, file: Path, rng: random.Random) -> None:
    """Copy a store, and do something to the copy."""
    for name in (file.name, f"{file.name}-wal", f"{file.name}-shm"):
        there = file.with_name(name)
        shutil.rmtree(there) if there.is_dir() else there.unlink(missing_ok=True)
    shutil.copy(sound, file)
    rng.choice(_HARMS)(file, rng)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] or ["rowid"]


def _run(connection: sqlite3.Connection, statement: str) -> None:
    with suppress(sqlite3.Error, UnicodeError):
        connection.execute(statement)


def _opened(file: Path) -> closing[sqlite3.Connection]:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    return closing(connection)


PAGE = 4_096
Harm = Callable[[bytearray, Mapping[str, int]], None]


def _flip(place: Callable[[Mapping[str, int]], int], bits: int = 0x15) -> Harm:
    def harm(content: bytearray, pages: Mapping[str, int]) -> None:
        content[place(pages)] ^= bits

    return harm


def _zero(place: Callable[[Mapping[str, int]], int], length: int) -> Harm:
    def harm(content: bytearray, pages: Mapping[str, int]) -> None:
        content[place(pages) : place(pages) + length] = bytes(length)

    return harm


def _cut(length: Callable[[int], int]) -> Harm:
    def harm(content: bytearray, _pages: Mapping[str, int]) -> None:
        del content[length(len(content)) :]

    return harm


def _swap(content: bytearray, pages: Mapping[str, int]) -> None:
    """Two pages, each written where the other belongs."""
    one, other = pages["leaf"], pages["index"]
    content[one : one + PAGE], content[other : other + PAGE] = (
        content[other : other + PAGE],
        content[one : one + PAGE],
    )


def _torn(content: bytearray, pages: Mapping[str, int]) -> None:
    """The second half of a page is what stood there before: another page's."""
    at, other = pages["leaf"] + PAGE // 2, pages["index"] + PAGE // 2
    content[at : at + PAGE // 2] = content[other : other + PAGE // 2]


# places of https://www.sqlite.org/fileformat2.html: the header of the file; of a b-tree page its header,
# pointers to cells behind it, cells from its end
TORN: Mapping[str, Harm] = {
    "name of the format": _flip(lambda _: 0),
    "size of pages": _flip(lambda _: 17),
    "version of the schema's format": _flip(lambda _: 47),
    "encoding": _flip(lambda _: 59, 3),
    "first page of the free list": _flip(lambda _: 35),
    "length of the free list": _flip(lambda _: 39),
    "free list": _zero(lambda pages: pages["free"], PAGE),
    "half of the schema": _zero(lambda _: PAGE // 2, PAGE // 2),
    "root of a table": _zero(lambda pages: pages["root"], PAGE),
    "half of a root": _zero(lambda pages: pages["root"] + PAGE // 2, PAGE // 2),
    "a page of a table": _zero(lambda pages: pages["leaf"], PAGE),
    "half of a page": _torn,
    "a page's number of cells": _flip(lambda pages: pages["leaf"] + 4),
    "a page's pointer to a cell": _flip(lambda pages: pages["leaf"] + 9),
    "a page of an index": _zero(lambda pages: pages["index"], PAGE),
    "a cell of an index": _flip(lambda pages: pages["index"] + PAGE - 20),
    "two pages": _swap,
    "half of the file": _cut(lambda length: length // 2 // PAGE * PAGE),
    "the last page": _cut(lambda length: length - PAGE),
    "a part of a page, and all behind": _cut(lambda length: length // 2 // PAGE * PAGE - 1_500),
    "all but the header": _cut(lambda _: 100),
}


def torn(sound: Path, file: Path, harm: Harm) -> None:
    """Copy a store, and write its pages as a disk might."""
    for name in (f"{file.name}-wal", f"{file.name}-shm"):
        file.with_name(name).unlink(missing_ok=True)
    shutil.copy(sound, file)
    with _opened(file) as connection:
        connection.execute("CREATE TABLE gone AS SELECT zeroblob(100000) AS x")
        connection.execute("DROP TABLE gone")  # its pages are free
        roots = {str(name): (int(page) - 1) * PAGE for name, page in connection.execute(_ROOTS)}
    content = bytearray(file.read_bytes())
    leaves = [at for at in range(PAGE, len(content), PAGE) if content[at] == _LEAF]
    pages = {
        "root": roots["snapshot_rows"],
        "index": roots["ix_row_sets_run"],
        "leaf": max(leaves, key=lambda at: int.from_bytes(content[at + 3 : at + 5])),
        "free": (int.from_bytes(content[32:36]) - 1) * PAGE,
    }
    harm(content, pages)
    file.write_bytes(content)


_ROOTS = "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"
_LEAF = 13  # type of a page that holds rows
