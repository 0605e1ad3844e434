from monitor.specs.stored_rows import HistoryEvent
from monitor.store.sql_store import SqlStore

SEEN = HistoryEvent(model="late", at=7, kind="version_seen", subject="2.0", detail='{"records": 3}')
DECIDED = HistoryEvent(model="late", at=5, kind="recounted", who="ada", why="a broken load")


def test_events_come_back_in_the_order_in_which_they_were_kept(store: SqlStore) -> None:
    store.events.append_events([SEEN])
    store.events.append_events([DECIDED])

    assert store.events.read_events("late") == [SEEN, DECIDED]


def test_events_are_chosen_by_model_and_kind(store: SqlStore) -> None:
    other = HistoryEvent(model="early", at=1, kind="recounted")
    store.events.append_events([SEEN, DECIDED])
    store.events.append_events([other])

    assert store.events.read_events(kind="recounted") == [DECIDED, other]
    assert store.events.read_events("early") == [other]


def test_events_of_another_run_are_not_seen(store: SqlStore) -> None:
    store.events.append_events([SEEN])

    assert SqlStore(store.engine, "replay").events.read_events() == []


def test_recording_nothing_writes_nothing(store: SqlStore) -> None:
    store.events.append_events([])

    assert store.events.read_events() == []
