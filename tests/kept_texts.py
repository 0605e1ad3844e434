"""Texts that users read, each kept in a file of tests/texts: `make texts` writes them, tests compare them."""

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("texts")
TEMPORARY = re.compile(r"/[^\s\"']*/pytest-of-[^/]+/pytest-\d+(/popen-gw\d+)?/[^/\s\"':]+")
HASH = re.compile(r"\b(\d+\.\d+\.\d+\+)?[0-9a-f]{12,16}\b(?!\.)")
WRITTEN = "MONITOR_TEXTS_ARE_WRITTEN"  # by `make texts`


def compare_text(name: str, made: str) -> None:
    """Compare a text with the one that is kept, or keep it."""
    file = FOLDER / f"{name}.txt"
    made = f"{HASH.sub('HASH', TEMPORARY.sub('DIRECTORY', made)).rstrip()}\n"
    if os.environ.get(WRITTEN):
        file.write_text(made, encoding="utf-8", newline="\n")
        return
    kept = file.read_text(encoding="utf-8") if file.exists() else ""
    if made != kept:
        lines = difflib.unified_diff(kept.splitlines(), made.splitlines(), f"tests/texts/{name}.txt", "made")
        changed = "\n".join([line.rstrip("\n") for line in lines])
        pytest.fail(f"{changed}\nIs the new text meant? Run `make texts` and read the diff.", pytrace=False)


def compare_cases(name: str, cases: Iterable[tuple[str, str | Iterable[str]]]) -> None:
    """Compare what is said of each case: a line that names it, and the texts below, indented."""
    compare_text(name, "\n\n".join(f"{case}\n{_indented(said)}" for case, said in cases))


def _indented(said: str | Iterable[str]) -> str:
    texts = [said] if isinstance(said, str) else list(said)
    lines = [line for text in texts or ["(nothing)"] for line in text.strip("\n").split("\n")]
    return "\n".join(f"    {line}".rstrip() for line in lines)
