"""What people decide of alerts: that one is accepted, that it is so no longer, who looks after it."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

from monitor.alerts.alert_phrases import alerted_series_name
from monitor.alerts.alert_rules import (
    ACCEPTED,
    ACKNOWLEDGED,
    EVERY,
    Acceptance,
    AlertedSeries,
    matches_pattern,
    select_standing_acceptances,
)
from monitor.alerts.incident_life import JudgedMoment, advance_incidents
from monitor.alerts.lifecycle import Alert, AlertState, EndReason, make_acceptance
from monitor.app.alert_decisions import (
    Decision,
    daily_rule_names,
    episode_detail,
    read_shown_alerts,
    refuse_rule,
)
from monitor.app.kept_run import KeptRun
from monitor.core.clock import LAST
from monitor.core.errors import MonitorError
from monitor.core.text import double_quoted
from monitor.measures.measure_options import FEATURE
from monitor.show.terminal_words import short_moment_text
from monitor.specs.fault_words import quote_names, quote_value
from monitor.specs.stored_rows import HistoryEvent

Chosen = TypeVar("Chosen")


def accept_alerts(
    kept_run: KeptRun, decision: Decision, until: int | None, *, model: str, **of: str | None
) -> list[str]:
    """Keep that alerts' newest breaches are expected; what is then judged, in words: a line each.

    What is accepted already, and is no alert again, is accepted until another moment.

    Raises
    ------
    MonitorError
        if there is nothing to accept, if several are meant and no pattern, or if one is about no window.
    """
    seen = kept_run.store.states.read_state(kept_run.find_spec(model).name).as_of or 0
    found: dict[AlertedSeries, Alert | Acceptance] = {
        **_lasting_acceptances(kept_run, model),
        **_standing_alerts(kept_run, model, lasting=True),
    }
    meant = _pick_matching(kept_run, model, found, "alert that can be accepted", of)
    accepting = [
        _accept_alert(kept_run, decision, until, model, one)
        if isinstance(one, Alert)
        else _prolong_acceptance(decision, model, replace(one, since=seen, until=until))
        for one in meant
    ]
    _append_new_events(kept_run, [event for event, _ in accepting])
    return [text for _, text in accepting]


def withdraw_acceptance(kept_run: KeptRun, decision: Decision, *, model: str, **of: str | None) -> list[str]:
    """Keep that what was accepted is so no longer; a line each.

    Raises
    ------
    MonitorError
        if nothing of it is accepted, or several are meant and no pattern.
    """
    meant = _pick_matching(
        kept_run,
        model,
        _lasting_acceptances(kept_run, model, new=True),
        "acceptance that can be withdrawn",
        of,
        _accepted_series,
    )
    seen = kept_run.store.states.read_state(kept_run.find_spec(model).name).as_of or 0
    ended = [replace(one, since=seen, until=seen) for one in meant]
    _append_new_events(kept_run, [_acceptance_event(decision, model, one) for one in ended])
    return [
        f"{model}: {alerted_series_name(one.series)} is no longer accepted. From the next cycle on it is "
        "checked as before."
        for one in ended
    ]


def list_withdrawable(kept_run: KeptRun, model: str) -> set[tuple[AlertedSeries, int]]:
    """Alerts, by series and since, that were accepted, and whose acceptance can be withdrawn.

    Of days that is only what no cycle has learned from yet. An acceptance is of the newest alert of its
    series that whoever decided had seen.
    """
    accepted = _lasting_acceptances(kept_run, model, new=True)
    begun: dict[AlertedSeries, int] = {}
    for _, alert in kept_run.store.alerts.read_alerts(kept_run.find_spec(model).name, ended=True):
        if alert.series in accepted and alert.since <= accepted[alert.series].since:
            begun[alert.series] = max(alert.since, begun.get(alert.series, 0))
    return set(begun.items())


def _append_new_events(kept_run: KeptRun, happened: Sequence[HistoryEvent]) -> None:
    """Keep events but those that say again what the newest of their kind and subject says: sent twice."""
    newest: dict[tuple[str, str, str], HistoryEvent] = {}
    for model, kind in {(event.model, event.kind) for event in happened}:
        for event in kept_run.store.events.read_events(model, kind):
            newest[model, kind, event.subject] = replace(event, at=0)
    kept_run.store.events.append_events(
        [
            event
            for event in happened
            if newest.get((event.model, event.kind, event.subject)) != replace(event, at=0)
        ]
    )


def _acceptance_event(decision: Decision, model: str, acceptance: Acceptance) -> HistoryEvent:
    return decision.history_event(
        model, ACCEPTED, subject=str(acceptance.series), detail=acceptance.detail_json()
    )


def _prolong_acceptance(decision: Decision, model: str, acceptance: Acceptance) -> tuple[HistoryEvent, str]:
    """The event that lets an acceptance end at another moment."""
    text = (
        f"{model}: {alerted_series_name(acceptance.series)} stays accepted. {_end_sentence(acceptance.until)}"
    )
    return _acceptance_event(decision, model, acceptance), text


def _end_sentence(until: int | None) -> str:
    again = "This does not end by itself: monitor alerts withdraw ends it"
    return f"{again if until is None else f'This ends at {short_moment_text(until)}'}."


def _accept_alert(
    kept_run: KeptRun, decision: Decision, until: int | None, model: str, alert: Alert
) -> tuple[HistoryEvent, str]:
    """The event that accepts an alert, and what is then judged."""
    if not alert.series.window:
        raise MonitorError(
            f"{model}: {alert.series} is about the log as it is now, no window that could become the new "
            "normal: silence it in Alertmanager, or give its rule another limit"
        )
    spec, end = kept_run.find_spec(model), alert.breach.window_end
    window = next((window for window in spec.windows if window.name == alert.series.window), None)
    seen = kept_run.store.states.read_state(spec.name).as_of or 0
    acceptance = make_acceptance(alert, end if window is None else window.start_of(end), seen, until)
    event = _acceptance_event(decision, model, acceptance)
    rules = [rule for rule in spec.rules if rule.name == alert.series.rule]
    if alert.series.rule in daily_rule_names(spec):
        return event, (
            f"{model}: {alerted_series_name(alert.series)} is accepted. From the next cycle on its days are "
            "what is "
            "expected; a later change fires anew."
        )
    settled = any(rule.truth == "settled" for rule in rules)
    begins = "From the next window on that settles or is revised" if settled else "From the next cycle on"
    judged = (
        "is no breach"
        if window is None
        else f"is compared with the window that ends {short_moment_text(end)}"
    )
    return (
        event,
        (
            f"{model}: {alerted_series_name(alert.series)} is accepted. {begins} it {judged}. "
            f"{_end_sentence(until)}"
        ),
    )


def acknowledge_alerts(
    kept_run: KeptRun, decision: Decision, *, model: str, **of: str | None
) -> list[tuple[str, str]]:
    """Keep that somebody looks after alerts; of each a line, and the command by which it is silenced.

    Raises
    ------
    MonitorError
        if no such alert stands, or several are meant and no pattern.
    """
    meant = _pick_matching(
        kept_run, model, _standing_alerts(kept_run, model), "alert that can be acknowledged", of
    )
    before = {
        one.alert.series: one.seen_by for one in read_shown_alerts(kept_run.store, model, history=False)
    }
    acknowledged = (
        decision.history_event(model, ACKNOWLEDGED, subject=str(alert.series), detail=episode_detail(alert))
        for alert in meant
    )
    _append_new_events(kept_run, list(acknowledged))
    sentences = [
        f"{model}: {alerted_series_name(alert.series)}, found {short_moment_text(alert.since)}, is "
        f"acknowledged by {decision.who}. "
        f"It fires on.{f' Acknowledged before by {who}' if (who := before.get(alert.series)) else ''}"
        for alert in meant
    ]
    return [
        (line, silence_command(model, one.series, decision))
        for line, one in zip(sentences, meant, strict=True)
    ]


def decide_incident(kept_run: KeptRun, decision: Decision, what: str, model: str, address: str) -> None:
    """Keep a decision on an incident: what `monitor alerts ack`, `accept` and `withdraw --incident` keep.

    Parameters
    ----------
    what
        "acknowledge", "accept" or "withdraw".

    Raises
    ------
    MonitorError
        as they do.
    """
    match what:
        case "acknowledge":
            acknowledge_alerts(kept_run, decision, model=model, incident=address)
        case "accept":
            accept_alerts(kept_run, decision, None, model=model, incident=address)
        case _:
            withdraw_acceptance(kept_run, decision, model=model, incident=address)


def silence_command(model: str, series: AlertedSeries, decision: Decision) -> str:
    """Command that silences one alert in Alertmanager, for four hours.

    What is empty is said too: it tells the whole from its segments.
    """
    labels = {"model": model, **asdict(series)}
    matchers = [f"{name}={double_quoted(value)}" for name, value in labels.items()]
    said = f"--author={decision.who}", f"--comment={decision.why}"
    return shlex.join(["amtool", "silence", "add", *matchers, "--duration=4h", *said])


def _standing_alerts(kept_run: KeptRun, model: str, *, lasting: bool = False) -> dict[AlertedSeries, Alert]:
    """Alerts that are pending or firing; `lasting`: also of changes that have not gone back."""
    kept_ones = kept_run.store.alerts.read_alerts(kept_run.find_spec(model).name, ended=lasting)
    newest = {alert.series: alert for _, alert in sorted(kept_ones, key=lambda pair: pair[1].since)}
    return {
        series: alert
        for series, alert in newest.items()
        if alert.state is not AlertState.RESOLVED or alert.ended is EndReason.USUAL
    }


def _lasting_acceptances(
    kept_run: KeptRun, model: str, *, new: bool = False
) -> dict[AlertedSeries, Acceptance]:
    """What is accepted from the last cycle on; of days, which are learned from at once, only where `new`."""
    spec = kept_run.find_spec(model)
    seen, daily = kept_run.store.states.read_state(spec.name).as_of or 0, daily_rule_names(spec)
    decisions = [event.acceptance for event in kept_run.store.events.read_events(spec.name, ACCEPTED)]
    found = select_standing_acceptances(decisions, seen, seen=LAST)
    return {
        series: one
        for series, one in found.items()
        if series.rule not in daily or (new and one.since >= seen)
    }


def _incident_series(kept_run: KeptRun, model: str, name: str) -> list[AlertedSeries]:
    """Series of the alerts that fire of an incident."""
    spec = kept_run.find_spec(model)
    # What no cycle has grouped yet is grouped as the next one will.
    standing = JudgedMoment(
        kept_run.store.states.read_state(spec.name).as_of or 0, _standing_alerts(kept_run, model)
    )
    known = kept_run.store.incidents.read_model_incidents(spec.name)
    open_ = advance_incidents(known, [standing], spec.rules).incidents.open
    incidents = [one for one in open_ if one.firing]
    # The first day alone is enough where only one incident began on it.
    found = [one for one in incidents if one.address == name or one.address.startswith(f"{name}-")]
    if len(found) == 1:
        return [member.series for member in found[0].firing]
    if found:
        which = quote_names(one.address for one in found)
        raise MonitorError(f"{len(found)} incidents began on {quote_value(name)}, say which: {which}")
    there = quote_names(one.address for one in incidents)
    others = f"those that there are: {there}" if incidents else "none has an alert that fires"
    raise MonitorError(f"{model} has no incident {quote_value(name)}; {others}")


def _accepted_series(kept_run: KeptRun, model: str, name: str) -> list[AlertedSeries]:
    """Series of an incident, open or over, of which something is accepted that can be withdrawn."""
    accepted = list_withdrawable(kept_run, model)
    kept = [one for _, one in kept_run.store.incidents.read_incidents(model, ended=True)]
    of = {
        one.address: [member.series for member in one.members if (member.series, member.since) in accepted]
        for one in kept
        if one.address == name or one.address.startswith(f"{name}-")
    }
    found = {address: series for address, series in of.items() if series}
    if name in found or len(found) == 1:
        return found.get(name) or next(iter(found.values()))
    if found:
        raise MonitorError(
            f"{len(found)} incidents began on {quote_value(name)}, say which: {quote_names(found)}"
        )
    if of:
        raise MonitorError(
            f"nothing of {quote_value(name)} is accepted that can be withdrawn: days that were accepted are "
            "learned from with the next cycle"
        )
    raise MonitorError(f"{model} has no incident {quote_value(name)}: see monitor incidents")


def _matches_series_part(value: str, key: str, own: str) -> bool:
    """Whether what is given means a part of a series: of a feature its own name is enough, as it is told."""
    return matches_pattern(value, own) or (key == "subject" and own == f"{FEATURE}{value}")


def _pick_matching(
    kept_run: KeptRun,
    model: str,
    found: Mapping[AlertedSeries, Chosen],
    what: str,
    of: Mapping[str, str | None],
    series_of: Callable[[KeptRun, str, str], list[AlertedSeries]] = _incident_series,
) -> list[Chosen]:
    """The one of those found that is meant, or all of a pattern."""
    given = {key: value for key, value in of.items() if value is not None}
    if "incident" in given:
        return [found[series] for series in series_of(kept_run, model, given["incident"])]
    wanted = [
        series
        for series in found
        if all(_matches_series_part(value, key, getattr(series, key)) for key, value in given.items())
    ]
    if len(wanted) == 1 or (wanted and any(value.endswith(EVERY) for value in given.values())):
        return [found[series] for series in wanted]
    if wanted:
        names = ", ".join(map(alerted_series_name, wanted))
        every = "for several at once end one with *: --subject 'feature:*'"
        raise MonitorError(f"{len(wanted)} are meant, say which by --subject, --segment ({every}): {names}")
    refuse_rule(
        given["rule"],
        [*(rule.name for rule in kept_run.find_spec(model).rules), *(one.rule for one in found)],
    )
    asked = ", ".join(f'{key} "{value}"' for key, value in given.items())
    others = (
        f"those that there are: {', '.join(map(alerted_series_name, found))}" if found else "nor of any other"
    )
    raise MonitorError(f"there is no {what} of the {asked}; {others}")
