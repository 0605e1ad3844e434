"""How many sentences of a page are long: `python docs/generators/sentence_lengths.py` prints it by page.

A sentence that needs reading twice is mostly a long one. Tables, code and headings are not counted; a code
span is one word. Other words for what the glossary of docs/concepts.md names are found as well.
"""

import re
import sys
import tomllib
from pathlib import Path

from notebook_pages import text_of
from site_pages import ROOT, pages

MOST_WORDS = 25
MOST_LONG = 0.10  # share of the sentences of a page
HURRIED = ("Start", "How-to", "Concepts", "Operate", "Troubleshoot")  # sections whose readers are in a hurry
OTHER_WORDS = {  # for what the glossary names otherwise
    "ground truth": "label",
    "feedback": "label",
    "observation": "record",
    "instance": "record",
    "inference": "prediction",
    "bucket": "cell",
    "bin": "cell",
    "tile": "pane",
    "time slot": "pane",
    "baseline": "reference",
    "cohort": "segment",
    "subgroup": "segment",
    "variant": "arm",
    "kpi": "measure",
    "alarm": "alert",
    "backfill": "replay",
    "covariate drift": "shift",
    "data drift": "shift",
}
_OTHERS = re.compile(rf"\b({'|'.join(OTHER_WORDS)})s?\b", re.IGNORECASE)
_BLOCKS = re.compile(r"^ *(```|~~~).*?^ *\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_APART = re.compile(r"^ *(?:[#|<]|---|\d+\. |[*-] |> )", re.MULTILINE)
_ENDS = re.compile(r"(?<=[.!?:;])[\"”*_)]*\s+(?=[\"“*_(]*[A-Z`\d])")


def sentences(text: str) -> list[str]:
    """Sentences of a page, in their order."""
    text = _LINK.sub(r"\1", _CODE.sub("code", _BLOCKS.sub("\n\n", text)))
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(("#", "|", "<")))
    apart = _APART.sub("\n\n", "\n".join(lines))
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", apart))
    return [one for part in paragraphs for one in _ENDS.split(part) if len(one.split()) > 1]


def long_ones(text: str) -> list[str]:
    """Sentences of more words than a reader in a hurry takes in at once."""
    return [one for one in sentences(text) if len(one.split()) > MOST_WORDS]


def other_words(text: str) -> list[tuple[str, str]]:
    """(Word, sentence) wherever a page has another word for a thing that the glossary names."""
    return [(word[1].lower(), one) for one in sentences(text) for word in _OTHERS.finditer(one)]


def hurried_pages() -> list[Path]:
    """Pages of the sections whose readers are in a hurry."""
    site = tomllib.loads((ROOT / "docs" / "site.toml").read_text(encoding="utf-8"))
    sources = {place: name for name, place in pages().items()}
    found = []
    for entry in site["project"]["nav"]:
        ((section, inside),) = entry.items()
        listed = [place for one in inside for place in one.values()] if isinstance(inside, list) else [inside]
        if section in HURRIED:
            found += [ROOT / sources[place] for place in listed]
    return found


def main() -> int:
    """Print the share of long sentences by page, and with names the sentences themselves; 1: too many.

    A word that is none of the glossary's is printed with its sentence, and is one too many.
    """
    worst, strange = 0.0, 0
    for page in [Path(name).resolve() for name in sys.argv[1:]] or hurried_pages():
        text = text_of(page)
        found, everything = long_ones(text), len(sentences(text))
        worst = max(worst, len(found) / everything)
        print(f"{len(found) / everything:6.1%} of {everything:4} {page.relative_to(ROOT)}")
        if sys.argv[1:]:
            print(*(f"    {len(one.split())}: {one}" for one in found), sep="\n")
        for word, one in other_words(text):
            print(f'    "{word}": the glossary says {OTHER_WORDS[word]}: {one}')
            strange += 1
    return int(worst > MOST_LONG or strange > 0)


if __name__ == "__main__":
    sys.exit(main())
