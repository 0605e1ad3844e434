"""Windows one by one, the newest first: a row a window, each with its main measure's interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.model_facts import ModelFacts
from monitor.charts.scales import Axis, AxisTick
from monitor.core.clock import DAY, to_iso
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import SIZES, certainty_words, format_interval_bounds, format_measure_value
from monitor.pages.fleet_page import SIGNS, find_named_window, missing_share_words, row_value_words
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import period_words
from monitor.pages.window_readings import REFERENCE, current_readings, reference_value, select_best_readings
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.performance_sentences import has_enough_labels
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

CONSTANT = ("accuracy", "majority_accuracy")
_CRITICAL = f"{INDEX}_critical"
_MOST_MONTHS, _MOST_FEATURES = 24, 2
Shifts = Mapping[tuple[str, str], Mapping[int, float | None]]
"""Newest values by (measure, subject), then by end: of 300 features a fifth of what their rows cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodLine:
    """A window in the table of windows, in words."""

    name: str
    href: str
    records: str
    labels: str
    value: str
    bounds: str
    sure: str
    interval: tuple[float, float, float] | None
    final: bool
    constant: str
    shift: str
    critical: str
    missing: str
    moved: str
    most: tuple[tuple[str, str, str], ...]
    truth: str
    revisions: int


def period_window(spec: ModelSpec, facts: ModelFacts) -> Window:
    """Window of the table: calendar months if the model has them, else the one that rules judge."""
    calendar = [window for window in spec.windows if window.name == "month"]
    return calendar[0] if calendar else find_named_window(spec, facts.window)


def make_periods_table(
    data: PageData, request: PageRequest, spec: ModelSpec, facts: ModelFacts
) -> tuple[tuple[PeriodLine, ...], Axis | None]:
    """The table of windows, the newest first, and the axis that their intervals share."""
    if facts.as_of is None:
        return (), None
    window = period_window(spec, facts)
    ends = window.kept_ends(facts.as_of - 3 * 366 * DAY, facts.as_of)[: 60 * _MOST_MONTHS]
    # Windows that overlap say the same again.
    if not window.is_calendar:
        ends = [end for end in ends if (ends[0] - end) % max(window.length, window.step) == 0]
    ends = ends[:_MOST_MONTHS]
    names = [facts.main, "records", "coverage", *CONSTANT, INDEX, _CRITICAL, "missing_rate"]
    if not ends:
        return (), None
    which = ChartedRows(
        window=window.name,
        after=ends[-1] - 1,
        until=ends[0],
        measures=names,
        subjects=("", "score", "prediction"),
        against=("", REFERENCE),
        as_of=facts.as_of,
    )
    rows = [*data.read_revisions(spec.name, which), *current_readings(facts, window.name)]
    shifts = data.read_newest_values(spec.name, replace(which, measures=(INDEX, _CRITICAL), subjects=None))
    by_end: dict[int, list[StoredMeasurement]] = {end: [] for end in ends}
    for stored in rows:
        by_end.get(stored.row.window_end, []).append(stored)
    periods = tuple(
        _make_period_line(request, window, end, of, shifts, facts) for end, of in by_end.items() if of
    )
    bounds = [part for one in periods if one.interval for part in (one.interval[0], one.interval[2])]
    reference = reference_value(facts.rows, facts.main)
    if not bounds:
        return periods, None
    levels = [*bounds, *([] if reference is None else [reference[0]])]
    room = (max(levels) - min(levels)) / 20 or 1e-6
    ticks = () if reference is None else (AxisTick(reference[0], "reference"),)
    return periods, Axis(min(levels) - room, max(levels) + room, ticks)


def _make_period_line(
    request: PageRequest,
    window: Window,
    end: int,
    rows: Sequence[StoredMeasurement],
    shifts: Shifts,
    facts: ModelFacts,
) -> PeriodLine:
    """One window in words."""
    best = select_best_readings(rows, lambda row: (row.measure, row.subject, row.against))
    known = {place: stored.row for place, stored in best.items()}
    main = known.get((facts.main, "", ""))
    step = known.get((facts.main, "", REFERENCE))
    right, always = (known.get((name, "", "")) for name in CONSTANT)
    subject = "score" if (INDEX, "score", "") in known else "prediction"
    shift, critical = (known.get((name, subject, "")) for name in (INDEX, _CRITICAL))
    features = {
        name: by_end[end] or 0.0
        for (measure, name), by_end in shifts.items()
        if measure == INDEX and name.startswith("feature:") and end in by_end
    }
    limits = {name: shifts.get((_CRITICAL, name), {}) for name in features}
    # Moved is what lies beyond the smallest size that matters, and beyond chance.
    large = {
        name: value
        for name, value in features.items()
        if value >= SIZES[0] and end in limits[name] and value > (limits[name][end] or 0.0)
    }
    most = []
    for name in sorted(large, key=lambda name: -large[name])[:_MOST_FEATURES]:
        bare = name.removeprefix("feature:")
        href = request.link_to(
            "models", facts.model, "feature", name=bare, window=window.name, end=to_iso(end)
        )
        most.append((bare, format_measure_value(INDEX, large[name]), href))
    result = None if main is None else main.measurement
    interval = None if result is None else result.interval
    places = None
    if result is not None and result.value is not None and interval is not None:
        places = (interval.lower, result.value, interval.upper)
    records, coverage = known.get(("records", "", "")), known.get(("coverage", "", ""))
    return PeriodLine(
        name=period_words(window, end),
        href=request.link_to("models", facts.model, "performance", window=window.name, end=to_iso(end)),
        records="" if records is None else row_value_words(records),
        labels="" if coverage is None else row_value_words(coverage),
        value="" if main is None else row_value_words(main) or f"({main.measurement.reason})",
        bounds="" if result is None else format_interval_bounds(facts.main, interval),
        sure="" if step is None else SIGNS.get(certainty_words(facts.main, step.measurement), ""),
        interval=places,
        final=main is not None and main.truth is LabelTruth.SETTLED,
        constant="" if right is None else _accuracy_words(right, always),
        shift="" if shift is None else row_value_words(shift),
        critical="" if critical is None else row_value_words(critical),
        missing=missing_share_words(known.get(("missing_rate", subject, ""))),
        moved=f"{len(large)} of {len(features)}" if features else "",
        most=tuple(most),
        truth="" if main is None else str(main.truth),
        revisions=len({
            one.as_of for one in rows if one.row.measure == facts.main and not one.row.against
        }),
    )  # fmt: skip


def _accuracy_words(right: MeasurementRow, always: MeasurementRow | None) -> str:
    """Accuracy, and in brackets that of always giving the most frequent answer, where labels tell it."""
    if always is None or not row_value_words(right) or not has_enough_labels(always.measurement):
        return row_value_words(right)
    return f"{row_value_words(right)} ({row_value_words(always)})"
