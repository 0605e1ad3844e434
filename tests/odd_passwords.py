"""Passwords that people and generators make, and how they are looked for in what a process says."""

import json
import random
import re
from urllib.parse import quote, quote_plus

WORDS = ["password", "postgres", "failed", "a", "ab", "xyz"]
"""Those that stand in messages anyway, and those that are too short to be hidden: they must work."""
# no part between spaces and @ is a word of ours, as `secret` is: it would be found where nothing leaks
_WRITTEN = [
    "pass word here",
    "p@ssphrase@home",
    "user:name:secret",
    "etc/shadow/keys",
    "who?knows?me",
    "hash#tag#rest",
    "fifty%percent",
    "%zz%4nothing",
    "%40%2Fencoded",
    "key=value&more=none",
    "one+two+three",
    "it's quoted'",
    'say "hello" loud',
    "`ticks`and",
    "back\\slash\\end\\",
    "$HOME/$PATH",
    "${HOME}and${file:/etc/passwd}",
    "{}braces{0}",
    "$${doubled}",
    "grün-äöü-ß",
    "пароль-секрет",
    "密码很长很长",
    "🔑 emoji 🔒",
    " leading",
    "trailing ",
    "  both sides  ",
    "two\nlines",
    "tab\tinside",
    "L" * 300 + "@ " + "R" * 300,
    "postgresql://x:yyyy@zzzz/w",
    "://@:/?#[]",
    "s3cret sslmode=disable host=evil",
    "'; DROP ROLE odd; --",
    "<script>alert</script>",
    "pipe|semi;comma,dot.",
    "~!^*()_-[]<>",
    "%%%%",
    "====",
    "%s%d%(name)s",
    "\\x41\\u0042\\n",
    "non\u00a0breaking",
]
_SIGNS = "abcXYZ019 @:/?#%&=+'\"\\${}[]äж€,;!"


def odd_passwords(count: int = 50, seed: int = 11) -> list[str]:
    """As many different ones, none of which ends with a line break."""
    draw = random.Random(seed)  # noqa: S311 -- the same ones for the same seed
    made = ["".join(draw.choices(_SIGNS, k=draw.randint(6, 24))) for _ in range(count)]
    return [*WORDS, *_WRITTEN, *made][:count]


def traces(password: str, said: str) -> list[str]:
    """Forms and parts of a password that stand in a text."""
    if password in WORDS:
        return []
    parts = [password, *(part for part in re.split(r"[\s@]+", password) if len(part) >= 6)]
    forms = {
        form
        for part in parts
        for form in (part, quote(part, safe=""), quote(part, safe=" +"), quote_plus(part), repr(part)[1:-1],
                     json.dumps(part)[1:-1], part.replace("'", "''"))
    }  # fmt: skip
    return sorted(form for form in forms if form in said)
