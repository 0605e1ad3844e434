import base64
import io
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote

import pytest
from chat_servers import URLS
from receivers import receiver

from monitor.core.errors import NotificationError
from monitor.notify.channels import open_channel, service_behind
from monitor.specs.stored_rows import WaitingNotice

NOTICE = WaitingNotice(
    key="0123456789abcdef",
    model="late",
    incident="2013-12-05-performance",
    kind="opened",
    channel="pager",
    as_of=0,
    payload={
        "title": "FIRING",
        "text": "It fell.\nBy 7 %.",
        "severity": "critical",
        "alerts": [{"ended": None}],
    },
)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What comes to the log's handlers, from warnings on."""
    text, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    yield text
    root.setLevel(level)
    root.removeHandler(handler)


def test_a_webhook_is_posted_json_with_its_key_in_body_and_header() -> None:
    with receiver() as found:
        open_channel(found.url("/hook?to=ml")).send_notice(NOTICE)

    assert found.paths == ["/hook?to=ml"]
    assert found.bodies == [{"key": NOTICE.key, "channel": "pager", **NOTICE.payload}]
    assert found.headers[0]["Idempotency-Key"] == NOTICE.key
    assert found.headers[0]["Content-Type"] == "application/json; charset=utf-8"


def test_user_and_password_of_a_webhook_are_basic_authentication_and_no_part_of_the_address() -> None:
    with receiver() as found:
        open_channel(found.url().replace("//", "//ann:p%40ss@")).send_notice(NOTICE)

    assert found.headers[0]["Authorization"] == f"Basic {base64.b64encode(b'ann:p@ss').decode()}"
    assert found.headers[0]["Host"] == f"127.0.0.1:{found.port}"


@pytest.mark.parametrize("status", [302, 400, 503])
def test_any_other_answer_than_2xx_is_a_failure_that_tells_no_address(status: int) -> None:
    with receiver(status) as found, pytest.raises(NotificationError, match=str(status)) as raised:
        open_channel(found.url("/hook/tokentoken")).send_notice(NOTICE)

    assert "tokentoken" not in str(raised.value)
    assert found.paths == ["/hook/tokentoken"]


@pytest.mark.parametrize("token", ["t0ken", "T0000/B000/x-long-one", "ab12%2Fsl%20ash", "odd'one"])
def test_what_a_receiver_says_of_the_address_is_not_told(token: str) -> None:
    with receiver(404) as found:
        found.echo = True
        channel = open_channel(found.url(f"/hook/{token}?key=s3cr3t"))

        with pytest.raises(NotificationError) as raised:
            channel.send_notice(NOTICE)

    assert "answered 404" in str(raised.value)
    for part in (token, unquote(token), "s3cr3t", *unquote(token).split("/")):
        assert part not in str(raised.value)


def test_a_receiver_that_is_not_there_is_a_failure() -> None:
    with receiver() as found:
        url = found.url("/hook/tokentoken")

    with pytest.raises(NotificationError, match="does not answer") as raised:
        open_channel(url).send_notice(NOTICE)

    assert "tokentoken" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://", "https:///path", "http://host:99999/", "http://host/a b"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(NotificationError, match="an address is like"):
        open_channel(url)


def test_apprise_sends_title_text_and_key() -> None:
    with receiver() as found:
        open_channel(found.url(scheme="json")).send_notice(NOTICE)

    (body,) = found.bodies
    assert (body["title"], body["type"]) == ("FIRING", "failure")
    assert body["message"] == f"It fell.\nBy 7 %.\n\n(notice {NOTICE.key})"


@pytest.mark.parametrize(("ended", "kind"), [("cleared", "success"), ("no_data", "info")])
def test_apprise_is_told_of_no_success_where_nothing_is_known(ended: str, kind: str) -> None:
    over = replace(NOTICE, kind="resolved", payload=dict(NOTICE.payload) | {"alerts": [{"ended": ended}]})

    with receiver() as found:
        open_channel(found.url(scheme="json")).send_notice(over)

    assert found.bodies[0]["type"] == kind


def test_a_failure_of_apprise_tells_why_but_no_part_of_the_url(logged: io.StringIO) -> None:
    with receiver(503) as found, pytest.raises(NotificationError, match="503") as raised:
        open_channel(found.url("/hook/tokentoken", scheme="json")).send_notice(NOTICE)

    assert "tokentoken" not in str(raised.value) + logged.getvalue()


@pytest.mark.parametrize("url", ["slack://", "nosuch://tokentoken/x", "mailto://tokentoken"])
def test_a_url_that_apprise_does_not_understand_is_refused_and_not_told(
    url: str, logged: io.StringIO
) -> None:
    with pytest.raises(NotificationError, match="Apprise does not understand") as raised:
        open_channel(url)

    assert "tokentoken" not in str(raised.value) + logged.getvalue()


def test_without_apprise_only_its_urls_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)

    open_channel("https://example.org/hook")
    for url in URLS.values():  # chats that can edit are our own
        open_channel(url)
    with pytest.raises(NotificationError, match=r"pip install 'model-monitor-daemon\[notify\]'"):
        open_channel("slack://a/b/c")


def test_the_own_address_of_a_service_is_known() -> None:
    slack = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"

    assert service_behind(slack) == "Slack"
    assert service_behind("https://example.org/hook") is None


def test_no_channel_shows_its_url() -> None:
    shown = [repr(open_channel(url)) for url in ("https://e.org/tokentoken", "json://e.org/tokentoken")]

    assert "tokentoken" not in "".join(shown)
