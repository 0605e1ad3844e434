"""Warehouses: signing in, what is refused, names, times of a table that is paid by what is read."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import odd_passwords
import pyarrow as pa
import pytest
import servers
import warehouse_emulators
from flight_models import START, model_of
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sqlalchemy import make_url

from monitor.advice.query_plans import ExplainedQuery, bill_line
from monitor.core.clock import DAY, HOUR, SECOND, from_iso, to_datetime
from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable
from monitor.sources import open_source
from monitor.sources.engines.readers.bigquery_client import parse_bytes
from monitor.sources.engines.schemes import engine_of
from monitor.sources.engines.snowflake import as_written
from monitor.sources.engines.trino import TrinoEngine
from monitor.sources.engines.warehouse import NAIVE
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, Statement
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape, TimesOfRows
from monitor.specs.model_spec import Relation, SourceSpec
from monitor.specs.protocols import MisdatedRows
from monitor.specs.urls import encode_in_url

NUMBER = Statement((OutputColumn("n", "n", ColumnKind.NUMBER),), "FROM t")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("snowflake://ann:secret-word@org-acc/ml/public?warehouse=wh", "ends sign-in by a password alone"),
        ("snowflake://ann@org-acc/ml/public", "a private_key .*, a token .*, or an oauth_token"),
        ("databricks://host/x", r"http_path=/sql/1\.0/warehouses/ID"),
        ("trino://ann:secret-word@host/ml?http_scheme=http", "takes no password over http"),
        ("bigquery://lab/ml?maximum=1", "has the options location"),
        ("bigquery://lab/ml?maximum_bytes_billed=much&anonymous=true", 'as "10GB": got "much"'),
        ("adbc://?uri=x", "names its driver"),
    ],
)
def test_what_cannot_sign_in_is_refused_with_the_reason(url: str, reason: str) -> None:
    drivers = {"snowflake": "adbc_driver_snowflake", "databricks": "databricks.sql", "trino": "trino"}
    drivers |= {"bigquery": "google.cloud.bigquery", "adbc": "adbc_driver_manager"}
    pytest.importorskip(drivers[url.partition(":")[0]])
    source = open_source(SourceSpec(name="log", url=url))

    with pytest.raises(SourceError, match=reason) as failed, source.open_session():
        pass

    assert "secret-word" not in str(failed.value)


@pytest.mark.parametrize(
    "place",
    [
        "snowflake://ann@acc/ml/public?host=127.0.0.1&port={port}&protocol=http&token={secret}",
        "trino://ann@127.0.0.1:{port}/ml/public?token={secret}",
        "trino://ann:{secret}@127.0.0.1:{port}/ml/public",
        "redshift://ann:{secret}@127.0.0.1:{port}/ml",
    ],
)
def test_where_nobody_answers_no_message_says_a_secret(place: str) -> None:
    snowflake = place.startswith("snowflake")  # which tries for some seconds
    drivers = {"snowflake": "adbc_driver_snowflake", "trino": "trino", "redshift": "redshift_connector"}
    pytest.importorskip(drivers[place.partition(":")[0]])
    port, words = servers.free_port(), len(odd_passwords.WORDS)
    for secret in odd_passwords.odd_passwords(words + 2 if snowflake else 60)[words:]:
        url = place.replace("{port}", str(port))
        at = url.index("{secret}")
        written = encode_in_url(secret, url, (at, at + len("{secret}")))
        spec = SourceSpec(name="log", url=url.replace("{secret}", written), statement_timeout=SECOND)
        source = open_source(spec)

        with pytest.raises(SourceUnavailable) as failed, source.open_session() as session:
            session.read_rows("SELECT 1")

        assert secret.strip() not in str(failed.value)
        assert written not in str(failed.value)


class BriefConnection:
    """A service that ends what it did not hear of for a while."""

    def __init__(self, opened: list["BriefConnection"]) -> None:
        self.ended = False
        opened.append(self)

    def run_query(self, sql: str, outputs: Sequence[OutputColumn] | None) -> pa.RecordBatchReader:
        del outputs
        if self.ended:
            raise ConnectionResetError("gone")
        if "nope" in sql:
            raise ValueError("no column nope")
        return pa.table({"c0": [1.0, None]}).to_reader()

    def describe_query(self, sql: str) -> dict[str, str]:
        raise NotImplementedError(sql)

    def trouble_of(self, error: Exception) -> DatabaseTrouble | None:
        return None if isinstance(error, ValueError) else DatabaseTrouble.NO_ANSWER

    def close(self) -> None:
        self.ended = True


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[BriefConnection]:
    """Connections of the sources of Trino."""
    made: list[BriefConnection] = []
    monkeypatch.setattr(TrinoEngine, "connect", lambda *_: BriefConnection(made))
    return made


def test_a_connection_is_kept_and_one_that_was_ended_meanwhile_is_made_anew(
    opened: list[BriefConnection],
) -> None:
    source = open_source(SourceSpec(name="log", url="trino://host/ml"))
    read: Callable[[Any], list[float | None]] = lambda session: session.read_table(NUMBER)["n"].to_pylist()  # noqa: E731

    assert source.read_with_retries(read) == source.read_with_retries(read) == [1.0, None]
    assert len(opened) == 1
    opened[0].ended = True
    assert source.read_with_retries(read) == [1.0, None]
    assert len(opened) == 2


def test_a_refused_statement_is_no_outage(opened: list[BriefConnection]) -> None:
    source = open_source(SourceSpec(name="log", url="trino://host/ml"))

    with pytest.raises(SourceError, match="trino://host/ml refuses a query: no column nope") as failed:
        source.read_with_retries(lambda session: session.read_rows("SELECT nope"))

    assert not isinstance(failed.value, SourceUnavailable)
    assert opened[0].ended


class RecordedConnection:
    """A table of Trino, whose statements are kept; each counts 7 rows."""

    def __init__(self, statements: list[str]) -> None:
        self.statements = statements

    def run_query(self, sql: str, outputs: Sequence[OutputColumn] | None) -> pa.RecordBatchReader:
        del outputs
        self.statements.append(sql)
        return pa.table({"c0": [7]}).to_reader()

    def describe_query(self, sql: str) -> dict[str, str]:
        del sql
        times = dict.fromkeys(("event_time", "logged_at"), "timestamp(6) with time zone")
        return times | {"id": "varchar", "score": "double", "late": "bigint"}

    def trouble_of(self, error: Exception) -> DatabaseTrouble | None:
        raise error

    def close(self) -> None:
        """Nothing is open."""


def test_rows_dated_far_off_are_found_by_the_event_time_whose_partitions_are_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statements: list[str] = []
    monkeypatch.setattr(TrinoEngine, "connect", lambda *_: RecordedConnection(statements))
    source = open_source(SourceSpec(name="log", url="trino://host/ml"))
    now = START + 300 * DAY
    recent, ever = (now - 30 * DAY, now + 15 * DAY), (from_iso("1990-01-01"), now + 3_652 * DAY)

    found = source.count_misdated_rows(model_of(), since=now - DAY, as_of=now, recent=recent, ever=ever)

    assert found == MisdatedRows(7)
    (sql,) = statements
    assert "1990-01-01" in sql.partition("WHERE")[2].partition("logged_at")[0]


def test_names_of_snowflake_in_small_letters_are_those_that_nobody_quoted() -> None:
    engine = engine_of(make_url("snowflake://acc"))

    assert engine.quote_table("ml.public.scores") == '"ML"."PUBLIC"."SCORES"'
    assert engine.quote_name("Score at") == '"Score at"'
    assert engine.quote_name("Größe") == '"Größe"'


def test_names_of_snowflake_that_somebody_quoted_are_written_in_quotes() -> None:
    engine = engine_of(make_url("snowflake://acc"))
    names = [("ML", "scores"), (None, "SCORES"), (None, "a.b"), (None, "Score at"), (None, 'a"b')]

    class Listing:
        def read_rows(self, _sql: str) -> list[tuple[Any, ...]]:
            return list(names)

    listed = engine.list_tables(cast("ReadSession", Listing()))

    assert listed == ['"a""b"', '"a.b"', "Score at", 'ml."scores"', "scores"]
    assert [engine.quote_table(name) for name in listed] == [
        '"a""b"', '"a.b"', '"Score at"', '"ML"."scores"', '"SCORES"'
    ]  # fmt: skip


SERVICES = warehouse_emulators.WAREHOUSES
MARKS = ["`", '"', "'", "\\", "\\'", "\\n", ";", "--", "/*", "*/", "\n", "\r", "ü", "Ä", "%", "select"]
TEXTS = st.lists(st.sampled_from(MARKS) | st.characters(exclude_categories=("Cs", "Cc"))).map("".join)


@pytest.mark.parametrize("service", [*SERVICES, "mysql"])
@given(text=TEXTS)
@example(text="a" * 200)
@example(text="it's")
def test_a_text_is_read_back_as_it_is_by_the_dialect_of_its_service(service: str, text: str) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    literal = engine_of(make_url(f"{service}://host/ml")).text_literal(text)

    read = sqlglot.parse_one(f"SELECT {literal} AS one, 2 AS two", read=service).selects

    assert (len(read), read[0].this.name, read[0].this.is_string) == (2, text, True)


@pytest.mark.parametrize("service", SERVICES)
@given(name=TEXTS.filter(bool))
@example(name="a" * 200)
@example(name="select")
def test_a_name_is_read_back_as_it_is_by_the_dialect_of_its_service(service: str, name: str) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    # Snowflake folds what nobody quoted; BigQuery has no column with a dot, and cuts a quoted path at it.
    assume(service != "bigquery" or "." not in name)
    configured = as_written(name) if service == "snowflake" else name
    quoted = engine_of(make_url(f"{service}://host/ml")).quote_name(configured)

    read = sqlglot.parse_one(f"SELECT t.{quoted}, 2 AS two FROM t", read=service).selects

    assert (len(read), read[0].this.name, read[0].this.quoted) == (2, name, True)


@given(st.lists(st.integers(from_iso("1900-01-01"), from_iso("2106-01-01")), max_size=9))
@example([from_iso("2026-03-01") + at for at in (0, 1, 499_999, 500_000, 999_999)])
def test_microseconds_of_trino_are_exact_and_days_are_no_dates_to_be_cut(us: list[int]) -> None:
    """By seconds as doubles: https://trino.io/docs/current/functions/datetime.html."""
    sqlglot, duckdb = pytest.importorskip("sqlglot"), pytest.importorskip("duckdb")
    sql = engine_of(make_url("trino://host/ml")).micros_sql("t.us")
    (translated,) = sqlglot.transpile(f"SELECT {sql} FROM t", read="trino", write="duckdb")
    days = [at // DAY * DAY for at in us]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for kind, moments in ((pa.timestamp("us"), us), (pa.timestamp("us", "UTC"), us), (pa.date32(), days)):
            t = pa.table({"us": pa.array(moments, pa.timestamp("us")).cast(kind)})
            connection.register("t", t)
            assert [row[0] for row in connection.execute(translated).fetchall()] == moments

    assert "date_trunc('second', CAST(" in sql  # Trino cuts no date at seconds


@pytest.mark.parametrize(
    ("url", "name", "reason"),
    [
        ("bigquery://lab/ml", "ml..scores", r'no table of BigQuery can have the name "ml\.\.scores"'),
        ("snowflake://acc/ml", 'ml."a.b".', "no table of Snowflake can have the name"),
        ("trino://host/ml", "a\0b", r'no table of Trino can have the name "a\\u0000b"'),
        ("redshift://host/ml", "ü" * 64, "a name of Redshift has at most 127 bytes"),
    ],
)
def test_a_name_that_no_table_can_have_is_refused_by_name(url: str, name: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        engine_of(make_url(url)).quote_table(name)


def test_blanks_at_the_end_of_an_id_of_redshift_tell_it_from_another() -> None:
    """Where it compares, they are "semantically insignificant"; LENGTH counts them, as its documents say."""
    engine = engine_of(make_url("redshift://host/ml"))

    assert (
        engine.same_id("p.id", "l.id", "varchar", "varchar") == "l.id = p.id AND LENGTH(l.id) = LENGTH(p.id)"
    )
    assert engine.same_id("p.id", "l.id", "bigint", "bigint") == "l.id = p.id"
    assert engine.group_key("p.id", "varchar") == "p.id || '.'"
    assert engine.group_key("p.id", "bigint") == "p.id"


def test_labels_are_bounded_by_when_they_were_reported() -> None:
    engine = engine_of(make_url("bigquery://lab/ml"))
    ranges = (10 * DAY, 11 * DAY), (12 * DAY, 13 * DAY)
    times = TimesOfRows("reported_at", NAIVE, None, ranges, undated=True)

    assert engine.narrowed_sql(Relation(table="outcomes"), "l", times) == (
        "(SELECT * FROM `outcomes` AS t WHERE ((t.`reported_at` >= DATETIME '1970-01-10 00:00:00.000000' AND "
        "t.`reported_at` < DATETIME '1970-01-15 00:00:00.000000')) OR t.`reported_at` IS NULL) AS l"
    )


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [
        ("date", "DATE '1970-01-09'", "DATE '1970-01-14'"),
        ("varchar", "'1970-01-09'", "'1970-01-14'"),
        ("bigint", "19700109", "19700114"),
    ],
)
def test_a_partition_bounds_labels_whose_times_do_not(kind: str, first: str, last: str) -> None:
    """Times of text: the day of the report, one more on either side of what is asked with a day more."""
    engine = engine_of(make_url("trino://host/hive/ml"))
    ranges = ((11 * DAY - HOUR, 12 * DAY),)
    times = TimesOfRows("reported_at", "varchar", None, ranges, undated=True, partition=("dt", kind))

    within = f'(1 = 1) AND (t."dt" >= {first} AND t."dt" <= {last})'
    nothing = '(t."reported_at" IS NULL AND t."dt" IS NULL)'
    assert engine.narrowed_sql(Relation(table="outcomes"), "l", times) == (
        f'(SELECT * FROM "outcomes" AS t WHERE ({within}) OR {nothing}) AS l'
    )


@given(st.integers(0, 60 * DAY), st.integers(1, 5 * DAY), st.integers(0, 70))
def test_a_day_lies_in_a_range_that_its_midnight_lies_in(start: int, width: int, day: int) -> None:
    time = ComparableTime("d", TimeShape.NAIVE, literal="DATE")
    ((lo, hi),) = time.interval_literals([(start, start + width)])
    text = f"DATE '{(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)).date()}'"

    assert (lo <= text < hi) == (start <= day * DAY < start + width)


@given(st.lists(st.integers(0, 20 * DAY), min_size=2, max_size=6, unique=True), st.integers(0, 19))
def test_pieces_hold_each_day_once(cuts: list[int], day: int) -> None:
    edges = sorted(cuts)
    time = ComparableTime("d", TimeShape.NAIVE, literal="DATE")
    span = (edges[0], edges[-1])
    text = to_datetime(day * DAY).date().isoformat()

    held = [part for part in pairwise(edges) if _holds(time.part_condition(span, part), text)]

    assert len(held) == _holds(time.part_condition(span, span), text)


def _holds(condition: str, day: str) -> bool:
    if "DATE" not in condition:
        return False
    lo, hi = (part.split("'")[1] for part in (condition.split(" AND ")))
    return lo <= day < hi


def test_amounts_of_bytes_are_read() -> None:
    assert [parse_bytes(text) for text in ("10GB", "1.5 tb", "7")] == [10**10, 15 * 10**11, 7]


def test_a_bill_is_that_of_the_months_cycles_and_audits() -> None:
    queries = [
        ExplainedQuery("rows", every, "SELECT 1", (), billed)
        for every, billed in (("cycle", 10**8), ("cycle", 10**8), ("audit", 10**9))
    ]

    assert bill_line(queries, HOUR, DAY, 6.25) == (
        "a cycle is billed by 0.20 GB, an audit by 1.00 GB; a month by 174 GB, about $0.99 at $6.25 a TiB"
    )
    assert bill_line(queries, HOUR, DAY, None) == bill_line([], HOUR, DAY, 6.25) == ""


@pytest.fixture(scope="module")
def bigquery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dataset of an emulator."""
    place = tmp_path_factory.mktemp("bigquery")
    with (
        warehouse_emulators.bigquery(place) as url,
        warehouse_emulators.filled_database(url, "bills") as database,
    ):
        database.create("scores", {"score": "double precision"}, [[0.5]])
        yield database.url


@pytest.mark.warehouses
@pytest.mark.parametrize("phrase", ["", "words that lock"])
def test_a_key_pair_signs_in(tmp_path: Path, phrase: str) -> None:
    openssl, key = servers.program("openssl", package="openssl"), tmp_path / "key.p8"
    made = subprocess.run([openssl, "genrsa", "2048"], check=True, capture_output=True).stdout
    locked = ["-v2", "aes-256-cbc", "-passout", f"pass:{phrase}"] if phrase else ["-nocrypt"]
    command = [openssl, "pkcs8", "-topk8", "-out", str(key), *locked]
    subprocess.run(command, input=made, check=True, capture_output=True)
    with warehouse_emulators.snowflake(tmp_path) as place:
        url = place.format("ml").replace("token=x", f"private_key=${{file:{key}}}")
        if phrase:
            (tmp_path / "phrase").write_text(phrase, encoding="utf-8")
            url += f"&private_key_passphrase=${{file:{tmp_path}/phrase}}"
        source = open_source(SourceSpec(name="log", url=url.replace("/ml/public", "")))
        with source.open_session() as session:
            assert session.read_rows("SELECT 1") == [(1,)]
        source.close()


@pytest.mark.warehouses
def test_check_tells_the_bytes_of_a_statement_without_running_it(bigquery: str) -> None:
    source = open_source(SourceSpec(name="log", url=bigquery))
    engine = source.reader.engine
    with source.open_session() as session:
        rows = session.read_rows(f"{engine.explain} SELECT score FROM scores")
        assert engine.list_tables(session) == ["scores"]
    source.close()

    assert engine.bytes_of_plan(rows) == 10 * 2**20
    assert engine.plan_line(rows[0]).startswith("reads ")
