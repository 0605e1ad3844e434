"""Text as a channel may be sent it: what names hold mentions nobody, links to nothing, hides nothing."""

import re
from collections.abc import Callable, Collection, Mapping

from monitor.alerts.alert_messages import PAGE
from monitor.core.text import readable_lines, readable_text
from monitor.specs.stored_rows import WaitingNotice

Markup = Callable[[str], str]

_ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)
_LINK = re.compile(r"\](?=[(\[])")
_EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # within a word, as in roc_auc, it means nothing
_SIGNS = str.maketrans("@<>`*~|#", "＠＜＞｀＊～｜＃")  # noqa: RUF001 -- that is what they are for
_WIDE = {":": "：", ".": "．"}  # noqa: RUF001
_RUNBOOK = "Runbook: "

_MAILS = (
    *("mailto", "mailtos", "mailgun", "sendgrid", "ses", "sparkpost", "smtp2go", "postmark", "resend"),
    *("brevo", "azure", "o365", "mailersend", "groundmail", "sendpulse"),
)
_PROGRAMS = ("json", "jsons", "xml", "xmls", "form", "forms")


def unescaped_text(text: str) -> str:
    """Text for a program, which reads it as data."""
    return text


def mail_text(text: str) -> str:
    """Text for a mail: no address in it becomes a link. Apprise escapes it where it sends HTML."""
    return _ADDRESS.sub(lambda address: re.sub("[:.]", lambda sign: _WIDE[sign[0]], address[0]), text)


def chat_text(text: str) -> str:
    """Text for a chat, a pager or whatever else: it names nobody, links to nothing, hides nothing.

    >>> chat_text("@all [a](http://b) <!channel> roc_auc")
    '＠all [a］(http：//b) ＜!channel＞ roc_auc'
    """  # noqa: RUF002
    return _EMPHASIS.sub("＿", _LINK.sub("］", mail_text(text).translate(_SIGNS)))  # noqa: RUF001


_BY_SCHEME: Mapping[str, Markup] = dict.fromkeys(_MAILS, mail_text) | dict.fromkeys(_PROGRAMS, unescaped_text)


def is_mail(url: str) -> bool:
    """Whether a URL of Apprise is of mails."""
    return url.partition("://")[0].lower() in _MAILS


def escape_for_channel(url: str, title: str, text: str, links: Collection[str] = ()) -> tuple[str, str]:
    """Title and text as the channel of a URL may be sent them.

    `links`: lines that stay links: what they lead to is what the configuration gives.
    """
    markup = _BY_SCHEME.get(url.partition("://")[0].lower(), chat_text)
    lines = (line if line in links else markup(line) for line in readable_lines(text).split("\n"))
    return markup(readable_text(title)), "\n".join(lines)


def escape_notice(url: str, notice: WaitingNotice) -> tuple[str, str]:
    """Title and text of a notice as the channel of a URL may be sent them; its own links stay links."""
    said = notice.payload
    runbook = readable_text(said.get("annotations", {}).get("runbook_url", ""))
    links = (f"{_RUNBOOK}{runbook}", f"{PAGE}{said.get('page', '')}")
    return escape_for_channel(url, said["title"], said["text"], links)
