"""Words of the faults: values as the file writes them, suggestions."""

import json
from collections.abc import Iterable
from datetime import date, time
from difflib import get_close_matches

from monitor.core.text import shorten_text
from monitor.specs.urls import shown_url

_LONGEST = 80


def quote_value(value: object) -> str:
    """Write a value as the file would; of tables and URLs only what may be shown.

    >>> quote_value("7x"), quote_value(True), quote_value([1, "a"]), quote_value({"a": 1})
    ('"7x"', 'true', '[1, "a"]', 'a table')
    """
    match value:
        case dict():
            return "a table"
        case list() | tuple():
            return shorten_text(f"[{', '.join(quote_value(item) for item in value)}]", _LONGEST)
        case date() | time():
            return value.isoformat()
        case str() if "://" in value:
            return shorten_text(json.dumps(shown_url(value), ensure_ascii=False), _LONGEST)
        case str() | bool():
            return shorten_text(json.dumps(value, ensure_ascii=False), _LONGEST)
        case _:
            return shorten_text(str(value), _LONGEST)


def quote_names(names: Iterable[str]) -> str:
    """Names in quotes, between commas."""
    return ", ".join(quote_value(name) for name in names)


def suggest_word(word: str, words: Iterable[str]) -> str | None:
    """Find the known word that was most likely meant; None rather than a far-fetched one.

    >>> suggest_word("scroe", ["score", "prediction"]), suggest_word("measures", ["features"])
    ('score', None)
    """
    cutoff = 0.75 if len(word) <= len("scale") else 0.8  # two letters exchanged in a short word
    options = list(words)
    same_letters = (option for option in options if sorted(option) == sorted(word.lower()))
    nearest = get_close_matches(word.lower(), options, n=1, cutoff=cutoff)
    return next(same_letters, nearest[0] if nearest else None)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """End of a message: the suggestion, or nothing."""
    meant = suggest_word(word, words)
    return "" if meant is None else f'; did you mean "{meant}"?'
