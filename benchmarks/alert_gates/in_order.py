"""A real log as it is: ten months of flights, with a calendar of holidays."""

from functools import lru_cache

import numpy as np
import pandas as pd
from alert_gates import logs, rules
from alert_gates.found import Told, alerts
from alert_gates.logs import FLIGHTS, Counted, counted, reference_counting

from monitor.core.clock import DAY, from_iso

HOLIDAYS = ("2013-05-27", "2013-07-04", "2013-09-02", "2013-11-28", "2013-12-25", "2014-01-01")
HAPPENED = {  # what records of those days show; weather as in the log itself and in public archives
    "2013-05-10": "warm spring days",
    "2013-05-26": "Sunday before Memorial Day: a third fewer departures",
    "2013-06-29": "Saturday before the Fourth of July: the early morning has more flights",
    "2013-08-31": "Saturday before Labor Day: fewer departures",
    "2013-09-01": "Sunday before Labor Day: fewer departures",
    "2013-09-28": "a quiet Saturday: few flights are late, and they are late for other reasons",
    "2013-11-27": "a storm on the eve of Thanksgiving",
    "2013-11-29": "Friday after Thanksgiving: fewer departures",
    "2013-12-31": "the source's weather ends on 30 December: all values are missing",
}


@lru_cache(maxsize=1)
def flights() -> Counted:
    """Flights from March on, on the grids of their own reference: January and February."""
    rows = logs.rows(FLIGHTS)
    first = int(rows["event_time"].min() // DAY)
    days = int(rows["event_time"].max() // DAY) - first
    rows = rows.assign(day=rows["event_time"] // DAY - first)
    return counted(FLIGHTS, rows, days, first=first, counting=reference_counting(FLIGHTS))


def told(holidays: bool) -> list[Told]:
    """Our alerts, with the calendar or without."""
    known = frozenset(from_iso(date) // DAY for date in HOLIDAYS) if holidays else frozenset()
    return sorted(alerts(flights(), known), key=lambda one: one.day)


def notices(found: list[Told]) -> int:
    """Days on which something is told: all that begins in a cycle is one notice."""
    return len({(one.day, one.part) for one in found})


def date(day: int) -> str:
    """Date of a day of the log."""
    return str(pd.Timestamp(0) + pd.Timedelta(days=flights().first + day))[:10]


def table() -> list[tuple[str, str, str, str]]:
    """Each alert with the calendar: date, subject, what, and what happened."""
    return [
        (date(one.day), one.subject, one.what, HAPPENED.get(date(one.day), "")) for one in told(holidays=True)
    ]


def by_rule() -> dict[str, tuple[int, float, float]]:
    """Alerts of each rule, notices in 30 days, and the share of days on which one stands or begins."""
    of, shown = flights(), {}
    for rule in rules.RULES:
        found = rules.told_by(rule, of)
        standing = {day for day, *_ in rules.RULES[rule](of)}
        days = len(of.records) - rules.LEARN
        shown[rule] = (len(found), notices(found) / days * 30, len(standing) / days)
    return shown


def months() -> float:
    """Judged months."""
    return float(len(flights().records) - 14) / 30


def standing() -> float:
    """Share of the days on which an alert of ours stands."""
    known = frozenset(from_iso(one) // DAY for one in HOLIDAYS)
    days: set[int] = set()
    for part in logs.Part:
        for day, _, _, said in logs.judged(flights(), part, logs.AlertBudget(), known):
            if any(one.stands for one in said):
                days.add(day)
    return float(np.round(len(days) / len(flights().records), 3))
