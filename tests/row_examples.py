"""A row of a measurement and an alert that fires, each with what a test does not care about filled in."""

from dataclasses import replace
from typing import Any

from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.alerts.verdicts import Verdict
from monitor.core.measurement import Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow

WHOLE_WEEK = MeasurementRow(
    window="7d",
    window_end=0,
    truth=LabelTruth.NONE,
    version=None,
    segment=None,
    measure="",
    subject="",
    measurement=Measurement(0.0, n=0),
)


def row_of(measure: str, measurement: Measurement, **others: Any) -> MeasurementRow:
    """A row of the whole of a week; `others` are its other columns."""
    return replace(WHOLE_WEEK, measure=measure, measurement=measurement, **others)


def firing(series: AlertedSeries, verdict: Verdict, at: int, **others: Any) -> Alert:
    """An alert that fires since a moment, by a verdict of then; `others` are its other columns."""
    alert = Alert(
        series=series,
        severity=Severity.WARNING,
        state=AlertState.FIRING,
        since=at,
        judged_at=at,
        verdict=verdict,
        breach=verdict,
        fired_at=at,
    )
    return replace(alert, **others)
