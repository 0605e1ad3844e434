"""Small logs that fit the recipes of the manual, and the recipes themselves, run on them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa
from click.testing import CliRunner
from sqlalchemy.pool import NullPool

from monitor.app.application import open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.store.store_database import migrate_store

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
START = from_iso("2024-01-01")  # a Monday


def section(title: str) -> str:
    """Text below a heading, up to the next one."""
    found = re.search(
        rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", without_comments(PAGE), re.MULTILINE | re.DOTALL
    )
    assert found is not None, title
    return found[1]


def without_comments(text: str) -> str:
    """A page whose fenced lines cannot be taken for headings."""
    return re.sub(
        r"^(```\w+\n.*?^```)$",
        lambda block: block[0].replace("\n#", "\n #"),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def blocks(title: str, kind: str = "toml") -> list[str]:
    """Blocks of a section."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe of the page and the database that it is tried on."""

    title: str
    directory: Path
    url: str

    def configure(self, change: Mapping[str, str] | None = None) -> None:
        """Write the configuration of the page; `change` replaces parts of it."""
        (source,) = re.findall(r"^```toml\n(\[sources\..*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        (text,) = blocks(self.title)
        for old, new in (change or {}).items():
            assert old in text
            text = text.replace(old, new)
        head = f'[store]\nurl = "sqlite:///{self.directory / "monitor.db"}"\n'
        config = head + source.replace("${SERVING_URL}", self.url) + text
        (self.directory / "config.toml").write_text(config, encoding="utf-8")

    def save(self, table: str, frame: pd.DataFrame, **types: Any) -> None:
        """Make a table of the user's; `types` are of columns that pandas does not choose well."""
        engine = sa.create_engine(self.url, poolclass=NullPool)
        with engine.begin() as connection:
            frame.to_sql(table, connection, index=False, dtype=types, if_exists="append")
        engine.dispose()

    def run(self, statement: str) -> None:
        """Run one statement on the user's database."""
        engine = sa.create_engine(self.url, poolclass=NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()

    def check(self, *arguments: str) -> str:
        """What `monitor check` prints of a configuration and tables without faults and warnings."""
        done = CliRunner().invoke(
            main, ["check", "--strict", "--config", str(self.directory / "config.toml"), *arguments]
        )
        assert done.stderr == ""
        assert done.exit_code == 0
        return done.stdout

    def cycle(self, *moments: int) -> "Rows":
        """Run a cycle of every model at each moment; what is current and what was kept then."""
        path = self.directory / "config.toml"
        settings = settings_of(path, {})
        migrate_store(settings.store.url)
        with open_application(settings, self.directory) as app:
            for moment in moments:
                failed = [
                    report.error
                    for name in app.model_names()
                    if (report := run_single_cycle(app, name, moment)).error
                ]
                assert failed == []
            return Rows(app.store.current.read_current(), app.store.snapshots.read_snapshot_rows())


@dataclass(frozen=True, slots=True)
class Rows:
    """Measurements of a store."""

    current: Sequence[StoredMeasurement]
    kept: Sequence[StoredMeasurement]

    def row(
        self,
        measure: str,
        subject: str = "",
        *,
        window: str = "7d",
        truth: LabelTruth = LabelTruth.NONE,
        version: str | None = None,
        segment: str | None = None,
        model: str | None = None,
    ) -> MeasurementRow:
        """The only current row of its kind, of the newest window."""
        wanted = (measure, subject, window, truth, version, segment)
        found = [
            row
            for name, row in ((stored.model, stored.row) for stored in self.current)
            if (row.measure, row.subject, row.window, row.truth, row.version, row.segment) == wanted
            and model in (None, name)
            and not row.against
        ]
        return max(found, key=lambda row: row.window_end)

    def of(self, measure: str, subject: str = "", **slices: Any) -> Measurement:
        """The measurement of that row."""
        return self.row(measure, subject, **slices).measurement

    def value(self, measure: str, subject: str = "", **slices: Any) -> float:
        """Its value, which is there."""
        found = self.of(measure, subject, **slices)
        assert found.value is not None, found.reason
        return found.value

    def shifted(self, **slices: Any) -> set[str]:
        """Subjects, labels apart, whose stability index lies above its critical value."""
        rows = (stored.row for stored in self.current)
        subjects = {row.subject for row in rows if row.measure == "stability_index"} - {"label"}
        return {
            subject
            for subject in subjects
            if self.value("stability_index", subject, **slices)
            > self.value("stability_index_critical", subject, **slices)
        }


def requests(days: int, per_day: int, *, seed: int = 1) -> pd.DataFrame:
    """Requests evenly spaced from the start: id, time, score and two features."""
    n = days * per_day
    return inputs(n, seed).assign(
        request_id=[f"r{at}" for at in range(n)], created_at=moments(START + np.arange(n) * (DAY // per_day))
    )


def inputs(n: int, seed: int) -> pd.DataFrame:
    """Scores and features of requests; the same distribution for every seed."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "score": rng.uniform(size=n).round(4),
            "age": rng.normal(40, 10, n).round(1),
            "plan": rng.choice(["basic", "pro", "team"], n),
        }
    )


def truths(rows: pd.DataFrame, *, seed: int = 2) -> "pd.Series[int]":
    """What became of requests: 1 with the score as its probability."""
    drawn = pd.Series(np.random.default_rng(seed).random(len(rows)), index=rows.index)
    return (drawn < rows["score"]).astype(int)


def moments(us: Any) -> pd.DatetimeIndex:
    """Times of microseconds."""
    return pd.to_datetime(np.asarray(us), unit="us", utc=True)


def training(label: str, n: int = 2_000, *, seed: int = 3) -> pd.DataFrame:
    """Rows of a reference."""
    rows = inputs(n, seed)
    return rows.assign(**{label: truths(rows, seed=seed + 1)})


def outcomes(rows: pd.DataFrame, label: str, delay: Any = "2h") -> pd.DataFrame:
    """Labels of requests, reported after a delay."""
    later = rows["created_at"] + pd.to_timedelta(delay)
    return pd.DataFrame({"request_id": rows["request_id"], label: truths(rows), "reported_at": later})
