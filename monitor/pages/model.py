"""One model: what is said of it first, then how it went."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.standing import Seen, standing
from monitor.charts.marks import Mark, Path, Rule
from monitor.charts.scales import Axis, Tick, linear
from monitor.core.clock import DAY
from monitor.measures.rows import Truth
from monitor.measures.shift.stability_index import SIZES
from monitor.measures.worded import bounds_of, surely, value_of
from monitor.pages.asked import Asked, PageData, Revision, found, newest
from monitor.pages.figures import Figure, Key, tick_label, timeline
from monitor.pages.fleet import icon_of, main_of, told
from monitor.pages.moments import called, day, time_axis
from monitor.pages.series import REFERENCE, Reading, line, of_reference, readings
from monitor.records.reading import Task
from monitor.sentences.inputs import INDEX
from monitor.sentences.known import Section, named
from monitor.show.alerts import ShownAlert
from monitor.show.status import verdict_of
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn
from monitor.windows.ends import Window

RANGES = {"90d": 90 * DAY, "180d": 180 * DAY, "1y": 366 * DAY, "all": 0}
MEASURES = {
    Task.BINARY: ("roc_auc", "accuracy", "recall", "precision", "brier_score", "profit"),
    Task.MULTICLASS: ("accuracy", "average_class_accuracy", "cohen_kappa_score", "log_loss"),
    Task.REGRESSION: ("root_mean_squared_error", "mean_absolute_error", "r2_score"),
}
_CONSTANT = ("accuracy", "majority_accuracy")
_MOST_MONTHS, _MOST_EVENTS, _MOST_FEATURES = 24, 20, 2
_SIGNS = {"surely worse": "▼", "surely better": "▲"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of a row of links; `chosen`: what is shown now."""

    text: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """Alerts of a rule over time: (start, end, severity), 0 and 1 at the ends of the axis."""

    rule: str
    spans: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A window in the table of windows, in words."""

    name: str
    end: int
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
    moved: str
    most: tuple[tuple[str, str], ...]
    truth: str
    revisions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Page of one model."""

    model: str
    verdict: str
    icon: str
    because: tuple[str, ...]
    sections: tuple[Section, ...]
    windows: tuple[Choice, ...]
    measures: tuple[Choice, ...]
    ranges: tuple[Choice, ...]
    figure: Figure | None
    lanes: tuple[Lane, ...]
    main: str
    periods: tuple[Period, ...]
    strip: Axis | None
    others: tuple[Figure, ...]
    events: tuple[tuple[str, str, str], ...]
    behind: str


def spec_of(data: PageData, name: str) -> ModelSpec:
    """Specification of a model.

    Raises
    ------
    AddressError
        404, with a suggestion.
    """
    specs = {spec.name: spec for spec in data.specs()}
    return specs[found(name, list(specs), "model")]


def overview(data: PageData, asked: Asked, name: str) -> Overview:
    """Page of one model."""
    asked.only("window", "measure", "range")
    spec = spec_of(data, name)
    (seen,) = data.seen(name, asked.as_of)
    one = standing(seen)
    window = main_of(spec, asked.choice("window", [each.name for each in spec.windows], seen.window))
    offered = _offered(spec, seen)
    measure = asked.choice("measure", offered, seen.main)
    span = asked.choice(
        "range", list(RANGES), "180d" if window.length <= DAY and window.step <= DAY else "all"
    )
    rows = _rows(data, spec, seen, window, measure, span)
    axis = _axis(seen, window, rows)
    alerts = data.alerts(name, asked.as_of, ended=True)
    periods, strip = _periods(data, spec, seen)
    figures = (
        [] if axis is None else list(_figures(rows, seen, window, axis, measure, _marks(data, seen, axis)))
    )
    return Overview(
        model=name,
        verdict=verdict_of(one.need),
        icon=icon_of(one),
        because=one.because,
        sections=one.sections,
        windows=_choices(asked, "window", [each.name for each in spec.windows], window.name),
        measures=_choices(asked, "measure", offered, measure),
        ranges=_choices(asked, "range", list(RANGES), span),
        figure=figures[0] if figures else None,
        lanes=() if axis is None else _lanes(alerts, axis, seen.as_of or seen.now),
        main=seen.main,
        periods=periods,
        strip=strip,
        others=tuple(figures[1:]),
        events=tuple(
            (
                day(event.at),
                event.kind.replace("_", " "),
                " ".join(filter(None, (event.subject, event.who, event.why))),
            )
            for event in reversed(data.events(name)[-_MOST_EVENTS:])
            if asked.as_of is None or event.at <= asked.as_of
        ),
        behind=_behind(data, name, seen),
    )


