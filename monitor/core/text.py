"""Text that people read: names, numbers, durations. What acts, or what nobody sees, is shown as an escape."""

import codecs
import hashlib
import json
import math
import re
from typing import Any
from unicodedata import category

MOST_BYTES = 200  # of a name: indexes of databases hold a few thousand bytes in all
_LONGEST = 1_000  # characters of a line that may name anything
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 -- spreadsheets take the wide ones too

# Found now: it is a file, and lines of the log are also written where the process can open no more files.
_escaped = codecs.getencoder("unicode_escape")
_PART = re.compile(r'"(?:[^"]|"")+"|[^".]+')
_QUOTED = re.compile(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*')


def readable_text(text: str) -> str:
    r"""Text in one line of which every character is seen and none acts on a terminal, a log or a chat.

    Controls, formats (bidi, zero width, tags), lone surrogates, private and unassigned characters, and
    separators of lines and paragraphs are written as Python's escapes. All else stays, backslashes too: what
    is readable already is not changed again.

    >>> print(readable_text("a\x1b[31m\nb\u202e\ufeff\U000e0041"), readable_text("Größe 東京 €"))
    a\x1b[31m\nb\u202e\ufeff\U000e0041 Größe 東京 €
    """
    if text.isprintable():
        return text
    return "".join(_escaped(char)[0].decode("ascii") if category(char) in _ACTING else char for char in text)


def readable_lines(text: str) -> str:
    r"""Text of several lines, each readable: for text whose ends of line are our own.

    >>> print(readable_lines("a\nb\r"))
    a
    b\r
    """
    return "\n".join(map(readable_text, text.split("\n")))


def csv_cell(value: object) -> object:
    """Value of a CSV: text is readable, and no spreadsheet takes it for a formula; numbers stay numbers.

    >>> csv_cell("=1+1"), csv_cell("-1.5"), csv_cell(-1.5), csv_cell("a-b")
    ("'=1+1", '-1.5', -1.5, 'a-b')
    """
    if not isinstance(value, str):
        return value
    text = readable_text(value)
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
    return "".join(_escape_char(char) if category(char) in _ACTING else char for char in written)


def make_shown_name(text: str) -> str:
    r"""Name under which a text of the data is counted and shown: readable, of at most 200 bytes.

    A text that cannot be a name as it stands is escaped and cut, and ends in `~` and eight digits of its
    SHA-256: so two texts have two names. What is a name already stays as it is.

    >>> make_shown_name("late-2"), make_shown_name("a\x00b"), len(make_shown_name(3_000 * "x"))
    ('late-2', 'a\\x00b~59b271ae', 200)
    """
    if len(text) <= MOST_BYTES // 4 and text.isprintable():  # no character has more than four bytes
        return text
    shown = readable_text(text)
    return text if shown == text and len(text.encode()) <= MOST_BYTES else _marked_name(shown, text)


def mark_reserved_name(name: str) -> str:
    """Name of a text that is spelled like one of our own names, marked as in `make_shown_name`."""
    return _marked_name(name, name)


def _marked_name(shown: str, text: str) -> str:
    mark = f"~{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return shown.encode()[: MOST_BYTES - len(mark)].decode(errors="ignore") + mark


def _escape_char(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def number_text(value: float | None) -> str:
    """Four significant digits; thousands in full; empty for None.

    >>> (number_text(0.012345), number_text(9327.6), number_text(1234567.0), number_text(None),
    ... number_text(-math.inf))
    ('0.01235', '9,328', '1,234,567', '', '-inf')
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:.4g}"


def duration_text(seconds: float, units: int = 2) -> str:
    """Two units or more, the smallest one rounded; three significant digits below a minute.

    >>> (duration_text(52_353), duration_text(3_599.7), duration_text(86_400), duration_text(12.5),
    ... duration_text(129_780, 3))
    ('14h 33m', '1h 0m', '1d 0h', '12.5s', '1d 12h 3m')
    """
    if not math.isfinite(seconds):
        return str(seconds)
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    for first in range(len(_UNITS) - 1):
        used = _UNITS[first : first + units]
        left = round(size / used[-1][0]) * used[-1][0]
        if left >= used[0][0]:
            sentences = []
            for each, name in used:
                whole, left = divmod(left, each)
                sentences.append(f"{whole}{name}")
            return sign + " ".join(sentences)
    return f"{sign}{size:.3g}s"


def brief_line(line: str) -> str:
    """A line whose end is left out where it is too long: it may name anything, of any length.

    >>> len(brief_line("x" * 100_000)), brief_line("monitor: no such table")
    (1000, 'monitor: no such table')
    """
    return shorten_text(line, _LONGEST)


def shorten_text(text: str, longest: int) -> str:
    """A text of so many characters at most: the end of a longer one is left out.

    >>> shorten_text("customer", 4), shorten_text("plan", 4)
    ('cus…', 'plan')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def content_hash(plain: object) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a plain value's canonical JSON."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def unquote_table(table: str) -> str:
    """Name of a table as a database knows it, that may be written as its shell shows it.

    Raises
    ------
    ValueError
        if a dot stands in a quoted part: parts are told by dots.

    >>> unquote_table('"Risk"."Loan Scores"'), unquote_table("public.loans"), unquote_table('say "x"')
    ('Risk.Loan Scores', 'public.loans', 'say "x"')
    """
    if not _QUOTED.fullmatch(table):
        return table
    parts = [part.replace('""', '"') for part in _PART.findall(table)]
    if any("." in part for part in parts if part.startswith('"')):
        raise ValueError(f"a table whose name holds a dot is read through a query: got {table}")
    return ".".join(part[1:-1] if part.startswith('"') else part for part in parts)
