"""What `alerts --explain` says: the line that says it all, and a table under a heading."""

from dataclasses import replace
from typing import Any

import pytest
from kept_texts import compare_cases
from row_examples import firing
from shift_rules import own_rules

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.verdicts import COUNTED, Outcome, Verdict
from monitor.core.change import Change, ExpectedBand, UnitFigures
from monitor.core.clock import DAY
from monitor.core.measurement import DetailTable
from monitor.measures.measurement_comparison import FIGURES, contribution_columns
from monitor.show.alert_tables import ShownAlert, alerts_as_table

RULES = {rule.name: rule for rule in (*default_rules(ALL), *own_rules())}
CELLS = DetailTable(("cell", "expected", "actual", "contribution"), (("0 to 12", 0.1, 0.431, 0.4837),))
BREACH = Verdict(outcome=Outcome.BREACH, window_end=0, n=900)


SEGMENTS = DetailTable(
    contribution_columns("accuracy"),
    (("region=North", -0.031, 0.612, 0.702, 0.31, 0.3), ("region=South", -0.001, 0.7, 0.702, 0.1, 0.1)),
)
WORST = DetailTable(
    ("segment", "value", "lower", "upper", "n"),
    (("region=North", 0.6, 0.55, 0.65, 300), ("region=South", 0.7, None, None, 20)),
)
THEN = DetailTable(FIGURES, ((0.72, 0.71, 0.73, 4_000),))
FALL = replace(BREACH, value=-0.05, limit=-0.036, beside=0.72)
MOVED = replace(BREACH, value=0.42, limit=0.25, beside=0.002)
SHARE = replace(BREACH, value=0.25, n=12, limit=0.2)
SHIFTED = ("feature:income", 0.42, 0.1, 0.002, "0 to 12", 0.1, 0.431)
MISSING = ("feature:wind", 0.2174, 0.05, 0.0121, None, None, None)
LEVEL = Change(
    kind="level",
    observed=6.1,
    expected=ExpectedBand(-0.07, 0.07),
    in_unit=UnitFigures(3_815.2, 37.2, 38.8),
    since="2026-10-22",
    chance_months=9e9,
)


def shown_alert(name: str, breach: Verdict, subject: str = "", **changed: Any) -> ShownAlert:
    rule = RULES[name] if not changed.pop("any_subject", False) else replace(RULES[name], subject="*")
    alert = firing(AlertedSeries(name, window=rule.window, subject=subject or rule.subject), breach, 0)
    return ShownAlert("late", replace(alert, **changed), rule=rule)


@pytest.mark.texts
def test_alerts_are_explained() -> None:
    alerts = {
        "a fall, by segments": shown_alert("performance", replace(FALL, cause=SEGMENTS)),
        "a fall, the worst segments": shown_alert("performance", replace(FALL, cause=WORST)),
        "a fall, another moment": shown_alert("performance", replace(FALL, cause=THEN)),
        "a shift": shown_alert("feature_far_off", replace(MOVED, cause=CELLS), "feature:income"),
        "features that moved": shown_alert(
            "feature_shift", replace(SHARE, cause=DetailTable(COUNTED, (SHIFTED,)))
        ),
        "missing values": shown_alert(
            "missing_values", replace(SHARE, cause=DetailTable(COUNTED, (MISSING,)))
        ),
        "kept though it is clear": shown_alert("score_shift", MOVED, clear_since=DAY),
        "no cause": shown_alert("log_stopped", replace(BREACH, value=151_200.0, n=0, limit=129_600.0)),
        "a changed day": shown_alert(
            "changed", replace(BREACH, change=LEVEL), "feature:fee", any_subject=True
        ),
    }
    texts = [(name, alerts_as_table([alert], explain=True)) for name, alert in alerts.items()]

    compare_cases("alerts_explained", texts)
    for (_, explained), alert in zip(texts, alerts.values(), strict=True):
        assert alerts_as_table([alert]).startswith(explained.split("\n\n")[0])
