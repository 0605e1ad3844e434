"""Contexts to HTML, and what surrounds each page: the one place that knows Jinja2 and takes charts as markup.

Jinja2 is imported with the first page: a daemon that nobody looks at does without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from monitor.charts.interval_bars import draw_interval, draw_scale
from monitor.charts.plot import draw_plot
from monitor.charts.sparklines import draw_share, draw_sparkline
from monitor.charts.stacks import draw_legend, draw_stack, number_lines
from monitor.charts.strips import draw_strip
from monitor.core.clock import to_datetime, to_iso
from monitor.core.text import content_hash, readable_text, shorten_text
from monitor.core.version import VERSION
from monitor.pages.page_request import KEPT, PageLink, PageRequest, PageSurroundings, zone_of
from monitor.sentences.time_words import local_moment_words

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = {"pages.css": "text/css; charset=utf-8", "pages.js": "text/javascript; charset=utf-8"}
_LONGEST = 60  # characters of a name on a page
_EACH = 60  # seconds after which a page that shows the latest asks for itself again
# (name, what follows the model in the addresses of its pages)
TABS = (
    ("Overview", ("",)),
    ("Performance", ("performance",)),
    ("Inputs", ("features", "feature")),
    ("Segments", ("segments",)),
    ("Experiments", ("compare",)),
    ("Alerts", ("alerts", "incidents")),
    ("Data feed", ("log",)),
)


@dataclass(frozen=True, slots=True)
class TabCount:
    """What stands behind the name of a tab: how many, and the worst of them: "critical", "warning" or ""."""

    count: int
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabLink:
    """A tab; of a count of 0 nothing is shown."""

    text: str
    href: str
    chosen: bool
    count: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """What surrounds a page: where it is, as of when, its assets and links."""

    title: str
    run: str
    version: str
    measured: str  # moment of the last cycle, or of which is told
    data_to: str  # last day that was measured; empty: it is not known
    as_of: str
    as_of_iso: str
    as_of_date: str
    zone: str
    banner: str
    home: str
    here: str
    now: str
    sheet: str
    script: str
    crumbs: tuple[PageLink, ...]
    tabs: tuple[TabLink, ...]
    exports: tuple[PageLink, ...]
    refresh: int  # seconds after which the page asks for itself again; 0: never
    report: bool
    probes: bool
    # kept, asked: parameters that forms keep: of other pages, and all of this page but `as_of`.
    kept: tuple[tuple[str, str], ...]
    asked: tuple[tuple[str, str], ...]


def page_frame(
    data: PageSurroundings,
    request: PageRequest,
    given: tuple[str, ...] = (),
    counts: Mapping[str, TabCount] | None = None,
    measured: int | None = None,
) -> PageFrame:
    """What surrounds a page of a model, or of none.

    Parameters
    ----------
    given
        the model's name, and what else the path names.
    counts
        what stands behind the names of tabs, as {"Inputs": TabCount(7, "warning")}.
    measured
        moment of the last cycle, microseconds; None: it is not known.
    """
    model, zone = given[0] if given else "", zone_of(data, given[0] if given else "")
    at = request.as_of if request.as_of is not None else data.page_moment() if measured is None else measured
    assets = f"/static/{assets_hash()}"
    here = request.link_here()
    path, _, query = here.partition("?")
    counts = counts or {}
    tabs = [_tab_link(request, model, text, places, counts.get(text)) for text, places in TABS]
    return PageFrame(
        title=" ".join((*given, *request.path[2:3])) or "models",
        run=data.run,
        version=VERSION,
        measured=_minute_words(at, zone),
        data_to="" if measured is None or request.as_of is not None else _last_day(measured, zone),
        as_of=local_moment_words(at, zone),
        as_of_iso=to_iso(at),
        as_of_date="" if request.as_of is None else to_iso(at)[:10],
        zone=zone,
        banner="" if request.as_of is None else local_moment_words(at, zone),
        home=request.link_to(),
        here=path,
        now=request.link_here(as_of=None),
        sheet=f"{assets}/pages.css",
        script=f"{assets}/pages.js",
        crumbs=_page_crumbs(request, given, tabs),
        tabs=tuple(tabs) if model else (),
        exports=_export_links(request, model, path, query),
        refresh=0 if request.as_of is not None else _EACH,
        report=False,
        probes=data.probes,
        kept=tuple((name, request.query[name]) for name in KEPT if name in request.query),
        asked=tuple((name, value) for name, value in request.query.items() if name != "as_of"),
    )


def _tab_link(
    request: PageRequest, model: str, text: str, places: tuple[str, ...], count: TabCount | None
) -> TabLink:
    return TabLink(
        text=text,
        href=request.link_to("models", model, *filter(None, places[:1])),
        chosen="".join(request.path[2:3]) in places,
        count=0 if count is None else count.count,
        kind="" if count is None else count.kind,
    )


def _page_crumbs(
    request: PageRequest, given: tuple[str, ...], tabs: Sequence[TabLink]
) -> tuple[PageLink, ...]:
    """Fleet, model, tab, and what a page of a tab is of; the last one is where one is."""
    crumbs = [PageLink("Fleet", request.link_to(), False)]
    if given:
        crumbs.append(PageLink(given[0], request.link_to("models", given[0]), False))
        crumbs += [PageLink(tab.text, tab.href, False) for tab in tabs[1:] if tab.chosen]
        if len(crumbs) == 2 and len(request.path) > 2:  # a page of no tab
            page = request.path[:3]
            crumbs.append(PageLink(page[-1].capitalize(), request.link_to(*page), False))
        crumbs += [PageLink(name, request.link_here(), False) for name in given[1:]]
    elif request.path:
        crumbs.append(PageLink(request.path[-1].capitalize(), request.link_here(), False))
    return (*crumbs[:-1], PageLink(crumbs[-1].text, crumbs[-1].href, True))


def _export_links(request: PageRequest, model: str, path: str, query: str) -> tuple[PageLink, ...]:
    asked = f"?{query}" if query else ""
    of_page = (
        PageLink("This page as JSON", f"{path}.json{asked}", False),
        PageLink("Numbers as CSV", f"{path}.csv{asked}", False),
    )
    if not model:
        return of_page
    return (
        *of_page,
        PageLink("Report (A4)", request.link_to("models", model, "report"), False),
        PageLink("All measures", request.link_to("models", model, "measures"), False),
    )


def _minute_words(moment: int, zone: str) -> str:
    at = to_datetime(moment).astimezone(ZoneInfo(zone))
    return f"{at.day} {at:%b %Y, %H:%M}"


def _last_day(measured: int, zone: str) -> str:
    """Day in which a moment's data ends: of a midnight the one before."""
    at = to_datetime(measured - 1).astimezone(ZoneInfo(zone))
    return f"{at.day} {at:%b %Y}"


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
    return shorten_text(readable_text(str(name)), _LONGEST)


def figure_numbers(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Numbers of a figure as lines of text; no name is too long."""
    return number_lines(list(map(display_name, columns)), [list(map(display_name, row)) for row in rows])


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
        "stack": draw_stack,
        "legend": draw_legend,
        "strip": draw_strip,
        "interval": draw_interval,
        "scale": draw_scale,
        "spark": draw_sparkline,
        "share": draw_share,
        "numbers": figure_numbers,
    }
    for name, chart in charts.items():  # they escape every text themselves
        with_templates.filters[name] = lambda *given, of=chart, **named: Markup(of(*given, **named))  # noqa: S704
    with_templates.filters |= {"shown": display_name, "readable": readable_text}
    return with_templates
