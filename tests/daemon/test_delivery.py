"""Delivery of notices from a real outbox, on both databases."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, cast

import pytest
from receivers import receiver
from sqlalchemy import select, update
from store_examples import START, commit
from structlog.testing import capture_logs
from waiting import at_once

from monitor.alerts.alert_messages import Notice
from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import IncidentTurn
from monitor.core.clock import DAY, HOUR
from monitor.core.errors import NotificationError, StoreError
from monitor.daemon.notice_delivery import ChannelDeliverer, NoticeDelivery
from monitor.notify.webhook import Webhook
from monitor.specs.protocols import ChannelReport, NoteMessage, no_message
from monitor.specs.stored_rows import HistoryEvent, WaitingNotice
from monitor.store.coordination.outbox import OutboxRepository
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import outbox


@dataclass
class Told:
    """A channel that remembers, and refuses what it is told to."""

    refuses: Callable[[WaitingNotice], bool] = lambda _notice: False
    tried: list[str] = field(default_factory=list)
    taken: list[WaitingNotice] = field(default_factory=list)
    shows_files: ClassVar[bool] = False

    def send_notice(self, notice: WaitingNotice, _note: NoteMessage = no_message) -> None:
        self.tried.append(notice.key)
        if self.refuses(notice):
            raise NotificationError("no")
        self.taken.append(notice)


class Empty:
    """An outbox without notices."""

    def read_waiting_notices(self, _channel: str) -> list[WaitingNotice]:
        return []

    def give_up(self, _channel: str, _age: int) -> int:
        return 0


def notice(
    incident: str = "performance", kind: IncidentTurn = IncidentTurn.OPENED, at: int = START, *channels: str
) -> Notice:
    return Notice(
        incident=incident,
        kind=kind,
        severity=Severity.CRITICAL,
        as_of=at,
        channels=channels or ("chat",),
        payload='{"title": "T", "text": "t", "severity": "critical", "alerts": []}',
    )


def put(store: SqlStore, *told: Notice) -> OutboxRepository:
    store.commit_cycle("late", commit(notices=told))
    return store.outbox


def deliverer(
    store: OutboxRepository, channel: Told, name: str = "chat", now: int = START + HOUR
) -> ChannelDeliverer:
    return ChannelDeliverer(name, channel, store, lambda: now, luck=lambda: 0.0)


def column(store: SqlStore, name: str) -> list[object]:
    order = outbox.c.as_of, outbox.c.channel
    with read_transaction(store.engine) as connection:
        return list(connection.execute(select(outbox.c[name]).order_by(*order)).scalars())


def written_before(store: SqlStore, age: int) -> None:
    """Let all notices be so much older."""
    with write_transaction(store.engine) as connection:
        connection.execute(update(outbox).values(written_at=outbox.c.written_at - age))


def due_again(store: SqlStore) -> None:
    """Let all that waits be due now."""
    with write_transaction(store.engine) as connection:
        connection.execute(update(outbox).values(next_at=0))


def test_a_notice_is_delivered_once_to_each_channel(store: SqlStore) -> None:
    box = put(store, notice("performance", IncidentTurn.OPENED, START, "chat", "pager"))
    chat, pager = Told(), Told()

    for _ in range(2):
        deliverer(box, chat)()
        deliverer(box, pager, "pager")()

    assert [one.channel for one in chat.taken + pager.taken] == ["chat", "pager"]
    assert len({*chat.tried, *pager.tried}) == 2  # keys
    assert box.read_waiting_notices("chat") == box.read_waiting_notices("pager") == []


def test_a_cycle_that_is_committed_again_writes_no_notice_again(store: SqlStore) -> None:
    put(store, notice())

    put(store, notice(), notice(at=START + HOUR))

    assert column(store, "as_of") == [START, START + HOUR]


def test_a_refused_notice_waits_longer_each_time_and_says_why(fresh_store: SqlStore) -> None:
    box, channel = put(fresh_store, notice()), Told(refuses=lambda _notice: True)
    send = deliverer(box, channel)

    pauses = []
    for _ in range(3):
        send()
        pauses.append(box.read_waiting_notices("chat")[0].wait)
        due_again(fresh_store)

    assert column(fresh_store, "error") == ["no"]
    assert pauses == sorted(pauses)
    assert 0 < pauses[0] <= 500_000 < pauses[2] <= 2_000_000
    assert (send.report.failed, send.report.waiting, send.report.age) == (3, 1, 3_600.0)


def test_nothing_is_lost_where_a_process_dies_between_sending_and_noting_it(store: SqlStore) -> None:
    box, first, second = put(store, notice()), Told(), Told()
    (waiting,) = box.read_waiting_notices("chat")
    assert box.claim_notice(waiting, 60_000_000)
    first.send_notice(waiting)  # and dies

    deliverer(box, second)()
    assert second.tried == []  # for as long as the claim lasts
    due_again(store)
    deliverer(box, second)()

    assert second.tried == first.tried
    assert box.read_waiting_notices("chat") == []


def test_a_notice_of_a_store_that_fails_is_sent_again_with_its_key(fresh_store: SqlStore) -> None:
    class Failing(OutboxRepository):
        def note_delivered(self, notice: WaitingNotice) -> None:
            raise StoreError(notice.key)

    box, channel = put(fresh_store, notice()), Told()
    failing = Failing(fresh_store.engine, fresh_store.run)

    with pytest.raises(StoreError):
        deliverer(failing, channel)()
    due_again(fresh_store)
    deliverer(box, channel)()

    assert len(channel.tried) == 2
    assert len({*channel.tried}) == 1


def test_two_daemons_send_each_notice_once(store: SqlStore) -> None:
    box = put(store, *(notice(f"incident{at}") for at in range(12)))
    channels = [Told(), Told()]

    at_once(deliverer(box, channel) for channel in channels)

    tried = [key for channel in channels for key in channel.tried]
    assert len(tried) == len({*tried}) == 12


def test_what_ended_is_not_told_before_what_began(fresh_store: SqlStore) -> None:
    began, ended = notice(), notice(kind=IncidentTurn.RESOLVED, at=START + HOUR)
    other = notice("volume", at=START + HOUR)
    box = put(fresh_store, ended, began, other)
    refusing = [True]
    channel = Told(refuses=lambda one: one.kind == "opened" and one.incident == "performance" and refusing[0])

    send = deliverer(box, channel, now=START + 2 * HOUR)
    send()
    assert [one.incident for one in channel.taken] == ["volume"]
    refusing[0] = False
    due_again(fresh_store)
    send()

    assert [(one.incident, one.kind) for one in channel.taken[1:]] == [
        ("performance", "opened"),
        ("performance", "resolved"),
    ]


def test_a_notice_that_is_always_refused_holds_up_no_other(fresh_store: SqlStore) -> None:
    box = put(fresh_store, *(notice(f"incident{at}") for at in range(4)))
    channel = Told(refuses=lambda one: one.incident == "incident0")

    deliverer(box, channel)()

    assert [one.incident for one in channel.taken] == ["incident1", "incident2", "incident3"]


def test_a_dead_channel_is_left_alone_after_three_failures_and_then_asked_with_one(
    fresh_store: SqlStore,
) -> None:
    box = put(fresh_store, *(notice(f"incident{at}") for at in range(8)))
    channel = Told(refuses=lambda _notice: True)
    send = deliverer(box, channel)

    first = send()
    tried = len(channel.tried)
    second = send()

    assert (tried, len(channel.tried)) == (3, 4)
    assert send.is_resting
    assert second == 2 * first


def test_an_old_notice_is_given_up_counted_and_said(fresh_store: SqlStore) -> None:
    box, channel = put(fresh_store, notice()), Told()
    send = deliverer(box, channel)
    written_before(fresh_store, DAY)

    with capture_logs() as logs:
        send()

    assert channel.tried == []
    assert send.report == ChannelReport(given_up=1)
    assert [line["event"] for line in logs] == ["notices given up: too old"]


def test_a_notice_of_a_tick_that_was_missed_long_ago_is_told(fresh_store: SqlStore) -> None:
    box, channel = put(fresh_store, notice()), Told()

    deliverer(box, channel, now=START + 2 * DAY)()

    assert len(channel.taken) == 1


def test_what_was_told_or_given_up_is_kept_for_thirty_days(store: SqlStore) -> None:
    box, hours = put(store, notice()), [START + hour * HOUR for hour in (1, 2, 3)]
    deliverer(box, Told())()
    put(store, notice(at=hours[0]), notice("performance", IncidentTurn.OPENED, hours[1], "pager"))
    written_before(store, 2 * DAY)
    deliverer(box, Told())()

    written_before(store, 29 * DAY)
    put(store, notice(at=hours[2]))
    deliverer(box, Told())()

    assert column(store, "given_up_at") == [None, None]
    assert column(store, "channel") == ["pager", "chat"]


def test_what_was_told_lately_is_kept(store: SqlStore) -> None:
    box = put(store, notice())
    deliverer(box, Told())()
    written_before(store, 29 * DAY)

    put(store, notice(at=START + HOUR))
    deliverer(box, Told())()

    assert column(store, "as_of") == [START, START + HOUR]


def test_runs_do_not_send_one_anothers_notices(fresh_store: SqlStore) -> None:
    put(fresh_store, notice())
    channel = Told()

    deliverer(fresh_store.with_run("try").outbox, channel)()

    assert channel.tried == []


def test_the_outbox_goes_along_when_a_model_is_forgotten(fresh_store: SqlStore) -> None:
    put(fresh_store, notice())

    gone = fresh_store.histories.forget_history(HistoryEvent(model="late", at=START, kind="forgotten"))

    assert gone["outbox"] == 1
    assert column(fresh_store, "key") == []


def test_a_dead_channel_beside_a_live_one_holds_up_nothing(fresh_store: SqlStore) -> None:
    box = put(fresh_store, notice("performance", IncidentTurn.OPENED, START, "dead", "live"))
    reports: list[dict[str, ChannelReport]] = []
    hangs, seen = threading.Event(), threading.Event()

    class Dead:
        shows_files = False

        def send_notice(self, notice: WaitingNotice, _note: NoteMessage = no_message) -> None:
            hangs.wait(20)
            raise NotificationError(notice.key)

    def observe(told: Mapping[str, ChannelReport]) -> None:
        reports.append(dict(told))
        seen.set()

    with receiver() as found:
        delivery = NoticeDelivery(box, lambda: START + HOUR, observe)
        delivery.replace_channels({"dead": Dead(), "live": Webhook(found.url())})
        for _ in range(200):
            if reports[-1]["live"].delivered:
                break
            seen.wait(0.05)
            seen.clear()
        hangs.set()
        delivery.stop_threads()

    assert [body["channel"] for body in found.bodies] == ["live"]
    assert reports[-1]["live"] == ChannelReport(delivered=1)


def test_without_channels_nothing_runs(fresh_store: SqlStore) -> None:
    reports: list[object] = []
    delivery = NoticeDelivery(fresh_store.outbox, lambda: START, reports.append)

    delivery.replace_channels({})
    delivery.wake_threads()
    delivery.stop_threads()

    assert reports == []
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("notify")] == []


def test_channels_are_replaced_while_cycles_wake_them() -> None:
    delivery = NoticeDelivery(cast("OutboxRepository", Empty()), lambda: START, lambda _reports: None)
    failures: list[Exception] = []
    ended = threading.Event()

    def wake() -> None:
        while not ended.is_set():
            try:
                delivery.wake_threads()
            except RuntimeError as error:
                failures.append(error)

    waking = threading.Thread(target=wake)
    waking.start()
    for turn in range(30):
        delivery.replace_channels({f"chat{at}": Told() for at in range(10 + turn % 2)})
    ended.set()
    waking.join()
    delivery.stop_threads()

    assert failures == []
