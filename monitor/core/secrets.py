"""What this process knows and nobody may read: the one place where texts are written without it.

A driver, a server's message, a traceback or a library's log line may quote a password in any form. So
whoever takes a secret in tells it here (`learn`), and every text that leaves the process passes
`hide_secrets`: errors of our tree as they are made, lines of the log, what is printed of unexpected errors.
The knowledge is the process', as its environment is: a hook of Python or a library's thread can be handed
nothing.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "***"
SHORTEST = 4
"""Characters from which on a secret is hidden wherever it stands: shorter ones stand in every second word."""
_MOST = 200  # secrets that are kept: one that changes by the minute must not fill the memory
_CUT = "…"  # ends a text of ours that was too long
_SPLIT = re.compile(r"[\s@:/?#&=;,'\"]")  # where a parser may split what it takes for something else
_ENDS = 8  # parsers split at the first or the last such signs
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_LETTER = r"[^\W\d_]"
_WORD = re.compile(f"{_LETTER}+")
_NAMES = r"pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|credentials?|odbc_connect"
_URL_PASSWORD = re.compile(r"(://[^\s:/@]*):[^\s'\"]*@")
_PARAMETER = re.compile(rf"(?i)\b(\w*(?:{_NAMES}))=(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s&;,'\"]+)")


@dataclass(frozen=True, slots=True)
class _HiddenForms:
    """Forms of a secret, the longest first, and what is shown in their place."""

    forms: list[str]
    pattern: re.Pattern[str]
    shown: str


class Secrets:
    """Secrets, and what is shown in their places; many threads may ask at once.

    Parameters
    ----------
    words
        whether a secret of letters alone is left where it is a part of a longer word: of a message about
        PostgreSQL the password "postgres" would blank half.
    """

    def __init__(self, *, words: bool = False) -> None:
        self._words = words
        self._known: dict[str, _HiddenForms] = {}

    def learn_secret(self, secret: str, shown: str = HIDDEN, *, pieces: bool = False) -> None:
        """Hide a secret from now on, in every form in which a message may quote it.

        Parameters
        ----------
        pieces
            hide its parts between spaces, `@` and the like too.
        """
        if secret in self._known:
            return
        parts = {secret, *(_secret_pieces(secret) if pieces else ())}
        long_enough = {form for part in parts for form in _secret_forms(part) if len(form) >= SHORTEST}
        forms = sorted(long_enough, key=len, reverse=True)
        if forms:
            self._known[secret] = _HiddenForms(
                forms, re.compile("|".join(map(self._form_pattern, forms))), shown
            )
            if len(self._known) > _MOST:
                self._known.pop(list(self._known)[_MOST // 2], None)  # those of the start stay

    def hide_known_secrets(self, text: str) -> str:
        """Text without what is known, and without a known secret's beginning where the text was cut."""
        secrets = self._known.copy().values()
        for secret in sorted(secrets, key=lambda secret: len(secret.forms[0]), reverse=True):
            text = secret.shown.join(secret.pattern.split(text))
            if _CUT in text:
                text = _CUT.join(_hide_cut_secret(part, secret) for part in text.split(_CUT))
        return text

    def forget_secrets(self) -> None:
        """Hide nothing any more."""
        self._known.clear()

    def _form_pattern(self, form: str) -> str:
        escaped = re.escape(form)
        return rf"(?<!{_LETTER}){escaped}(?!{_LETTER})" if self._words and _WORD.fullmatch(form) else escaped


_KNOWN = Secrets(words=True)
learn = _KNOWN.learn_secret
forget = _KNOWN.forget_secrets


def hide_secrets(text: str) -> str:
    """Text as it may leave the process.

    What stands as a password in a URL, or as a parameter of such a name, is hidden in any case.

    >>> hide_secrets("no route to postgresql://ann:x@db/app?sslpassword=y&sslmode=require")
    'no route to postgresql://ann:***@db/app?sslpassword=***&sslmode=require'
    """
    text = _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", _KNOWN.hide_known_secrets(text))
    return _PARAMETER.sub(rf"\1={HIDDEN}", text)


def _hide_cut_secret(text: str, secret: _HiddenForms) -> str:
    for form in secret.forms:
        for length in range(min(len(form), len(text)) - 1, SHORTEST - 1, -1):
            if text.endswith(form[:length]):
                return text[:-length] + secret.shown
    return text


def _secret_pieces(secret: str) -> Iterator[str]:
    """What a parser makes of a secret that was not encoded: up to a sign, from it on, between two."""
    signs = list(_SPLIT.finditer(secret))
    for sign in (*signs[:_ENDS], *signs[-_ENDS:]):
        yield from (secret[: sign.start()], secret[sign.end() :])
    yield from _SPLIT.split(secret)
    yield from re.split(r"[\s@]", secret)


def _secret_forms(secret: str) -> Iterator[str]:
    """A secret as URLs, Python, JSON, SQL and libpq write it, whole or in part."""
    for raw in dict.fromkeys((secret, secret.strip(), unquote(secret), unquote_plus(secret))):
        yield raw
        for encoded in (*(quote(raw, safe=safe) for safe in ("", " ", " +", "/")), quote_plus(raw)):
            yield encoded
            yield _ENCODED.sub(lambda code: code[0].lower(), encoded)
        yield repr(raw)[1:-1]
        yield repr(raw.encode(errors="surrogateescape"))[2:-1]
        yield from (json.dumps(raw, ensure_ascii=ascii_)[1:-1] for ascii_ in (True, False))
        yield raw.replace("'", "''")
        yield re.sub(r"(['\\])", r"\\\1", raw)
