"""Text that people read, and names: characters that act, or that nobody sees, are shown as escapes."""

import hashlib
from unicodedata import category

MOST_BYTES = 200  # of a name: indexes of databases hold a few thousand bytes in all

_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


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


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def name_of(text: str) -> str:
    r"""Name under which a text of the data is counted and shown: readable, of at most 200 bytes.

    A text that cannot be a name as it stands is escaped and cut, and ends in `~` and eight digits of its
    SHA-256: so two texts have two names. What is a name already stays as it is.

    >>> name_of("late-2"), name_of("a\x00b"), len(name_of(3_000 * "x"))
    ('late-2', 'a\\x00b~59b271ae', 200)
    """
    if len(text) <= MOST_BYTES // 4 and text.isprintable():  # no character has more than four bytes
        return text
    shown = readable(text)
    return text if shown == text and len(text.encode()) <= MOST_BYTES else _marked(shown, text)


def reserved(name: str) -> str:
    """Name of a text that is spelled like one of our own names, told apart from it as in `name_of`."""
    return _marked(name, name)


def _marked(shown: str, text: str) -> str:
    mark = f"~{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return shown.encode()[: MOST_BYTES - len(mark)].decode(errors="ignore") + mark
