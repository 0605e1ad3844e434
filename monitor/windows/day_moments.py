"""Days that are judged once: when they begin, when they are due, at which age their labels are taken. Pure.

A day is due at a moment that follows from the day alone, so that any order of ticks finds the same counts.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import HOUR
from monitor.windows.window_ends import count_epoch_days, floor_to_unit, largest_pane

ENOUGH_DAYS = 14  # of a feed, before its delays tell at which age labels are taken
TAKEN = 0.6  # share of the labels that will come, by which a day's are taken
HEARD = 1.5  # times that age the feed must have been heard for: it could have shown longer delays
ENOUGH_LABELS = 50  # of a class, before they tell an age
FEWEST_LABELS = 10  # of a class, known of the days that have reached an age: below, that age tells nothing
PATIENCE = 56  # days after which a class is no longer waited for


def zone_of_days(zone: str, pane: int) -> str:
    """Zone whose days are whole panes: the model's own, or UTC.

    >>> from monitor.core.clock import DAY
    >>> zone_of_days("Europe/Vienna", HOUR), zone_of_days("Europe/Vienna", DAY)
    ('Europe/Vienna', 'UTC')
    """
    return "UTC" if largest_pane("day", zone) % pane else zone


def days_from(moment: int, zone: str) -> Iterator[tuple[int, int]]:
    """(Start, end) of the days of a zone that begin at or after a moment, for ever."""
    start = floor_to_unit("day", zone, moment)
    if start < moment:
        start = _next_day(start, zone)
    while True:
        end = _next_day(start, zone)
        yield start, end
        start = end


def day_around(moment: int, zone: str) -> tuple[int, int]:
    """(Start, end) of the day of a zone that a moment lies in."""
    start = floor_to_unit("day", zone, moment)
    return start, _next_day(start, zone)


def without_days(
    span: tuple[int, int], days: Sequence[tuple[int, int]], zone: str
) -> tuple[tuple[int, int], ...]:
    """What is left of a span without some days of a zone, each (first, last) by their numbers.

    >>> from monitor.core.clock import DAY
    >>> [(start // DAY, end // DAY) for start, end in without_days((0, 7 * DAY), [(2, 3)], "UTC")]
    [(0, 2), (4, 7)]
    """
    first, end = span
    left: list[tuple[int, int]] = []
    # Most spans hold none of the days, and are not to be cut day by day.
    first_day, last_day = count_epoch_days(first, zone), count_epoch_days(end, zone)
    if not any(one <= last_day and first_day <= last for one, last in days):
        return (span,)
    for start, over in takewhile(
        lambda day: day[0] < end, days_from(floor_to_unit("day", zone, first), zone)
    ):
        if any(one <= count_epoch_days(start, zone) <= last for one, last in days):
            continue
        joined = left.pop()[0] if left and left[-1][1] == start else max(start, first)
        left.append((joined, min(over, end)))
    return tuple(left)


def due_moment(end: int, ready_after: int, every: int, age: int = 0) -> int:
    """First tick at which a day is ready and, of its labels, of some age; microseconds.

    >>> from monitor.core.clock import DAY
    >>> due_moment(2 * DAY, HOUR // 4, HOUR) - 2 * DAY == HOUR
    True
    """
    return -(-(end + age + ready_after) // every) * every


def label_age(counts: Ints, observed: Ints, patience: int = PATIENCE) -> int | None:
    """First whole number of days at which most labels to come are in, of each class; None: not known yet.

    The development of each day's labels, from age to age, is that of all days that have reached it: what lies
    beyond the right edge of the triangle does not count as missing (chain ladder; Mack (1993), ASTIN Bulletin
    23:213). A class of its own: where most are negative and come at once, all together would tell an age at
    which no positive is in.

    Parameters
    ----------
    counts
        (classes, days, ages), int64: labels of a day that were reported at most 0, 1, … days after their
        records.
    observed
        int64: the age in days that every record of a day has reached.
    patience
        days after which a class of which hardly any label came is no longer waited for.
    """
    ages = int(observed.max(initial=0))
    if ages < ENOUGH_DAYS:
        return None
    # Labels of a day's first hours are there before all of the day has reached their age: not yet counted.
    reached = np.arange(ages + 1) <= observed[:, None]
    known = np.where(reached, counts[:, :, : ages + 1], 0)
    enough = known.max(axis=2, initial=0).sum(axis=1) >= ENOUGH_LABELS
    if not enough.any() or (ages < patience and not enough.all()):
        return None
    found = [_class_label_age(of_class, observed) for of_class in known[enough]]
    return None if None in found else max(age for age in found if age is not None)


def _class_label_age(known: Ints, observed: Ints) -> int | None:
    """The same of one class, shape (days, ages): known labels, 0 at ages that a day has not reached."""
    heard = int(np.flatnonzero(known.sum(axis=0) >= FEWEST_LABELS).max(initial=0))
    # From the right edge backwards: at the greatest age all that will come is in, and each step back has the
    # share that days old enough for both had one day earlier. A step at which none is in has nothing of it.
    share: Floats = np.ones(heard + 1)
    for age in range(heard - 1, -1, -1):
        old_enough = observed > age
        before, after = known[old_enough, age].sum(), known[old_enough, age + 1].sum()
        share[age] = share[age + 1] * (before / after if after else 0.0)
    reached = np.flatnonzero((share >= TAKEN) & (np.arange(heard + 1) >= 1))
    age = int(reached[0]) if len(reached) else heard
    return age if HEARD * age <= heard else None


def _next_day(start: int, zone: str) -> int:
    # A day has 23 to 25 hours: 26 hours on it is surely the next one, and never the one after.
    return floor_to_unit("day", zone, start + 26 * HOUR)
