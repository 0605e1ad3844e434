"""The fleet: a line a model, those that somebody is needed for first."""

from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import AlertState
from monitor.alerts.model_standing import (
    HealthState,
    ModelFacts,
    ModelStanding,
    StateBadge,
    judge_standing,
    rank_models,
)
from monitor.alerts.shared_incidents import share_incidents
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.value_words import (
    certainty_words,
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
    stability_band,
)
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.period_words import duration_words, local_moment_words
from monitor.pages.window_readings import REFERENCE, reference_value, window_readings
from monitor.sentences.input_sentences import INDEX, has_values_beyond_chance
from monitor.sentences.known_measurements import KnownMeasurements, readable_name
from monitor.show.measurement_tables import ALIASES
from monitor.show.model_status import state_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

HALF_A_YEAR = 26  # weeks of a spark line
_MISSING = 0.01  # of the records
_SHORT = {name: alias for alias, name in ALIASES.items() if len(name) > len("accuracy")}
_WEEK = 7 * 86_400_000_000
_SEVERITIES = tuple(Severity)
SIGNS = {"surely worse": "▼", "surely better": "▲"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """A model in the fleet, in words; "" where nothing is known."""

    model: str
    because: str  # why somebody is needed, as `monitor status` says it; `more` sentences follow there
    more: int
    icon: str  # critical, warning, stale, unknown or ok
    state: str  # with its badges
    rule: str  # of the most urgent alert that fires
    measure: str
    short: str
    value: str
    bounds: str
    spark: tuple[float | None, ...]
    reference: float | None
    step: str
    sure: str
    shift: str
    missing: str
    moved: str
    most: str
    labels: str
    records: str
    age: str


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """Models in one state."""

    title: str
    rows: tuple[FleetRow, ...]

    @property
    def because(self) -> tuple[str, ...]:
        """What is said first of its models, each sentence once."""
        return tuple(dict.fromkeys(row.because for row in self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPage:
    """The page of all models."""

    count: int
    measured: int | None  # moment of the newest cycle of any model
    filter: str
    shared: tuple[str, ...]  # what happened to several models, a text each
    # told, quiet: groups of which each model has its sentence, and of which all have nearly the same one.
    told: tuple[FleetGroup, ...]
    quiet: tuple[FleetGroup, ...]

    @property
    def groups(self) -> tuple[FleetGroup, ...]:
        """All of them, those that somebody is needed for first."""
        return self.told + self.quiet


def fleet_page(data: PageData, request: PageRequest) -> FleetPage:
    """Page of all models; the parameter `q` filters by name, rule and what is said."""
    request.refuse_unknown_parameters("q")
    wanted = request.query.get("q", "").casefold()
    seen = {one.model: one for one in data.read_model_facts(None, request.as_of)}
    rows: dict[HealthState, list[FleetRow]] = {state: [] for state in HealthState}
    standings = rank_models(map(judge_standing, seen.values()))
    shared = share_incidents(standings)
    for standing in standings:
        row = fleet_row(data, seen[standing.model], standing)
        if wanted in f"{row.model} {row.because} {row.icon} {row.rule}".casefold():
            row = replace(row, because=shared.first_reason(standing))
            rows[standing.state].append(row)
    groups = {state: FleetGroup(state.value, tuple(of)) for state, of in rows.items() if of}
    quiet = tuple(filter(None, [groups.pop(HealthState.OK, None)]))
    return FleetPage(
        count=len(seen),
        measured=max((one.as_of for one in seen.values() if one.as_of is not None), default=None),
        filter=request.query.get("q", ""),
        shared=tuple(one.sentence for one in shared.incidents),
        told=tuple(groups.values()),
        quiet=quiet,
    )


_ICONS = {
    HealthState.CRITICAL: "critical",
    HealthState.WARNING: "warning",
    HealthState.NO_DATA: "unknown",
    HealthState.OK: "ok",
}


def fleet_row(data: PageData, facts: ModelFacts, standing: ModelStanding) -> FleetRow:
    """Line of a model: its verdict, and the newest of what its main window says."""
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    main = measurements.newest_settled_row(facts.main, LabelTruth.NOWCAST)
    step = None if main is None else measurements.sibling_row(main, facts.main, REFERENCE)
    shift = measurements.newest_row(INDEX, "", "score") or measurements.newest_row(INDEX, "", "prediction")
    features = [row for row in measurements.feature_rows(INDEX) if row.measurement.value is not None]
    largest = max(features, key=lambda row: row.measurement.value or 0.0, default=None)
    coverage = measurements.newest_settled_row("coverage", LabelTruth.PROVISIONAL)
    records = measurements.newest_row("records")
    result = None if main is None else main.measurement
    count = sum(has_moved_beyond_chance(measurements, row) for row in features)
    return FleetRow(
        model=standing.model,
        because=standing.because[0],
        more=len(standing.because) - 1,
        icon=icon_of(standing),
        state=state_words(standing),
        rule=_most_urgent_rule(facts),
        measure=facts.main,
        short=_SHORT.get(facts.main, facts.main),
        value="" if main is None else row_value_words(main),
        bounds="" if result is None else format_interval_bounds(facts.main, result.interval),
        spark=_main_values(data, facts),
        reference=(reference_value(facts.rows, facts.main) or (None,))[0],
        step="" if step is None or step.measurement.value is None else _difference_text(step),
        sure="" if step is None else SIGNS.get(certainty_words(facts.main, step.measurement), ""),
        shift="" if shift is None else row_value_words(shift),
        missing="" if shift is None else missing_share_words(measurements.sibling_row(shift, "missing_rate")),
        moved=f"{count} of {len(features)}" if features else "",
        most="" if largest is None or not count else readable_name(largest.subject),
        labels="" if coverage is None else row_value_words(coverage),
        records="" if records is None else row_value_words(records),
        age=_age_words(facts),
    )


def row_value_words(row: MeasurementRow) -> str:
    """Value of a row in words; "" where there is none."""
    value = row.measurement.value
    return "" if value is None else format_measure_value(row.measure, value)


def missing_share_words(row: MeasurementRow | None) -> str:
    """How many scores, or predictions, are missing: they count in the shift; "" below one in a hundred."""
    return (
        f"{row_value_words(row)} missing"
        if row is not None and (row.measurement.value or 0.0) >= _MISSING
        else ""
    )


def _difference_text(row: MeasurementRow) -> str:
    return format_measure_difference(row.measure, row.measurement.value)


def icon_of(standing: ModelStanding) -> str:
    """Shape and colour of a state; a model that is stale is not green."""
    if standing.state is HealthState.OK and StateBadge.STALE in standing.badges:
        return "stale"
    return _ICONS[standing.state]


def _age_words(facts: ModelFacts) -> str:
    """How long ago the last cycle was; of a past log, which ends with it, its day."""
    if facts.as_of is None:
        return "never"
    return (
        local_moment_words(facts.as_of)
        if facts.now == facts.as_of
        else duration_words(facts.now - facts.as_of)
    )


def has_moved_beyond_chance(measurements: KnownMeasurements, row: MeasurementRow) -> bool:
    """Whether a feature moved beyond chance, and by 0.1 or more."""
    return (
        has_values_beyond_chance(measurements, row) and stability_band(row.measurement.value or 0.0) != "none"
    )


def find_named_window(spec: ModelSpec, name: str) -> Window:
    """Window of a model by its name."""
    return next(window for window in spec.windows if window.name == name)


def _most_urgent_rule(facts: ModelFacts) -> str:
    """Rule of the most urgent alert that fires."""
    firing = [alert for alert, _ in facts.alerts if alert.state is AlertState.FIRING]
    first = min(firing, key=lambda one: (_SEVERITIES.index(one.severity), -one.since), default=None)
    return "" if first is None else first.series.rule


def _main_values(data: PageData, facts: ModelFacts) -> tuple[float | None, ...]:
    """Values of the main measure in the last half year's windows."""
    if facts.as_of is None:
        return ()
    after = facts.as_of - HALF_A_YEAR * _WEEK
    which = ChartedRows(
        window=facts.window,
        after=after,
        until=facts.as_of,
        measures=(facts.main,),
        subjects=("",),
        against=("",),
        as_of=facts.as_of,
        newest=True,
    )
    readings = window_readings(data.read_revisions(facts.model, which), facts.main)
    values = [one.row.measurement.value for one in readings]
    each = -(-len(values) // 60) or 1  # windows that slide by hours: more points than pixels say nothing
    return tuple(values[::-1][::each][::-1])
