"""The evidence of an incident: its series day by day, those that look alike drawn once, records below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incidents import IncidentAlert
from monitor.alerts.model_facts import ModelFacts
from monitor.charts.marks import LinePath, MarginLabel
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import Stack, StackChart
from monitor.core.change import Change
from monitor.core.clock import DAY
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.pages.alert_page import draw_judged_series
from monitor.pages.figures import Figure
from monitor.pages.overview_page import day_series_chart, told_days
from monitor.pages.page_request import ChartedDay, PageData, PageRequest
from monitor.pages.period_words import time_axis
from monitor.records.pane import PaneHalf
from monitor.sentences.known_measurements import capitalize_first, join_few_names, readable_name
from monitor.show.alert_tables import ShownAlert
from monitor.specs.model_spec import ModelSpec

RANGES = {"30d": 30, "60d": 60, "180d": 180}
"""Days that are drawn, by what the address calls them."""
_MOST_SERIES, _MOST_FIGURES, _NAMED = 6, 2, 8
_AFTER = 7 * DAY  # that are drawn after an incident was over
_RECORDS = "records"


@dataclass(frozen=True, slots=True)
class IncidentEvidence:
    """What is drawn of an incident, or why nothing is."""

    stack: Stack | None
    figures: tuple[Figure, ...]  # of alerts that judge windows
    left_out: int  # series that are not drawn
    without: str


@dataclass(slots=True)
class _AlikeSeries:
    """Series of days that look alike: one chart."""

    names: list[str]
    charted: list[ChartedDay]
    change: Change
    severity: Severity | None


def gather_evidence(
    data: PageData,
    request: PageRequest,
    spec: ModelSpec,
    facts: ModelFacts,
    parts: Sequence[tuple[IncidentAlert, ShownAlert]],
    *,
    count: int,
    over_at: int | None,
) -> IncidentEvidence:
    """Charts of an incident's alerts.

    Parameters
    ----------
    parts
        its alerts, the largest first.
    count
        how many days are drawn.
    over_at
        when it was over; None: it is open, and the charts end with the data.
    """
    today = facts.as_of or 0
    until = today if over_at is None else min(today, over_at + _AFTER)
    alike = list(_alike_series(data, spec, facts, parts, count, until))
    charts = [_series_chart(one, today) for one in alike[:_MOST_SERIES]]
    # What holds of all is said once.
    charts[1:] = [replace(one, note=one.note.partition(";")[0], legend=()) for one in charts[1:]]
    days = [day for one in alike for day in (one.charted[0].start, one.charted[-1].end)]
    records = _records_chart(data, spec, facts, count, until)
    if records is not None and charts and all(one.change.kind != _RECORDS for one in alike):
        charts.append(records)
    stack = None
    if charts:
        start, end = min(days), max(days)
        stack = Stack(
            name="evidence",
            label="The incident's series day by day",
            x=time_axis(start, end, spec.reading.zone),
            parts=charts,
        )
    # Settled and estimated windows of one measure look alike: that of the largest alert is drawn.
    measured = {
        (shown.rule.measure, shown.alert.series.subject): shown
        for part, shown in reversed(parts)
        if part.change is None and shown.rule is not None
    }
    drawn = [draw_judged_series(data, request, one)[0] for one in list(measured.values())[-_MOST_FIGURES:]]
    figures = tuple(one for one in drawn if one is not None)
    without = "" if stack or figures else "Nothing of its series is stored by day, so nothing is drawn."
    return IncidentEvidence(stack, figures, max(len(alike) - _MOST_SERIES, 0), without)


def _alike_series(
    data: PageData,
    spec: ModelSpec,
    facts: ModelFacts,
    parts: Sequence[tuple[IncidentAlert, ShownAlert]],
    count: int,
    until: int,
) -> Iterator[_AlikeSeries]:
    """Series of alerts that judge days; those of the same kind that end alike are one."""
    if facts.as_of is None or spec.budget is None or all(part.change is None for part, _ in parts):
        return
    halves = [data.read_judged_days(spec, half, count, until) for half in PaneHalf]
    found: dict[tuple[object, ...], _AlikeSeries] = {}
    for part, shown in parts:
        change, series = part.change, part.alert.series
        if change is None:
            continue
        if series.segment:
            span = (part.alert.fired_at or part.alert.since, until)
            charted = data.read_change_days(spec, (series.subject, series.segment), change, span)
        else:
            charts = (half.chart_change(series.subject, change) for half in halves if half is not None)
            charted = next((one for one in charts if one), [])
        if not charted:
            continue
        charted = told_days(charted, change)
        fires = shown.alert.resolved_at is None
        last = [(round(day.value, 3), round(day.low, 2), round(day.high, 2)) for day in charted[-1:]]
        key = (change.kind, change.category, fires, part.first_day, *last)
        one = found.setdefault(key, _AlikeSeries([], charted, change, part.alert.severity if fires else None))
        one.names.append(readable_name(part.name))
    yield from found.values()


def _series_chart(one: _AlikeSeries, today: int) -> StackChart:
    name = join_few_names(one.names, _NAMED)
    return day_series_chart(name, one.charted, one.change, one.severity, today)


def _records_chart(
    data: PageData, spec: ModelSpec, facts: ModelFacts, count: int, until: int
) -> StackChart | None:
    """Records by day, with what was expected."""
    changes = (
        row.measurement.change
        for row in facts.rows
        if row.measure == EVIDENCE and row.subject == _RECORDS and row.segment is None
    )
    change = next((one for one in changes if one is not None), None)
    days = None if change is None else data.read_judged_days(spec, PaneHalf.RECORDS, count, until)
    charted = [] if days is None or change is None else days.chart_change(_RECORDS, change)
    if not charted or change is None:
        return None
    today, without_ring = facts.as_of or 0, replace(change, since=None)
    drawn = day_series_chart(capitalize_first(_RECORDS), charted, without_ring, None, today)
    last = charted[-1].value
    marks = [replace(mark, kind="second") if isinstance(mark, LinePath) else mark for mark in drawn.marks]
    marks = [
        MarginLabel(last, f"{last:,.0f}", "second") if isinstance(mark, MarginLabel) else mark
        for mark in marks
    ]
    levels = [value for day in charted for value in (day.value, day.high)]
    axis = linear_axis(levels, zero=True, most=3, label=lambda at: f"{at:,.0f}")
    return replace(drawn, note="by day", legend=(), y=axis, marks=tuple(marks), height=48)
