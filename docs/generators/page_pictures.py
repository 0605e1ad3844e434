"""Pages of the demo as pictures, by the system's Chromium: `make pictures`, after `make demo ARGS=--exit`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from monitor.app.demo import END
from monitor.app.pages.keeping import KeptPages
from monitor.app.pages.reading import StoreData
from monitor.app.wiring import opened
from monitor.config.load import settings_of
from monitor.web.server import Server, make_app

ROOT = Path(__file__).parents[2]
PICTURES = {
    "page-model.png": "/models/late",
    "page-window.png": "/models/late/performance?window=month&end=2013-12-01",
    "page-features.png": "/models/late/features",
    "page-feature.png": "/models/late/feature?name=temp_f&window=month&end=2013-11-01",
}
SIZE = (1280, 1180)


def main() -> None:
    """Write the pictures."""
    config, program = ROOT / "monitor-demo" / "config.toml", shutil.which("chromium")
    if not config.exists() or program is None:
        sys.exit(
            "first `make demo ARGS=--exit`; Chromium must be on the PATH (Debian: apt-get install chromium)"
        )
    with opened(settings_of(config, {}), config.parent, keeps=False) as app, sync_playwright() as started:
        pages = KeptPages(StoreData(app, lambda: END))
        server = Server(make_app(None, healthy=lambda: None, ready=lambda: None, pages=pages), port=0)
        server.start()
        browser = started.chromium.launch(
            executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        for name, address in PICTURES.items():
            page.goto(f"http://127.0.0.1:{server.port}{address}")
            page.screenshot(path=ROOT / "docs" / "pictures" / name)
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()
