"""Series day by day: bands, gaps, the ringed first day, and which look alike."""

from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from row_examples import firing

from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.incidents import IncidentAlert
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.charts.marks import IntervalBand, LinePath, LinkedPoints, ShadedSpan
from monitor.core.change import Change, ExpectedBand, UnitFigures
from monitor.core.clock import DAY, from_datetime, from_iso
from monitor.pages.day_charts import day_series_chart, group_alike_series
from monitor.pages.page_request import ChartedDay

END = from_iso("2024-03-05T00:00-05:00")
TODAY = from_iso("2024-03-04") // DAY
MIDDLE = END - DAY // 2
CHANGE = Change(kind="level", observed=4.0, expected=ExpectedBand(1.0, 3.0), since="2024-03-04")


def followed(before: int, value: float) -> ChartedDay:
    """So many days before the judged one."""
    end = END - before * DAY
    return ChartedDay(TODAY - before, end - DAY, end, value, 1.0, 3.0)


def test_days_stand_in_what_was_expected_of_them_and_the_first_of_the_change_is_ringed() -> None:
    days = [followed(1, 2.0), followed(0, 4.0)]

    marks = day_series_chart("age", days, CHANGE, Severity.WARNING, END).marks

    (line,) = (one for one in marks if isinstance(one, LinePath))
    (band,) = (one for one in marks if isinstance(one, IntervalBand))
    (points,) = (one for one in marks if isinstance(one, LinkedPoints))
    assert line.points == [(MIDDLE - DAY, 2.0), (MIDDLE, 4.0)]
    assert band.points == [(MIDDLE - DAY, 1.0, 3.0), (MIDDLE, 1.0, 3.0)]
    assert [(one.x, one.kind, one.ring) for one in points.points] == [(MIDDLE, "warning", True)]


def test_days_that_are_not_known_are_gaps_and_hatched() -> None:
    chart = day_series_chart("age", [followed(3, 2.0), followed(0, 4.0)], CHANGE, None, END)

    (line,) = (one for one in chart.marks if isinstance(one, LinePath))
    (gap,) = (one for one in chart.marks if isinstance(one, ShadedSpan))
    assert [value for _, value in line.points] == [2.0, None, None, 4.0]
    assert (gap.start, gap.end) == (END - 3 * DAY, END - DAY)
    assert [key.text for key in chart.legend] == ["expected", "not compared"]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("clock_changes", ["2024-03-11", "2023-11-06"])
def test_days_are_those_of_the_models_zone_also_where_its_clock_changes(
    zone: str, clock_changes: str
) -> None:
    """In New York the days of 23 and of 25 hours, each after one of 24."""
    midnight = datetime.fromisoformat(clock_changes)
    starts = [from_datetime((midnight - timedelta(at)).replace(tzinfo=ZoneInfo(zone))) for at in (2, 1, 0)]
    days = [ChartedDay(at, start, end, 2.0, 1.0, 3.0) for at, (start, end) in enumerate(pairwise(starts))]

    chart = day_series_chart("age", days, CHANGE, None, starts[-1])

    told = [midnight - timedelta(2), midnight - timedelta(1)]
    assert [row[0] for row in chart.rows] == [f"{one:%a} {one.day} {one:%b}" for one in told]
    (line,) = (one for one in chart.marks if isinstance(one, LinePath))
    assert [value for _, value in line.points] == [2.0, 2.0]


def test_series_that_end_alike_are_one_chart_and_those_without_days_none() -> None:
    def part(name: str) -> IncidentAlert:
        verdict = Verdict(outcome=Outcome.BREACH, window_end=END, change=CHANGE)
        alert = firing(AlertedSeries("changed", subject=f"feature:{name}"), verdict, END)
        return IncidentAlert(
            alert=alert, rule=None, acknowledged_by="", kind=IncidentKind.MOVED, first_day=TODAY * DAY
        )

    one, other = [followed(1, 2.0), followed(0, 4.0)], [followed(1, 2.5), followed(0, 4.0)]
    given = [(part("a"), True, one), (part("b"), True, other), (part("c"), False, one), (part("d"), True, [])]

    found = group_alike_series(given)

    assert [(of.names, of.severity) for of in found] == [(["a", "b"], Severity.WARNING), (["c"], None)]


def test_the_judged_day_has_the_exact_figures_of_its_change_and_no_other_day_has() -> None:
    figures = UnitFigures(17.8, 20.3, 21.7)
    change = Change(kind="level", in_unit=figures, day="2024-03-04")

    exact, before = followed(0, 4.0).as_judged(change), followed(1, 2.0)

    assert (exact.value, exact.low, exact.high) == tuple(figures)
    assert before.as_judged(change) == before
    averaged = Change(kind="level", in_unit=figures, day="2024-03-04", averaged_days=9)
    assert followed(0, 4.0).as_judged(averaged) == followed(0, 4.0)
