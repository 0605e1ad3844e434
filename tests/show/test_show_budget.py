"""What moves below the limit, and what was told: in text and as JSON."""

import json

from row_examples import row_of

from monitor.core.change import Change, ExpectedBand
from monitor.core.clock import DAY
from monitor.core.measurement import Measurement
from monitor.measures.catalogue.daily_measures import ALERTS, BUDGET, EVIDENCE
from monitor.show.budget_tables import BudgetStatus, budget_lines, budgets_json, change_lines
from monitor.specs.model_table import BudgetTable


def spent(evidence: float, apparent: float) -> BudgetStatus:
    change = Change(
        kind="level",
        observed=1.4,
        expected=ExpectedBand(-0.2, 0.2),
        size=0.01,
        since="2024-03-03",
        chance_months=390.0,
        evidence_any_size=apparent,
        learned_days=41,
    )
    rows = [
        row_of(EVIDENCE, Measurement(evidence, n=41, change=change), subject="feature:fee"),
        row_of(ALERTS, Measurement(3.0, n=0)),
        row_of(BUDGET, Measurement(1.0, n=0)),
    ]
    return BudgetStatus(model="late", budget=BudgetTable(), as_of=19_787 * DAY, alerts=(), rows=rows)


def test_a_small_change_with_much_evidence_is_told_as_smaller_than_what_is_asked_for() -> None:
    said = [list(change_lines(spent(*evidence)))[:2] for evidence in ((0.0, 1e6), (0.4, 0.4), (9.0, 9.0))]

    assert [head for head, _ in said] == [
        "late: 1 subject moved",
        "late: 1 subject moved",
        "late: 1 subject moved, with an alert",
    ]
    what = "3 Mar level 1.40 sd above usual on 31 Dec 1969, expected −0.20 to +0.20 sd on Wednesdays"
    for (_, table), evidence in zip(said, ("small", "40 %", "alert"), strict=True):
        assert " ".join(table.splitlines()[1].split()) == f"fee {evidence} {what}"
    assert list(change_lines(spent(0.0, 1e6)))[2].startswith("small: ")


def test_the_budget_says_which_changes_fired_and_how_much_evidence_there_is() -> None:
    head, table, explained = budget_lines(spent(0.4, 0.4))

    assert head == (
        "late: 3 changes fired in 30 days; the budget allows about 1 false alert; 1 subject watched"
    )
    assert table.splitlines()[0].split("  ")[0] == "subject"
    assert table.splitlines()[1].split()[:3] == ["fee", "40", "%"]
    assert explained.startswith("found from: ")


def test_changes_of_30_days_are_those_that_the_measure_of_that_name_counts() -> None:
    (plain,) = json.loads(budgets_json([spent(0.0, 0.2)]))

    assert plain["alerts_30d"] == 3
