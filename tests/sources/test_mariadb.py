"""MariaDB as a source: its types, collations, session, errors."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from flight_models import (
    COLUMNS,
    LABEL_COLUMNS,
    PREDICTIONS,
    READING,
    START,
    counted,
    counted_labels,
    iso,
    model_of,
    rows_of,
)
from servers import free_port
from source_databases import Database, whole

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.records.parsed_times import parse_times
from monitor.sources import open_source
from monitor.sources.sql.relations import make_comparable_time, survey_relation
from monitor.specs.model_spec import SourceSpec

N = 600
RANGE = (START + HOUR, START + 3 * HOUR)
WEEK = [(START, START + 7 * DAY)]
SCATTERED = [(START + at * HOUR, START + at * HOUR + 10 * MINUTE) for at in range(9)]

pytestmark = pytest.mark.mariadb


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("tinyint", [1, -2, None], [1.0, -2.0, None]),
        ("boolean", [True, False, None], [1.0, 0.0, None]),
        ("bit(1)", [b"\x01", b"\x00", None], [1.0, 0.0, None]),
        ("bigint unsigned", [2**63, 0, None], [2.0**63, 0.0, None]),
        ("float", [0.1, 16777216.0, None], [0.10000000149011612, 16777216.0, None]),
        ("double", [0.1, 1.7e308, None], [0.1, 1.7e308, None]),
        ("decimal(40,20)", ["0.1", "-12345678901234567890.5", None], [0.1, -12345678901234567890.5, None]),
        ("year", [2013, 1999, None], [2013.0, 1999.0, None]),
        ("varchar(20)", ["1.5", "x", None], [1.5, float("nan"), None]),
        ("json", ["1.5", "[1]", None], [1.5, float("nan"), None]),
    ],
)
def test_numbers_of_any_type_are_doubles(
    mariadb_database: Database, kind: str, written: list[Any], read: list[float | None]
) -> None:
    mariadb_database.create("predictions", COLUMNS | {"temp": kind}, rows_of(3, temp=written))

    table = mariadb_database.source().read_records(model_of(), WEEK).sort_by("id")
    values = [None if value is None else float(value) for value in table["feature:temp"].to_pylist()]

    assert str(values) == str(read)


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("enum('calm','wild')", ["calm", "wild", None], ["calm", "wild", None]),
        ("set('a','b')", ["a,b", "", None], ["a,b", "", None]),
        ("boolean", [True, False, None], ["1", "0", None]),
        ("bit(3)", [b"\x05", b"\x00", None], ["5", "0", None]),
        ("decimal(5,2)", ["1.50", "2", None], ["1.50", "2.00", None]),
        ("date", ["2013-03-01", "2013-03-02", None], ["2013-03-01", "2013-03-02", None]),
        ("inet6", ["::1", "::2", None], ["::1", "::2", None]),
        ("binary(2)", [b"\xff\x00", b"ab", None], ["ff00", "ab", None]),
    ],
)
def test_categories_of_any_type_are_text(
    mariadb_database: Database, kind: str, written: list[Any], read: list[str | None]
) -> None:
    mariadb_database.create("predictions", COLUMNS | {"carrier": kind}, rows_of(3, carrier=written))

    table = mariadb_database.source().read_records(model_of(), WEEK).sort_by("id")

    assert table["feature:carrier"].to_pylist() == read


@pytest.mark.parametrize("kind", ["uuid", "binary(16)"])
def test_ids_may_be_uuids(mariadb_database: Database, kind: str) -> None:
    ids = [f"ff000000-0000-0000-0000-00000000000{at}" for at in range(3)]
    stored: list[Any] = [bytes.fromhex(one.replace("-", "")) for one in ids] if kind == "binary(16)" else ids
    mariadb_database.create("predictions", COLUMNS | {"id": kind}, rows_of(3, id=stored))
    labels = [(one, 1, iso(START + DAY), 0) for one in stored]
    mariadb_database.create("labels", LABEL_COLUMNS | {"flight": kind}, labels)

    table = mariadb_database.source().read_records_with_labels(model_of(), WEEK)

    plain = [one.replace("-", "") for one in table["id"].to_pylist()]
    assert sorted(plain) == [one.replace("-", "") for one in ids]
    assert table["label"].null_count == 0


@pytest.mark.parametrize(("kind", "role"), [("point", "feature:temp"), ("time", "event_time")])
def test_types_that_are_read_as_nothing_are_refused_by_name(
    mariadb_database: Database, kind: str, role: str
) -> None:
    column = role.removeprefix("feature:")
    mariadb_database.create("predictions", COLUMNS | {column: kind})
    told = {"point": "geometry"}.get(kind, kind)

    with pytest.raises(SourceError, match=rf"column `{column}` \({role}\) has the type {told}"):
        mariadb_database.source().read_records(model_of(), WEEK)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp(6)", "datetime", "datetime(6)"])
@pytest.mark.parametrize("queried", [False, True])
def test_a_timestamp_is_an_instant_and_a_datetime_a_time_of_the_zone(
    mariadb_database: Database, kind: str, *, queried: bool
) -> None:
    zone = "America/New_York"
    shift = 5 * HOUR if kind.startswith("datetime") else 0
    times = [iso(START + at * MINUTE - shift, "%Y-%m-%d %H:%M:%S") for at in range(N)]
    definition = kind.replace("(6)", "(6) NULL") if "(6)" in kind else f"{kind} NULL"
    rest = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items() if name != "event_time")
    mariadb_database.run(
        "SET SESSION time_zone = '+00:00'",
        f"CREATE TABLE predictions (event_time {definition}, {rest.replace('text', 'varchar(50)')})",
        "CREATE INDEX by_time ON predictions (event_time)",
        *(f"INSERT INTO predictions (id, event_time) VALUES ({at}, '{one}')" for at, one in enumerate(times)),
    )
    reading = replace(READING, zone=zone)
    predictions = PREDICTIONS
    if queried:
        predictions = replace(predictions, table=None, query="SELECT * FROM predictions")
    model = model_of(reading=reading, predictions=predictions)
    source = mariadb_database.source()

    table = source.read_records(model, [RANGE])
    scattered = source.read_records(model, SCATTERED)
    everything = whole(source.read_changed_records(model, since=None, as_of=0, bounds=(-(2**61), 2**61)))

    parsed = parse_times(table["event_time"], name="event_time", zone=zone, unit=None)
    assert sorted(parsed.us.tolist()) == [RANGE[0] + at * MINUTE for at in range(120)]
    assert scattered.num_rows == 90
    assert everything.num_rows == N


def test_a_time_of_zeros_is_invalid_and_stops_no_other(mariadb_database: Database) -> None:
    columns = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items() if name != "event_time")
    insert = "INSERT INTO predictions (id, event_time) VALUES"
    moments = ["0000-00-00 00:00:00", "2013-03-01 00:00:00", "2013-03-01 00:00:01"]
    mariadb_database.run(
        "SET SESSION sql_mode = ''",
        f"CREATE TABLE predictions (event_time datetime, {columns})",
        *(f"{insert} ({at}, '{one}')" for at, one in enumerate(moments)),
    )

    batches = mariadb_database.source().read_changed_records(
        model_of(), since=None, as_of=START + DAY, bounds=(-(2**61), 2**61)
    )
    parsed = parse_times(whole(batches)["event_time"], name="event_time", zone="UTC", unit=None)

    assert sorted(parsed.us[parsed.known].tolist()) == [START, START + SECOND]


COLLATIONS = ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin", "utf8mb4_uca1400_ai_ci"]


@pytest.mark.parametrize("collation", [*COLLATIONS, "latin1_swedish_ci"])
@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"])
def test_times_as_text_are_found_whatever_their_collation(
    mariadb_database: Database, collation: str, form: str
) -> None:
    step = DAY if form == "%Y-%m-%d" else MINUTE
    kind = f"varchar(40) CHARACTER SET {collation.partition('_')[0]} COLLATE {collation}"
    times = [iso(START + at * step, form) for at in range(60)]
    mariadb_database.create("predictions", COLUMNS | {"event_time": kind}, rows_of(60, event_time=times))
    mariadb_database.run("CREATE INDEX by_time ON predictions (event_time)")
    ranges = [(START + at * step, START + (at + 5) * step) for at in (10, 30, 50)]
    source = mariadb_database.source()

    table = source.read_records(model_of(), ranges)
    parsed = parse_times(table["event_time"], name="event_time", zone="UTC", unit=None)

    wanted = [START + at * step for at in (*range(10, 15), *range(30, 35), *range(50, 55))]
    assert [us for us in sorted(parsed.us.tolist()) if us in wanted] == wanted
    assert len(source.read_records(model_of(), [ranges[0]])) == 5


def test_ids_that_a_collation_holds_equal_are_different_ids(mariadb_database: Database) -> None:
    ids = ["aB", "ab", "AB", "é", "e", "a", "a "]
    text = "varchar(20) COLLATE utf8mb4_general_ci"
    mariadb_database.create("predictions", COLUMNS | {"id": text}, rows_of(len(ids), id=ids))
    labels = [(one, at % 2, iso(START + DAY), 0) for at, one in enumerate(ids)]
    mariadb_database.create(
        "labels", LABEL_COLUMNS | {"flight": text}, [*labels, ("Ab", 1, iso(START + DAY), 0)]
    )
    source = mariadb_database.source()

    table = source.read_records_with_labels(model_of(), WEEK)

    assert sorted(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True)) == sorted(
        (one, str(at % 2)) for at, one in enumerate(ids)
    )
    assert source.count_orphans(model_of(), WEEK[0]) == 1
    assert source.count_repeated_ids(model_of(), as_of=START + DAY, bounds=WEEK[0]) == 0


def test_a_number_and_a_text_are_the_same_id_where_they_read_the_same(mariadb_database: Database) -> None:
    ids = [2**60, 2**60 + 1, 7]
    mariadb_database.create("predictions", COLUMNS, rows_of(3, id=ids))
    labels = [(one, 1, iso(START + DAY), 0) for one in (str(2**60), "7x", "07")]
    mariadb_database.create("labels", LABEL_COLUMNS | {"flight": "varchar(30)"}, labels)

    table = mariadb_database.source().read_records_with_labels(model_of(), WEEK)

    assert dict(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True)) == {
        str(2**60): "1", str(2**60 + 1): None, "7": None
    }  # fmt: skip


@pytest.mark.parametrize("indexed", [False, True])
def test_panes_equal_those_of_sqlite(mariadb_database: Database, tmp_path: Any, *, indexed: bool) -> None:
    other = Database(f"sqlite:///{tmp_path / 'other.db'}", "fetchmany")
    for database in (mariadb_database, other):
        database.create("predictions", COLUMNS, rows_of(N))
        labels = [(at, at % 2, iso(START + at * HOUR), at % 3) for at in range(0, N, 2)]
        database.create("labels", LABEL_COLUMNS, labels)
        if indexed:
            database.run("CREATE INDEX by_time ON predictions (event_time)")
            database.run("CREATE INDEX by_id ON labels (flight)")
    sources = [database.source() for database in (mariadb_database, other)]

    records = [counted(source.read_records(model_of(), SCATTERED)) for source in sources]
    labelled = [counted_labels(source.read_records_with_labels(model_of(), SCATTERED)) for source in sources]
    sources[1].close()

    assert records[0] == records[1]
    assert labelled[0] == labelled[1]
    assert sum(part.labelled for part in labelled[0]) > 10


@pytest.mark.parametrize("where", [None, "id >= 0"])
def test_an_index_is_seen(mariadb_database: Database, where: str | None) -> None:
    mariadb_database.create("predictions", COLUMNS, rows_of(10))
    source, relation = mariadb_database.source(), replace(PREDICTIONS, where=where)

    def seen() -> bool:
        with source.reader.open_session() as session:
            looked = survey_relation(session, source.reader.engine, relation, "p")
            time = make_comparable_time(session, looked, "event_time", "event_time", READING)
            return looked.engine.can_use_index(
                session, looked.item, time.range_condition(START, START + HOUR)
            )

    before = seen()
    mariadb_database.run("CREATE INDEX by_time ON predictions (event_time)")

    assert (before, seen()) == (False, True)


def test_tables_of_other_databases_are_named_with_theirs(
    mariadb_database: Database, mariadb_server: Any
) -> None:
    with mariadb_server.database() as url:
        name = str(sa.make_url(url).database)
        other = Database(url, "fetchmany")
        other.create('"Log"', COLUMNS, rows_of(N))
        source = mariadb_database.source()

        table = source.read_records(model_of(predictions=replace(PREDICTIONS, table=f"{name}.Log")), [RANGE])

        assert table.num_rows == 120
        with pytest.raises(SourceError, match=rf'no table or view "{name}.Lag"; did you mean "{name}.Log"'):
            source.read_records(model_of(predictions=replace(PREDICTIONS, table=f"{name}.Lag")), [RANGE])


def test_a_session_cannot_write_and_ends_with_its_statement(mariadb_database: Database) -> None:
    mariadb_database.create("predictions", COLUMNS, rows_of(1))
    reader = mariadb_database.source().reader

    with pytest.raises(SourceError, match="READ ONLY transaction"), reader.open_session() as session:
        session.run_command("DELETE FROM predictions")

    with reader.open_session() as session:
        assert session.read_rows("SELECT count(*), @@time_zone FROM predictions") == [(1, "+00:00")]


def test_a_statement_that_takes_too_long_is_ended(mariadb_database: Database) -> None:
    mariadb_database.create("predictions", COLUMNS, rows_of(3))
    slow = replace(PREDICTIONS, query="SELECT p.*, sleep(5) AS pause FROM predictions AS p", table=None)
    spec = SourceSpec(name="source", url=mariadb_database.url, statement_timeout=SECOND // 5)
    source = open_source(spec)

    with pytest.raises(SourceUnavailable, match="max_statement_time exceeded"):
        source.read_records(
            replace(model_of(predictions=slow), reading=replace(READING, numeric=("pause",))), WEEK
        )
    source.close()


@pytest.mark.parametrize("driver", ["mysql", "mariadb", "mysql+pymysql"])
def test_a_server_that_is_not_there_does_not_answer(driver: str) -> None:
    source = open_source(SourceSpec(name="source", url=f"{driver}://root:secret@127.0.0.1:{free_port()}/log"))

    with pytest.raises(SourceUnavailable, match="does not answer") as raised:
        source.read_records(model_of(), WEEK)

    assert "secret" not in str(raised.value)
    source.close()


def test_a_database_that_is_not_there_does_not_answer(mariadb_database: Database) -> None:
    url = sa.make_url(mariadb_database.url).set(database="nowhere").render_as_string(hide_password=False)
    source = open_source(SourceSpec(name="source", url=url))

    with pytest.raises(SourceUnavailable, match="Unknown database"):
        source.read_records(model_of(), WEEK)
    source.close()