def _choices(asked: Asked, name: str, values: Sequence[str], chosen: str) -> tuple[Choice, ...]:
    return tuple(Choice(value, asked.here(**{name: value}), value == chosen) for value in values)


def _offered(spec: ModelSpec, seen: Seen) -> list[str]:
    """Measures that have a value, the main one first."""
    known = {row.measure for row in seen.rows if row.of_whole and row.measurement.value is not None}
    return [seen.main, *(name for name in MEASURES[spec.reading.task] if name in known and name != seen.main)]


def _rows(
    data: PageData, spec: ModelSpec, seen: Seen, window: Window, measure: str, span: str
) -> list[Revision]:
    """Rows of the charts of a window: performance, and the shift of what comes out."""
    until = seen.as_of or 0
    after = until - RANGES[span] if RANGES[span] else 0
    names = [measure, seen.main, f"estimated_{seen.main}", "brier_score", *_CONSTANT]
    shifts = (INDEX, f"{INDEX}_critical")
    asked = [(names, ("",)), (shifts, ("score", "prediction"))]
    return [
        row
        for measures, subjects in asked
        for row in data.rows(
            spec.name,
            Drawn(
                window=window.name,
                after=after,
                until=until,
                measures=measures,
                subjects=subjects,
                as_of=seen.as_of,
            ),
        )
    ]


def _axis(seen: Seen, window: Window, rows: Sequence[Revision]) -> Axis | None:
    """Axis of time of all charts; None: there is nothing to draw."""
    if not rows or seen.as_of is None:
        return None
    start = window.start(min(row.window_end for _, row in rows))
    return time_axis(start, max(seen.as_of, *(row.window_end for _, row in rows)), window.zone)


def _figures(
    rows: Sequence[Revision], seen: Seen, window: Window, axis: Axis, measure: str, marks: Sequence[Mark]
) -> Iterator[Figure]:
    """The chart of the chosen measure, and the others."""
    reference = of_reference(seen.rows, measure)
    yield timeline(measure, readings(rows, window, measure), window, axis, reference=reference, marks=marks)
    right, always = (readings(rows, window, name) for name in _CONSTANT)
    if right and always:
        yield _beside(
            timeline("accuracy", right, window, axis, height=120, title="Accuracy"),
            "accuracy",
            line(always, window),
            Key("line", "second", "always saying the more frequent class"),
            "is it better than a constant answer?",
            [value_of("accuracy", one.value) for one in _aligned(right, always)],
        )
    brier = readings(rows, window, "brier_score")
    if brier and measure != "brier_score":
        of = of_reference(seen.rows, "brier_score")
        note = "error of the probabilities: lower is better"
        yield timeline(
            "brier_score", brier, window, axis, reference=of, height=120, title="Brier score", note=note
        )
    guess, real = (readings(rows, window, name) for name in (f"estimated_{seen.main}", seen.main))
    if guess and real:
        yield _beside(
            timeline(seen.main, real, window, axis, height=120, title="Before labels arrive"),
            seen.main,
            line(guess, window),
            Key("line", "estimate", "estimated from scores alone"),
            "the estimate is known at the window's end; labels follow",
            [value_of(seen.main, one.value) for one in _aligned(real, guess)],
        )
    yield from _shift(rows, window, axis)


def _aligned(one: Sequence[Reading], other: Sequence[Reading]) -> list[Reading]:
    """The other readings of the same windows, the own one where there is none."""
    there = {each.end: each for each in other}
    return [there.get(each.end, each) for each in one]


