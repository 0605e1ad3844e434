"""Each part of a page once, as pages make it: what tests of the design look at."""

import math
from pathlib import Path

from monitor.charts.marks import (
    AlertZone,
    IntervalBand,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    PointDots,
    RuleLine,
    ShadedSpan,
)
from monitor.charts.scales import Axis, linear_axis
from monitor.charts.stacks import LaneSpan, Stack, StackChart, StackLane
from monitor.charts.strips import StripCell
from monitor.core.clock import DAY, from_iso
from monitor.pages.page_request import PageRequest
from monitor.pages.page_templates import (
    TabCount,
    _template_environment,
    display_name,
    page_frame,
)
from monitor.pages.period_words import day_and_month_words, time_axis
from monitor.specs.model_spec import ModelSpec

START, END = from_iso("2013-03-01"), from_iso("2014-01-01")
TEMPLATE = Path(__file__).with_name("gallery.html").read_text()


class Surroundings:
    """What surrounds a page, without a store."""

    run = "live"
    probes = True

    def page_moment(self) -> int:
        """The end of the log."""
        return END

    def list_specs(self) -> list[ModelSpec]:
        """No model."""
        return []


def gallery_stack() -> Stack:
    """A measure by week, lanes, and a series by day."""
    weeks = [START + at * 7 * DAY + 7 * DAY // 2 for at in range(43)]
    values = [0.68 + 0.06 * math.sin(at) - (0.08 if 28 < at < 32 else 0) for at in range(43)]
    days = [START + at * DAY + DAY // 2 for at in range(306)]
    missing = [0.0] * 305 + [1.0]
    low = [(float(x), y) for x, y in zip(weeks, values, strict=True)]
    measure = StackChart(
        title="ROC AUC by week",
        y=linear_axis([0.5, 0.8]),
        marks=[
            AlertZone(0.663, "below"),
            ShadedSpan(float(END - 6 * DAY), float(END), "hatched"),
            IntervalBand([(x, y - 0.02, y + 0.02) for x, y in low]),
            RuleLine(0.698),
            LinePath(low),
            PointDots([(x, y) for x, y in low if y >= 0.643]),
            LinkedPoints([
                LinkedPoint(x=x, y=y, kind="critical", words=f"ROC AUC {y:.3f} · below the limit", href="/p")
                for x, y in low if y < 0.643
            ]),
            MarginLabel(0.698, "reference"),
            MarginLabel(0.663, "alert limit", "limit"),
        ],
        legend=[
            LegendKey("area", "main", "95 % interval"),
            LegendKey("line", "reference", "reference 0.698"),
            LegendKey("zone", "limit", "alert below 0.663"),
            LegendKey("dot", "critical", "a week clearly below"),
        ],
        height=190,
        stops=[float(x) for x in weeks],
        columns=("week", "ROC AUC", "interval"),
        rows=[(day_and_month_words(x), f"{y:.3f}", f"({y - 0.02:.3f}–{y + 0.02:.3f})")
              for x, y in zip(weeks, values, strict=True)],
    )  # fmt: skip
    alerts = StackLane(
        title="Performance alerts",
        spans=[LaneSpan(start=float(START + 190 * DAY), end=float(START + 240 * DAY), kind="critical",
                        words="ROC AUC below the limit · 16 Sep to 21 Oct · critical", href="/alert")],
    )  # fmt: skip
    deployed = StackLane(
        title="Deployments",
        note="one version, since 1 Mar",
        spans=[LaneSpan(start=float(START), end=float(START), kind="main", words="late_gb-1 · 1 Mar")],
    )
    feature = StackChart(
        title="Missing weather values",
        note="share of the day's records",
        y=linear_axis([0.0, 1.0], most=2, label=lambda at: f"{100 * at:g} %"),
        marks=[
            LinePath([(float(x), y) for x, y in zip(days, missing, strict=True)]),
            LinkedPoints([LinkedPoint(x=float(days[-1]), y=1.0, kind="warning", words="100 % on 31 Dec",
                                      href="/f", ring=True)]),
            MarginLabel(1.0, "100 % on 31 Dec", "warning"),
        ],
        height=44,
        stops=[float(x) for x in days],
        columns=("day", "Missing"),
        rows=[(day_and_month_words(x), f"{100 * y:.1f} %") for x, y in zip(days, missing, strict=True)],
    )  # fmt: skip
    return Stack(
        name="over-time",
        label="ROC AUC, alerts, deployments and missing values over time",
        x=time_axis(START, END),
        parts=[measure, alerts, deployed, feature],
        ends=("2013-03-01", "2014-01-01"),
    )


def gallery_html() -> str:
    """The page."""
    request = PageRequest(("models", "late"))
    frame = page_frame(Surroundings(), request, ("late",), {"Inputs": TabCount(7, "warning")}, END)
    alert, far, outside = (
        StripCell("warning", "temp_f · 31 Dec · alert", "/d"),
        StripCell("far"),
        StripCell("outside"),
    )
    strips = [
        [None] * 20 + [outside, far, None] + [StripCell("hatched")] * 9 + [None] * 27 + [alert],
        [StripCell("changed")] * 22 + [StripCell("critical", "b", "/e")] * 2 + [None] * 36,
    ]
    page = {
        "axis": Axis(0.58, 0.78),
        "zone": AlertZone(0.663, "below"),
        "stack": gallery_stack(),
        "days": time_axis(END - 60 * DAY, END),
        "rows": [
            (f"{name}_of_a_feature", cells, n)
            for name, cells, n in (("temp_f", strips[0], 492), ("wind_mph", strips[1], 73))
        ],
        "spark": [0.1 * math.sin(at) for at in range(30)] + [0.6],
        "expected": [(-0.2, 0.2)] * 20 + [None] * 5 + [(-0.1, 0.1)] * 6,
    }
    return (
        _template_environment()
        .from_string(TEMPLATE)
        .render(page=page, frame=frame, link=request.link_to, shown=display_name)
    )
