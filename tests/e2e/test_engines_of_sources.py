"""Cycles over one log in different databases, with ids of two columns: the same panes, the same figures."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from serving import Bench, Cycled, Database, labels, model, predictions, reference
from sqlalchemy.pool import NullPool

from monitor.core.clock import DAY, HOUR, from_iso

START = from_iso("2013-03-01")
END = START + 3 * DAY
OUTPUTS = {
    "score": "double precision", "pred": "varchar(9)", "amount": "double precision", "group": "varchar(9)"
}  # fmt: skip
PREDICTIONS = {
    "of_id": "varchar(30)", "part": "integer", "event_time": "timestamp", "logged_at": "timestamp"
} | OUTPUTS  # fmt: skip
LABELS = {"of_id": "varchar(30)", "part": "varchar(5)", "late": "integer", "reported_at": "timestamp"}
KINDS = {
    "sqlite": {"timestamp": "text"},
    "postgresql": {},
    "mariadb": {"timestamp": "datetime(6)", "double precision": "double"},
}


@pytest.mark.postgres
@pytest.mark.mariadb
def test_the_engine_of_a_source_changes_no_figure(
    tmp_path: Path, postgres_url: str, mariadb_url: str
) -> None:
    urls = {
        "sqlite": f"sqlite:///{tmp_path / 'log.db'}",
        "postgresql": postgres_url,
        "mariadb": mariadb_url,
    }

    found = {engine: cycled(tmp_path / engine, url, KINDS[engine]) for engine, url in urls.items()}

    assert {engine: cycle.error for engine, cycle in found.items()} == dict.fromkeys(urls)
    assert found["mariadb"].measured == found["sqlite"].measured
    assert found["postgresql"].measured == found["sqlite"].measured
    assert found["sqlite"].of("records").n == 200
    assert found["sqlite"].count("orphan_labels") == 1


def cycled(directory: Path, url: str, kinds: dict[str, str]) -> Cycled:
    """Current figures after one cycle."""
    directory.mkdir()
    database = Database(url)
    rows = predictions(600, START, END)
    known = labels(rows[:500], end=END + DAY)
    create(database, "predictions", PREDICTIONS, kinds)
    create(database, "labels", LABELS, kinds)
    create(database, "reference", OUTPUTS | {"late": "integer"}, kinds)
    fill(database, "predictions", [keyed(row) for row in rows])
    alone = {"id": "p999", "late": 1, "reported_at": known[0]["reported_at"]}
    fill(database, "labels", [keyed(row, part=str) for row in [*known, alone]])
    fill(database, "reference", reference())
    bench = Bench(directory, database, f"sqlite:///{directory / 'monitor.db'}")
    bench.configure(model(options='settle_after = "1d"').replace('id = "id"', 'id = ["of_id", "part"]'))
    return bench.cycle(END + HOUR)


def keyed(row: dict[str, Any], part: Any = int) -> dict[str, Any]:
    """A row with two columns for its id, and times as naive ones."""
    rest = {name: naive(value) if name.endswith(("_at", "_time")) else value for name, value in row.items()}
    number = int(rest.pop("id").removeprefix("p"))
    return {"of_id": f"loan {number // 7}", "part": part(number % 7)} | rest


def naive(time: str) -> str:
    return time.replace("T", " ").removesuffix("Z")[:19]


def create(database: Database, table: str, columns: dict[str, str], kinds: dict[str, str]) -> None:
    engine = sa.create_engine(database.url, poolclass=NullPool)
    quote = engine.dialect.identifier_preparer.quote_identifier
    typed = ", ".join(f"{quote(name)} {kinds.get(kind, kind)}" for name, kind in columns.items())
    database.run(f"CREATE TABLE {quote(table)} ({typed})")


def fill(database: Database, table: str, rows: list[dict[str, Any]]) -> None:
    engine = sa.create_engine(database.url, poolclass=NullPool)
    named = sa.table(table, *(sa.column(name) for name in rows[0]))
    with engine.begin() as connection:
        connection.execute(sa.insert(named), rows)
