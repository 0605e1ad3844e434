"""One message an incident: posted once, edited as the incident grows and is over.

An edit notifies nobody. So what calls for people at once, an incident that turns critical, is said by a short
reply too. The end is an edit alone. What comes back after its end is another incident, with a message of its
own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import structlog

from monitor.alerts.alert_messages import PAGE
from monitor.alerts.incident_life import IncidentGrowth, IncidentTurn
from monitor.core.errors import NotificationError
from monitor.core.text import content_hash
from monitor.notify.escaping import escape_notice
from monitor.notify.http_calls import RefusedFileError
from monitor.specs.protocols import NoteMessage, no_message
from monitor.specs.stored_rows import AttachedFile, WaitingNotice

_LEFT_OUT = "…"


class MessageGoneError(NotificationError):
    """A message that was to be edited is there no more, or is not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPost:
    """What a chat is to show, escaped: a title, lines, and last lines that are never left out."""

    title: str
    lines: tuple[str, ...]
    foot: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()

    def join_lines(self, longest: int, *, bold: str = "") -> str:
        r"""Text of at most so many UTF-16 units; of what is too long the last lines go, but for the foot.

        >>> post = ChatPost(title="Critical", lines=("It fell.", "By 7 %."), foot=("Page: x",))
        >>> post.join_lines(100), post.join_lines(30)
        ('Critical\nIt fell.\nBy 7 %.\n\nPage: x', 'Critical\nIt fell.\n…\n\nPage: x')
        """
        head, foot = f"{bold}{self.title}{bold}", "".join(f"\n{line}" for line in ("", *self.foot))
        whole = "\n".join((head, *self.lines)) + foot
        if _text_units(whole) <= longest:
            return whole
        said, room = head, longest - _text_units(foot) - _text_units(f"\n{_LEFT_OUT}")
        for line in self.lines:
            if _text_units(f"{said}\n{line}") > room:
                break
            said = f"{said}\n{line}"
        return f"{said.rstrip()}\n{_LEFT_OUT}{foot}"


class ChatRoom(Protocol):
    """A place in a chat whose messages can be edited."""

    @property
    def place(self) -> str:
        """Where messages go, without secrets: what was posted elsewhere is not edited."""
        ...

    @property
    def receiver_identity(self) -> str:
        """What two channels of the same receiver have in common."""
        ...

    def post_message(self, post: ChatPost, reply_to: str = "") -> str:
        """Post a message, as a reply if there is one to reply to; by what it is found again."""
        ...

    def edit_message(self, message: str, post: ChatPost) -> None:
        """Let a message say something else.

        Raises
        ------
        MessageGoneError
            if it is there no more.
        """
        ...

    def add_files(self, message: str, post: ChatPost) -> None:
        """Add what does not go with the text of a message of this chat."""
        ...


@dataclass(frozen=True, slots=True)
class LivingMessages:
    """Shows the incidents of a model in a chat, each by one message that says its newest state."""

    url: str
    room: ChatRoom
    shows_files: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"LivingMessages({type(self.room).__name__})"

    @property
    def receiver_identity(self) -> str:
        """What two channels of the same receiver have in common."""
        return self.room.receiver_identity

    def send_notice(self, notice: WaitingNotice, note_message: NoteMessage = no_message) -> None:
        """Edit the incident's message, or post one where there is none, or it is gone.

        Raises
        ------
        NotificationError
            if it was not taken.
        """
        post, place = self._make_post(notice), content_hash([self.room.place])[:8]
        there, _, message = notice.message.partition("/")
        if there != place or not message:
            message = self._post_new(post, place, note_message)
        else:
            try:
                _try_with_files(post, lambda tried: self.room.edit_message(message, tried))
            except MessageGoneError:
                message = self._post_new(post, place, note_message)
            else:
                if notice.payload.get("growth") == IncidentGrowth.CRITICAL.value:
                    self.room.post_message(replace(post, lines=(), files=()), message)
        if post.files and notice.kind != IncidentTurn.RESOLVED:
            self._add_files(notice.channel, message, post)

    def _post_new(self, post: ChatPost, place: str, note_message: NoteMessage) -> str:
        message = _try_with_files(post, self.room.post_message)
        note_message(f"{place}/{message}")
        return message

    def _add_files(self, channel: str, message: str, post: ChatPost) -> None:
        try:
            self.room.add_files(message, post)
        except NotificationError as error:
            # The text is there: a second one for the sake of its picture would be noise.
            log = structlog.stdlib.get_logger("monitor.daemon")
            log.info("a message goes without its file", channel=channel, reason=str(error))

    def _make_post(self, notice: WaitingNotice) -> ChatPost:
        title, text = escape_notice(self.url, notice)
        lines = text.split("\n")
        if title.rstrip(".").endswith(lines[0].rstrip(".")):
            del lines[0]  # the title says it
        foot = [lines.pop()] if lines and lines[-1].startswith(PAGE) else []
        while lines and not lines[-1]:
            del lines[-1]
        return ChatPost(
            title=title,
            lines=tuple(lines),
            foot=(*foot, f"(notice {notice.key})"),
            files=notice.files,
        )


def _try_with_files(post: ChatPost, send: Callable[[ChatPost], str | None]) -> str:
    """Send a post, without its files if the chat does not take them."""
    try:
        return send(post) or ""
    except RefusedFileError:
        return send(replace(post, files=())) or ""


def _text_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def text_field(said: Mapping[str, object], name: str) -> str:
    """A field of an answer as text; empty: it is not there.

    >>> text_field({"ts": "1.2", "id": 7}, "id"), text_field({}, "id")
    ('7', '')
    """
    found = said.get(name)
    return str(found) if isinstance(found, (str, int)) else ""
