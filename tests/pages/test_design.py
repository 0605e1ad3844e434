"""The design: how large sheet and script are, whether its colours can be read, what no template may hold."""

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from gallery import gallery_html

from monitor.pages.page_templates import read_asset

SHEET = read_asset("pages.css").decode()
SCRIPT = read_asset("pages.js").decode()
TEMPLATES = {
    one.name: one.read_text() for one in files("monitor.pages").joinpath("templates").iterdir()
    if one.name.endswith(".html")
}  # fmt: skip
TEXTS = ("ink", "soft", "blue", "red", "amber", "green")
ON = ("card", "bg")
TINTS = {"red": "red-t", "amber": "amber-t", "green": "green-t"}
MADE_ELSEWHERE = {"runbook.html"}  # from docs/troubleshoot.md


def tokens() -> dict[str, tuple[str, str]]:
    """Colours of the sheet by name: in the light theme and in the dark one."""
    return dict(_tokens())


def _tokens() -> Iterator[tuple[str, tuple[str, str]]]:
    for name, light, dark in re.findall(r"--([\w-]+):light-dark\((#\w+),(#\w+)\)", SHEET):
        yield name, (light, dark)


def luminance(colour: str) -> float:
    """Relative luminance of a colour, by WCAG 2."""
    text = colour.removeprefix("#")
    parts = [text[at : at + 2] for at in (0, 2, 4)] if len(text) == 6 else [2 * one for one in text]
    channels = [int(part, 16) / 255 for part in parts]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, by WCAG 2.

    >>> round(contrast("#fff", "#000"))
    21
    """
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_sheet_and_script_are_small() -> None:
    assert len(SHEET.encode()) <= 28_000
    assert len(SCRIPT.encode()) <= 12_000


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_of_text_can_be_read_and_those_of_marks_seen(theme: int) -> None:
    colours = {name: both[theme] for name, both in tokens().items()}
    texts = {(name, ground): contrast(colours[name], colours[ground]) for name in TEXTS for ground in ON}
    texts |= {(name, tint): contrast(colours[name], colours[tint]) for name, tint in TINTS.items()}
    texts |= {("on", "blue"): contrast(colours["on"], colours["blue"])}
    texts |= {("soft", "sunk"): contrast(colours["soft"], colours["sunk"])}
    texts |= {("ink", "blue-t"): contrast(colours["ink"], colours["blue-t"])}
    marks = {(name, "card"): contrast(colours[name], colours["card"]) for name in ("mark", "grey2")}

    assert {pair: ratio for pair, ratio in texts.items() if ratio < 4.5} == {}
    assert {pair: ratio for pair, ratio in marks.items() if ratio < 3.0} == {}


def test_no_colour_stands_in_the_sheet_but_as_a_token() -> None:
    rules = SHEET.partition("--s8:32px}")[2]

    assert set(re.findall(r"#[0-9a-f]{3,8}\b(?![^;}]*\{)", rules)) <= {
        "#0003",
        "#0004",
        "#000",
        "#0000",
        "#fff",
    }


def test_templates_hold_no_style_and_no_script() -> None:
    for name, text in {**TEMPLATES, "gallery": gallery_html()}.items():
        bare = text.replace("<style>{{ sheet }}</style>", "").replace(
            '<script src="{{ frame.script }}" defer></script>', ""
        )
        bare = re.sub(r'<script src="/static/\w+/pages\.js" defer></script>', "", bare)
        assert not re.search(r"<style|<script|\sstyle=|\son[a-z]+=|javascript:", bare), name
