"""Experiments: whether control and treatment differ, whether the challenger is better, and since when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.alerts.default_rules import MISMATCH
from monitor.charts.marks import (
    IntervalWhiskers,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    Mark,
    RuleLine,
)
from monitor.charts.scales import linear_axis
from monitor.charts.stacks import Stack, StackChart
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.comparison_measures import ENOUGH
from monitor.measures.measurement_row import CUMULATIVE, MeasurementRow, StoredMeasurement
from monitor.measures.statistics.intervals import wilson_interval
from monitor.measures.value_words import (
    certainty_words,
    format_interval_bound,
    format_measure_difference,
    format_measure_value,
    is_percent,
)
from monitor.pages.figures import choose_tick_format
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import day_and_month_words, time_axis
from monitor.pages.reading_charts import (
    ChartGround,
    LinkedReadings,
    ReadingLine,
    draw_readings,
    link_windows,
    with_value,
)
from monitor.pages.window_choice import grain_name
from monitor.pages.window_readings import window_readings
from monitor.records.reading import ModelTask
from monitor.sentences.known_measurements import (
    capitalize_first,
    join_few_names,
    readable_name,
    spoken_measure,
)
from monitor.sentences.time_words import day_words, end_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

VALID = "_always_valid"
_P_VALUE, _RATIO = f"control_p_value{VALID}", f"sample_ratio_p_value{VALID}"
_SHARE = "control_record_share"
_WEEK = 7 * DAY
_ARMS: tuple[tuple[str, Kind], ...] = (("control", "second"), ("treatment", "main"))
_MOST = 3  # outcomes that are drawn
_DAILY = Window(CUMULATIVE, DAY, _WEEK)  # days settle several at a time: that is no gap
_SETTLED_DOWN = 0.1  # of the newest n: before it intervals are so wide that they would stretch the axis
_CHALLENGER = ("challenger_auc_difference", "challenger_accuracy_difference")


@dataclass(frozen=True, slots=True)
class WeeklyValues:
    """An arm's weekly values of one outcome: how many, their mean and standard deviation, in words."""

    outcome: str
    arm: str
    weeks: str
    mean: str
    deviation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """Page of the comparisons of a model; `without`: why there is none."""

    model: str
    headline: str
    says: str
    next_step: str
    without: str
    arms: Stack | None
    weekly: tuple[WeeklyValues, ...]
    challenged: str  # what the challenger's picture answers
    challenger: Stack | None
    method: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Experiment:
    """What is known of an experiment; kept rows are the newest revisions, by end."""

    model: str
    spec: ModelSpec
    today: int
    cumulative: Sequence[StoredMeasurement]
    challenged: Sequence[StoredMeasurement]

    @property
    def last(self) -> dict[tuple[str, str], MeasurementRow]:
        """Newest cumulative row by measure and subject."""
        by_end = sorted((stored.row for stored in self.cumulative), key=lambda row: row.window_end)
        return {(row.measure, row.subject): row for row in by_end}

    @property
    def differences(self) -> list[MeasurementRow]:
        """Newest difference of the arms in each outcome, the largest beside its interval first."""
        found = [row for (measure, _), row in self.last.items() if "_difference" in measure]
        return sorted(found, key=_distance_from_zero, reverse=True)

    @property
    def window(self) -> Window:
        return _comparison_window(self.spec)


def compare_page(data: PageData, request: PageRequest, name: str) -> ComparePage:
    """Page of the comparisons of a model."""
    of = _read_experiment(data, request, name)
    arms, challenger = _arms_stack(request, of), _challenger_stack(request, of)
    verdict = _arms_verdict(of)
    challenged = _challenger_words(of)
    headline, says, next_step = verdict or (challenged, "", "")
    title, without = ("", "") if arms or challenger else _why_no_comparison(of.spec)
    return ComparePage(
        model=name,
        headline=headline or title,
        says=says,
        next_step=next_step,
        without=without,
        arms=arms,
        weekly=tuple(line for row in of.differences[:_MOST] for line in _weekly_values(row)),
        challenged="" if verdict is None else challenged,
        challenger=challenger,
        method=tuple(_method_sentences(of)),
    )


