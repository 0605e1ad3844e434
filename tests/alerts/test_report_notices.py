"""A period is told once, by the first cycle after it, whichever ticks there are."""

import json
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.alerts.report_notices import ReportPlan, make_report_notices
from monitor.core.clock import DAY, HOUR, from_iso, to_datetime
from monitor.pages.report_periods import parse_short_period

URL = "https://monitor.example"
BEGIN = from_iso("2013-01-01")
EVERY = st.sampled_from(["week", "month", "quarter"])
ZONES = st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Asia/Kolkata"])


def sent(plan: ReportPlan, before: int | None, at: int, wait: int = 0) -> list[str]:
    told = make_report_notices("late", plan, before, at, wait=wait, url=URL)
    return [json.loads(one.payload)["period"] for one in told]


@given(
    every=EVERY,
    zone=ZONES,
    steps=st.lists(st.integers(1, 20 * 24), min_size=1, max_size=40),
    wait=st.integers(0, 30),
)
@example(every="month", zone="UTC", steps=[24 * 31, 24, 24 * 27], wait=0)
def test_each_period_that_is_over_is_told_once_as_its_report_is_asked_for(
    every: str, zone: str, steps: list[int], wait: int
) -> None:
    plan = ReportPlan(every=every, zone=zone, channels=("mail",))
    ticks = [BEGIN]
    for step in steps:
        ticks.append(ticks[-1] + step * HOUR)
    told = [(at, period) for before, at in pairwise(ticks) for period in sent(plan, before, at, wait * HOUR)]

    periods = [period for _, period in told]
    assert len(periods) == len({*periods})
    previous = BEGIN
    for at, period in told:
        start, end = parse_short_period(period, zone)
        assert end + wait * HOUR <= at
        assert to_datetime(start).astimezone(ZoneInfo(zone)).hour == 0
        assert previous < at
        previous = at
    # With ticks at most as far apart as the shortest period, none is left out.
    if every != "week":
        first = parse_short_period(periods[0], zone)[1] if periods else ticks[-1]
        assert first - BEGIN <= 93 * DAY or not periods
    for (_, one), (_, following) in pairwise(told):
        gap = parse_short_period(following, zone)[0] - parse_short_period(one, zone)[1]
        assert gap >= 0
        assert gap == 0 or every == "week"


def test_nothing_is_told_of_what_was_before_the_first_cycle_or_of_a_tick_that_runs_again() -> None:
    plan = ReportPlan(every="month", zone="UTC", channels=("mail",))
    end = from_iso("2013-12-01")

    assert sent(plan, None, end) == []
    assert sent(plan, end, end) == []
    assert sent(plan, end - HOUR, end) == ["2013-11"]
    assert sent(plan, end - HOUR, end, wait=HOUR) == []
    assert sent(plan, end, end + HOUR, wait=HOUR) == ["2013-11"]
    assert make_report_notices("late", None, end - 1, end, wait=0, url=URL) == ()


def test_the_key_of_a_period_does_not_depend_on_the_cycle_that_writes_it() -> None:
    plan, end = ReportPlan(every="quarter", zone="UTC", channels=("mail",)), from_iso("2013-10-01")
    (first,) = make_report_notices("late", plan, end - HOUR, end, wait=0, url=URL)
    (later,) = make_report_notices("late", plan, end - DAY, end + 5 * DAY, wait=0, url=URL)

    assert (first.incident, first.as_of, first.kind) == (later.incident, later.as_of, later.kind)
    assert first.incident == "report-2013-Q3"
    assert json.loads(first.payload)["page"] == f"{URL}/models/late/report?period=2013-Q3"
