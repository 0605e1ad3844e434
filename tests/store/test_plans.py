"""Queries on the views find their rows by keys, whatever the store holds: none scans the measurements."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import text
from store_examples import START, commit, row

from monitor.core.clock import DAY
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import make_store_engine, read_transaction
from monitor.store.store_database import migrate_store, open_store

MINE = "v.run = 'live' AND v.model = 'late'"
VIEWS = ("current", "snapshots", "snapshots_latest")
FILTERS = (
    MINE,
    f"{MINE} AND v.window = '7d'",
    f"{MINE} AND v.measure = 'roc_auc'",
    f"{MINE} AND v.window = '7d' AND v.measure = 'roc_auc' AND v.version = '' AND v.segment = ''",
    f"{MINE} AND v.window = '7d' AND v.window_end = {START}",
    f"{MINE} AND v.window = '7d' AND v.window_end > {START} AND v.window_end <= {START + 9 * DAY}",
)
WITH_PROVENANCE = (
    "SELECT v.value, p.code FROM snapshots AS v "
    f"JOIN provenance AS p ON p.run = v.run AND p.model = v.model AND p.as_of = v.as_of WHERE {FILTERS[3]}"
)


@pytest.fixture
def on_postgresql(postgres_url: str) -> Iterator[SqlStore]:
    migrate_store(postgres_url)
    store = open_store(postgres_url, "live")
    store.commit_cycle("late", commit(snapshots=(row("roc_auc"), row("recall", end=START + DAY))))
    yield store
    store.close()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("chosen", FILTERS)
def test_a_view_is_searched_by_keys(empty_store: Path, view: str, chosen: str) -> None:
    assert scans(f"sqlite:///{empty_store}", f"SELECT * FROM {view} AS v WHERE {chosen}") == []


def test_what_stands_behind_a_number_is_searched_by_keys(empty_store: Path) -> None:
    assert scans(f"sqlite:///{empty_store}", WITH_PROVENANCE) == []


def test_the_whole_view_is_scanned_once(empty_store: Path) -> None:
    assert len(scans(f"sqlite:///{empty_store}", "SELECT * FROM snapshots")) == 1


def scans(url: str, query: str) -> list[str]:
    """Steps of a plan that read a whole table."""
    engine = make_store_engine(url)
    with read_transaction(engine) as connection:
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).mappings().all()
    engine.dispose()
    return [step["detail"] for step in plan if step["detail"].startswith("SCAN")]


@pytest.mark.postgres
def test_postgresql_can_search_the_views_by_keys(on_postgresql: SqlStore) -> None:
    """As of tables too large to be read whole."""
    with read_transaction(on_postgresql.engine) as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        for view, chosen in product(VIEWS, FILTERS):
            plan = connection.execute(text(f"EXPLAIN SELECT * FROM {view} AS v WHERE {chosen}")).scalars()
            assert [step for step in plan if "Seq Scan" in step] == []
