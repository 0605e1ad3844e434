"""A replay that is stopped and goes on leaves, row by row, what one leaves that nobody disturbs."""

import random
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from crashes import EVERY, Contents, Crashes, Stop, contents, differences, write_log

from monitor.app.model_cycles import replay_model
from monitor.core.clock import HOUR

TICKS, LONG = 3, 60
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Directory of a log, and a moment within it."""
    directory = tmp_path_factory.mktemp("replays")
    return directory, write_log(directory, TICKS)


def made(log: tuple[Path, int], name: str, url: str = "") -> Crashes:
    directory, first = log
    return Crashes(directory / name, url or f"sqlite:///{directory / name}.db", first)


@pytest.fixture(scope="module")
def whole(log: tuple[Path, int]) -> Contents:
    """What nobody disturbs: 29 cycles, an hour apart; the audit runs in the first and in the 25th."""
    return made(log, "whole").replayed(log[1], ())


def random_stops(rng: random.Random, many: int) -> list[Stop]:
    ticks = sorted(rng.randrange(29) for _ in range(many))
    return [Stop(at, rng.uniform(0.0, 0.2), rng.choice(SIGNALS)) for at in ticks]


def test_a_replay_that_is_stopped_by_any_signal_leaves_the_same_rows(
    log: tuple[Path, int], whole: Contents
) -> None:
    stopped = made(log, "stopped")

    left = stopped.replayed(log[1], [Stop(at, 0, by) for at, by in zip((2, 10, 25), SIGNALS, strict=True)])

    assert differences(whole, left) == {}
    assert stopped.kills > 1  # the last one may have come to its end
    assert all(whole[table] for table in ("current", "snapshots", "alerts"))


@pytest.mark.slow
def test_a_replay_that_is_stopped_after_each_tick_leaves_the_same_rows(log: tuple[Path, int]) -> None:
    once, often = made(log, "once"), made(log, "often")
    start, end = log[1] - 29 * HOUR, log[1] + TICKS * EVERY

    found = [walked(one, start, end, at_once) for one, at_once in ((once, 1_000), (often, 1))]

    assert differences(*found) == {}


def test_current_values_of_a_stopped_replay_hold_the_figures_of_its_last_audit(log: tuple[Path, int]) -> None:
    """A daemon that goes on between two audits exposes them too."""
    stopped = made(log, "figures")

    with stopped.bench.app() as app:
        _, reports = replay_model(app, "late", log[1] - 5 * HOUR, log[1], HOUR)
        for _ in range(2):
            next(reports)
    with stopped.bench.app() as app:
        measures = {
            stored.row.measure: (stored.as_of, stored.row.window_end)
            for stored in app.store.current.read_current()
        }

    assert measures["orphan_labels"] == (log[1] // HOUR * HOUR - 3 * HOUR, log[1] // HOUR * HOUR - 4 * HOUR)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_a_replay_that_is_stopped_again_and_again_leaves_the_same_rows(
    engine: str, seed: int, log: tuple[Path, int], whole: Contents, request: pytest.FixtureRequest
) -> None:
    url = "" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    stopped = made(log, f"{engine}{seed}", url)
    stops = random_stops(random.Random(seed), 12)  # noqa: S311 -- moments, no secrets

    assert differences(whole, stopped.replayed(log[1], stops)) == {}
    assert stopped.kills > 0


def walked(one: Crashes, start: int, end: int, at_once: int) -> Contents:
    """Replay in this process, so many ticks for each opening of the store."""
    moments: Sequence[int] = [start]
    while moments:
        with one.bench.app() as app:
            moments, reports = replay_model(app, "late", start, end, HOUR)
            for report, _ in zip(reports, range(at_once), strict=False):
                assert report.error is None, report.error
    return contents(one.store_url)
