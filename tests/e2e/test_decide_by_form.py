"""The real daemon: somebody acknowledges an incident in a browser, by the form of its page."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import process
import pytest
import servers
from playwright.sync_api import sync_playwright
from serving import DAILY, Bench, model, predictions, quick, sqlite_bench

from monitor.app.clocks import system_clock
from monitor.core.clock import DAY, floor_to

WORD = "a-secret-of-many-letters"
BUSY = """
[[models.alerts]]
name = "busy"
measure = "records"
above = 1
severity = "critical"
"""
HOSTILE = "<img src=x onerror=alert(1)> ticket 4711"


@dataclass(slots=True)
class Deciding:
    """A daemon with an incident, and where its page is."""

    bench: Bench
    base: str
    place: str
    served: process.Process

    def events(self) -> list[tuple[str, str, str]]:
        """What people decided, as the store has it."""
        with self.bench.app() as app:
            return [(one.kind, one.who, one.why) for one in app.store.events.read_events("late") if one.who]


@pytest.fixture(scope="module")
def deciding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deciding]:
    """A daemon with a secret, that has found a fault."""
    directory = tmp_path_factory.mktemp("deciding")
    now = floor_to(system_clock(), DAY)
    rows = predictions(300, now - 2 * DAY, now)
    bench = sqlite_bench(directory, rows, model(options=quick(windows=DAILY)) + BUSY, labelled=now)
    bench.cycle(now)
    port = servers.free_port()
    (directory / "secret").write_text(f"{WORD}\n", encoding="utf-8")
    bench.configure(model(options=quick(windows=DAILY)) + BUSY, port=port)
    text = bench.config.read_text(encoding="utf-8")
    bench.config.write_text(text.replace("[http]\n", '[http]\nsecret_file = "secret"\n'), encoding="utf-8")
    with bench.app() as app:
        ((_, incident),) = app.store.incidents.read_incidents("late")
    command = process.monitor("run", "--config", str(bench.config))
    served = process.Process(command, port, directory / "log.jsonl")
    served.started()
    try:
        yield Deciding(
            bench, f"http://127.0.0.1:{port}", f"/models/late/incidents/{incident.address}", served
        )
    finally:
        served.stop()


@pytest.mark.browser
def test_somebody_acknowledges_an_incident_in_a_browser(deciding: Deciding) -> None:
    said: list[str] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=servers.program("chromium", package="chromium"),
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        context = browser.new_context(http_credentials={"username": "ada", "password": WORD})
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto(deciding.base + deciding.place + "#decide")
        assert page.get_by_label("Your name").input_value() == "ada"
        page.get_by_label("Your name").fill("Ada L.")
        page.get_by_label("Why").fill(HOSTILE)
        page.get_by_role("button", name="Acknowledge").click()
        page.wait_for_url("**#decide")
        page.get_by_text("Acknowledged by Ada L.").first.wait_for()
        shown = page.locator("#decide").inner_text()
        # By the key alone, without a pointer: Enter in a field sends the first button.
        page.get_by_label("Your name").fill("Bob")
        page.get_by_label("Why").fill("me too")
        page.get_by_label("Why").press("Enter")
        page.get_by_text("Acknowledged by Bob: me too").first.wait_for()
        browser.close()

    assert HOSTILE in shown
    assert [text for text in said if "401" not in text] == []
    assert deciding.events() == [("acknowledged", "Ada L.", HOSTILE), ("acknowledged", "Bob", "me too")]
    assert [line["who"] for line in deciding.served.logged("decided", decision="acknowledge")] == [
        "Ada L.",
        "Bob",
    ]
    status = deciding.bench.monitor("status")
    assert "cknowledged by Bob" in status.stdout


def test_another_site_cannot_decide_and_nobody_without_the_secret(deciding: Deciding) -> None:
    before = deciding.events()
    login = base64.b64encode(f"ada:{WORD}".encode()).decode()
    known = {"Authorization": f"Basic {login}"}
    fields = {"decision": "accept", "who": "Eve", "why": "x", "token": "1.x"}
    address = f"{deciding.base}{deciding.place}/decide"

    assert httpx.post(address, data=fields).status_code == 401
    for origin in ("https://evil.example", "null"):
        assert httpx.post(address, data=fields, headers={**known, "Origin": origin}).status_code == 403
    stale = httpx.post(address, data=fields, headers={**known, "Origin": deciding.base})
    assert (stale.status_code, "too old" in stale.text) == (403, True)
    assert httpx.post(f"{deciding.base}/metrics", headers=known).status_code == 405
    assert deciding.events() == before


def test_the_pages_of_view_change_nothing(tmp_path: Path, deciding: Deciding) -> None:
    port = servers.free_port()
    command = process.monitor("view", "--config", str(deciding.bench.config), "--port", str(port))
    viewing = process.Process(command, port, tmp_path / "view.log")
    viewing.start()
    base = f"http://127.0.0.1:{port}"
    try:
        viewing.wait(lambda: viewing.status("/healthz") == 200, "the pages")
        page = httpx.get(base + deciding.place, auth=("ada", WORD))
        sent = httpx.post(
            f"{base}{deciding.place}/decide", data={"why": "x"}, auth=("ada", WORD), headers={"Origin": base}
        )
    finally:
        viewing.stop()

    assert 'method="post"' not in page.text
    assert "monitor alerts ack --model late --incident" in page.text
    assert (sent.status_code, sent.headers["allow"]) == (405, "GET, HEAD")
