"""What arrives at real receivers where versions, segments and categories are named by an attacker."""

import json
import re
from collections.abc import Iterator
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

import pytest
from hostile_texts import CORPUS, EVIL, FORGED, HOSTILE, MARKUP, acting, assert_quiet, marked_up
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from messages_page import notices_of
from receivers import Mailbox, Receiver, mailbox, receiver
from row_examples import firing

from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, Rule, RuleLimit
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.clock import DAY
from monitor.core.measurement import DetailTable
from monitor.notify.channels import open_channel
from monitor.notify.escaping import escape_for_channel
from monitor.specs.stored_rows import WaitingNotice

AT = 15_000 * DAY
RUNBOOK = "https://wiki.example/late_1#performance"
RULE = Rule(
    name="shifted",
    measure="stability_index",
    condition=BreachCondition(above=RuleLimit(0.05)),
    subject="feature:*",
    window="7d",
    annotations=(("summary", "It moved: {value}"), ("action", "Look.\nTwice."), ("runbook_url", RUNBOOK)),
)
LINES = (
    *("Two features are different since 25 Jan: ", "Next: look. Twice.", "", "What belongs to it:"),
    *("- ", "- ", "", "Values that moved most of ", "- ", "- ", "", f"Runbook: {RUNBOOK}"),
)
"""How the lines of the notices here begin, one after the other."""

CHATS = {
    "discord": ("discord://1234567890/tokentokentoken?footer=no", "discord.NotifyDiscord.notify_url", ""),
    "slack": (
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ml",
        "slack.NotifySlack.webhook_url",
        "",
    ),
    "gchat": ("gchat://space/key/token", "google_chat.NotifyGoogleChat.notify_url", ""),
    "tgram": (
        "tgram://123456789:abcdefg_hijklmnop/12315544?preview=no",
        "telegram.NotifyTelegram.notify_url",
        "/bot",
    ),
    "mmost": ("mmost://{host}/tokentokentokentokentokent", "", ""),
    "rocket": (f"rocket://{'w' * 17}/{'t' * 43}@{{host}}/#ml", "", ""),
    "matrix": ("matrix://user:tokentoken@{host}/?mode=slack", "", ""),
    "ntfy": ("ntfy://{host}/topic", "", ""),
}

_OF_APPRISE = ("<b>", "</b>", "*Warning", "# Warning")  # around titles


def notice_of(*names: str) -> WaitingNotice:
    """The notice of alerts about such names."""
    cause = DetailTable(("cell", "expected", "actual"), tuple((name, 0.1, 0.2) for name in names))
    verdict = Verdict(outcome=Outcome.BREACH, window_end=AT, value=0.2, n=1_234, limit=0.05, cause=cause)
    alerts = [
        firing(
            AlertedSeries(
                "shifted", version=name, segment=f"{name}={name}", window="7d", subject=f"feature:{name}"
            ),
            verdict,
            AT,
        )
        for name in names
    ]
    (notice,) = notices_of([RULE], alerts)
    payload = json.loads(notice.payload)
    return WaitingNotice(
        key="0123456789abcdef",
        model="late",
        incident=notice.incident,
        kind="opened",
        channel="chat",
        as_of=AT,
        payload=payload,
    )


def texts(value: object) -> Iterator[str]:
    """All texts of a body of JSON."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts(inner)
        case list():
            for inner in value:
                yield from texts(inner)


@pytest.fixture(scope="module")
def found() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def post() -> Iterator[Mailbox]:
    with mailbox() as running:
        yield running


@given(name=HOSTILE, other=HOSTILE)
@settings(max_examples=60)
@example(name=f"a\n{FORGED}", other=f"\u2028{FORGED}")
def test_a_name_brings_no_line_into_a_notice(name: str, other: str) -> None:
    assume(name != other)
    said = notice_of(name, other).payload

    assert_quiet(said["text"])
    assert acting(said["title"]) == set()
    assert "\n" not in said["title"]
    lines = said["text"].split("\n")
    assert len(lines) == len(LINES)
    assert all(line.startswith(begin) for line, begin in zip(lines, LINES, strict=True))
    assert sorted(one["version"] for one in said["alerts"]) == sorted([name, other])


@given(name=HOSTILE)
@settings(max_examples=60)
def test_a_link_to_an_incident_leads_to_it_whatever_names_hold_and_stays_a_link_in_a_chat(name: str) -> None:
    series = AlertedSeries(
        name, version=name, segment=f"{name}={name}", window="7d", subject=f"feature:{name}"
    )
    alert = firing(series, Verdict(outcome=Outcome.BREACH, window_end=AT, value=0.2, n=1), AT)
    (notice,) = notices_of([], [alert], url="https://monitor.example", model=name)
    payload = json.loads(notice.payload)
    parts = urlsplit(payload["page"])

    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == (
        *("https", "monitor.example"),
        *("", "decide"),
    )
    place = ["", "models", name, "incidents", payload["incident"]]
    assert [unquote(part) for part in parts.path.split("/")] == place
    assert payload["text"].endswith(f"\n\nPage: {payload['page']}")
    _, text = escape_for_channel(
        "slack://a/b/c", payload["title"], payload["text"], [f"Page: {payload['page']}"]
    )
    assert text.split("\n")[-1] == f"Page: {payload['page']}"


@given(name=HOSTILE)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_webhook_gets_the_names_exactly(found: Receiver, name: str) -> None:
    open_channel(found.url()).send_notice(notice_of(name))

    (alert,) = found.bodies[-1]["alerts"]
    assert (alert["version"], alert["segment"]) == (name, f"{name}={name}")
    assert_quiet(found.bodies[-1]["text"])


@pytest.fixture(scope="module", autouse=True)
def at_once() -> Iterator[None]:
    """Apprise waits for no service's sake."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("base.NotifyBase", "discord.NotifyDiscord"):
            patched.setattr(f"apprise.plugins.{name}.throttle", lambda *_arguments, **_more: None)
        yield


