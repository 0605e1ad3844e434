"""A small serving system: predictions, labels, a reference, and the monitor's configuration."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from click.testing import CliRunner, Result
from sqlalchemy.pool import NullPool

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import HOUR, SECOND, from_iso, to_iso
from monitor.core.measurement import Measurement
from monitor.measures.measurement_row import LabelTruth
from monitor.specs.protocols import CycleReport
from monitor.store.store_database import migrate_store

Row = dict[str, Any]
Monitor = Callable[..., Result]
REPORTED = HOUR  # labels come this long after the event

MODEL = """
[[models]]
name = "{name}"
source = "log"
task = "binary"
{options}

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
logged_at = "logged_at"
score = "score"
prediction = "pred"
{predictions}

[models.labels]
table = "labels"
id = "id"
label = "late"
reported_at = "reported_at"

[models.reference]
table = "reference"

[models.features]
numeric = ["amount"]
categorical = ["group"]
"""
QUICK = """
every = "{every}"
pane = "{pane}"
windows = [{windows}]
horizon = "{horizon}"
settle_after = "0s"
resamples = {resamples}
reading = {{ overlap = "1m", tolerance = "5s", ready_after = "0s" }}
"""
HOURLY, DAILY = '{ length = "1h", step = "10m" }', '{ length = "1d", step = "1d" }'


@dataclass(frozen=True, slots=True)
class Database:
    """A database of the user's, to be written by the test; every call is one transaction."""

    url: str

    @property
    def postgres(self) -> bool:
        """Whether it is PostgreSQL."""
        return self.url.startswith("postgresql")

    def run(self, *statements: str) -> None:
        """Run statements."""
        with self._connected() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def create(self, table: str, key: Sequence[str] = (), **columns: str) -> None:
        """Make a table: the type of each column, and its key."""
        described = [f'"{name}" {kind}' for name, kind in columns.items()]
        described += [f"PRIMARY KEY ({', '.join(key)})"] if key else []
        self.run(f"CREATE TABLE {table} ({', '.join(described)})")

    def insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows that have the same keys."""
        names = ", ".join(f'"{name}"' for name in rows[0])
        values = ", ".join(f":{name}" for name in rows[0])
        with self._connected() as connection:
            connection.execute(
                sa.text(f"INSERT INTO {table} ({names}) VALUES ({values})"), [dict(row) for row in rows]
            )

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        engine = sa.create_engine(self.url, poolclass=NullPool)
        with engine.begin() as connection:
            yield connection
        engine.dispose()


def predictions(count: int, start: int, end: int, *, prefix: str = "p") -> list[Row]:
    """Predictions evenly spaced in [start, end): the same ones for the same arguments."""
    rng = np.random.default_rng(7)
    times = np.linspace(start, end, count, endpoint=False).astype(np.int64) // SECOND * SECOND
    scores, amounts = rng.uniform(size=count).round(4), rng.normal(100, 20, size=count).round(2)
    groups = rng.choice(["a", "b", "c"], size=count)
    return [
        {
            "id": f"{prefix}{at}",
            "event_time": to_iso(int(times[at])),
            "logged_at": to_iso(int(times[at]) + SECOND),
            "score": float(scores[at]),
            "pred": str(int(scores[at] >= 0.5)),
            "amount": float(amounts[at]),
            "group": str(groups[at]),
        }
        for at in range(count)
    ]


def labels(rows: Sequence[Row], *, end: int) -> list[Row]:
    """Labels of predictions as far as they are reported by `end`; the score tells their probability."""
    rng = np.random.default_rng(11)
    drawn = rng.uniform(size=len(rows))
    return [
        {"id": row["id"], "late": int(luck < (row["score"] or 0)), "reported_at": reported}
        for row, luck in zip(rows, drawn.tolist(), strict=True)
        if (reported := _later(row["event_time"], REPORTED)) <= to_iso(end)
    ]


def reference(count: int = 500) -> list[Row]:
    """Rows of a reference with labels."""
    rows = predictions(count, 0, count * HOUR, prefix="r")
    known = labels(rows, end=count * 2 * HOUR)
    return [
        {name: row[name] for name in ("score", "pred", "amount", "group")} | {"late": label["late"]}
        for row, label in zip(rows, known, strict=True)
    ]


def create_tables(database: Database, **types: str) -> None:
    """Make the tables: `types` replaces types of columns of the predictions."""
    keyed = "varchar(64)" if database.url.startswith(("mysql", "mariadb")) else "text"
    time = "timestamptz" if database.postgres else keyed
    number = "double precision" if database.postgres else "REAL"
    columns = {"id": keyed, "event_time": time, "logged_at": time}
    columns |= {"score": number, "pred": "text", "amount": number, "group": "text"} | types
    database.create("predictions", **columns)
    database.run("CREATE INDEX predictions_by_id ON predictions (id)")
    database.create("labels", ("id", "reported_at"), id=keyed, late="integer", reported_at=time)
    database.create("reference", score=number, pred="text", amount=number, group="text", late="integer")
    database.insert("reference", reference())


def fill_tables(database: Database, rows: Sequence[Row], *, labelled: int | None = None) -> None:
    """Make the tables and write predictions, and their labels that are reported by a time, if any."""
    create_tables(database)
    database.insert("predictions", rows)
    if labelled is not None:
        database.insert("labels", labels(rows, end=labelled))


def quick(
    every: str = "1s",
    *,
    pane: str = "10m",
    windows: str = HOURLY,
    horizon: str = "2d",
    resamples: int = 20,
) -> str:
    """Options of a model whose cycles a test waits for."""
    return QUICK.format(every=every, pane=pane, windows=windows, horizon=horizon, resamples=resamples)


def model(name: str = "late", *, options: str = "", predictions: str = "") -> str:
    """Configuration of a model."""
    return MODEL.format(name=name, options=options, predictions=predictions)


@dataclass(frozen=True, slots=True)
class Bench:
    """A log, and cycles over it in this process."""

    directory: Path
    database: Database
    store_url: str

    @property
    def config(self) -> Path:
        """The file of the configuration."""
        return self.directory / "config.toml"

    def monitor(self, *arguments: str, answer: str = "") -> Result:
        """A command on the configuration, in this process."""
        return CliRunner().invoke(main, [*arguments, "--config", str(self.config)], input=answer)

    def checked(self) -> str:
        """What `monitor check` says on its error stream of a configuration without a fault."""
        done = self.monitor("check")
        assert done.exit_code == 0, done.stderr
        return done.stderr

    def configure(self, *models: str, batch_rows: int = 20_000, port: int | None = None) -> None:
        """Write the configuration; with a port that of a daemon that logs JSON."""
        daemon = "" if port is None else f'[http]\nport = {port}\n[log]\nformat = "json"\n'
        source = f'[sources.log]\nurl = "{self.database.url}"\nbatch_rows = {batch_rows}\n'
        text = f'{daemon}[store]\nurl = "{self.store_url}"\n{source}{"".join(models)}'
        self.config.write_text(text, encoding="utf-8")

    def from_scratch(self, *models: str) -> "Bench":
        """The same log with a new store."""
        directory = self.directory / "scratch"
        directory.mkdir()
        bench = Bench(directory, self.database, f"sqlite:///{directory}/monitor.db")
        bench.configure(*models)
        return bench

    def warnings(self, window: str) -> set[str]:
        """Warnings of the current rows of a window, and of its model's versions and segments."""
        with self.app() as app:
            rows = [
                stored.row
                for stored in app.store.current.read_current()
                if stored.row.measure != "next_settling"
            ]
            return {row.warning for row in rows if row.window == window}

    def columns(self, table: str) -> set[str]:
        """Names of a table's columns."""
        engine = sa.create_engine(self.database.url, poolclass=NullPool)
        return {str(column["name"]) for column in sa.inspect(engine).get_columns(table)}

    @contextmanager
    def app(self) -> Iterator[App]:
        """The monitor, opened on the configuration."""
        migrate_store(self.store_url)
        with open_application(settings_of(self.config, {}), self.directory) as app:
            yield app

    def cycle(self, as_of: int) -> "Cycled":
        """Run a cycle of every model; what it reports and what is current then."""
        with self.app() as app:
            reports = {name: run_single_cycle(app, name, as_of) for name in app.model_names()}
            measured = {
                (
                    stored.model,
                    stored.row.window,
                    stored.row.measure,
                    stored.row.subject,
                    stored.row.truth,
                ): stored.row.measurement
                for stored in app.store.current.read_current()
                if stored.row.version is None and stored.row.segment is None and not stored.row.against
            }
        return Cycled(reports, measured)


