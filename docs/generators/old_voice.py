"""Words of the old voice in what people read: `python docs/generators/old_voice.py` prints them by line.

It looks at the templates of pages, at the sentences of tests/texts, at the README, at the pages of docs and
at the example of a configuration.
Those that still have such words stand in NOT_YET, which can only shrink: one that has none has to leave it.
`--all` prints how many words each place has.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from site_pages import ROOT

OLD_WORDS = {  # pattern of the word: what we say instead
    r"told": "fired, said, known",
    r"tells? of": "says, sends",
    r"judge[sd]?|judging|judgements?": "checks, runs, compares",
    r"somebody": "you, someone, nobody: or name who acts",
    r"nothing to do": "leave it out",
    r"mend(?:s|ed|ing)?": "fix",
    r"(?:beyond|by|within) chance": "clearly; no detectable change",
    r"surely": "clearly",
    r"comes? in words": "say what comes",
    r"the whole(?! [a-z-])": "all records",
    r"odd rows?": "repeated, late or unreadable rows",
    r"gone back": "back to normal",
}
OLD_ON_PAGES = {r"kept": "stored, or open; of a moment: as it was then"}  # docs say it of stores and files
ALLOWED: tuple[tuple[str, str], ...] = ()  # (begin of a place, word): where a word is meant otherwise
NOT_YET = frozenset[str]()
RUNBOOK = ROOT / "monitor" / "pages" / "templates" / "runbook.html"  # made of docs/troubleshoot.md
_TEXTS_OF_CASES = ("page_", "report_", "command_")  # others: a case's own name, then its sentences further in
_JINJA = re.compile(r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"\"([^\"]* [^\"]*)\"")  # of more than a word: text, no name of a field
_NAMES = re.compile(
    r"<(?:script|style)\b.*?</(?:script|style)>|\b(?:class|id|name|href|for|data-\w+)=\"[^\"]*\"", re.DOTALL
)
_FENCES = re.compile(r"^ *(```|~~~).*?^ *\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)")


def old_words(text: str, words: Iterable[str] = OLD_WORDS) -> Iterator[tuple[int, str]]:
    """(Number of the line, word) of each word of the old voice, in their order."""
    pattern = re.compile(rf"\b(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, found[0].lower()) for found in pattern.finditer(line))


def template_text(text: str) -> str:
    """What a template says itself, on the lines where it says it."""

    def literals(block: re.Match[str]) -> str:
        said = "" if block[0].startswith("{#") else " | ".join(_QUOTED.findall(block[0]))
        return said + "\n" * (block[0].count("\n") - said.count("\n"))

    return _NAMES.sub(_blank, _JINJA.sub(literals, text))


def page_text(text: str) -> str:
    """What a page of docs says, without code and addresses, on its lines."""
    return _CODE.sub("", _FENCES.sub(_blank, text))


def kept_sentences(name: str, text: str) -> str:
    """What the code says in a file of tests/texts, on its lines."""
    if name.startswith(_TEXTS_OF_CASES):
        return text
    return "\n".join(line if line.startswith(" ") else "" for line in text.splitlines())


def read_places() -> dict[str, Iterator[tuple[int, str]]]:
    """By place, relative to the repository: the old words that it has."""
    templates = set((ROOT / "monitor" / "pages" / "templates").glob("*.html")) - {RUNBOOK}
    texts = (ROOT / "tests" / "texts").glob("*.txt")
    pages = [ROOT / "README.md", ROOT / "config.example.toml", *(ROOT / "docs").glob("*.md")]
    on_pages = OLD_WORDS | OLD_ON_PAGES
    return {
        **{_place(path): old_words(template_text(_read(path)), on_pages) for path in sorted(templates)},
        **{
            _place(path): old_words(kept_sentences(path.name, _read(path)), on_pages)
            for path in sorted(texts)
        },
        **{_place(path): old_words(page_text(_read(path))) for path in sorted(pages)},
    }


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _is_allowed(place: str, word: str) -> bool:
    return any(place.startswith(where) and word == what for where, what in ALLOWED)


def main(options: Sequence[str]) -> int:
    """Print each old word with its place, and each page that may leave NOT_YET; 1: there is one."""
    found = {
        place: [(line, word) for line, word in words if not _is_allowed(place, word)]
        for place, words in read_places().items()
    }
    faults = [f"{place}:{line}: {word}" for place in found.keys() - NOT_YET for line, word in found[place]]
    faults += [
        f"{place}: has no old word: take it out of NOT_YET" for place in NOT_YET if not found.get(place)
    ]
    print(*sorted(faults), sep="\n", end="\n" if faults else "")
    if "--all" in options:
        print(*(f"{len(words):4} {place}" for place, words in found.items() if words), sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