def _beside(
    figure: Figure,
    measure: str,
    points: Sequence[tuple[float, float | None]],
    key: Key,
    note: str,
    cells: Sequence[str],
    limits: Sequence[float] = (),
) -> Figure:
    """A figure of a measure with another line beside, and limits that its axis holds."""
    levels = [y for _, y in points if y is not None]
    levels += [figure.plot.y.low, figure.plot.y.high, *limits]
    axis = linear(levels, label=tick_label(measure))
    return replace(
        figure,
        plot=replace(figure.plot, y=axis, marks=(*figure.plot.marks, Path(points, key.kind))),
        note=note,
        legend=(*figure.legend, key),
        columns=(*figure.columns, key.text),
        rows=tuple((*row, cell) for row, cell in zip(figure.rows, cells, strict=True)),
    )


def _shift(rows: Sequence[Revision], window: Window, axis: Axis) -> Iterator[Figure]:
    """How far the score, or the prediction, has moved."""
    for subject in ("score", "prediction"):
        index = readings(rows, window, INDEX, subject)
        if not index:
            continue
        critical = readings(rows, window, f"{INDEX}_critical", subject)
        limits = [Rule(size, "y", "limit", f"{size:g}") for size in SIZES]
        title, note = (
            f"Shift of the {subject}",
            "against the reference; above both lines it is real and large",
        )
        figure = timeline(INDEX, index, window, axis, height=120, title=title, marks=limits, note=note)
        key = Key("line", "chance", "critical value: exceeded by chance in 5 of 100 windows")
        cells = [value_of(INDEX, one.value) for one in _aligned(index, critical)]
        figure = _beside(figure, INDEX, line(critical, window), key, note, cells, SIZES)
        yield replace(figure, legend=(*figure.legend, Key("line", "limit", "classical bands")))
        return


def _marks(data: PageData, seen: Seen, axis: Axis) -> list[Mark]:
    """Versions and decisions on the axis of time."""
    told = {"version_first_seen": "version {}", "accepted": "accepted", "recounted": "recounted"}
    return [
        Rule(float(event.at), "x", "now", told[event.kind].format(named(event.subject)))
        for event in data.events(seen.model)[-12:]
        if event.kind in told and axis.low + (axis.high - axis.low) / 50 < event.at <= axis.high
    ]


def _lanes(alerts: Sequence[ShownAlert], axis: Axis, until: int) -> tuple[Lane, ...]:
    """When alerts fired, a lane a rule, those that fire most recently first."""
    lanes: dict[str, list[tuple[float, float, str]]] = {}
    for shown in sorted(alerts, key=lambda one: -(one.alert.resolved_at or until)):
        alert = shown.alert
        end = alert.resolved_at or until
        if alert.fired_at is None or end < axis.low or alert.fired_at > axis.high:
            continue
        span = (axis.part(float(alert.fired_at)), axis.part(float(end)), alert.severity.value)
        lanes.setdefault(alert.series.rule, []).append(span)
    return tuple(Lane(rule, tuple(spans)) for rule, spans in lanes.items())


def period_window(spec: ModelSpec, seen: Seen) -> Window:
    """Window of the table: calendar months if the model has them, else the one that rules judge."""
    calendar = [window for window in spec.windows if window.name == "month"]
    return calendar[0] if calendar else main_of(spec, seen.window)


