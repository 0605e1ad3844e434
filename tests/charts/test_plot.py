import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hostile_texts import CORPUS, acting

from monitor.charts.marks import (
    CellOutline,
    IntervalBand,
    IntervalWhiskers,
    Kind,
    LinePath,
    Mark,
    PointDots,
    RuleLine,
    ShadedSpan,
    StandingBars,
    StraightLine,
)
from monitor.charts.plot import Plot, draw_plot
from monitor.charts.scales import Axis, AxisTick, linear_axis
from monitor.charts.sparklines import draw_share, draw_sparkline

UNIT = Axis(0.0, 1.0)
FRAME = (
    '<svg class="plot" width="100%" height="130" role="img" aria-label="a">'
    '<line class="axis" x1="0" x2="100%" y1="108" y2="108"/>'
    '<svg class="paths" y="8" width="100%" height="100" viewBox="0 0 1000 100" preserveAspectRatio="none">'
)


def picture(*marks: Mark, x: Axis = UNIT, y: Axis = UNIT, stops: tuple[float, ...] = ()) -> str:
    return draw_plot(Plot(x=x, y=y, marks=marks, label="a", height=100, stops=stops))


@pytest.mark.parametrize(
    ("mark", "flat", "upright"),
    [
        (LinePath([(0.0, 0.0), (1.0, 1.0)]), '<path class="line main" d="M0 100L1000 0"/>', ""),
        (
            LinePath([(0.0, 0.5), (0.25, None), (0.5, 0.5), (1.0, 1.0)], "second"),
            '<path class="line second" d="M0 50M500 50L1000 0"/>',
            "",
        ),
        (
            IntervalBand([(0.0, 0.2, 0.4), (1.0, 0.3, 0.5)]),
            '<path class="band main" d="M0 60L1000 50L1000 70L0 80Z"/>',
            "",
        ),
        (
            CellOutline([0.0, 0.5, 1.0], [0.25, 1.0], filled=False),
            '<path class="line main" d="M0 75L500 75L500 0L1000 0"/>',
            "",
        ),
        (
            StandingBars([(0.0, 0.1, 0.5)]),
            '<rect class="bar main" x="0" width="100" y="50" height="50"/>',
            "",
        ),
        (
            StraightLine((0.0, 0.0), (1.0, 1.0), label="b"),
            '<path class="line chance" d="M0 100L1000 0"/>',
            '<text class="note" x="0%" dx="6" y="108" dy="-6">b</text>',
        ),
        (
            StraightLine((0.5, 0.75), (0.5, 0.5), "now", "c"),
            '<path class="line now" d="M500 25L500 50"/>',
            '<text class="note" x="50%" dx="6" y="58" dy="14">c</text>',
        ),
        (
            PointDots([(0.5, 0.5)], hollow=True),
            "",
            '<circle class="dot main hollow" cx="50%" cy="58" r="2.5"/>',
        ),
        (
            IntervalWhiskers([(0.5, 0.25, 0.75)]),
            "",
            '<line class="whisker main" x1="50%" x2="50%" y1="83" y2="33"/>',
        ),
        (
            RuleLine(0.5),
            "",
            '<line class="line reference" x1="0" x2="100%" y1="58" y2="58"/>',
        ),
        (
            RuleLine(0.9, "x", "now", "late"),
            "",
            (
                '<line class="line now" x1="90%" x2="90%" y1="8" y2="108"/>'
                '<text class="note end" x="90%" dx="-4" y="18">late</text>'
            ),
        ),
    ],
    ids=lambda part: type(part).__name__ if not isinstance(part, str) else "",
)
def test_a_mark_is_drawn(mark: Mark, flat: str, upright: str) -> None:
    assert picture(mark) == f"{FRAME}{flat}</svg>{upright}</svg>"


def test_axes_have_ticks_and_a_title() -> None:
    x = Axis(0.0, 1.0, (AxisTick(0.0, "0"), AxisTick(0.5, "½"), AxisTick(1.0, "1")), title="score")
    text = picture(x=x, y=Axis(0.0, 1.0, (AxisTick(0.5, "50 %"),)), stops=(0.0, 0.25))

    assert 'height="146"' in text
    assert 'data-at="0 25"' in text
    assert '<text class="y" x="0" dx="-6" y="58" dy="4">50 %</text>' in text
    assert [(found[1], found[2]) for found in re.finditer(r'<text class="(x[^"]*)"[^>]*>([^<]*)<', text)] == [
        ("x first", "0"),
        ("x second", "½"),
        ("x last", "1"),
    ]
    assert ">score →</text>" in text


