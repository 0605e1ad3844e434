"""Contexts to HTML, and what surrounds each page: the one place that knows Jinja2 and takes charts as markup.

Jinja2 is imported with the first page: a daemon that nobody looks at does without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from monitor.charts.heat_rows import draw_cells, draw_spans
from monitor.charts.plot import draw_plot
from monitor.charts.sparklines import draw_interval, draw_share, draw_sparkline
from monitor.core.clock import to_iso
from monitor.core.text import content_hash, readable_text
from monitor.pages.model_page import PageLink
from monitor.pages.page_request import KEPT, PageRequest, PageSurroundings, zone_of
from monitor.pages.period_words import local_moment_words

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = {"pages.css": "text/css; charset=utf-8", "pages.js": "text/javascript; charset=utf-8"}
_LONGEST = 60  # characters of a name on a page
_MOST_ROWS = 60  # of a table: a page has at most 4,000 nodes
# (name, what follows the model in the addresses of its pages)
TABS = (
    ("Overview", ("",)),
    ("Performance", ("performance",)),
    ("Features", ("features", "feature")),
    ("Comparisons", ("compare",)),
    ("Segments", ("segments",)),
    ("Measures", ("measures",)),
    ("Alerts", ("alerts",)),
    ("Log", ("log",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """What surrounds a page: where it is, as of when, its assets and links."""

    title: str
    run: str
    as_of: str
    as_of_iso: str
    as_of_date: str
    zone: str
    banner: str
    home: str
    here: str
    now: str
    json: str
    sheet: str
    script: str
    crumbs: tuple[PageLink, ...]
    tabs: tuple[PageLink, ...]
    report: bool
    probes: bool
    kept: tuple[tuple[str, str], ...]


def page_frame(data: PageSurroundings, request: PageRequest, given: tuple[str, ...] = ()) -> PageFrame:
    """What surrounds a page of a model, or of none."""
    model = given[0] if given else ""
    at = data.page_moment() if request.as_of is None else request.as_of
    assets = f"/static/{assets_hash()}"
    here = request.link_here()
    path, _, query = here.partition("?")
    tabs = tuple(
        PageLink(
            text,
            request.link_to("models", model, *filter(None, places[:1])),
            "".join(request.path[2:3]) in places,
        )
        for text, places in TABS
    )
    return PageFrame(
        title=" ".join((*given, *request.path[2:3])) or "models",
        run=data.run,
        as_of=local_moment_words(at, zone_of(data, model)),
        as_of_iso=to_iso(at),
        as_of_date="" if request.as_of is None else to_iso(at)[:10],
        zone=zone_of(data, model),
        banner="" if request.as_of is None else local_moment_words(at, zone_of(data, model)),
        home=request.link_to(),
        here=path,
        now=request.link_here(as_of=None),
        json=f"{path}.json" + (f"?{query}" if query else ""),
        sheet=f"{assets}/pages.css",
        script=f"{assets}/pages.js",
        crumbs=(PageLink(model, request.link_to("models", model), False),) if model else (),
        tabs=tabs if model else (),
        report=False,
        probes=data.probes,
        kept=tuple((name, request.query[name]) for name in KEPT if name in request.query),
    )


def render_template(template: str, **context: Any) -> str:
    """HTML of a template; what the context lacks is an error, never a gap."""
    return _template_environment().get_template(f"{template}.html").render(**context)


@lru_cache(maxsize=2)
def read_asset(name: str) -> bytes:
    """The sheet or the script."""
    return files("monitor.pages").joinpath("static", name).read_bytes()


def stylesheet_markup() -> str:
    """The sheet as an element of a page may hold it, unescaped: it is ours."""
    from markupsafe import Markup

    return Markup(read_asset("pages.css").decode())  # noqa: S704


@lru_cache(maxsize=1)
def assets_hash() -> str:
    """Part of the address of sheet and script: another one wherever they are others."""
    return content_hash([read_asset(name).decode() for name in ASSETS])[:12]


def display_name(name: object) -> str:
    """Name that the data brought, as a page may hold it: every character of it seen, not too long."""
    text = readable_text(str(name))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def number_table_html(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    """Table of numbers; of many rows as lines of text, since each cell is a node that a browser lays out.

    >>> number_table_html([("1 Jan", "<b>")], ["local_moment_words", "p"]).partition("<tbody>")[2]
    '<tr><td>1 Jan</td><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    told = [list(map(display_name, row)) for row in (columns, *rows)]  # no name keeps a tab or a line's end
    if len(rows) > _MOST_ROWS:
        widths = [max(map(len, cells)) for cells in zip(*told, strict=True)]
        lines = ("\t".join(map(str.ljust, row, widths)).rstrip() for row in told)
        return f"<pre>{escape(chr(10).join(lines))}</pre>"
    head, body = (escape("\n".join(map("\t".join, part))) for part in (told[:1], told[1:]))
    names = head.replace("\t", '</th><th scope="col">')
    cells = body.replace("\t", "</td><td>").replace("\n", "</td></tr><tr><td>")
    return (
        f'<table><thead><tr><th scope="col">{names}</th></tr></thead>'
        f"<tbody><tr><td>{cells}</td></tr></tbody></table>"
    )


@lru_cache(maxsize=1)
def _template_environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    with_templates = Environment(
        loader=FileSystemLoader(str(files("monitor.pages").joinpath("templates"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    charts = {
        "drawn": draw_plot,
        "cells": draw_cells,
        "spans": draw_spans,
        "spark": draw_sparkline,
        "strip": draw_interval,
        "share": draw_share,
        "numbers": number_table_html,
    }
    for name, chart in charts.items():  # they escape every text themselves
        with_templates.filters[name] = lambda *given, of=chart, **named: Markup(of(*given, **named))  # noqa: S704
    with_templates.filters |= {"shown": display_name, "readable": readable_text}
    return with_templates
