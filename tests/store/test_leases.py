import threading
import time
from functools import partial

from store_examples import START, commit
from waiting import at_once

from monitor.app.clocks import system_clock
from monitor.core.clock import MINUTE
from monitor.store.sql_store import SqlStore


def test_a_held_lease_is_refused_to_others(store: SqlStore) -> None:
    assert store.leases.claim_lease("late", "a", MINUTE) == 1
    assert store.leases.claim_lease("late", "b", MINUTE) is None
    assert store.leases.claim_lease("early", "b", MINUTE) == 1


def test_an_expired_lease_is_taken_over_with_a_larger_token(store: SqlStore) -> None:
    store.leases.claim_lease("late", "a", 1_000)
    time.sleep(0.01)

    assert store.leases.claim_lease("late", "b", MINUTE) == 2


def test_its_owner_claims_again_with_a_larger_token(store: SqlStore) -> None:
    store.leases.claim_lease("late", "a", MINUTE)

    assert store.leases.claim_lease("late", "a", MINUTE) == 2


def test_a_released_lease_is_free_at_once(store: SqlStore) -> None:
    token = store.leases.claim_lease("late", "a", MINUTE)
    assert token is not None

    assert store.leases.release_lease("late", token)
    assert store.leases.claim_lease("late", "b", MINUTE) == token + 1


def test_a_renewed_lease_stays(store: SqlStore) -> None:
    token = store.leases.claim_lease("late", "a", 1_000)
    assert token is not None

    assert store.leases.renew_lease("late", token, MINUTE)
    time.sleep(0.01)
    assert store.leases.claim_lease("late", "b", MINUTE) is None


def test_a_lease_taken_over_is_neither_renewed_nor_released(store: SqlStore) -> None:
    token = store.leases.claim_lease("late", "a", 0)
    assert token is not None
    time.sleep(0.01)
    store.leases.claim_lease("late", "b", MINUTE)

    assert not store.leases.renew_lease("late", token, MINUTE)
    assert not store.leases.release_lease("late", token)


def test_an_expired_lease_that_nobody_took_still_commits(store: SqlStore) -> None:
    token = store.leases.claim_lease("late", "a", 0)

    store.commit_cycle("late", commit(), token=token)

    assert store.states.read_state("late").as_of == START


def test_a_daemon_was_heard_of_last_if_it_ran_the_last_cycle_and_none_runs_now(store: SqlStore) -> None:
    def ran(owner: str) -> None:
        token = store.leases.claim_lease("late", owner, MINUTE)
        assert token is not None
        store.leases.release_lease("late", token)

    ran("by hand")
    assert store.daemons.read_last_heartbeats() == {}
    store.daemons.join_run("a", "config", MINUTE)
    ran("a")
    assert store.daemons.read_last_heartbeats() == {}, "it runs"
    store.daemons.leave_run("a")
    assert abs(store.daemons.read_last_heartbeats()["late"] - system_clock()) < MINUTE
    store.daemons.join_run("b", "config", 1)
    ran("b")
    time.sleep(0.01)
    assert list(store.daemons.read_last_heartbeats()) == ["late"], "it was killed"
    store.daemons.join_run("c", "config", MINUTE)
    assert store.daemons.read_last_heartbeats() == {}, "another one runs"
    store.daemons.leave_run("c")
    ran("by hand")
    assert store.daemons.read_last_heartbeats() == {}, "cycles are run by hand since"


def test_of_many_claims_at_once_one_wins(store: SqlStore) -> None:
    barrier = threading.Barrier(4)
    tokens: list[int | None] = []

    def claim(owner: str) -> None:
        barrier.wait()
        tokens.append(store.leases.claim_lease("late", owner, MINUTE))

    at_once(partial(claim, f"owner-{number}") for number in range(4))

    assert sorted(tokens, key=str) == [1, None, None, None]
