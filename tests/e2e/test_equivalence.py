"""The same log gives the same panes and measurements, whatever the way: all with ==.

Daily cycles against one cycle as of the last day, batches of 1,000 and of 50,000 rows, SQLite and PostgreSQL
as source and as store, ADBC and fetchmany. With cycles a day apart no pane waits for more labels: a day is
the longest that one is left waiting, so that every cycle counts all that changed.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from crashes import CHANNEL, Contents, contents
from keyed_models import with_changes
from spark_flights import write_flights

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, from_iso, ticks_between, to_datetime
from monitor.demo.load_flights import load_logs
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.model_spec import SourceSpec
from monitor.store.store_database import migrate_store
from monitor.windows.window_ends import parse_window

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
CONFIG = Path(__file__).with_name("oracle_flights.toml")
MODELS = ("late", "delay")
FIRST, EARLY, LAST = from_iso("2013-03-01"), from_iso("2013-03-11"), from_iso("2013-04-05")
WINDOWS = (parse_window("1d", HOUR), parse_window("7d", HOUR), parse_window("30d", HOUR))
WATCHED = 'windows = [{ length = "1d", step = "1d" }, { length = "7d", step = "1d" }]'
RULES = """
[[models.alerts]]
name = "moved"
measure = "stability_index"
subject = "feature:*"
window = "1d"
above = "critical"
and_above = 0.1
for = "1d"
"""
PaneKey = tuple[str, PaneHalf, int]
Content = tuple[object, ...]


class Result(NamedTuple):
    """What a store holds as of the last day: panes with rows, and measurements of the same windows."""

    panes: dict[PaneKey, Content]
    empty: set[PaneKey]
    rows: dict[str, list[MeasurementRow]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flights of the first 35 days, and the reference."""
    directory = tmp_path_factory.mktemp("flights")
    write_flights(directory, LAST)
    return directory


@pytest.fixture(scope="module")
def sqlite_log(files: Path) -> str:
    """URL of the log in a SQLite file."""
    url = f"sqlite:///{files / 'log.db'}"
    load_logs(url, files)
    return url


@pytest.fixture(scope="module")
def at_once(files: Path, sqlite_log: str) -> Result:
    """What one cycle as of the last day leaves: batches of 20,000 rows by ADBC, SQLite as store."""
    return run(files, sqlite_log, f"sqlite:///{files / 'at_once.db'}", [LAST])


@contextmanager
def wired(files: Path, source: str, store: str, **options: int) -> Iterator[App]:
    """The application on a log and a store, with source options; no window is measured on the way."""
    migrate_store(store)
    settings = settings_of(CONFIG, {"SOURCE": source, "STORE": store})
    sources = tuple(replaced(one, options) for one in settings.sources)
    models = tuple(with_changes(one, windows=(), resamples=50) for one in settings.models)
    with open_application(replace(settings, sources=sources, models=models), files) as app:
        yield app


def replaced(source: SourceSpec, options: dict[str, int]) -> SourceSpec:
    return replace(source, batch_rows=options.get("batch_rows", source.batch_rows), audit=7 * DAY)


def run(files: Path, source: str, store: str, moments: list[int], **options: int) -> Result:
    """Run cycles of all models; then look at the panes and windows."""
    with wired(files, source, store, **options) as app:
        failures = [run_single_cycle(app, name, moment).error for name in MODELS for moment in moments]
        assert set(failures) == {None}
        for name in MODELS:
            app.prepare_model(name)[1].panes.load_since(FIRST)
        return looked_at(app, moments[-1])


def looked_at(app: App, last: int) -> Result:
    """All panes of a store, decoded, and windows up to the last day, measured."""
    panes: dict[PaneKey, Content] = {}
    empty: set[PaneKey] = set()
    rows = {}
    for name in MODELS:
        monitored, caches = app.prepare_model(name)
        assert app.store.panes.read_waiting_panes(name) == []
        for part in PaneHalf:
            starts = [one.start for one in app.store.panes.read_pane_facts(name, FIRST) if one.part is part]
            for start, pane in app.store.panes.load_panes(name, part, starts, monitored.counting).items():
                if pane.rows:
                    panes[name, part, start] = content(pane)
                else:
                    empty.add((name, part, start))
        rows[name] = [
            row
            for window in WINDOWS
            for settled in [None if caches.last is None else caches.last.settled.get(window.name)]
            for measured in [
                WindowMeasures(monitored, caches, window, FIRST, np.empty(0, np.int64), settled=settled)
            ]
            for end in (last, last - 3 * DAY)
            for row in (
                *measured.measure_without_labels(end),
                *measured.measure_with_labels(end, LabelTruth.PROVISIONAL),
            )
        ]
    return Result(panes, empty, rows)


def content(pane: PanePart) -> Content:
    """All that a pane holds, comparable."""
    strata = {
        stratum: (counters.index.tolist(), counters.value.tolist())
        for stratum, counters in pane.strata.items()
    }
    return pane.rows, pane.newest, pane.records, pane.labelled, pane.checksum, strata


def require_equal(found: Result, expected: Result) -> None:
    """Equal panes, but for those without a row; equal measurements."""
    differing = [
        (name, part.value, to_datetime(start).isoformat())
        for name, part, start in sorted(found.panes.keys() | expected.panes.keys())
        if found.panes.get((name, part, start)) != expected.panes.get((name, part, start))
    ]
    assert differing == []
    assert found.rows == expected.rows


