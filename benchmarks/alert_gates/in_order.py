"""A real log as it is: ten months of flights, with a calendar of holidays."""

from functools import lru_cache

import numpy as np
import pandas as pd
from alert_gates import logs, rules
from alert_gates.found import Told, alerts
from alert_gates.logs import FLIGHTS, Counted, counted, reference_counting

from monitor.core.clock import DAY, from_iso

HOLIDAYS = ("2013-05-27", "2013-07-04", "2013-09-02", "2013-11-28", "2013-12-25", "2014-01-01")
_STORMS = "storms from 5 to 10 December: up to a fifth of the flights cancelled, 43 to 71 % late"
HAPPENED = {  # labels of a day are judged a day later
    "2013-03-07": "storm of 6 to 8 March: 17 % of the flights of the 6th cancelled, with empty labels",
    "2013-05-10": "spring: it has become warmer for four weeks",
    "2013-05-24": "storms of 23 May: a quarter of its flights cancelled, 62 % of the others late",
    "2013-05-26": "Sunday before Memorial Day: fewer departures",
    "2013-06-29": "delays of 42 minutes on two days: flights left at night, and mornings have recent ones",
    "2013-09-01": "Sunday before Labor Day: fewer departures",
    "2013-09-26": "autumn: it has become colder for two weeks",
    "2013-10-24": "autumn: it has become colder for three weeks",
    "2013-11-27": "storm on the eve of Thanksgiving",
    "2013-11-29": "Friday after Thanksgiving: fewer departures",
    "2013-12-04": "days of mist",
    "2013-12-06": _STORMS,
    "2013-12-09": _STORMS,
    "2013-12-10": _STORMS,
    "2013-12-11": _STORMS,
    "2013-12-17": "snow on 14 and 17 December: 60 and 73 % of the flights late",
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


def told(*, holidays: bool) -> list[Told]:
    """Our alerts, with the calendar or without."""
    known = frozenset(from_iso(date) // DAY for date in HOLIDAYS) if holidays else frozenset()
    return sorted(alerts(flights(), known), key=lambda one: one.day)


def notices(found: list[Told]) -> int:
    """Days on which something is told: all that begins in a cycle is one notice."""
    return len({(one.day, one.part) for one in found})


def date(day: int) -> str:
    """Date of a day of the log."""
    return str(pd.Timestamp(0) + pd.Timedelta(days=flights().first + day))[:10]


def table() -> list[tuple[str, str, str]]:
    """Each alert with the calendar: date, subject, what."""
    return [(date(one.day), one.subject, one.what) for one in told(holidays=True)]


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
