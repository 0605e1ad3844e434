"""What a new user does with a lake on S3, from `monitor init` to an alert; the same rows in PostgreSQL agree.

A writer appends, corrects labels in place, compacts and vacuums between the cycles of a daemon that is killed
again and again. The same cycles over the same rows in PostgreSQL leave the same store, row by row.
"""

import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from faulty_logs import Tables
from oracle_compared import Compared
from oracle_cycle import Run
from process import Process, monitor
from pyarrow import fs as pafs
from servers import free_port
from test_oracle import log_of

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, from_iso, to_datetime, to_iso
from monitor.demo.load_flights import widen_floats
from monitor.store.store_database import migrate_store
from monitor.store.tables import service_schema
from monitor.store.tables.shared_columns import METADATA

pytestmark = [pytest.mark.lakes, pytest.mark.postgres, pytest.mark.slow]

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
TABLES = ("predictions", "labels")
MODEL, EVERY = "late", 6 * HOUR
FIRST = from_iso("2013-03-22")  # as of the first cycle; the log begins 16 days before
DAYS, FAULTY = 2, 1  # days that the daemon lives, and the one from which on a column is empty
KILLS = 1  # of each day
MEASURES = ["averages", "calibration", "comparison", "distances", "estimate", "gains", "shift", "values"]
# What two stores of the same cycles have of their own: where the tables of the lake stand; when a row was
# made, by a clock that went on; and of a cycle that was killed and begun again how many rows were read, and
# how often labels had been written before.
DIFFERS = {
    # a write whose cycle was killed before its end is made again, which its turn tells and no count
    "models": ("position", "label_writes"),
    "references_": ("created",),
    "configurations": ("created",),
    "provenance": ("rows_read",),
    "panes": ("holds",),
}
OF_PROCESSES = ("leases", "daemons")
# Measures of the last cycle that files do not tell.
UNTOLD = (
    "silence_limit",  # learnt over weeks of cycles
    "all up to",  # what sequential tests took in as of earlier cycles stands, whatever is corrected later
)
# The clock of a process stands at a moment when its file is written, and goes on from there.
AT_THAT_TIME = """
import os, sys, time
told, real = sys.argv.pop(1), time.time_ns
written = os.stat(told).st_mtime_ns
start = int(open(told).read()) * 1000
time.time_ns = lambda: start + real() - written
from monitor.cli import main
main()
"""


class Lake:
    """Two Delta tables in a bucket."""

    def __init__(self, endpoint: str) -> None:
        host = endpoint.removeprefix("http://")
        files = pafs.S3FileSystem(
            endpoint_override=host, scheme="http", region="us-east-1", allow_bucket_creation=True
        )
        files.create_dir("bucket")
        self.url = f"s3://bucket/ml?endpoint={endpoint}&region=us-east-1"
        self.options = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}

    def append(self, name: str, rows: pa.Table) -> None:
        import deltalake

        deltalake.write_deltalake(self._address(name), rows, mode="append", storage_options=self.options)

    def correct(self, labels: pa.Table) -> None:
        """Labels in place of those of the same predictions."""
        merge = self._table("labels").merge(
            labels, "s.prediction_id = t.prediction_id", source_alias="s", target_alias="t"
        )
        merge.when_matched_update_all().execute()

    def vacuum(self) -> None:
        """Take away files that are of no use any more."""
        for name in TABLES:
            self._table(name).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    def compact(self) -> None:
        """Files laid out anew."""
        for name in TABLES:
            self._table(name).optimize.compact()

    def read(self, name: str) -> pa.Table:
        """All rows."""
        return self._table(name).to_pyarrow_table()

    def _table(self, name: str) -> Any:
        import deltalake

        return deltalake.DeltaTable(self._address(name), storage_options=self.options)

    @staticmethod
    def _address(name: str) -> str:
        return f"s3://bucket/ml/{name}"


