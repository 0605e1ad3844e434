"""How often SQLite's rows are read: once, unless a value is not what its column is declared to hold."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import adbc_driver_sqlite.dbapi
import pyarrow as pa
import pytest
from sqlalchemy import URL

from monitor.sources.engines.readers import sqlite_typing
from monitor.sources.engines.readers.adbc import AdbcSession
from monitor.sources.engines.schemes import engine_of
from monitor.sources.engines.sqlite import _batch_options
from monitor.sources.sql.statements import ColumnKind, OutputColumn, Statement, WantedKind

COLUMNS = {"number": "REAL", "texts": "TEXT", "at": "INTEGER", "when": "REAL", "id": "BIGINT"}
WANTED = {
    "number": (WantedKind.NUMBER, None),
    "texts": (WantedKind.NUMBER, None),
    "at": (WantedKind.TIME, "s"),
    "when": (WantedKind.TIME, "s"),
    "id": (WantedKind.TEXT, None),
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[[list[str]], tuple[pa.Table, int]]:
    """Rows of a table of these values, and how often it was read."""

    def read(rows: list[str]) -> tuple[pa.Table, int]:
        with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "log.db"), autocommit=True) as connection:
            with connection.cursor() as cursor:
                declared = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
                cursor.execute(f"CREATE TABLE t ({declared})")
                cursor.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
            session = AdbcSession(connection, 3, _batch_options, by_value=True)
            with patch.object(sqlite_typing, "guarded_sql", wraps=sqlite_typing.guarded_sql) as asked:
                table = session.read_table(Statement(tuple(map(output, WANTED)), "FROM t AS p"))
        return table, asked.call_count

    return read


def output(name: str) -> OutputColumn:
    """What a role of the column's name reads."""
    want, unit = WANTED[name]
    engine = engine_of(URL.create("sqlite"))
    return engine.output_column(want, name, f'p."{name}"', COLUMNS[name].lower(), unit)


PLAIN = "(1.5, '2.5', 3, 4.0, 5)"


def test_values_as_declared_are_read_once(read: Callable[[list[str]], tuple[pa.Table, int]]) -> None:
    table, queries = read([PLAIN, "(1, '7', NULL, NULL, NULL)"])

    assert queries == 1
    assert table.to_pylist() == [
        {"number": 1.5, "texts": 2.5, "at": 3, "when": 4, "id": 5},
        {"number": 1.0, "texts": 7.0, "at": None, "when": None, "id": None},
    ]


@pytest.mark.parametrize("before", [0, 9])
@pytest.mark.parametrize(
    ("odd", "found"),
    [
        ("('x', '2', 3, 4, 5)", {"number": pytest.approx(float("nan"), nan_ok=True)}),
        ("(1, '2', 'x', 4, 5)", {"at": "x"}),
        ("(1, '2', 3, 4, 'five')", {"id": "five"}),
        ("(1, '2', 3, 4, 5.5)", {"id": "5.5"}),
    ],
)
def test_a_value_of_another_type_has_all_read_again(
    read: Callable[[list[str]], tuple[pa.Table, int]], before: int, odd: str, found: dict[str, object]
) -> None:
    table, queries = read([*[PLAIN] * before, odd])

    assert queries == 2
    last = table.slice(before).to_pylist()[0]
    assert {name: last[name] for name in found} == found
    assert len(table) == before + 1


def test_a_column_that_two_roles_share_is_fetched_once() -> None:
    shared = [
        OutputColumn(name, 'p."at"', ColumnKind.EPOCH, plain=True) for name in ("event_time", "logged_at")
    ]
    statement = Statement(
        (*shared, OutputColumn("score", 'p."number"', ColumnKind.NUMBER, plain=True)), "FROM t AS p"
    )
    asked: list[str] = []

    def fetch(sql: str) -> pa.Table:
        asked.append(sql)
        return pa.table({"c0": [0, 3, None], "c1": [0.0, 1.5, 2.5]})

    table = sqlite_typing.read_typed(statement, fetch)

    assert asked == ['SELECT 0, 0.0 UNION ALL SELECT p."at" AS c0, p."number" AS c1 FROM t AS p']
    assert table.to_pydict() == {"event_time": [3, None], "logged_at": [3, None], "score": [1.5, 2.5]}
