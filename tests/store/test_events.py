from monitor.specs.rows import Event
from monitor.store.adapter import SqlStore

SEEN = Event(model="late", at=7, kind="version_seen", subject="2.0", detail='{"records": 3}')
DECIDED = Event(model="late", at=5, kind="recounted", who="ada", why="a broken load")


def test_events_come_back_in_the_order_in_which_they_were_kept(store: SqlStore) -> None:
    store.record([SEEN])
    store.record([DECIDED])

    assert store.events("late") == [SEEN, DECIDED]


def test_events_are_chosen_by_model_and_kind(store: SqlStore) -> None:
    other = Event(model="early", at=1, kind="recounted")
    store.record([SEEN, DECIDED])
    store.record([other])

    assert store.events(kind="recounted") == [DECIDED, other]
    assert store.events("early") == [other]


def test_events_of_another_run_are_not_seen(store: SqlStore) -> None:
    store.record([SEEN])

    assert SqlStore(store.engine, "replay").events() == []


def test_recording_nothing_writes_nothing(store: SqlStore) -> None:
    store.record([])

    assert store.events() == []
