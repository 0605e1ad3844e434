"""Reports that are sent by themselves, and what goes with a notice: once, as it is known when it is sent."""

import json
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from chat_servers import SLACK, chat_server, lead_to
from receivers import mailbox, receiver
from serving import Bench, model, predictions, sqlite_bench
from sqlalchemy import select

from monitor.app import notice_files
from monitor.app.channel_wiring import deliver_once
from monitor.app.model_cycles import NoticeScope, replay_model, run_single_cycle
from monitor.app.notice_files import NoticeFiles
from monitor.core.clock import DAY, from_iso
from monitor.core.errors import NotificationError
from monitor.notify.channels import open_channel
from monitor.specs.stored_rows import WaitingNotice
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import outbox
from monitor.web.answers import FormVisit, PageAnswer

START, END = from_iso("2024-03-25"), from_iso("2024-04-10")
OPTIONS = """
every = "1d"
pane = "1d"
windows = [{ length = "1d", step = "1d" }, "month"]
horizon = "60d"
settle_after = "1d"
resamples = 20
default_alerts = false
reading = { ready_after = "0s" }
"""
REPORT = '[models.report]\nevery = "month"\nto = ["chat"]\n'
URL = "https://monitor.example"


def configured(bench: Bench, url: str, options: str = OPTIONS, name: str = "chat") -> None:
    head = f'[http]\nurl = "{URL}"\n[[notify]]\nname = "{name}"\nurl = "{url}"\n'
    bench.configure(model(options=options) + REPORT.replace("chat", name))
    bench.config.write_text(head + bench.config.read_text(encoding="utf-8"), encoding="utf-8")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Sixteen days of a log, across the end of a month."""
    return sqlite_bench(tmp_path, predictions(640, START, END), labelled=END)


def tick(bench: Bench, *moments: int) -> None:
    with bench.app() as app:
        for moment in moments:
            assert run_single_cycle(app, "late", moment).error is None


def told(bench: Bench) -> list[tuple[str, str]]:
    """What stands in the outbox: incident and kind."""
    with bench.app() as app, read_transaction(app.store.engine) as connection:
        return [(row.incident, row.kind) for row in connection.execute(select(outbox))]


def send(bench: Bench) -> dict[str, int]:
    with bench.app() as app:
        return deliver_once(app, lambda: END)


def test_a_webhook_is_told_of_a_month_that_is_over_once(bench: Bench) -> None:
    with receiver() as found:
        configured(bench, found.url())
        tick(bench, END - 12 * DAY, END - 10 * DAY)
        assert told(bench) == []
        tick(bench, END - 8 * DAY, END - 8 * DAY, END - 7 * DAY)
        assert told(bench) == [("report-2024-03", "report")]
        for _ in range(2):
            assert send(bench) == {}

    (body,) = found.bodies
    assert body["title"] == "Report · late · March 2024"
    assert body["page"] == f"{URL}/models/late/report?period=2024-03"
    verdict, *figures = body["text"].split("\n")
    assert verdict.startswith("late ")
    assert [line[:4] for line in figures[:4]] == ["- RO", "- In", "- In", "- De"]
    assert figures[-1] == f"Page: {body['page']}"
    assert (body["kind"], body["period"], body["model"]) == ("report", "2024-03", "late")


def test_a_replay_sends_none_and_the_first_cycle_neither(bench: Bench) -> None:
    configured(bench, "http://127.0.0.1:9/nobody")
    with bench.app() as app:
        _, reports = replay_model(app, "late", START + 5 * DAY, END)
        assert all(report.error is None for report in reports)
        assert run_single_cycle(app, "late", END + DAY, notices=NoticeScope.NOTHING).error is None

    assert told(bench) == []


def test_of_periods_that_passed_while_nothing_ran_the_newest_is_told(bench: Bench) -> None:
    configured(bench, "http://127.0.0.1:9/nobody")
    tick(bench, START + 5 * DAY, from_iso("2024-06-02"))

    assert told(bench) == [("report-2024-05", "report")]


def test_months_are_those_of_the_models_time_zone_and_its_report_is_there(bench: Bench) -> None:
    options = OPTIONS.replace('pane = "1d"', 'pane = "1h"\ntimezone = "Europe/Vienna"')
    with receiver() as found:
        configured(bench, found.url(), options)
        tick(bench, from_iso("2024-03-31"), from_iso("2024-04-01"))
        assert send(bench) == {}

    (body,) = found.bodies
    assert body["period"] == "2024-03"
    assert body["text"].startswith("late ")


def test_a_mail_has_the_whole_report_as_a_file(bench: Bench) -> None:
    with mailbox() as post:
        configured(bench, f"mailto://127.0.0.1:{post.port}?from=a@b.example&to=c@d.example&mode=insecure")
        tick(bench, END - 12 * DAY, END - 8 * DAY)
        assert send(bench) == {}

    (mail,) = post.mails
    assert mail["Subject"] == "Report · late · March 2024"
    (file,) = mail.iter_attachments()
    assert (file.get_filename(), file.get_content_type()) == ("report-late-2024-03.html", "text/html")
    assert b"<h1>" in file.get_content().encode()


def test_a_chat_that_takes_files_has_it_too_and_a_report_that_comes_again_is_the_same_message(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server() as server:
        lead_to(server, monkeypatch)
        configured(bench, SLACK)
        tick(bench, END - 12 * DAY, END - 8 * DAY)
        with bench.app() as app:
            (waiting,) = app.store.outbox.read_waiting_notices("chat")
            note = open_channel(SLACK).send_notice
            note(waiting, lambda message: app.store.outbox.note_message(waiting, message))  # and dies
        assert send(bench) == {}

        (shown,) = server.shown.values()
    assert "Report · late · March 2024" in shown.text
    assert [name for name, _ in shown.thread] == ["report-late-2024-03.html"]


@dataclass
class Pages:
    """Pages that answer as they are told."""

    answer: PageAnswer
    hangs: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hangs.set()

    def answer_page(self, path: str, query: str, _known: str, _visit: FormVisit | None = None) -> PageAnswer:
        self.asked.append((path, query))
        self.hangs.wait(20)
        return self.answer


@dataclass
class Shows:
    """A channel that shows files, or not."""

    shows_files: bool = True

    def send_notice(self, _notice: WaitingNotice, _note: object = None) -> None:
        raise NotImplementedError


NOTICE = WaitingNotice(
    key="k", model="a/b", incident="2024-03-01-records", kind="opened", channel="c", as_of=0, payload={}
)


@pytest.fixture
def pages() -> Pages:
    return Pages(PageAnswer(b"PNG"))


def test_a_picture_goes_with_an_incident_where_files_are_shown(pages: Pages) -> None:
    files = NoticeFiles(pages)

    (picture,) = files.prepare_notice(NOTICE, Shows()).files
    assert files.prepare_notice(NOTICE, Shows(shows_files=False)) is NOTICE
    assert (picture.name, picture.content) == ("a-b-2024-03-01-records.png", b"PNG")
    assert pages.asked == [("/models/a%2Fb/incidents/2024-03-01-records.png", "")]


def test_an_incident_goes_without_a_picture_that_cannot_be_drawn_or_does_not_come(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notice_files, "_LONGEST", 0.05)
    files = NoticeFiles(pages)
    pages.answer = PageAnswer(b"there are no fonts", status=404)
    assert files.prepare_notice(NOTICE, Shows()).files == ()

    pages.hangs.clear()
    for _ in range(3):  # one asks, and the others do not wait
        assert files.prepare_notice(NOTICE, Shows()).files == ()
    assert len(pages.asked) == 2
    pages.hangs.set()


def test_a_report_that_cannot_be_made_waits(pages: Pages) -> None:
    pages.answer = PageAnswer(b"the store does not answer", status=503)
    report = replace(NOTICE, kind="report", payload={"period": "2024-03", "page": URL})

    with pytest.raises(NotificationError, match="the report cannot be made: the store does not answer"):
        NoticeFiles(pages).prepare_notice(report, Shows())


def test_a_page_that_fails_altogether_stops_no_notice() -> None:
    class Failing(Pages):
        def answer_page(
            self, path: str, query: str, _known: str, _visit: FormVisit | None = None
        ) -> PageAnswer:
            raise ValueError(json.dumps([path, query]))

    assert NoticeFiles(Failing(PageAnswer(b""))).prepare_notice(NOTICE, Shows()).files == ()


def test_channels_that_send_at_once_have_their_pictures_all(pages: Pages) -> None:
    files, prepared = NoticeFiles(pages), list[WaitingNotice]()
    pages.hangs.clear()
    threads = [
        threading.Thread(target=lambda: prepared.append(files.prepare_notice(NOTICE, Shows())))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    pages.hangs.set()
    for thread in threads:
        thread.join()

    assert [len(one.files) for one in prepared] == [1, 1, 1]
