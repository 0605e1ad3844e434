"""A chat of Telegram by a bot.

https://core.telegram.org/bots/api: sendMessage, sendPhoto and sendDocument answer the message,
editMessageText, editMessageCaption and editMessageMedia change it by its id. A text has at most 4,096
characters, a caption 1,024, and without `parse_mode` neither has markup. `ok` is false where a method
failed: `description` says why, and "message is not modified" where it says what it said already.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from monitor.core.text import json_text
from monitor.notify.http_calls import RefusedFileError, call_receiver, form_body, json_body, send_error
from monitor.notify.living_messages import ChatPost, MessageGoneError, text_field
from monitor.specs.stored_rows import AttachedFile

API = "https://api.telegram.org"
_URL = re.compile(
    r"tgram://(?:bot)?(?P<token>\d+(?::|%3A)[A-Z0-9_-]+)/+(?P<chat>-?\d{1,32}|(?:@|%40)?[A-Z_][A-Z0-9_-]+)/*",
    re.IGNORECASE,
)
_LONGEST, _LONGEST_CAPTION = 4_096, 1_024
_TEXT, _PHOTO, _DOCUMENT = "text", "photo", "document"
_NO_PREVIEW = {"link_preview_options": {"is_disabled": True}}
_GONE = (
    "message to edit not found",
    "message_id_invalid",
    "message can't be edited",
    "no text in the message",
)


@dataclass(frozen=True, slots=True)
class TelegramRoom:
    """A chat. A message is found by what it is and its id, as `photo:17`."""

    url: str = field(repr=False)
    token: str = field(repr=False)
    chat: str

    @classmethod
    def from_url(cls, url: str) -> "TelegramRoom | None":
        """The room of a URL of Apprise; None: none, or with options or several chats."""
        found = _URL.fullmatch(url)
        if found is None:
            return None
        chat = unquote(found["chat"])
        named = chat if chat.startswith("@") or chat.lstrip("-").isdecimal() else f"@{chat}"
        return cls(url, unquote(found["token"]), named)

    @property
    def place(self) -> str:
        """Bot and chat."""
        return f"telegram {self.token.partition(':')[0]} {self.chat}"

    @property
    def receiver_identity(self) -> str:
        """Token and chat."""
        return f"telegram {self.token} {self.chat}"

    def post_message(self, post: ChatPost, reply_to: str = "") -> str:
        """Post a message; what has a file is a picture or a document with a caption."""
        said: dict[str, Any] = {"chat_id": self.chat}
        if reply_to:
            number = int(reply_to.partition(":")[2] or 0)
            said["reply_parameters"] = {"message_id": number, "allow_sending_without_reply": True}
        file = next(iter(post.files), None)
        if file is None:
            found = self._call_method(
                "sendMessage", {**said, "text": post.join_lines(_LONGEST), **_NO_PREVIEW}
            )
            return f"{_TEXT}:{text_field(found, 'message_id')}"
        kind = _PHOTO if file.kind.startswith("image/") else _DOCUMENT
        said["caption"] = post.join_lines(_LONGEST_CAPTION)
        found = self._call_method(f"send{kind.capitalize()}", said, {kind: file})
        return f"{kind}:{text_field(found, 'message_id')}"

    def edit_message(self, message: str, post: ChatPost) -> None:
        """Let a message say something else; one with a picture keeps one, one without gets none."""
        kind, _, number = message.partition(":")
        said: dict[str, Any] = {"chat_id": self.chat, "message_id": int(number or 0)}
        if kind == _TEXT:
            self._call_method("editMessageText", {**said, "text": post.join_lines(_LONGEST), **_NO_PREVIEW})
            return
        caption, file = post.join_lines(_LONGEST_CAPTION), next(iter(post.files), None)
        if file is None:
            self._call_method("editMessageCaption", {**said, "caption": caption})
            return
        media = {"type": kind, "media": "attach://file", "caption": caption}
        self._call_method("editMessageMedia", {**said, "media": media}, {"file": file})

    def add_files(self, message: str, post: ChatPost) -> None:
        """Nothing: they went with the text."""

    def _call_method(
        self, method: str, said: Mapping[str, Any], files: Mapping[str, AttachedFile] | None = None
    ) -> Mapping[str, Any]:
        """What a method answers as its result; nothing where the message says so already."""
        body = json_body(said)
        if files:
            fields = {
                name: value if isinstance(value, str) else json_text(value) for name, value in said.items()
            }
            body = form_body(fields, list(files.items()))
        answer = call_receiver(f"{API}/bot{self.token}/{method}", body, self.url)
        if answer.said.get("ok"):
            result = answer.said.get("result")
            return result if isinstance(result, dict) else {}
        why = text_field(answer.said, "description") or answer.reason
        if "message is not modified" in why.lower():
            return {}
        if method.startswith("edit") and any(sign in why.lower() for sign in _GONE):
            raise MessageGoneError(f"Telegram: {why}")
        if files and answer.status in (400, 413):
            raise RefusedFileError(f"Telegram: {answer.status}")
        raise send_error(f"Telegram answered {answer.status} {why}", self.url)
