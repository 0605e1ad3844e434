"""Pages of a log whose columns, versions, segments, categories are hostile: text stays text."""

import re
from collections.abc import Iterator
from itertools import cycle

import pytest
from hostile_log import AMOUNT, GROUP, NAMES, Hostile
from hostile_texts import CORPUS, acting
from looked_at import Looked, read

from monitor.alerts.alert_links import page_address
from monitor.app.application import open_application
from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.config.config_loading import settings_of
from monitor.web.answers import FormVisit

TAGS = (
    *("html", "head", "meta", "title", "link", "script", "body", "a", "header", "div", "nav", "span", "time"),
    *("button", "main", "h1", "h2", "h3", "h4", "p", "ul", "li", "dl", "dt", "dd", "section", "figure"),
    *("figcaption", "svg", "path", "rect", "line", "circle", "text", "details", "summary", "table", "thead"),
    *("tbody", "tr", "th", "td", "form", "label", "input", "select", "option", "footer", "strong", "b"),
    *("small", "code", "pre", "article", "defs", "pattern", "symbol", "use", "g", "i", "col", "colgroup"),
    *("ol", "br"),
)
OURS = (
    "open",
    *(
        "colspan",
        "checked",
        "tabindex",
        "patternunits",
        "patterntransform",
        "aria-live",
        "data-t",
        "data-l",
        "data-refresh",
        "data-from",
        "data-to",
        "data-copy",
        "data-for",
        "data-state",
        "data-sort",
        "data-v",
        "aria-sort",
        "fill",
        "fill-rule",
        "stroke",
    ),
    *("stroke-width", "stroke-dasharray", "size", "d", "r", "scope", "title"),
    *("lang", "charset", "name", "content", "rel", "href", "src", "defer", "class", "id", "datetime", "type"),
    *(
        "hidden",
        "role",
        "action",
        "value",
        "placeholder",
        "for",
        "width",
        "height",
        "x",
        "x1",
        "x2",
        "y",
        "y1",
    ),
    *("y2", "cx", "cy", "r", "d", "dx", "dy", "viewbox", "preserveaspectratio", "data-at", "data-name"),
    *("tabindex", "scope", "title", "selected", "aria-hidden", "aria-label", "aria-current"),
)
OF_FORMS = ("method", "maxlength", "required", "autocomplete", "aria-label", "data-copy", "open")
VALUES = re.compile(r'value="[^"]*"')  # what somebody wrote, in a field that they write it in
HIDDEN = re.compile(r'<input type="hidden"[^>]*>')  # what a form sends again, as it is


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptPages]:
    hostile = Hostile(tmp_path_factory.mktemp("hostile"), "json")
    assert hostile.run("cycle").exit_code == 0
    with open_application(settings_of(hostile.config, {}), hostile.directory, keeps=False) as app:
        yield KeptPages(StoreData(app, lambda: hostile.end))


def at(pages: KeptPages, *path: str, **query: str) -> Looked:
    place, _, asked = page_address(path, query).partition("?")
    return read(pages.answer_page(place, asked, ""))


def assert_quiet(page: Looked) -> None:
    """Nothing that somebody else wrote is an element, an attribute, a link, or acts."""
    assert {tag for tag, _ in page.elements} <= set(TAGS)
    assert {name for _, attributes in page.elements for name in attributes} <= set(OURS)
    assert acting(HIDDEN.sub("", page.text)) <= {"\t"}  # which parts the columns of numbers
    for _, attributes in page.elements:
        links = (attributes.get(name) or "/" for name in ("href", "src", "action"))
        assert [link for link in links if not re.match(r"/(?!/)|#|data:,", link)] == []
    assert sum(tag == "script" for tag, _ in page.elements) == 1


def test_hostile_features_and_levels_stay_text(pages: KeptPages) -> None:
    for name in (AMOUNT, GROUP):
        page = at(pages, "models", "late", "feature", name=name, window="7d")
        assert page.status == 200
        assert_quiet(page)
    assert "Bands, day by day" in page.words
    for against in ("usual", "training"):
        assert_quiet(at(pages, "models", "late", "features", window="7d", against=against))


def test_hostile_segments_and_versions_stay_text(pages: KeptPages) -> None:
    overview = at(pages, "models", "late")
    window = at(pages, "models", "late", "performance", window="7d")
    others = [at(pages, "models", "late", name) for name in ("alerts", "segments", "compare", "log")]
    for page in (overview, window, at(pages), at(pages, "alerts"), *others):
        assert page.status == 200
        assert_quiet(page)
    for name in NAMES[::16]:
        for one in ({"segment": f"{GROUP}={name}"}, {"version": name}):
            page = at(pages, "models", "late", "performance", window="7d", **one)
            assert page.status == 200
            assert_quiet(page)


def test_incidents_of_a_hostile_log_stay_text_and_so_does_who_decides(pages: KeptPages) -> None:
    visits = [
        FormVisit(token=name, user=name, is_signed_in=signed, fault=name if fault else "", who=name, why=name)
        for name, signed, fault in zip(
            CORPUS[::4], cycle((True, False)), cycle((True, True, False)), strict=False
        )
    ]
    incidents = [one.kept.address for one in pages.data.list_incidents("late", None)]
    assert incidents
    for address in incidents:
        place = page_address(("models", "late", "incidents", address), {})
        assert read(pages.answer_page(place, "", "")).status == 200
        assert_quiet(read(pages.answer_page(place, "", "")))
        assert pages.answer_page(f"{place}.png", "", "").status in (200, 404)  # of some nothing is drawn
        for visit in visits:
            page = read(pages.answer_page(place, "", "", visit))
            assert page.status == 200
            assert {tag for tag, _ in page.elements} <= set(TAGS)
            assert {name for _, given in page.elements for name in given} <= {*OURS, *OF_FORMS}
            assert acting(VALUES.sub("", page.text)) <= {"\t"}
            assert sum(tag == "script" for tag, _ in page.elements) == 1


@pytest.mark.parametrize("place", ["model", "rule", "incident", "feature", "segment", "window", "parameter"])
def test_a_hostile_address_is_told_and_stays_text(pages: KeptPages, place: str) -> None:
    for name in CORPUS[:: 1 if place == "model" else 20 if place == "segment" else 8]:
        page = {
            "model": lambda name=name: at(pages, "models", name),
            "rule": lambda name=name: at(pages, "models", "late", "alerts", name),
            "incident": lambda name=name: at(pages, "models", "late", "incidents", name),
            "feature": lambda name=name: at(pages, "models", "late", "feature", name=name),
            "segment": lambda name=name: at(pages, "models", "late", "performance", segment=name),
            "window": lambda name=name: at(pages, "models", "late", window=name),
            "parameter": lambda name=name: at(pages, "models", "late", **{name: "1"}),
        }[place]()
        assert page.status in ((200, 404) if place == "segment" else (400, 404))
        assert_quiet(page)
