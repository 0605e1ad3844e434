"""One round of judging: all rules of a model on what a cycle measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monitor.alerts.alert_rules import Acceptance, Accepted, AlertedSeries, Rule
from monitor.alerts.lifecycle import (
    Alert,
    AlertState,
    end_accepted_alert,
    end_if_accepted,
    end_orphaned_alert,
    expire_unknown,
    mark_unknown,
    step_alert,
)
from monitor.alerts.verdicts import group_rule_rows, has_judged_rows, judge_rule, rule_measures
from monitor.measures.measurement_row import MeasurementRow


@dataclass(frozen=True, slots=True)
class JudgingRound:
    """What a round led to."""

    standing: Mapping[AlertedSeries, Alert]  # alerts that are pending or firing now
    written: tuple[Alert, ...] = ()  # alerts that are not as they were, those resolved now among them
    dropped: tuple[Alert, ...] = ()  # that were pending, and have gone without having fired
    turned: tuple[Alert, ...] = ()  # of those written: fired or resolved now

    @property
    def ended(self) -> tuple[Alert, ...]:
        """Of those written: resolved now."""
        return tuple(alert for alert in self.written if alert.state is AlertState.RESOLVED)


def advance_alerts(
    rules: Iterable[Rule],
    rows: Iterable[MeasurementRow],
    standing: Mapping[AlertedSeries, Alert],
    at: int,
    *,
    accepted: Accepted | None = None,
) -> JudgingRound:
    """Judge all rules, and move their alerts on.

    Parameters
    ----------
    rows
        what the cycle measured; where it has none of a window and truth, rules on these do not look, and
        their alerts stay as they are. Cost: one pass.
    standing
        alerts that were pending or firing before.
    at
        as of of the cycle.
    accepted
        changes that are expected.
    """
    rules = tuple(rules)
    by_place = group_rule_rows(rows, rule_measures(rules))
    now: dict[AlertedSeries, Alert] = {}
    ended: list[Alert] = []
    for rule in rules:
        verdicts = judge_rule(rule, by_place, accepted)
        mine = {series: alert for series, alert in standing.items() if series.rule == rule.name}
        for series in {**mine, **verdicts}:
            before, alert = mine.get(series), None
            if series in verdicts:
                alert = step_alert(rule, series, before, verdicts[series], at)
            elif before is not None:
                # Its place was measured, and nothing is said of it there: that is unknown from now on. Where
                # nothing was measured, nobody looked.
                looked = has_judged_rows(by_place, rule, series, before.verdict.window_end)
                alert = mark_unknown(rule, before, at) if looked else expire_unknown(rule, before, at)
            if alert is not None and _is_accepted_breach(alert, (accepted or {}).get(series)):
                alert = end_if_accepted(alert, at)
            if alert is not None and alert.state is AlertState.RESOLVED:
                ended.append(alert)
            elif alert is not None:
                now[series] = alert
    # Alerts of rules that are no longer configured would stand for ever: no verdict comes any more.
    names = {rule.name for rule in rules}
    gone = (end_orphaned_alert(alert, at) for series, alert in standing.items() if series.rule not in names)
    ended += [alert for alert in gone if alert is not None]
    return _make_round(standing, now, ended, at)


def chain_rounds(first: JudgingRound, second: JudgingRound) -> JudgingRound:
    """Two rounds of the same rules, one after the other: of each alert its last state counts."""
    written = {(alert.series, alert.since): alert for alert in (*first.written, *second.written)}
    turned = dict.fromkeys((alert.series, alert.since) for alert in (*first.turned, *second.turned))
    dropped = {alert.series: alert for alert in (*first.dropped, *second.dropped)}
    return JudgingRound(
        standing=second.standing,
        written=tuple(written.values()),
        dropped=tuple(dropped.values()),
        turned=tuple(written[key] for key in turned),
    )


def merge_rounds(one: JudgingRound, other: JudgingRound) -> JudgingRound:
    """Two rounds of different rules as one."""
    return JudgingRound(
        standing={**one.standing, **other.standing},
        written=one.written + other.written,
        dropped=one.dropped + other.dropped,
        turned=one.turned + other.turned,
    )


def end_accepted_breaches(judging_round: JudgingRound, accepted: Accepted, at: int) -> JudgingRound:
    """A round of rules on days: alerts whose newest breach was accepted end now, not with a new day."""
    ends = {
        series: alert
        for series, alert in judging_round.standing.items()
        if _is_accepted_breach(alert, accepted.get(series))
    }
    if not ends:
        return judging_round
    ended = [alert for one in ends.values() if (alert := end_accepted_alert(one, at)) is not None]
    standing = {series: alert for series, alert in judging_round.standing.items() if series not in ends}
    return chain_rounds(judging_round, _make_round(judging_round.standing, standing, ended, at))


def _is_accepted_breach(alert: Alert, accepted: Acceptance | None) -> bool:
    """Whether the newest breach of an alert was accepted."""
    return accepted is not None and alert.breach.window_end <= accepted.end


def _make_round(
    standing: Mapping[AlertedSeries, Alert], now: Mapping[AlertedSeries, Alert], ended: list[Alert], at: int
) -> JudgingRound:
    changed = [alert for series, alert in now.items() if alert is not standing.get(series)]
    left = {alert.series for alert in (*now.values(), *ended)}
    return JudgingRound(
        standing=now,
        written=(*changed, *ended),
        dropped=tuple(alert for series, alert in standing.items() if series not in left),
        turned=(*(alert for alert in changed if alert.fired_at == at and alert.judged_at == at), *ended),
    )