def bench_in(directory: Path) -> Bench:
    """A log and a store, each an empty file of SQLite in the directory."""
    return Bench(directory, Database(f"sqlite:///{directory}/log.db"), f"sqlite:///{directory}/monitor.db")


def sqlite_bench(directory: Path, rows: Sequence[Row], *models: str, labelled: int | None = None) -> Bench:
    """These predictions, their labels that are reported by a time, if any, and models, all in SQLite."""
    bench = bench_in(directory)
    fill_tables(bench.database, rows, labelled=labelled)
    bench.configure(*models)
    return bench


@dataclass(frozen=True, slots=True)
class Cycled:
    """Reports by model, and current measurements of whole models."""

    reports: Mapping[str, CycleReport]
    measured: Mapping[tuple[str, str, str, str, LabelTruth], Measurement]

    @property
    def error(self) -> str | None:
        """Failure of the only model."""
        (report,) = self.reports.values()
        return report.error

    def of(
        self,
        measure: str,
        subject: str = "",
        *,
        model: str = "late",
        window: str = "1d",
        truth: LabelTruth = LabelTruth.NONE,
    ) -> Measurement:
        """One measurement."""
        return self.measured[model, window, measure, subject, truth]

    def count(self, measure: str, model: str = "late") -> float | None:
        """One figure of the log as a whole."""
        return self.of(measure, model=model, window="").value


def _later(time: str, by: int) -> str:
    return to_iso(from_iso(time) + by)
