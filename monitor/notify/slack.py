"""A channel of Slack by the token of a bot.

Methods of the Web API, https://docs.slack.dev/reference/methods: chat.postMessage and chat.update, by the
`ts` of the message and the id of its channel; files.getUploadURLExternal, a POST of the bytes, then
files.completeUploadExternal. Each answers 200 with `ok`, and `error` where that is false. The bot needs the
scopes chat:write and, for pictures, files:write; it is a member of the channel.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from monitor.core.errors import NotificationError
from monitor.notify.http_calls import HttpBody, call_receiver, json_body, send_error
from monitor.notify.living_messages import ChatPost, MessageGoneError, text_field
from monitor.specs.stored_rows import AttachedFile

API = "https://slack.com/api"
_URL = re.compile(
    r"slack://(?P<token>(?:xoxe\.)?xox[abp]-[A-Z0-9-]+)/*(?P<kind>#|%23|\+|%2B)?(?P<target>[A-Z0-9_-]{1,80})?/*",
    re.IGNORECASE,
)
_LONGEST = 12_000  # of 40,000 characters that Slack takes: room for those that it writes as entities
_GONE = ("message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found")
_LINK = re.compile(r"^([A-Z][a-z]+: )(https?://\S+)$", re.MULTILINE)
# Nothing becomes a link but what is written as one, and no link is previewed.
_PLAIN = {"parse": "none", "link_names": False}
_SHOWN = {"unfurl_links": False, "unfurl_media": False, **_PLAIN}


@dataclass(frozen=True, slots=True)
class SlackRoom:
    """A channel of Slack. A message is found by `CHANNEL:TS`."""

    url: str = field(repr=False)
    token: str = field(repr=False)
    target: str  # "#name", or the id of a channel

    @classmethod
    def from_url(cls, url: str) -> "SlackRoom | None":
        """The room of a URL of Apprise; None: not that of a bot, or with options or several channels."""
        found = _URL.fullmatch(url)
        if found is None:
            return None
        by_id = (found["kind"] or "").upper() in ("+", "%2B")
        name = found["target"] or "general"
        return cls(url, found["token"], name if by_id else f"#{name}")

    @property
    def place(self) -> str:
        """Its channel."""
        return f"slack {self.target}"

    @property
    def receiver_identity(self) -> str:
        """Token and channel."""
        return f"slack {self.token} {self.target}"

    def post_message(self, post: ChatPost, reply_to: str = "") -> str:
        """Post a message; a reply stands in the thread of the message, and in the channel as well."""
        thread = {"thread_ts": reply_to.partition(":")[2], "reply_broadcast": True} if reply_to else {}
        channel = reply_to.partition(":")[0] or self.target
        said = self._call_method(
            "chat.postMessage", {"channel": channel, "text": _slack_text(post), **_SHOWN, **thread}
        )
        if not said.get("ok"):
            raise self._make_error(said)
        return f"{text_field(said, 'channel')}:{text_field(said, 'ts')}"

    def edit_message(self, message: str, post: ChatPost) -> None:
        """Let a message say something else."""
        channel, _, moment = message.partition(":")
        said = self._call_method(
            "chat.update", {"channel": channel, "ts": moment, "text": _slack_text(post), **_PLAIN}
        )
        if said.get("error") in _GONE:
            raise MessageGoneError(f"Slack: {said['error']}")
        if not said.get("ok"):
            raise self._make_error(said)

    def add_files(self, message: str, post: ChatPost) -> None:
        """Put the files into the thread of a message: with its text, its `ts` would not be known."""
        channel, _, moment = message.partition(":")
        files = [{"id": self._upload_file(file), "title": file.name} for file in post.files]
        shared = {"files": files, "channel_id": channel, "thread_ts": moment}
        said = self._call_method("files.completeUploadExternal", shared)
        if not said.get("ok"):
            raise self._make_error(said)

    def _upload_file(self, file: AttachedFile) -> str:
        named = urlencode({"filename": file.name, "length": len(file.content)}).encode()
        place = self._call_method(
            "files.getUploadURLExternal", HttpBody(named, "application/x-www-form-urlencoded")
        )
        address = text_field(place, "upload_url")
        if not place.get("ok") or not address.startswith(("https://", f"{API}/")):
            raise self._make_error(place)
        answer = call_receiver(address, HttpBody(file.content, "application/octet-stream"), self.url)
        if not answer.is_taken:
            raise send_error(f"Slack took no file: {answer.status} {answer.reason}", self.url)
        return text_field(place, "file_id")

    def _call_method(self, method: str, said: Mapping[str, Any] | HttpBody) -> Mapping[str, Any]:
        body = said if isinstance(said, HttpBody) else json_body(said)
        answer = call_receiver(
            f"{API}/{method}", body, self.url, headers={"Authorization": f"Bearer {self.token}"}
        )
        if not answer.is_taken:
            raise send_error(f"Slack answered {answer.status} {answer.reason}", self.url)
        return answer.said

    def _make_error(self, said: Mapping[str, Any]) -> NotificationError:
        return send_error(f"Slack: {text_field(said, 'error') or 'its answer is not understood'}", self.url)


def _slack_text(post: ChatPost) -> str:
    """Text as https://docs.slack.dev/messaging/formatting-message-text has it.

    `&`, `<` and `>` are written as entities. The addresses that stand in lines of their own, which no name
    brings, are links; `|` would part one from its label.
    """
    text = post.join_lines(_LONGEST, bold="*")
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LINK.sub(lambda line: f"{line[1]}<{line[2].replace('|', '%7C')}>", escaped)
