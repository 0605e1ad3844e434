"""After any turns of incidents, failures and deaths people see one message an incident: its newest state."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from chat_servers import URLS, ChatServer, chat_server, lead_to
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from store_examples import START, commit
from test_delivery import column, due_again, written_before
from waiting import at_once

from monitor.alerts.alert_messages import Notice
from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import IncidentTurn
from monitor.core.clock import DAY, HOUR
from monitor.core.errors import StoreError
from monitor.core.text import json_text
from monitor.daemon.notice_delivery import ChannelDeliverer
from monitor.notify.channels import open_channel
from monitor.specs.stored_rows import HistoryEvent, WaitingNotice
from monitor.store.coordination.outbox import OutboxRepository
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import messages

EVENTS = (
    *("tell", "critical", "over", "send", "fail", "lose"),
    *("die before noting", "die after sending", "store away", "delete"),
)


class KilledError(BaseException):
    """The process dies."""


@dataclass
class World:
    """A store, a chat, and a process that sends, and is started again where it dies."""

    store: SqlStore
    server: ChatServer
    url: str
    moments: Iterator[int] = field(default_factory=lambda: count(1))
    at: int = 0
    newest: dict[str, int] = field(default_factory=dict)  # by incident, what was told last
    urgent: list[int] = field(default_factory=list)
    gone: set[str] = field(
        default_factory=set
    )  # of which all messages were deleted, and nothing is told since
    orphans: int = 0  # messages that were posted, and of which nobody could know
    over: int = 0
    armed: str = ""
    process: ChannelDeliverer | None = None

    def tell(self, turn: IncidentTurn, growth: str | None = None) -> None:
        incident = f"performance-{self.over}"
        if turn is IncidentTurn.GREW and incident not in self.newest:
            turn = IncidentTurn.OPENED
        self.at = next(self.moments)
        said: dict[str, Any] = {
            "title": f"Critical · late · state {self.at}.",
            "text": f"BODY of {incident}.",
            "growth": growth,
            "severity": "critical",
            "alerts": [],
        }
        told = Notice(
            incident=incident,
            kind=turn,
            severity=Severity.CRITICAL,
            as_of=START + self.at * HOUR,
            channels=("chat",),
            payload=json_text(said),
        )
        self.store.commit_cycle("late", commit(notices=(told,)))
        self.newest[incident] = self.at
        self.gone.discard(incident)
        if growth is not None:
            self.urgent.append(self.at)
        self.over += turn is IncidentTurn.RESOLVED

    def send(self) -> None:
        due_again(self.store)
        if self.process is None:
            box = _make_outbox(self)
            channel = open_channel(self.url)
            self.process = ChannelDeliverer("chat", channel, box, lambda: START, luck=lambda: 0.0)
        posted, edits = len(self.server.pings), self.server.loses
        try:
            self.process()
        except KilledError:
            self.process = None
        except StoreError:
            pass  # its thread looks again later
        self.server.fails.clear()
        lost = edits - self.server.loses
        self.orphans += min(lost, len(self.server.pings) - posted)
        self.server.loses, self.armed = 0, ""

    def do(self, event: str) -> None:
        match event:
            case "tell":
                self.tell(IncidentTurn.GREW)
            case "critical":
                self.tell(IncidentTurn.GREW, "it is critical now")
            case "over":
                self.tell(IncidentTurn.RESOLVED)
            case "fail":
                self.server.fails = [500]
            case "lose":
                self.server.loses = 1
            case "delete":
                self.server.delete_messages()
                self.gone |= {*self.newest}
            case _:
                self.armed = event
        if event not in ("tell", "critical", "over"):
            self.send()


def _make_outbox(world: World) -> OutboxRepository:
    """An outbox whose process dies, or whose store is away, as it notes something."""

    class Dying(OutboxRepository):
        def note_message(self, notice: WaitingNotice, message: str) -> None:
            if world.armed == "store away":
                world.armed = ""
                raise StoreError("away")
            if world.armed == "die before noting":
                world.orphans += 1
                raise KilledError
            super().note_message(notice, message)

        def note_delivered(self, notice: WaitingNotice) -> None:
            if world.armed == "die after sending":
                raise KilledError
            super().note_delivered(notice)

    return Dying(world.store.engine, world.store.run)


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server() as running, pytest.MonkeyPatch.context() as patched:
        lead_to(running, patched)
        yield running


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
@given(events=st.lists(st.sampled_from(EVENTS), max_size=14))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(events=["tell", "die after sending", "critical", "die after sending", "over"])
@example(events=["tell", "store away", "tell", "send"])
@example(events=["tell", "send", "over", "send", "critical", "send"])
@example(events=["tell", "lose", "tell", "lose", "critical", "lose"])
@example(events=["tell", "die before noting", "tell", "send", "delete", "tell"])
def test_people_see_one_message_an_incident_and_its_newest_state(
    new_store: Callable[[], SqlStore], server: ChatServer, url: str, events: list[str]
) -> None:
    server.__init__(port=server.port)  # type: ignore[misc]
    store = new_store()
    world = World(store, server, url)
    for event in events:
        world.do(event)
    for _ in range(3):
        world.send()

    assert column(store, "delivered_at").count(None) == 0
    whole = 0
    for incident, newest in world.newest.items():
        of_it = [one.text for one in server.shown.values() if f"BODY of {incident}." in one.text]
        whole += len(of_it)
        assert incident in world.gone or any(f"state {newest}." in text for text in of_it)
    assert whole <= len(world.newest) + world.orphans
    for moment in world.urgent:
        assert any(f"state {moment}." in text for text in server.pings)
    store.close()


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_two_daemons_at_once_show_one_message_an_incident(
    store: SqlStore, server: ChatServer, url: str
) -> None:
    server.__init__(port=server.port)  # type: ignore[misc]
    many = 8
    told = [
        Notice(
            incident=f"performance-{at}",
            kind=turn,
            severity=Severity.WARNING,
            as_of=START + hours * HOUR,
            channels=("chat",),
            payload=json_text(
                {"title": f"late · {at} {turn}.", "text": "BODY.", "severity": "warning", "alerts": []}
            ),
        )
        for at in range(many)
        for hours, turn in enumerate(IncidentTurn)
    ]
    store.commit_cycle("late", commit(notices=tuple(told)))
    both = [
        ChannelDeliverer("chat", open_channel(url), store.outbox, lambda: START, luck=lambda: 0.0)
        for _ in range(2)
    ]

    while store.outbox.read_waiting_notices("chat"):
        at_once(both)

    said = sorted(one.text.strip("*").partition(".")[0] for one in server.shown.values())
    assert said == sorted(f"late · {at} {IncidentTurn.RESOLVED}" for at in range(many))


def one_notice(turn: IncidentTurn, hours: int) -> Notice:
    said = {"title": f"late · {turn}.", "text": "BODY.", "severity": "warning", "alerts": []}
    return Notice(
        incident="performance",
        kind=turn,
        severity=Severity.WARNING,
        as_of=START + hours * HOUR,
        channels=("chat",),
        payload=json_text(said),
    )


def test_the_message_of_an_incident_that_lasts_longer_than_its_notices_are_kept_is_edited(
    fresh_store: SqlStore, server: ChatServer
) -> None:
    server.__init__(port=server.port)  # type: ignore[misc]
    send = ChannelDeliverer("chat", open_channel(URLS["slack"]), fresh_store.outbox, lambda: START)
    fresh_store.commit_cycle("late", commit(notices=(one_notice(IncidentTurn.OPENED, 0),)))
    send()
    written_before(fresh_store, 31 * DAY)

    for hours, turn in ((1, IncidentTurn.GREW), (2, IncidentTurn.RESOLVED)):
        fresh_store.commit_cycle("late", commit(notices=(one_notice(turn, hours),)))
        send()

    assert column(fresh_store, "kind") == ["grew", "resolved"]
    (shown,) = server.shown.values()
    assert "resolved" in shown.text
    with read_transaction(fresh_store.engine) as connection:
        assert connection.execute(select(messages)).all() == []


def test_messages_go_along_when_a_model_is_forgotten(fresh_store: SqlStore, server: ChatServer) -> None:
    send = ChannelDeliverer("chat", open_channel(URLS["slack"]), fresh_store.outbox, lambda: START)
    fresh_store.commit_cycle("late", commit(notices=(one_notice(IncidentTurn.OPENED, 0),)))
    send()

    gone = fresh_store.histories.forget_history(HistoryEvent(model="late", at=START, kind="forgotten"))

    assert gone["messages"] == 1
