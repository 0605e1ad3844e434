"""What several models share is said once."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from row_examples import firing
from summary_examples import SUMMARY

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.incident_life import JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.incidents import describe_incidents
from monitor.alerts.lifecycle import Alert
from monitor.alerts.model_standing import HealthState, ModelStanding
from monitor.alerts.shared_incidents import share_incidents
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change, ExpectedBand
from monitor.core.clock import from_iso
from monitor.show.model_status import status_lines

TODAY = from_iso("2024-01-02")
RULES = default_rules(ALL)


def missing(name: str, day: str = "2023-12-31") -> Alert:
    change = Change(kind="missing", observed=1.0, expected=ExpectedBand(0.0, 0.0), since=day, size=1.0)
    verdict = Verdict(outcome=Outcome.BREACH, window_end=TODAY, change=change)
    return firing(AlertedSeries("changed", window="cumulative", subject=f"feature:{name}"), verdict, TODAY)


def stopped(days: int) -> Alert:
    verdict = Verdict(outcome=Outcome.BREACH, window_end=TODAY, value=days * 86_400.0, limit=129_600.0)
    return firing(AlertedSeries("log_stopped"), verdict, TODAY)


def standing(model: str, alerts: Sequence[Alert], seen_by: str = "") -> ModelStanding:
    moment = JudgedMoment(TODAY, {alert.series: alert for alert in alerts})
    opened = advance_incidents(ModelIncidents(), [moment], RULES).incidents.open
    incidents = describe_incidents(opened, [(alert, seen_by) for alert in alerts], RULES)
    return ModelStanding(
        model=model,
        as_of=TODAY,
        state=HealthState.WARNING,
        badges=(),
        needs_action=not seen_by,
        because=("All of it.",),
        rank=(0, 0),
        sections=(),
        incidents=tuple(incidents),
        summary=SUMMARY,
    )


WEATHER = [missing("rain"), missing("wind")]


def test_the_same_features_in_several_models_are_one_sentence_and_each_model_says_a_few_words() -> None:
    models = [standing(name, WEATHER) for name in ("a", "b", "c")] + [standing("d", [missing("rain")])]

    shared = share_incidents(models)

    (one,) = shared.incidents
    assert one.sentence == (
        "Two features are missing in every record since 31 Dec: rain and wind. "
        "The same two features in 3 models: a, b and c. "
        "What that costs is not known yet: too few labels have come. Next: check what they share."
    )
    few = "Two features are missing in every record since 31 Dec, as in 2 other models."
    assert [shared.first_reason(model) for model in models] == [few, few, few, "All of it."]
    lines = [line.text for line in status_lines(models, 120)]
    assert sum("rain and wind" in line for line in lines) == 1
    assert shared.other_models("a", models[0].incidents[0].address) == ["b", "c"]


def test_records_are_shared_whatever_their_alerts() -> None:
    (one,) = share_incidents([standing("a", [stopped(2)]), standing("b", [stopped(3)])]).incidents

    assert one.sentence == (
        "No records for 2 days. The same in 2 models: a and b. "
        "Performance is not known after 31 Dec. Next: check what they share."
    )


@pytest.mark.parametrize(("apart", "together"), [(1, 1), (2, 0)])
def test_first_days_are_at_most_a_day_apart(apart: int, together: int) -> None:
    earlier = [missing(name, f"2023-12-{31 - apart}") for name in ("rain", "wind")]

    assert len(share_incidents([standing("a", WEATHER), standing("b", earlier)]).incidents) == together


def test_one_model_shares_nothing_and_what_recovers_is_not_told() -> None:
    model = standing("a", WEATHER)
    over = [
        replace(one, kept=replace(one.kept, members=tuple(replace(m, left=TODAY) for m in one.kept.members)))
        for one in model.incidents
    ]

    assert share_incidents([model]).incidents == ()
    assert share_incidents([model, replace(model, model="b", incidents=tuple(over))]).incidents == ()
