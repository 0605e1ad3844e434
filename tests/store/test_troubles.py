"""What stands in the way of cycles is kept as long as it does."""

from store_examples import START

from monitor.core.clock import HOUR
from monitor.sentences.trouble_sentences import CycleTrouble
from monitor.store.sql_store import SqlStore


def test_what_goes_on_began_when_it_began_and_what_is_of_another_kind_begins_anew(store: SqlStore) -> None:
    troubles = store.troubles
    other = store.with_run("trial").troubles

    troubles.note_trouble("late", START, failed=True, sentence="no answer")
    troubles.note_trouble("late", START + HOUR, failed=True, sentence="no table")
    other.note_trouble("late", START, failed=True, sentence="of another run")
    troubles.note_trouble("early", START, failed=False, sentence="columns")

    failing = CycleTrouble(as_of=START + HOUR, since=START, failed=2, told="no table")
    assert troubles.read_troubles() == {
        "late": failing,
        "early": CycleTrouble(as_of=START, since=START, failed=0, told="columns"),
    }

    troubles.note_trouble("late", START + 2 * HOUR, failed=False, sentence="columns")
    troubles.note_trouble("late", START + 3 * HOUR, failed=False, sentence="other columns")
    troubles.clear_trouble("early")

    assert troubles.read_troubles() == {
        "late": CycleTrouble(as_of=START + 3 * HOUR, since=START + 2 * HOUR, failed=0, told="other columns")
    }
    assert other.read_troubles()["late"].told == "of another run"
