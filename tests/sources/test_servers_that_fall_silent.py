"""Servers that accept and never answer, or fall silent in mid-query: who reads is freed in time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from flight_models import COLUMNS, START, model_of, rows_of
from silent_servers import proxy, silent
from source_databases import Database

from monitor.core.clock import DAY, SECOND
from monitor.core.errors import SourceUnavailable
from monitor.sources import SqlSource, open_source
from monitor.sources.engines import mysql
from monitor.sources.engines.readers import postgres_copy
from monitor.specs import deadlines
from monitor.specs.model_spec import SourceSpec

WEEK = [(START, START + 7 * DAY)]
SOON = 12.0  # seconds: of limits of two, on a busy machine
KINDS = [
    pytest.param("postgres-adbc", marks=pytest.mark.postgres),
    pytest.param("postgres-fetchmany", marks=pytest.mark.postgres),
    pytest.param("mariadb-fetchmany", marks=pytest.mark.mariadb),
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (deadlines, postgres_copy, mysql):
        monkeypatch.setattr(module, "CONNECTED", 1.0)
    monkeypatch.setitem(deadlines._OPTIONS, "connect_timeout", "2")


@contextmanager
def opened(url: str, kind: str, *, connections: int = 2) -> Iterator[SqlSource]:
    spec = SourceSpec(name="hung", url=url, statement_timeout=SECOND, max_connections=connections)
    source = open_source(spec, reader=kind.partition("-")[2])
    try:
        yield source
    finally:
        source.close()


def unanswered(read: Callable[[], object]) -> str:
    """What is said of a read that is given up in time."""
    began = time.monotonic()
    with pytest.raises(SourceUnavailable, match="does not answer") as caught:
        read()
    assert time.monotonic() - began < SOON
    return str(caught.value)


@pytest.mark.parametrize("url", ["postgresql", "postgresql+psycopg", "mysql"])
def test_a_server_that_accepts_and_never_answers_is_given_up(url: str) -> None:
    reader = "adbc" if url == "postgresql" else "fetchmany"
    with silent() as port, opened(f"{url}://ann:s3cret@127.0.0.1:{port}/app", f"any-{reader}") as source:
        told = unanswered(lambda: source.read_records(model_of(), WEEK))

    assert "s3cret" not in told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [None, 3_000, pytest.param(60_000, marks=pytest.mark.long)])
def test_a_server_that_falls_silent_is_given_up_and_found_again(
    make_database: Callable[[str], Database], kind: str, after: int | None
) -> None:
    database = make_database(kind)
    database.create("predictions", COLUMNS, rows_of(5_000))
    with proxy(database.url) as way, opened(way.url(database.url), kind) as source:
        before = source.read_records(model_of(), WEEK)

        way.hold(after)
        unanswered(lambda: source.read_records(model_of(), WEEK))
        silence = source.usage.silent
        way.forward()

        assert source.read_records(model_of(), WEEK).equals(before)
        assert silence > 0
        assert source.usage.silent == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_stands_still_is_given_up(make_database: Callable[[str], Database], kind: str) -> None:
    database = make_database(kind)
    database.create("predictions", COLUMNS, rows_of(20_000))
    with proxy(database.url) as way, opened(way.url(database.url), kind) as source:
        model, bounds = model_of(), (START - 400 * DAY, START + 400 * DAY)

        def changed() -> int:
            return sum(
                table.num_rows
                for table in source.read_changed_records(
                    model, since=START - 300 * DAY, as_of=START + 300 * DAY, bounds=bounds
                )
            )

        assert changed() == 20_000
        way.hold(after=100_000)
        unanswered(changed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_silent_server_frees_every_thread_that_waits_for_a_connection(
    make_database: Callable[[str], Database], kind: str
) -> None:
    database = make_database(kind)
    database.create("predictions", COLUMNS, rows_of(10))
    told: list[str] = []

    def read() -> None:
        try:
            source.read_records(model_of(), WEEK)
        except SourceUnavailable as error:
            told.append(str(error))

    with proxy(database.url) as way, opened(way.url(database.url), kind, connections=1) as source:
        source.read_records(model_of(), WEEK)
        way.hold()
        threads = [threading.Thread(target=read, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(3 * SOON)

        assert len(told) == 3


@pytest.mark.postgres
def test_what_frees_one_connection_leaves_the_others_alone(make_database: Callable[[str], Database]) -> None:
    database = make_database("postgres-adbc")
    database.create("predictions", COLUMNS, rows_of(10))
    with (
        proxy(database.url) as way,
        opened(way.url(database.url), "postgres-adbc") as hung,
        database.source().open_session() as session,
    ):
        hung.read_records(model_of(), WEEK)
        way.hold()
        unanswered(lambda: hung.read_records(model_of(), WEEK))

        assert session.read_rows("SELECT 1 AS one") == [(1,)]
