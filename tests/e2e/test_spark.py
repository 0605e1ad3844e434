"""A real cluster, master and two workers, counts what the local engine counts: all with ==."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from spark_flights import LAST, MODELS, Flights, flights_in
from spark_servers import Cluster, cluster

from monitor.core.clock import HOUR
from monitor.core.errors import SourceError
from monitor.pipeline.dirty import ranges_of
from monitor.records.pane import CountedPanes
from monitor.sources import open_source
from monitor.specs.rows import Part

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Flights:
    """The flights of forty days."""
    return flights_in(tmp_path_factory.mktemp("flights"))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def test_cycles_leave_the_panes_that_the_local_engine_leaves(
    flights: Flights, running: Cluster, tmp_path: Path
) -> None:
    here = flights.cycles(flights.local, tmp_path / "local.db")
    there = flights.cycles(flights.spark(running.url), tmp_path / "spark.db")

    assert {key for key in here if key not in there or here[key] != there[key]} == set()
    assert there.keys() == here.keys()
    assert sum(part.labelled for part in there.values()) > 10_000


def test_a_table_that_is_not_there_is_named(flights: Flights, running: Cluster, tmp_path: Path) -> None:
    with flights.wired(flights.spark(running.url), tmp_path / "store.db") as app:
        source = app.source("log")
        lost = replace(app.spec("late").predictions, table="nowhere")
        with pytest.raises(SourceError, match="nowhere"):
            source.columns(replace(app.spec("late"), predictions=lost))


def test_a_worker_killed_in_mid_count_changes_nothing(
    flights: Flights, running: Cluster, tmp_path: Path
) -> None:
    with flights.wired(flights.local, tmp_path / "store.db") as app:
        monitored = app.monitored(MODELS[0])
        starts = list(range(LAST - 39 * 24 * HOUR, LAST, HOUR))
        panes, ranges = np.asarray(starts), ranges_of(starts, HOUR)
        source = open_source(flights.spark(running.url))
        kept: list[CountedPanes] = []
        for part in Part:
            killing = threading.Thread(target=kill_when_it_counts, args=(running,))
            if part is Part.RECORDS:
                killing.start()
            counted = source.counted(
                flights.model(monitored.spec), part, ranges, monitored.counting, panes=panes, as_of=LAST
            )
            kept.append(counted)
            here = app.source("log").counted(
                monitored.spec, part, ranges, monitored.counting, panes=panes, as_of=LAST
            )
            assert list(counted.parts) == list(here.parts)
            assert counted.rows == here.rows

    assert running.workers[0].poll() is not None


def kill_when_it_counts(running: Cluster) -> None:
    """Kill the first worker once a job of counting has begun."""
    from pyspark import SparkContext

    tracker = SparkContext.getOrCreate().statusTracker()
    until = time.monotonic() + 120
    while not tracker.getActiveStageIds() and time.monotonic() < until:
        time.sleep(0.01)
    running.kill_a_worker()
