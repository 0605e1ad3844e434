"""One model: what is said of it first, then how it went."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from monitor.alerts.alert_rules import ACCEPTED, Severity
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import judge_standing
from monitor.charts.marks import LegendKey, LinePath, Mark, RuleLine
from monitor.charts.scales import Axis, linear_axis
from monitor.core.clock import DAY
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.measures.value_words import SIZES, format_measure_value
from monitor.pages.figures import Figure, choose_tick_format, draw_timeline
from monitor.pages.fleet_page import find_named_window, icon_of
from monitor.pages.page_request import PageData, PageLink, PageRequest, require_known_name
from monitor.pages.period_words import local_moment_words, time_axis
from monitor.pages.periods_page import CONSTANT, PeriodLine, make_periods_table
from monitor.pages.window_readings import (
    drop_scarcely_labelled,
    line_points,
    reference_value,
    window_readings,
)
from monitor.records.reading import ModelTask
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.known_measurements import KnownMeasurements, SentenceSection, readable_name
from monitor.sentences.performance_sentences import (
    best_estimate,
    has_enough_labels,
    missing_estimate_sentences,
)
from monitor.show.alert_tables import ShownAlert
from monitor.show.model_status import state_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import REPLAYED, ChartedRows, HistoryEvent
from monitor.windows.window_ends import Window

RANGES = {"90d": 90 * DAY, "180d": 180 * DAY, "1y": 366 * DAY, "all": 0}
MEASURES = {
    ModelTask.BINARY: ("roc_auc", "accuracy", "recall", "precision", "brier_score", "profit"),
    ModelTask.MULTICLASS: ("accuracy", "average_class_accuracy", "cohen_kappa_score", "log_loss"),
    ModelTask.REGRESSION: ("root_mean_squared_error", "mean_absolute_error", "r2_score"),
}
BANDS = LegendKey("line", "limit", f"classical bands {SIZES[0]:g} and {SIZES[1]:g}")
_MOST_EVENTS = 20
_standing = lru_cache(maxsize=4)(judge_standing)  # of the same state of a model it is the same


@dataclass(frozen=True, slots=True)
class AlertLane:
    """Alerts of a rule over time: (start, end, severity), 0 and 1 at the ends of the axis.

    `told`: whether one of them called for somebody; the others are levels against the reference.
    """

    rule: str
    spans: tuple[tuple[float, float, str], ...]
    told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOverview:
    """Page of one model."""

    model: str
    verdict: str
    icon: str
    because: tuple[str, ...]
    sections: tuple[SentenceSection, ...]
    windows: tuple[PageLink, ...]
    measures: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    figure: Figure | None
    lanes: tuple[AlertLane, ...]
    main: str
    output: str
    periods: tuple[PeriodLine, ...]
    strip: Axis | None
    others: tuple[Figure, ...]
    unestimated: str
    events: tuple[tuple[str, str, str], ...]
    behind: str
    replayed: str


def spec_of(data: PageData, name: str) -> ModelSpec:
    """Specification of a model.

    Raises
    ------
    AddressError
        404, with a suggestion.
    """
    specs = {spec.name: spec for spec in data.list_specs()}
    return specs[require_known_name(name, list(specs), "model")]


def model_overview(data: PageData, request: PageRequest, name: str) -> ModelOverview:
    """Page of one model."""
    request.refuse_unknown_parameters("window", "measure", "range")
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    standing = _standing(facts)
    window = find_named_window(
        spec, request.parse_choice("window", [each.name for each in spec.windows], facts.window)
    )
    offered = _offered_measures(spec, facts)
    measure = request.parse_choice("measure", offered, facts.main)
    span = request.parse_choice(
        "range", list(RANGES), "180d" if window.length <= DAY and window.step <= DAY else "all"
    )
    rows = _chart_rows(data, spec, facts, window, measure, span)
    axis = _time_axis(facts, window, rows)
    alerts = data.list_alerts(name, request.as_of, ended=True)
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    estimate, main = best_estimate(measurements), facts.main
    periods, strip = make_periods_table(data, request, spec, facts)
    # No label has come: what is estimated stands in the table of windows.
    if strip is None and estimate is not None and _has_value(estimate):
        main = estimate.measure
        periods, strip = make_periods_table(data, request, spec, replace(facts, main=main))
    figures = (
        []
        if axis is None
        else list(_model_figures(rows, facts, window, axis, measure, _event_marks(data, facts, axis)))
    )
    return ModelOverview(
        model=name,
        verdict=state_words(standing),
        icon=icon_of(standing),
        because=standing.because,
        sections=standing.sections,
        windows=make_choice_links(request, "window", [each.name for each in spec.windows], window.name),
        measures=make_choice_links(request, "measure", offered, measure),
        ranges=make_choice_links(request, "range", list(RANGES), span),
        figure=figures[0] if _has_chart_line(rows, measure, estimate) else None,
        lanes=() if axis is None else _alert_lanes(alerts, axis, facts.as_of or facts.now),
        main=main,
        output="Score" if spec.reading.has_score else "Prediction",
        periods=periods,
        strip=strip,
        others=tuple(figures[1:]),
        unestimated=next(missing_estimate_sentences(measurements), ""),
        events=describe_events(data, name, request.as_of),
        behind=_provenance_line(data, name, facts),
        replayed=_replay_note(data, name, facts),
    )


def describe_events(data: PageData, name: str, as_of: int | None) -> tuple[tuple[str, str, str], ...]:
    """(When, what, to what, by whom, why) of what happened by a moment, the newest first; None: by now."""
    return tuple(
        (local_moment_words(event.log_moment), event.words, _event_words(event))
        for event in read_events_until(data, name, as_of)[:_MOST_EVENTS]
    )


def read_events_until(data: PageData, name: str, as_of: int | None) -> list[HistoryEvent]:
    """What had happened by a moment, the newest first; None: by now."""
    newest_first = sorted(data.read_events(name), key=lambda event: event.at)[::-1]
    return [event for event in newest_first if as_of is None or event.at <= as_of]


def _event_words(event: HistoryEvent) -> str:
    accepted = event.acceptance if event.kind == ACCEPTED else None
    until = None if accepted is None or accepted.is_withdrawal else accepted.until
    parts = (event.subject, f"by {event.who}" if event.who else "", event.why)
    return ", ".join(filter(None, (*parts, f"until {local_moment_words(until)}" if until else "")))


def make_choice_links(
    request: PageRequest, name: str, values: Sequence[str], chosen: str
) -> tuple[PageLink, ...]:
    """Links to this page with each value of a parameter."""
    return tuple(PageLink(value, request.link_here(**{name: value}), value == chosen) for value in values)


def _has_value(row: MeasurementRow) -> bool:
    return row.measurement.value is not None


def _has_chart_line(rows: Sequence[StoredMeasurement], measure: str, estimate: MeasurementRow | None) -> bool:
    """Whether the first chart has a line: of the measure, or, before labels come, of its estimate."""
    names = {measure} if estimate is None else {measure, estimate.measure}
    known = (stored.row for stored in rows)
    return any(row.measure in names and not row.subject and _has_value(row) for row in known)


def _offered_measures(spec: ModelSpec, facts: ModelFacts) -> list[str]:
    """Measures that have a value, the main one first."""
    known = {row.measure for row in facts.rows if row.is_of_whole and _has_value(row)}
    return [
        facts.main,
        *(name for name in MEASURES[spec.reading.task] if name in known and name != facts.main),
    ]


def _chart_rows(
    data: PageData, spec: ModelSpec, facts: ModelFacts, window: Window, measure: str, span: str
) -> list[StoredMeasurement]:
    """Rows of the charts of a window: performance, and the shift of what comes out."""
    until = facts.as_of or 0
    estimate = best_estimate(KnownMeasurements(facts.rows, facts.window, facts.main))
    guessed = [] if estimate is None else [estimate.measure, BY_NAME[estimate.measure].estimates]
    names = [measure, facts.main, *guessed, "brier_score", *CONSTANT]
    output = "score" if spec.reading.has_score else "prediction"
    which = ChartedRows(
        window=window.name,
        after=until - RANGES[span] if RANGES[span] else 0,
        until=until,
        measures=[*names, INDEX, f"{INDEX}_critical"],
        subjects=("", output),
        against=("",),
        as_of=facts.as_of,
        newest=True,
    )
    return data.read_revisions(spec.name, which)


def _time_axis(facts: ModelFacts, window: Window, rows: Sequence[StoredMeasurement]) -> Axis | None:
    """Axis of time of all charts; None: there is nothing to draw."""
    if not rows or facts.as_of is None:
        return None
    ends = [stored.row.window_end for stored in rows]
    return time_axis(window.start_of(min(ends)), max(facts.as_of, *ends), window.zone)


def _model_figures(
    rows: Sequence[StoredMeasurement],
    facts: ModelFacts,
    window: Window,
    axis: Axis,
    measure: str,
    marks: Sequence[Mark],
) -> Iterator[Figure]:
    """The chart of the chosen measure, and the others."""
    by_measure: dict[str, list[StoredMeasurement]] = {}
    for stored in rows:
        by_measure.setdefault(stored.row.measure, []).append(stored)

    def known(name: str, subject: str = "") -> list[StoredMeasurement]:
        return window_readings(by_measure.get(name, ()), name, subject)

    chosen, estimate = known(measure), best_estimate(KnownMeasurements(facts.rows, facts.window, facts.main))
    guess = [] if estimate is None else known(estimate.measure)
    real = [] if estimate is None else known(BY_NAME[estimate.measure].estimates)
    if not _has_any_value(chosen) and _has_any_value(guess) and estimate is not None:
        note = "no label has come yet: estimated from the model's own outputs"
        yield draw_timeline(estimate.measure, guess, window, axis, marks=marks, note=note)
    else:
        reference = reference_value(facts.rows, measure)
        yield draw_timeline(measure, chosen, window, axis, reference=reference, marks=marks)
    right, always = map(known, CONSTANT)
    if _has_any_value(right) and _has_any_value(always):
        yield add_second_line(
            draw_timeline("accuracy", right, window, axis, height=120, title="Accuracy"),
            "accuracy",
            constant_answer_points(always, window),
            LegendKey("line", "second", "always saying the more frequent class"),
            "is it better than a constant answer?",
            [
                format_measure_value("accuracy", one.row.measurement.value)
                for one in align_readings(right, always)
            ],
        )
    brier = known("brier_score")
    if _has_any_value(brier) and measure != "brier_score":
        of = reference_value(facts.rows, "brier_score")
        note = "error of the probabilities: lower is better"
        yield draw_timeline(
            "brier_score", brier, window, axis, reference=of, height=120, title="Brier score", note=note
        )
    if _has_any_value(guess) and _has_any_value(real):
        name = real[0].row.measure
        yield add_second_line(
            draw_timeline(name, real, window, axis, height=120, title="Before labels arrive"),
            name,
            line_points(guess, window),
            LegendKey("line", "estimate", "estimated from scores alone"),
            "the estimate is known at the window's end; labels follow",
            [format_measure_value(name, one.row.measurement.value) for one in align_readings(real, guess)],
        )
    yield from _shift_figures(known, window, axis)


def _has_any_value(series: Sequence[StoredMeasurement]) -> bool:
    return any(_has_value(one.row) for one in series)


def constant_answer_points(
    always: Sequence[StoredMeasurement], window: Window
) -> list[tuple[float, float | None]]:
    """What a constant answer reaches, by as many labels as a line of the model itself is drawn of."""
    return line_points(
        [one for one in drop_scarcely_labelled(always) if has_enough_labels(one.row.measurement)], window
    )


def season_words(spec: ModelSpec) -> str:
    """What the season is, which pages do not draw; empty: there is none."""
    sentence = f"The season is the same phase of earlier {spec.season}s."
    return f"{sentence} What is drawn is against the reference." if spec.season else ""


def align_readings(
    one: Sequence[StoredMeasurement], other: Sequence[StoredMeasurement]
) -> list[StoredMeasurement]:
    """The other readings of the same windows, the own one where there is none."""
    there = {each.row.window_end: each for each in other}
    return [there.get(each.row.window_end, each) for each in one]


def add_second_line(
    figure: Figure,
    measure: str,
    points: Sequence[tuple[float, float | None]],
    key: LegendKey,
    note: str,
    cells: Sequence[str],
    limits: Sequence[float] = (),
) -> Figure:
    """A figure of a measure with another line beside, and limits that its axis holds."""
    levels = [y for _, y in points if y is not None]
    levels += [figure.plot.y.low, figure.plot.y.high, *limits]
    axis = linear_axis(levels, label=choose_tick_format(measure))
    return replace(
        figure,
        plot=replace(figure.plot, y=axis, marks=(*figure.plot.marks, LinePath(points, key.kind))),
        note=note,
        legend=(*figure.legend, key),
        columns=(*figure.columns, key.text),
        rows=tuple((*row, cell) for row, cell in zip(figure.rows, cells, strict=True)),
    )


def _shift_figures(
    known: Callable[[str, str], list[StoredMeasurement]], window: Window, axis: Axis
) -> Iterator[Figure]:
    """How far the score, or the prediction, has moved."""
    for subject in ("score", "prediction"):
        index = known(INDEX, subject)
        if not any(_has_value(one.row) for one in index):
            continue
        critical = known(f"{INDEX}_critical", subject)
        limits = [RuleLine(size, "y", "limit") for size in SIZES]
        title, note = (
            f"Shift of the {subject}",
            "against the reference; above both lines it is real and large",
        )
        figure = draw_timeline(INDEX, index, window, axis, height=120, title=title, marks=limits, note=note)
        key = LegendKey("line", "chance", "critical value: exceeded by chance in 5 of 100 windows")
        cells = [
            format_measure_value(INDEX, one.row.measurement.value) for one in align_readings(index, critical)
        ]
        figure = add_second_line(figure, INDEX, line_points(critical, window), key, note, cells, SIZES)
        yield replace(figure, legend=(*figure.legend, BANDS))
        return


def _event_marks(data: PageData, facts: ModelFacts, axis: Axis) -> list[Mark]:
    """Versions and decisions on the axis of time."""
    told = {"version_first_seen": "version {}", "accepted": "accepted", "recounted": "recounted"}
    first = axis.low + (axis.high - axis.low) / 50
    known = max(int(axis.high), facts.as_of or 0)
    events = [one for one in data.read_events(facts.model) if one.kind in told and one.at <= known]
    return [
        RuleLine(float(event.log_moment), "x", "now", told[event.kind].format(readable_name(event.subject)))
        for event in [one for one in events if one.words != "withdrawn"][-12:]
        if first < event.log_moment <= axis.high
    ]


def _alert_lanes(alerts: Sequence[ShownAlert], axis: Axis, until: int) -> tuple[AlertLane, ...]:
    """When alerts fired, a lane a rule, those that fire most recently first."""
    lanes: dict[str, list[tuple[float, float, str]]] = {}
    for shown_alert in sorted(alerts, key=lambda one: -(one.alert.resolved_at or until)):
        alert = shown_alert.alert
        end = alert.resolved_at or until
        if alert.fired_at is None or end < axis.low or alert.fired_at > axis.high:
            continue
        span = (
            axis.axis_position(float(alert.fired_at)),
            axis.axis_position(float(end)),
            alert.severity.value,
        )
        lanes.setdefault(alert.series.rule, []).append(span)
    return tuple(
        AlertLane(rule, tuple(spans), any(severity != Severity.INFO for _, _, severity in spans))
        for rule, spans in lanes.items()
    )


def _provenance_line(data: PageData, name: str, facts: ModelFacts) -> str:
    """What stands behind the numbers, in a line."""
    if facts.as_of is None:
        return ""
    provenance = data.read_provenance(name, facts.as_of)
    if provenance is None:
        return ""
    reference = f" · reference {provenance.reference[:16]}" if provenance.reference else ""
    return (
        f"monitor {provenance.code} · configuration {provenance.config[:16]} · grids "
        f"{provenance.grid[:16]}{reference}"
    )


def _replay_note(data: PageData, name: str, facts: ModelFacts) -> str:
    """That what is shown was measured afterwards; empty: it was not."""
    replays = [event.at for event in data.read_events(name) if event.kind == REPLAYED]
    until = max(replays, default=0)
    if facts.as_of is None or until < facts.as_of:
        return ""
    until = until if facts.replay_until is None else facts.as_of
    return (
        f"A replay measured all up to {local_moment_words(until)} afterwards: what alerts say, nobody "
        "was told then."
    )
