"""What the markup of a channel would act on: mentions, links, code, headings. One function for each kind.

Signs that act are written with wide ones that look alike: these mean nothing to any service, are seen by
the reader as they stand, and pass through whatever a version of Apprise makes of text for its service.
"""

import re
from collections.abc import Callable, Mapping

from monitor.core.text import readable, readable_lines

Markup = Callable[[str], str]

_ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)
_LINK = re.compile(r"\](?=[(\[])")
_EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # within a word, as in roc_auc, it means nothing
_SIGNS = str.maketrans("@<>`*~|#", "＠＜＞｀＊～｜＃")  # noqa: RUF001 -- that is what they are for
_WIDE = {":": "：", ".": "．"}  # noqa: RUF001
_RUNBOOK = "Runbook: "


def as_is(text: str) -> str:
    """Text for a program, which reads it as data."""
    return text


def mail(text: str) -> str:
    """Text for a mail: no address in it becomes a link. Apprise escapes it where it sends HTML."""
    return _ADDRESS.sub(lambda found: re.sub("[:.]", lambda sign: _WIDE[sign[0]], found[0]), text)


def chat(text: str) -> str:
    """Text for a chat, a pager or whatever else: it names nobody, links to nothing, hides nothing.

    >>> chat("@all [a](http://b) <!channel> roc_auc")
    '＠all [a］(http：//b) ＜!channel＞ roc_auc'
    """  # noqa: RUF002
    return _EMPHASIS.sub("＿", _LINK.sub("］", mail(text).translate(_SIGNS)))  # noqa: RUF001


_MAILS = (
    *("mailto", "mailtos", "mailgun", "sendgrid", "ses", "sparkpost", "smtp2go", "postmark", "resend"),
    *("brevo", "azure", "o365", "mailersend", "groundmail", "sendpulse"),
)
_PROGRAMS = ("json", "jsons", "xml", "xmls", "form", "forms")
_BY_SCHEME: Mapping[str, Markup] = dict.fromkeys(_MAILS, mail) | dict.fromkeys(_PROGRAMS, as_is)


def spoken(url: str, title: str, text: str, runbook: str = "") -> tuple[str, str]:
    """Title and text as the channel of a URL may be sent them.

    Parameters
    ----------
    runbook
        the address that the configuration gives: its line is the one link that stays.
    """
    markup = _BY_SCHEME.get(url.partition("://")[0].lower(), chat)
    link = f"{_RUNBOOK}{runbook}" if runbook else None
    lines = (line if line == link else markup(line) for line in readable_lines(text).split("\n"))
    return markup(readable(title)), "\n".join(lines)
