"""The evidence of an incident: its series day by day, those that look alike drawn once, records below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.incidents import IncidentAlert
from monitor.alerts.model_facts import ModelFacts
from monitor.charts.marks import LinePath, MarginLabel
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import Stack, StackChart
from monitor.core.clock import DAY
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.pages.day_charts import day_series_chart, group_alike_series
from monitor.pages.incidents.judged_windows import draw_judged_windows
from monitor.pages.page_request import ChartedDay, PageData, PageRequest
from monitor.pages.period_words import time_axis
from monitor.records.pane import PaneHalf
from monitor.sentences.known_measurements import capitalize_first
from monitor.show.alert_tables import ShownAlert
from monitor.specs.model_spec import ModelSpec

RANGES = {"30d": 30, "60d": 60, "180d": 180}
"""Days that are drawn, by what the address calls them."""
_MOST_SERIES, _MOST_FIGURES = 6, 2
_AFTER = 7 * DAY  # that are drawn after an incident was over
_RECORDS = "records"


@dataclass(frozen=True, slots=True)
class IncidentEvidence:
    """What is drawn of an incident, or why nothing is."""

    stack: Stack | None
    windows: tuple[Stack, ...]  # of alerts that check windows
    left_out: int  # series that are not drawn
    without: str


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
    alike = group_alike_series(_charted_parts(data, spec, facts, parts, count, until))
    charts = [one.draw(today) for one in alike[:_MOST_SERIES]]
    # What holds of all is said once.
    charts[1:] = [replace(one, legend=()) for one in charts[1:]]
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
    drawn = (
        draw_judged_windows(data, request, one, f"windows-{at}")
        for at, one in enumerate(list(measured.values())[-_MOST_FIGURES:])
    )
    windows = tuple(one for one in drawn if one is not None)
    without = "" if stack or windows else "Nothing of its series is stored by day, so nothing is drawn."
    return IncidentEvidence(stack, windows, max(len(alike) - _MOST_SERIES, 0), without)


def _charted_parts(
    data: PageData,
    spec: ModelSpec,
    facts: ModelFacts,
    parts: Sequence[tuple[IncidentAlert, ShownAlert]],
    count: int,
    until: int,
) -> Iterator[tuple[IncidentAlert, bool, Sequence[ChartedDay]]]:
    """Alerts that judge days, each with whether it fires and its days."""
    if facts.as_of is None or spec.budget is None or all(part.change is None for part, _ in parts):
        return
    halves = [data.read_judged_days(spec, half, count, until) for half in PaneHalf]
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
        yield part, shown.alert.resolved_at is None, charted


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
