from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from keyed_models import with_changes
from row_examples import firing
from synthetic import SPEC

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.charts.marks import IntervalBand, LinePath, PointDots, RuleLine
from monitor.core.change import Change, ExpectedBand
from monitor.core.clock import DAY, from_datetime, from_iso
from monitor.measures.measurement_row import CUMULATIVE
from monitor.pages.alert_page import draw_change_days
from monitor.pages.figures import Figure
from monitor.pages.page_request import ChartedDay, PageData, PageRequest
from monitor.show.alert_tables import ShownAlert
from monitor.specs.model_spec import ModelSpec

END = from_iso("2024-03-05T00:00-05:00")
TODAY = from_iso("2024-03-04") // DAY
MIDDLE = END - DAY // 2


CHANGE = Change(kind="level", observed=4.0, expected=ExpectedBand(1.0, 3.0), since="2024-03-04")


def followed(before: int, value: float, end: int | None = None) -> ChartedDay:
    """So many days before the judged one."""
    end = END - before * DAY if end is None else end
    return ChartedDay(TODAY - before, end - DAY, end, value, 1.0, 3.0)


class Kept:
    """What pages read, of one series."""

    def __init__(self, *days: ChartedDay) -> None:
        self._days = days

    def list_specs(self) -> Sequence[ModelSpec]:
        reading = replace(SPEC.reading, zone="America/New_York")
        return [with_changes(SPEC, name="churn", reading=reading)]

    def page_moment(self) -> int:
        return END

    def read_change_days(self, *_asked: object) -> Sequence[ChartedDay]:
        return self._days


def figure_of(*days: ChartedDay, fired: int = END) -> Figure | None:
    """Figure of an alert."""
    verdict = Verdict(outcome=Outcome.BREACH, window_end=END, value=1.5, change=CHANGE)
    series = AlertedSeries("changed", window=CUMULATIVE, subject="feature:age")
    alert = firing(series, verdict, fired)
    shown = ShownAlert("churn", alert)
    return draw_change_days(cast("PageData", Kept(*days)), PageRequest(("models",)), shown, CHANGE)


def test_days_stand_in_what_was_expected_of_them_and_the_first_of_the_change_is_marked() -> None:
    figure = figure_of(followed(1, 2.0), followed(0, 4.0))

    assert figure is not None
    marks = figure.plot.marks
    (line,) = (one for one in marks if isinstance(one, LinePath))
    (band,) = (one for one in marks if isinstance(one, IntervalBand))
    dots, ring = (one for one in marks if isinstance(one, PointDots))
    (began,) = (one for one in marks if isinstance(one, RuleLine))
    assert line.points == [(MIDDLE - DAY, 2.0), (MIDDLE, 4.0)]
    assert band.points == [(MIDDLE - DAY, 1.0, 3.0), (MIDDLE, 1.0, 3.0)]
    assert dots.points == line.points
    assert ring.points == [(MIDDLE, 4.0)]
    assert (began.at, began.label) == (END - DAY, "began 4 Mar 2024")
    assert figure.title == "level of age, day by day"


def test_when_it_was_found_is_marked_where_that_is_not_when_it_began() -> None:
    figure = figure_of(followed(1, 2.0), followed(0, 4.0), fired=from_iso("2024-03-14"))

    assert figure is not None
    assert figure.plot.x.high == from_iso("2024-03-14"), "the axis holds it"
    assert [one.label for one in figure.plot.marks if isinstance(one, RuleLine)] == [
        "began 4 Mar 2024",
        "found 14 Mar 2024",
    ]


def test_days_that_are_not_known_are_gaps() -> None:
    figure = figure_of(followed(3, 2.0), followed(0, 4.0))

    assert figure is not None
    (line,) = (one for one in figure.plot.marks if isinstance(one, LinePath))
    assert [value for _, value in line.points] == [2.0, None, None, 4.0]
    assert figure.note.endswith("in a gap no day was checked: unusual_days, or too few records")
    whole = figure_of(followed(1, 2.0), followed(0, 4.0))
    assert whole is not None
    assert "gap" not in whole.note


def test_nothing_is_drawn_where_days_are_watched_otherwise_now() -> None:
    assert figure_of() is None


@pytest.mark.parametrize("clock_changes", ["2024-03-11", "2023-11-06"])
def test_days_are_those_of_the_models_zone_also_where_its_clock_changes(clock_changes: str) -> None:
    """The days of 23 and of 25 hours, each after one of 24."""
    zone, midnight = ZoneInfo("America/New_York"), datetime.fromisoformat(clock_changes)
    starts = [from_datetime((midnight - timedelta(at)).replace(tzinfo=zone)) for at in (2, 1, 0)]
    bounds = enumerate(pairwise(starts))
    days = [ChartedDay(at, start, end, 2.0, 1.0, 3.0) for at, (start, end) in bounds]

    figure = figure_of(*days)

    assert figure is not None
    told = [midnight - timedelta(2), midnight - timedelta(1)]
    assert [row[0] for row in figure.rows] == [f"{one.day} {one:%b %Y}" for one in told]
    (line,) = (one for one in figure.plot.marks if isinstance(one, LinePath))
    assert [value for _, value in line.points] == [2.0, 2.0]
