"""Which current rows become series, and which are given up when there are too many."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from monitor.alerts.alert_rules import Accepted
from monitor.alerts.default_rules import MAIN
from monitor.alerts.incident_life import KeptIncident
from monitor.alerts.lifecycle import Alert
from monitor.alerts.verdicts import rule_measures
from monitor.core.clock import SECOND
from monitor.exposition import metric_names
from monitor.exposition.alert_metrics import ExposedAlerts, expose_alerts
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import Measure, MeasureExposure, MeasureFamily
from monitor.measures.measure_options import FEATURE
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.specs.model_spec import ModelSpec

_Key: TypeAlias = tuple[str, str, str, LabelTruth]

_SHOWN = frozenset(
    measure.name
    for measure in CATALOGUE
    if measure.exposes_whole
    or measure.exposed
    or measure.name in MAIN.values()
    or measure.family is MeasureFamily.COMPARISON  # all of a sequential test tell how many records there are
)
_FAMILIES = {measure.name: metric_names.family_name(measure) for measure in CATALOGUE}
_OF_WINDOWS = frozenset(measure.name for measure in CATALOGUE if MeasureExposure.WINDOW in measure.exposed)


class SeriesGroup(IntEnum):
    """What a series belongs to, the most precious first."""

    WHOLE = 0
    BOUND = 1
    STRATUM = 2
    FEATURE = 3


@dataclass(frozen=True, slots=True)
class ExposedSeries:
    """One series: its family's name, its label values in the family's order, its value."""

    family: str
    labels: tuple[str, ...]
    value: float
    group: SeriesGroup


@dataclass(frozen=True, slots=True)
class ExposedModel:
    """All that is exposed of one model."""

    as_of: int
    series: tuple[ExposedSeries, ...]
    # (reason, number of measurements that would be exposed and have no value).
    absent: tuple[tuple[str, int], ...]
    dropped: int  # series given up for `max_series`; alerts never are
    alerting: ExposedAlerts = field(default_factory=ExposedAlerts)


def shown_measures() -> frozenset[str]:
    """Measures that may be shown."""
    return _SHOWN


def exposed_measures(model: ModelSpec) -> frozenset[str]:
    """Measures of the rows that `expose_model` reads: what may be shown, and what the model's rules judge."""
    return _SHOWN | rule_measures(model.rules)


def expose_model(
    model: ModelSpec,
    as_of: int,
    rows: Sequence[MeasurementRow],
    alerts: Iterable[Alert] = (),
    accepted: Accepted | None = None,
    incidents: Collection[KeptIncident] = (),
) -> ExposedModel:
    """Choose a model's series.

    The whole model's headline measures come with bounds, and with the reference's value where they are
    compared with it; features with three measures on one window ("7d" if the model has it, else its
    first one); segments and versions with the records, the coverage, the task's main measure and the
    base rate; the comparison of the arms whole.
    """
    window = model.main_window
    chosen = [
        (row, group)
        for row in _newest_rows(model.name, rows)
        if (group := choose_series_group(model, row, window)) is not None
    ]
    series = [exposed for row, group in chosen for exposed in _row_series(model.name, row, group)]
    series += _window_series(model.name, rows)
    series += _reference_series(model.name, rows)
    series.sort(key=lambda exposed: (exposed.group, exposed.labels, exposed.family))
    whole = sum(exposed.group is SeriesGroup.WHOLE for exposed in series)  # is never given up
    kept = series[: max(model.keys.max_series, whole)]
    absent = Counter(str(row.measurement.reason) for row, _ in chosen if row.measurement.reason is not None)
    alerted = expose_alerts(model.name, model.rules, alerts, rows, accepted, incidents)
    return ExposedModel(as_of, tuple(kept), tuple(sorted(absent.items())), len(series) - len(kept), alerted)


def kept_series(model: ModelSpec, row: MeasurementRow) -> Iterator[ExposedSeries]:
    """Series of a kept measurement as `expose_model` has them; facts of windows of rows that count them."""
    group = choose_series_group(model, row, model.main_window)
    if group is not None:
        yield from _row_series(model.name, row, group)
    yield from _reference_series(model.name, [row])
    if row.measure in _OF_WINDOWS and row.subject == "" and row.against == "":
        yield from _window_series(model.name, [row])


