"""One round of judging: all rules of a model on what a cycle measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monitor.alerts.lifecycle import (
    Alert,
    State,
    expected,
    missed,
    removed,
    step,
    taken_for_expected,
    waited,
)
from monitor.alerts.rules import Acceptance, Accepted, Rule, Series
from monitor.alerts.verdicts import index, judge, looked_at, needed
from monitor.measures.rows import MeasurementRow


@dataclass(frozen=True, slots=True)
class Round:
    """What a round led to."""

    standing: Mapping[Series, Alert]  # alerts that are pending or firing now
    written: tuple[Alert, ...] = ()  # alerts that are not as they were, those resolved now among them
    dropped: tuple[Alert, ...] = ()  # that were pending, and have gone without having fired
    turned: tuple[Alert, ...] = ()  # of those written: fired or resolved now


def advance(
    rules: Iterable[Rule],
    rows: Iterable[MeasurementRow],
    standing: Mapping[Series, Alert],
    at: int,
    *,
    accepted: Accepted | None = None,
) -> Round:
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
    by_place = index(rows, needed(rules))
    now: dict[Series, Alert] = {}
    ended: list[Alert] = []
    for rule in rules:
        verdicts = judge(rule, by_place, accepted)
        mine = {series: alert for series, alert in standing.items() if series.rule == rule.name}
        for series in {**mine, **verdicts}:
            before, alert = mine.get(series), None
            if series in verdicts:
                alert = step(rule, series, before, verdicts[series], at)
            elif before is not None:
                looked = looked_at(by_place, rule, series, before.verdict.window_end)
                alert = missed(rule, before, at) if looked else waited(rule, before, at)
            if alert is not None and _is_expected(alert, (accepted or {}).get(series)):
                alert = expected(alert, at)
            if alert is not None and alert.state is State.RESOLVED:
                ended.append(alert)
            elif alert is not None:
                now[series] = alert
    names = {rule.name for rule in rules}
    gone = (removed(alert, at) for series, alert in standing.items() if series.rule not in names)
    ended += [alert for alert in gone if alert is not None]
    return _round(standing, now, ended, at)


def followed(first: Round, second: Round) -> Round:
    """Two rounds of the same rules, one after the other: of each alert its last state counts."""
    written = {(alert.series, alert.since): alert for alert in (*first.written, *second.written)}
    turned = dict.fromkeys((alert.series, alert.since) for alert in (*first.turned, *second.turned))
    dropped = {alert.series: alert for alert in (*first.dropped, *second.dropped)}
    return Round(
        standing=second.standing,
        written=tuple(written.values()),
        dropped=tuple(dropped.values()),
        turned=tuple(written[key] for key in turned),
    )


def beside(one: Round, other: Round) -> Round:
    """Two rounds of different rules as one."""
    return Round(
        standing={**one.standing, **other.standing},
        written=one.written + other.written,
        dropped=one.dropped + other.dropped,
        turned=one.turned + other.turned,
    )


def without_accepted(judged: Round, accepted: Accepted, at: int) -> Round:
    """A round of rules on days: alerts whose newest breach was accepted end now, not with a new day."""
    ends = {
        series: alert
        for series, alert in judged.standing.items()
        if _is_expected(alert, accepted.get(series))
    }
    if not ends:
        return judged
    ended = [alert for one in ends.values() if (alert := taken_for_expected(one, at)) is not None]
    standing = {series: alert for series, alert in judged.standing.items() if series not in ends}
    return followed(judged, _round(judged.standing, standing, ended, at))


def _is_expected(alert: Alert, accepted: Acceptance | None) -> bool:
    """Whether the newest breach of an alert was accepted."""
    return accepted is not None and alert.breach.window_end <= accepted.end


def _round(
    standing: Mapping[Series, Alert], now: Mapping[Series, Alert], ended: list[Alert], at: int
) -> Round:
    changed = [alert for series, alert in now.items() if alert is not standing.get(series)]
    left = {alert.series for alert in (*now.values(), *ended)}
    return Round(
        standing=now,
        written=(*changed, *ended),
        dropped=tuple(alert for series, alert in standing.items() if series not in left),
        turned=(*(alert for alert in changed if alert.fired_at == at and alert.judged_at == at), *ended),
    )