@dataclass(frozen=True, slots=True)
class Writer:
    """What stands in the tables from one cycle to the next.

    Parameters
    ----------
    predictions, labels
        all flights, whose labels have one row each.
    """

    lake: Lake
    predictions: pa.Table
    labels: pa.Table

    def write(self, since: int, until: int) -> None:
        """What was logged, and reported, meanwhile."""
        self.lake.append("predictions", _between(self.predictions, "logged_at", since, until))
        self.lake.append("labels", _between(self.labels, "reported_at", since, until))

    def correct(self, at: int, seed: int) -> None:
        """A hundred outcomes of the week before were wrong; at that moment they are corrected."""
        week = _between(self.labels, "reported_at", at - 7 * DAY, at - HOUR)
        wrong = week.take(pa.array(random.Random(seed).sample(range(week.num_rows), 100)))  # noqa: S311
        told = pa.array([to_datetime(at)] * wrong.num_rows, wrong.schema.field("reported_at").type)
        right = pc.subtract(pa.scalar(1, pa.int8()), wrong["late"])
        names = wrong.column_names
        corrected = wrong.set_column(names.index("late"), "late", right)
        self.lake.correct(corrected.set_column(names.index("reported_at"), "reported_at", told))


def flights() -> tuple[pa.Table, pa.Table]:
    """All flights; from a day on nobody knows how old a plane is."""
    predictions, labels = (
        widen_floats(pq.read_table(FLIGHTS / f"{name}.parquet")) for name in ("predictions", "labels")
    )
    at = predictions.column_names.index("plane_age_yr")
    broken = pc.greater_equal(predictions["logged_at"], pa.scalar(to_datetime(FIRST + FAULTY * DAY)))
    age = pc.if_else(broken, pa.scalar(None, pa.float64()), predictions["plane_age_yr"])
    predictions = predictions.set_column(at, "plane_age_yr", age)
    return predictions, labels.filter(pc.equal(labels["revision"], 0)).drop_columns(["revision"])


def _between(table: pa.Table, column: str, since: int, until: int) -> pa.Table:
    start, end = (pa.scalar(to_datetime(at)).cast(table[column].type) for at in (since, until))
    return table.filter(pc.and_(pc.greater(table[column], start), pc.less_equal(table[column], end)))


@dataclass(slots=True)
class Daemon:
    """`monitor run`, whose clock a test sets."""

    directory: Path
    port: int
    kills: int = 0

    def run_until(self, at: int, chance: random.Random) -> None:
        """Run all ticks that are due at a moment, by processes of which all but the last are killed."""
        clock = self.directory / "clock"
        clock.write_text(str(at + 1_000), encoding="utf-8")
        command = [sys.executable, "-c", AT_THAT_TIME, str(clock), "run"]
        running = Process(command, self.port, self.directory / "daemon.log")
        for _ in range(KILLS):
            running.start()
            time.sleep(chance.uniform(1.5, 4.0))
            running.kill()
            self.kills += 1
        running.start()
        try:
            running.wait(lambda: self._last() >= at, f"the cycle of {to_iso(at)}")
            assert running.stop()[0] == 0
        finally:
            running.kill()

    def _last(self) -> int:
        """As of of the last cycle; 0: there was none."""
        file = self.directory / "monitor.db"
        if not file.exists():
            return 0
        with contextlib.suppress(sa.exc.OperationalError), store_rows(f"sqlite:///{file}") as connection:
            found = connection.execute(sa.select(service_schema.models.c.as_of)).scalar()
            return int(found or 0)
        return 0