def _periods(data: PageData, spec: ModelSpec, seen: Seen) -> tuple[tuple[Period, ...], Axis | None]:
    """The table of windows, the newest first, and the axis that their intervals share."""
    if seen.as_of is None:
        return (), None
    window = period_window(spec, seen)
    ends = window.kept_ends(seen.as_of - 3 * 366 * DAY, seen.as_of)[: 60 * _MOST_MONTHS]
    if not window.calendar:  # windows that overlap say the same again
        ends = [end for end in ends if (ends[0] - end) % max(window.length, window.step) == 0]
    ends = ends[:_MOST_MONTHS]
    names = [seen.main, "records", "coverage", *_CONSTANT, INDEX, f"{INDEX}_critical"]
    if not ends:
        return (), None
    which = Drawn(window=window.name, after=ends[-1] - 1, until=ends[0], measures=names, as_of=seen.as_of)
    rows = data.rows(spec.name, which)
    by_end: dict[int, list[Revision]] = {end: [] for end in ends}
    for as_of, row in rows:
        by_end.get(row.window_end, []).append((as_of, row))
    periods = tuple(_period(window, end, of, seen) for end, of in by_end.items() if of)
    bounds = [part for one in periods if one.interval for part in (one.interval[0], one.interval[2])]
    reference = of_reference(seen.rows, seen.main)
    if not bounds:
        return periods, None
    levels = [*bounds, *([] if reference is None else [reference[0]])]
    room = (max(levels) - min(levels)) / 20 or 1e-6
    ticks = () if reference is None else (Tick(reference[0], "reference"),)
    return periods, Axis(min(levels) - room, max(levels) + room, ticks)


def _period(window: Window, end: int, rows: Sequence[Revision], seen: Seen) -> Period:
    """One window in words."""
    known = {(row.measure, row.subject, row.against): row for _, row in _by_truth(newest(rows))}
    main = known.get((seen.main, "", ""))
    step = known.get((seen.main, "", REFERENCE))
    right, always = (known.get((name, "", "")) for name in _CONSTANT)
    subject = "score" if (INDEX, "score", "") in known else "prediction"
    shift, critical = (known.get((name, subject, "")) for name in (INDEX, f"{INDEX}_critical"))
    features = {name[1]: row.measurement.value or 0.0 for name, row in known.items()
                if name[0] == INDEX and name[1].startswith("feature:") and not name[2]}  # fmt: skip
    limits = {name: known.get((f"{INDEX}_critical", name, "")) for name in features}
    large = {
        name: value
        for name, value in features.items()
        if value >= SIZES[0]
        and (limit := limits[name]) is not None
        and value > (limit.measurement.value or 0.0)
    }
    most = sorted(large, key=lambda name: -large[name])[:_MOST_FEATURES]
    result = None if main is None else main.measurement
    interval = None if result is None else result.interval
    records, coverage = known.get(("records", "", "")), known.get(("coverage", "", ""))
    return Period(
        name=called(window, end),
        end=end,
        records="" if records is None else told(records),
        labels="" if coverage is None else told(coverage),
        value="" if main is None else told(main) or f"({main.measurement.reason})",
        bounds="" if result is None else bounds_of(seen.main, interval),
        sure="" if step is None else _SIGNS.get(surely(seen.main, step.measurement), ""),
        interval=None if interval is None or result is None or result.value is None
        else (interval.lower, result.value, interval.upper),
        final=main is not None and main.truth is Truth.SETTLED,
        constant="" if right is None or always is None else f"{told(right)} ({told(always)})",
        shift="" if shift is None else told(shift),
        critical="" if critical is None else told(critical),
        moved=f"{len(large)} of {len(features)}" if features else "",
        most=tuple((name.removeprefix("feature:"), value_of(INDEX, large[name])) for name in most),
        truth="" if main is None else str(main.truth),
        revisions=len({as_of for as_of, row in rows if row.measure == seen.main and not row.against}),
    )  # fmt: skip


def _by_truth(rows: Sequence[Revision]) -> list[Revision]:
    """Rows such that of one measure the best truth comes last: settled after nowcast after provisional."""
    order = {Truth.NONE: 0, Truth.PROVISIONAL: 1, Truth.NOWCAST: 2, Truth.SETTLED: 3}
    return sorted(rows, key=lambda pair: (pair[1].measurement.value is not None, order[pair[1].truth]))


def _behind(data: PageData, name: str, seen: Seen) -> str:
    """What stands behind the numbers, in a line."""
    if seen.as_of is None:
        return ""
    kept = data.provenance(name, seen.as_of)
    if kept is None:
        return ""
    reference = f" · reference {kept.reference[:16]}" if kept.reference else ""
    return f"monitor {kept.code} · configuration {kept.config[:16]} · grids {kept.grid[:16]}{reference}"
