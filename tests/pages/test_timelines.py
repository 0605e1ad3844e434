"""Lines over time: which windows they join, and which stand in the numbers alone."""

from dataclasses import replace

from monitor.charts.marks import LinePath, PointDots
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.pages.figures import draw_timeline
from monitor.pages.period_words import time_axis
from monitor.pages.window_readings import line_points, window_readings
from monitor.windows.window_ends import Window

WEEK = Window("7d", 7 * DAY, 6 * HOUR)


def row(end: int, value: float, n: int = 500, truth: LabelTruth = LabelTruth.SETTLED) -> StoredMeasurement:
    measured = Measurement(value=value, n=n)
    kept = MeasurementRow(
        window="7d",
        window_end=end,
        truth=truth,
        version=None,
        segment=None,
        measure="roc_auc",
        subject="",
        measurement=measured,
    )
    return StoredMeasurement("late", end, kept)


def test_a_window_that_is_kept_between_two_days_makes_no_gaps_around_them() -> None:
    kept = [row(end, 0.7) for end in (*range(20 * DAY, 40 * DAY, DAY), 33 * DAY + 18 * HOUR)]
    later = [row(end, 0.7) for end in range(50 * DAY, 52 * DAY, DAY)]

    points = line_points(window_readings([*kept, *later], "roc_auc"), WEEK)

    assert [y for _, y in points].count(None) == 1, "of the ten days alone, of which nothing is kept"


def test_a_window_with_hardly_any_label_is_not_drawn_and_stretches_no_axis() -> None:
    kept = [row(end, 0.7) for end in range(20 * DAY, 40 * DAY, DAY)]
    young = [row(40 * DAY, 0.69, 300, LabelTruth.PROVISIONAL), row(41 * DAY, 0.0, 6, LabelTruth.PROVISIONAL)]
    series = window_readings([*kept, *young], "roc_auc")

    figure = draw_timeline("roc_auc", series, WEEK, time_axis(13 * DAY, 41 * DAY, "UTC"))

    drawn = [y for mark in figure.plot.marks if isinstance(mark, LinePath) for _, y in mark.points]
    assert min(y for y in drawn if y is not None) == 0.69
    assert figure.plot.y.low > 0.6
    assert len(figure.rows) == len(figure.plot.stops) == 22
    assert "hardly any label" in figure.note


def test_a_window_with_hardly_any_record_is_drawn_of_coverage_and_where_a_mark_is() -> None:
    kept = [row(end, 0.7) for end in range(20 * DAY, 40 * DAY, DAY)]
    series = window_readings([*kept, row(40 * DAY, 0.2, 6, LabelTruth.PROVISIONAL)], "roc_auc")
    renamed = [replace(one, row=replace(one.row, measure="coverage")) for one in series]
    axis, ring = (
        time_axis(13 * DAY, 41 * DAY, "UTC"),
        PointDots([(WEEK.middle_of(40 * DAY), 0.2)], "second", hollow=True),
    )

    for figure in (
        draw_timeline("coverage", renamed, WEEK, axis),
        draw_timeline("roc_auc", series, WEEK, axis, marks=[ring]),
    ):
        drawn = [y for mark in figure.plot.marks if isinstance(mark, LinePath) for _, y in mark.points]
        assert 0.2 in drawn
        assert figure.plot.y.low <= 0.2
        assert "hardly any label" not in figure.note