def read_compare_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows behind the page, the newest revision of each."""
    of = _read_experiment(data, request, name)
    return [*of.cumulative, *of.challenged]


def find_differing_outcomes(rows: Sequence[StoredMeasurement], level: float) -> dict[str, int]:
    """Outcomes in which the arms differ by the test that may be looked at every day, and since when.

    Of several outcomes all tests hold together with the level, as for the rule `control_group`.
    """
    readings = [stored.row for stored in rows if stored.row.measure == _P_VALUE]
    limit = (1 - level) / max(len({row.subject for row in readings}), 1)
    found: dict[str, int] = {}
    for row in sorted(readings, key=lambda row: row.window_end):
        if row.measurement.value is not None and row.measurement.value < limit:
            found.setdefault(row.subject, row.window_end)
    return found


def _read_experiment(data: PageData, request: PageRequest, name: str) -> _Experiment:
    request.refuse_unknown_parameters()
    spec, placed = spec_of(data, name), data.read_model_place(name, request.as_of)
    valid = [measure.name for measure in BY_NAME.values() if measure.name.endswith(VALID)]
    other = [measure.name for measure in BY_NAME.values() if measure.of_challenger and not measure.cumulative]
    found = []
    for window, measures, details in (
        (CUMULATIVE, [*valid, _SHARE], True),
        (_comparison_window(spec).name, other, False),
    ):
        which = ChartedRows(
            window=window,
            after=0,
            until=placed.as_of or 0,
            measures=measures,
            as_of=request.as_of,
            details=details,
            newest=True,
        )
        found.append(data.read_revisions(name, which))
    return _Experiment(
        model=name, spec=spec, today=placed.as_of or 0, cumulative=found[0], challenged=found[1]
    )


def _comparison_window(spec: ModelSpec) -> Window:
    """Calendar months if the model has them, else its longest windows."""
    names = [window.name for window in spec.windows]
    longest = max(spec.windows, key=lambda window: window.length)
    return find_named_window(spec, "month") if "month" in names else longest


def _distance_from_zero(row: MeasurementRow) -> float:
    """How many half widths of its interval a difference lies from 0."""
    value, interval = row.measurement.value, row.measurement.interval
    if value is None or interval is None:
        return -1.0
    return abs(value) / ((interval.upper - interval.lower) / 2 or 1e-300)


def _arms_verdict(of: _Experiment) -> tuple[str, str, str] | None:
    """Headline, what is said of it, next step of control and treatment; None: nothing is known of any."""
    differences = of.differences
    if of.spec.reading.arms is None or not differences:
        return None
    row = next((one for one in differences if one.measurement.value is not None), differences[0])
    ratio = _ratio_sentence(of)
    if mismatch := _mismatch_headline(of):
        said = "Their outcomes do not compare while records get into the arms otherwise than planned."
        return mismatch, said, "check how records are assigned to the arms, and whether both are logged."
    if row.measurement.value is None:
        return _early_verdict(of, row.measurement, ratio)
    differing = find_differing_outcomes(of.cumulative, of.spec.keys.level)
    if differing:
        row = next((one for one in differences if one.subject in differing), row)
        outcome = f" in {_outcome_name(row)}" if row.subject else ""
        since = day_words(differing[row.subject] - 1, of.today)
        headline = f"Treatment and control differ{outcome} by {_difference_words(row)} since {since}"
        labels = f"of {row.measurement.n:,} labelled records"
        said = f"{_outcome_words(of.spec, row)}: {_bounds_words(row)} in treatment, {labels}. {ratio}"
        return headline, said, "decide the experiment."
    said = f"{_outcome_words(of.spec, row)}: {_difference_words(row)} in treatment, {_bounds_words(row)}."
    headline, shows = _calm_words(of, row)
    return headline, " ".join(filter(None, (said, shows, ratio))), ""


def _early_verdict(of: _Experiment, result: Measurement, ratio: str) -> tuple[str, str, str]:
    """That arms cannot be compared yet, and what that needs."""
    share = of.spec.control_share
    if result.reason is Reason.NOT_CONFIGURED:
        step = "write detect below [models.control]: the difference that matters."
        return "Treatment and control are drawn, not tested", ratio, step
    if result.reason is not Reason.TOO_FEW:
        return "Treatment and control cannot be compared yet", f"No label is final. {ratio}", ""
    if share is None:
        so_far = f"Both have {result.n:,} so far."
        return f"Too early to compare: each arm needs {ENOUGH} labelled records", so_far, ""
    needed = round(ENOUGH / min(share, 1 - share))
    return f"Too early to compare: {result.n:,} of about {needed:,} labelled records", ratio, ""


def _calm_words(of: _Experiment, row: MeasurementRow) -> tuple[str, str]:
    """That no difference is found; whether one that matters would have shown: intervals narrow with √n."""
    result, detect = row.measurement, of.spec.detect
    if result.interval is None or detect is None:
        return "No detectable difference between treatment and control", ""
    half = (result.interval.upper - result.interval.lower) / 2
    needed = float(f"{result.n * (half / detect) ** 2:.2g}")
    size = format_measure_difference(row.measure, detect).removeprefix("+")
    if needed <= result.n:
        headline = "Treatment and control do not differ by what matters"
        return headline, f"A difference of {size} would have shown by now."
    headline = f"No detectable difference yet: {result.n:,} of about {needed:,.0f} labelled records"
    return headline, f"A difference of {size} shows from there on."


def _mismatch_headline(of: _Experiment) -> str:
    """That the control group is not as large as planned; empty: nothing says so."""
    ratio, share, planned = of.last.get((_RATIO, "")), of.last.get((_SHARE, "")), of.spec.control_share
    if ratio is None or share is None or planned is None or share.measurement.value is None:
        return ""
    if ratio.measurement.value is None or ratio.measurement.value >= MISMATCH:
        return ""
    size = "larger" if share.measurement.value > planned else "smaller"
    now, then = (format_measure_value(_SHARE, one) for one in (share.measurement.value, planned))
    return f"The control group is {size} than planned: {now} of the records, planned {then}"


def _ratio_sentence(of: _Experiment) -> str:
    share, planned = of.last.get((_SHARE, "")), of.spec.control_share
    if share is None or share.measurement.value is None or planned is None:
        return ""
    now, then = (format_measure_value(_SHARE, one) for one in (share.measurement.value, planned))
    return f"{now} of the records are control, {'as planned' if now == then else f'planned {then}'}."


def _outcome_words(spec: ModelSpec, row: MeasurementRow) -> str:
    """What the arms are compared by: "Share of late = 1", "Mean of spent"."""
    label = "label" if spec.labels is None else spec.labels.column_of("label") or "label"
    if spec.reading.task is ModelTask.REGRESSION:
        return f"Mean of {readable_name(label)}"
    found = _outcome_name(row) or readable_name((spec.reading.classes or ("positive",))[-1])
    return f"Share of {readable_name(label)} = {found}"


def _outcome_name(row: MeasurementRow) -> str:
    """Class that a difference is of; empty: there is one outcome alone."""
    return readable_name(row.subject.removeprefix("class:")) if row.subject else ""


def _difference_words(row: MeasurementRow) -> str:
    return format_measure_difference(row.measure, row.measurement.value)


def _bounds_words(row: MeasurementRow) -> str:
    """Both ends of a difference's interval, with their signs."""
    interval = row.measurement.interval
    if interval is None:
        return _difference_words(row)
    low, high = (
        format_interval_bound(row.measure, end, differs=True) for end in (interval.lower, interval.upper)
    )
    return f"{low} to {high}{' points' if is_percent(row.measure) else ''}"


