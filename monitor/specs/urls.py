"""Database URLs with places `${file:/path}`: filled anew for each connection, as passwords are rotated."""

import re
from pathlib import Path
from urllib.parse import quote

_FILE = re.compile(r"\$\{file:([^{}]*)\}")
_UP_TO_PASSWORD = re.compile(r"\w[\w+.]*://[^:/@]*:")


def filled(url: str) -> str:
    """URL with the texts that its files hold now.

    Raises
    ------
    ValueError
        if a file cannot be read; names it.
    """
    return _FILE.sub(lambda place: in_url(text_of(place[1]), url, place.span()), url)


def has_files(url: str) -> bool:
    """Whether a URL has such places."""
    return _FILE.search(url) is not None


def text_of(path: str) -> str:
    """Text of a file, without its last line break.

    Raises
    ------
    ValueError
        if it cannot be read; names it.
    """
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f"the file {path} cannot be read: {why}") from error


def in_url(value: str, text: str, span: tuple[int, int]) -> str:
    """Write a value as it stands at a place of a text: percent-encoded in (or as) the password of a URL."""
    head = _UP_TO_PASSWORD.match(text)
    start, end = span
    in_password = head is not None and head.end() <= start and "@" not in text[:start] and "@" in text[end:]
    return quote(value, safe="") if in_password else value
