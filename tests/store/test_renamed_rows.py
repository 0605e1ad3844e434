import sqlalchemy as sa
from store_examples import COUNTING, START, commit, pane, reference, row

from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import HistoryEvent, ModelState, WaitingPane
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction
from monitor.store.tables.shared_columns import METADATA

RENAMED = HistoryEvent(model="new", at=5, kind="renamed", subject="old")
FORGOTTEN = HistoryEvent(model="old", at=5, kind="forgotten", who="ada", why="asked to")


def fill(store: SqlStore, model: str) -> None:
    waiting = [WaitingPane(start=START, part=PaneHalf.RECORDS, since=START)]
    store.panes.note_waiting(model, ModelState(as_of=START), waiting)
    store.panes.save_panes(
        model, PaneHalf.RECORDS, [pane(START)], layout=COUNTING.records_layout.hash, as_of=START
    )
    store.commit_cycle(model, commit(snapshots=(row(), row("recall"))))
    store.references.save_reference(f"{model}-made", model, reference())
    store.events.append_events([HistoryEvent(model=model, at=1, kind="recounted", who="ada")])


def rows_by_table(store: SqlStore, model: str) -> dict[str, int]:
    """Rows of a model in each table that has any."""
    with read_transaction(store.engine) as connection:
        counts = {
            table.name: connection.execute(
                sa.select(sa.func.count()).select_from(table).where(table.c.model == model)
            ).scalar_one()
            for table in METADATA.sorted_tables
            if "model" in table.c
        }
    return {name: count for name, count in counts.items() if count}


def test_a_renamed_model_has_the_rows_of_the_old_name_in_every_run(store: SqlStore) -> None:
    for run in ("live", "replay"):
        fill(SqlStore(store.engine, run), "old")
    before, current = rows_by_table(store, "old"), store.current.read_current("old")

    store.histories.rename_histories([(RENAMED, {"old-made": "new-made"})])

    assert rows_by_table(store, "old") == {}
    assert rows_by_table(store, "new") == before | {"events": 3}
    assert [(stored.as_of, stored.row) for stored in store.current.read_current("new")] == [
        (stored.as_of, stored.row) for stored in current
    ]
    assert store.histories.list_runs("new") == ["live", "replay"]
    assert len(store.snapshots.read_snapshot_rows(model="new")) == 2
    assert [name for name, _ in store.snapshots.read_provenance()] == ["new"]
    assert store.references.read_reference("new-made") == reference()
    assert store.events.read_events("new")[-1] == RENAMED


def test_of_the_same_reference_under_both_names_one_is_kept(store: SqlStore) -> None:
    fill(store, "old")
    store.references.save_reference("new-made", "new", reference())

    store.histories.rename_histories([(RENAMED, {"old-made": "new-made"})])

    assert store.references.list_reference_keys("new") == ["new-made"]
    assert store.references.list_reference_keys("old") == []


def test_another_model_is_not_renamed(store: SqlStore) -> None:
    fill(store, "old")
    fill(store, "other")
    before = rows_by_table(store, "other")

    store.histories.rename_histories([(RENAMED, {})])

    assert rows_by_table(store, "other") == before


def test_of_a_forgotten_model_references_and_events_are_kept(store: SqlStore) -> None:
    fill(store, "old")
    fill(store, "other")
    other = rows_by_table(store, "other")

    gone = store.histories.forget_history(FORGOTTEN)

    assert gone == {"snapshots": 2, "provenance": 1, "panes": 1, "models": 1, "current": 1}
    assert rows_by_table(store, "old") == {"references_": 1, "events": 2}
    assert store.references.read_reference("old-made") == reference()
    assert rows_by_table(store, "other") == other
    assert [event.kind for event in store.events.read_events("old")] == ["recounted", "forgotten"]
