"""A real cluster, master and two workers, counts what the local engine counts: all with ==."""

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_flights import LAST, MODELS, Flights, flights_in
from spark_servers import Cluster, cluster

from monitor.core.clock import HOUR, to_datetime
from monitor.core.errors import SourceError
from monitor.records.pane import PaneHalf
from monitor.sources import open_source
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import Relation, SourceSpec
from monitor.specs.read_ranges import pane_ranges

sys.path.insert(0, str(Path(__file__).parents[1] / "sources"))
from flight_models import AS_OF, READING, START, counting_of, model_of

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
        source = app.open_source_once("log")
        lost = replace(app.find_spec("late").predictions, table="nowhere")
        with pytest.raises(SourceError, match="nowhere"):
            source.list_columns(replace(app.find_spec("late"), predictions=lost))


TIMES = {
    "timestamp": (pa.timestamp("us", "UTC"), None, "UTC"),
    "naive": (pa.timestamp("us"), None, "UTC"),
    "naive in Vienna": (pa.timestamp("us"), None, "Europe/Vienna"),
    "milliseconds": (pa.int64(), "ms", "UTC"),
    "decimal seconds": (pa.decimal128(20, 3), "s", "UTC"),
    "text": (pa.string(), None, "UTC"),
}


@pytest.mark.parametrize("kind", TIMES)
def test_whatever_the_columns_are_workers_count_what_is_counted_of_their_rows_here(
    kind: str, running: Cluster, tmp_path: Path
) -> None:
    type_, unit, zone = TIMES[kind]
    reading = replace(READING, zone=zone, time_units=(("event_time", unit),) if unit else ())
    pq.write_table(odd_rows(type_, unit), tmp_path / "odd.parquet")
    relation = Relation(
        table=str(tmp_path / "odd.parquet"),
        columns=(
            ("id", "id"), ("id:1", "part"), ("event_time", "event_time"), ("score", "score"),
            ("prediction", "late"), ("feature:temp", "temp"), ("feature:carrier", "carrier"),
        ),
    )  # fmt: skip
    model = model_of(reading=reading, predictions=relation, labels=Relation(columns=(("label", "late"),)))
    source = open_source(SourceSpec(name="odd", url=running.url, engine="spark"))
    span, panes = (START - HOUR, START + 9 * HOUR), np.arange(START - HOUR, START + 9 * HOUR, HOUR)
    for part in PaneHalf:
        arguments = (model, part, [span], counting_of(reading))
        there = source.count_panes(*arguments, panes=panes, as_of=AS_OF)
        here = SqlSource.count_panes(source, *arguments, panes=panes, as_of=AS_OF)

        assert list(there.parts) == list(here.parts)
        assert there.missing == here.missing
        assert sum(one.records for one in there.parts) == 150


def odd_rows(type_: pa.DataType, unit: str | None) -> pa.Table:
    """Three hundred rows a minute apart, some twice, of types that databases seldom have."""
    at = np.arange(300)
    us = START + at * 60_000_000 + 500_000
    factor = {None: 1, "ms": 1_000, "s": 1_000_000}[unit]
    if pa.types.is_string(type_):
        event = pa.array([to_datetime(one).isoformat() for one in us.tolist()])
    elif pa.types.is_decimal(type_):
        event = pa.array([Decimal(one) / factor for one in us.tolist()], type_)
    else:
        event = pa.array(us // factor).cast(type_)
    score = pa.array([None, "NaN", "0.5", "x", " 0.25 ", "1e-3"] * 50)
    temp = pa.array([np.nan, np.inf, -np.inf, None, 1e300, 3.5] * 50, pa.float32())
    return pa.table(
        {
            "id": pa.array([Decimal(one) for one in (at // 2).tolist()], pa.decimal128(10, 2)),
            "part": pa.array(["a,b"] * 300),
            "event_time": event,
            "score": score,
            "late": pa.array((at % 2).astype(bool)),
            "temp": temp,
            "carrier": pa.array([1.0, 2.5, None] * 100),
        }
    )


def test_a_worker_killed_in_mid_count_changes_nothing(
    flights: Flights, running: Cluster, tmp_path: Path
) -> None:
    starts = list(range(LAST - 39 * 24 * HOUR, LAST, HOUR))
    panes, ranges = np.asarray(starts), pane_ranges(starts, HOUR)
    killed: list[float] = []
    with flights.wired(flights.local, tmp_path / "store.db") as app:
        monitored = app.find_cycle_model(MODELS[0])
        grids, spec, source = monitored.counting, monitored.spec, open_source(flights.spark(running.url))
        killing = threading.Thread(target=kill_when_it_counts, args=(running, killed))
        killing.start()
        for part in PaneHalf:
            there = source.count_panes(flights.model(spec), part, ranges, grids, panes=panes, as_of=LAST)
            done = time.monotonic()
            here = app.open_source_once("log").count_panes(spec, part, ranges, grids, panes=panes, as_of=LAST)

            assert killed, "no worker was killed while rows were counted"
            assert killed[0] < done
            assert list(there.parts) == list(here.parts)
            assert there.rows == here.rows
        killing.join()


def kill_when_it_counts(running: Cluster, killed: list[float]) -> None:
    """Kill the first worker once the second stage of counting runs: rows are read, and counted now.

    Active tasks are no sign: Spark notes them each 100 ms at most, and one that begins with its stage never.
    """
    from pyspark import SparkContext

    tracker, seen = SparkContext.getOrCreate().statusTracker(), set[int]()
    until = time.monotonic() + 120
    while time.monotonic() < until:
        stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
        seen.update(one.stageId for one in stages if one is not None and one.name.startswith("toArrow"))
        if len(seen) > 1:
            running.kill_a_worker()
            killed.append(time.monotonic())
            return
        time.sleep(0.005)
