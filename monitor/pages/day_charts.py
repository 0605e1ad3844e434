"""Series day by day: each day in what was expected of it; those that look alike are drawn once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incidents import IncidentAlert
from monitor.charts.marks import (
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    Mark,
    ShadedSpan,
)
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import StackChart
from monitor.core.change import Change
from monitor.core.clock import DAY, from_iso
from monitor.measures.value_words import approximate_text, format_measure_value
from monitor.pages.figures import choose_tick_format
from monitor.pages.page_request import ChartedDay
from monitor.pages.period_words import day_and_month_words
from monitor.sentences.change_words import chart_measure, chart_title
from monitor.sentences.known_measurements import join_few_names, readable_name
from monitor.sentences.time_words import day_words

_NAMED = 8


@dataclass(frozen=True, slots=True)
class AlikeSeries:
    """Series of days that look alike: one chart."""

    charted: Sequence[ChartedDay]
    change: Change
    severity: Severity | None  # of its alert; None: none fires any more
    names: list[str] = field(default_factory=list)

    def draw(self, today: int) -> StackChart:
        """Their chart."""
        name = join_few_names(self.names, _NAMED)
        return day_series_chart(name, self.charted, self.change, self.severity, today)


def group_alike_series(
    parts: Iterable[tuple[IncidentAlert, bool, Sequence[ChartedDay]]],
) -> list[AlikeSeries]:
    """Alerts of changes, each with whether it fires and its days; of one kind that end alike they are one."""
    found: dict[tuple[object, ...], AlikeSeries] = {}
    for part, fires, charted in parts:
        change = part.change
        if change is None or not charted:
            continue
        last = charted[-1]
        ends = (round(last.value, 3), round(last.low, 2), round(last.high, 2))
        key = (change.kind, change.category, fires, part.first_day, *ends)
        severity = part.alert.severity if fires else None
        found.setdefault(key, AlikeSeries(charted, change, severity)).names.append(readable_name(part.name))
    return list(found.values())


def calendar_days(charted: Sequence[ChartedDay]) -> list[ChartedDay | None]:
    """Every day from the first to the last, None where it was not judged."""
    by_day = {one.day: one for one in charted}
    if not by_day:
        return []
    return [by_day.get(day) for day in range(min(by_day), max(by_day) + 1)]


def day_series_chart(
    name: str, charted: Sequence[ChartedDay], change: Change, severity: Severity | None, today: int
) -> StackChart:
    """Values of a series by day with the band that was expected; a ring about the first day of the change.

    Parameters
    ----------
    severity
        of its alert, which fires; None: none does, and no colour means one.
    """
    measure = chart_measure(change)
    label = choose_tick_format(measure) if measure else approximate_text
    x_of = {one.day: (one.start + one.end) / 2 for one in charted}
    steps = calendar_days(charted)
    first = charted[0].day
    bands, points = [], []
    for at, one in enumerate(steps):
        x = x_of.get(first + at, charted[0].start + (at + 0.5) * DAY)
        bands.append((x, None, None) if one is None else (x, one.low, one.high))
        points.append((x, None if one is None else one.value))
    levels = [value for one in charted for value in (one.value, one.low, one.high)]
    last = charted[-1]
    kind: Kind = "main"
    if severity is not None:
        kind = "critical" if severity is Severity.CRITICAL else "warning"
    text = format_measure_value(measure, last.value) if measure else approximate_text(last.value)
    said = f"{text} on {day_words(last.start + DAY // 2, today)}"
    marks: list[Mark] = [IntervalBand(bands, "expected"), LinePath(points)]
    first_day = None if change.since is None else from_iso(change.since) // DAY
    gaps = [ShadedSpan(start, end, "hatched") for start, end in _unjudged_spans(steps, charted[0].start)]
    ringed = [
        LinkedPoint(
            x=x_of[one.day],
            y=one.value,
            kind=kind,
            words=f"{format_measure_value(measure, one.value) if measure else approximate_text(one.value)}"
            f" on {day_words(one.start + DAY // 2, today)}",
            ring=one.day == first_day,
        )
        for one in charted
        if one.day == first_day or (one is last and severity is not None)
    ]
    if ringed:
        marks.append(LinkedPoints(ringed))
    marks.append(MarginLabel(last.value, said, kind))
    return StackChart(
        title=name,
        note=f"{chart_title(change)} by day" + ("; hatched: not compared" if gaps else ""),
        y=linear_axis(levels, label=label, most=3),
        marks=(*gaps, *marks),
        legend=(LegendKey("area", "expected", "expected"),),
        height=64,
        stops=tuple(x_of[one.day] for one in charted),
        columns=("day", name, "expected"),
        rows=tuple(
            (
                day_and_month_words(one.start + DAY // 2),
                format_measure_value(measure, one.value) if measure else approximate_text(one.value),
                " to ".join(
                    format_measure_value(measure, end) if measure else approximate_text(end)
                    for end in (one.low, one.high)
                ),
            )
            for one in charted
        ),
    )


def _unjudged_spans(steps: Sequence[ChartedDay | None], begin: int) -> Iterator[tuple[float, float]]:
    """Starts and ends of days that were not compared, as they lie beside one another."""
    at = 0
    for is_judged, run in groupby(steps, lambda one: one is not None):
        many = len(list(run))
        if not is_judged:
            yield float(begin + at * DAY), float(begin + (at + many) * DAY)
        at += many
