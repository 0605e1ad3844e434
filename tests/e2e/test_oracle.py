"""Everything that is measured, against pandas, scikit-learn and SciPy on the same rows."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import faulty_logs
import oracle
import oracle_errors
import oracle_probabilities
import oracle_scores
import oracle_shift
import pandas as pd
import pytest
from faulty_logs import Tables
from oracle import Expected, How, Key, Log

from monitor.app.running import cycle_once
from monitor.app.wiring import App, opened
from monitor.config.load import settings_of
from monitor.core.clock import from_iso, to_iso
from monitor.core.measurement import Measurement
from monitor.demo.loading import load_logs
from monitor.measures.catalogue import BY_NAME
from monitor.records.reading import Task
from monitor.specs.model import ModelSpec
from monitor.specs.rows import MeasurementRow, Truth
from monitor.store.engine import migrate

Slice: TypeAlias = tuple[str | None, str | None]

MOMENTS = {
    "flights": ("2013-04-08T06:00", "2013-07-03T13:20", "2013-09-01T00:20", "2014-01-05"),
    "rodents": ("1986-06-02T09:00", "1991-01-20", "1996-11-30", "2002-12-20T20:00"),
}
FEW = 10
ODD = {
    *("duplicate_records", "unlogged_records", "missing_rate", "invalid_rate", "unseen_rate"),
    *("corrected_labels", "retracted_labels", "early_labels"),
    *("future_records", "stale_log_records", "orphan_labels"),
}


@dataclass(slots=True)
class Compared:
    """What has been compared.

    Parameters
    ----------
    pairs
        window, end, as of.
    measures, present
        measurements by measure; measures that were anything but 0.
    worst
        largest difference by measure, of its value, n or bounds.
    faults
        what is not as expected.
    """

    pairs: set[tuple[str, int, int]] = field(default_factory=set)
    measures: Counter[str] = field(default_factory=Counter)
    present: set[str] = field(default_factory=set)
    worst: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def compare(self, where: str, rows: Iterable[MeasurementRow], expected: Mapping[Key, Expected]) -> None:
        """Note every row that is not as expected, and what is expected and not there."""
        found = {(row.measure, row.subject): row.measurement for row in rows if not row.against}
        for key in sorted(expected.keys() ^ found.keys()):
            self.faults.append(f"{where} {key}: {'only expected' if key in expected else 'not expected'}")
        for key in expected.keys() & found.keys():
            self._one(f"{where} {key}", key[0], found[key], expected[key])

    def _one(self, where: str, measure: str, found: Measurement, expected: Expected) -> None:
        self.measures[measure] += 1
        self.present |= {measure} if expected.value else set()
        if found.value is None or expected.value is None:
            if (found.value is None) != (expected.value is None):
                self.faults.append(f"{where}: {found}, expected {expected}")
            return
        off = {"value": _off(found.value, expected, found.resolution)}
        if expected.n is not None:
            off["n"] = float(abs(found.n - expected.n))
        if expected.bounds is not None and expected.how is not How.BETWEEN:
            off["bounds"] = math.inf
            if found.interval is not None:
                pairs = zip((found.interval.lower, found.interval.upper), expected.bounds, strict=True)
                off["bounds"] = max(_relative(one, other) for one, other in pairs)
        for what, distance in off.items():
            kind = f"{measure} {what}"
            self.worst[kind] = max(self.worst.get(kind, 0.0), distance)
            few = what == "bounds" and found.n < FEW  # a small variance of terms that are rounded to 2^-40
            if distance > (1e-8 if few else 1e-9):
                self.faults.append(f"{where} {what}: {found}, expected {expected}")


def _off(value: float, expected: Expected, resolution: float) -> float:
    """How far a value lies outside of where it may lie; relative where it is above 1."""
    assert expected.value is not None
    exact = expected.value
    match expected.how:
        case How.EXACT:
            lowest, highest = exact, exact
        case How.WITHIN:
            lowest, highest = exact - resolution, exact + resolution
        case How.BELOW:
            lowest, highest = exact - resolution, exact
        case How.ABOVE:
            lowest, highest = exact, exact + resolution
        case How.BETWEEN:
            assert expected.bounds is not None
            lowest, highest = expected.bounds
    return max(_relative(min(value, lowest), lowest), _relative(max(value, highest), highest))


def _relative(one: float, other: float) -> float:
    return abs(one - other) / max(1.0, abs(other))


@dataclass(frozen=True, slots=True)
class Example:
    """A log in a database, and in data frames."""

    name: str
    directory: Path
    url: str
    tables: Tables

    @contextmanager
    def app(self, model: str) -> Iterator[App]:
        """The application on this log, with a store of its own."""
        environ = {"SOURCE": self.url, "STORE": f"sqlite:///{self.directory / f'{model}.db'}"}
        migrate(environ["STORE"])
        config = Path(__file__).with_name(f"oracle_{self.name}.toml")
        with opened(settings_of(config, environ), self.directory) as app:
            yield app


def loaded(name: str, tables: Tables, directory: Path, url: str | None = None) -> Example:
    """An example's log with faults, in a database."""
    tables.write(directory)
    example = Example(name, directory, url or f"sqlite:///{directory / 'log.db'}", tables)
    load_logs(example.url, directory)
    return example


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return loaded("flights", faulty_logs.flights(), tmp_path_factory.mktemp("flights"))


