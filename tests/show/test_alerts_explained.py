"""What `alerts --explain` says: the line that says it all, and a table under a heading."""

from dataclasses import replace

import pytest
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


def explained(name: str, breach: Verdict, subject: str = "") -> list[str]:
    rule = RULES[name]
    alert = firing(AlertedSeries(name, window=rule.window, subject=subject or rule.subject), breach, 0)
    table, text = alerts_as_table([ShownAlert("late", alert, rule=rule)], explain=True).split("\n\n")
    said = text.split("\n")[1].strip().removesuffix(".").partition(": ")[2]
    assert alerts_as_table([ShownAlert("late", alert, rule=rule)]).startswith(table)
    assert all(part in said for part in (subject, rule.measure))
    return text.split("\n")


def test_a_fall_of_performance_names_the_segments() -> None:
    rows = (("region=North", -0.031, 0.612, 0.702, 0.31, 0.3), ("region=South", -0.001, 0.7, 0.702, 0.1, 0.1))
    fall = replace(
        BREACH,
        value=-0.05,
        limit=-0.036,
        beside=0.72,
        cause=DetailTable(contribution_columns("accuracy"), rows),
    )

    place, says, heading, head, first, _, advice = explained("performance", fall)

    assert place == "late, performance, found 1970-01-01"
    assert "roc_auc 0.670, reference 0.720, difference −0.050, limit −0.036 (−5 % of reference)" in says
    assert heading.strip() == "Segments that contribute most to the difference in accuracy:"
    assert (
        advice == "  What to do: Look at the segments that contribute most, then at shifts of the features."
    )
    assert head.split()[:4] == ["segment", "contribution", "accuracy", "before"]
    assert " ".join(first.split()) == "region=North −3.1 points 61.2 % 70.2 % 31.0 % 30.0 %"


def test_without_contributions_the_worst_segments_are_named() -> None:
    rows = (("region=North", 0.6, 0.55, 0.65, 300), ("region=South", 0.7, None, None, 20))
    worst = DetailTable(("segment", "value", "lower", "upper", "n"), rows)
    fall = replace(BREACH, value=-0.05, limit=-0.036, beside=0.72, cause=worst)

    _, says, heading, _, first, second, _ = explained("performance", fall)

    assert says.endswith("; segment region=North is worst by its better bound, 0.600 [0.550, 0.650].")
    assert heading.strip() == "Segments, the worst by its better bound first:"
    assert first.split() == ["region=North", "0.600", "0.550", "0.650", "300"]
    assert second.split() == ["region=South", "0.700", "unknown", "unknown", "20"]


def test_a_shift_names_the_cells() -> None:
    moved = replace(BREACH, value=0.42, limit=0.25, beside=0.002, cause=CELLS)

    _, says, heading, head, first, _ = explained("feature_far_off", moved, "feature:income")

    assert "feature:income, stability_index 0.420 (significant), limit 0.25, critical value 0.002" in says
    assert heading.strip() == "Values that moved most:"
    assert head.split() == ["values", "expected", "actual", "contribution"]
    assert first.split() == ["0", "to", "12", "10.0", "%", "43.1", "%", "0.4837"]


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        (
            "feature_shift",
            ("feature:income", 0.42, 0.1, 0.002, "0 to 12", 0.1, 0.431),
            {"critical": "value", "feature:income": "0.420 0.1 0.002 0 to 12 10.0 % 43.1 %"},
        ),
        (
            "missing_values",
            ("feature:wind", 0.2174, 0.05, 0.0121, None, None, None),
            {"reference": "", "feature:wind": "+21.7 points +5 points 1.2 %"},
        ),
    ],
)
def test_a_share_names_the_features_with_what_each_was_judged_on(
    name: str, row: tuple[float | str | None, ...], told: dict[str, str]
) -> None:
    of_all = replace(BREACH, value=0.25, n=12, limit=0.2, cause=DetailTable(COUNTED, (row,)))

    _, _, heading, *table = explained(name, of_all)

    assert heading.strip() == "Features, the largest first:"
    assert all(part in " ".join(" ".join(table).split()) for pair in told.items() for part in pair)


def test_an_alert_that_is_kept_though_it_is_clear_says_so() -> None:
    moved = replace(BREACH, value=0.42, limit=0.1, beside=0.002)
    alert = replace(
        firing(AlertedSeries("score_shift", window="7d", subject="score"), moved, 0), clear_since=DAY
    )

    text = alerts_as_table([ShownAlert("late", alert, rule=RULES["score_shift"])], explain=True)

    assert "\n  It is within its limit again from 1970-01-02 on, kept in case it comes back.\n" in text


def test_without_a_cause_the_line_that_says_it_all_is_there() -> None:
    _, says, _ = explained("log_stopped", replace(BREACH, value=151_200.0, n=0, limit=129_600.0))

    assert says == "  The log has stopped: log_age 1d 18h, limit 1d 12h."


def test_of_a_changed_day_the_line_says_it_all_and_what_to_do_stands_below() -> None:
    change = Change(
        kind="level",
        observed=6.1,
        expected=ExpectedBand(-0.07, 0.07),
        in_unit=UnitFigures(3_815.2, 37.2, 38.8),
        since="2026-10-22",
        chance_months=9e9,
    )
    rule = replace(RULES["changed"], subject="*")
    alert = firing(
        AlertedSeries("changed", window="cumulative", subject="feature:fee"),
        replace(BREACH, change=change),
        0,
    )

    _, says, advice = (
        alerts_as_table([ShownAlert("late", alert, rule=rule)], explain=True).split("\n\n")[1].split("\n")
    )

    assert "feature:fee, mean 3,815 (×100, as in other units) on 1969-12-31, expected 37.2 to 38.8" in says
    assert advice.startswith("  What to do: Look at ")


def test_what_a_value_is_compared_with_has_a_heading_of_its_own() -> None:
    then = DetailTable(FIGURES, ((0.72, 0.71, 0.73, 4_000),))

    _, _, heading, *_ = explained("performance", replace(BREACH, value=-0.05, beside=0.72, cause=then))

    assert heading.strip() == "What it is compared with:"
