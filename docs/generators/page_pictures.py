"""Pages of the demo as pictures, by the system's Chromium: `make pictures`, after `make demo ARGS=--exit`.

Beside each picture stand its size, its hash and what the page says, by which tests know a stale one.
"""

import hashlib
import shutil
import struct
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from monitor.app.application import App, open_application
from monitor.app.demo_run import END
from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.config.config_loading import settings_of
from monitor.web.server import ThreadedServer, make_app

ROOT = Path(__file__).parents[2]
PICTURES = {
    "page-fleet.png": "/",
    "page-model.png": "/models/late",
    "page-performance.png": "/models/late/performance?window=month&end=2013-12-01",
    "page-inputs.png": "/models/late/features",
    "page-feature.png": "/models/late/feature?name=temp_f&end=2013-11-26&of=level",
    "page-segments.png": "/models/late/segments",
    "page-experiments.png": "/models/late/compare",
    "page-feed.png": "/models/late/log",
    "page-measures.png": "/models/late/measures?window=month&q=roc_auc",
    "page-incident.png": "/models/late/incidents/2013-12-31-inputs-missing",
    "page-report.png": "/models/late/report?period=2013-11",
}
PLACE = ROOT / "docs" / "pictures"
WIDTH, TALLEST = 1280, 1180
_LOWEST = "Math.ceil(Math.max(...[...document.body.children].map(one => one.getBoundingClientRect().bottom)))"
_UNSEEN = frozenset({"head", "details", "footer"})  # at first sight, or another one with each release


def described(picture: Path) -> str:
    """Name, size and hash of a picture, by which it is known that the text beside it is its own."""
    data = picture.read_bytes()
    wide, tall = struct.unpack(">II", data[16:24])
    return f"{picture.name}: {wide} x {tall}, sha256 {hashlib.sha256(data).hexdigest()}"


def told(html: str) -> str:
    """What a page says before anything is opened, a line a text."""
    reader = _Reader()
    reader.feed(html)
    return "\n".join(reader.lines)


def texts(app: App, now: int = END, *, newest: bool = False) -> Iterator[tuple[str, str]]:
    """(picture, what its page says) of the demo's store; `newest`: of the newest windows that it has.

    Without those of what has not happened yet.
    """
    pages = KeptPages(StoreData(app, lambda: now))
    for name, address in PICTURES.items():
        path, _, query = address.partition("?")
        query = query.partition("&end=")[0] if newest else query
        answer = pages.answer_page(path, query, "")
        if answer.status == 200 or not newest:
            yield name, told(answer.body.decode())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _UNSEEN:
            self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._within:
            self.lines.append(text)


def main() -> None:
    """Write the pictures, and the texts beside them."""
    from playwright.sync_api import sync_playwright

    config, program = ROOT / "monitor-demo" / "config.toml", shutil.which("chromium")
    if not config.exists() or program is None:
        sys.exit(
            "first `make demo ARGS=--exit`; Chromium must be on the PATH (Debian: apt-get install chromium)"
        )
    with (
        open_application(settings_of(config, {}), config.parent, keeps=False) as app,
        sync_playwright() as started,
    ):
        pages = KeptPages(StoreData(app, lambda: END))
        server = ThreadedServer(make_app(None, healthy=lambda: None, ready=lambda: None, pages=pages), port=0)
        server.start_serving()
        browser = started.chromium.launch(
            executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for name, address in PICTURES.items():
            path, _, query = address.partition("?")
            page = browser.new_page(viewport={"width": WIDTH, "height": TALLEST}, color_scheme="light")
            if path.endswith("/report"):  # a file to save, which needs nothing beside it
                page.set_content(pages.answer_page(path, query, "").body.decode())
            else:
                page.goto(f"http://127.0.0.1:{server.port}{address}")
            height = min(TALLEST, page.evaluate(_LOWEST))
            page.screenshot(
                path=PLACE / name, clip={"x": 0, "y": 0, "width": WIDTH, "height": height}, scale="css"
            )
        browser.close()
        server.stop_serving()
        for name, text in texts(app):
            kept = PLACE / name
            kept.with_suffix(".txt").write_text(f"{described(kept)}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