def test_of_many_ticks_every_second_is_left_out_where_there_is_little_room() -> None:
    x = Axis(0.0, 8.0, tuple(AxisTick(float(at), str(at)) for at in range(1, 8)))

    assert re.findall(r'<text class="(x[^"]*)"', picture(x=x)) == [
        "x",
        "x odd",
        "x second",
        "x odd",
        "x",
        "x odd",
        "x second",
    ]


def test_what_lies_beyond_an_axis_is_drawn_at_its_end() -> None:
    assert 'd="M0 100L1000 0"' in picture(LinePath([(-5.0, -5.0), (5.0, 5.0)]))


def test_cells_without_one_more_edge_are_refused() -> None:
    with pytest.raises(ValueError, match="2 edges of 2 cells"):
        picture(CellOutline([0.0, 1.0], [1.0, 2.0]))


def test_the_area_under_a_drawn_curve_is_that_of_its_points() -> None:
    curve = [(0.0, 0.0), (0.1, 0.45), (0.35, 0.8), (0.7, 0.92), (1.0, 1.0)]
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(curve))
    path = re.search(r'<path class="line main" d="M([^"]*)"', picture(LinePath(curve)))

    assert path is not None
    points = [tuple(map(float, pair.split())) for pair in path[1].split("L")]
    read = sum((b[0] - a[0]) / 1000 * (1 - (a[1] + b[1]) / 200) for a, b in pairwise(points))
    assert read == pytest.approx(area, abs=1e-4)


@pytest.mark.parametrize("name", CORPUS)
def test_hostile_names_are_shown_and_make_no_element(name: str) -> None:
    """Every text that enters: of axes, marks, rows of cells, small pictures."""
    x = Axis(0.0, 1.0, (AxisTick(0.5, name),), title=name)
    marks: list[Mark] = [
        RuleLine(0.5, "x", label=name),
        StraightLine((0, 0), (1, 1), label=name),
    ]
    pictures = {
        draw_plot(Plot(x=x, y=x, marks=marks, label=name)): 5,
        draw_sparkline([1.0, 2.0], name): 0,
        draw_share(0.1, 0.2, 0.3, name): 0,
    }

    for text, told in pictures.items():
        root = ET.fromstring(text)  # noqa: S314 -- our own text
        elements = {element.tag for element in root.iter()}
        assert elements <= {"svg", "line", "text", "path", "circle", "rect"}
        assert not [
            key for element in root.iter() for key in element.attrib if key.startswith(("on", "style"))
        ]
        assert acting(text) == set()
        assert len([element for element in root.iter() if element.text]) == told
        assert "://" not in text.replace(root.attrib["aria-label"], "") or "://" in name


def test_no_picture_says_how_it_looks_but_by_its_classes() -> None:
    kinds: list[Kind] = ["main", "second"]
    marks: list[Mark] = [LinePath([(0.0, 0.1), (1.0, 0.3)], kind) for kind in kinds]

    assert not re.search(
        r"style=|fill=|stroke=|font", picture(*marks, ShadedSpan(0.1, 0.2), x=linear_axis([0.0, 1.0]))
    )


def test_a_spark_line_shows_gaps_and_nothing_of_nothing() -> None:
    assert draw_sparkline([], "a") == draw_sparkline([None], "a") == ""
    assert draw_sparkline([1.0, None, 1.0], "a").count("M") == 2


@pytest.mark.parametrize(("points", "decimals"), [(250, 2), (251, 1)])
def test_a_path_of_more_points_than_a_curve_has_is_drawn_to_a_tenth(points: int, decimals: int) -> None:
    x = Axis(0.0, 3.0 * (points - 1), ())
    text = picture(LinePath([(float(at), 0.0) for at in range(points)], "main"), x=x)

    assert f"L{1000 / 3:.{decimals}f} " in text
