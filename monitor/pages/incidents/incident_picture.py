"""The evidence of an incident as a picture, for messages."""

import re
from dataclasses import replace
from functools import lru_cache

from monitor.alerts.incident_words import incident_words
from monitor.charts.pictures import PictureColours, draw_picture
from monitor.charts.stacks import StackChart
from monitor.core.errors import AddressError
from monitor.pages.incidents.incident_evidence import gather_evidence
from monitor.pages.incidents.incident_page import find_incident
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import IncidentData, PageRequest
from monitor.pages.page_templates import read_asset
from monitor.pages.png_drawing import draw_png
from monitor.sentences.known_measurements import readable_name

_DAYS, _MOST_CHARTS = 60, 3
_TOKEN = re.compile(r"--([\w-]+):light-dark\((#?\w+),")
_MARKS = re.compile(r"/\* marks: .*?\*/(.*?)/\* 4 stack", re.DOTALL)
_USED = re.compile(r"var\(--([\w-]+)\)")
_NOT_DRAWN = re.compile(r"[^{}]*(?::hover|:focus|\.key)[^{}]*\{[^{}]*\}|vector-effect:[\w-]+;?")


@lru_cache(maxsize=1)
def picture_colours() -> PictureColours:
    """The marks of the pages' own sheet with its light colours written out."""
    sheet = read_asset("pages.css").decode()
    tokens = dict(_TOKEN.findall(sheet))
    marks = _MARKS.search(sheet)
    assert marks is not None
    plain = _USED.sub(lambda used: tokens[used[1]], _NOT_DRAWN.sub("", marks[1])).replace("\n", "")
    return PictureColours(ground=tokens["card"], ink=tokens["ink"], soft=tokens["soft"], marks=plain)


def incident_picture_svg(data: IncidentData, request: PageRequest, name: str, address: str) -> str:
    """The largest series of an incident day by day, and where there is room the records of its model.

    Raises
    ------
    AddressError
        if there is no such incident, or nothing of its series is stored.
    """
    request.refuse_unknown_parameters()
    found = find_incident(data, request, name, address)
    evidence = gather_evidence(
        data,
        request,
        spec_of(data, name),
        found.facts,
        found.parts,
        count=_DAYS,
        over_at=found.kept.resolved_at,
    )
    stack = evidence.stack or next(iter(evidence.windows), None)
    if stack is None:
        raise AddressError(evidence.without, 404)
    charts = [part for part in stack.parts if isinstance(part, StackChart)]
    title = f"{readable_name(name)} · {incident_words(found.incident, found.today).headline}"
    return draw_picture(title, replace(stack, parts=charts[:_MOST_CHARTS]), picture_colours())


def incident_picture_png(data: IncidentData, request: PageRequest, name: str, address: str) -> bytes:
    """The same as PNG."""
    return draw_png(incident_picture_svg(data, request, name, address))