def _arms_stack(request: PageRequest, of: _Experiment) -> Stack | None:
    """Differences so far, both arms by week, and how many records are control."""
    parts: list[StackChart | None] = []
    moments: list[float] = []
    drawn = of.differences[:_MOST]
    for row in drawn:
        series = with_value(window_readings(of.cumulative, row.measure, row.subject))
        name = f", {_outcome_name(row)}" if row.subject else ""
        if len(series) > 1:
            legend = (LegendKey("area", "main", "95 %, however often one looks"),)
            note = "treatment less control, of all that has settled"
            parts.append(_so_far_chart(f"Difference so far{name}", note, series, 0.0, "chance", legend))
            moments += [float(one.row.window_end) for one in series]
        if row is drawn[0] and row.measurement.detail is not None and row.measurement.detail.rows:
            weeks = _weeks_chart(request, of, row, row.measurement.detail, f"Outcome by week{name}")
            parts.append(weeks)
            moments += [weeks.stops[0] - _WEEK / 2, weeks.stops[-1] + _WEEK / 2]
    shares, planned = with_value(window_readings(of.cumulative, _SHARE)), of.spec.control_share
    if parts and len(shares) > 1 and planned is not None:
        legend = (LegendKey("line", "reference", f"planned {format_measure_value(_SHARE, planned)}"),)
        note = "share of the records so far"
        parts.append(_so_far_chart("Control group", note, shares, planned, "reference", legend, height=64))
        moments += [float(one.row.window_end) for one in shares]
    if not parts:
        return None
    return Stack(
        name="arms",
        label="Control and treatment over time",
        x=time_axis(int(min(moments)), int(max(moments)), of.window.zone),
        parts=tuple(part for part in parts if part is not None),
    )


