"""One alert: what is wrong in a sentence, the judged series, what changed with it, what to do."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from monitor.alerts.alert_phrases import (
    alert_sentence,
    cause_heading,
    cause_table,
    fill_annotations,
    rule_words,
    still_firing_words,
)
from monitor.alerts.alert_rules import Rule
from monitor.alerts.lifecycle import AlertState
from monitor.alerts.verdicts import COUNTED
from monitor.charts.marks import IntervalBand, LegendKey, LinePath, Mark, PointDots, RuleLine, ShadedSpan
from monitor.charts.plot import Plot
from monitor.charts.scales import linear_axis
from monitor.core.change import Change
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.errors import AddressError
from monitor.core.measurement import DetailTable
from monitor.exposition.forwarding import is_reachable_address, runbook_section
from monitor.measures.measure_options import FEATURE
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import (
    approximate_text,
    format_limit,
    format_measure_value,
    is_compared_by_difference,
)
from monitor.pages.alert_lists import AlertLine, make_alert_line
from monitor.pages.figures import Figure, choose_tick_format, draw_timeline, number_tick, value_axis
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageLink, PageRequest, read_kept_ends, zone_of
from monitor.pages.period_words import local_moment_words, time_axis
from monitor.pages.window_readings import value_points, window_readings
from monitor.sentences.change_words import chart_measure, chart_title, chart_unit
from monitor.sentences.known_measurements import capitalize_first, readable_name, spoken_measure
from monitor.show.alert_tables import ShownAlert
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.day_moments import zone_of_days
from monitor.windows.window_ends import Window

_BEFORE, _MOST = 90 * DAY, 12
_APART = 7  # days between two words on an axis
OF_ONE = ("since", "subject", "segment", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPage:
    """Page of one alert."""

    model: str
    line: AlertLine
    said: str
    still: str
    rule: str
    figure: Figure | None
    without: str
    cause_title: str
    cause: tuple[tuple[str, ...], ...]  # lines of a table, the headings first; empty: nothing is known of it
    action: str
    runbook: str
    features: tuple[PageLink, ...]
    commands: tuple[str, ...]
    # others, earlier: what else fired at the time; earlier episodes of the same series.
    others: tuple[AlertLine, ...]
    earlier: tuple[AlertLine, ...]
    then: str  # address of the model as it was known at the newest verdict


def alert_page(data: PageData, request: PageRequest, name: str, rule_name: str) -> AlertPage:
    """Page of one episode; without `since` the newest of the rule's.

    Raises
    ------
    AddressError
        404, if there is no such alert.
    """
    shown_alert, all_of_them = find_requested_alert(data, request, name, rule_name)
    alert, rule = shown_alert.alert, shown_alert.rule
    cause, zone = alert.breach.cause, zone_of(data, name)
    notes = {} if rule is None else fill_annotations(rule, alert.breach)
    figure, without = draw_judged_series(data, request, shown_alert)
    until = alert.resolved_at or request.as_of or data.page_moment()
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
    table = [] if cause is None or not cause.rows else cause_table(rule, cause)
    runbook = notes.get("runbook_url", "")
    if not is_reachable_address(runbook):
        runbook = f"{request.link_to('runbook')}#{runbook_section(alert.series.rule)}"
    return AlertPage(
        model=name,
        line=make_alert_line(request, shown_alert, zone),
        said=alert_sentence(rule, alert.series, alert.breach),
        still=still_firing_words(alert),
        rule="" if rule is None else rule_words(rule),
        figure=figure,
        without=without,
        cause_title=_cause_title(cause),
        cause=tuple(table[: _MOST + 1]),
        action=notes.get("action", ""),
        runbook=runbook,
        features=tuple(_feature_links(data, request, shown_alert)),
        commands=tuple(_command_lines(shown_alert)),
        others=tuple(make_alert_line(request, one, zone) for one in _latest_alerts(others)),
        earlier=tuple(make_alert_line(request, one, zone) for one in _latest_alerts(earlier)),
        then=request.link_to("models", name, as_of=to_iso(alert.judged_at)),
    )


def find_requested_alert(
    data: PageData, request: PageRequest, name: str, rule_name: str
) -> tuple[ShownAlert, list[ShownAlert]]:
    """The alert that an address means, and all of the model."""
    request.refuse_unknown_parameters(*OF_ONE)
    alerts = data.list_alerts(spec_of(data, name).name, request.as_of, ended=True)
    given = {key: request.query[key] for key in OF_ONE[1:] if key in request.query}
    since = request.query.get("since")
    meant = [
        one
        for one in alerts
        if one.alert.series.rule == rule_name
        and all(getattr(one.alert.series, key) == value for key, value in given.items())
        and since in (None, str(one.alert.since))
    ]
    if not meant:
        rules = sorted({one.alert.series.rule for one in alerts})
        sentence = ", ".join(rules) or "none has fired"
        raise AddressError(
            f'there is no such alert of the rule "{rule_name}"; alerts are of: {sentence}', 404
        )
    return max(meant, key=lambda one: one.alert.since), alerts


def _feature_links(data: PageData, request: PageRequest, shown_alert: ShownAlert) -> Iterator[PageLink]:
    """Pages of the features that the alert is about, in the window of its newest breach."""
    series, breach = shown_alert.alert.series, shown_alert.alert.breach
    names = [series.subject.removeprefix(FEATURE)] if series.subject.startswith(FEATURE) else []
    if breach.cause is not None and breach.cause.columns == COUNTED:
        names += [str(row[0]).removeprefix(FEATURE) for row in breach.cause.rows[:_MOST]]
    if not names or not series.window:
        return
    windows = {each.name: each.length for each in spec_of(data, shown_alert.model).windows}
    window = series.window if series.window in windows else min(windows, key=lambda name: windows[name])
    at = breach.window_end
    kept_ends = read_kept_ends(data, shown_alert.model, window, after=at - 1, until=at)
    # A window that is not kept has no page: the newest one's is linked then.
    end = to_iso(at) if kept_ends else None
    for name in names:
        if name == "*":
            yield PageLink(
                "all of them", request.link_to("models", shown_alert.model, "features", window=window), False
            )
            continue
        link = request.link_to("models", shown_alert.model, "feature", name=name, window=window, end=end)
        yield PageLink(name, link, False)


def _cause_title(cause: DetailTable | None) -> str:
    if cause is None:
        return ""
    return "What it is compared with" if cause.columns == FIGURES else cause_heading(cause)


def _latest_alerts(alerts: Sequence[ShownAlert]) -> list[ShownAlert]:
    return sorted(alerts, key=lambda one: -one.alert.since)[:_MOST]


def draw_judged_series(
    data: PageData, request: PageRequest, shown_alert: ShownAlert
) -> tuple[Figure | None, str]:
    """The judged series with limit and episode, or why there is none."""
    alert, rule, series = shown_alert.alert, shown_alert.rule, shown_alert.alert.series
    spec = spec_of(data, shown_alert.model)
    window = next((each for each in spec.windows if each.name == series.window), None)
    if alert.breach.change is not None:
        figure = draw_change_days(data, request, shown_alert, alert.breach.change)
        missing = (
            "The days of then are watched otherwise now, or an earlier version checked them: none is drawn."
        )
        return figure, "" if figure else missing
    if rule is None:
        return None, "The rule is configured no more, so its series is not drawn."
    if window is None:
        return None, "Figures of the log itself are not stored, so there is no series to draw."
    subject, limit = _judged_subject_and_limit(shown_alert)
    until = alert.resolved_at or request.as_of or data.page_moment()
    which = ChartedRows(
        window=window.name,
        after=alert.since - _BEFORE,
        until=until,
        measures=(rule.measure,),
        subjects=(subject,),
        as_of=request.as_of,
        segment=series.segment,
        version=series.version,
    )
    kept_revisions = [
        stored
        for stored in data.read_revisions(shown_alert.model, which)
        if rule.truth in ("", stored.row.truth.value)
    ]
    judged_readings = window_readings(kept_revisions, rule.measure, subject, rule.against)
    if not judged_readings:
        return None, "Nothing of the series is stored."
    first, last = judged_readings[0].row.window_end, judged_readings[-1].row.window_end
    axis = time_axis(window.start_of(first), max(until, last), window.zone)
    crossed = first_breach_end(kept_revisions, alert.since)
    marks = list(_episode_marks(shown_alert, judged_readings, window, crossed, axis.high))
    measure = capitalize_first(spoken_measure(rule.measure))
    title = f"{measure} of {readable_name(subject)}" if subject else measure
    differ = is_compared_by_difference(rule.measure, rule.against)
    if rule.against:
        title += f"{', difference from' if differ else ' against'} {rule.against}"
    note = "ringed: the window of the newest breach; shaded: while the alert fires"
    figure = draw_timeline(rule.measure, judged_readings, window, axis, marks=marks, title=title, note=note)
    return figure if limit is None else _with_limit(figure, rule, limit), ""


def _judged_subject_and_limit(shown_alert: ShownAlert) -> tuple[str, float | None]:
    """Subject of the judged series and its limit; of a share of features that of the one furthest off."""
    series, breach = shown_alert.alert.series, shown_alert.alert.breach
    if breach.cause is None or breach.cause.columns != COUNTED or not breach.cause.rows:
        return series.subject, None if breach.against else breach.limit  # of what was accepted: not drawn
    name, _, limit, *_ = breach.cause.rows[0]
    return str(name), limit if isinstance(limit, float | int) else None


def first_breach_end(kept_revisions: Sequence[StoredMeasurement], since: int) -> int | None:
    """End of the newest window that was known when an alert began; None: no such row is kept."""
    known_then = (stored.row for stored in kept_revisions if stored.as_of <= since)
    return max((row.window_end for row in known_then), default=None)


def draw_change_days(
    data: PageData, request: PageRequest, shown_alert: ShownAlert, change: Change
) -> Figure | None:
    """Days about the first one of a change, each with what was expected of it; None: they are not known."""
    alert = shown_alert.alert
    if change.first_day is None or change.observed is None or change.expected is None:
        return None
    spec, until = spec_of(data, shown_alert.model), alert.resolved_at or request.as_of or data.page_moment()
    fired = alert.fired_at or alert.since
    days = data.read_change_days(spec, (alert.series.subject, alert.series.segment), change, (fired, until))
    if not days:
        return None
    zone, begins = zone_of_days(spec.reading.zone, spec.reading.pane), from_iso(change.first_day) // DAY
    measure, name = chart_measure(change), chart_title(change)
    found = {one.day: one for one in days}
    numbers = range(days[0].day, days[-1].day + 1)
    # Days that were not judged are not known: they have a place all the same, so that lines have gaps there.
    middle = {number: days[0].start + (number - days[0].day + 0.5) * DAY for number in numbers}
    middle |= {one.day: (one.start + one.end) / 2 for one in days}
    steps = [(middle[number], found.get(number)) for number in numbers]
    label = choose_tick_format(measure) if measure else number_tick
    told = partial(format_measure_value, measure) if measure else approximate_text
    marks: list[Mark] = [
        ShadedSpan(float(fired), float(alert.resolved_at or until)),
        IntervalBand([(x, *((one.low, one.high) if one else (None, None))) for x, one in steps], "reference"),
        LinePath([(x, one.value if one else None) for x, one in steps]),
        PointDots([(x, one.value) for x, one in steps if one]),
        PointDots([(x, one.value) for x, one in steps if one and one.day == begins], "second", hollow=True),
        *(
            RuleLine(float(one.start), "x", "now", f"began {local_moment_words(one.start, zone)}")
            for one in days
            if one.day == begins
        ),
    ]
    ends = days[-1].end
    if fired // DAY - begins > _APART:
        marks.append(RuleLine(float(fired), "x", "now", f"found {local_moment_words(fired)}"))
        # Labels come later than the days that they are of.
        ends = max(ends, fired)
    of = f" of {readable_name(alert.series.subject)}" if alert.series.subject else ""
    where = f" in {readable_name(alert.series.segment)}" if alert.series.segment else ""
    title = f"{name}{of}{where}, day by day"
    plot = Plot(
        x=time_axis(days[0].start, ends, zone),
        y=linear_axis([value for one in days for value in (one.value, one.low, one.high)], label=label),
        marks=tuple(marks),
        label=f"{title}, {len(days)} days",
        height=160,
        stops=tuple(middle[one.day] for one in days),
    )
    notes = ["ringed: the first day of the change; shaded: while the alert fires"]
    if chart_unit(change) == "sd":
        notes.append("in standard deviations")
    if change.in_unit is not None and change.kind == "level":
        notes.append("far values are clipped")
    if len(days) < len(numbers):
        notes.append("in a gap no day was checked: unusual_days, or too few records")
    return Figure(
        title=title,
        note="; ".join(notes),
        plot=plot,
        legend=(
            LegendKey("line", "main", "the day"),
            LegendKey("area", "reference", "expected of such a day"),
        ),
        columns=("day", name, "expected from", "to"),
        rows=tuple(
            (
                local_moment_words(one.start, zone),
                *(told(number) for number in (one.value, one.low, one.high)),
            )
            for one in days
        ),
    )


def _episode_marks(
    shown_alert: ShownAlert,
    judged: Sequence[StoredMeasurement],
    window: Window,
    first: int | None,
    last: float,
) -> Iterator[Mark]:
    alert = shown_alert.alert
    if first is not None and any(one.row.window_end == first for one in judged):
        yield RuleLine(window.middle_of(first), "x", "now", "crossed")
    yield ShadedSpan(float(alert.fired_at or alert.since), float(alert.resolved_at or last))
    ringed = [one for one in judged if one.row.window_end == alert.breach.window_end]
    yield PointDots(value_points(ringed, window), "second", hollow=True)


def _with_limit(figure: Figure, rule: Rule, limit: float) -> Figure:
    """The figure with the limit of the newest breach on its axis."""
    differ = is_compared_by_difference(rule.measure, rule.against)
    words = format_limit(rule.measure, limit, differs=differ)
    y = value_axis(rule.measure, [figure.plot.y.low, figure.plot.y.high, limit], differs=differ)
    marks = (*figure.plot.marks, RuleLine(limit, "y", "limit"))
    key = LegendKey("line", "limit", f"limit {words}, as of the newest breach")
    return replace(figure, plot=replace(figure.plot, y=y, marks=marks), legend=(*figure.legend, key))


def _command_lines(shown_alert: ShownAlert) -> Iterator[str]:
    """What to type: to say that it is seen, that it is expected, to see more."""
    series = shown_alert.alert.series
    named = ["--model", shown_alert.model, "--rule", series.rule]
    for option, value in (
        ("--subject", series.subject),
        ("--segment", series.segment),
        ("--model-version", series.version),
    ):
        named += [option, value] if value else []
    if shown_alert.alert.state is not AlertState.RESOLVED:
        yield f"monitor alerts ack {shlex.join(named)} --by NAME --why WHY"
        if series.window:
            yield f"monitor alerts accept {shlex.join(named)} --by NAME --why WHY"
    over = "--history " if shown_alert.alert.state is AlertState.RESOLVED else ""
    yield f"monitor alerts {over}--explain {shlex.join(named[:2])}"
