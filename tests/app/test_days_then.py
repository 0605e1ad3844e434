"""What days were judged by at a moment in the past is what was told at that moment."""

from memory import MemorySource
from synthetic import READING, START, log_of, monitored_of

from monitor.app.alerts.past_judgements import add_newest_days
from monitor.core.clock import DAY
from monitor.measures.catalogue.daily_measures import DAILY
from monitor.measures.measurement_row import MeasurementRow
from monitor.specs.model_table import BudgetTable
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

CYCLES = (10, 16, 18, 25)


def facts(rows: list[MeasurementRow]) -> set[tuple[object, ...]]:
    """What was said of each subject; what is counted of a change that stands is kept with it alone."""
    return {
        (row.measure, row.subject, row.segment, row.window_end, row.measurement.value, row.measurement.reason)
        for row in rows
    }


def test_days_of_then_are_those_that_were_told_then(fresh_store: SqlStore) -> None:
    log = log_of(CYCLES[-1], per_day=60)
    monitored = monitored_of(
        MemorySource(log.predictions, log.labels),
        fresh_store,
        reading=READING,
        windows=(parse_window("1d", DAY),),
        budget=BudgetTable(),
        settle_after=3 * DAY,
        families=frozenset(),
        resamples=1,
    )
    told: dict[int, list[MeasurementRow]] = {}
    for after in CYCLES:
        monitored.cycle(START + after * DAY)
        told[after] = [stored.row for stored in fresh_store.current.read_current("late", DAILY)]
    assert len(told[CYCLES[-1]]) > len(told[CYCLES[0]])

    for after in CYCLES:
        old = told[CYCLES[0]]  # kept rows of an earlier day are not those of then
        model, then = monitored.model, START + after * DAY
        found = add_newest_days(fresh_store, model.spec, model.counting, old, then)
        assert facts(found) == facts(told[after]), after
