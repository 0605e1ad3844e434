"""The life of an alert: inactive, pending, firing, resolved. A pure step; its times are as-of times."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from monitor.alerts.alert_rules import Acceptance, AlertedSeries, Rule, Severity
from monitor.alerts.verdicts import NOT_KEPT, USUAL, Outcome, Verdict, excess_over_limit

_WORSE = 2.0  # times as far beyond its limit: figures that are kept besides those of the beginning


class AlertState(StrEnum):
    """Of an alert that is not inactive."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class EndReason(StrEnum):
    """Why an alert was resolved."""

    CLEARED = "cleared"
    USUAL = "usual"
    REVISED = "revised"
    NO_DATA = "no_data"
    REMOVED = "removed"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One episode of one series. Times are as-of times in microseconds."""

    series: AlertedSeries
    severity: Severity
    state: AlertState
    since: int  # of the first breach
    judged_at: int  # of the newest verdict
    verdict: Verdict  # the newest one
    breach: Verdict  # the newest verdict that was a breach
    breached: int = 0  # for how long it has been in breach: times without a known verdict do not count
    # clear_since, unknown_since: since when its verdicts are clear, or unknown; None: they are not.
    clear_since: int | None = None
    unknown_since: int | None = None
    fired_at: int | None = None
    resolved_at: int | None = None
    ended: EndReason | None = None
    # (as of, breach) as it began, as it fired, and each time that it had become twice as bad: what it was
    # judged by then.
    told: tuple[tuple[int, Verdict], ...] = ()


def step_alert(
    rule: Rule, series: AlertedSeries, alert: Alert | None, verdict: Verdict, at: int
) -> Alert | None:
    """Alert after a verdict; None: it is inactive.

    A verdict on the same evidence as the one before says nothing new, and leaves the alert as it is.

    Parameters
    ----------
    alert
        the standing one, pending or firing; None: inactive.
    at
        as of of the cycle, not before `alert.judged_at`.
    """
    if alert is None:
        return _begin_alert(rule, series, verdict, at) if verdict.outcome is Outcome.BREACH else None
    if verdict.novelty_key == alert.verdict.novelty_key:
        # Seen again, perhaps after it was missed: it is not unknown any more.
        if verdict.outcome is not Outcome.UNKNOWN:
            alert = replace(alert, unknown_since=None) if alert.unknown_since is not None else alert
        return expire_unknown(rule, alert, at)
    outcome = verdict.outcome
    # What is not far enough back keeps an alert firing, but does not begin one.
    match Outcome.BREACH if outcome is Outcome.WITHIN and alert.state is AlertState.FIRING else outcome:
        case Outcome.BREACH:
            return _apply_breach(rule, alert, verdict, at)
        case Outcome.CLEAR | Outcome.WITHIN:
            return _apply_clear(rule, alert, verdict, at)
        case Outcome.UNKNOWN:
            since = at if alert.unknown_since is None else alert.unknown_since
            return expire_unknown(
                rule, replace(alert, verdict=verdict, judged_at=at, unknown_since=since), at
            )
        case never:
            assert_never(never)


def mark_unknown(rule: Rule, alert: Alert, at: int) -> Alert | None:
    """Alert whose series has no row any more: as if its verdict were unknown."""
    return expire_unknown(rule, replace(alert, unknown_since=alert.unknown_since or at), at)


def expire_unknown(rule: Rule, alert: Alert, at: int) -> Alert | None:
    """Alert without a new verdict: one that has been unknown for too long ends."""
    if alert.unknown_since is None or at - alert.unknown_since < rule.unknown_after:
        return alert
    return _end_alert(alert, EndReason.NO_DATA, at)


def end_orphaned_alert(alert: Alert, at: int) -> Alert | None:
    """Alert whose rule is gone."""
    return _end_alert(alert, EndReason.REMOVED, at)


def end_if_accepted(alert: Alert, at: int) -> Alert | None:
    """Alert whose newest breach was accepted: once it is clear it has ended, for that reason."""
    if alert.ended in (EndReason.CLEARED, EndReason.USUAL, EndReason.REVISED):
        return replace(alert, ended=EndReason.ACCEPTED)
    kept = alert.state is AlertState.FIRING and alert.clear_since is not None
    return _end_alert(alert, EndReason.ACCEPTED, at) if kept else alert


def end_accepted_alert(alert: Alert, at: int) -> Alert | None:
    """Alert whose newest breach was accepted, where nothing is judged that could clear it."""
    return _end_alert(alert, EndReason.ACCEPTED, at)


def alert_at_moment(alert: Alert, at: int) -> Alert:
    """Alert in the state that it had at a moment, not before it began.

    Where the newest verdict came later, it has the figures that it had been told with by then; an alert of a
    store that did not keep them yet has none.
    """

    def known_moment(moment: int | None) -> int | None:
        return None if moment is None or moment > at else moment

    if known_moment(alert.judged_at) is None:
        lost = at, Verdict(outcome=Outcome.UNKNOWN, window_end=at, reason=NOT_KEPT)
        moment, then = max((one for one in alert.told if one[0] <= at), key=lambda one: one[0], default=lost)
        alert = replace(alert, judged_at=moment, verdict=then, breach=then)
    if known_moment(alert.resolved_at) is not None:
        return alert
    return replace(
        alert,
        state=AlertState.PENDING if known_moment(alert.fired_at) is None else AlertState.FIRING,
        fired_at=known_moment(alert.fired_at),
        clear_since=known_moment(alert.clear_since),
        unknown_since=known_moment(alert.unknown_since),
        resolved_at=None,
        ended=None,
    )


def make_acceptance(alert: Alert, start: int, since: int, until: int | None) -> Acceptance:
    """Acceptance of an alert's newest breach.

    Parameters
    ----------
    start
        of the window of that breach.
    since
        as of of the model's last cycle.
    until
        microseconds; None: for ever.
    """
    breach = alert.breach
    lower, upper = (breach.value if bound is None else bound for bound in (breach.lower, breach.upper))
    return Acceptance(
        series=alert.series,
        start=start,
        end=breach.window_end,
        lower=lower or 0.0,
        upper=upper or 0.0,
        since=since,
        until=until,
    )


def _begin_alert(rule: Rule, series: AlertedSeries, verdict: Verdict, at: int) -> Alert:
    fires = rule.hold == 0
    return Alert(
        series=series,
        severity=rule.severity,
        state=AlertState.FIRING if fires else AlertState.PENDING,
        since=at,
        judged_at=at,
        verdict=verdict,
        breach=verdict,
        fired_at=at if fires else None,
        told=((at, verdict),),
    )


def _apply_breach(rule: Rule, alert: Alert, verdict: Verdict, at: int) -> Alert:
    # Only time in breach counts towards `hold`: not what was unknown or clear in between.
    judged = alert.unknown_since is None and alert.clear_since is None
    breached = alert.breached + (at - alert.judged_at if judged else 0)
    moved_alert = replace(
        alert,
        verdict=verdict,
        breach=verdict if verdict.outcome is Outcome.BREACH else alert.breach,
        judged_at=at,
        breached=breached,
        clear_since=None,
        unknown_since=None,
    )
    fires = alert.state is AlertState.PENDING and breached >= rule.hold
    if (
        fires
        or not alert.told
        or excess_over_limit(moved_alert.breach) >= _WORSE * excess_over_limit(alert.told[-1][1]) > 0
    ):
        moved_alert = replace(moved_alert, told=(*alert.told, (at, moved_alert.breach)))
    return replace(moved_alert, state=AlertState.FIRING, fired_at=at) if fires else moved_alert


def _apply_clear(rule: Rule, alert: Alert, verdict: Verdict, at: int) -> Alert | None:
    since = at if alert.clear_since is None else alert.clear_since
    moved_alert = replace(alert, verdict=verdict, judged_at=at, clear_since=since, unknown_since=None)
    # The very window that was in breach is clear by what is known now: it has been taken back, not mended.
    if verdict.window_end == alert.breach.window_end:
        return _end_alert(moved_alert, EndReason.REVISED, at)
    if alert.state is AlertState.PENDING or at - since >= rule.keep_firing_for:
        return _end_alert(moved_alert, EndReason.USUAL if verdict.reason == USUAL else EndReason.CLEARED, at)
    return moved_alert


def _end_alert(alert: Alert, why: EndReason, at: int) -> Alert | None:
    """A pending alert is dropped, a firing one resolved."""
    if alert.state is AlertState.PENDING:
        return None
    return replace(alert, state=AlertState.RESOLVED, resolved_at=at, ended=why)
