"""Windows that a rule judged: the series with its limit, and while its alert fired."""

from dataclasses import replace

from monitor.alerts.alert_rules import Rule
from monitor.alerts.verdicts import COUNTED
from monitor.charts.marks import LegendKey, Mark, PointDots, RuleLine, ShadedSpan
from monitor.core.clock import DAY
from monitor.measures.value_words import format_limit, is_compared_by_difference
from monitor.pages.figures import Figure, draw_timeline, value_axis
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import time_axis
from monitor.pages.window_readings import value_points, window_readings
from monitor.sentences.known_measurements import capitalize_first, readable_name, spoken_measure
from monitor.show.alert_tables import ShownAlert
from monitor.specs.stored_rows import ChartedRows

_BEFORE = 90 * DAY


def draw_judged_windows(data: PageData, request: PageRequest, shown_alert: ShownAlert) -> Figure | None:
    """Windows that a rule judged, with its limit and while the alert fired; None: none of them is kept."""
    alert, rule, series = shown_alert.alert, shown_alert.rule, shown_alert.alert.series
    spec = spec_of(data, shown_alert.model)
    window = next((each for each in spec.windows if each.name == series.window), None)
    if rule is None or window is None:  # figures of the log itself are not kept
        return None
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
        return None
    first, last = judged_readings[0].row.window_end, judged_readings[-1].row.window_end
    axis = time_axis(window.start_of(first), max(until, last), window.zone)
    ringed = [one for one in judged_readings if one.row.window_end == alert.breach.window_end]
    marks: list[Mark] = [
        ShadedSpan(float(alert.fired_at or alert.since), float(alert.resolved_at or axis.high)),
        PointDots(value_points(ringed, window), "second", hollow=True),
    ]
    measure = capitalize_first(spoken_measure(rule.measure))
    title = f"{measure} of {readable_name(subject)}" if subject else measure
    differ = is_compared_by_difference(rule.measure, rule.against)
    if rule.against:
        title += f"{', difference from' if differ else ' against'} {rule.against}"
    note = "ringed: the window of the newest breach; shaded: while the alert fires"
    figure = draw_timeline(rule.measure, judged_readings, window, axis, marks=marks, title=title, note=note)
    return figure if limit is None else _with_limit(figure, rule, limit)


def _judged_subject_and_limit(shown_alert: ShownAlert) -> tuple[str, float | None]:
    """Subject of the judged series and its limit; of a share of features that of the one furthest off."""
    series, breach = shown_alert.alert.series, shown_alert.alert.breach
    if breach.cause is None or breach.cause.columns != COUNTED or not breach.cause.rows:
        return series.subject, None if breach.against else breach.limit  # of what was accepted: not drawn
    name, _, limit, *_ = breach.cause.rows[0]
    return str(name), limit if isinstance(limit, float | int) else None


def _with_limit(figure: Figure, rule: Rule, limit: float) -> Figure:
    """The figure with the limit of the newest breach on its axis."""
    differ = is_compared_by_difference(rule.measure, rule.against)
    words = format_limit(rule.measure, limit, differs=differ)
    y = value_axis(rule.measure, [figure.plot.y.low, figure.plot.y.high, limit], differs=differ)
    marks = (*figure.plot.marks, RuleLine(limit, "y", "limit"))
    key = LegendKey("line", "limit", f"limit {words}, as of the newest breach")
    return replace(figure, plot=replace(figure.plot, y=y, marks=marks), legend=(*figure.legend, key))
