"""Names in statements and in messages: literals, titles, the name that was probably meant."""

import difflib
from collections.abc import Iterable, Sequence

from monitor.specs.model_spec import Relation

_SHOWN = 8  # names


def text_literal(value: str) -> str:
    """Literal of a text; a backslash is a character like others, as in standard SQL."""
    return "'" + value.replace("'", "''") + "'"


def backslash_escaped(value: str, quote: str) -> str:
    """A text between quotes where a backslash begins an escape, and a line may not end."""
    escapes = {"\\": "\\\\", quote: f"\\{quote}", "\n": "\\n", "\r": "\\r"}
    return f"{quote}{''.join(escapes.get(one, one) for one in value)}{quote}"


def title_of(relation: Relation) -> str:
    """What messages call a relation."""
    if relation.table is not None:
        return f'table "{relation.table}"'
    start = " ".join((relation.query or "").split())
    return f'query "{start[:40]}{"…" if len(start) > 40 else ""}"'


def name_nearest(name: str, names: Sequence[str]) -> str:
    """The known name that looks most like it, or all of them where they are few."""
    if near := suggest_name(name, names):
        return near
    shown = ", ".join(f'"{one}"' for one in names[:_SHOWN])
    return "" if not names else f"; there are {shown}{', …' if len(names) > _SHOWN else ''}"


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Suggestion of the known name that looks most like it, or nothing."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f'; did you mean "{by_lower[matches[0]]}"?' if matches else ""
