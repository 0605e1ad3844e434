"""Days of a feature as cells: an alert, changed though not found yet, unusual, not compared. Pure.

A cell is coloured where an alert stood; what is unusual without one is grey.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.alerts.alert_rules import Severity
from monitor.charts.strips import StripLook
from monitor.core.array_types import Ints
from monitor.core.change import ChangeAspect, aspect_of_kind
from monitor.core.clock import DAY
from monitor.pages.page_request import DaySurprises

SHOWN_DAYS = 60
FAR, OUTSIDE = 4.5, 3.0  # standard normals; of 60 days of 16 features one or two are outside by chance
_LATER = 3 * DAY  # after which the alert of a day has fired
_LOOKS: tuple[StripLook | None, ...] = (
    None, "outside", "far", "changed", "hatched", "warning", "critical",
)  # fmt: skip
_CHANGED, _HATCHED = 3, 4
_CODES = {Severity.WARNING: 5, Severity.CRITICAL: 6}  # places in the looks


@dataclass(frozen=True, slots=True)
class AlertEpisode:
    """When an alert of a feature fired; moments in microseconds."""

    fired: int
    ended: int | None  # None: it fires
    severity: Severity
    aspect: ChangeAspect  # of its values
    is_daily: bool  # whether it was judged by days: which ones, the days themselves say


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureDays:
    """What is known of the judged days of a feature, oldest first."""

    surprises: DaySurprises
    since: Ints  # first day of the change that stood on each; 0: none did
    kinds: Sequence[str]  # its kind
    episodes: Sequence[AlertEpisode]  # of all its alerts that are warnings or critical
    now: Severity | None  # of the worst alert that fires now; None: none does


@dataclass(frozen=True, slots=True)
class DayCalendar:
    """The judged days, as columns, and the calendar days that are shown: 60 at most, up to the newest one."""

    day: Ints  # days since 1970-01-01, ascending
    # start, end: microseconds.
    start: Ints
    end: Ints

    @classmethod
    def from_days(cls, days: Sequence[tuple[int, int, int]]) -> "DayCalendar":
        """Columns of (day, start, end); one at least."""
        return cls(*np.asarray(days, dtype=np.int64).T)

    @property
    def last(self) -> int:
        """The newest day."""
        return int(self.day[-1])

    @property
    def first(self) -> int:
        """The first one that is shown."""
        return max(int(self.day[0]), self.last - SHOWN_DAYS + 1)


def look_at_days(
    calendar: DayCalendar, known: FeatureDays, aspect: ChangeAspect | None = None
) -> list[StripLook | None]:
    """How each shown calendar day is drawn, oldest first; None: as expected.

    `aspect`: what of its values is looked at; None: all. `surprises` and `now` are of the same.
    """
    size = known.surprises.size
    judged = np.where(size >= FAR, 2, np.where(size >= OUTSIDE, 1, 0))
    alerted = np.zeros(len(size), dtype=np.int64)
    for places, severity in _alerted_places(calendar, known, aspect):
        alerted[places] = np.maximum(alerted[places], _CODES[severity])
    alerted[-1] = 0
    if known.now is not None:  # of the newest day whatever fires now says so
        alerted[-1] = _CODES[known.now]
    for first_day in np.unique(known.since[alerted > 0]).tolist():
        found = int(np.argmax((known.since == first_day) & (alerted > 0)))
        if first_day > 0:
            judged[:found] = np.where(calendar.day[:found] >= first_day, _CHANGED, judged[:found])
    judged[np.isnan(size)] = _HATCHED
    codes = np.full(calendar.last - calendar.first + 1, _HATCHED)
    shown = calendar.day >= calendar.first
    codes[calendar.day[shown] - calendar.first] = np.where(alerted > 0, alerted, judged)[shown]
    return [_LOOKS[code] for code in codes.tolist()]


def _alerted_places(
    calendar: DayCalendar, known: FeatureDays, aspect: ChangeAspect | None
) -> Iterator[tuple[Ints, Severity]]:
    """Places of the days on which an alert stood: a change that was found, and an alert that told it."""
    daily = [one for one in known.episodes if one.is_daily]
    for first_day in np.unique(known.since[known.since > 0]).tolist():
        places = np.flatnonzero(known.since == first_day)
        kind = known.kinds[int(places[0])]
        if aspect not in (None, aspect_of_kind(kind)):
            continue
        start, end = int(calendar.start[places[0]]), int(calendar.end[places[-1]]) + _LATER
        told = [one.severity for one in daily if one.fired <= end and (one.ended or end + 1) > start]
        if told:
            yield places, min(told, key=list(Severity).index)
    for one in known.episodes:
        if not one.is_daily and aspect in (None, one.aspect):
            past = calendar.end < (one.ended or calendar.end[-1] + 1)
            yield np.flatnonzero((calendar.end > one.fired - DAY) & past), one.severity
