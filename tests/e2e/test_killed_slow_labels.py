"""Labels of one to two weeks whose relation to scores drifts: killed daemons and a replay find the same."""

import random

import numpy as np
import pytest
from crash_logs import late_predictions
from crashes import Contents, contents, differences
from serving import Bench, Database, Row, create_tables, model
from test_killed_days import CHANNEL, HEAD, JUDGED, Life

from monitor.app.clocks import system_clock
from monitor.app.model_cycles import replay_model
from monitor.core.clock import DAY, HOUR, SECOND, floor_to, from_iso, to_iso
from monitor.store.store_database import migrate_store

DAYS, DRIFT, PER_DAY, KILLS = 66, 54, 120, 4
OPTIONS = """
every = "1d"
pane = "1d"
windows = [{ length = "7d", step = "1d" }]
horizon = "40d"
resamples = 1
measures = ["values"]
reading = { overlap = "1h", tolerance = "5s", ready_after = "0s" }
"""


def slow_labels(rows: list[Row], since: int) -> list[Row]:
    """Labels after 6 to 14 days; from a day on a third of those without the outcome have it."""
    rng = np.random.default_rng(5)
    delays = (rng.uniform(6.0, 14.0, len(rows)) * DAY).astype(np.int64) // SECOND * SECOND
    chance = np.asarray([row["score"] for row in rows])
    at = np.asarray([from_iso(row["event_time"]) for row in rows])
    late = (rng.random(len(rows)) < chance) | ((at >= since) & (rng.random(len(rows)) < 0.33))
    return [
        {"id": row["id"], "late": int(one), "reported_at": to_iso(int(when))}
        for row, one, when in zip(rows, late.tolist(), (at + delays).tolist(), strict=True)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """A model that nobody disturbs, over a log whose relation drifts in its last weeks."""
    directory = tmp_path_factory.mktemp("slow_labels")
    now = floor_to(system_clock(), DAY)
    start = now - DAYS * DAY
    rows = late_predictions(PER_DAY * DAYS, start, now, longest=3 * HOUR)
    log = Database(f"sqlite:///{directory / 'log.db'}")
    create_tables(log)
    log.insert("predictions", rows)
    log.insert("labels", slow_labels(rows, start + DRIFT * DAY))
    store_url = f"sqlite:///{directory / 'whole.db'}"
    made = Life(directory / "whole", store_url, log, start + 2 * DAY, OPTIONS, DAY)
    made.ticks(*range(made.first + DAY, now + 1, DAY))
    return made


@pytest.fixture(scope="module")
def expected(whole: Life) -> Contents:
    """What it leaves: the drift is told before its labels are in."""
    found = contents(whole.store_url)
    (notice,), told = found["outbox"], found["alerts"]
    assert '"kind": "labels_so_far"' in notice
    assert [("performance_changed" in alert, "firing" in alert) for alert in told] == [(True, True)]
    return found


def lived(whole: Life, name: str, store_url: str, daemons: int, seed: int) -> Contents:
    """What daemons leave that run all missed days, killed again and again in the midst of a cycle."""
    life = Life(whole.directory.parent / name, store_url, whole.log, whole.first, OPTIONS, DAY)
    life.daemons(daemons, KILLS, random.Random(seed))  # noqa: S311 -- moments, no secrets
    assert (life.as_of, life.kills) == (whole.as_of, KILLS)
    assert life.inside > 0
    return contents(store_url)


@pytest.mark.slow
def test_a_killed_daemon_tells_a_drift_whose_labels_are_coming_in_as_one_that_nobody_kills(
    whole: Life, expected: Contents
) -> None:
    store_url = f"sqlite:///{whole.directory.parent / 'killed.db'}"

    assert differences(expected, lived(whole, "killed", store_url, 1, 7)) == {}


@pytest.mark.long
@pytest.mark.postgres
def test_killed_replicas_tell_the_same(whole: Life, expected: Contents, postgres_url: str) -> None:
    migrate_store(postgres_url)

    found = differences(expected, lived(whole, "replicas", postgres_url, 2, 8))

    assert {name: many for name, many in found.items() if name in JUDGED} == {}


@pytest.mark.slow
def test_a_replay_of_the_same_days_finds_the_same_and_tells_at_its_end_what_fires(
    whole: Life, expected: Contents
) -> None:
    place = whole.directory.parent / "replay"
    place.mkdir()
    bench = Bench(place, whole.log, f"sqlite:///{place / 'replay.db'}")
    bench.configure(HEAD, CHANNEL, model(options=OPTIONS))
    migrate_store(bench.store_url)
    with bench.app() as app:
        moments, reports = replay_model(app, "late", whole.first - DAY, whole.as_of, DAY)
        assert [report.error for report in reports] == [None] * len(moments)

    found = contents(bench.store_url)

    # Nobody is told of a drift of the past as it was found: of one that still fires at the end of it.
    assert set(differences(expected, found)) == {"events", "outbox"}
    (then,), (at_the_end,) = expected["outbox"], found["outbox"]
    (address,) = (text for text in then.split("'") if text.endswith("-performance"))
    assert f"'{address}', 'opened', 'dead', {whole.as_of}" in at_the_end
