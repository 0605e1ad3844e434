"""Texts as an attacker would name a version, a category, a column: what no output may act on."""

import re
import unicodedata

from hypothesis import strategies as st

EVIL = "evil.example"
FORGED = "FORGED"  # at the begin of a line: a line that somebody else wrote
CONTROLS = (
    *("\x1b[31mred", "\x1b]0;title\x07", "\x1bc", "bell\x07", "back\x08space", "\x00nul", "\x7fdel"),
    *(f"lf\n{FORGED}", f"cr\r{FORGED}", f"crlf\r\n{FORGED}", f"nel\x85{FORGED}", f"vt\x0b{FORGED}"),
    *("\x9b2J", f"ff\x0c{FORGED}", f"fs\x1c{FORGED}", f"ls\u2028{FORGED}", f"ps\u2029{FORGED}", "ta\tb"),
    *("\u202egnp.exe", "\u2066iso\u2069", "\u200flr\u200e", "\u061c", "zero\u200bwidth\u200d", "\ufeffbom"),
    *("soft\xadhyphen", "tag\U000e0041", "private\ue000", "unassigned\U000e0fff", "\ufff9note\ufffb"),
)
MARKUP = (
    *("@everyone", "@here", "@channel", "@all", "@room", "<!channel>", "<!here|x>", "<@U12345678>", "<@&1>"),
    *("<users/all>", "<at>all</at>", "@**all**", "<#C12345678>", "<!subteam^S1|x>", "<!date^1^{date}^a|b>"),
    *(f"[bank](http://{EVIL})", f"![p](https://{EVIL}/p.png)", f"<http://{EVIL}|bank>"),
    *(f"[a][b] http://{EVIL}",),
    *(f"www.{EVIL}", f"<a href='http://{EVIL}'>x</a>", f"<img src=//{EVIL}/p.png>", f"HTTPS://{EVIL}/"),
    *("```code", "`code`", "||hidden||", "**bold**", "_sloped_", "__under__", "~~gone~~", "# large"),
    *("> said",),
)
FORMULAS = (
    *("=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|'/C calc'!A0", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1"),
    *("--1",),
    *('=HYPERLINK("http://evil.example")', "-", "+", "=", "-1;=1", "1\n=1"),
)
TEMPLATES = ("{{ $value }}", "{{ end }}", "{{", "}}", "{value}", "${HOME}", "%s %n", "{0.__class__}")
QUOTES = (
    "\"'`",
    "back\\slash",
    "\\",
    '"',
    "a,b;c",
    "null",
    "true",
    "1e3",
    "Größe",
    "東京",
    " spaced ",
    "'",
    "#",
)
CORPUS = (*CONTROLS, *MARKUP, *FORMULAS, *TEMPLATES, *QUOTES)

_SIGNS = st.sampled_from([*"\n\r\x1b\x07\x9b\u202e\u2028@<>[]()!*_`~|#=+-;,'\"\\{}$ ax1", f"http://{EVIL}"])
HOSTILE = st.one_of(
    st.sampled_from(CORPUS),
    st.lists(st.one_of(_SIGNS, st.sampled_from(CORPUS)), min_size=1, max_size=4).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
"""Names; lone surrogates reach no database."""

_ACTING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_LINKS = re.compile(rf"\]\(|\]\[|(?i:://{re.escape(EVIL)}|www\.{re.escape(EVIL)})")
_SIGNS_OF_CHATS = re.compile(r"[@<>`*~|#]|(?<![^\W_])_|_(?![^\W_])")


def acting(output: str) -> set[str]:
    """Characters of an output that act or are not seen; its own ends of line are none."""
    return {char for char in output if unicodedata.category(char) in _ACTING and char != "\n"}


def assert_quiet(output: str) -> None:
    """Nothing in an output of lines acts on a terminal or a log, and nobody else wrote a line of it."""
    assert acting(output) == set()
    assert not [line for line in output.splitlines() if line.startswith(FORGED)]


def marked_up(message: str) -> list[str]:
    """What a chat could act on in a message."""
    return [found[0] for found in (*_LINKS.finditer(message), *_SIGNS_OF_CHATS.finditer(message))]
