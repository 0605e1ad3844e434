"""Pages in a browser: opened, looked over, read."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

COLOURS = ["color-contrast", "link-in-text-block"]  # axe's rules that a theme can break
MOST_NODES = 4_000
WIDTHS = (390, 768, 1024, 1280, 1920)


def opened(browser: Browser, theme: str, width: int, said: list[str]) -> Page:
    """A page that notes what the browser complains of, and what it asks others for."""
    page = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
        extra_http_headers={"X-User": "ada"},  # by it who may decide on an incident is shown the form
    ).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return page


def faults_of(page: Page) -> list[str]:
    """What axe finds wrong in both themes and at two widths, and where a page is wider than its window.

    Colours are looked at in all four; what else there is depends on the width alone.
    """
    page.evaluate(Axe().axe_script)
    found = []
    for width, themes in ((1280, ("light", "dark")), (800, ()), (390, ("dark", "light"))):
        page.set_viewport_size({"width": width, "height": 900})
        for theme, tags in zip(themes, ({}, {"runOnly": COLOURS}), strict=False):
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            result = page.evaluate("(options) => axe.run(options)", {"resultTypes": ["violations"], **tags})
            found += [f"{theme}, {width}: {fault['id']}" for fault in result["violations"]]
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{width}: wider than its window")
    nodes = page.locator("*").count()
    return [*found, *([f"{nodes} nodes"] if nodes > MOST_NODES else [])]


def tip_of(page: Page) -> list[str]:
    """What the tooltip says, a line each."""
    return [" ".join(text.split()) for text in page.locator(".tip > *").all_inner_texts()]
