"""A webhook of Discord.

https://discord.com/developers/docs/resources/webhook: Execute Webhook with `wait=true` answers the message,
Edit Webhook Message changes it by its id. Files go with either as `files[n]` beside `payload_json`, and an
edit keeps those alone that its `attachments` name. 404 with code 10008: there is no such message.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.core.text import json_text
from monitor.notify.http_calls import (
    HttpAnswer,
    RefusedFileError,
    call_receiver,
    form_body,
    json_body,
    send_error,
)
from monitor.notify.living_messages import ChatPost, MessageGoneError, text_field

API = "https://discord.com/api/v10/webhooks"
_URL = re.compile(r"discord://(?P<id>\d{5,32})/(?P<token>[A-Z0-9_-]+)/*", re.IGNORECASE)
_LONGEST = 2_000  # characters of a message
_NO_EMBEDS = 1 << 2  # SUPPRESS_EMBEDS: no preview of what a link leads to
_UNKNOWN_MESSAGE = 10_008


@dataclass(frozen=True, slots=True)
class DiscordRoom:
    """The channel of a webhook. A message is found by its id."""

    url: str = field(repr=False)
    webhook: str
    token: str = field(repr=False)

    @classmethod
    def from_url(cls, url: str) -> "DiscordRoom | None":
        """The room of a URL of Apprise; None: none, or with options."""
        found = _URL.fullmatch(url)
        return None if found is None else cls(url, found["id"], found["token"])

    @property
    def place(self) -> str:
        """Its webhook."""
        return f"discord {self.webhook}"

    @property
    def receiver_identity(self) -> str:
        """The webhook's address."""
        return f"discord {self.webhook}/{self.token}"

    def post_message(self, post: ChatPost, reply_to: str = "") -> str:
        """Post a message. A webhook can reply to none: what would be a reply stands below the others."""
        del reply_to
        answer = self._call_webhook("?wait=true", post, "POST", {"flags": _NO_EMBEDS})
        self._expect_taken(answer, post)
        return text_field(answer.said, "id")

    def edit_message(self, message: str, post: ChatPost) -> None:
        """Let a message say something else; its picture is replaced, or stays where there is no other."""
        answer = self._call_webhook(f"/messages/{message}", post, "PATCH", {})
        if answer.status == 404 and answer.said.get("code") == _UNKNOWN_MESSAGE:
            raise MessageGoneError("Discord: there is no such message")
        self._expect_taken(answer, post)

    def add_files(self, message: str, post: ChatPost) -> None:
        """Nothing: they went with the text."""

    def _call_webhook(self, path: str, post: ChatPost, method: str, more: Mapping[str, Any]) -> HttpAnswer:
        files = [(f"files[{at}]", file) for at, file in enumerate(post.files)]
        kept = {"attachments": [{"id": at, "filename": file.name} for at, (_, file) in enumerate(files)]}
        said = {
            "content": post.join_lines(_LONGEST, bold="**"),
            "allowed_mentions": {"parse": []},
            **(kept if files else {}),
            **more,
        }
        body = form_body({"payload_json": json_text(said)}, files) if files else json_body(said)
        return call_receiver(f"{API}/{self.webhook}/{self.token}{path}", body, self.url, method=method)

    def _expect_taken(self, answer: HttpAnswer, post: ChatPost) -> None:
        if answer.is_taken:
            return
        why = f"Discord answered {answer.status} {text_field(answer.said, 'message') or answer.reason}"
        if post.files and answer.status in (400, 413):
            raise RefusedFileError(why)
        raise send_error(why, self.url)
