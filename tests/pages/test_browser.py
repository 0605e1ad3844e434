"""Pages in a real browser: accessible, whole at any width, quiet, usable by keys; the report in print."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browsing import faults_of, opened, tip_of
from looked_at import END, NOW
from playwright.sync_api import Browser
from serving import Bench

from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.specs.settings import HttpSpec
from monitor.web.decision_form import make_decision_form
from monitor.web.guard import allowed_page_hosts
from monitor.web.server import ThreadedServer, make_app

pytestmark = pytest.mark.browser
PATHS = (
    "/",
    "/models/late",
    "/models/late/performance?window=month&end=2024-04-01",
    "/models/late/features",
    "/models/late/feature?name=amount&window=month&end=2024-04-01",
    "/models/late/measures",
    "/models/late/measures/stability_index?window=1d",
    "/models/late/segments",
    "/models/late/log",
    "/models/late/alerts",
    "/models/late/incidents/2024-03-08-records",
    "/runbook",
    "/models/never",
)
VARIANTS = (  # of these pages
    "/models/late?as_of=2024-03-21",
    "/models/late/feature?name=group&window=month&end=2024-04-01",
    "/models/late/performance?from=2024-03-05&to=2024-03-20",
    "/models/nobody",
)
OF_INPUTS = (
    "/models/late/features",
    "/models/late/features?show=missing&sort=-name",
    "/models/late/features?against=training",
    "/models/late/feature?name=amount",
    "/models/late/feature?name=group&end=2024-04-04",
)
OF_TASKS = (
    *(f"/models/{name}/performance" for name in ("flight", "animal", "basket")),
    "/models/flight/compare",
    "/models/animal/segments",
    "/models/flight/segments?measure=records&sort=-name",
    "/models/basket/log",
    "/models/flight/measures/roc_auc",
    "/models/flight/performance?as_of=2024-03-20",
)


@contextmanager
def served(bench: Bench, now: int) -> Iterator[str]:
    """Address of a server of a bench's pages."""
    with bench.app() as app:
        pages = KeptPages(StoreData(app, lambda: now))
        web = make_app(
            None,
            healthy=lambda: None,
            ready=lambda: None,
            pages=pages,
            hosts=allowed_page_hosts(HttpSpec()),
            form=make_decision_form(HttpSpec(user_header="X-User"), None, lambda _: None),
        )
        server = ThreadedServer(web, port=0)
        server.start_serving()
        yield f"http://127.0.0.1:{server.port}"
        server.stop_serving()


@pytest.fixture(scope="module")
def base(bench: Bench) -> Iterator[str]:
    with served(bench, END) as address:
        yield address


@pytest.fixture(scope="module")
def of_inputs(inputs: Bench) -> Iterator[str]:
    with served(inputs, END) as address:
        yield address


@pytest.fixture(scope="module")
def of_tasks(tasks: Bench) -> Iterator[str]:
    with served(tasks, NOW) as address:
        yield address


