"""One meter for all queries of a source: what they delivered, and how fast they may."""

import threading
import time
from collections.abc import Callable

import pytest
from flight_models import COLUMNS, START, model_of, rows_of
from source_databases import Database

from monitor.core.clock import DAY
from monitor.sources import open_source
from monitor.sources.source_meter import SourceMeter, SourceUsage
from monitor.specs.model_spec import SourceSpec

WEEK = [(START, START + 7 * DAY)]


class Clock:
    """Stands until somebody sleeps."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def test_rows_are_paid_for_before_the_next_query() -> None:
    clock = Clock()
    meter = SourceMeter(100, now=clock.now, sleep=clock.sleep)

    meter.apply_rate_limit()
    meter.note_query(0.5, 250)
    meter.apply_rate_limit()

    assert clock.at == 102.5
    assert meter.usage == SourceUsage(0.5, 250)


def test_debts_of_several_queries_add_up_and_idle_time_pays_for_nothing_later() -> None:
    clock = Clock()
    meter = SourceMeter(100, now=clock.now, sleep=clock.sleep)

    clock.sleep(60)
    meter.note_query(0.0, 100)
    meter.note_query(0.0, 100)
    meter.apply_rate_limit()

    assert clock.at == 162.0


def test_without_a_rate_nobody_waits() -> None:
    clock = Clock()
    meter = SourceMeter(now=clock.now, sleep=clock.sleep)

    meter.note_query(1.0, 10**9)
    meter.apply_rate_limit()

    assert clock.at == 100.0


def test_usage_goes_on_from_what_was_spent_before() -> None:
    meter = SourceMeter(spent=SourceUsage(2.0, 5))

    meter.note_query(1.0, 1)

    assert meter.usage == SourceUsage(3.0, 6)


def test_a_source_notes_rows_and_seconds_of_all_of_its_queries(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(50))
    source = database.source(batch_rows=10)

    source.read_records(model_of(), WEEK)
    once = source.usage
    list(source.read_changed_records(model_of(), since=None, as_of=START, bounds=WEEK[0]))

    assert 50 <= once.rows < 60  # and what is asked about the tables
    assert 100 <= source.usage.rows < 130
    assert source.usage.seconds > once.seconds > 0


@pytest.mark.parametrize("kind", ["sqlite-adbc", "sqlite-fetchmany"])
def test_a_rate_holds_over_the_threads_that_read_one_source(
    make_database: Callable[[str], Database], kind: str
) -> None:
    database = make_database(kind)
    database.create("predictions", COLUMNS, rows_of(100))
    spec = SourceSpec(name="source", url=database.url, max_rows_per_second=1_000)
    source = open_source(spec, reader=database.reader)
    database.opened.append(source)
    began = threading.Barrier(5)

    def read() -> None:
        began.wait()
        source.read_records(model_of(), WEEK)
        source.read_records(model_of(), WEEK)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    began.wait()
    start = time.monotonic()
    for thread in threads:
        thread.join()
    with source.open_session():  # waits until all 800 rows are paid for
        pass

    assert time.monotonic() - start >= 0.75
