"""When rules would have fired, on what was kept."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from monitor.alerts.alert_rules import AlertedSeries, Rule
from monitor.alerts.judging_rounds import JudgingRound, advance_alerts
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.core.clock import DAY
from monitor.measures.measurement_row import StoredMeasurement

_MONTH = 30 * DAY


@dataclass(frozen=True, slots=True)
class BacktestSummary:
    """How a rule would have done."""

    rule: str
    fired: int  # alerts that would have fired, of all its series
    per_month: float  # of them in 30 days
    firing: int  # microseconds for which at least one would have fired, and the longest of one alert
    longest: int
    judged: int  # moments at which there was something to judge


def skip_superseded_rows(
    kept_revisions: Iterable[StoredMeasurement],
) -> Iterator[StoredMeasurement]:
    """Rows as rules read them: of each window and truth none before the newest that was seen.

    Parameters
    ----------
    kept_revisions
        in the order of as of.
    """
    ends: dict[tuple[str, str], int] = {}
    for _, rows in groupby(kept_revisions, key=attrgetter("as_of")):
        these = list(rows)
        for row in (stored.row for stored in these):
            place = (row.window, str(row.truth))
            ends[place] = max(row.window_end, ends.get(place, row.window_end))
        yield from (
            stored
            for stored in these
            if stored.row.window_end == ends[stored.row.window, str(stored.row.truth)]
        )


def backtest_rules(
    rules: Iterable[Rule], kept_revisions: Iterable[StoredMeasurement]
) -> tuple[list[Alert], Mapping[str, int]]:
    """Alerts that would have fired, in the order of firing; at how many moments each rule was judged.

    Parameters
    ----------
    kept_revisions
        in the order of as of; see `skip_superseded_rows`. Cost: one pass, a moment's rows in
        memory.
    """
    rules = tuple(rules)
    standing: Mapping[AlertedSeries, Alert] = {}
    fired: dict[tuple[AlertedSeries, int], Alert] = {}
    judged = {rule.name: 0 for rule in rules}
    for at, rows in groupby(kept_revisions, key=attrgetter("as_of")):
        these = [stored.row for stored in rows]
        measures = {(row.measure, row.window, str(row.truth), row.against) for row in these}
        for rule in rules:
            judged[rule.name] += (rule.measure, rule.window, rule.truth, rule.against) in measures
        outcome: JudgingRound = advance_alerts(rules, these, standing, at)
        standing = outcome.standing
        for alert in outcome.written:
            if alert.fired_at is not None:
                fired[alert.series, alert.since] = alert
    return sorted(fired.values(), key=lambda alert: (alert.fired_at or 0, alert.series)), judged


def summarize_rules(
    rules: Iterable[Rule], alerts: Iterable[Alert], judged: Mapping[str, int], span: tuple[int, int]
) -> list[BacktestSummary]:
    """How each rule would have done within a span."""
    start, end = span
    times: dict[str, list[tuple[int, int]]] = {rule.name: [] for rule in rules}
    for alert in alerts:
        if alert.series.rule in times:
            resolved = alert.resolved_at if alert.state is AlertState.RESOLVED else None
            times[alert.series.rule].append((alert.fired_at or 0, end if resolved is None else resolved))
    return [
        BacktestSummary(
            rule=rule,
            fired=len(firing),
            per_month=len(firing) * _MONTH / max(1, end - start),
            firing=_covered_length(firing),
            longest=max((stop - begin for begin, stop in firing), default=0),
            judged=judged.get(rule, 0),
        )
        for rule, firing in times.items()
    ]


def _covered_length(times: Iterable[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total, reached = 0, 0
    for start, end in sorted(times):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