@pytest.fixture(scope="module")
def rodents(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return loaded("rodents", faulty_logs.rodents(), tmp_path_factory.mktemp("rodents"))


def compared(example: Example, model: str, moments: Sequence[str]) -> Compared:
    """Cycles of a model, and every row that each leaves behind against the oracle."""
    result = Compared()
    with example.app(model) as app:
        log = log_of(example.tables, app.spec(model))
        for as_of in map(from_iso, moments):
            report = cycle_once(app, model, as_of)
            assert report.error is None
            rows = [row for _, _, row in app.store.current(model)]
            rows += [row for _, moment, row in app.store.history(model) if moment == as_of]
            compare_cycle(result, log, app.spec(model), (as_of, from_iso(moments[0])), rows)
    return result


def compare_cycle(
    result: Compared, log: Log, spec: ModelSpec, moments: tuple[int, int], rows: list[MeasurementRow]
) -> None:
    """Compare all rows of a cycle, as of it and of the first one: of windows within the horizon, of none."""
    as_of, first = moments
    windows = {window.name: window for window in spec.windows}
    by_window: dict[tuple[str, int], list[MeasurementRow]] = {}
    for row in rows:
        if row.window or row.version is None:
            by_window.setdefault((row.window, row.window_end), []).append(row)
    result.compare(f"as of {to_iso(as_of)}", by_window.pop(("", as_of)), oracle_shift.of_cycle(log, as_of))
    for (name, end), found in by_window.items():
        span = (windows[name].start(end), end)
        if span[0] < as_of - log.horizon:
            continue
        known = oracle.records(log, span, as_of)
        told = oracle.with_labels(log, known, as_of)
        where = f"{name} to {to_iso(end)} as of {to_iso(as_of)}"
        result.pairs.add((name, end, as_of))
        volume = oracle_shift.of_volume(log, name, span, as_of, first)
        for truth in {row.truth for row in found}:
            rows = [row for row in found if row.truth is truth]
            compare_strata(result, log, known, told, where, rows, volume)


def segments_of(log: Log, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows by segment: the reference's 20 most frequent values of at least 10 rows, the others, none."""
    for column in log.segments:
        sizes = log.reference[column].dropna().value_counts().reset_index()
        sizes = sizes[sizes["count"] >= 10].sort_values(["count", column], ascending=[False, True])
        named = rows[column].where(rows[column].isin(sizes[column].head(20)), "other")
        yield from rows.groupby(column + "=" + named.where(rows[column].notna(), "(none)"))


def compare_strata(
    result: Compared,
    log: Log,
    known: pd.DataFrame,
    told: pd.DataFrame,
    where: str,
    rows: list[MeasurementRow],
    volume: dict[Key, Expected],
) -> None:
    """Compare the rows of one truth: of the whole, of each version, of the arms and the segments."""
    arms = (("control", "control"), ("treatment", "treatment"), ("other", "holdout"))
    slices: dict[Slice, pd.DataFrame] = {(None, None): told}
    slices |= {(None, f"group={name}"): told[told["arm"] == arm] for name, arm in arms}
    slices |= {(str(version), None): part for version, part in told.groupby("version")}
    references = {(None, name): part for name, part in segments_of(log, log.reference)}
    slices |= {(None, name): told.loc[part["row"]] for name, part in segments_of(log, known)}
    found: dict[Slice, list[MeasurementRow]] = {}
    for row in rows:
        found.setdefault((row.version, row.segment), []).append(row)
    segments = {name for _, name in references}
    segments |= {name for name, _ in segments_of(log, known)}
    for (version, segment), measured in found.items():
        whole, part = version is None and segment is None, slices[version, segment]
        if measured[0].truth is Truth.NONE:
            expected = oracle_shift.of_records(log, known if whole else part, features=whole)
            if segment in segments:
                expected = oracle_shift.of_segment(log, references.get((None, segment)), part)
            expected |= volume if whole else {}
        else:
            expected = oracle.of_labels(log, part, delays=whole)
            if oracle_probabilities.columns_of(log):
                all_of_it = len(part) == len(told)  # measured as the whole
                expected |= dict(oracle_probabilities.measured(log, part, whole=all_of_it))
            expected |= {} if log.classes else dict(oracle_errors.measured(log, part))
            expected |= oracle_scores.of_scores(log, part) if whole else {}
            expected |= oracle.of_arms(log, told) if whole and len(found) > 1 else {}
        if not whole:
            expected = {key: value for key, value in expected.items() if BY_NAME[key[0]].headline}
        result.compare(f"{where} {version or segment or ''}", measured, expected)


def log_of(tables: Tables, spec: ModelSpec) -> Log:
    """Data frames by role: texts for classes and categories, doubles for numbers, microseconds for times."""
    classes = spec.reading.classes
    outcome = texts if spec.reading.task is not Task.REGRESSION else doubles
    column = dict(spec.predictions.columns)
    label = str(spec.labels.column("label")) if spec.labels else ""
    if spec.reading.task is Task.MULTICLASS and not classes:
        known = {*tables.reference[column["prediction"]].dropna(), *tables.reference[label].dropna()}
        classes = tuple(sorted(known))
    probabilities = {role: name for role, name in column.items() if role.startswith("probability:")}

    def outputs(frame: pd.DataFrame) -> pd.DataFrame:
        made = {name: doubles(frame[name]) for name in spec.reading.numeric}
        made |= {name: texts(frame[name]) for name in spec.reading.categorical}
        made["prediction"] = outcome(frame[column["prediction"]])
        if probabilities:
            made |= {role: doubles(frame[name]) for role, name in probabilities.items()}
            made["score"] = frame[[*probabilities.values()]].max(axis=1, skipna=False)
        elif "score" in column:
            made["score"] = doubles(frame[column["score"]])
        return pd.DataFrame(made)

    return Log(
        predictions=pd.DataFrame(
            {
                "id": tables.predictions["prediction_id"],
                "event_time": microseconds(tables.predictions["event_time"]).astype("int64"),
                "logged_at": microseconds(tables.predictions["logged_at"]),
                "version": tables.predictions["model_version"],
                "arm": tables.predictions["group"],
            }
        ).join(outputs(tables.predictions)),
        labels=pd.DataFrame(
            {
                "id": tables.labels["prediction_id"],
                "label": outcome(tables.labels[label]),
                "reported_at": microseconds(tables.labels["reported_at"]),
                "revision": tables.labels["revision"],
            }
        ),
        reference=outputs(tables.reference),
        segments=spec.reading.segments,
        classes=classes,
        numeric=spec.reading.numeric,
        categorical=spec.reading.categorical,
        pane=spec.reading.pane,
        horizon=spec.reading.horizon,
        profit={(actual, predicted): amount for actual, predicted, amount in spec.profit},
    )


def texts(values: pd.Series) -> pd.Series:
    """Texts, or None: true is "1"."""
    if pd.api.types.is_bool_dtype(values):
        values = values.astype("Int64")
    return values.astype(object).map(str, na_action="ignore").where(values.notna(), None)


def doubles(values: pd.Series) -> pd.Series:
    """Doubles, NaN where missing."""
    return values.astype("float64")


def microseconds(times: pd.Series) -> pd.Series:
    """Whole microseconds since 1970, or missing."""
    return ((times - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(1, "us")).astype("Int64")


def test_a_binary_model_is_measured_as_scikit_learn_and_scipy_do(flights: Example) -> None:
    result = compared(flights, "late", MOMENTS["flights"])

    assert result.faults == []
    assert len(result.pairs) >= 12
    assert result.present >= {*ODD, "clipped_records", "outcome_rate_difference", "profit", "roc_auc"}


def test_a_regression_is_measured_as_scikit_learn_and_scipy_do(flights: Example) -> None:
    result = compared(flights, "delay", MOMENTS["flights"])

    assert result.faults == []
    assert len(result.pairs) >= 12
    assert result.present >= {*ODD, "invalid_labels", "outcome_mean_difference", "r2_score"}


@pytest.mark.parametrize("model", ["level", "species"])
def test_many_classes_are_measured_as_scikit_learn_and_scipy_do(rodents: Example, model: str) -> None:
    result = compared(rodents, model, MOMENTS["rodents"])

    assert result.faults == []
    assert len(result.pairs) >= 6
    assert result.present >= {*ODD, "average_class_accuracy", "absent_classes"}


@pytest.mark.postgres
def test_on_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    recent = loaded("rodents", faulty_logs.rodents().since("1999-11-01"), tmp_path, postgres_url)

    result = compared(recent, "level", MOMENTS["rodents"][-1:])

    assert result.faults == []
    assert len(result.pairs) >= 3