@contextlib.contextmanager
def store_rows(url: str) -> Iterator[sa.Connection]:
    """A store as SQL sees it."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def store_of(url: str) -> dict[str, list[str]]:
    """Rows of all tables of a store."""
    with store_rows(url) as connection:
        return {
            name: sorted(
                repr(tuple(row))
                for row in connection.execute(
                    sa.select(*(column for column in table.c if column.name not in DIFFERS.get(name, ())))
                )
            )
            for name, table in METADATA.tables.items()
            if name not in OF_PROCESSES
        }


def initialised(directory: Path, url: str) -> Path:
    """The configuration that `monitor init` writes, with ticks that a test has time for."""
    config = directory / "config.toml"
    options = ("--predictions", "predictions", "--labels", "labels", "--name", MODEL)
    more = ("--reference", str(FLIGHTS / "reference.parquet"), "--output", str(config))
    subprocess.run(monitor("init", "--url", url, *options, *more), check=True, capture_output=True)
    text = config.read_text(encoding="utf-8")
    keys = f'name = "late"\nevery = "{EVERY // HOUR}h"\nmeasures = {MEASURES}\n'
    text = text.replace('name = "late"\n', keys, 1)
    config.write_text(text, encoding="utf-8")
    return config


def load(url: str, name: str, rows: pa.Table) -> None:
    """A table of PostgreSQL, made anew with some rows."""
    plain = url.replace("+psycopg", "")
    with (
        adbc_driver_postgresql.dbapi.connect(plain) as connection,
        connection.cursor() as cursor,
    ):
        cursor.adbc_ingest(name, rows, mode="replace")
        connection.commit()


def cycles_of_postgresql(config: Path, moments: range) -> None:
    """Cycles that nobody disturbs."""
    with open_application(settings_of(config, {}), config.parent) as app:
        for at in moments:
            report = run_single_cycle(app, MODEL, at)
            assert report.error is None, report.error


def compared_with_files(app: App, lake: Lake, audited: int, at: int) -> Compared:
    """Rows of the last cycle beside what pandas, SciPy and scikit-learn make of the files.

    Parameters
    ----------
    audited
        as of of the audit before.
    """
    predictions, labels = (lake.read(name).to_pandas() for name in ("predictions", "labels"))
    labels["revision"] = pd.array([0] * len(labels), "Int64")
    reference = widen_floats(pq.read_table(FLIGHTS / "reference.parquet")).to_pandas()
    spec, result = app.find_spec(MODEL), Compared()
    # The oracle reads predictions that the log has; they are those of the threshold that `init` found.
    predicted = (*spec.predictions.columns, ("prediction", "pred_late"))
    told = replace(spec, predictions=replace(spec.predictions, columns=predicted))
    log = log_of(Tables(predictions, labels, reference), told)
    run = Run(result, log, spec, FIRST)
    run.before = audited
    rows = [stored.row for stored in app.store.current.read_current(MODEL)]
    rows += [one.row for one in app.store.snapshots.read_snapshot_rows(MODEL) if one.as_of == at]
    run.compare(at, rows)
    result.faults = [one for one in result.faults if not any(untold in one for untold in UNTOLD)]
    return result


def test_a_lake_and_postgresql_leave_the_same_store(tmp_path: Path, s3: str, postgres_url: str) -> None:
    lake, chance = Lake(s3), random.Random(7)  # noqa: S311
    writer = Writer(lake, *flights())
    writer.write(FIRST - 16 * DAY, FIRST)
    here, there = tmp_path / "lake", tmp_path / "postgresql"
    here.mkdir()
    there.mkdir()
    config = initialised(here, lake.url)
    text = config.read_text(encoding="utf-8")
    head = '[http]\nport = {port}\n[daemon]\nlease_ttl = "2s"\n[log]\nformat = "json"\n'
    daemon = Daemon(here, free_port())
    config.write_text(head.format(port=daemon.port) + text, encoding="utf-8")
    other = there / "config.toml"
    other.write_text(text.replace(lake.url, postgres_url), encoding="utf-8")
    migrate_store(f"sqlite:///{there / 'monitor.db'}")

    last = FIRST
    for day in range(DAYS + 2):  # the last one is quiet: whatever waited is counted by its end
        at = FIRST + day * DAY
        if 0 < day <= DAYS:
            lake.vacuum()  # of what no cycle needs any more, as a vacuum does that leaves the last days
            writer.write(last, at)
            writer.correct(last + HOUR, day)
            lake.compact()
        daemon.run_until(at, chance)
        for name in TABLES:
            load(postgres_url, name, lake.read(name))
        cycles_of_postgresql(other, range(last + EVERY if day else at, at + 1, EVERY))
        last = at

    stores = [store_of(f"sqlite:///{place / 'monitor.db'}") for place in (here, there)]
    assert stores[0] == stores[1]
    assert all(stores[0][name] for name in ("panes", "snapshot_rows", "details", "entries", "days", "alerts"))
    assert daemon.kills == (DAYS + 2) * KILLS
    with open_application(settings_of(config, {}), here) as app:
        result = compared_with_files(app, lake, last - DAY, last)
    assert result.faults == []
    assert result.measures.total() > 2_000
    told = subprocess.run(
        monitor("alerts", "--config", str(config), "--format", "json"), check=True, capture_output=True
    )
    alerts = json.loads(told.stdout)
    assert [(one["rule"], one["subject"], one["state"]) for one in alerts] == [
        ("changed", "feature:plane_age_yr", "firing")
    ]
