"""A store to look at, made once, and what a page says, read back from its HTML."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

from fleet_log import fleet
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.web.answers import PageAnswer

START, END = from_iso("2024-03-01"), from_iso("2024-04-10")
BROKEN = END - 2 * DAY  # from when on a feature is missing
NOW = from_iso("2024-03-20")  # of the bench of tasks
OPTIONS = """
every = "1d"
pane = "1d"
windows = [{ length = "1d", step = "1d" }, { length = "7d", step = "7d" }, "month"]
horizon = "60d"
settle_after = "1d"
resamples = 20
reading = { ready_after = "0s" }
"""
BUSY = """
[[models.alerts]]
name = "busy"
measure = "records"
above = 20
severity = "critical"
"""
BARE = """
[[models]]
name = "bare"
source = "log"
task = "binary"
every = "1d"
windows = ["1d"]
horizon = "60d"
predictions = { table = "predictions", id = "id", event_time = "event_time", logged_at = "logged_at", score = "score", threshold = 0.5 }
"""  # noqa: E501 -- TOML's inline tables take one line
NEVER = BARE.replace('"bare"', '"never"')


def bench_of_pages(directory: Path) -> Bench:
    """Forty days, a cycle each fourth: a model with all, one without labels and reference, one never run."""
    rows = predictions(1_600, START, END)
    bench = sqlite_bench(directory, rows, model(options=OPTIONS) + BUSY, BARE, NEVER, labelled=END)
    with bench.app() as app:
        from monitor.app.model_cycles import run_single_cycle

        for day in range(4, (END - START) // DAY + 1, 4):
            assert run_single_cycle(app, "late", START + day * DAY).error is None
        assert run_single_cycle(app, "bare", END).error is None
    return bench


def bench_of_inputs(directory: Path) -> Bench:
    """Forty days that are judged, of which the last two have no amount; a cycle each of the last five."""
    rows = predictions(2_400, START, END)
    for row in rows:
        if row["event_time"] >= to_iso(BROKEN):
            row["amount"] = None
    bench = sqlite_bench(directory, rows, model(options=OPTIONS), labelled=END)
    with bench.app() as app:
        from monitor.app.model_cycles import run_single_cycle

        for days in (30, 4, 3, 2, 1, 0):
            assert run_single_cycle(app, "late", END - days * DAY).error is None
    return bench


@dataclass(frozen=True, slots=True)
class Looked:
    """An answer, and its elements: (tag, attributes) in order; its texts."""

    status: int
    text: str
    elements: tuple[tuple[str, dict[str, str | None]], ...]
    words: str
    answer: PageAnswer

    def plain(self) -> Any:
        """The answer's JSON."""
        return json.loads(self.text)

    def tags(self, *names: str) -> list[str]:
        """Tags of these names, in order."""
        return [tag for tag, _ in self.elements if tag in names]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(answer: PageAnswer) -> Looked:
    """What an answer says."""
    text = answer.body.decode()
    reader = _Reader()
    reader.feed(text)
    words = " ".join(" ".join(reader.words).split())
    return Looked(answer.status, text, tuple(reader.elements), words, answer)


@contextmanager
def looking(bench: Bench, now: int = END) -> Iterator["Pages"]:
    """The pages of a bench at a moment."""
    with bench.app() as app:
        yield Pages(KeptPages(StoreData(app, lambda: now)))


def copied(bench: Bench, directory: Path) -> Bench:
    """The same log with a copy of the store, to be changed."""
    copy = Bench(directory, bench.database, f"sqlite:///{directory}/monitor.db")
    shutil.copy(bench.directory / "monitor.db", directory)
    text = bench.config.read_text(encoding="utf-8").replace(bench.store_url, copy.store_url)
    copy.config.write_text(text, encoding="utf-8")
    return copy


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages by their addresses."""

    kept: KeptPages

    def at(self, address: str, known: str = "") -> Looked:
        """Page at an address."""
        path, _, query = address.partition("?")
        return read(self.kept.answer_page(path, query, known))


def bench_of_tasks(directory: Path) -> Bench:
    """Sixteen days of models of two classes, of three, and of numbers, with versions, segments and arms."""
    from monitor.app.model_cycles import run_single_cycle

    bench = fleet(directory, NOW, 9839)
    with bench.app() as app:
        for name in app.model_names():
            for moment in (NOW - DAY, NOW):
                assert run_single_cycle(app, name, moment).error is None
    return bench


def read_back(figure: str) -> float:
    """Area under the main line of a figure whose axes go from 0 to 1."""
    path = re.search(r'<path class="line main" d="M([^"]*)"', figure)
    tall = re.search(r'class="paths"[^>]*viewBox="0 0 1000 (\d+)"', figure)
    assert path is not None
    assert tall is not None
    points = [tuple(map(float, pair.split())) for pair in path[1].split("L")]
    shares = [(x / 1000, 1 - y / int(tall[1])) for x, y in points]
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(shares))


def assert_whole(page: Looked) -> None:
    """One heading above all, levels in order, ids once, and nothing that the page asks elsewhere for."""
    assert page.tags("h1") == ["h1"]
    levels = [int(tag[1]) for tag in page.tags("h1", "h2", "h3", "h4")]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert "://" not in page.text
    assert page.tags("style") == []
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag
        for name in ("href", "src", "action"):
            value = attributes.get(name) or "/"
            assert value.startswith(("/", "#", "data:,")), value
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


BLOCKS = {
    "p", "div", "section", "tr", "li", "dt", "dd", "h1", "h2", "h3", "h4", "option", "figcaption", "nav",
    "article", "summary", "caption", "table", "header", "footer", "main", "form", "ul", "svg", "title",
}  # fmt: skip
UNSEEN = {"style", "script", "details"}  # of details their summary is seen


class _VisibleText(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.unseen += (tag in UNSEEN) - (tag == "summary")
        if not self.unseen:
            self.said.append("\n" if tag in BLOCKS else " | " if tag in {"td", "th"} else " ")

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= (tag in UNSEEN) - (tag == "summary")
        if not self.unseen:
            self.said.append("\n" if tag in BLOCKS else " ")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.said.append(" ".join(data.split()))


def visible_text(page: str) -> str:
    """The text of a page, a line for each of its blocks."""
    reader = _VisibleText()
    reader.feed(page)
    lines = (" ".join(line.split()).removeprefix("| ") for line in "".join(reader.said).split("\n"))
    return "\n".join(line for line in lines if line)