def choose_series_group(model: ModelSpec, row: MeasurementRow, features_window: str) -> SeriesGroup | None:
    """Group of a row's value; None: the row is not exposed."""
    measure = BY_NAME.get(row.measure)
    if measure is None or row.against or MeasureExposure.WINDOW in measure.exposed:
        return None
    if row.subject.startswith(FEATURE):
        is_shown = row.is_of_whole and MeasureExposure.FEATURES in measure.exposed
        return SeriesGroup.FEATURE if is_shown and row.window in (features_window, CUMULATIVE) else None
    if row.is_of_whole:
        return SeriesGroup.WHOLE if measure.exposes_whole else None
    wanted = MeasureExposure.STRATA in measure.exposed or row.measure == MAIN[model.reading.task]
    return SeriesGroup.STRATUM if wanted else None


def exposed_family_name(measure: Measure) -> str:
    """Name of the family that shows a measure, by default for the whole model; empty: none does."""
    return _FAMILIES[measure.name] if measure.exposes_whole else ""


def _newest_rows(model: str, rows: Iterable[MeasurementRow]) -> Iterator[MeasurementRow]:
    """One row a series: a second sample of a series would spoil the whole scrape."""
    newest: dict[tuple[str, ...], MeasurementRow] = {}
    for row in (row for row in rows if not row.against):
        measure = BY_NAME.get(row.measure)
        key = (row.measure, *(_series_label_values(model, row, measure) if measure else ()))
        if key not in newest or row.window_end > newest[key].window_end:
            newest[key] = row
    yield from newest.values()


def _row_series(model: str, row: MeasurementRow, group: SeriesGroup) -> Iterator[ExposedSeries]:
    measure, result = BY_NAME[row.measure], row.measurement
    if result.value is None:
        return
    name, labels = _FAMILIES[measure.name], _series_label_values(model, row, measure)
    yield ExposedSeries(name, labels, result.value, group)
    if result.interval is not None and group is SeriesGroup.WHOLE:
        yield ExposedSeries(f"{name}_lower", labels, result.interval.lower, SeriesGroup.BOUND)
        yield ExposedSeries(f"{name}_upper", labels, result.interval.upper, SeriesGroup.BOUND)


def _reference_series(model: str, rows: Iterable[MeasurementRow]) -> Iterator[ExposedSeries]:
    """What the reference's labels gave, from the figures behind the newest differences from it."""
    newest: dict[tuple[str, tuple[str, ...]], tuple[int, float]] = {}
    for row in (row for row in rows if row.against == metric_names.REFERENCE and row.is_of_whole):
        measure, detail = BY_NAME.get(row.measure), row.measurement.detail
        if measure is None or detail is None or not metric_names.has_reference_family(measure):
            continue
        value = dict(zip(detail.columns, detail.rows[0], strict=True)).get("value")
        key = (_FAMILIES[measure.name], _series_label_values(model, row, measure))
        if isinstance(value, float) and row.window_end > newest.get(key, (-1, 0.0))[0]:
            newest[key] = (row.window_end, value)
    for (family, labels), (_, value) in newest.items():
        yield ExposedSeries(f"{family}_{metric_names.REFERENCE}", labels, value, SeriesGroup.BOUND)


def _series_label_values(model: str, row: MeasurementRow, measure: Measure) -> tuple[str, ...]:
    labels = (model, row.version or "", row.segment or "", row.window, row.subject)
    return (*labels, row.truth) if metric_names.has_truth_label(measure) else labels


def _window_series(model: str, rows: Sequence[MeasurementRow]) -> Iterator[ExposedSeries]:
    """End, records and coverage of each window, once for the whole and each stratum.

    The records are those of the window; where no row says how many, the most that a measure stands on.
    """
    latest: dict[_Key, list[MeasurementRow]] = {}
    for row in sorted(rows, key=lambda row: row.window_end):
        key = (row.version or "", row.segment or "", row.window, row.truth)
        same = latest.setdefault(key, [])
        if same and same[0].window_end < row.window_end:
            same.clear()
        same.append(row)
    for (version, segment, window, truth), same in latest.items():
        if window == "":
            continue
        labels = (model, version, segment, window, "", truth)
        group = SeriesGroup.WHOLE if (version, segment) == ("", "") else SeriesGroup.STRATUM
        facts = [row for row in same if row.measure in _OF_WINDOWS] or same
        records = max(row.measurement.n for row in facts)
        yield ExposedSeries(metric_names.WINDOW_END, labels, same[0].window_end / SECOND, group)
        yield ExposedSeries(metric_names.WINDOW_RECORDS, labels, records, group)
        coverage = _window_coverage(same)
        if coverage is not None:
            yield ExposedSeries(metric_names.WINDOW_COVERAGE, labels, coverage, group)


def _window_coverage(rows: Iterable[MeasurementRow]) -> float | None:
    for row in rows:
        of_window = (row.measure, row.subject) == ("coverage", "")
        share = row.measurement.value if of_window else row.coverage
        if share is not None:
            return share
    return None