@pytest.fixture(scope="module")
def early(files: Path, sqlite_log: str) -> Result:
    """The same after ten days: for what does not depend on how long the log is."""
    return run(files, sqlite_log, f"sqlite:///{files / 'early.db'}", [EARLY])


def test_the_log_is_worth_comparing(at_once: Result) -> None:
    assert len(at_once.panes) > 2_400
    assert all(len(rows) > 500 for rows in at_once.rows.values())


def test_daily_cycles_leave_what_one_cycle_as_of_the_last_day_leaves(
    files: Path, sqlite_log: str, at_once: Result
) -> None:
    daily = run(files, sqlite_log, f"sqlite:///{files / 'daily.db'}", ticks_between(FIRST, LAST, DAY))

    require_equal(daily, at_once)
    assert at_once.empty <= daily.empty | daily.panes.keys()


@pytest.mark.long
def test_cycles_of_uneven_length_leave_the_same(files: Path, sqlite_log: str, at_once: Result) -> None:
    """Also in the middle of the hour; the last cycle comes a week later, and counts all that waited."""
    moments = [*ticks_between(FIRST, LAST - 8 * DAY, 77 * HOUR + HOUR // 3), LAST]

    uneven = run(files, sqlite_log, f"sqlite:///{files / 'uneven.db'}", moments)

    require_equal(uneven, at_once)


@pytest.mark.parametrize("rows", [1_000, 50_000])
def test_batches_of_any_size_give_the_same(rows: int, files: Path, sqlite_log: str, early: Result) -> None:
    found = run(files, sqlite_log, f"sqlite:///{files / f'batch{rows}.db'}", [EARLY], batch_rows=rows)

    require_equal(found, early)


@pytest.mark.parametrize("rows", [1_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_fetchmany_gives_the_same_as_arrow(rows: int, files: Path, sqlite_log: str, early: Result) -> None:
    store = f"sqlite:///{files / f'fetchmany{rows}.db'}"

    found = run(files, f"{sqlite_log}?reader=fetchmany", store, [EARLY], batch_rows=rows)

    require_equal(found, early)


@pytest.mark.postgres
def test_postgresql_as_source_and_store_gives_the_same(files: Path, postgres_url: str, early: Result) -> None:
    load_logs(postgres_url, files)

    arrow = run(files, postgres_url, postgres_url, [EARLY])

    require_equal(arrow, early)


@pytest.mark.slow
@pytest.mark.postgres
def test_postgresql_gives_the_same_in_small_batches_and_by_rows(
    files: Path, postgres_url: str, early: Result
) -> None:
    load_logs(postgres_url, files)

    small = run(files, postgres_url, f"sqlite:///{files / 'postgres1000.db'}", [EARLY], batch_rows=1_000)
    rows = run(files, f"{postgres_url}?reader=fetchmany", f"sqlite:///{files / 'postgres.db'}", [EARLY])

    require_equal(small, early)
    require_equal(rows, early)


@pytest.mark.slow
@pytest.mark.postgres
def test_postgresql_as_store_holds_what_a_replay_leaves(
    files: Path, sqlite_log: str, postgres_url: str, early: Result
) -> None:
    found = run(files, sqlite_log, postgres_url, ticks_between(FIRST, EARLY, DAY))

    require_equal(found, early)


@pytest.mark.long
@pytest.mark.postgres
def test_alerts_and_notices_are_the_same_whatever_the_way(
    files: Path, sqlite_log: str, postgres_url: str
) -> None:
    load_logs(postgres_url, files)
    expected = told(files, sqlite_log, f"sqlite:///{files / 'told.db'}")

    found = {
        "small batches": told(files, sqlite_log, f"sqlite:///{files / 'told_small.db'}", batch_rows=1_000),
        "rows": told(files, f"{sqlite_log}?reader=fetchmany", f"sqlite:///{files / 'told_rows.db'}"),
        "PostgreSQL": told(files, postgres_url, postgres_url),
    }

    assert found == dict.fromkeys(found, expected)
    assert len(expected["alerts"]) > 5
    assert len(expected["outbox"]) > 1  # what begins in one cycle is one notice


def told(files: Path, source: str, store: str, **options: int) -> Contents:
    """Alerts and notices that daily cycles leave, with the default rules and one of each feature."""
    text = re.sub("^windows = .*", WATCHED, CONFIG.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = text.replace("default_alerts = false", "default_alerts = true")
    config = files / "told.toml"
    config.write_text(
        CHANNEL + text.replace("\n[models.features]", f"{RULES}\n[models.features]", 1), "utf-8"
    )
    migrate_store(store)
    settings = settings_of(config, {"SOURCE": source, "STORE": store})
    sources = tuple(replaced(one, options) for one in settings.sources)
    models = tuple(with_changes(one, against=(), resamples=20) for one in settings.models)
    with open_application(replace(settings, sources=sources, models=models), files) as app:
        for moment in ticks_between(FIRST + 4 * DAY, EARLY, DAY):
            assert {run_single_cycle(app, name, moment).error for name in MODELS} == {None}
    return {name: rows for name, rows in contents(store).items() if name in ("alerts", "incidents", "outbox")}
