"""A server of Spark Connect counts what the local engine counts, in a process of its own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from spark_flights import MOMENTS, flights_in
from spark_servers import cluster, connect_server

from monitor.core.errors import SourceUnavailable
from monitor.sources import open_source
from monitor.specs.model_spec import SourceSpec

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on a cluster of one worker."""
    directory = tmp_path_factory.mktemp("cluster")
    with cluster(directory, workers=1) as started, connect_server(directory, started.master) as found:
        yield found


def test_cycles_by_connect_leave_the_panes_that_the_local_engine_leaves(url: str, tmp_path: Path) -> None:
    flights = flights_in(tmp_path, MOMENTS[1])
    here = flights.cycles(flights.local, tmp_path / "local.db", models=("late",), moments=MOMENTS[:2])

    there = flights.cycles(flights.spark(url), tmp_path / "spark.db", models=("late",), moments=MOMENTS[:2])

    assert there == here
    assert sum(part.labelled for part in there.values()) > 1_000


def test_tables_of_the_catalogue_are_counted_as_files_are(url: str, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    flights = replace(flights_in(tmp_path, MOMENTS[0]), catalogue="serving")
    with SparkSession.builder.remote(url).create() as session:
        session.sql(f"CREATE DATABASE serving LOCATION '{tmp_path}/serving'")
        for name in ("predictions", "labels"):
            rows = f"SELECT * FROM parquet.`{flights.file(name)}`"
            session.sql(f"CREATE TABLE serving.{name} USING parquet AS {rows}")

    here = flights.cycles(flights.local, tmp_path / "local.db", models=("late",), moments=MOMENTS[:1])
    there = flights.cycles(flights.spark(url), tmp_path / "spark.db", models=("late",), moments=MOMENTS[:1])

    assert there == here
    assert sum(part.labelled for part in there.values()) > 1_000


def test_a_server_that_does_not_answer_is_unavailable_and_its_token_is_not_told(tmp_path: Path) -> None:
    spec = SourceSpec(name="log", url="sc://127.0.0.1:9/;token=s3cret", engine="spark")

    with pytest.raises(SourceUnavailable) as raised, open_source(spec).reader.open_session() as session:
        session.read_rows("SELECT 1")

    assert str(raised.value).startswith("sc://127.0.0.1:9 does not answer")
    assert "s3cret" not in str(raised.value)


def test_a_session_whose_server_does_not_answer_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = []

    def created(builder: Any) -> Any:
        sessions.append(create(builder))
        return sessions[-1]

    from pyspark.sql import SparkSession

    create = SparkSession.Builder.create
    monkeypatch.setattr(SparkSession.Builder, "create", created)
    source = open_source(SourceSpec(name="log", url="sc://127.0.0.1:9", engine="spark"))

    with pytest.raises(SourceUnavailable), source.reader.open_session():
        pass

    assert [session.client.is_closed for session in sessions] == [True]