def _so_far_chart(
    title: str,
    note: str,
    series: Sequence[StoredMeasurement],
    beside: float,
    kind: Kind,
    legend: Sequence[LegendKey],
    height: int = 130,
) -> StackChart | None:
    """What is known so far, day by day, beside the value that it is held against."""
    return draw_readings(
        title,
        [ReadingLine(series=series, banded=True)],
        _DAILY,
        note=note,
        ground=ChartGround(
            marks=(RuleLine(beside, "y", kind),), legend=legend, levels=[beside], least=_SETTLED_DOWN
        ),
        height=height,
    )


def _weeks_chart(
    request: PageRequest, of: _Experiment, row: MeasurementRow, weeks: DetailTable, title: str
) -> StackChart:
    """Outcome of each arm, week by week; a point leads to its week."""
    measure = _arm_measure(row)
    starts = [from_iso(str(line[0])) for line in weeks.rows]
    middles = [start + _WEEK / 2 for start in starts]
    marks: list[Mark] = []
    levels: list[float] = []
    columns: list[list[str]] = []
    for arm, kind in _ARMS:
        values = _column_numbers(weeks, arm)
        sizes = [int(count or 0) for count in _column_numbers(weeks, f"{arm}_n")]
        intervals = [
            wilson_interval(round(value * n), n) if is_percent(measure) and value is not None and n else None
            for value, n in zip(values, sizes, strict=True)
        ]
        bars = [(x, one.lower, one.upper) for x, one in zip(middles, intervals, strict=True) if one]
        points = [
            _week_point(request, of, start, f"{arm} {format_measure_value(measure, value)}", value, kind)
            for start, value in zip(starts, values, strict=True)
            if value is not None
        ]
        marks += [
            IntervalWhiskers(bars, kind),
            LinePath(list(zip(middles, values, strict=True)), kind),
            LinkedPoints(points),
        ]
        levels += [value for value in values if value is not None]
        levels += [end for _, *ends in bars for end in ends]
        columns += [[format_measure_value(measure, value) for value in values], [f"{n:,}" for n in sizes]]
    return StackChart(
        title=title,
        note=f"{_outcome_words(of.spec, row)}, of weeks whose labels have settled",
        y=linear_axis(levels, label=choose_tick_format(measure)),
        marks=tuple(marks),
        legend=tuple(LegendKey("line", kind, arm) for arm, kind in _ARMS),
        height=130,
        stops=tuple(middles),
        columns=("week from", "control", "records", "treatment", "records"),
        rows=tuple(zip((str(line[0]) for line in weeks.rows), *columns, strict=True)),
    )


def _week_point(
    request: PageRequest, of: _Experiment, start: int, said: str, value: float, kind: Kind
) -> LinkedPoint:
    span = {"from": to_iso(start)[:10], "to": to_iso(start + _WEEK)[:10]}
    return LinkedPoint(
        x=start + _WEEK / 2,
        y=value,
        kind=kind,
        words=f"week from {day_and_month_words(start)} · {said}",
        href=request.link_to("models", of.model, "performance", **span),
    )


def _arm_measure(row: MeasurementRow) -> str:
    """Measure as whose values the arms of a difference are told."""
    return "control_" + row.measure.removesuffix(VALID).removesuffix("_difference")


