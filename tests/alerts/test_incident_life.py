"""Laws of incidents: a fold over judged moments, of which any earlier moment can be asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, Rule, RuleLimit, Severity
from monitor.alerts.incident_life import (
    RECOVERY,
    IncidentGrowth,
    IncidentKind,
    IncidentTurn,
    JudgedMoment,
    KeptIncident,
    ModelIncidents,
    advance_incidents,
    alert_kind,
)
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change
from monitor.core.clock import DAY, HOUR, from_iso, to_iso
from monitor.store.incident_rows import incident_of_values, incident_values

FIRST = from_iso("2024-03-01")
RULES = (
    Rule(
        name="log_stopped",
        measure="log_age",
        condition=BreachCondition(above=RuleLimit(1.0)),
        severity=Severity.CRITICAL,
    ),
    Rule(name="fell", measure="roc_auc", condition=BreachCondition(below=RuleLimit(0.5)), window="7d"),
    Rule(name="own", measure="own_measure_of_a_plugin", condition=BreachCondition(above=RuleLimit(0.0))),
    Rule(
        name="seen", measure="volume", condition=BreachCondition(above=RuleLimit(0.0)), severity=Severity.INFO
    ),
)
SERIES = (
    *(AlertedSeries("changed", window="cumulative", subject=f"feature:{name}") for name in "abcd"),
    AlertedSeries("changed", window="cumulative", subject="score"),
    AlertedSeries("changed", window="cumulative", subject="labels"),
    AlertedSeries("changed", window="cumulative"),
    *(AlertedSeries(rule.name) for rule in RULES),
    AlertedSeries("changed", window="cumulative", subject="label"),
)


def alert_of(
    series: AlertedSeries, at: int, *, kind: str = "level", since: int | None = None, size: float = 1.0
) -> Alert:
    """An alert that fires at a moment, of a change that began on a day."""
    rule = next((rule for rule in RULES if rule.name == series.rule), None)
    day = to_iso(at - DAY if since is None else since)[:10]
    change = Change(kind=kind, observed=0.5, since=day, size=size) if rule is None else None
    breach = Verdict(outcome=Outcome.BREACH, window_end=at, value=1.0 + size, limit=1.0, change=change)
    return Alert(
        series=series,
        severity=Severity.WARNING if rule is None else rule.severity,
        state=AlertState.FIRING,
        since=at,
        judged_at=at,
        verdict=breach,
        breach=breach,
        fired_at=at,
    )


def ended(alert: Alert, at: int, why: EndReason = EndReason.CLEARED) -> Alert:
    return replace(alert, state=AlertState.RESOLVED, resolved_at=at, ended=why)


def moments_of(
    episodes: Iterable[tuple[Alert, int | None]], at: Iterable[int] = (), why: EndReason = EndReason.CLEARED
) -> list[JudgedMoment]:
    """Each moment at which an alert fired or ended, and some others: what rules said then."""
    episodes = list(episodes)
    times = {alert.since for alert, _ in episodes} | {end for _, end in episodes if end is not None} | {*at}
    return [
        JudgedMoment(
            time,
            {
                alert.series: alert
                for alert, end in episodes
                if alert.since <= time and (end is None or end > time)
            },
            [ended(alert, end, why) for alert, end in episodes if end == time],
        )
        for time in sorted(times)
    ]


def lived(moments: Sequence[JudgedMoment]) -> tuple[ModelIncidents, dict[str, KeptIncident]]:
    """Incidents after moments, and the rows that cycles would have written, by address."""
    model, rows = ModelIncidents(), dict[str, KeptIncident]()
    for moment in moments:
        grown = advance_incidents(model, [moment], RULES)
        model = grown.incidents
        rows |= {one.address: one for one in grown.written}
    return model, rows


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Alert, int | None]]:
    """Episodes of alerts over some weeks: those of one series do not overlap."""
    episodes: list[tuple[Alert, int | None]] = []
    for series in draw(st.lists(st.sampled_from(SERIES), min_size=1, max_size=6, unique=True)):
        at = FIRST
        for _ in range(draw(st.integers(1, 3))):
            at += draw(st.integers(1, 40)) * 6 * HOUR
            alert = alert_of(
                series,
                at,
                kind=draw(st.sampled_from(["level", "missing"])),
                since=at - draw(st.integers(1, 3)) * DAY,
                size=draw(st.sampled_from([0.5, 1.0, 3.0])),
            )
            end = at + draw(st.integers(1, 20)) * 6 * HOUR
            lasts = draw(st.booleans())
            episodes.append((alert, None if lasts else end))
            if lasts:
                break
            at = end
    return episodes


@given(histories())
def test_an_alert_that_fires_belongs_to_exactly_one_incident(
    episodes: list[tuple[Alert, int | None]],
) -> None:
    _, rows = lived(moments_of(episodes))
    homes = [(member.series, member.since) for one in rows.values() for member in one.members]

    assert sorted(homes) == sorted((alert.series, alert.since) for alert, _ in episodes)


@given(histories())
def test_what_is_open_has_an_alert_that_fires_or_fired_just_before(
    episodes: list[tuple[Alert, int | None]],
) -> None:
    moments = moments_of(episodes)
    _, rows = lived(moments)

    for moment in moments:
        open_ = [one.known_at(moment.at) for one in rows.values() if one.is_open(moment.at)]
        firing = {(member.series, member.since) for one in open_ for member in one.firing}
        assert firing == {(alert.series, alert.since) for alert in moment.standing.values()}
        for one in open_:
            last = max((member.left or 0 for member in one.members), default=0)
            assert one.firing or moment.at - last < RECOVERY
    for one in rows.values():  # and nothing that fired just before is over
        over = one.resolved_at
        if over is not None:
            assert all(member.left is not None and member.left + RECOVERY <= over for member in one.members)


@given(histories())
def test_what_was_known_at_a_moment_is_what_the_row_of_today_says_of_it(
    episodes: list[tuple[Alert, int | None]],
) -> None:
    moments = moments_of(episodes, [FIRST + 90 * DAY])
    _, rows = lived(moments)

    for many, moment in enumerate(moments, 1):
        then, _ = lived(moments[:many])
        asked = [one.known_at(moment.at) for one in rows.values() if one.is_open(moment.at)]
        assert sorted(asked, key=lambda one: one.address) == sorted(then.open, key=lambda one: one.address)


@given(histories())
def test_an_address_is_nobody_elses_and_never_changes(episodes: list[tuple[Alert, int | None]]) -> None:
    model, taken = ModelIncidents(), dict[tuple[AlertedSeries, int], str]()
    for moment in moments_of(episodes):
        model = advance_incidents(model, [moment], RULES).incidents
        assert len({one.address for one in model.open}) == len(model.open)
        for one in model.open:
            for member in one.members:
                assert taken.setdefault((member.series, member.since), one.address) == one.address
    by_address: dict[str, set[int]] = {}
    _, rows = lived(moments_of(episodes))
    for one in rows.values():
        by_address.setdefault(one.address, set()).add(one.opened_at)
        assert to_iso(one.first_day)[:10] == one.address[:10]
    assert all(len(opened) == 1 for opened in by_address.values())


@given(histories(), st.randoms())
def test_the_order_of_alerts_makes_no_difference(
    episodes: list[tuple[Alert, int | None]], random: Any
) -> None:
    def shuffled(standing: Mapping[AlertedSeries, Alert]) -> dict[AlertedSeries, Alert]:
        pairs = [*standing.items()]
        random.shuffle(pairs)
        return dict(pairs)

    moments = moments_of(episodes)

    assert lived([replace(one, standing=shuffled(one.standing)) for one in moments])[1] == lived(moments)[1]


@given(histories(), st.randoms(), st.integers(0, 10))
def test_it_makes_no_difference_which_moments_a_process_saw_in_one_go_or_that_it_was_killed(
    episodes: list[tuple[Alert, int | None]], random: Any, cuts: int
) -> None:
    moments = moments_of(episodes, [FIRST + 90 * DAY])
    model, rows = ModelIncidents(), dict[str, KeptIncident]()
    places = [0, *sorted(random.randint(0, len(moments)) for _ in range(cuts)), len(moments)]
    for begin, end in pairwise(places):
        grown = advance_incidents(model, moments[begin:end], RULES)
        rows |= {one.address: one for one in grown.written}
        # A new process reads what is open, in another order.
        read = [incident_of_values(incident_values(one)) for one in rows.values() if one.resolved_at is None]
        random.shuffle(read)
        model = ModelIncidents(tuple(read), frozenset(rows))

    assert rows == lived(moments)[1]


def only(episodes: Iterable[tuple[Alert, int | None]], **others: Any) -> KeptIncident:
    (incident,) = lived(moments_of(episodes, **others))[1].values()
    return incident


A, B, C, D = SERIES[:4]
WHOLE, FELL, STOPPED = SERIES[6], AlertedSeries("fell"), AlertedSeries("log_stopped")
T = FIRST + 10 * DAY


def test_an_alert_that_fires_again_soon_is_the_same_incident_and_later_another_one() -> None:
    soon = alert_of(A, T + DAY + RECOVERY - HOUR)
    late = alert_of(A, T + DAY + RECOVERY)

    assert only([(alert_of(A, T), T + DAY), (soon, None)]).opened_at == T
    first, second = lived(moments_of([(alert_of(A, T), T + DAY), (late, None)]))[1].values()
    assert (first.resolved_at, second.opened_at) == (T + DAY + RECOVERY, late.since)


@pytest.mark.parametrize("why", [EndReason.ACCEPTED, EndReason.REMOVED, EndReason.USUAL])
def test_what_somebody_decided_or_is_usual_now_is_over_at_once(why: EndReason) -> None:
    assert only([(alert_of(A, T), T + DAY)], why=why).resolved_at == T + DAY


def test_the_address_stays_when_the_alert_that_gave_it_resolves() -> None:
    incident = only([(alert_of(A, T), T + DAY), (alert_of(B, T + HOUR, since=T - 3 * DAY), None)])

    assert incident.address == "2024-03-10-inputs-moved"
    assert [member.series for member in incident.firing] == [B]


def test_a_second_incident_of_a_day_and_kind_has_a_number() -> None:
    again = alert_of(A, T + 10 * DAY, since=T - DAY)
    _, rows = lived(moments_of([(alert_of(A, T), T + DAY), (again, None)]))

    assert sorted(rows) == ["2024-03-10-inputs-moved", "2024-03-10-inputs-moved-2"]


def test_inputs_of_one_day_are_one_incident_whichever_comes_first() -> None:
    missing, moved = alert_of(A, T, kind="missing"), alert_of(B, T + HOUR, since=T - DAY)
    other = alert_of(C, T + HOUR, since=T - 3 * DAY)

    assert only([(missing, None), (moved, None)]).kind is IncidentKind.MISSING
    worse = only([(alert_of(B, T), None), (alert_of(A, T + HOUR, kind="missing", since=T - DAY), None)])
    assert (worse.kind, worse.address) == (IncidentKind.MISSING, "2024-03-10-inputs-moved")
    assert worse.steps[-1].growth is IncidentGrowth.KIND
    _, rows = lived(moments_of([(missing, None), (moved, None), (other, None)]))
    assert {one.kind: len(one.members) for one in rows.values()} == {
        IncidentKind.MISSING: 2,
        IncidentKind.MOVED: 1,
    }


@pytest.mark.parametrize(("apart", "many"), [(0, 1), (1, 1), (2, 2)])
@pytest.mark.parametrize("labels_first", [True, False])
def test_more_positives_and_worse_performance_of_the_same_days_are_one_incident(
    apart: int, many: int, *, labels_first: bool
) -> None:
    """The headline is that of performance, whichever is found first."""
    moments = (T, T + HOUR) if labels_first else (T + HOUR, T)
    label = AlertedSeries("changed", window="cumulative", subject="label")
    of_labels = alert_of(label, moments[0], kind="base_rate", since=T - DAY)
    of_scores = alert_of(WHOLE, moments[1], kind="residual_level", since=T - (1 + apart) * DAY)

    _, rows = lived(moments_of([(of_labels, None), (of_scores, None)]))

    assert len(rows) == many
    assert min(rows.values(), key=lambda one: len(one.members)).kind in (
        IncidentKind.PERFORMANCE, IncidentKind.OUTCOME,
    )  # fmt: skip
    if many == 1:
        (incident,) = rows.values()
        assert (incident.kind, len(incident.members)) == (IncidentKind.PERFORMANCE, 2)


def test_alerts_of_a_kind_whose_incident_is_open_belong_to_it_whatever_their_day() -> None:
    assert len(only([(alert_of(A, T), None), (alert_of(B, T + 20 * DAY), None)]).members) == 2


def test_an_incident_is_told_again_where_it_is_twice_as_much_or_worse_and_else_not() -> None:
    at = iter(range(T, T + 100 * HOUR, HOUR))
    many = only([(alert_of(series, next(at), since=T), None) for series in (A, B, C, D)])
    assert [(step.turn, step.growth, step.many) for step in many.steps] == [
        (IncidentTurn.OPENED, None, 1),
        (IncidentTurn.GREW, IncidentGrowth.MANY, 2),
        (IncidentTurn.GREW, IncidentGrowth.MANY, 4),
    ]

    critical = replace(alert_of(WHOLE, T + HOUR, kind="log_loss"), severity=Severity.CRITICAL)
    worse = only([(alert_of(FELL, T), None), (critical, None)])
    assert [step.growth for step in worse.steps] == [None, IncidentGrowth.CRITICAL]


@pytest.mark.parametrize(("size", "told"), [(1.9, [1]), (2.0, [1, 2])])
def test_a_change_that_is_twice_as_large_is_told_once(size: float, told: list[int]) -> None:
    small = alert_of(A, T)
    large = replace(small, breach=alert_of(A, T, size=size).breach)
    moments = [JudgedMoment(T + at * HOUR, {A: large if at else small}) for at in range(4)]
    _, rows = lived(moments)

    (incident,) = rows.values()
    assert len(incident.steps) == len(told)
    assert incident.steps[-1].growth is (IncidentGrowth.LARGE if len(told) > 1 else None)


def test_any_rule_has_a_kind_by_its_measure_and_what_calls_for_nobody_is_apart() -> None:
    kinds = {rule.name: alert_kind(alert_of(AlertedSeries(rule.name), T), rule) for rule in RULES}

    assert kinds == {
        "log_stopped": IncidentKind.RECORDS,
        "fell": IncidentKind.PERFORMANCE,
        "own": IncidentKind.OTHER,
        "seen": IncidentKind.INFORMATION,
    }
