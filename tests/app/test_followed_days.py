"""Days about a change, as a page draws them: those that were judged by its moment, in the model's days."""

from dataclasses import replace

from memory import MemorySource
from synthetic import READING, START, Monitored, log_of, monitored_of

from monitor.app.pages.charted_days import read_charted_days
from monitor.core.change import Change
from monitor.core.clock import DAY, HOUR, to_iso
from monitor.pages.page_request import ChartedDay
from monitor.specs.model_table import BudgetTable
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

DAYS, AGE = 34, 3


def lived(store: SqlStore, zone: str) -> Monitored:
    """Two cycles, the last one at the end of the log."""
    log = log_of(DAYS, per_day=60)
    monitored = monitored_of(
        MemorySource(log.predictions, log.labels),
        store,
        reading=replace(READING, zone=zone),
        windows=(parse_window("1d", HOUR),),
        budget=BudgetTable(),
        settle_after=AGE * DAY,
        families=frozenset(),
        resamples=1,
    )
    for after in (18, DAYS):
        monitored.cycle(START + after * DAY)
    return monitored


def followed(
    monitored: Monitored, store: SqlStore, subject: str, begins: int, span: tuple[int, int]
) -> list[ChartedDay]:
    """Days about one, of a change that was found on a day and is told by another."""
    kind = {"label": "base_rate", "feature:temp": "level"}[subject]
    level = "1" if subject == "label" else ""
    since = to_iso(START + begins * DAY)[:10]
    change = Change(kind=kind, category=level, since=since)
    found, until = (START + day * DAY for day in span)
    return read_charted_days(store, "late", monitored.model.counting, (subject, ""), change, (found, until))


def test_days_of_labels_that_are_judged_later_are_not_drawn(fresh_store: SqlStore) -> None:
    days = followed(lived(fresh_store, "UTC"), fresh_store, "label", 18, (19, 25))

    assert days[-1].end == START + (25 - AGE) * DAY


def test_two_weeks_after_the_first_day_are_drawn_west_of_utc_too(fresh_store: SqlStore) -> None:
    zone = "America/Los_Angeles"

    days = followed(lived(fresh_store, zone), fresh_store, "feature:temp", 17, (17, DAYS))

    assert days[-1].day == (START // DAY) + 17 + 14


def test_days_go_on_to_those_by_which_a_change_was_found(fresh_store: SqlStore) -> None:
    """One that many days had to show: the day on which it was told is drawn, and what came after."""
    monitored, first = lived(fresh_store, "UTC"), START // DAY

    soon, late = (followed(monitored, fresh_store, "feature:temp", 15, (found, DAYS)) for found in (15, 19))

    assert soon[0].day == late[0].day
    assert [soon[-1].day - first, late[-1].day - first] == [29, 33]
