"""Windows that a rule checked: the measure with its reference and what the rule alerts on, while it fired."""

from collections.abc import Sequence

from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.verdicts import COUNTED
from monitor.charts.marks import AlertZone, LegendKey, Mark, RuleLine
from monitor.charts.stacks import LaneSpan, Stack, StackLane
from monitor.core.clock import DAY
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import format_limit, format_measure_value, is_compared_by_difference
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import time_axis
from monitor.pages.reading_charts import (
    MOST_POINTS,
    ChartGround,
    LinkedReadings,
    ReadingLine,
    draw_readings,
    link_windows,
    with_value,
)
from monitor.pages.window_choice import grain_name
from monitor.pages.window_readings import drop_scarcely_labelled, window_readings
from monitor.sentences.known_measurements import capitalize_first, readable_name, spoken_measure
from monitor.sentences.time_words import day_range_words
from monitor.show.alert_tables import ShownAlert
from monitor.specs.stored_rows import ChartedRows

_BEFORE = 90 * DAY


def draw_judged_windows(
    data: PageData, request: PageRequest, shown_alert: ShownAlert, name: str
) -> Stack | None:
    """Windows that a rule checked, and while its alert fired; None: none of them is kept.

    `name`: of the element, unique on its page.
    """
    alert, rule, series = shown_alert.alert, shown_alert.rule, shown_alert.alert.series
    spec = spec_of(data, shown_alert.model)
    window = next((each for each in spec.windows if each.name == series.window), None)
    if rule is None or window is None:  # figures of the log itself are not kept
        return None
    subject, limit = _checked_subject_and_limit(shown_alert)
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
    kept = [
        stored
        for stored in data.read_revisions(shown_alert.model, which)
        if rule.truth in ("", stored.row.truth.value)
    ]
    # A difference from a reference is said by the measure itself: as on every other page.
    differs = is_compared_by_difference(rule.measure, rule.against)
    beside = alert.breach.beside if differs else None
    against = "" if beside is not None else rule.against
    readings = with_value(drop_scarcely_labelled(window_readings(kept, rule.measure, subject, against)))
    if not readings:
        return None
    measure = capitalize_first(spoken_measure(rule.measure))
    title = f"{measure} of {readable_name(subject)}" if subject else measure
    title += f" against {against}" if against else ""
    chart = draw_readings(
        title,
        [ReadingLine(series=readings, banded=True)],
        window,
        note=f"by {grain_name(window.name).lower()}",
        ground=_ground_of(rule, limit, beside, readings, differs=differs and beside is None),
        height=120,
        points=LinkedReadings(
            readings if len(readings) <= MOST_POINTS else [], link_windows(request, shown_alert.model, window)
        ),
    )
    if chart is None:
        return None
    axis = time_axis(window.start_of(readings[0].row.window_end), max(until, readings[-1].row.window_end))
    return Stack(
        name=name, label=f"{title}, window by window", x=axis, parts=[chart, _alert_lane(shown_alert, until)]
    )


def _ground_of(
    rule: Rule,
    limit: float | None,
    beside: float | None,
    readings: Sequence[StoredMeasurement],
    *,
    differs: bool,
) -> ChartGround:
    """What lies below the line: all that the rule alerts on, and the value that it compares with."""
    marks: list[Mark] = []
    legend: list[LegendKey] = []
    if beside is not None:
        marks.append(RuleLine(beside, "y", "reference"))
        text = f"{rule.against or 'reference'} {format_measure_value(rule.measure, beside)}"
        legend.append(LegendKey("line", "reference", text))
    if limit is not None:
        limit += beside or 0.0
        zone = AlertZone(limit, "below" if rule.condition.below is not None else "above")
        marks.insert(0, zone)
        words = format_limit(rule.measure, limit, differs=differs)
        legend.append(LegendKey("zone", "limit", f"alert {zone.side} {words}"))
    levels = [end for end in (limit, beside) if end is not None]
    levels += [one.row.measurement.interval.lower for one in readings[:1] if one.row.measurement.interval]
    return ChartGround(marks=marks, legend=legend, levels=levels)


def _alert_lane(shown_alert: ShownAlert, until: int) -> StackLane:
    """While the alert fired."""
    alert = shown_alert.alert
    begin, end = alert.fired_at or alert.since, alert.resolved_at or until
    span = LaneSpan(
        start=float(begin),
        end=float(end),
        kind="critical" if alert.severity is Severity.CRITICAL else "warning",
        words=f"alert · {day_range_words(begin, max(end - 1, begin), until)}",
        href="",
    )
    return StackLane(title="Alert", spans=(span,))


def _checked_subject_and_limit(shown_alert: ShownAlert) -> tuple[str, float | None]:
    """Subject of the checked series and its limit; of a share of features that of the one furthest off."""
    series, breach = shown_alert.alert.series, shown_alert.alert.breach
    if breach.cause is None or breach.cause.columns != COUNTED or not breach.cause.rows:
        return series.subject, None if breach.against else breach.limit  # of what was accepted: not drawn
    name, _, limit, *_ = breach.cause.rows[0]
    return str(name), limit if isinstance(limit, float | int) else None
