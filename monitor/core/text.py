"""Text that people read: characters that act, or that nobody sees, are shown as escapes."""

from unicodedata import category

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
