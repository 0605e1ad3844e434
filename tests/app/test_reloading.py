"""A configuration that is read again is taken over whole, or not at all; nothing ends the daemon."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from serving import Bench, Database, model, predictions, sqlite_bench

from monitor.app.application import App
from monitor.app.config_reloading import ConfigReloader, success_limits
from monitor.app.model_cycles import DueTicks
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.daemon.health import Health
from monitor.daemon.schedule import Schedule
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.sources import SqlSource
from monitor.specs.settings import Settings

END = from_iso("2024-03-03")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nhorizon = "4d"\nresamples = 20\nreading = { ready_after = "0s" }'
RENAMED = f'formerly = "late"\n{OPTIONS}'


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A day of a log, one model, one cycle done."""
    bench = sqlite_bench(tmp_path, predictions(50, END - DAY, END), model(options=OPTIONS), labelled=END)
    assert bench.cycle(END).error is None
    return bench


@pytest.fixture
def app(bench: Bench) -> Iterator[App]:
    """The application of a daemon on it."""
    with bench.app() as app:
        yield app


def ticks(settings: Settings) -> dict[str, int]:
    return {one.name: one.keys.every for one in settings.models}


def reload(app: App, bench: Bench) -> str:
    """Read the configuration again; the page."""

    def publish(name: str) -> None:
        app.store.current.read_current(name)

    every = ticks(app.settings)
    exposition = Exposition(app.settings.models, SelfMetrics("1", time.time()))
    schedule = Schedule(every, lambda _model, _as_of: None, lambda: END, stopping=threading.Event())
    ConfigReloader(
        app,
        lambda: settings_of(bench.config, {}),
        ticks,
        schedule,
        Health(success_limits(every, None), now=time.monotonic),
        exposition,
        publish,
    )()
    return exposition.render_page()[0].decode()


def successful(page: str) -> bool:
    return "model_monitor_config_last_reload_successful 1.0" in page


def test_a_store_that_fails_while_a_model_is_renamed_leaves_the_old_configuration(
    bench: Bench, app: App
) -> None:
    before = app.settings
    Database(bench.store_url).run("ALTER TABLE provenance RENAME TO elsewhere")
    bench.configure(model("delay", options=RENAMED))

    page = reload(app, bench)

    assert not successful(page)
    assert app.settings is before
    assert app.store.histories.list_runs("late") == ["live"]


def test_a_store_that_cannot_be_read_keeps_no_valid_configuration_from_use(bench: Bench, app: App) -> None:
    Database(bench.store_url).run("ALTER TABLE current_rows RENAME TO elsewhere")
    bench.configure(model(options=OPTIONS.replace("20", "30")))

    page = reload(app, bench)

    assert successful(page)
    assert app.find_spec("late").keys.resamples == 30


def test_of_two_models_both_are_renamed_or_none(bench: Bench, app: App) -> None:
    """The database refuses the second one."""
    bench.configure(model(options=OPTIONS), model("other", options=OPTIONS))
    bench.cycle(END + HOUR)
    Database(bench.store_url).run(
        "CREATE TRIGGER refuse BEFORE UPDATE ON models WHEN new.model = 'another' "
        "BEGIN SELECT RAISE(ABORT, 'refused'); END",
    )
    bench.configure(
        model("delay", options=RENAMED), model("another", options=f'formerly = "other"\n{OPTIONS}')
    )

    page = reload(app, bench)

    assert not successful(page)
    assert {name: app.store.histories.list_runs(name) for name in ("late", "delay", "other")} == {
        "late": ["live"],
        "delay": [],
        "other": ["live"],
    }


def test_a_model_whose_new_name_has_a_reference_of_a_replay_is_renamed(bench: Bench, app: App) -> None:
    bench.configure(model("delay", options=OPTIONS))
    with bench.app() as replay:
        replay.find_cycle_model("delay")  # its reference is read and kept
    bench.configure(model("delay", options=RENAMED))

    page = reload(app, bench)

    assert successful(page)
    assert app.store.histories.list_runs("delay") == ["live"]
    assert len(app.store.references.list_reference_keys("delay")) == 1


def test_a_model_and_a_source_that_left_the_configuration_are_closed_and_dropped(
    bench: Bench, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.configure(model(options=OPTIONS), model("other", options=OPTIONS).replace('"log"', '"second"'))
    config = bench.config
    second = f'[sources.second]\nurl = "{bench.database.url}"\n'
    config.write_text(config.read_text(encoding="utf-8") + second, encoding="utf-8")
    assert successful(reload(app, bench))
    app.find_cycle_model("late")
    app.find_cycle_model("other")
    closed: list[SqlSource] = []

    def close(source: SqlSource) -> None:
        closed.append(source)

    monkeypatch.setattr(SqlSource, "close", close)
    source = app.open_source_once("second")
    bench.configure(model(options=OPTIONS))

    page = reload(app, bench)

    assert successful(page)
    assert closed == [source]
    assert ([*app.source_usage()], [*app._models]) == (["log"], ["late"])


def test_a_cycle_whose_model_is_removed_meanwhile_has_not_failed(app: App) -> None:
    settings = app.settings

    def removed() -> bool:
        app.settings = replace(settings, models=())
        return True  # as if it were stopped: it fails

    report = DueTicks(app).run_tick("late", END + HOUR, stopping=removed)

    assert report is None
    assert DueTicks(app).run_tick("late", END + HOUR, stopping=lambda: False) is None
    assert DueTicks(app)("late", END + HOUR) == []


def test_a_cycle_that_fails_as_it_is_configured_has_failed(app: App) -> None:
    report = DueTicks(app).run_tick("late", END + HOUR, stopping=lambda: True)

    assert report is not None
    assert report.error == "stopped between two chunks"
