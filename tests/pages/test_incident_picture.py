"""The evidence of an incident as a picture: it stands alone, whatever names the data has."""

import json
import struct
import sys
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from hostile_texts import CORPUS, HOSTILE, acting
from hypothesis import example, given, settings
from hypothesis import strategies as st
from looked_at import Pages, looking
from serving import Bench

from monitor.charts.marks import IntervalBand, LegendKey, LinePath, LinkedPoint, LinkedPoints, MarginLabel
from monitor.charts.pictures import draw_picture
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import LaneSpan, Stack, StackChart, StackLane
from monitor.pages import png_drawing
from monitor.pages.incidents.incident_picture import picture_colours
from monitor.pages.png_drawing import draw_png

SVG = "{http://www.w3.org/2000/svg}"
OURS = {"svg", "style", "defs", "pattern", "line", "rect", "text", "path", "circle", "g"}


def stack_of(*names: str) -> Stack:
    """A stack of charts that are called so, with all that a chart of days has."""
    points = [(float(at), float(at % 5)) for at in range(30)]
    charts = [
        StackChart(
            title=name,
            y=linear_axis([0, 5], label=str),
            marks=(
                IntervalBand([(x, y - 1, y + 1) for x, y in points], "expected"),
                LinePath(points),
                LinkedPoints([LinkedPoint(x=29, y=4, kind="critical", words=name, href=name, ring=True)]),
                MarginLabel(4, name, "critical"),
            ),
            note=name,
            legend=(LegendKey("area", "expected", name), LegendKey("line", "main", name)),
        )
        for name in names
    ]
    lane = StackLane(title="Alerts", spans=[LaneSpan(start=0, end=9, kind="critical", words="x", href="/")])
    return Stack(name="evidence", label="", x=linear_axis([0, 30], label=str), parts=[*charts, lane])


@pytest.fixture(scope="module")
def pages(inputs: Bench) -> Iterator[Pages]:
    with looking(inputs) as found:
        yield found


@pytest.fixture(scope="module")
def address(inputs: Bench) -> str:
    """The incident of a feature that is missing."""
    listed = json.loads(inputs.monitor("incidents", "--model", "late", "--format", "json").stdout)
    (one,) = [one["incident"] for one in listed if "missing" in one["incident"]]
    return f"/models/late/incidents/{one}"


def test_an_incident_has_a_picture_that_a_phone_can_read(pages: Pages, address: str) -> None:
    answer = pages.kept.answer_page(f"{address}.png", "", "")

    assert (answer.status, answer.content_type) == (200, "image/png")
    assert answer.body.startswith(b"\x89PNG\r\n")
    wide, high = struct.unpack(">II", answer.body[16:24])
    assert (wide, 300 < high < 2_000, len(answer.body) < 500_000) == (1_100, True, True)


@given(names=st.lists(HOSTILE, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
@example(names=list(CORPUS))
@example(names=["</text><image href='file:///etc/passwd'/>", "]]>", "&lol;", "<!--", "\ud83d\ude42"])
def test_a_picture_is_well_formed_asks_for_nothing_and_is_drawn_whatever_names_hold(names: list[str]) -> None:
    svg = draw_picture(names[0], stack_of(*names), picture_colours())
    whole = ET.fromstring(svg)  # noqa: S314 -- our own

    assert {one.tag.removeprefix(SVG) for one in whole.iter()} <= OURS
    assert not [
        name for one in whole.iter() for name in one.attrib if "href" in name or name.startswith("on")
    ]
    assert acting(svg) == set()
    assert draw_png(svg).startswith(b"\x89PNG")


def test_a_picture_has_its_own_colours_and_its_lines_are_not_stretched() -> None:
    svg = draw_picture("late", stack_of("amount"), picture_colours())

    for sign in ("var(", "light-dark", "color-mix", "@", ":hover"):
        assert sign not in svg
    assert "stroke:#1b5ac2" in svg
    whole = ET.fromstring(svg)  # noqa: S314
    (paths,) = whole.findall(f".//{SVG}svg[@class='paths']")
    (around,) = whole.findall(f"{SVG}svg")
    assert paths.attrib["viewBox"] == f"0 0 {around.attrib['width']} {paths.attrib['height']}"


def test_without_fonts_or_the_library_there_is_no_picture_and_it_is_said_why(
    pages: Pages, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(png_drawing, "draws_words", lambda: False)
    blank = pages.kept.answer_page(f"{address}.png", "x=", "")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    lacking = pages.kept.answer_page(f"{address}.png", "y=", "")

    assert (blank.status, lacking.status) == (404, 404)
    assert b"install some, as fonts-dejavu-core of Debian" in blank.body
    assert b"pip install 'model-monitor-daemon[notify]'" in lacking.body


def test_what_is_no_incident_has_no_picture(pages: Pages, address: str) -> None:
    for path in (f"{address}x.png", "/models/late.png", "/models/nobody/incidents/x.png", "/x.png"):
        answer = pages.kept.answer_page(path, "", "")
        assert (answer.status, answer.content_type) == (404, "text/plain; charset=utf-8")
    assert pages.kept.answer_page(f"{address}.png", "what=1", "").status == 400


def test_a_report_in_a_few_lines_has_its_period_the_verdict_and_four_figures(pages: Pages) -> None:
    answer = pages.kept.answer_page("/models/late/report.txt", "period=2024-03", "")
    period, verdict, *lines = answer.body.decode().split("\n")

    assert (answer.status, answer.content_type) == (200, "text/plain; charset=utf-8")
    assert period == "March 2024"
    assert verdict.startswith("late ")
    assert [line[:8] for line in lines[:4]] == ["- ROC AU", "- Inputs", "- Incide", "- Decisi"]
