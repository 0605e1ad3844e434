from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from row_examples import firing
from synthetic import SPEC

from monitor.alerts.rules import Series
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.charts.marks import Band, Dots, Path
from monitor.core.clock import DAY, from_datetime, from_iso
from monitor.core.measurement import Detail, Measurement
from monitor.measures.catalogue.daily import CHANGED, EVIDENCE
from monitor.measures.rows import CUMULATIVE, MeasurementRow, Revision, Truth
from monitor.pages.alert import judged_days
from monitor.pages.asked import Asked, PageData
from monitor.pages.figures import Figure
from monitor.show.alerts import ShownAlert
from monitor.specs.model import ModelSpec

END = from_iso("2024-03-05T00:00-05:00")
MIDDLE = END - DAY // 2


def judged(value: float | None, what: str = "level") -> Detail:
    cells = {"what": what, "level": "", "value": value, "expected_low": 1.0, "expected_high": 3.0}
    return Detail(CHANGED, (tuple(cells.get(name) for name in CHANGED),))


def kept(end: int, detail: Detail, as_of: int = END) -> Revision:
    result = Measurement(value=1.5, n=100, detail=detail)
    row = MeasurementRow(
        window=CUMULATIVE,
        window_end=end,
        truth=Truth.NONE,
        version=None,
        segment=None,
        measure=EVIDENCE,
        subject="feature:age",
        measurement=result,
    )
    return as_of, row


class Kept:
    """What pages read, of one series."""

    def __init__(self, *rows: Revision) -> None:
        self._rows = rows

    def specs(self) -> Sequence[ModelSpec]:
        reading = replace(SPEC.reading, zone="America/New_York")
        return [replace(SPEC, name="churn", reading=reading)]

    def now(self) -> int:
        return END

    def rows(self, *_asked: object) -> Sequence[Revision]:
        return self._rows


def figure_of(*rows: Revision, cause: Detail) -> Figure | None:
    """Figure of an alert."""
    verdict = Verdict(outcome=Outcome.BREACH, window_end=END, value=1.5, cause=cause)
    series = Series("changed", window=CUMULATIVE, subject="feature:age")
    alert = firing(series, verdict, END)
    return judged_days(cast("PageData", Kept(*rows)), Asked(("models",)), ShownAlert("churn", alert))


def drawn(*rows: Revision, cause: Detail) -> tuple[Path, Band, list[Dots]] | None:
    """Line, band and dots of the figure of an alert."""
    figure = figure_of(*rows, cause=cause)
    if figure is None:
        return None
    marks = figure.plot.marks
    (line,) = (one for one in marks if isinstance(one, Path))
    (band,) = (one for one in marks if isinstance(one, Band))
    return line, band, [one for one in marks if isinstance(one, Dots)]


def test_days_stand_in_what_was_expected_of_them_and_the_newest_verdicts_is_ringed() -> None:
    made = drawn(kept(END - DAY, judged(2.0)), kept(END, judged(4.0)), cause=judged(4.0))

    assert made is not None
    line, band, (dots, ring) = made
    assert line.points == [(MIDDLE - DAY, 2.0), (MIDDLE, 4.0)]
    assert band.points == [(MIDDLE - DAY, 1.0, 3.0), (MIDDLE, 1.0, 3.0)]
    assert dots.points == line.points
    assert ring.points == [(MIDDLE, 4.0)]


def test_days_that_are_not_kept_are_gaps_and_a_day_judged_by_something_else_is_none_of_them() -> None:
    other = kept(END - DAY, judged(9.0, "shape"))
    made = drawn(kept(END - 3 * DAY, judged(2.0)), other, kept(END, judged(4.0)), cause=judged(4.0))

    assert made is not None
    assert made[0].points == [(MIDDLE - 3 * DAY, 2.0), (MIDDLE - DAY, None), (MIDDLE, 4.0)]


@pytest.mark.parametrize("before", [(), (kept(END - DAY, judged(None)),)])
def test_one_day_alone_is_no_series(before: Sequence[Revision]) -> None:
    assert drawn(*before, kept(END, judged(4.0)), cause=judged(4.0)) is None


@pytest.mark.parametrize("clock_changes", ["2024-03-11", "2023-11-06"])
def test_days_are_those_of_the_models_zone_also_where_its_clock_changes(clock_changes: str) -> None:
    """The days of 23 and of 25 hours, each after one of 24."""
    zone, midnight = ZoneInfo("America/New_York"), datetime.fromisoformat(clock_changes)
    ends = [from_datetime((midnight + timedelta(at)).replace(tzinfo=zone)) for at in (-1, 0)]

    figure = figure_of(*(kept(end, judged(2.0)) for end in ends), cause=judged(4.0))

    assert figure is not None
    told = [midnight - timedelta(2), midnight - timedelta(1)]
    assert [row[0] for row in figure.rows] == [f"{one.day} {one:%b %Y}" for one in told]
    (line,) = (one for one in figure.plot.marks if isinstance(one, Path))
    assert [value for _, value in line.points] == [2.0, 2.0]
