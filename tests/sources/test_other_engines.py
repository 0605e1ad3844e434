"""Engines of which nothing is known but SQL: SQLite stands in for one, under another name."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, READING, START, counted, iso, model_of, rows_of
from source_databases import Database, whole
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.core.errors import DatabaseTrouble, SourceError
from monitor.records.winning_rows import Batches
from monitor.sources import SqlSource
from monitor.sources.engines.generic import GenericSql
from monitor.sources.engines.readers.fetchmany import FetchmanyReader, make_batch
from monitor.sources.engines.schemes import engine_of
from monitor.sources.sql.relations import SurveyedRelation, make_comparable_time
from monitor.sources.sql.statements import ColumnKind, OutputColumn, Statement, concat_mixed_tables
from monitor.sources.sql.time_ranges import TimeShape

RANGES = [(start, start + 10 * MINUTE) for start in range(START, START + DAY, HOUR)]


@pytest.fixture
def database(make_database: Callable[[str], Database]) -> Database:
    return make_database("sqlite-fetchmany")


class Another(GenericSql):
    """An engine that nobody knows, but for what its driver's errors mean."""

    def trouble_of(self, error: DBAPIError) -> DatabaseTrouble | None:
        return engine_of(make_url("sqlite://")).trouble_of(error)


def disguised(database: Database) -> SqlSource:
    source = database.source()
    assert isinstance(source.reader, FetchmanyReader)
    source.reader.engine = Another("another", source.reader.engine.preparer)
    return source


def test_rows_of_scattered_ranges_are_found_by_text(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(24 * 60))

    table = disguised(database).read_records(model_of(), RANGES)

    assert sorted(map(int, table["id"].to_pylist())) == [at for at in range(24 * 60) if at % 60 < 10]
    assert counted(table) == counted(database.source().read_records(model_of(), RANGES))


def test_rows_of_scattered_ranges_are_found_by_epochs(database: Database) -> None:
    reading = replace(READING, time_units=(("event_time", "s"),))
    times = [(START + at * MINUTE) // SECOND for at in range(24 * 60)]
    database.create("predictions", COLUMNS | {"event_time": "integer"}, rows_of(24 * 60, event_time=times))

    table = disguised(database).read_records(model_of(reading=reading), RANGES)

    assert counted(table, reading) == counted(
        database.source().read_records(model_of(reading=reading), RANGES), reading
    )
    with pytest.raises(SourceError, match="say their unit"):
        disguised(database).read_records(model_of(), RANGES)


def test_changes_labels_and_columns_are_found(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create("labels", LABEL_COLUMNS, [(at, 1, iso(START + at * DAY), 0) for at in range(12)])
    source = disguised(database)
    span = (START, START + 30 * DAY)

    labels = whole(
        source.read_changed_labels(model_of(), since=START + 7 * DAY, as_of=START + 20 * DAY, bounds=span)
    )

    assert labels.num_rows == 3
    assert source.count_orphans(model_of(), span) == 2
    assert source.read_records_with_labels(model_of(), [span])["label"].null_count == 0
    assert list(source.list_columns(model_of())) == list(COLUMNS)


def test_a_table_that_is_not_there_is_refused_in_the_words_of_the_engine(database: Database) -> None:
    database.create("prediction", COLUMNS)

    with pytest.raises(SourceError, match=r"refuses a query.*no such table: predictions"):
        disguised(database).read_records(model_of(), RANGES)


class Values:
    """A session whose every query gives one column of values."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def read_rows(self, sql: str) -> list[tuple[object, ...]]:
        assert "LIMIT" in sql
        return [(value,) for value in self.values]

    def read_table(self, statement: Statement) -> pa.Table:
        raise NotImplementedError

    def read_batches(self, statement: Statement) -> Batches:
        raise NotImplementedError

    def describe_query(self, sql: str) -> dict[str, object]:
        raise NotImplementedError

    def run_command(self, sql: str) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (datetime(2013, 3, 1, tzinfo=UTC), TimeShape.INSTANT),
        (datetime(2013, 3, 1), TimeShape.NAIVE),  # noqa: DTZ001 -- what drivers return for a naive column
        (date(2013, 3, 1), TimeShape.NAIVE),
        ("2013-03-01T00:00:00Z", TimeShape.TEXT),
        ("soon", TimeShape.UNKNOWN),
    ],
)
def test_times_are_compared_as_their_values_are(database: Database, value: object, shape: TimeShape) -> None:
    engine = GenericSql("another", database.source().reader.engine.preparer)
    looked = SurveyedRelation("p", '"t" AS p', 'table "t"', {"at": ""}, engine)

    assert make_comparable_time(Values(value), looked, "at", "event_time", READING).shape is shape
    assert make_comparable_time(Values(), looked, "at", "event_time", READING).shape is TimeShape.NOTHING


def test_values_of_any_driver_become_columns() -> None:
    outputs = (
        OutputColumn("text", "", ColumnKind.TEXT),
        OutputColumn("number", "", ColumnKind.NUMBER),
        OutputColumn("instant", "", ColumnKind.MOMENT),
        OutputColumn("naive", "", ColumnKind.MOMENT),
        OutputColumn("epoch", "", ColumnKind.EPOCH),
    )
    noon = datetime(2013, 3, 1, 12, tzinfo=UTC)
    rows = [
        (b"a", Decimal("0.1"), noon, date(2013, 3, 1), Decimal("12.9")),
        (1.5, "x", None, None, float("inf")),
        (None, None, noon, None, -1),
    ]

    table = make_batch(Statement(outputs, ""), rows)

    assert table["text"].to_pylist() == ["a", "1.5", None]
    assert str(table["number"].to_pylist()) == "[0.1, nan, None]"
    assert table["instant"].type == pa.timestamp("us", "UTC")
    assert table["instant"].to_pylist() == [noon, None, noon]
    assert str(table["naive"].to_pylist()[0]) == "2013-03-01 00:00:00"
    assert table["epoch"].to_pylist() == [12, 2**63 - 1, -1]


def test_batches_whose_values_differ_in_type_are_brought_together() -> None:
    output = (OutputColumn("at", "", ColumnKind.MOMENT),)
    batches = [make_batch(Statement(output, ""), rows) for rows in ([(None,)], [(5,)], [("soon",)])]

    assert concat_mixed_tables(batches)["at"].to_pylist() == [None, "5", "soon"]
    assert concat_mixed_tables(batches[:2])["at"].to_pylist() == [None, 5]