def _weekly_values(row: MeasurementRow) -> Iterator[WeeklyValues]:
    """Mean and standard deviation of the weekly values of each arm."""
    detail, measure = row.measurement.detail, _arm_measure(row)
    for arm, _ in _ARMS:
        known = [value for value in _column_numbers(detail, arm) if value is not None]
        if known:
            deviation = float(np.std(known, ddof=1)) if len(known) > 1 else None
            yield WeeklyValues(
                readable_name(row.subject) if row.subject else "outcome",
                arm,
                str(len(known)),
                format_measure_value(measure, float(np.mean(known))),
                format_measure_value(measure, deviation),
            )


def _challenger_readings(of: _Experiment) -> Mapping[str, list[StoredMeasurement]]:
    found = {measure: with_value(window_readings(of.challenged, measure)) for measure in _CHALLENGER}
    return {measure: series for measure, series in found.items() if series}


def _challenger_words(of: _Experiment) -> str:
    """Whether the challenger is better, by the newest window that is final; empty: nothing is known."""
    for measure, series in _challenger_readings(of).items():
        final = [one.row for one in series if one.row.is_final]
        row = final[-1] if final else series[-1].row
        how = {"surely better": "better than", "surely worse": "worse than"}.get(
            certainty_words(measure, row.measurement), "as well as"
        )
        verb = "ranks" if "auc" in measure else "predicts"
        name = "ROC AUC" if "auc" in measure else "accuracy"
        when = end_words(row.window, row.window_end, of.today)
        return f"The challenger {verb} {how} the model {when}: {name} {_difference_words(row)}"
    return ""


def _challenger_stack(request: PageRequest, of: _Experiment) -> Stack | None:
    """Differences of challenger and model on the same records, window by window."""
    readings = _challenger_readings(of)
    if not readings:
        return None
    ends = [one.row.window_end for series in readings.values() for one in series]
    ground = ChartGround(
        marks=(RuleLine(0.0, "y", "chance"),),
        legend=(LegendKey("area", "main", "95 % interval"),),
        levels=[0.0],
    )
    parts = (
        draw_readings(
            "ROC AUC" if "auc" in measure else "Accuracy",
            [ReadingLine(series=series, banded=True)],
            of.window,
            note=f"challenger less model, same records, by {grain_name(of.window.name).lower()}",
            ground=ground,
            height=130,
            points=LinkedReadings(series, link_windows(request, of.model, of.window)),
        )
        for measure, series in readings.items()
    )
    return Stack(
        name="challenger",
        label="Challenger and model over time",
        x=time_axis(of.window.start_of(min(ends)), max(ends), of.window.zone),
        parts=tuple(part for part in parts if part is not None),
    )


def _method_sentences(of: _Experiment) -> Iterator[str]:
    """How it is compared, and the figures of the tests."""
    p_values = [
        f"{capitalize_first(spoken_measure(measure.removesuffix(VALID)))}"
        f"{f' of {readable_name(subject)}' if subject else ''} "
        f"{format_measure_value(measure, row.measurement.value)}"
        for (measure, subject), row in of.last.items()
        if "p_value" in measure and row.measurement.value is not None
    ]
    if of.spec.reading.arms is not None:
        yield (
            "The difference is of all records whose labels have settled, each counted once. Its interval and "
            "the test hold at all looks together: look every day, and stop when you like."
        )
    if of.spec.reading.challenger is not None:
        yield "The challenger is compared on the records that both scored."
    if p_values:
        yield f"Tests that may be looked at every day: {join_few_names(p_values, len(p_values))}."


def _why_no_comparison(spec: ModelSpec) -> tuple[str, str]:
    """Headline of a page without pictures, and what would help."""
    if spec.reading.arms is None and spec.reading.challenger is None:
        needs = (
            "A control group needs [models.control]; another model of the same records [models.challenger]."
        )
        return "No experiment is configured", needs
    return "Nothing can be compared yet", "Comparisons stand on labels that are final: none is yet."


def _column_numbers(detail: DetailTable | None, name: str) -> list[float | None]:
    """Numbers of a column; None where there is none."""
    if detail is None or name not in detail.columns:
        return []
    cells = (row[detail.columns.index(name)] for row in detail.rows)
    return [float(cell) if isinstance(cell, float | int) else None for cell in cells]
