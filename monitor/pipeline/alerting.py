"""Alerts of a cycle: what its rules read, and which windows are kept for it.

Rules on settled labels judge what is kept: a window when it settles, and its kept revisions, so that the
evidence of every such verdict stands in the store. All others judge the newest window of each cycle.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from monitor.alerts.acceptance import ACCEPTED, Acceptance, read
from monitor.alerts.lifecycle import State
from monitor.alerts.messages import Notice, notices
from monitor.alerts.rounds import Round, advance
from monitor.alerts.rules import Rule, Series
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Family
from monitor.measures.rows import CUMULATIVE, MeasurementRow, Truth
from monitor.pipeline.model import Monitored
from monitor.pipeline.windows.against import REFERENCE
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import Part
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import Store
from monitor.specs.rows import WindowState


def accepted_changes(store: Store, spec: ModelSpec, as_of: int) -> dict[Series, Acceptance]:
    """Changes that are expected as of a moment. Cost: a query of few rows, none without rules."""
    if not spec.rules:
        return {}
    return read([event.detail for event in store.events(spec.name, ACCEPTED)], as_of)


def watched_rows(measures: WindowMeasures, newest: int, warning: str) -> list[MeasurementRow]:
    """What the rules on the newest window of a kind read, if it changed since they were judged last.

    Cost: nothing without rules; a window is measured again only where the panes behind it changed.
    """
    monitored, window = measures.monitored, measures.window
    rows: list[MeasurementRow] = []
    changed = any(series.window == window.name for series in monitored.accepted)  # panes of earlier windows
    for truth, part in ((Truth.NONE, Part.RECORDS), (Truth.PROVISIONAL, Part.LABELS)):
        rules = [rule for rule in monitored.spec.rules if (rule.window, rule.truth) == (window.name, truth)]
        if not rules:
            continue
        seen = monitored.panes.seen(part, window.start(newest), newest)
        behind = (newest, seen, tuple(monitored.accepted.values()))
        known = monitored.watched.get((window.name, truth))
        monitored.watched[window.name, truth] = behind
        if known == behind and not changed and all(_is_of_window_alone(rule) for rule in rules):
            continue
        rows += measures.records(newest) if part is Part.RECORDS else measures.labels(newest, truth, warning)
    return rows


def _is_of_window_alone(rule: Rule) -> bool:
    """Whether what a rule judges stands on the panes of its window, and on no earlier ones."""
    earlier = BY_NAME[rule.measure].family in (Family.ESTIMATE, Family.VOLUME)
    return not earlier and rule.against in ("", REFERENCE)


def newest_kept(states: Iterable[WindowState]) -> dict[str, int]:
    """End of the newest kept window that is settled, by the window's name."""
    ends: dict[str, int] = {}
    for one in states:
        if one.settled_as_of is not None:
            ends[one.window] = max(one.end, ends.get(one.window, one.end))
    return ends


def alerted(
    monitored: Monitored,
    settled: Mapping[str, int],
    rows: Sequence[MeasurementRow],
    kept: Sequence[MeasurementRow],
    as_of: int,
) -> tuple[Round, list[MeasurementRow]]:
    """Judge a model's rules; what is to be kept besides of the windows on which alerts fired or ended.

    Parameters
    ----------
    settled
        ends of the newest kept windows that are settled, by name.
    rows
        of the newest windows, and figures of the cycle.
    kept
        what this cycle keeps anyhow.
    """
    standing = monitored.alerts
    if standing is None:
        standing = {alert.series: alert for _, alert in monitored.store.alerts(monitored.name)}
    rules = monitored.spec.rules
    if not rules and not standing:
        return Round({}), []
    judged = _judged(rows, kept, settled)
    outcome = advance(rules, judged, standing, as_of, accepted=monitored.accepted)
    return outcome, _cited(outcome, rules, rows, kept)


def noticed(monitored: Monitored, outcome: Round, as_of: int) -> tuple[Notice, ...]:
    """What is told of a round; nothing is made where nobody is to be told."""
    standing, turned = outcome.standing.values(), list(outcome.turned)
    if monitored.tells_all:
        turned += [one for one in standing if one.state is State.FIRING and one not in turned]
    if not (monitored.recipients and turned):
        return ()
    return notices(monitored.name, monitored.spec.rules, turned, standing, monitored.recipients, as_of)


def _judged(
    rows: Iterable[MeasurementRow], kept: Iterable[MeasurementRow], settled: Mapping[str, int]
) -> Iterator[MeasurementRow]:
    """Rows that rules may read; of settled windows only the newest."""
    for row in rows:
        if row.truth is not Truth.SETTLED or row.window == CUMULATIVE:
            yield row
    for row in kept:
        if row.truth is Truth.SETTLED and settled.get(row.window) == row.window_end:
            yield row


def _cited(
    outcome: Round, rules: Sequence[Rule], rows: Iterable[MeasurementRow], kept: Iterable[MeasurementRow]
) -> list[MeasurementRow]:
    truths = {rule.name: rule.truth for rule in rules}
    windows = {
        (alert.series.window, alert.verdict.window_end, truths[alert.series.rule])
        for alert in outcome.turned
        if alert.series.rule in truths
    }
    if not windows:
        return []
    there = {_place(row) for row in kept}
    return [row for row in rows if _place(row) in windows - there]


def _place(row: MeasurementRow) -> tuple[str, int, str]:
    return (row.window, row.window_end, row.truth.value)
