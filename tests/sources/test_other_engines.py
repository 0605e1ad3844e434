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
from monitor.core.errors import SourceError, Trouble
from monitor.records.rows import Batches
from monitor.sources import SqlSource
from monitor.sources.engines.generic import GenericSql
from monitor.sources.engines.readers.fetchmany import FetchmanyReader, batch
from monitor.sources.engines.schemes import engine_of
from monitor.sources.sql.relations import Looked
from monitor.sources.sql.statements import ColumnKind, Output, Statement, concat
from monitor.sources.sql.time_columns import comparable
from monitor.sources.sql.time_ranges import Shape

RANGES = [(start, start + 10 * MINUTE) for start in range(START, START + DAY, HOUR)]


@pytest.fixture
def database(make_database: Callable[[str], Database]) -> Database:
    return make_database("sqlite-fetchmany")


class Another(GenericSql):
    """An engine that nobody knows, but for what its driver's errors mean."""

    def trouble(self, error: DBAPIError) -> Trouble | None:
        return engine_of(make_url("sqlite://")).trouble(error)


def disguised(database: Database) -> SqlSource:
    source = database.source()
    assert isinstance(source.reader, FetchmanyReader)
    source.reader.engine = Another("another", source.reader.engine.preparer)
    return source


def test_rows_of_scattered_ranges_are_found_by_text(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(24 * 60))

    table = disguised(database).records(model_of(), RANGES)

    assert sorted(map(int, table["id"].to_pylist())) == [at for at in range(24 * 60) if at % 60 < 10]
    assert counted(table) == counted(database.source().records(model_of(), RANGES))


def test_rows_of_scattered_ranges_are_found_by_epochs(database: Database) -> None:
    reading = replace(READING, time_units=(("event_time", "s"),))
    times = [(START + at * MINUTE) // SECOND for at in range(24 * 60)]
    database.create("predictions", COLUMNS | {"event_time": "integer"}, rows_of(24 * 60, event_time=times))

    table = disguised(database).records(model_of(reading=reading), RANGES)

    assert counted(table, reading) == counted(
        database.source().records(model_of(reading=reading), RANGES), reading
    )
    with pytest.raises(SourceError, match="say their unit"):
        disguised(database).records(model_of(), RANGES)


def test_changes_labels_and_columns_are_found(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create("labels", LABEL_COLUMNS, [(at, 1, iso(START + at * DAY), 0) for at in range(12)])
    source = disguised(database)
    span = (START, START + 30 * DAY)

    labels = whole(
        source.changed_labels(model_of(), since=START + 7 * DAY, as_of=START + 20 * DAY, bounds=span)
    )

    assert labels.num_rows == 3
    assert source.orphans(model_of(), span) == 2
    assert source.labelled(model_of(), [span])["label"].null_count == 0
    assert list(source.columns(model_of())) == list(COLUMNS)


def test_a_table_that_is_not_there_is_refused_in_the_words_of_the_engine(database: Database) -> None:
    database.create("prediction", COLUMNS)

    with pytest.raises(SourceError, match=r"refuses a query.*no such table: predictions"):
        disguised(database).records(model_of(), RANGES)


class Values:
    """A session whose every query gives one column of values."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        assert "LIMIT" in sql
        return [(value,) for value in self.values]

    def read(self, statement: Statement) -> pa.Table:
        raise NotImplementedError

    def batches(self, statement: Statement) -> Batches:
        raise NotImplementedError

    def described(self, sql: str) -> dict[str, object]:
        raise NotImplementedError

    def settle(self, sql: str) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (datetime(2013, 3, 1, tzinfo=UTC), Shape.INSTANT),
        (datetime(2013, 3, 1), Shape.NAIVE),  # noqa: DTZ001 -- what drivers return for a naive column
        (date(2013, 3, 1), Shape.NAIVE),
        ("2013-03-01T00:00:00Z", Shape.TEXT),
        ("soon", Shape.UNKNOWN),
    ],
)
def test_times_are_compared_as_their_values_are(database: Database, value: object, shape: Shape) -> None:
    engine = GenericSql("another", database.source().reader.engine.preparer)
    looked = Looked("p", '"t" AS p', 'table "t"', {"at": ""}, engine)

    assert comparable(Values(value), looked, "at", "event_time", READING).shape is shape
    assert comparable(Values(), looked, "at", "event_time", READING).shape is Shape.NOTHING


def test_values_of_any_driver_become_columns() -> None:
    outputs = (
        Output("text", "", ColumnKind.TEXT),
        Output("number", "", ColumnKind.NUMBER),
        Output("instant", "", ColumnKind.MOMENT),
        Output("naive", "", ColumnKind.MOMENT),
        Output("epoch", "", ColumnKind.EPOCH),
    )
    noon = datetime(2013, 3, 1, 12, tzinfo=UTC)
    rows = [
        (b"a", Decimal("0.1"), noon, date(2013, 3, 1), Decimal("12.9")),
        (1.5, "x", None, None, float("inf")),
        (None, None, noon, None, -1),
    ]

    table = batch(Statement(outputs, ""), rows)

    assert table["text"].to_pylist() == ["a", "1.5", None]
    assert str(table["number"].to_pylist()) == "[0.1, nan, None]"
    assert table["instant"].type == pa.timestamp("us", "UTC")
    assert table["instant"].to_pylist() == [noon, None, noon]
    assert str(table["naive"].to_pylist()[0]) == "2013-03-01 00:00:00"
    assert table["epoch"].to_pylist() == [12, 2**63 - 1, -1]


def test_batches_whose_values_differ_in_type_are_brought_together() -> None:
    output = (Output("at", "", ColumnKind.MOMENT),)
    batches = [batch(Statement(output, ""), rows) for rows in ([(None,)], [(5,)], [("soon",)])]

    assert concat(batches)["at"].to_pylist() == [None, "5", "soon"]
    assert concat(batches[:2])["at"].to_pylist() == [None, 5]
