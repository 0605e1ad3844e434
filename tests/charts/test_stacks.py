"""Stacks, strips, intervals and sparklines: what they draw, and that no text acts."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hostile_texts import CORPUS, acting
from hypothesis import given
from hypothesis import strategies as st

from monitor.charts.interval_bars import draw_interval, draw_scale
from monitor.charts.marks import (
    AlertZone,
    IntervalBand,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    RuleLine,
    ShadedSpan,
)
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.charts.sparklines import draw_sparkline
from monitor.charts.stacks import LaneSpan, Stack, StackChart, StackLane, draw_legend, draw_stack
from monitor.charts.strips import StripCell, StripLook, draw_strip

TIME = Axis(0.0, 4.0, (AxisTick(1.0, "Apr"), AxisTick(3.0, "May")))
UNIT = linear_axis([0.0, 1.0])
LOOKS: list[StripLook] = [
    "warning", "critical", "changed", "far", "outside", "hatched", "slight", "moderate", "large",
]  # fmt: skip


def stack(text: str = "a", href: str = "/a") -> Stack:
    """A stack with every mark and text that there is."""
    point = LinkedPoint(x=2.0, y=0.4, kind="critical", words=text, href=href, ring=True)
    chart = StackChart(
        title=text,
        note=text,
        y=UNIT,
        marks=[
            AlertZone(0.5, "below"),
            ShadedSpan(3.5, 4.0, "hatched"),
            IntervalBand([(0.0, 0.2, 0.4), (2.0, 0.3, 0.5)], "expected"),
            RuleLine(0.6),
            LinePath([(0.0, 0.3), (2.0, 0.4), (4.0, None)]),
            LinkedPoints([point]),
            MarginLabel(0.6, text),
        ],
        legend=[LegendKey("area", "expected", text), LegendKey("dot", "critical", text)],
        stops=(0.0, 2.0),
        columns=("day", text),
        rows=[("1 Apr", text), ("2 Apr", text)],
    )
    lane = StackLane(
        title=text,
        note=text,
        spans=[LaneSpan(start=1.0, end=2.0, kind="warning", words=text, href=href)],
    )
    return Stack(name="s", label=text, x=TIME, parts=[chart, lane, chart], ends=("2013-04-01", "2013-05-01"))


def test_a_stack_has_a_row_a_part_and_its_numbers_in_the_order_of_its_charts() -> None:
    text = draw_stack(stack())

    assert text.startswith(
        '<div class="stack" id="s" role="group" aria-label="a" data-from="2013-04-01" data-to="2013-05-01">'
    )
    assert text.count('<div class="row">') == 3
    assert text.count('<pre class="nums"') == text.count(" data-at=") == 2
    assert text.count("<details") == 1


def test_the_lowest_part_alone_names_the_time() -> None:
    rows = draw_stack(stack()).split('<div class="row">')[1:]

    assert [row.count(">Apr<") for row in rows] == [0, 0, 1]
    assert [row.count('class="mo"') for row in rows] == [2, 2, 2]
    assert [len(re.findall(r">[01](?:\.\d+)?<", row)) > 1 for row in rows] == [True, False, True]


def test_a_stack_that_ends_with_a_lane_names_the_time_too() -> None:
    text = draw_stack(Stack(name="s", label="a", x=TIME, parts=[StackLane(title="b", spans=[])]))

    assert text.count(">Apr<") == 1
    assert "data-from" not in text
    assert "<details" not in text


def test_what_leads_somewhere_is_no_picture_and_what_does_not_is_one() -> None:
    linked, bare = draw_stack(stack()), draw_stack(stack(href=""))

    assert linked.count('<a href="/a"') == 3
    assert 'role="img"' not in linked
    assert "<a " not in bare


def test_zones_lie_behind_lines_and_points_above_them() -> None:
    text = draw_stack(stack())
    shapes = ('rect class="zone limit', 'rect class="zone hatched', 'path class="band', 'path class="line')
    order = [text.index(f"<{shape}") for shape in (*shapes, "circle")]

    assert order == sorted(order)


def test_a_zone_covers_the_side_of_its_limit() -> None:
    def boxes(side: str) -> list[tuple[str, str]]:
        zone = AlertZone(0.75, side)  # type: ignore[arg-type]
        chart = StackChart(title="a", y=UNIT, marks=[zone], height=100)
        text = draw_stack(Stack(name="s", label="a", x=TIME, parts=[chart]))
        return re.findall(r'class="zone limit" x="0" width="100%" y="([\d.]+)" height="([\d.]+)"', text)

    assert boxes("below") == [("33", "75")]
    assert boxes("above") == [("8", "25")]


def test_switches_of_a_legend_name_what_they_hide() -> None:
    text = draw_legend([LegendKey("line", "second", "b"), LegendKey("zone", "limit", "c")])

    assert re.findall(r'data-t="([\w-]+)"', text) == ["line-second"]
    assert '<span class="key"><i class="zone limit"></i>c</span>' in text


def test_a_strip_draws_what_says_something_alone() -> None:
    cells = [
        None,
        None,
        StripCell("warning", "a · b", "/c"),
        StripCell("hatched"),
        StripCell("hatched"),
        None,
    ]
    text = draw_strip(cells, "d")

    assert text.count("<rect") == 3
    assert '<a href="/c" tabindex="-1"><title>a · b</title><rect class="sw" x="33.33%"' in text
    assert 'class="dotm"' in text
    assert text.count('class="sn"') == 1
    assert draw_strip([None] * 60, "d").count("<rect") == 1


@given(st.lists(st.sampled_from([None, *LOOKS]), max_size=80))
def test_cells_of_a_strip_lie_apart_within_it(looks: list[StripLook | None]) -> None:
    text = draw_strip([None if look is None else StripCell(look) for look in looks], "a")
    boxes = re.findall(r'<rect class="(?!s0)\w+" x="([\d.e-]+)%" y="\d+" width="([\d.e-]+)%"', text)
    spans = sorted((float(left), float(left) + float(wide)) for left, wide in boxes)

    assert all(0 <= left < right <= 100 for left, right in spans)
    assert all(after[0] >= before[1] - 0.1 for before, after in pairwise(spans))


def test_an_interval_lies_on_its_scale() -> None:
    axis = Axis(0.0, 1.0)
    text = draw_interval(
        axis, 0.2, 0.3, 0.4, "a", kind="critical", reference=0.5, zone=AlertZone(0.25, "below")
    )

    assert '<line class="whisker critical" x1="20%" x2="40%"' in text
    assert '<circle class="dot critical" cx="30%"' in text
    assert '<rect class="zone limit" x="0%" y="0" width="25%"' in text
    assert '<line class="line reference" x1="50%" x2="50%"' in text


def test_a_sparkline_shows_what_was_expected_and_its_last_value() -> None:
    text = draw_sparkline([1.0, 2.0, None, 3.0], "a", expected=[(1, 2), (1, 2), None, (1, 2)], last="warning")

    assert text.count('class="band expected"') == 2
    assert '<circle class="dot warning"' in text
    assert draw_sparkline([None], "a", expected=[(1, 2)]) == ""


@pytest.mark.parametrize("name", CORPUS)
def test_hostile_texts_are_shown_and_make_no_element(name: str) -> None:
    x = Axis(0.0, 1.0, (AxisTick(0.5, name),))
    pictures = [
        draw_stack(stack(name, "/a?b=c")),
        draw_strip([StripCell("warning", name, "/a")], name),
        draw_interval(x, 0.1, 0.2, 0.3, name),
        draw_scale(x, name),
        draw_sparkline([1.0, 2.0], name, expected=[None, (0, 1)]),
        f"<p>{draw_legend([LegendKey('line', 'main', name), LegendKey('dot', 'main', name)])}</p>",
    ]
    known = {
        "svg", "line", "text", "path", "circle", "rect", "a", "g", "title", "div", "b", "span", "label",
        "input", "i", "details", "summary", "pre", "p",
    }  # fmt: skip

    for text in pictures:
        root = ET.fromstring(text.replace(" checked>", "/>"))  # noqa: S314 -- our own text
        assert {element.tag for element in root.iter()} <= known
        assert acting(text) <= {"\t"}  # which parts the columns of numbers
        assert not [
            key for element in root.iter() for key in element.attrib if key.startswith(("on", "style"))
        ]
