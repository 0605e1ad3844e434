"""One alert: what is wrong in a sentence, the judged series, what changed with it, what to do."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from monitor.alerts.lifecycle import State
from monitor.alerts.phrases import annotations, cause_table, described, heading, said, still
from monitor.alerts.verdicts import COUNTED
from monitor.charts.marks import Band, Dots, Mark, Path, RuleLine, Shade
from monitor.charts.plot import Plot
from monitor.charts.scales import linear
from monitor.core.clock import DAY, to_iso
from monitor.core.errors import AddressError
from monitor.core.measurement import Detail
from monitor.exposition.forwarding import leads_somewhere, section_of
from monitor.measures.against import FIGURES
from monitor.measures.catalogue.daily import EVIDENCE
from monitor.measures.options import FEATURE
from monitor.measures.rows import CUMULATIVE, newest
from monitor.measures.worded import differs, limit_of
from monitor.pages.alerts import AlertLine, alert_line
from monitor.pages.asked import Asked, PageData
from monitor.pages.figures import Figure, LegendKey, short, tick_label, timeline
from monitor.pages.model import Link, spec_of
from monitor.pages.moments import day, time_axis
from monitor.pages.series import WindowReading, readings
from monitor.sentences.changed import is_change, told_day
from monitor.show.alerts import ShownAlert
from monitor.specs.rows import Drawn
from monitor.windows.days import zone_of_days
from monitor.windows.ends import Window
from monitor.windows.units import newest_start

_BEFORE, _MOST, _FEWEST = 90 * DAY, 12, 2
OF_ONE = ("since", "subject", "segment", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPage:
    """Page of one alert.

    Parameters
    ----------
    cause
        lines of a table, the headings first; empty: nothing is known of it.
    others, earlier
        what else fired at the time; earlier episodes of the same series.
    then
        address of the model as it was known at the newest verdict.
    """

    model: str
    line: AlertLine
    said: str
    still: str
    rule: str
    figure: Figure | None
    without: str
    cause_title: str
    cause: tuple[tuple[str, ...], ...]
    action: str
    runbook: str
    features: tuple[Link, ...]
    commands: tuple[str, ...]
    others: tuple[AlertLine, ...]
    earlier: tuple[AlertLine, ...]
    then: str


def alert_page(data: PageData, asked: Asked, name: str, rule_name: str) -> AlertPage:
    """Page of one episode; without `since` the newest of the rule's.

    Raises
    ------
    AddressError
        404, if there is no such alert.
    """
    shown, all_of_them = found_alert(data, asked, name, rule_name)
    alert, rule = shown.alert, shown.rule
    cause = alert.breach.cause
    notes = {} if rule is None else annotations(rule, alert.breach)
    figure, without = _figure(data, asked, shown)
    until = alert.resolved_at or asked.as_of or data.now()
    others = [
        one
        for one in all_of_them
        if one.alert.series != alert.series
        and one.alert.since <= until
        and (one.alert.resolved_at or until) >= alert.since
    ]
    earlier = [
        one for one in all_of_them if one.alert.series == alert.series and one.alert.since < alert.since
    ]
    table = [] if cause is None or not cause.rows or is_change(cause) else cause_table(rule, cause)
    runbook = notes.get("runbook_url", "")
    if not leads_somewhere(runbook):
        runbook = f"{asked.link('runbook')}#{section_of(alert.series.rule)}"
    return AlertPage(
        model=name,
        line=alert_line(asked, shown),
        said=said(rule, alert.series, alert.breach),
        still=still(alert),
        rule="" if rule is None else described(rule),
        figure=figure,
        without=without,
        cause_title=_title(cause),
        cause=tuple(table[: _MOST + 1]),
        action=notes.get("action", ""),
        runbook=runbook,
        features=tuple(_features(data, asked, shown)),
        commands=tuple(_commands(shown)),
        others=tuple(alert_line(asked, one) for one in _latest(others)),
        earlier=tuple(alert_line(asked, one) for one in _latest(earlier)),
        then=asked.link("models", name, as_of=to_iso(alert.judged_at)),
    )


def found_alert(
    data: PageData, asked: Asked, name: str, rule_name: str
) -> tuple[ShownAlert, list[ShownAlert]]:
    """The alert that an address means, and all of the model."""
    asked.only(*OF_ONE)
    alerts = data.alerts(spec_of(data, name).name, asked.as_of, ended=True)
    given = {key: asked.query[key] for key in OF_ONE[1:] if key in asked.query}
    since = asked.query.get("since")
    meant = [
        one
        for one in alerts
        if one.alert.series.rule == rule_name
        and all(getattr(one.alert.series, key) == value for key, value in given.items())
        and since in (None, str(one.alert.since))
    ]
    if not meant:
        rules = sorted({one.alert.series.rule for one in alerts})
        told = ", ".join(rules) or "none has fired"
        raise AddressError(f'there is no such alert of the rule "{rule_name}"; alerts are of: {told}', 404)
    return max(meant, key=lambda one: one.alert.since), alerts


def _features(data: PageData, asked: Asked, shown: ShownAlert) -> Iterator[Link]:
    """Pages of the features that the alert is about, in the window of its newest breach."""
    series, breach = shown.alert.series, shown.alert.breach
    names = [series.subject.removeprefix(FEATURE)] if series.subject.startswith(FEATURE) else []
    if breach.cause is not None and breach.cause.columns == COUNTED:
        names += [str(row[0]).removeprefix(FEATURE) for row in breach.cause.rows[:_MOST]]
    if not names or not series.window:
        return
    windows = {each.name: each.length for each in spec_of(data, shown.model).windows}
    window = series.window if series.window in windows else min(windows, key=lambda name: windows[name])
    at = breach.window_end
    which = Drawn(window=window, after=at - 1, until=at, measures=("records",), subjects=("",))
    end = to_iso(at) if data.rows(shown.model, which) else None  # the newest one, where it is not kept
    for name in names:
        if name == "*":
            yield Link("all of them", asked.link("models", shown.model, "features", window=window), False)
            continue
        link = asked.link("models", shown.model, "feature", name=name, window=window, end=end)
        yield Link(name, link, False)


def _title(cause: Detail | None) -> str:
    if cause is None:
        return ""
    return "What it is compared with" if cause.columns == FIGURES else heading(cause)


def _latest(alerts: Sequence[ShownAlert]) -> list[ShownAlert]:
    return sorted(alerts, key=lambda one: -one.alert.since)[:_MOST]


def _figure(data: PageData, asked: Asked, shown: ShownAlert) -> tuple[Figure | None, str]:
    """The judged series with limit and episode, or why there is none."""
    alert, rule, series = shown.alert, shown.rule, shown.alert.series
    spec = spec_of(data, shown.model)
    window = next((each for each in spec.windows if each.name == series.window), None)
    if is_change(alert.breach.cause):
        figure = judged_days(data, asked, shown)
        return (
            figure,
            "" if figure else "The days before showed no evidence, so they are not kept one by one.",
        )
    if rule is None:
        return None, "The rule is configured no more, so its series is not drawn."
    if window is None or rule.features == "share":
        return None, "The share of features is drawn on the page of features." if window else (
            "Figures of the log itself are not kept, so there is no series to draw."
        )
    until = alert.resolved_at or asked.as_of or data.now()
    which = Drawn(
        window=window.name,
        after=alert.since - _BEFORE,
        until=until,
        measures=(rule.measure,),
        subjects=(series.subject,),
        as_of=asked.as_of,
        segment=series.segment,
        version=series.version,
    )
    kept = [(at, row) for at, row in data.rows(shown.model, which) if rule.truth in ("", row.truth.value)]
    judged = readings(kept, window, rule.measure, series.subject, rule.against)
    if not judged:
        return None, "Nothing of the series is kept."
    axis = time_axis(window.start(judged[0].end), max(until, judged[-1].end), window.zone)
    marks = list(_marks(shown, judged, axis.high))
    title = f"{rule.measure}{f' of {series.subject}' if series.subject else ''}, what the rule judges"
    note = "shaded: the episode; the ringed window is that of its newest breach"
    figure = timeline(rule.measure, judged, window, axis, marks=marks, title=title, note=note)
    return _with_limit(figure, shown, window), ""


def judged_days(data: PageData, asked: Asked, shown: ShownAlert) -> Figure | None:
    """Days that were judged, each with what was expected of it; None: only one of them is kept."""
    alert, meant = shown.alert, told_day(shown.alert.breach.cause)
    until = alert.resolved_at or asked.as_of or data.now()
    which = Drawn(
        window=CUMULATIVE,
        after=alert.since - _BEFORE,
        until=until,
        measures=(EVIDENCE,),
        subjects=(alert.series.subject,),
        as_of=asked.as_of,
        details=True,
    )
    told = {
        row.window_end: told_day(row.measurement.detail) for _, row in newest(data.rows(shown.model, which))
    }
    days = [
        (end, one)
        for end, one in sorted(told.items())
        if meant and one and (one.what, one.unit) == (meant.what, meant.unit)
    ]
    if meant is None or len(days) < _FEWEST:
        return None
    reading = spec_of(data, shown.model).reading
    zone = zone_of_days(reading.zone, reading.pane)
    start = {end: newest_start("day", zone, end - 1) for end, _ in days}
    steps = [
        each
        for (before, _), (end, one) in pairwise([(start[days[0][0]], None), *days])
        for each in ([(start[end], None)] if start[end] > before else []) + [(end, one)]
    ]
    middle = {end: (newest_start("day", zone, end - 1) + end) / 2 for end, _ in steps}
    label = tick_label(meant.measure) if meant.measure else short
    drawn: list[Mark] = [
        Shade(float(alert.fired_at or alert.since) - DAY, float(alert.resolved_at or until)),
        Band(
            [(middle[end], *((one.low, one.high) if one else (None, None))) for end, one in steps],
            "reference",
        ),
        Path([(middle[end], one.value if one else None) for end, one in steps]),
        Dots([(middle[end], one.value) for end, one in days]),
        Dots(
            [(middle[end], one.value) for end, one in days if end == alert.breach.window_end],
            "second",
            hollow=True,
        ),
    ]
    title = f"{meant.what}{f' of {alert.series.subject}' if alert.series.subject else ''}, day by day"
    numbers = [value for _, one in days for value in (one.value, one.low, one.high)]
    plot = Plot(
        x=time_axis(start[days[0][0]], max(until, days[-1][0]), zone),
        y=linear(numbers, label=label),
        marks=tuple(drawn),
        label=f"{title}, {len(days)} days",
        height=160,
        stops=tuple(middle[end] for end, _ in days),
    )
    return Figure(
        title=title,
        note="shaded: the episode; ringed: the day of its newest verdict; days without evidence are not kept"
        + ("; in standard deviations" if meant.unit == "sd" else ""),
        plot=plot,
        legend=(
            LegendKey("line", "main", "the day"),
            LegendKey("area", "reference", "expected of such a day"),
        ),
        columns=("day", meant.what, "expected from", "to"),
        rows=tuple(
            (day(start[end], zone), *(label(one) for one in (d.value, d.low, d.high))) for end, d in days
        ),
    )


def _marks(shown: ShownAlert, judged: Sequence[WindowReading], last: float) -> Iterator[Mark]:
    alert = shown.alert
    yield Shade(float(alert.fired_at or alert.since), float(alert.resolved_at or last))
    ringed = [(one.middle, one.value) for one in judged if one.end == alert.breach.window_end]
    yield Dots([(x, y) for x, y in ringed if y is not None], "second", hollow=True)


def _with_limit(figure: Figure, shown: ShownAlert, window: Window) -> Figure:
    """The figure with the limit of the newest breach on its axis."""
    rule, limit = shown.rule, shown.alert.breach.limit
    if rule is None or limit is None:
        return figure
    words = limit_of(rule.measure, limit, differs=differs(rule.measure, rule.against))
    y = linear([figure.plot.y.low, figure.plot.y.high, limit], label=tick_label(rule.measure))
    marks = (*figure.plot.marks, RuleLine(limit, "y", "limit"))
    key = LegendKey("line", "limit", f"limit {words}, as of the newest breach, of windows of {window.name}")
    return replace(figure, plot=replace(figure.plot, y=y, marks=marks), legend=(*figure.legend, key))


def _commands(shown: ShownAlert) -> Iterator[str]:
    """What to type: to say that it is seen, that it is expected, to see more."""
    series = shown.alert.series
    named = ["--model", shown.model, "--rule", series.rule]
    for option, value in (
        ("--subject", series.subject),
        ("--segment", series.segment),
        ("--model-version", series.version),
    ):
        named += [option, value] if value else []
    if shown.alert.state is not State.RESOLVED:
        yield f"monitor alerts ack {shlex.join(named)} --by NAME --why WHY"
        if series.window:
            yield f"monitor alerts accept {shlex.join(named)} --by NAME --why WHY"
    yield f"monitor alerts --explain {shlex.join(named[:2])}"
