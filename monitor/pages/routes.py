"""Addresses to pages: which page an address means, what surrounds it, its rows as JSON."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote

from monitor.alerts.alert_links import RUNBOOK
from monitor.alerts.model_standing import judge_standing
from monitor.core.errors import AddressError
from monitor.core.text import json_text
from monitor.core.version import VERSION
from monitor.measures.measurement_row import StoredMeasurement
from monitor.pages.alert_lists import find_alert_address
from monitor.pages.features.feature_page import FEATURE_QUERY, feature_page, read_feature_page_rows
from monitor.pages.features.inputs_page import INPUTS_QUERY, inputs_page, read_inputs_rows
from monitor.pages.fleet_page import FleetPage, fleet_page
from monitor.pages.incidents.incident_list import FILTERS, filter_alerts, incident_list
from monitor.pages.incidents.incident_page import incident_json, incident_page
from monitor.pages.incidents.incident_picture import incident_picture_png
from monitor.pages.log_page import log_page, read_log_page_rows
from monitor.pages.model_page import spec_of
from monitor.pages.model_report import (
    REPORT_QUERY,
    requested_report_html,
    requested_report_json,
    requested_report_text,
)
from monitor.pages.overview_page import QUERY, overview_page
from monitor.pages.page_request import KEPT, PageData, PageLink, PageRequest, PageSurroundings
from monitor.pages.page_templates import ASSETS, assets_hash, page_frame, read_asset, render_template
from monitor.pages.slices.compare_page import compare_page, read_compare_page_rows
from monitor.pages.slices.measures_page import (
    measure_page,
    measures_page,
    read_measure_page_rows,
    read_measures_page_rows,
)
from monitor.pages.slices.segments_page import QUERY as SEGMENTS_QUERY
from monitor.pages.slices.segments_page import read_segments_page_rows, segments_page
from monitor.pages.tab_counts import count_tabs, read_standing
from monitor.pages.window.window_page import ASKED, read_window_page_rows, window_page
from monitor.show.alert_tables import alerts_as_json
from monitor.show.json_schemas import ROWS, operation_schema
from monitor.show.model_status import status_json
from monitor.show.plain_rows import json_rows_as_csv, rows_as_json
from monitor.web.answers import PRIVATE, FormVisit, PageAnswer

_JSON, _CSV = "application/json; charset=utf-8", "text/csv; charset=utf-8"
_LONGEST, _LONGEST_NAME = 2_000, 100  # characters of a path or a query, of a file's name
_PARTS_OF_ALERT = 4  # parts of /models/MODEL/alerts/RULE
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_TITLES = {400: "This address asks for what the page does not know", 404: "There is no such page"}


@dataclass(frozen=True, slots=True)
class _PageRoute:
    """A page: its template, what makes its context, its rows as JSON."""

    template: str  # empty: what makes its context makes a whole file, to be kept
    context: Callable[..., Any]
    json_rows: Callable[..., str]
    # about, rows, query: for those who read the JSON: what it is, of which schema its rows are, what the
    # address may ask for.
    about: str
    rows: str = "measurement"
    query: tuple[str, ...] = ()
    # by the ending of an address: other forms of the page, with their media type.
    forms: Mapping[str, tuple[str, Callable[..., bytes]]] = field(default_factory=dict)


def _fleet_json(data: PageData, request: PageRequest) -> str:
    request.refuse_unknown_parameters("q", "state", "sort")
    return status_json([judge_standing(one) for one in data.read_model_facts(None, request.as_of)])


def _model_json(data: PageData, request: PageRequest, name: str) -> str:
    request.refuse_unknown_parameters(*QUERY)
    spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    return rows_as_json(StoredMeasurement(name, facts.as_of or 0, row) for row in facts.rows)


def _alerts_json(data: PageData, request: PageRequest, name: str | None = None) -> str:
    if name is not None:
        spec_of(data, name)
    return alerts_as_json(filter_alerts(data.list_alerts(name, request.as_of), request))


def _print_rows(rows: Callable[..., list[StoredMeasurement]]) -> Callable[..., str]:
    """Rows of a page, as `monitor show --format json` prints them."""

    def plain(data: PageData, request: PageRequest, name: str, *part: str) -> str:
        return rows_as_json(rows(data, request, name, *part))

    return plain


_PAGES = {
    (): _PageRoute(
        "fleet", fleet_page, _fleet_json, "All models, the worst first", "status", ("q", "state", "sort")
    ),
    ("alerts",): _PageRoute(
        "alerts",
        lambda data, asked: incident_list(data, asked, None),
        _alerts_json,
        "Incidents of all models; as JSON their alerts",
        "alert",
        FILTERS,
    ),
    ("models", "*"): _PageRoute(
        "model",
        overview_page,
        _model_json,
        "What is known of a model",
        query=QUERY,
    ),
    ("models", "*", "performance"): _PageRoute(
        "window",
        window_page,
        _print_rows(read_window_page_rows),
        "One window of a model",
        query=ASKED,
    ),
    ("models", "*", "features"): _PageRoute(
        "features",
        inputs_page,
        _print_rows(read_inputs_rows),
        "What is known of the features",
        query=INPUTS_QUERY,
    ),
    ("models", "*", "compare"): _PageRoute(
        "compare", compare_page, _print_rows(read_compare_page_rows), "Control group and challenger"
    ),
    ("models", "*", "segments"): _PageRoute(
        "segments",
        segments_page,
        _print_rows(read_segments_page_rows),
        "A measure by segment and version",
        query=SEGMENTS_QUERY,
    ),
    ("models", "*", "measures"): _PageRoute(
        "measures",
        measures_page,
        _print_rows(read_measures_page_rows),
        "All that is measured of a kind of window now",
        query=("window", "q", "sort"),
    ),
    ("models", "*", "measures", "*"): _PageRoute(
        "measure",
        measure_page,
        _print_rows(read_measure_page_rows),
        "One measure over time",
        query=("window", "range", "subject", "against", "segment", "version"),
    ),
    ("models", "*", "log"): _PageRoute(
        "log", log_page, _print_rows(read_log_page_rows), "The log and its labels", query=("window", "range")
    ),
    ("models", "*", "feature"): _PageRoute(
        "feature",
        feature_page,
        _print_rows(read_feature_page_rows),
        "One feature",
        query=FEATURE_QUERY,
    ),
    ("models", "*", "incidents", "*"): _PageRoute(
        "incident",
        incident_page,
        incident_json,
        "One incident, open or over",
        "incident",
        ("range",),
        {".png": ("image/png", incident_picture_png)},
    ),
    ("models", "*", "report"): _PageRoute(
        "",
        requested_report_html,
        requested_report_json,
        "One window of a model, as its report tells it",
        query=REPORT_QUERY,
        forms={".txt": ("text/plain; charset=utf-8", requested_report_text)},
    ),
    ("models", "*", "alerts"): _PageRoute(
        "alerts",
        lambda data, asked, name: incident_list(data, asked, spec_of(data, name).name),
        _alerts_json,
        "Incidents of a model; as JSON its alerts",
        "alert",
        FILTERS,
    ),
}
_ROWS, _ENDINGS = (".json", ".csv"), (".png", ".txt")
# What the second * of a path stands for.
_PARTS = {"incidents": "incident", "measures": "measure"}
OPENAPI = "/openapi.json"


def answer_page(data: PageData, path: str, query: str, visit: FormVisit | None = None) -> PageAnswer:
    """Page of an address as it was sent; what no page knows is a page that says so.

    Parameters
    ----------
    visit
        who may use a form of the page; None: nobody, it says the command instead.
    """
    if needs_no_store(path):
        return answer_program_file(data, path)
    try:
        return _answer_other_form(data, path, query) or _answer_view(data, path, query, visit)
    except AddressError as error:
        if path.endswith(_ENDINGS):
            return PageAnswer(f"{error}\n".encode(), "text/plain; charset=utf-8", error.status, PRIVATE)
        if path.endswith(_ROWS):
            text = json_text({"error": str(error)}, indent=1)
            return PageAnswer(f"{text}\n".encode(), _JSON, error.status, PRIVATE)
        return _fault_page(data, error)


def _answer_view(data: PageData, path: str, query: str, visit: FormVisit | None) -> PageAnswer:
    """A page, or its rows."""
    request = replace(_parse_request(path, query), visit=visit)
    if request.path[2:3] == ("alerts",) and len(request.path) == _PARTS_OF_ALERT:
        return _moved_answer(data, request, path)
    page, given = _find_route(request)
    if path.endswith(_ROWS):
        rows = page.json_rows(data, request, *given)
        if path.endswith(".csv"):
            headers = PRIVATE | _download_headers(request, request.path[2:3] or ("rows",), "csv")
            return PageAnswer(json_rows_as_csv(rows).encode(), _CSV, headers=headers)
        return PageAnswer(f"{rows}\n".encode(), _JSON, headers=PRIVATE)
    context = page.context(data, request, *given)
    text = _page_html(data, request, page.template, context, given) if page.template else context
    headers = PRIVATE
    if not page.template:
        headers = PRIVATE | _download_headers(request, ("report",), "html")
    if visit is not None:
        # Where a page names nobody it came from, its form would have no origin that could be checked.
        headers = {**headers, "Referrer-Policy": "same-origin"}
    return PageAnswer(text.encode(), headers=headers)


def _answer_other_form(data: PageData, path: str, query: str) -> PageAnswer | None:
    """A page in the form that the ending of its address asks for; None: it asks for none."""
    ending = next((one for one in _ENDINGS if path.endswith(one)), None)
    if ending is None:
        return None
    page, given = _find_route(request := _parse_request(path.removesuffix(ending), query))
    if ending not in page.forms:
        return None
    kind, make = page.forms[ending]
    return PageAnswer(make(data, request, *given), kind, headers=PRIVATE)


def _moved_answer(data: PageData, request: PageRequest, path: str) -> PageAnswer:
    """Where an alert stands now that was asked for by its rule: it had a page of its own once."""
    to = find_alert_address(data, request, request.path[1], request.path[3])
    if path.endswith(_ROWS):
        to = request.link_to("models", request.path[1], f"alerts{path[path.rindex('.') :]}")
    return PageAnswer(b"", status=303, headers={"Location": to, **PRIVATE})


def openapi_document() -> dict[str, Any]:
    """What answers `.json`, as OpenAPI 3.1: made of the pages themselves."""
    paths = {}
    for pattern, page in _PAGES.items():
        names = ["model", *(_PARTS[part] for part in pattern if part in _PARTS)][: pattern.count("*")]
        left = iter(names)
        path = "/".join(f"{{{next(left)}}}" if part == "*" else part for part in pattern)
        paths[f"/{path}.json"] = operation_schema(page.about, page.rows, names, (*KEPT, *page.query))
    about = "Rows of the pages, with the fields of `monitor show`, `alerts` and `status --format json`."
    return {
        "openapi": "3.1.0",
        "info": {"title": "monitor", "version": VERSION, "description": about},
        "paths": paths,
        "components": {"schemas": dict(ROWS)},
    }


def _parse_request(path: str, query: str) -> PageRequest:
    """What an address asks for."""
    if len(path) > _LONGEST or len(query) > _LONGEST:
        raise AddressError(f"an address has at most {_LONGEST:,} characters of path, and of query")
    bare = path.removesuffix(".json").removesuffix(".csv")
    parts = tuple(unquote(part) for part in bare.strip("/").split("/") if part)
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs):
        raise AddressError("each parameter may stand once")
    # PostgreSQL takes none: it would be an error of the store.
    if "\0" in unquote(query):
        raise AddressError("an address holds no NUL character (%00)")
    return PageRequest(parts, {name: value for name, value in given.items() if value or name == "q"})


def _find_route(request: PageRequest) -> tuple[_PageRoute, tuple[str, ...]]:
    for pattern, page in _PAGES.items():
        if len(pattern) == len(request.path) and all(
            want in ("*", part) for want, part in zip(pattern, request.path, strict=True)
        ):
            return page, tuple(part for want, part in zip(pattern, request.path, strict=True) if want == "*")
    raise AddressError("there is no page at this address", 404)


def _page_html(
    data: PageData, request: PageRequest, template: str, page: Any, given: tuple[str, ...] = ()
) -> str:
    counts, measured = {}, page.measured if isinstance(page, FleetPage) else None
    if given:
        standing = read_standing(data, given[0], request.as_of)
        counts, measured = count_tabs(standing), None if request.as_of is not None else standing.as_of
    frame = page_frame(data, request, given, counts, measured)
    return render_template(template, page=page, frame=frame, link=request.link_to)


def _download_headers(request: PageRequest, what: tuple[str, ...], ending: str) -> dict[str, str]:
    """What has a browser save a page, under a name that says of what it is."""
    of = [
        *what,
        *request.path[1:2],
        *(request.query[name] for name in (*REPORT_QUERY, "as_of") if name in request.query),
    ]
    name = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(of))[:_LONGEST_NAME]
    return {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}


def _fault_page(data: PageData, error: AddressError) -> PageAnswer:
    page = {"title": _TITLES[error.status], "text": str(error)}
    return _answer_fixed_page(data, "fault", page, error.status)


def _answer_fixed_page(
    data: PageSurroundings, template: str, page: Mapping[str, str], status: int = 200
) -> PageAnswer:
    """Page that is no view of what is kept; what its address asks for is not asked again."""
    without = PageRequest(())
    frame = replace(page_frame(data, without), crumbs=(PageLink("Fleet", "/", False),), exports=(), refresh=0)
    body = render_template(template, page=page, frame=frame, link=without.link_to)
    return PageAnswer(body.encode(), status=status, headers=PRIVATE)


def needs_no_store(path: str) -> bool:
    """Whether an address needs no store: see `answer_program_file`."""
    return path in (OPENAPI, RUNBOOK) or path.startswith("/static/")


def answer_program_file(data: PageSurroundings, path: str) -> PageAnswer:
    """What describes the JSON; what to do when an alert comes; sheet or script, under the hash of both."""
    if path == RUNBOOK:
        return _answer_fixed_page(data, "runbook", {})
    if path == OPENAPI:
        return PageAnswer(f"{json_text(openapi_document(), indent=1)}\n".encode(), _JSON, headers=PRIVATE)
    _, _, version, name = (*path.split("/"), "", "")[:4]
    if name not in ASSETS or version != assets_hash() or path.count("/") != 3:
        return PageAnswer(b"there is no such file\n", "text/plain; charset=utf-8", 404)
    return PageAnswer(read_asset(name), ASSETS[name], headers=_FOR_EVER)