@pytest.mark.parametrize(
    ("served_by", "paths"),
    [
        pytest.param("base", PATHS, id="one"),
        pytest.param("base", VARIANTS, id="variants", marks=pytest.mark.slow),
        pytest.param("of_inputs", OF_INPUTS, id="inputs"),
        pytest.param("of_tasks", OF_TASKS, id="tasks", marks=pytest.mark.slow),
    ],
)
def test_pages_are_accessible_whole_and_quiet_in_both_themes_and_at_both_widths(
    browser: Browser, served_by: str, paths: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    base: str = request.getfixturevalue(served_by)
    said: list[str] = []
    page = opened(browser, "light", 1280, said)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    faults = {path: faults_of(page) for path in paths if page.goto(base + path)}

    assert {path: found for path, found in faults.items() if found} == {}
    assert [text for text in said if "404" not in text] == []
    assert {url for url in asked if not url.startswith((base, "data:,"))} == set()


@pytest.mark.parametrize("width", [1280, 1000, 390])
def test_no_column_of_the_windows_vanishes(browser: Browser, base: str, width: int) -> None:
    page = opened(browser, "light", width, [])
    page.goto(f"{base}/models/late")
    cells = page.locator("table.rows").last.locator("tbody tr").first.locator("th, td")

    assert cells.count() == 4
    assert [cells.nth(at).is_visible() for at in range(cells.count())] == [True] * cells.count()


@pytest.mark.parametrize("width", [1280, 390])
def test_labels_of_an_axis_do_not_overlap(browser: Browser, base: str, width: int) -> None:
    page = opened(browser, "light", width, [])
    for path in (
        "/models/late",
        "/models/late/performance?window=month&end=2024-04-01",
        "/models/late/features",
        "/models/late/feature?name=amount&window=month&end=2024-04-01",
    ):
        page.goto(base + path)
        overlaps = page.evaluate(
            """() => [...document.querySelectorAll("svg.plot")].flatMap((plot) => {
              const boxes = [...plot.querySelectorAll("text.x")].map((one) => one.getBoundingClientRect());
              const seen = boxes.filter((box) => box.width).sort((a, b) => a.left - b.left);
              return seen.slice(1).filter((box, at) => box.left < seen[at].right - 1).map((box) => box.left);
            })"""
        )
        assert overlaps == [], path


def test_keys_read_a_chart_of_many_windows_from_its_lines_of_text(browser: Browser, base: str) -> None:
    page = opened(browser, "light", 1280, [])
    page.goto(f"{base}/models/late/measures/roc_auc?window=1d&range=all")
    page.locator(".stack").focus()
    page.keyboard.press("End")
    lines = str(page.locator("pre.nums").text_content()).split("\n")
    names, last = ([cell.strip() for cell in line.split("\t")] for line in (lines[0], lines[-1]))

    assert len(lines) > 30
    told = [f"{name} {cell}" for name, cell in zip(names[1:], last[1:], strict=False) if cell]
    assert tip_of(page) == [last[0], *told]
    assert page.locator("#live").text_content() == f"{last[0]}: {'; '.join(told)}"


def test_keys_read_a_chart_and_find_the_filter_and_the_theme_is_kept(browser: Browser, base: str) -> None:
    page = opened(browser, "light", 1280, [])
    page.goto(f"{base}/models/late")
    page.locator(".stack").first.focus()
    page.keyboard.press("Home")
    first = tip_of(page)
    page.keyboard.press("ArrowRight")
    second = tip_of(page)
    line = str(page.locator("pre.nums").first.text_content()).split("\n")[2]

    assert len(first) > 1
    assert first != second
    assert second[0] == line.split("\t")[0].strip()

    page.locator("#theme").click()
    page.goto(f"{base}/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("/")
    page.keyboard.type("bare")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=bare*")
    assert page.locator("a.model:visible").count() == 1


def test_pages_say_the_same_without_a_script(browser: Browser, base: str) -> None:
    without = browser.new_context(java_script_enabled=False).new_page()
    without.goto(f"{base}/models/late")

    assert without.locator("h1").text_content() == (
        "Records are above your limit since 8 Mar: 280 a week, limit 20 (rule busy)"
    )
    assert without.locator("svg.plot path.line").count() > 1
    without.locator("details.more summary", has_text="Numbers").first.click()
    assert without.locator("pre.nums").first.is_visible()


def test_a_report_asks_for_nothing_and_prints(browser: Browser, bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    done = bench.monitor("report", "--model", "late", "--window", "month", "--output", str(file))
    assert done.exit_code == 0, done.stderr
    said: list[str] = []
    page = opened(browser, "light", 1280, said)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    printed = page.pdf(prefer_css_page_size=True)

    assert faults_of(page) == []
    assert asked == [file.as_uri()]
    assert said == []
    assert printed.startswith(b"%PDF")
    assert sheets_of(printed) >= 3
    page.evaluate("document.querySelector('.part.pagebreak').remove()")
    assert sheets_of(page.pdf(prefer_css_page_size=True)) == 2  # before the details


def sheets_of(printed: bytes) -> int:
    """Pages of a PDF."""
    return printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ")
