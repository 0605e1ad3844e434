"""The real daemon, killed as it sends: one message an incident in each chat, pictures, reports once."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import process
import pytest
import servers
from chat_servers import URLS, ChatServer, chat_server
from receivers import Mailbox, mailbox
from serving import DAILY, Bench, model, predictions, quick, sqlite_bench

from monitor.alerts.report_notices import name_period
from monitor.app.clocks import system_clock
from monitor.core.clock import DAY, floor_to

RULES = """
[[models.alerts]]
name = "busy"
measure = "records"
window = "1d"
above = 1
severity = "warning"

[[models.alerts]]
name = "crowded"
measure = "records"
window = "1d"
above = 100
severity = "critical"

[models.report]
every = "week"
to = ["mail", "slack"]
"""
_MISSED = 9  # days that the daemon makes up for
_CROWDED = 3  # days before now that the log grew


def channels(port: int) -> str:
    mail = f"mailto://127.0.0.1:{port}?from=a@b.example&to=c@d.example&mode=insecure"
    urls = {**URLS, "mail": mail}
    return "".join(f'[[notify]]\nname = "{name}"\nurl = "{url}"\n' for name, url in urls.items())


def asked(bench: Bench, statement: str) -> list[str]:
    """First column of what the store says."""
    with closing(sqlite3.connect(bench.directory / "monitor.db", timeout=30)) as connection, connection:
        return [row[0] for row in connection.execute(statement)]


def waiting(bench: Bench) -> list[str]:
    """Channels that have not taken all notices."""
    return asked(bench, "select channel from outbox where delivered_at is null")


@pytest.mark.slow
def test_a_daemon_that_is_killed_as_it_sends_shows_one_message_and_one_report(tmp_path: Path) -> None:
    now = floor_to(system_clock(), DAY)
    rows = predictions(600, now - 2 * _MISSED * DAY, now - _CROWDED * DAY)
    rows += predictions(600, now - _CROWDED * DAY, now, prefix="more")
    options = quick("1d", pane="1d", windows=DAILY, horizon="30d")
    bench = sqlite_bench(tmp_path, rows, model(options=options) + RULES, labelled=now)
    with chat_server() as chats, mailbox() as post:
        _configure(bench, post, options)
        first = now - _MISSED * DAY
        bench.configure(model(options=options))
        assert bench.cycle(first).error is None  # alone: what it opened would be told by another process
        port = _configure(bench, post, options)
        script = str(Path(__file__).with_name("chatting_monitor.py"))
        command = [sys.executable, script, chats.url(), "run", "--config", str(bench.config)]
        running = process.Process(command, port, tmp_path / "daemon.log")
        try:
            _kill_as_it_sends(running, bench, chats)
            asked(bench, "update outbox set next_at = 0")  # what it had claimed may be sent again now
            running.start()
            running.wait(lambda: running.status("/readyz") == 200, "readiness")
            running.wait(lambda: chats.held == [] and not waiting(bench), "an empty outbox")
            assert running.stop()[0] == 0
        finally:
            running.kill()
        _check_chats(chats)
        _check_reports(chats, post, first, now)
    log = running.log_file.read_text(encoding="utf-8")
    assert "tokentoken" not in log
    assert running.logged("cycle failed") == []
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("monitor.db*"))
    assert b"tokentoken" not in stored


def _configure(bench: Bench, post: Mailbox, options: str) -> int:
    """The whole configuration; the port of its daemon."""
    port = servers.free_port()
    head = f'[http]\nport = {port}\nurl = "http://127.0.0.1:{port}"\n[log]\nformat = "json"\n'
    head += '[daemon]\ncatch_up = "30d"\nlease_ttl = "1s"\n'
    bench.configure(model(options=options) + RULES)
    rest = bench.config.read_text(encoding="utf-8")
    bench.config.write_text(head + channels(post.port) + rest, encoding="utf-8")
    return port


def _kill_as_it_sends(running: process.Process, bench: Bench, chats: ChatServer) -> None:
    """Once each chat has its message, and Slack waits for the picture: kill -9."""
    chats.holds = "files.getUploadURLExternal"
    running.start()
    noted = "select channel from messages"
    running.wait(lambda: bool(chats.held) and {*URLS} <= {*asked(bench, noted)}, "messages in all chats")
    running.kill()
    chats.release()


def _check_chats(chats: ChatServer) -> None:
    for name, shown in chats.by_service().items():
        whole = [one for one in shown if "What belongs to it" in one.text]
        assert len(whole) == 1, (name, [one.text for one in shown])
        assert "Critical, grew · late · " in whole[0].text
        short = [one for one in shown if one not in whole and "Report" not in one.text]
        assert [("Critical, grew" in one.text) for one in short] == [True]
        pictures = [content for _, content in whole[0].files or whole[0].thread]
        assert pictures
        assert all(content.startswith(b"\x89PNG") for content in pictures)


def _check_reports(chats: ChatServer, post: Mailbox, first: int, now: int) -> None:
    weeks = {name_period("week", "UTC", floor_to(at + 3 * DAY, 7 * DAY) - 3 * DAY) for at in (first, now)}
    told = [mail for mail in post.mails if str(mail["Subject"]).startswith("Report · late · ")]
    sent = [next(iter(mail.iter_attachments())).get_filename() for mail in told]
    later = sorted(weeks - {name_period("week", "UTC", floor_to(first + 3 * DAY, 7 * DAY) - 3 * DAY)})
    assert len(sent) == len({*sent})
    assert [f"report-late-{later[-1]}.html"] == sent[-1:]
    (of_slack,) = [one for one in chats.by_service()["slack"] if "Report · late · " in one.text][-1:]
    assert [name for name, _ in of_slack.thread] == [f"report-late-{later[-1]}.html"]
    others = [mail for mail in post.mails if mail not in told]
    assert all(str(mail["Subject"]).startswith(("Warning · ", "Critical, grew · ")) for mail in others)
    images = [file.get_content_type() for mail in others for file in mail.iter_attachments()]
    assert images == ["image/png"] * len(others)
