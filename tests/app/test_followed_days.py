"""Days about a change, as a page draws them: those that were judged by its moment, in the model's days."""

from dataclasses import replace

from memory import MemorySource
from synthetic import READING, START, log_of, monitored_of

from monitor.app.pages.days import followed_days
from monitor.core.clock import DAY, HOUR, to_iso
from monitor.pages.asked import FollowedDay
from monitor.sentences.changed import ToldSeries
from monitor.specs.model import BudgetSpec
from monitor.store.adapter import SqlStore
from monitor.windows.ends import window_of

DAYS, AGE = 34, 3


def followed(store: SqlStore, zone: str, subject: str, begins: int, until: int) -> list[FollowedDay]:
    """Days about one, after two cycles, the last one at the end of the log."""
    log = log_of(DAYS, per_day=60)
    monitored = monitored_of(
        MemorySource(log.predictions, log.labels),
        store,
        reading=replace(READING, zone=zone),
        windows=(window_of("1d", HOUR),),
        budget=BudgetSpec(),
        settle_after=AGE * DAY,
        families=frozenset(),
        resamples=1,
    )
    for after in (18, DAYS):
        monitored.cycle(START + after * DAY)
    kind = {"label": "base_rate", "feature:temp": "level"}[subject]
    level = "1" if subject == "label" else ""
    since = to_iso(START + begins * DAY)[:10]
    told = ToldSeries(kind, kind, level, own=False, since=since, unit="", measure="")
    return followed_days(store, "late", monitored.model.counting, (subject, ""), told, until)


def test_days_of_labels_that_are_judged_later_are_not_drawn(fresh_store: SqlStore) -> None:
    until = START + 25 * DAY

    days = followed(fresh_store, "UTC", "label", 18, until)

    assert days[-1].end == until - AGE * DAY


def test_two_weeks_after_the_first_day_are_drawn_west_of_utc_too(fresh_store: SqlStore) -> None:
    days = followed(fresh_store, "America/Los_Angeles", "feature:temp", 17, START + DAYS * DAY)

    assert days[-1].day == (START // DAY) + 17 + 14
