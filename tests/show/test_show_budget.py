"""What moves below the limit, and what was told: in text and as JSON."""

import json

from row_examples import row_of

from monitor.core.change import Change, ExpectedBand
from monitor.core.clock import DAY
from monitor.core.measurement import Measurement
from monitor.measures.catalogue.daily_measures import ALERTS, BUDGET, EVIDENCE
from monitor.show.budget_tables import BudgetStatus, budgets_json, change_lines
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
    (small,) = change_lines(spent(0.0, 1e6))
    (some,) = change_lines(spent(0.4, 0.4))
    (stands,) = change_lines(spent(9.0, 9.0))

    assert small.endswith("(enough evidence, but smaller than `smallest`)")
    assert some.endswith("(40 % of the evidence of an alert)")
    assert stands.endswith("(an alert stands)")


def test_changes_of_30_days_are_those_that_the_measure_of_that_name_counts() -> None:
    (plain,) = json.loads(budgets_json([spent(0.0, 0.2)]))

    assert plain["alerts_30d"] == 3
