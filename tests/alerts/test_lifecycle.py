"""The life of an alert, step by step."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, Rule, RuleLimit
from monitor.alerts.lifecycle import (
    Alert,
    AlertState,
    EndReason,
    alert_at_moment,
    end_orphaned_alert,
    mark_unknown,
    step_alert,
)
from monitor.alerts.verdicts import NOT_KEPT, USUAL, Outcome, Verdict
from monitor.core.clock import DAY, HOUR

SERIES = AlertedSeries("shift", window="7d")
AT_ONCE = Rule(
    name="shift", measure="stability_index", condition=BreachCondition(above=RuleLimit(0.25)), window="7d"
)
PATIENT = replace(AT_ONCE, hold=2 * HOUR)
VALUES = {Outcome.BREACH: 0.5, Outcome.WITHIN: 0.2, Outcome.CLEAR: 0.1, Outcome.UNKNOWN: None}


def verdict(outcome: Outcome, end: int = 0, n: int = 100) -> Verdict:
    return Verdict(outcome=outcome, window_end=end, value=VALUES[outcome], n=n)


def lived(rule: Rule, *outcomes: Outcome, every: int = HOUR, alert: Alert | None = None) -> Alert | None:
    """Alert after verdicts on one window after the other."""
    begin = 0 if alert is None else alert.judged_at + every
    for at, outcome in enumerate(outcomes):
        moment = begin + at * every
        alert = step_alert(rule, SERIES, alert, verdict(outcome, end=moment), moment)
    return alert


def test_a_breach_fires_at_once_without_a_time_to_hold() -> None:
    alert = lived(AT_ONCE, Outcome.BREACH)

    assert alert is not None
    assert (alert.state, alert.since, alert.fired_at) == (AlertState.FIRING, 0, 0)


def test_a_breach_is_pending_until_it_has_held() -> None:
    states = [
        None if alert is None else alert.state
        for alert in (lived(PATIENT, *[Outcome.BREACH] * n) for n in (1, 2, 3))
    ]

    assert states == [AlertState.PENDING, AlertState.PENDING, AlertState.FIRING]


def test_a_pending_alert_that_clears_is_dropped() -> None:
    assert lived(PATIENT, Outcome.BREACH, Outcome.CLEAR) is None
    assert lived(PATIENT, Outcome.BREACH, Outcome.WITHIN) is None


def test_a_firing_alert_ends_when_its_window_is_clear() -> None:
    alert = lived(AT_ONCE, Outcome.BREACH, Outcome.CLEAR)

    assert alert is not None
    assert (alert.state, alert.resolved_at, alert.ended) == (AlertState.RESOLVED, HOUR, EndReason.CLEARED)
    assert alert.breach.value == 0.5


def test_an_alert_of_a_change_that_became_what_is_expected_does_not_say_that_it_is_clear() -> None:
    ended = step_alert(
        AT_ONCE,
        SERIES,
        lived(AT_ONCE, Outcome.BREACH),
        replace(verdict(Outcome.CLEAR, 1), reason=USUAL),
        HOUR,
    )

    assert ended is not None
    assert (ended.state, ended.ended) == (AlertState.RESOLVED, EndReason.USUAL)


def test_hysteresis_keeps_a_firing_alert() -> None:
    alert = lived(AT_ONCE, Outcome.BREACH, Outcome.WITHIN)

    assert alert is not None
    assert alert.state is AlertState.FIRING


def test_a_firing_alert_is_kept_until_it_was_clear_for_long_enough() -> None:
    rule = replace(AT_ONCE, keep_firing_for=2 * HOUR)

    states = [
        None if alert is None else alert.state
        for alert in (lived(rule, Outcome.BREACH, *[Outcome.CLEAR] * n) for n in (1, 2, 3))
    ]
    broken = lived(rule, Outcome.BREACH, Outcome.CLEAR, Outcome.BREACH, Outcome.CLEAR)

    assert states == [AlertState.FIRING, AlertState.FIRING, AlertState.RESOLVED]
    assert broken is not None
    assert broken.state is AlertState.FIRING


def test_unknown_verdicts_stop_the_clock() -> None:
    alert = lived(PATIENT, Outcome.BREACH, Outcome.BREACH, Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.BREACH)

    assert alert is not None
    assert (alert.state, alert.breached) == (AlertState.PENDING, HOUR)
    fired = lived(PATIENT, Outcome.BREACH, alert=alert)
    assert fired is not None
    assert fired.state is AlertState.FIRING


def test_an_alert_that_stays_unknown_ends_for_want_of_data() -> None:
    firing, pending = lived(AT_ONCE, Outcome.BREACH), lived(PATIENT, Outcome.BREACH)
    assert firing is not None
    assert pending is not None
    unknown = [Outcome.UNKNOWN] * 25  # hours, from the first one a day

    ended = lived(AT_ONCE, *unknown, alert=firing)

    assert ended is not None
    assert (ended.state, ended.ended, ended.resolved_at) == (
        AlertState.RESOLVED,
        EndReason.NO_DATA,
        25 * HOUR,
    )
    assert lived(PATIENT, *unknown, alert=pending) is None


def test_a_series_that_is_no_longer_measured_is_unknown() -> None:
    firing = lived(AT_ONCE, Outcome.BREACH)
    assert firing is not None

    still = mark_unknown(AT_ONCE, firing, HOUR)
    assert still is not None
    ended = mark_unknown(AT_ONCE, still, HOUR + DAY)

    assert still.state is AlertState.FIRING
    assert ended is not None
    assert ended.ended is EndReason.NO_DATA


def test_the_same_evidence_says_nothing_new() -> None:
    first = step_alert(PATIENT, SERIES, None, verdict(Outcome.BREACH), 0)

    assert step_alert(PATIENT, SERIES, first, verdict(Outcome.BREACH), DAY) is first


def test_a_revision_that_takes_the_breach_back_ends_the_alert_at_once() -> None:
    rule = replace(AT_ONCE, keep_firing_for=DAY)
    firing = step_alert(rule, SERIES, None, verdict(Outcome.BREACH, end=7), 8)

    ended = step_alert(rule, SERIES, firing, verdict(Outcome.CLEAR, end=7, n=120), 9)

    assert ended is not None
    assert (ended.state, ended.ended, ended.resolved_at) == (AlertState.RESOLVED, EndReason.REVISED, 9)


def test_an_alert_whose_rule_is_gone_ends() -> None:
    firing, pending = lived(AT_ONCE, Outcome.BREACH), lived(PATIENT, Outcome.BREACH)
    assert firing is not None
    assert pending is not None

    ended = end_orphaned_alert(firing, DAY)

    assert ended is not None
    assert ended.ended is EndReason.REMOVED
    assert end_orphaned_alert(pending, DAY) is None


@given(st.lists(st.sampled_from(Outcome), min_size=1, max_size=30), st.integers(0, 5), st.integers(0, 5))
def test_whatever_is_seen_an_alert_fires_only_after_it_held(
    outcomes: list[Outcome], hold: int, keep: int
) -> None:
    rule = replace(AT_ONCE, hold=hold * HOUR, keep_firing_for=keep * HOUR)
    alert: Alert | None = None
    for at, outcome in enumerate(outcomes):
        alert = step_alert(rule, SERIES, alert, verdict(outcome, end=at * HOUR), at * HOUR)
        if alert is None:
            continue
        if alert.fired_at is not None:
            assert alert.fired_at - alert.since >= rule.hold
            assert outcomes[alert.fired_at // HOUR] is Outcome.BREACH
        if alert.state is AlertState.RESOLVED:
            assert alert.ended is not None
            assert alert.ended is EndReason.NO_DATA or alert.resolved_at == at * HOUR
            alert = None


def test_a_value_that_is_not_far_enough_back_keeps_the_breach_that_was() -> None:
    alert = lived(AT_ONCE, Outcome.BREACH, Outcome.WITHIN)

    assert alert is not None
    assert (alert.breach.outcome, alert.breach.value) == (Outcome.BREACH, 0.5)
    assert alert.verdict.outcome is Outcome.WITHIN


def test_a_series_that_is_seen_again_unchanged_is_known_again() -> None:
    firing = lived(AT_ONCE, Outcome.BREACH)
    assert firing is not None
    lost = mark_unknown(AT_ONCE, firing, HOUR)
    assert lost is not None

    found = step_alert(AT_ONCE, SERIES, lost, firing.verdict, 2 * HOUR)
    assert found is not None
    later = mark_unknown(AT_ONCE, found, HOUR + DAY)

    assert found.unknown_since is None
    assert later is not None
    assert later.state is AlertState.FIRING


def test_what_an_alert_was_judged_by_then_is_told_of_then() -> None:
    alert = None
    for at, value in enumerate((0.5, 0.6, 0.9, 1.0)):  # 0.25, 0.35, 0.65, 0.75 beyond the limit
        breach = Verdict(outcome=Outcome.BREACH, window_end=at * DAY, value=value, n=100, limit=0.25)
        alert = step_alert(AT_ONCE, SERIES, alert, breach, at * DAY)

    assert alert is not None
    assert [(at, one.value) for at, one in alert.told] == [(0, 0.5), (2 * DAY, 0.9)]
    assert [alert_at_moment(alert, at * DAY).breach.value for at in range(4)] == [0.5, 0.5, 0.9, 1.0]
    assert alert_at_moment(replace(alert, told=()), 2 * DAY).breach.reason == NOT_KEPT, "of an older store"
