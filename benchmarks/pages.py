"""CPU of pages: medians of requests in one process, without the pages that are kept already.

Three stores: the demo's (made by `make demo ARGS=--exit`), one of hourly panes, one of 300 features and 90
daily windows. The first request of each address is told apart: it reads what later ones have. Where Chromium
is, it opens the same pages: how many nodes they have, and how long after the last byte they have loaded.
python benchmarks/pages.py DIRECTORY [DEMO_CONFIG]
"""

import gc
import gzip
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from playwright.sync_api import sync_playwright
from serving import Bench, bench_in

from monitor.app.application import App, open_application
from monitor.app.demo_run import END as DEMO_END
from monitor.app.model_cycles import run_single_cycle
from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.cli.commands import NEW_OBJECTS
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.pages.model_report import render_report_html
from monitor.pages.report_periods import AskedPeriod
from monitor.pages.routes import answer_page
from monitor.specs.settings import HttpSpec
from monitor.web.guard import allowed_page_hosts
from monitor.web.server import ThreadedServer, make_app

REQUESTS = 20
_LOADED = """() => {
  const [entry] = performance.getEntriesByType("navigation");
  return entry.loadEventEnd - entry.responseEnd;
}"""
ALERT = "since=1385424000000000&subject=feature%3Atemp_f"  # of the budget: 29 days are drawn
END = from_iso("2024-04-01")
MODEL = """
[[models]]
name = "made"
source = "log"
task = "binary"
every = "1d"
pane = "{pane}"
windows = [{windows}]
horizon = "100d"
settle_after = "0s"
resamples = 20
reading = {{ ready_after = "0s" }}
labels = {{ table = "labels", id = "id", label = "late", reported_at = "reported_at" }}
reference = {{ table = "reference" }}
features = {{ numeric = [{features}] }}

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
score = "score"
threshold = 0.5
"""


def main(directory: Path, demo: str = "monitor-demo/config.toml") -> None:
    """Make the stores, and print what pages of them take."""
    gc.set_threshold(NEW_OBJECTS)  # as the program does
    config = Path(demo)
    if config.exists():
        print("the demo")
        with open_application(settings_of(config, {}), config.parent, keeps=False) as app:
            addresses = (
                *("/", "/models/late", "/models/late?window=1d&range=1y"),
                "/models/late/performance?window=month&end=2013-12-01",
                *("/models/late/features", "/models/late/feature?name=temp_f", "/models/late/compare"),
                *("/models/late/segments", "/models/late/log", f"/models/late/alerts/changed?{ALERT}"),
                *("/models/late/measures", "/models/late/measures/roc_auc?window=1d&range=1y"),
                "/models/late/log?window=1d&range=1y",
            )
            timed(app, DEMO_END, addresses)
            reported(app, DEMO_END, "late", "month")
    print("hourly panes, a month of 720")
    hourly = made(directory / "hourly", "1h", '"month"', features=16, days=31, a_day=600)
    with hourly.app() as app:
        month = f"end={to_iso(END)}"
        timed(app, END, (f"/models/made/performance?{month}", f"/models/made/feature?name=x0&{month}"))
    print("300 features, 90 daily windows")
    wide = made(directory / "wide", "1d", '{ length = "1d", step = "1d" }', features=300, days=90, a_day=150)
    with wide.app() as app:
        addresses = ("/models/made/features?range=90d", "/models/made/feature?name=x7", "/models/made")
        timed(app, END, (*addresses, "/models/made/measures"))
        reported(app, END, "made", "1d")


def made(directory: Path, pane: str, windows: str, *, features: int, days: int, a_day: int) -> Bench:
    """A log of random numbers up to a moment, counted and measured by one cycle."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in directory.glob("*.db*"):
        file.unlink()
    bench, rng = bench_in(directory), np.random.default_rng(1)
    names = [f"x{at}" for at in range(features)]
    types = {"score": "REAL", **dict.fromkeys(names, "REAL")}
    bench.database.create("predictions", id="TEXT", event_time="TEXT", **types)
    bench.database.create("labels", id="TEXT", late="INTEGER", reported_at="TEXT")
    bench.database.create("reference", late="INTEGER", **types)
    count = days * a_day
    for table, n in (("predictions", count), ("reference", 2_000)):
        scores, values = rng.uniform(size=n).round(4), rng.normal(size=(n, features)).round(4)
        late = (rng.uniform(size=n) < scores).astype(int).tolist()
        rows = [
            {"score": score, **dict(zip(names, row, strict=True))}
            for score, row in zip(scores.tolist(), values.tolist(), strict=True)
        ]
        if table == "reference":
            bench.database.insert(table, [{"late": one, **row} for one, row in zip(late, rows, strict=True)])
            continue
        times = np.linspace(END - days * DAY, END, n, endpoint=False).astype(np.int64).tolist()
        bench.database.insert(
            table,
            [{"id": str(at), "event_time": to_iso(times[at]), **row} for at, row in enumerate(rows)],
        )
        bench.database.insert(
            "labels",
            [{"id": str(at), "late": one, "reported_at": to_iso(times[at])} for at, one in enumerate(late)],
        )
    listed = ", ".join(f'"{name}"' for name in names)
    bench.configure(MODEL.format(pane=pane, windows=windows, features=listed))
    with bench.app() as app:
        report = run_single_cycle(app, "made", END)
        if report.error is not None:
            sys.exit(report.error)
    return bench


def timed(app: App, now: int, addresses: Sequence[str]) -> None:
    """Print CPU and size of each address."""
    for address in addresses:
        data, taken = StoreData(app, lambda: now), []
        path, _, query = address.partition("?")
        for _ in range(REQUESTS + 1):
            before = time.process_time()
            found = answer_page(data, path, query)
            taken.append(1_000 * (time.process_time() - before))
        first, *others = taken
        packed = len(gzip.compress(found.body, 6))
        print(
            f"  {address:48} {found.status} first {first:6.1f} ms, median {np.median(others):6.1f} ms, "
            f"{len(found.body) / 1_000:6.1f} kB, {packed / 1_000:5.1f} kB packed"
        )
    browsed(app, now, addresses)


def reported(app: App, now: int, model: str, window: str) -> None:
    """Print CPU and size of a report."""
    data, taken = StoreData(app, lambda: now), []
    for _ in range(REQUESTS):
        before = time.process_time()
        text = render_report_html(data, model, AskedPeriod(window=window), None)
        taken.append(1_000 * (time.process_time() - before))
    print(f"  report {' ':41} median {np.median(taken):6.1f} ms, {len(text) / 1_000:6.1f} kB")


def browsed(app: App, now: int, addresses: Sequence[str]) -> None:
    """Print how many nodes a browser makes of each address, and when it has loaded: medians of five."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("  no chromium: nothing is opened")
        return
    pages = KeptPages(StoreData(app, lambda: now))
    web = make_app(
        None, healthy=lambda: None, ready=lambda: None, pages=pages, hosts=allowed_page_hosts(HttpSpec())
    )
    server = ThreadedServer(web, port=0)
    server.start_serving()
    with sync_playwright() as started:
        page = started.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        ).new_page()
        for address in addresses:
            loaded = []
            for _ in range(5):
                page.goto(f"http://127.0.0.1:{server.port}{address}")
                loaded.append(page.evaluate(_LOADED))
            nodes = page.locator("*").count()
            print(f"  {address:48} {nodes:5} nodes, loaded {np.median(loaded):4.0f} ms after")
    server.stop_serving()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
