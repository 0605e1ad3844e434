"""The four figures of a model: each count has one definition, whatever shows it."""

from dataclasses import replace
from typing import Any

import pytest
from row_examples import firing, row_of
from test_standing import HEALTHY, NOW, QUIET, measured, performance_of

from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.lifecycle import Alert
from monitor.alerts.model_standing import judge_standing
from monitor.alerts.model_summary import FigureMark, ModelSummary, PerformanceScale
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change, ExpectedBand
from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import Interval, Measurement
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow

TODAY = to_iso(NOW - DAY)[:10]


def summary_of(**changed: Any) -> ModelSummary:
    return judge_standing(replace(HEALTHY, **changed)).summary


def changed_alert(subject: str, change: Change, severity: Severity = Severity.WARNING) -> Alert:
    breach = Verdict(outcome=Outcome.BREACH, window_end=NOW, change=change)
    return replace(firing(AlertedSeries("changed", subject=subject), breach, NOW - DAY), severity=severity)


def missing_alert(name: str, severity: Severity = Severity.WARNING) -> Alert:
    change = Change(
        kind="missing", observed=1.0, expected=ExpectedBand(0.0, 0.0), since=TODAY, size=1.0, day=TODAY
    )
    return changed_alert(f"feature:{name}", change, severity)


def records_of(n: int, *, averaged_days: int = 1) -> MeasurementRow:
    change = Change(
        kind="records",
        observed=float(n),
        expected=ExpectedBand(500.0, 667.0),
        averaged_days=averaged_days,
        day=TODAY,
    )
    return row_of(
        "evidence", Measurement(0.0, n=n, change=change), subject="records", window=CUMULATIVE, window_end=NOW
    )


def test_performance_is_of_the_window_that_its_rule_limits() -> None:
    figure = summary_of().performance

    assert (figure.title, figure.value, figure.beside) == ("ROC AUC", "0.749", "as in the reference")
    assert figure.mark is FigureMark.OK
    assert "Reference 0.750." in figure.note


def test_worse_within_the_limit_has_no_colour() -> None:
    figure = summary_of(rows=performance_of(LabelTruth.SETTLED, -0.02)).performance

    assert (figure.beside, figure.mark) == ("worse than the reference", FigureMark.NONE)


def test_an_accuracy_that_a_constant_answer_reaches_is_not_green() -> None:
    of = {"truth": LabelTruth.SETTLED, "window": "7d", "window_end": NOW - 7 * DAY}
    within = Measurement(0.0, n=900, interval=Interval(-0.01, 0.01))
    rows = [
        row_of("accuracy", Measurement(0.68, n=900), **of),
        row_of("accuracy", within, against="reference", **of),
        row_of("majority_accuracy", Measurement(0.69, n=900), **of),
    ]

    figure = summary_of(main="accuracy", rows=rows).performance

    assert (figure.beside, figure.mark) == ("no better than a constant answer", FigureMark.NONE)


@pytest.mark.parametrize(("window", "alike"), [("30d", True), ("month", True), ("28d", True), ("7d", False)])
def test_a_limit_is_of_windows_as_long_as_its_own(window: str, *, alike: bool) -> None:
    scale = PerformanceScale(
        measure="roc_auc",
        value=0.7,
        interval=None,
        reference=0.7,
        limit=0.66,
        window="30d",
        is_alert_above=False,
    )

    assert scale.is_of_length(window) is alike


def test_before_labels_are_in_it_says_when_performance_is_known() -> None:
    figure = summary_of(rows=[]).performance

    assert figure.value == ""
    assert figure.note.startswith("Too early to say when performance will be known")


@pytest.mark.parametrize(
    ("severities", "mark"),
    [
        ([], FigureMark.OK),
        ([Severity.WARNING], FigureMark.WARNING),
        ([Severity.WARNING, Severity.CRITICAL], FigureMark.CRITICAL),
    ],
)
def test_features_changed_are_those_with_an_alert(severities: list[Severity], mark: FigureMark) -> None:
    alerts = [(missing_alert(name, severity), "") for name, severity in zip("ab", severities, strict=False)]

    summary = summary_of(
        rows=QUIET + [row_of("missing_rate", measured(0.0), subject=f"feature:{n}") for n in "abc"],
        alerts=alerts,
    )

    assert (summary.inputs.value, summary.inputs.beside) == (str(len(severities)), "of 3 changed")
    assert summary.inputs.mark is mark
    assert len([one for one in summary.changed if one.incident]) == len(severities)


def test_what_is_for_information_alone_is_not_counted() -> None:
    assert summary_of(alerts=[(missing_alert("age", Severity.INFO), "")]).inputs.value == "0"


@pytest.mark.parametrize(
    ("n", "averaged_days", "beside", "mark"),
    [
        (600, 1, "as usual", FigureMark.OK),
        (492, 1, "a little low", FigureMark.NONE),
        (700, 1, "a little high", FigureMark.NONE),
        (492, 28, "as usual", FigureMark.OK),
    ],
)
def test_records_are_those_of_the_last_complete_day(
    n: int, averaged_days: int, beside: str, mark: FigureMark
) -> None:
    figure = summary_of(rows=[*QUIET, records_of(n, averaged_days=averaged_days)]).records

    assert (figure.value, figure.beside, figure.mark) == (str(n), beside, mark)
    assert ("usually have 500 to 667." in figure.note) is (averaged_days == 1)


def test_a_value_that_changed_stands_beside_what_is_usual() -> None:
    (one,) = summary_of(alerts=[(missing_alert("age"), "")]).changed

    assert (one.name, one.what, one.usual, one.now) == ("age", "missing", "0 %", "100 %")
    assert one.incident.endswith("inputs-missing")
