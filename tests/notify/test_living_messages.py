"""One message an incident, in chats that keep the semantics of Slack, Discord and Telegram."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from chat_servers import URLS, ChatServer, chat_server, lead_to
from hostile_texts import EVIL, HOSTILE, assert_quiet, marked_up
from hypothesis import HealthCheck, example, given, settings

from monitor.core.errors import NotificationError
from monitor.notify.apprise_url import AppriseUrl
from monitor.notify.channels import open_channel
from monitor.notify.living_messages import LivingMessages
from monitor.specs.stored_rows import AttachedFile, WaitingNotice

PAGE = "https://monitor.example/models/late/incidents/2013-12-05-performance?a=1&b=2"
PNG = AttachedFile("evidence.png", "image/png", b"\x89PNG one")
HTML = AttachedFile("report.html", "text/html", b"<p>")


def notice(kind: str = "opened", title: str = "Warning · late · AUC fell", **more: Any) -> WaitingNotice:
    said = {
        "title": title,
        "text": f"AUC fell.\nBy 7 %.\n\nPage: {PAGE}",
        "page": PAGE,
        "severity": "warning",
    }
    return WaitingNotice(
        key="0123456789abcdef",
        model="late",
        incident="2013-12-05-performance",
        kind=kind,
        channel="chat",
        as_of=0,
        payload={**said, "growth": None, "alerts": [], **more},
    )


def link_in(url: str) -> str:
    """The line of the page, as the chat is sent it."""
    return f"Page: <{PAGE.replace('&', '&amp;')}>" if url.startswith("slack") else f"Page: {PAGE}"


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server() as running, pytest.MonkeyPatch.context() as patched:
        lead_to(running, patched)
        yield running


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest, server: ChatServer) -> str:
    server.__init__(port=server.port)  # type: ignore[misc]
    return URLS[request.param]


def send(url: str, one: WaitingNotice, message: str = "") -> str:
    """Send it; what is noted of its message."""
    noted = [message]
    open_channel(url).send_notice(replace(one, message=message), noted.append)
    return noted[-1]


def test_an_incident_is_one_message_that_says_its_newest_state(server: ChatServer, url: str) -> None:
    message = send(url, notice())
    grown = send(url, notice("grew", "Warning, grew · late · AUC fell"), message)
    over = send(url, notice("resolved", "Resolved · late · AUC fell"), grown)

    assert message == grown == over
    (shown,) = server.shown.values()
    assert "Resolved · late · AUC fell" in shown.text
    assert shown.text.endswith("(notice 0123456789abcdef)")
    assert len(server.pings) == 1


def test_what_turns_critical_is_said_again_by_a_short_reply(server: ChatServer, url: str) -> None:
    message = send(url, notice())
    critical = notice("grew", "Critical, grew · late · AUC fell", growth="it is critical now")
    send(url, critical, message)

    first, reply = server.shown.values()
    assert "Critical, grew" in first.text
    assert (first.edits, len(server.pings)) == (1, 2)
    assert "Critical, grew · late · AUC fell" in reply.text
    assert "By 7 %" not in reply.text
    assert link_in(url) in reply.text


def test_what_is_critical_and_has_no_message_yet_is_one_message(server: ChatServer, url: str) -> None:
    send(url, notice("grew", growth="it is critical now"))

    assert len(server.shown) == 1


def test_a_message_that_somebody_deleted_is_posted_again(server: ChatServer, url: str) -> None:
    message = send(url, notice())
    server.delete_messages()

    again = send(url, notice("grew", "Warning, grew · late · AUC fell"), message)

    assert again != message
    assert ["grew" in one.text for one in server.shown.values()] == [True]


def test_a_message_of_another_place_is_not_edited(server: ChatServer, url: str) -> None:
    message = send(url, notice())

    again = send(url, notice("grew"), f"00000000/{message.partition('/')[2]}")

    assert again.partition("/")[0] == message.partition("/")[0]
    assert [one.edits for one in server.own] == [0, 0]


def test_an_edit_that_comes_again_changes_nothing(server: ChatServer, url: str) -> None:
    message = send(url, notice())

    assert send(url, notice(), message) == message
    assert len(server.shown) == 1


def test_a_failure_is_told_without_any_part_of_the_url(server: ChatServer, url: str) -> None:
    server.fails = [500]

    with pytest.raises(NotificationError) as raised:
        send(url, notice())

    assert "500" in str(raised.value) or "not understood" in str(raised.value)
    assert "tokentoken" not in str(raised.value) + repr(open_channel(url))
    assert server.shown == {}


def test_a_picture_goes_with_the_message_and_is_replaced(server: ChatServer, url: str) -> None:
    message = send(url, replace(notice(), files=(PNG,)))
    newer = replace(PNG, content=b"\x89PNG two")
    send(url, replace(notice("grew", "Warning, grew · late"), files=(newer,)), message)

    (shown,) = server.shown.values()
    pictures = [content for _, content in shown.files or shown.thread]
    assert pictures[-1] == b"\x89PNG two"
    assert len(shown.files) <= 1  # Slack has them in the thread
    assert "grew" in shown.text


def test_a_picture_stays_where_there_is_no_newer_one(server: ChatServer, url: str) -> None:
    message = send(url, replace(notice(), files=(PNG,)))
    send(url, notice("resolved", "Resolved · late · AUC fell"), message)

    (shown,) = server.shown.values()
    assert [content for _, content in shown.files or shown.thread] == [PNG.content]
    assert "Resolved" in shown.text


def test_a_message_goes_without_a_picture_that_is_refused(server: ChatServer, url: str) -> None:
    server.refuses_files = True
    message = send(url, replace(notice(), files=(PNG,)))
    send(url, replace(notice("grew", "Warning, grew · late"), files=(PNG,)), message)

    (shown,) = server.shown.values()
    assert (shown.files, shown.thread) == ([], [])
    assert "grew" in shown.text


def test_a_report_goes_as_a_file(server: ChatServer, url: str) -> None:
    send(url, replace(notice("report"), files=(HTML,)))

    (shown,) = server.shown.values()
    assert [content for _, content in shown.files or shown.thread] == [b"<p>"]


@pytest.mark.parametrize("files", [(), (PNG,)])
def test_a_long_text_keeps_its_first_lines_and_its_link(
    server: ChatServer, url: str, files: tuple[AttachedFile, ...]
) -> None:
    lines = "\n".join(f"- line {at} 🙂 of what belongs to it" for at in range(900))
    long = notice(text=f"AUC fell.\n{lines}\n\nPage: {PAGE}")
    send(url, replace(long, files=files))

    (shown,) = server.shown.values()
    assert "- line 0 " in shown.text
    assert "\n…\n" in shown.text
    assert f"\n{link_in(url)}\n" in shown.text


@given(name=HOSTILE)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(name="@everyone <!channel> <@U1> &lt;!here&gt;")
@example(name=f"[bank](http://{EVIL}) ```")
def test_nothing_in_a_name_acts_on_a_chat(server: ChatServer, url: str, name: str) -> None:
    server.shown.clear()
    own = notice(
        title=f"Warning · {name}",
        text=f"{' '.join(name.splitlines())} fell.\n- {' '.join(name.splitlines())}\n\nPage: {PAGE}",
    )
    send(url, own)

    (shown,) = server.shown.values()
    text = shown.text.replace(link_in(url), "")
    assert text != shown.text
    head, _, rest = text.partition("\n")
    assert "<" not in text
    assert ">" not in text
    for said in (head.strip("*"), rest):
        assert marked_up(said) == []
        assert_quiet(said)
    if url.startswith("slack"):
        assert "&lt;" not in text.replace("&amp;lt;", "")


@pytest.mark.parametrize(
    "url",
    [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ml",  # a webhook cannot edit
        "slack://xoxb-1-abc/#a/#b",
        "slack://xoxb-1-abc/#a?footer=no",
        "slack://xoxb-1-abc/@ann",
        "discord://1234567890/tokentoken?thread=1234",
        "tgram://123456789:abcdefg_hijklmnop/1/2",
        "tgram://123456789:abcdefg_hijklmnop/12?silent=yes",
    ],
)
def test_what_cannot_be_edited_or_has_options_goes_by_apprise(url: str) -> None:
    assert isinstance(open_channel(url), AppriseUrl)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("slack://xoxb-1-abc/#ml-alerts", "slack #ml-alerts"),
        ("slack://xoxb-1-abc/%23ml/", "slack #ml"),
        ("slack://xoxb-1-abc/ml", "slack #ml"),
        ("slack://xoxb-1-abc/+C0123", "slack C0123"),
        ("slack://xoxb-1-abc", "slack #general"),
        ("tgram://bot12:ab_c/-100", "telegram 12 -100"),
        ("tgram://12%3Aab_c/@mine", "telegram 12 @mine"),
        ("tgram://12:ab_c/mine/", "telegram 12 @mine"),
    ],
)
def test_a_url_means_what_it_means_to_apprise(url: str, place: str) -> None:
    channel = open_channel(url)

    assert isinstance(channel, LivingMessages)
    assert channel.room.place == place
