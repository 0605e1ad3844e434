"""A database that goes away, is locked, or is none: what is said, and that it is found again."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import servers
from flight_models import COLUMNS, LABEL_COLUMNS, PREDICTIONS, START, model_of, rows_of
from source_databases import Database
from sqlalchemy import make_url

from monitor.core.clock import DAY, SECOND
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.sources import SqlSource, open_source
from monitor.sources.engines import sqlite
from monitor.sources.engines.readers import fetchmany, postgres_copy
from monitor.specs.model_spec import Relation, SourceSpec

WEEK = [(START, START + 7 * DAY)]
READERS = ["adbc", "fetchmany"]
LOCK = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


def opened(url: str, reader: str | None = None) -> SqlSource:
    return open_source(SourceSpec(name="source", url=url), reader=reader)


def test_a_file_that_is_moved_away_and_back_is_found_again(sqlite_database: Database, tmp_path: Path) -> None:
    sqlite_database.create("predictions", COLUMNS, rows_of(10))
    source, file = sqlite_database.source(), Path(sqlite_database.url.removeprefix("sqlite:///"))
    before = source.read_records(model_of(), WEEK)

    file.rename(tmp_path / "away")
    with pytest.raises(SourceUnavailable, match=r"sqlite:.*there is no file"):
        source.read_records(model_of(), WEEK)
    (tmp_path / "away").rename(file)

    assert source.read_records(model_of(), WEEK).equals(before)


def test_reading_never_makes_a_file(tmp_path: Path) -> None:
    for reader in READERS:
        with pytest.raises(SourceUnavailable):
            opened(f"sqlite:///{tmp_path}/none.db", reader).read_records(model_of(), WEEK)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path, reader: str) -> None:
    (tmp_path / "text.db").write_text("no database at all\n" * 1_000)

    with pytest.raises(SourceUnavailable, match="file is not a database"):
        opened(f"sqlite:///{tmp_path}/text.db", reader).read_records(model_of(), WEEK)


def test_a_locked_file_is_unavailable_until_it_is_released(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_TIMEOUT_MS", 50)
    sqlite_database.create("predictions", COLUMNS, rows_of(10))
    source, file = sqlite_database.source(), sqlite_database.url.removeprefix("sqlite:///")

    with subprocess.Popen(
        [sys.executable, "-c", LOCK, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(SourceUnavailable, match="database is locked"):
            source.read_records(model_of(), WEEK)
        other.communicate()

    assert source.read_records(model_of(), WEEK).num_rows == 10


@pytest.mark.parametrize("reader", READERS)
def test_a_server_that_does_not_listen_is_named_without_its_password(reader: str) -> None:
    url = f"postgresql://ann:s3cr%40t@127.0.0.1:{servers.free_port()}/app?sslpassword=hidden"

    with pytest.raises(
        SourceUnavailable, match=r"postgresql.*://ann:\*\*\*@127.0.0.1:\d+/app does not answer"
    ) as caught:
        opened(url, reader).read_records(model_of(), WEEK)

    told = f"{caught.value}{opened(url, reader)!r}"
    assert "s3cr" not in told
    assert "hidden" not in told


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_a_server_that_was_restarted_is_found_again(
    make_database: Callable[[str], Database], reader: str
) -> None:
    database = make_database(f"postgres-{reader}")
    database.create("predictions", COLUMNS, rows_of(10))
    source = database.source()
    before = source.read_records(model_of(), WEEK)

    with psycopg.connect(database.url.replace("+psycopg", ""), autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid != pg_backend_pid() "
            "AND backend_type = 'client backend'"  # vacuum may be there too
        )

    assert source.read_records(model_of(), WEEK).equals(before)


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_a_connection_that_dies_in_mid_query_is_unavailable_and_the_next_works(
    make_database: Callable[[str], Database], reader: str
) -> None:
    database = make_database(f"postgres-{reader}")
    database.create("predictions", COLUMNS, rows_of(10))
    database.run("CREATE TABLE armed (armed boolean)", "INSERT INTO armed VALUES (true)")
    dying = Relation(
        query="SELECT *, CASE WHEN (SELECT bool_and(armed) FROM armed) "
        "THEN pg_terminate_backend(pg_backend_pid()) END AS gone FROM predictions",
        columns=(("id", "id"), ("event_time", "event_time"), ("score", "score"), ("prediction", "gone")),
    )
    source = database.source()

    with pytest.raises(SourceUnavailable):
        source.read_records(model_of(predictions=dying), WEEK)
    database.run("UPDATE armed SET armed = false")

    assert source.read_records(model_of(predictions=dying), WEEK).num_rows == 10


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_a_query_that_takes_too_long_is_ended_by_the_server(
    make_database: Callable[[str], Database], reader: str
) -> None:
    database = make_database(f"postgres-{reader}")
    database.create("predictions", COLUMNS, rows_of(10))
    slow = Relation(
        query="SELECT *, pg_sleep(5)::text AS slept FROM predictions",
        columns=(("id", "id"), ("event_time", "event_time"), ("score", "score"), ("prediction", "slept")),
    )
    spec = SourceSpec(name="source", url=database.url, statement_timeout=SECOND)
    source = open_source(spec, reader=reader)
    database.opened.append(source)

    with pytest.raises(SourceUnavailable, match="statement_timeout is 1s"):
        source.read_records(model_of(predictions=slow), WEEK)

    assert source.read_records(model_of(), WEEK).num_rows == 10


def test_a_query_that_fails_on_a_late_row_is_refused_and_no_outage(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(100))
    overflowing = "abs(-9223372036854775807 - (CASE WHEN id = 90 THEN 1 ELSE 0 END)) > 0"
    wrong = replace(PREDICTIONS, where="1 / (90 - id) < 2" if database.postgres else overflowing)
    source = database.source(batch_rows=10)

    with pytest.raises(SourceError, match="refuses a query") as caught:
        list(
            source.read_changed_records(model_of(predictions=wrong), since=None, as_of=START, bounds=WEEK[0])
        )

    assert not isinstance(caught.value, SourceUnavailable)
    assert source.read_records(model_of(), WEEK).num_rows == 100


def test_a_reading_that_is_given_up_leaves_a_source_that_can_be_read(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(100))
    source = database.source(batch_rows=10)

    for _ in range(5):
        batches = source.read_changed_records(model_of(), since=None, as_of=START, bounds=WEEK[0])
        next(batches)
        batches.close()

    assert source.read_records(model_of(), WEEK).num_rows == 100


@pytest.mark.postgres
@pytest.mark.parametrize("reader", READERS)
def test_a_session_of_postgresql_is_read_only_named_and_leaves_no_transaction_open(
    make_database: Callable[[str], Database], reader: str
) -> None:
    database = make_database(f"postgres-{reader}")
    database.create("predictions", COLUMNS, rows_of(10))
    source = database.source()
    source.read_records(model_of(), WEEK)
    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        seen = server.execute(
            "SELECT application_name, state FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid != pg_backend_pid() "
            "AND backend_type = 'client backend'"  # vacuum may be there too
        ).fetchall()
    with pytest.raises(SourceError, match="read-only"), source.reader.open_session() as session:
        session.run_command("CREATE TABLE mine (a int)")

    assert seen == [("monitor", "idle")]


def test_a_statement_that_is_refused_is_no_outage(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create("labels", LABEL_COLUMNS)
    wrong = Relation(table="predictions", where="no_such_column > 3", columns=model_of().predictions.columns)
    source = database.source()

    with pytest.raises(SourceError, match="no_such_column") as caught:
        source.read_records(model_of(predictions=wrong), WEEK)

    assert not isinstance(caught.value, SourceUnavailable)
    assert source.read_records(model_of(), WEEK).num_rows == 10


def test_a_file_that_is_also_the_store_is_not_read_by_adbc(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/both.db"
    spec = SourceSpec(name="source", url=url)

    assert isinstance(open_source(spec, store_url=url).reader, fetchmany.FetchmanyReader)
    assert isinstance(
        open_source(spec, store_url=f"sqlite:///{tmp_path}/x/../both.db").reader, fetchmany.FetchmanyReader
    )
    assert isinstance(
        open_source(spec, store_url=f"sqlite:///{tmp_path}/other.db").reader, sqlite.SqliteReader
    )


def test_the_url_chooses_the_reader(tmp_path: Path) -> None:
    readers = {
        f"sqlite:///{tmp_path}/a.db": sqlite.SqliteReader,
        f"sqlite:///{tmp_path}/a.db?reader=fetchmany": fetchmany.FetchmanyReader,
        "postgresql://h/d": postgres_copy.PostgresReader,
        "postgresql+psycopg://h/d": postgres_copy.PostgresReader,
        "postgresql+psycopg://h/d?reader=fetchmany": fetchmany.FetchmanyReader,
    }

    assert {url: type(opened(url).reader) for url in readers} == readers


@pytest.mark.parametrize(
    ("url", "reader", "told"),
    [
        ("no url", None, "got no scheme"),
        ("sqlite://", None, "a source on SQLite is a file"),
        ("mysql://h/d", "adbc", r'the reader is "adbc" .* or "fetchmany": got "adbc"'),
        ("sqlite:///a.db?reader=pandas", None, 'got "pandas"'),
        ("nosuch://ann:s3cret@h/d", None, "nosuch://ann:\\*\\*\\*@h/d"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, reader: str | None, told: str) -> None:
    with pytest.raises(SourceError, match=told) as caught:
        opened(url, reader)

    assert "s3cret" not in str(caught.value)


def test_the_uri_of_libpq_keeps_what_was_given() -> None:
    from monitor.specs.urls import libpq_uri

    given = make_url("postgresql+psycopg://ann:p%40ss@h:5433/d?sslmode=require&application_name=mine")

    assert libpq_uri(*given[1:]) == (
        "postgresql://ann:p%40ss@h:5433/d?application_name=mine&connect_timeout=10&sslmode=require"
    )


@pytest.mark.parametrize("where", ["score >", "nowhere = 1", "score > 1)"])
def test_a_condition_that_is_refused_is_named_by_its_key(database: Database, where: str) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    source = database.source()

    with pytest.raises(SourceError, match='refuses the condition `where` of table "predictions"'):
        source.read_records(model_of(predictions=replace(PREDICTIONS, where=where)), WEEK)
