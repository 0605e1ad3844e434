"""Days as they were judged against the budget of false alerts, from the store alone."""

import numpy as np

from monitor.core.clock import DAY, from_iso
from monitor.evidence.days import DayRow, History, unpack
from monitor.evidence.expected import FEWEST
from monitor.evidence.judging import as_judged_by, faults_then
from monitor.evidence.sizes import plain
from monitor.evidence.telling import Means, expected_band, in_unit
from monitor.evidence.watched import Watch
from monitor.measures.catalogue.daily import REMEMBERED
from monitor.pages.asked import FollowedDay
from monitor.pipeline.sequential.day_rows import is_of_labels, watched_as
from monitor.pipeline.sequential.watched import counted_as, watch_from
from monitor.records.codec import decode
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.sentences.changed import ToldSeries
from monitor.store.adapter import SqlStore

_BEFORE, _AFTER = 14, 14  # days before the first one of a change, and after that by which it was found
_FOUND = 60  # days after the first one


def followed_days(
    store: SqlStore,
    model: str,
    counting: Counting,
    of: tuple[str, str],
    told: ToldSeries,
    span: tuple[int, int],
) -> list[FollowedDay]:
    """Days about the first one of a change, and on to those by which it was found, oldest first.

    None, where they are watched otherwise now.

    Parameters
    ----------
    of
        subject and segment, as rows name them; of the whole the segment is empty.
    span
        when its alert fired; the moment by which the days were judged that are told.
    """
    subject, segment = of
    part = Part.LABELS if is_of_labels(subject) else Part.RECORDS
    layout, key = counting.layout(part), (part, bool(segment))
    first = store.days(model, part, counted_as(counting, key), FEWEST)
    if len(first) < FEWEST:
        return []
    watch = watch_from(counting, key, tuple(decode(day.blob, layout) for day in first))
    by = position_of(watch, segment or watched_as(subject), told.kind, told.level)
    begins, (fired, until) = from_iso(told.since) // DAY, span
    ends = max(begins, min(fired // DAY, begins + _FOUND)) + _AFTER
    last = (ends + 2) * DAY  # west of UTC a day ends on the next one
    if by is None:
        return []
    before = REMEMBERED if by >= len(watch.series) else 0  # what was expected of faults is not kept
    kept = store.days(model, part, watch.key, before + _BEFORE + ends - begins + 2, last, until)
    means = Means(told.usual, told.deviation)
    rows = as_judged_by(watch, [unpack(day.blob, watch) for day in kept])
    found = []
    for at, (day, row) in enumerate(zip(kept, rows, strict=True)):
        if not begins - _BEFORE <= row.day <= ends:
            continue
        figures = figures_of(watch, rows[:at], row, by, own=told.own, means=means)
        if figures is not None:
            found.append(FollowedDay(row.day, day.start, day.end, *figures))
    return found


def figures_of(
    watch: Watch, history: History, row: DayRow, by: int, *, own: bool, means: Means | None = None
) -> tuple[float, float, float] | None:
    """Value of a kept day and the band that was expected of it; None: it has none, or too little was learned.

    Parameters
    ----------
    by
        series, or series + fault.
    own
        in the numbers' own unit, else as in `Judgement`.
    means
        of the numbers, without which no level is in their unit.
    """
    if by >= len(watch.series):
        fault = by - len(watch.series)
        if not row.trials[fault]:  # no records, or one of `unusual_days`
            return None
        faults = faults_then(watch, history, row)
        return float(faults.share[fault]), 0.0, float(faults.largest[fault])
    value, trait = float(row.values[by]), watch.series[by].trait
    low, high = expected_band(float(row.level[by]), float(row.deviation[by]))
    if not np.isfinite(low):
        return None
    if own:
        return in_unit(watch, row, row.level, by, (value, low, high), means)
    first, last = sorted(plain(trait, bound) for bound in (low, high))
    return plain(trait, value), first, last


def position_of(watch: Watch, subject: str, what: str, level: str) -> int | None:
    """Series, or series + fault, of a subject; None: it is not watched."""
    keys = [(watch.subjects[one.subject], one.trait.value, one.level) for one in watch.series]
    keys += [(watch.subjects[one.subject], one.fault, "") for one in watch.faults]
    return keys.index((subject, what, level)) if (subject, what, level) in keys else None
