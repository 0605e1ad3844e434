"""Everything that is measured, against pandas, scikit-learn and SciPy on the same rows."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import faulty_logs
import numpy as np
import odd_rows
import oracle
import oracle_shift
import pandas as pd
import pytest
from click.testing import CliRunner
from faulty_logs import Tables
from odd_rows import OddLog
from oracle import Log
from oracle_compared import NOT_RECOMPUTED, Compared
from oracle_cycle import Run
from oracle_details import DETAILED

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import from_iso
from monitor.demo.load_flights import load_logs
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.daily_measures import DAILY
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES
from monitor.measures.catalogue.volume_measures import SILENCE_LIMIT
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.sources import open_source
from monitor.specs.model_spec import ModelSpec, SourceSpec
from monitor.specs.read_ranges import pane_ranges
from monitor.store.store_database import migrate_store

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
        migrate_store(environ["STORE"])
        config = Path(__file__).with_name(f"oracle_{self.name}.toml")
        with open_application(settings_of(config, environ), self.directory) as app:
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
        spec = app.find_spec(model)
        assert spec.families == OPTIONAL_FAMILIES
        run = Run(result, log_of(example.tables, spec), spec, from_iso(moments[0]))
        for as_of in map(from_iso, moments):
            report = run_single_cycle(app, model, as_of)
            assert report.error is None
            rows = [stored.row for stored in app.store.current.read_current(model)]
            rows += [
                stored.row
                for stored in app.store.snapshots.read_snapshot_rows(model)
                if stored.as_of == as_of
            ]
            run.compare(as_of, rows)
    return result


PLAIN = {(window, None, None, None) for window in ("7d", None)}
OF_LOG = ("invalid_times", "rows_without_id", "rows_without_time", "repeated_ids", "orphan_labels")
OF_WINDOW = ("records", "duplicate_records", "adjusted_times", "unlogged_records")
ODD_MOMENTS = (
    *("2013-07-09T06:00", "2013-07-13T13:00", "2013-07-14T13:00", "2013-07-17T13:00", "2013-07-18T13:00"),
    *("2013-07-24T13:00", "2013-08-05", "2013-08-12T00:20", "2013-08-20"),
)


@pytest.fixture
def odd_log(request: pytest.FixtureRequest, tmp_path: Path) -> OddLog:
    """A log of odd rows on an engine, with ids of a type."""
    engine, _, ids = request.param.partition(" ")
    of_server = engine == "postgresql"
    log = OddLog(
        request.getfixturevalue("postgres_url") if of_server else f"sqlite:///{tmp_path / 'log'}", ids
    )
    log.fill()
    return log


@contextmanager
def odd_app(log: OddLog, directory: Path) -> Iterator[tuple[App, Log]]:
    """The application on a log of odd rows, and what the documented rule makes of these."""
    environ = {"SOURCE": log.url, "STORE": f"sqlite:///{directory / 'store.db'}"}
    migrate_store(environ["STORE"])
    reference = odd_rows.reference(directory)
    with open_application(
        settings_of(Path(__file__).with_name("oracle_odd.toml"), environ), directory
    ) as app:
        spec = app.find_spec("late")
        plain = Log(
            predictions=pd.DataFrame(),
            labels=pd.DataFrame(),
            reference=reference.rename(columns={"pred": "prediction", "late": "label"}),
            segments=spec.reading.segments,
            classes=spec.reading.classes,
            numeric=spec.reading.numeric,
            categorical=spec.reading.categorical,
            pane=spec.reading.pane,
            horizon=spec.reading.horizon,
            profit={},
            planned=spec.control_share,
            detect=spec.detect,
        )
        yield app, odd_rows.log_of(log, plain)


def shown_counts(log: OddLog, directory: Path) -> dict[tuple[str, str | None], float]:
    """Counts of the log and of its newest window of 7 days, as `monitor show` prints them."""
    shutil.copy(Path(__file__).with_name("oracle_odd.toml"), directory / "config.toml")
    runner = CliRunner(env={"SOURCE": log.url, "STORE": f"sqlite:///{directory / 'store.db'}"})
    options = ["--config", str(directory / "config.toml"), "--format", "json", "--all"]
    done = runner.invoke(main, ["show", *options])
    assert done.exit_code == 0, done.output
    return {
        (row["measure"], None if row["measure"] in OF_LOG else row["window_end"]): row["value"]
        for row in json.loads(done.stdout)
        if row["measure"] in (*OF_LOG, *OF_WINDOW)
        and (row["window"], row["segment"], row["version"], row["against"]) in PLAIN
    }


def window_counts(log: Log, end: int, as_of: int) -> dict[str, float]:
    """Counts of a window of 7 days, of its rows."""
    rows = oracle.records(log, (end - 7 * oracle.DAY, end), as_of)
    return {
        "records": len(rows),
        "duplicate_records": rows["repeats"].sum(),
        "adjusted_times": rows["adjusted"].sum(),
        "unlogged_records": rows["logged_at"].isna().sum(),
    }


def panes_of(app: App, as_of: int, part: PaneHalf) -> dict[int, int]:
    """Records, or labelled records, of each pane that has any."""
    facts = app.prepare_model("late", as_of)[1].panes.facts_by_start(part).values()
    counts = {fact.start: fact.records if part is PaneHalf.RECORDS else fact.labelled for fact in facts}
    return {start: count for start, count in counts.items() if count}


def expected_panes(log: Log, as_of: int, part: PaneHalf) -> dict[int, int]:
    """The same, of the rows."""
    rows = oracle.records(log, (0, as_of + oracle.TOLERANCE + 1), as_of)
    if part is PaneHalf.LABELS:
        rows = oracle.with_labels(log, rows, as_of)
        rows = rows[rows["known"]]
    starts, counts = np.unique(rows["pane"].to_numpy() * log.pane, return_counts=True)
    return dict(zip(starts.tolist(), counts.tolist(), strict=True))


def log_of(tables: Tables, spec: ModelSpec) -> Log:
    """Data frames by role: texts for classes and categories, doubles for numbers, microseconds for times."""
    classes = spec.reading.classes
    outcome = texts if spec.reading.task is not ModelTask.REGRESSION else doubles
    column = dict(spec.predictions.columns)
    label = str(spec.labels.column_of("label")) if spec.labels else ""
    if spec.reading.task is ModelTask.MULTICLASS and not classes:
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
        planned=spec.control_share,
        detect=spec.detect,
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


def assert_complete(result: Compared, task: ModelTask) -> None:
    """Every measure of the catalogue has been recomputed, or is named with the reason why it is not."""
    # How old a log may be is learnt over weeks of cycles: tests of its own hold it.
    of_task = {measure.name for measure in CATALOGUE if task in measure.tasks} - DAILY - {SILENCE_LIMIT}
    assert result.measures.keys() == of_task - NOT_RECOMPUTED.keys()
    assert result.left == of_task & NOT_RECOMPUTED.keys()


@pytest.mark.parametrize(
    "odd_log",
    [
        "sqlite ",
        pytest.param("sqlite TEXT COLLATE NOCASE", marks=pytest.mark.slow),
        pytest.param("sqlite TEXT", marks=pytest.mark.long),
        pytest.param("sqlite INTEGER", marks=pytest.mark.long),
        pytest.param("postgresql citext", marks=[pytest.mark.postgres, pytest.mark.slow]),
        pytest.param("postgresql text", marks=[pytest.mark.postgres, pytest.mark.long]),
    ],
    indirect=True,
)
def test_odd_ids_and_times_are_counted_by_the_documented_rule(odd_log: OddLog, tmp_path: Path) -> None:
    result = Compared()
    with odd_app(odd_log, tmp_path) as (app, log):
        run = Run(result, log, app.find_spec("late"), from_iso(ODD_MOMENTS[0]))
        for as_of in map(from_iso, ODD_MOMENTS):
            assert run_single_cycle(app, "late", as_of).error is None
            for part in PaneHalf:
                assert panes_of(app, as_of, part) == expected_panes(log, as_of, part)
            rows = [stored.row for stored in app.store.current.read_current("late")]
            rows += [
                stored.row
                for stored in app.store.snapshots.read_snapshot_rows("late")
                if stored.as_of == as_of
            ]
            run.compare(as_of, rows)
        by_difference = not app.find_cycle_model("late").whole_label_reason

    assert result.faults == []
    assert len(result.pairs) >= 19
    assert by_difference == (odd_log.ids != "")
    assert result.present >= {
        *("duplicate_records", "adjusted_times", "unlogged_records", "early_labels", "corrected_labels"),
        *OF_LOG,
    }
    shown = shown_counts(odd_log, tmp_path)
    expected = oracle_shift.of_cycle(log, as_of, from_iso(ODD_MOMENTS[-2]))
    assert {name: shown.pop((name, None)) for name in OF_LOG} == {
        name: expected[name, ""].value for name in OF_LOG
    }
    assert shown == {
        (name, end): count
        for end in {end for _, end in shown if end}
        for name, count in window_counts(log, from_iso(end), as_of).items()
    }
    assert shown.keys() >= {(name, "2013-08-15T00:00:00Z") for name in OF_WINDOW}


@pytest.mark.parametrize(
    "odd_log",
    [
        *("sqlite ", "sqlite TEXT", "sqlite INTEGER"),
        pytest.param("postgresql citext", marks=pytest.mark.postgres),
    ],
    indirect=True,
)
def test_odd_rows_are_counted_alike_by_each_reader(odd_log: OddLog, tmp_path: Path) -> None:
    as_of = from_iso(ODD_MOMENTS[-1])
    with odd_app(odd_log, tmp_path) as (app, log):
        model = app.find_cycle_model("late")
        panes = np.asarray(sorted(expected_panes(log, as_of, PaneHalf.RECORDS)))
        found = []
        for reader in ("adbc", "fetchmany"):
            source = open_source(SourceSpec(name="log", url=odd_log.url), reader=reader)
            found.append(
                [
                    source.count_panes(
                        model.spec,
                        part,
                        pane_ranges(panes.tolist(), log.pane),
                        model.counting,
                        panes=panes,
                        as_of=as_of,
                    )
                    for part in PaneHalf
                ]
            )
            source.close()

    assert found[0] == found[1]
    records = {part.start: part.records for part in found[0][0].parts}
    assert records == expected_panes(log, as_of, PaneHalf.RECORDS)


SOME = pytest.param(2, id="first and last moment")
ALL = pytest.param(1, marks=pytest.mark.long, id="all moments")


@pytest.mark.parametrize("each", [SOME, ALL])
def test_a_binary_model_is_measured_as_scikit_learn_and_scipy_do(flights: Example, each: int) -> None:
    result = compared(flights, "late", MOMENTS["flights"][::each])

    assert result.faults == []
    assert len(result.pairs) >= (11 if each == 1 else 7)
    assert result.present >= {*ODD, "clipped_records", "outcome_rate_difference", "profit", "roc_auc"}
    assert result.detailed == DETAILED
    assert_complete(result, ModelTask.BINARY)


@pytest.mark.parametrize("each", [SOME, ALL])
def test_a_regression_is_measured_as_scikit_learn_and_scipy_do(flights: Example, each: int) -> None:
    result = compared(flights, "delay", MOMENTS["flights"][::each])

    assert result.faults == []
    assert len(result.pairs) >= (11 if each == 1 else 7)
    assert result.present >= {*ODD, "invalid_labels", "outcome_mean_difference", "r2_score"}
    assert_complete(result, ModelTask.REGRESSION)


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
        assert_complete(result, ModelTask.MULTICLASS)
        assert result.present >= {"challenger_log_evidence", "outcome_rate_difference"}


@pytest.mark.long
@pytest.mark.postgres
def test_on_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    recent = loaded("rodents", faulty_logs.rodents().since("1999-11-01"), tmp_path, postgres_url)

    result = compared(recent, "level", MOMENTS["rodents"][-1:])

    assert result.faults == []
    assert len(result.pairs) >= 3
