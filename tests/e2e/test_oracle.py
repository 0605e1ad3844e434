"""Everything that is measured, against pandas, scikit-learn and SciPy on the same rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import faulty_logs
import pandas as pd
import pytest
from faulty_logs import Tables
from oracle import Log
from oracle_compared import NOT_RECOMPUTED, Compared
from oracle_cycle import Run
from oracle_details import DETAILED

from monitor.app.running import cycle_once
from monitor.app.wiring import App, opened
from monitor.config.load import settings_of
from monitor.core.clock import from_iso
from monitor.demo.loading import load_logs
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.daily import DAILY
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES
from monitor.records.reading import Task
from monitor.specs.model import ModelSpec
from monitor.store.engine import migrate

MOMENTS = {
    "flights": ("2013-04-08T06:00", "2013-09-01T00:20", "2014-01-05"),
    "rodents": ("1986-06-02T09:00", "1996-11-30", "2002-12-20T20:00"),
}
ODD = {
    *("duplicate_records", "unlogged_records", "missing_rate", "invalid_rate", "unseen_rate"),
    *("corrected_labels", "retracted_labels", "early_labels"),
    *("future_records", "stale_log_records", "orphan_labels"),
}


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
        spec = app.spec(model)
        assert spec.families == OPTIONAL_FAMILIES
        run = Run(result, log_of(example.tables, spec), spec, from_iso(moments[0]))
        for as_of in map(from_iso, moments):
            report = cycle_once(app, model, as_of)
            assert report.error is None
            rows = [row for _, _, row in app.store.current(model)]
            rows += [row for _, moment, row in app.store.history(model) if moment == as_of]
            run.compare(as_of, rows)
    return result


def log_of(tables: Tables, spec: ModelSpec) -> Log:
    """Data frames by role: texts for classes and categories, doubles for numbers, microseconds for times."""
    classes = spec.reading.classes
    outcome = texts if spec.reading.task is not Task.REGRESSION else doubles
    column = dict(spec.predictions.columns)
    label = str(spec.labels.column("label")) if spec.labels else ""
    if spec.reading.task is Task.MULTICLASS and not classes:
        known = {*tables.reference[column["prediction"]].dropna(), *tables.reference[label].dropna()}
        classes = tuple(sorted(known))
    challenger = spec.reading.challenger
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
                **({"challenger": tables.predictions[challenger.column]} if challenger else {}),
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
        reference=outputs(tables.reference).assign(label=outcome(tables.reference[label])),
        segments=spec.reading.segments,
        classes=classes,
        numeric=spec.reading.numeric,
        categorical=spec.reading.categorical,
        pane=spec.reading.pane,
        horizon=spec.reading.horizon,
        profit={(actual, predicted): amount for actual, predicted, amount in spec.profit},
        planned=spec.compared.control_share,
        detect=spec.compared.detect,
        threshold=challenger.threshold if challenger else None,
    )


def texts(values: pd.Series) -> pd.Series:
    """Texts, or None: true and 1.0 are "1"."""
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_float_dtype(values):
        values = values.astype("Int64")
    return values.astype(object).map(str, na_action="ignore").where(values.notna(), None)


def doubles(values: pd.Series) -> pd.Series:
    """Doubles, NaN where missing."""
    return values.astype("float64")


def microseconds(times: pd.Series) -> pd.Series:
    """Whole microseconds since 1970, or missing."""
    return ((times - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(1, "us")).astype("Int64")


def assert_complete(result: Compared, task: Task) -> None:
    """Every measure of the catalogue has been recomputed, or is named with the reason why it is not."""
    of_task = {measure.name for measure in CATALOGUE if task in measure.tasks} - DAILY
    assert result.measures.keys() == of_task - NOT_RECOMPUTED.keys()
    assert result.left == of_task & NOT_RECOMPUTED.keys()


SOME = pytest.param(2, id="first and last moment")
ALL = pytest.param(1, marks=pytest.mark.long, id="all moments")


@pytest.mark.parametrize("each", [SOME, ALL])
def test_a_binary_model_is_measured_as_scikit_learn_and_scipy_do(flights: Example, each: int) -> None:
    result = compared(flights, "late", MOMENTS["flights"][::each])

    assert result.faults == []
    assert len(result.pairs) >= (11 if each == 1 else 7)
    assert result.present >= {*ODD, "clipped_records", "outcome_rate_difference", "profit", "roc_auc"}
    assert result.detailed == DETAILED
    assert_complete(result, Task.BINARY)


@pytest.mark.parametrize("each", [SOME, ALL])
def test_a_regression_is_measured_as_scikit_learn_and_scipy_do(flights: Example, each: int) -> None:
    result = compared(flights, "delay", MOMENTS["flights"][::each])

    assert result.faults == []
    assert len(result.pairs) >= (11 if each == 1 else 7)
    assert result.present >= {*ODD, "invalid_labels", "outcome_mean_difference", "r2_score"}
    assert_complete(result, Task.REGRESSION)


@pytest.mark.parametrize(
    ("model", "each"),  # of one store each model lives once: moments only go forward
    [
        pytest.param("level", 2, id="level-first and last moment"),
        pytest.param("level", 1, marks=pytest.mark.long, id="level-all moments"),
        pytest.param("species", 1, marks=pytest.mark.long, id="species-all moments"),
    ],
)
def test_many_classes_are_measured_as_scikit_learn_and_scipy_do(
    rodents: Example, model: str, each: int
) -> None:
    result = compared(rodents, model, MOMENTS["rodents"][::each])

    assert result.faults == []
    assert len(result.pairs) >= (6 if each == 1 else 4)
    assert result.present >= {*ODD, "average_class_accuracy", "absent_classes"}
    if model == "level":  # the other has neither probabilities nor a challenger
        assert_complete(result, Task.MULTICLASS)
        assert result.present >= {"challenger_log_evidence", "outcome_rate_difference"}


@pytest.mark.long
@pytest.mark.postgres
def test_on_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    recent = loaded("rodents", faulty_logs.rodents().since("1999-11-01"), tmp_path, postgres_url)

    result = compared(recent, "level", MOMENTS["rodents"][-1:])

    assert result.faults == []
    assert len(result.pairs) >= 3
