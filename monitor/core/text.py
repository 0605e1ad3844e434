"""Text that people read: characters that act, or that nobody sees, are shown as escapes."""

import json
import re
from typing import Any
from unicodedata import category

_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 -- spreadsheets take the wide ones too


def readable(text: str) -> str:
    r"""Text in one line of which every character is seen and none acts on a terminal, a log or a chat.

    Controls, formats (bidi, zero width, tags), lone surrogates, private and unassigned characters, and
    separators of lines and paragraphs are written as Python's escapes. All else stays, backslashes too: what
    is readable already is not changed again.

    >>> print(readable("a\x1b[31m\nb\u202e\ufeff\U000e0041"), readable("Größe 東京 €"))
    a\x1b[31m\nb\u202e\ufeff\U000e0041 Größe 東京 €
    """
    if text.isprintable():
        return text
    return "".join(_escaped(char) if category(char) in _ACTING else char for char in text)


def readable_lines(text: str) -> str:
    r"""Text of several lines, each readable: for text whose ends of line are our own.

    >>> print(readable_lines("a\nb\r"))
    a
    b\r
    """
    return "\n".join(map(readable, text.split("\n")))


def csv_cell(value: object) -> object:
    """Value of a CSV: text is readable, and no spreadsheet takes it for a formula; numbers stay numbers.

    >>> csv_cell("=1+1"), csv_cell("-1.5"), csv_cell(-1.5), csv_cell("a-b")
    ("'=1+1", '-1.5', -1.5, 'a-b')
    """
    if not isinstance(value, str):
        return value
    text = readable(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Exact JSON of which a terminal shows every character."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def double_quoted(text: str) -> str:
    r"""Text as YAML and TOML write it, every character of it seen.

    >>> print(double_quoted('a "b"\n\u202e\U000e0041 €'))
    "a \"b\"\n\u202e\U000e0041 €"
    """
    written = json.dumps(text, ensure_ascii=False)
    return "".join(_by_code(char) if category(char) in _ACTING else char for char in written)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _by_code(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
