"""Slack, Discord and Telegram on loopback: what their APIs do to messages, and what people then see.

As their references say, see the modules of `monitor.notify`: an edit of what is not there is refused, an edit
pings nobody, Discord keeps those files of an edit that `attachments` names, Telegram refuses an edit that
changes nothing, and a text that is too long.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

SLACK, DISCORD = "slack://xoxb-12345-tokentoken/#ml", "discord://1234567890/tokentokentoken"
TELEGRAM = "tgram://123456789:tokentokentoken/-100200300"
URLS = {"slack": SLACK, "discord": DISCORD, "telegram": TELEGRAM}
_CHANNEL = "C0ML00001"
Files = dict[str, bytes]


@dataclass
class Shown:
    """A message as people see it."""

    text: str
    files: list[tuple[str, bytes]] = field(default_factory=list)
    reply_to: str = ""
    thread: list[tuple[str, bytes]] = field(default_factory=list)  # files below it
    edits: int = 0
    service: str = ""


@dataclass(repr=False)
class ChatServer:
    """What stands in a chat; what fails next; what was asked for."""

    port: int = 0
    shown: dict[str, Shown] = field(default_factory=dict)  # by id, in the order of posting
    pings: list[str] = field(default_factory=list)  # texts by which people were called
    fails: list[int] = field(default_factory=list)  # statuses of the next answers, before anything is done
    loses: int = 0  # of so many answers what they say is done, and they are lost
    refuses_files: bool = False
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    holds: str = ""  # what an address ends with whose answer does not come before `release`
    held: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    uploads: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    made: int = 0

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def own(self) -> list[Shown]:
        """Messages that are no replies."""
        return [one for one in self.shown.values() if not one.reply_to]

    def delete_messages(self) -> None:
        """Somebody deletes all."""
        self.shown.clear()

    def release(self) -> None:
        """Hold nothing any more; what was held is not done."""
        self.holds = ""
        self.released.set()
        self.held.clear()

    def by_service(self) -> dict[str, list[Shown]]:
        """Messages by what the URL of their channel is called."""
        return {name: [one for one in self.shown.values() if one.service == name] for name in URLS}

    def post(self, service: str, text: str, files: list[tuple[str, bytes]], reply_to: str = "") -> str:
        self.made += 1
        key = str(1_000 + self.made)
        self.shown[key] = Shown(text, files, reply_to, service=service)
        self.pings.append(text)
        return key

    # Each answers a status and a body.

    def slack(  # noqa: C901, PLR0911 -- a method after the other
        self, method: str, said: dict[str, Any], raw: bytes
    ) -> tuple[int, dict[str, Any]]:
        match method:
            case "chat.postMessage":
                assert said["channel"] in ("#ml", _CHANNEL)
                key = self.post("slack", said["text"], [], said.get("thread_ts", ""))
                return 200, {"ok": True, "channel": _CHANNEL, "ts": key}
            case "chat.update":
                if said["channel"] != _CHANNEL or said["ts"] not in self.shown:
                    return 200, {"ok": False, "error": "message_not_found"}
                found = self.shown[said["ts"]]
                found.text, found.edits = said["text"], found.edits + 1
                return 200, {"ok": True, "channel": _CHANNEL, "ts": said["ts"]}
            case "files.getUploadURLExternal":
                if self.refuses_files:
                    return 200, {"ok": False, "error": "missing_scope"}
                asked = parse_qs(raw.decode())
                key = f"F{len(self.uploads)}"
                self.uploads[key] = (asked["filename"][0], b"")
                return 200, {"ok": True, "upload_url": self.url(f"/slack/upload/{key}"), "file_id": key}
            case "files.completeUploadExternal":
                if said["thread_ts"] not in self.shown:
                    return 200, {"ok": False, "error": "thread_not_found"}
                for one in said["files"]:
                    self.shown[said["thread_ts"]].thread.append(self.uploads[one["id"]])
                return 200, {"ok": True}
        key = method.rpartition("/")[2]
        self.uploads[key] = (self.uploads[key][0], raw)
        return 200, {}

    def discord(
        self, method: str, path: str, said: dict[str, Any], files: Files
    ) -> tuple[int, dict[str, Any]]:
        if len(said["content"]) > 2_000 or (files and self.refuses_files):
            return 400, {"message": "Invalid Form Body", "code": 50035}
        assert said["allowed_mentions"] == {"parse": []}
        names = [(one["filename"], files[f"files[{one['id']}]"]) for one in said.get("attachments", ())]
        if method == "POST":
            assert path.endswith("?wait=true")
            return 200, {"id": self.post("discord", said["content"], names)}
        found = self.shown.get(path.rpartition("/")[2])
        if found is None:
            return 404, {"message": "Unknown Message", "code": 10008}
        found.text, found.edits = said["content"], found.edits + 1
        found.files = names if "attachments" in said else found.files
        return 200, {"id": path.rpartition("/")[2]}

    def telegram(  # noqa: C901, PLR0911 -- the same
        self, method: str, said: dict[str, Any], files: Files
    ) -> tuple[int, dict[str, Any]]:
        def refused(why: str) -> tuple[int, dict[str, Any]]:
            return 400, {"ok": False, "error_code": 400, "description": f"Bad Request: {why}"}

        media = json.loads(said["media"]) if "media" in said else {}
        text = said.get("text", said.get("caption", media.get("caption", "")))
        if len(text) > (4_096 if "text" in said else 1_024):
            return refused("message is too long")
        if files and self.refuses_files:
            return refused("PHOTO_INVALID_DIMENSIONS")
        assert "parse_mode" not in said
        assert str(said["chat_id"]) == "-100200300"
        if method.startswith("send"):
            kind = method.removeprefix("send").lower()
            reply = said.get("reply_parameters") or {}
            reply = json.loads(reply) if isinstance(reply, str) else reply
            sent = [] if kind == "message" else [(kind, files[kind])]
            return 200, {"ok": True, "result": {"message_id": int(
                self.post("telegram", text, sent, str(reply.get("message_id", "")))
            )}}  # fmt: skip
        found = self.shown.get(str(said["message_id"]))
        if found is None:
            return refused("message to edit not found")
        if method == "editMessageText" and found.files:
            return refused("there is no text in the message to edit")
        if method != "editMessageText" and not found.files:
            return refused("message can't be edited")
        replaced = [(media["type"], files["file"])] if media else found.files
        if (found.text, found.files) == (text, replaced):
            return refused("message is not modified: specified new message content is exactly the same")
        found.text, found.files, found.edits = text, replaced, found.edits + 1
        return 200, {"ok": True, "result": {"message_id": int(said["message_id"])}}


def _read_form(kind: str, raw: bytes) -> tuple[dict[str, Any], Files]:
    """Fields and files of a form."""
    whole = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + raw, policy=policy.HTTP)
    fields: dict[str, Any] = {}
    files: Files = {}
    for part in whole.iter_parts():
        assert isinstance(part, EmailMessage)
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if part.get_filename():
            files[str(name)] = content
        else:
            fields[str(name)] = content.decode()
    return fields, files


@contextmanager
def chat_server() -> Iterator[ChatServer]:  # noqa: C901 -- one handler
    """All three at one port."""
    found = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            kind, files = self.headers["Content-Type"], Files()
            if kind.startswith("multipart/"):
                said, files = _read_form(kind, raw)
                said = json.loads(said["payload_json"]) if "payload_json" in said else said
            else:
                said = json.loads(raw) if kind.startswith("application/json") else {}
            if found.holds and self.path.endswith(found.holds):
                found.held.append(self.path)
                found.released.wait(60)
                self.close_connection = True
                return
            with found.lock:
                found.asked.append((self.command, self.path, said))
                status, answer = self._act(said, files, raw)
                if status < 400 and found.loses:
                    found.loses -= 1
                    self.close_connection = True
                    return
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PATCH = do_POST  # noqa: N815

        def _act(self, said: dict[str, Any], files: Files, raw: bytes) -> tuple[int, dict[str, Any]]:
            path = urlsplit(self.path).path
            if found.fails:
                return found.fails.pop(0), {"ok": False, "description": f"no {self.path}"}
            if path.startswith("/slack/"):
                if "/upload/" not in path:
                    assert self.headers["Authorization"] == "Bearer xoxb-12345-tokentoken"
                return found.slack(path.removeprefix("/slack/"), said, raw)
            if path.startswith("/bot"):
                assert path.startswith("/bot123456789:tokentokentoken/")
                return found.telegram(path.rpartition("/")[2], said, files)
            assert path.startswith("/discord/1234567890/tokentokentoken")
            return found.discord(self.command, self.path, said, files)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def lead_to(server: ChatServer, patched: pytest.MonkeyPatch) -> None:
    """Let the three services be this server."""
    patched.setattr("monitor.notify.slack.API", server.url("/slack"))
    patched.setattr("monitor.notify.discord.API", server.url("/discord"))
    patched.setattr("monitor.notify.telegram.API", server.url())
