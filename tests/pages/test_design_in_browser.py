"""All parts of pages in a real browser: at any width, by pointer and by keys, with a script and without."""

import pytest
from browsing import faults_of, opened, tip_of
from gallery import gallery_html
from playwright.sync_api import Browser, Page, Route

from monitor.pages.page_templates import ASSETS, read_asset

pytestmark = pytest.mark.browser
HOME = "http://gallery.test/models/late"
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:"


class Served:
    """The gallery as a server would send it, and its tag."""

    def __init__(self) -> None:
        self.tag, self.asked = '"1"', list[str | None]()

    def answer(self, route: Route) -> None:
        """Answer a request of the browser."""
        name = route.request.url.rpartition("/")[2]
        if name in ASSETS:
            route.fulfill(body=read_asset(name), content_type=ASSETS[name])
            return
        known = route.request.headers.get("if-none-match")
        self.asked.append(known)
        status = 304 if known == self.tag else 200
        body = gallery_html().replace("<h1>All six", f"<h1>{self.tag[1:-1]}: all six")
        headers = {"Content-Security-Policy": POLICY, "ETag": self.tag, "Content-Type": "text/html"}
        route.fulfill(status=status, body=body if status == 200 else "", headers=headers)


def shown(browser: Browser, said: list[str], width: int = 1280, address: str = HOME) -> tuple[Page, Served]:
    page, served = opened(browser, "light", width, said), Served()
    page.clock.install()
    page.route("**/*", served.answer)
    page.goto(address)
    return page, served


def test_parts_are_accessible_whole_and_quiet_at_any_width(browser: Browser) -> None:
    said: list[str] = []
    page, _ = shown(browser, said)

    assert faults_of(page) == []
    assert said == []


def test_one_crosshair_stands_over_all_charts_of_a_stack(browser: Browser) -> None:
    page, _ = shown(browser, [])
    box = page.locator("svg.plot").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)

    assert page.locator(".cross:visible").count() == 1
    told = tip_of(page)
    assert len(told) == 3
    assert told[1].startswith("ROC AUC")
    assert told[2].startswith("Missing 0.0 %")


def test_keys_go_to_the_ends_of_a_stack_and_say_so(browser: Browser) -> None:
    page, _ = shown(browser, [])
    page.locator(".stack").focus()
    page.keyboard.press("End")
    assert tip_of(page)[0] == "31 Dec"
    assert "Missing 100.0 %" in str(page.locator("#live").text_content())
    page.keyboard.press("Home")
    assert tip_of(page)[0] == "1 Mar"
    page.keyboard.press("Escape")
    assert not page.locator(".tip").is_visible()
    assert page.locator(".cross:visible").count() == 0


def test_a_range_that_is_dragged_is_asked_for(browser: Browser) -> None:
    page, served = shown(browser, [], address=f"{HOME}?measure=accuracy")
    box = page.locator("svg.plot").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20, steps=4)
    assert page.locator(".brush").is_visible()
    page.mouse.up()
    page.wait_for_url("**from=**")

    assert page.url == f"{HOME}?measure=accuracy&from=2013-05-16&to=2013-08-02"
    assert len(served.asked) == 2


def test_a_mark_says_what_it_is(browser: Browser) -> None:
    page, _ = shown(browser, [])
    page.locator(".al").first.hover(force=True)

    assert tip_of(page) == ["ROC AUC below the limit", "16 Sep to 21 Oct", "critical"]
    assert page.locator("a:has(.al)").get_attribute("href") == "/alert"


def test_a_table_is_sorted_and_filtered_and_the_address_keeps_it(browser: Browser) -> None:
    page, _ = shown(browser, [])
    names = page.locator("#inputs tbody tr:not(.grp):visible th")
    page.locator("th a", has_text="Records").click()
    assert names.all_inner_texts() == ["wind_mph_of_a_feature", "temp_f_of_a_feature"]
    page.locator("th a", has_text="Records").click()
    assert names.all_inner_texts() == ["temp_f_of_a_feature", "wind_mph_of_a_feature"]
    assert page.url.endswith("?sort=-records")
    page.keyboard.press("/")
    page.keyboard.type("wind")
    assert names.all_inner_texts() == ["wind_mph_of_a_feature"]
    assert page.url.endswith("?sort=-records&q=wind")
    page.locator("input[name=q]").fill("")
    page.get_by_role("link", name="Critical 1").click()
    assert names.all_inner_texts() == ["temp_f_of_a_feature"]
    assert page.url.endswith("?sort=-records&state=critical")


def test_what_a_legend_names_is_hidden_without_a_script(browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.route("**/*", Served().answer)
    page.goto(HOME)
    band = page.locator(".band.main").first

    assert band.is_visible()
    page.get_by_label("95 % interval").uncheck()
    assert not band.is_visible()
    assert page.locator(".line.main").first.is_visible()
    assert page.locator("#theme").is_hidden()
    page.locator("summary", has_text="Numbers").click()
    assert "31 Dec" in page.locator("pre.nums").last.inner_text()


def test_a_page_asks_for_itself_and_disturbs_nobody_who_types(browser: Browser) -> None:
    page, served = shown(browser, [])
    heading = page.locator("h1")
    with page.expect_response("**/models/late"):
        page.clock.run_for(61_000)
    served.tag = '"2"'
    with page.expect_response("**/models/late"):
        page.clock.run_for(60_000)
    page.get_by_text("2: all six").wait_for()

    page.locator("input[name=q]").focus()
    served.tag = '"3"'
    with page.expect_response("**/models/late"):
        page.clock.run_for(60_000)
    page.locator("#new").wait_for()
    assert heading.inner_text().startswith("2: all six")
    assert served.asked[1:] == [None, '"1"', '"2"']


def test_numbers_are_copied_as_csv(browser: Browser) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.route("**/*", Served().answer)
    page.goto(HOME.replace("http://gallery.test", "http://localhost"))
    page.locator("[data-copy=over-time]").click()
    page.locator("#live", has_text="Copied").wait_for(state="attached")
    lines = page.evaluate("navigator.clipboard.readText()").split("\n")

    assert lines[0] == "week,ROC AUC,interval"
    assert lines[1].startswith("4 Mar,0.680,")
    assert lines[-1] == "31 Dec,100.0 %"