@pytest.fixture(scope="module", params=CHATS)
def chat(request: pytest.FixtureRequest, found: Receiver) -> Iterator[str]:
    """URL of a chat whose service is the receiver."""
    url, address, path = CHATS[request.param]
    with pytest.MonkeyPatch.context() as patched:
        if address:
            patched.setattr(f"apprise.plugins.{address}", found.url(path))
        yield url.format(host=f"127.0.0.1:{found.port}")


@given(names=st.lists(HOSTILE, min_size=1, max_size=3))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(names=["@everyone", f"[bank](http://{EVIL})"])
@example(names=["<!channel>", f"x\n\n{FORGED} ```"])
@example(names=[f"{RUNBOOK}.{EVIL}", f"Runbook: {RUNBOOK}"])
@example(names=list(MARKUP))
def test_nothing_in_a_name_acts_on_a_chat(found: Receiver, chat: str, names: list[str]) -> None:
    found.bodies.clear()

    open_channel(chat).send_notice(notice_of(*names))

    said = [text.replace("\\", "").replace("\r\n", "\n") for text in texts(found.bodies)]
    (message,) = (text for text in said if "What belongs to it" in text)
    assert f"\nRunbook: {RUNBOOK}\n" in message
    own = message.replace(f"\nRunbook: {RUNBOOK}\n", "\n", 1)
    if own.startswith("*Warning"):  # a title in bold, which ends with the line
        own = own.replace("*\n", "\n", 1)
    for sign in _OF_APPRISE:
        own = own.replace(sign, "", 1)
    assert marked_up(own) == []
    assert_quiet(own)


@pytest.mark.parametrize("form", ["html", "text"])
def test_a_mail_has_the_lines_of_the_notice_and_nothing_acts_in_it(post: Mailbox, form: str) -> None:
    url = f"mailto://127.0.0.1:{post.port}?from=a@b.example&to=c@d.example&mode=insecure&format={form}"
    for at in range(0, len(CORPUS), 5):
        names, before = CORPUS[at : at + 5], len(post.mails)

        open_channel(url).send_notice(notice_of(*names, "plain"))

        (mail,) = post.mails[before:]
        assert mail["To"] == "c@d.example"
        assert re.match("Warning · late · (Two|Three|Four|Five|Six) features are different ", mail["Subject"])
        assert_quiet(str(mail["Subject"]))
        parts = {
            part.get_content_type(): part.get_content() for part in mail.walk() if not part.is_multipart()
        }
        for kind, said in parts.items():
            text = said.replace("\r\n", "\n")
            assert acting(text) == set(), names
            assert f"://{EVIL}" not in text.lower()
            assert f"www.{EVIL}" not in text.lower()
            if kind == "text/html":
                assert "<a " not in text
                assert "<img" not in text
            else:
                assert not [line for line in text.splitlines() if line.startswith(FORGED)]
        assert {"attach", "bcc", "cc"}.isdisjoint(key.lower() for key in mail)


def subjects(mails: list[EmailMessage]) -> list[str]:
    return [str(mail["Subject"]) for mail in mails]


def test_a_name_in_the_title_of_a_mail_adds_no_header(post: Mailbox) -> None:
    url = f"mailto://127.0.0.1:{post.port}?from=a@b.example&to=c@d.example&mode=insecure"

    open_channel(url).send_notice(notice_of("x\r\nBcc: evil@evil.example\r\n\r\nbody"))

    assert "Bcc" not in post.mails[-1]
    assert "x\\r\\nBcc: evil@evil.example" in subjects(post.mails)[-1]
