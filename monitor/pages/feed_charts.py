"""Charts of the feed: records with what was expected, and when alerts stood."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import IncidentKind, alert_kind
from monitor.alerts.model_facts import ModelFacts
from monitor.charts.marks import (
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    Mark,
)
from monitor.charts.scales import Axis, linear_axis
from monitor.charts.stacks import LaneSpan, StackChart
from monitor.core.clock import DAY, to_iso
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import StoredMeasurement
from monitor.pages.page_request import ChartableDays, ChartedDay, PageRequest
from monitor.pages.period_words import period_words
from monitor.pages.window_choice import grain_name
from monitor.sentences.known_measurements import FEATURE, readable_name
from monitor.sentences.time_words import day_range_words
from monitor.show.alert_tables import ShownAlert
from monitor.windows.window_ends import Window

MOST_POINTS = 45  # of a chart; of more only those are drawn that are unusual


def draw_records(
    request: PageRequest,
    facts: ModelFacts,
    days: ChartableDays | None,
    readings: Sequence[StoredMeasurement],
    window: Window,
    *,
    height: int = 48,
    linked: bool = False,
) -> StackChart | None:
    """Records by window, of days with what was expected; `linked`: its points lead to their windows."""
    known = [one for one in readings if one.row.measurement.value is not None]
    if not known:
        return None
    change = next(
        (
            row.measurement.change
            for row in facts.rows
            if row.measure == EVIDENCE and row.subject == "records" and row.segment is None
        ),
        None,
    )
    points = [(float(window.middle_of(one.row.window_end)), one.row.measurement.value) for one in known]
    marks: list[Mark] = []
    charted = [] if days is None or change is None else days.chart_change("records", change)
    charted = [one for one in charted if one.start >= window.start_of(known[0].row.window_end)]
    is_expected = bool(charted) and window.length == DAY
    if is_expected:
        middles = [((one.start + one.end) / 2, one.low, one.high) for one in charted]
        marks.append(IntervalBand(middles, "expected"))
    marks.append(LinePath(points, "second"))
    if linked:
        bands = {one.end: one for one in charted} if is_expected else {}
        shown = [one for one in known if len(known) <= MOST_POINTS or _is_unexpected(one, bands)]
        marks.append(LinkedPoints([window_point(request, facts.model, window, one) for one in shown]))
    last = known[-1].row.measurement.value or 0.0
    marks.append(MarginLabel(last, f"{last:,.0f}", "second"))
    levels = [value for _, value in points if value is not None]
    levels += [one.high for one in charted] if is_expected else []
    return StackChart(
        title="Records",
        note=f"by {grain_name(window.name).lower()}",
        legend=(LegendKey("area", "expected", "expected"),) if is_expected else (),
        y=linear_axis(levels, zero=True, most=3, label=lambda at: f"{at:,.0f}"),
        marks=tuple(marks),
        height=height,
        stops=tuple(x for x, _ in points),
        columns=("when", "records"),
        rows=tuple(
            (period_words(window, one.row.window_end), f"{one.row.measurement.value or 0:,.0f}")
            for one in known
        ),
    )


def _is_unexpected(one: StoredMeasurement, bands: Mapping[int, ChartedDay]) -> bool:
    """Whether a day's records lie outside of what was expected."""
    band = bands.get(one.row.window_end)
    return band is not None and not band.low <= (one.row.measurement.value or 0.0) <= band.high


def window_point(
    request: PageRequest,
    model: str,
    window: Window,
    one: StoredMeasurement,
    said: str = "",
    kind: Kind = "second",
) -> LinkedPoint:
    """A window as a point that leads to its page; `said`: its value, else a count of records."""
    end, value = one.row.window_end, one.row.measurement.value or 0.0
    return LinkedPoint(
        x=float(window.middle_of(end)),
        y=value,
        kind=kind,
        words=f"{period_words(window, end)} · {said or f'{value:,.0f} records'}",
        href=request.link_to("models", model, "performance", window=window.name, end=to_iso(end)),
    )


def list_alert_spans(
    request: PageRequest,
    facts: ModelFacts,
    alerts: Sequence[ShownAlert],
    axis: Axis,
    kinds: Iterable[IncidentKind],
) -> Iterator[LaneSpan]:
    """When alerts of some kinds stood, as a lane shows them; what is for information alone is none."""
    for shown in alerts:
        alert = shown.alert
        end = float(alert.resolved_at or facts.as_of or 0)
        if alert.fired_at is None or alert.severity is Severity.INFO or end < axis.low:
            continue
        if alert_kind(alert, shown.rule) not in kinds or alert.fired_at > axis.high:
            continue
        name = readable_name(alert.series.subject.removeprefix(FEATURE)) or alert.series.rule
        since = day_range_words(alert.fired_at, int(end) - 1, facts.as_of or 0)
        yield LaneSpan(
            start=max(float(alert.fired_at), axis.low),
            end=end,
            kind="critical" if alert.severity is Severity.CRITICAL else "warning",
            words=f"{name} · {alert.severity.value} · {since}",
            href=request.link_to("models", facts.model, "alerts", alert.series.rule, since=alert.since),
        )
