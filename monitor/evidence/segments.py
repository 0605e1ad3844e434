"""Which segment holds a change, by its own counts, and which change of a segment is that of the whole."""

from dataclasses import dataclass, replace

import numpy as np

from monitor.evidence.daily import values_of
from monitor.evidence.days import NEVER, DayRow
from monitor.evidence.sizes import additive
from monitor.evidence.watched import Trait, Watch, WatchGroup
from monitor.records.counting import TALLY, Counting
from monitor.states.strata import WHOLE, Strata, Stratum, alone, segments_of

_STANDS_OUT = 0.25  # share of a change, beyond the share of the records
_OF_THE_WHOLE = ("late", "future", "version")  # faults that are not counted by segment: nor are features
_TOGETHER = 3  # days between the beginnings of what is one change
_EXPLAINED = 0.5  # share of the change of the whole that the segments of a column must show


@dataclass(frozen=True, slots=True)
class HoldingSegment:
    """The segment that holds a change.

    Parameters
    ----------
    segment
        "column=value"; empty: none stands out.
    of_change, of_records
        its shares.
    """

    segment: str = ""
    of_change: float = 0.0
    of_records: float = 0.0


def held_by(
    watch: Watch,
    counting: Counting,
    by: int,
    sign: float,
    now: Strata,
    before: Strata,
    days: tuple[float, float],
) -> HoldingSegment | None:
    """The segment that holds most of a change, beyond its share of the records.

    A segment adds n·(value now - value before) to a change, of an error the mean square; of faults the
    records beyond its earlier share; of the number of records what it has more or fewer a day, and its share
    is that of the larger number.
    None of what is counted of the whole alone: features, and some faults of the log.

    Parameters
    ----------
    by
        series, or series + fault, by which the change was found.
    sign
        1: it rises; -1: it falls.
    now, before
        counters of the days of the change, and of the days before, by stratum.
    days
        how many these are.
    """
    fault = watch.faults[by - len(watch.series)] if by >= len(watch.series) else None
    subject = watch.series[by].subject if fault is None else fault.subject
    if watch.groups[subject] is WatchGroup.FEATURE or (fault is not None and fault.fault in _OF_THE_WHOLE):
        return None
    added, _ = _added(watch, counting, by, sign, (now, before), WHOLE, days)
    best, excess = HoldingSegment(), _STANDS_OUT
    for column, _ in counting.segments:
        strata = segments_of({**now, **before}, ((column, ()),))
        each = [_added(watch, counting, by, sign, (now, before), stratum, days) for stratum in strata]
        total, records = sum(part for part, _ in each), sum(size for _, size in each)
        if not (added > 0 and records > 0 and total >= _EXPLAINED * added):
            continue
        for stratum, (part, size) in zip(strata, each, strict=True):
            if part / total - size / records >= excess:
                excess = part / total - size / records
                best = HoldingSegment(stratum.segment or "", part / total, size / records)
    return best


def told_with_whole(watch: Watch, row: DayRow, whole: Watch, of_whole: DayRow) -> DayRow:
    """The row of segments in which no change is told anew that one of the whole tells on the same day.

    They began within 3 days of one another. It stands all the same, with evidence that is just not enough.

    Parameters
    ----------
    whole, of_whole
        what is watched of the whole part, and its row of the day.
    """
    of = {name: int(since) for name, since in zip(whole.subjects, of_whole.since, strict=True)}
    since = np.asarray([of.get(group.value, NEVER) for group in watch.groups], dtype=np.int64)
    found = (row.since > NEVER) & (row.reset == row.day)
    known = found & (since > NEVER) & (np.abs(row.since - since) <= _TOGETHER)
    return replace(row, evidence=np.where(known, 1.0, row.evidence).astype(np.float32))


def _added(
    watch: Watch,
    counting: Counting,
    by: int,
    sign: float,
    strata: tuple[Strata, Strata],
    stratum: Stratum,
    days: tuple[float, float],
) -> tuple[float, float]:
    """What a stratum adds to a change, 0 if it goes the other way; its records."""
    (now, n), (before, earlier) = (_value(watch, counting, by, each, stratum) for each in strata)
    if by < len(watch.series) and watch.series[by].trait is Trait.RECORDS:
        a_day, a_day_before = n / days[0], earlier / days[1]
        return max(sign * (a_day - a_day_before), 0.0), max(a_day, a_day_before)
    added = sign * (now - before)
    return (max(n * added, 0.0), n) if np.isfinite(added) else (0.0, n)


def _value(
    watch: Watch, counting: Counting, by: int, strata: Strata, stratum: Stratum
) -> tuple[float, float]:
    """Value of a series, or share of a fault, and the records behind it."""
    of = alone(strata, stratum)
    if by >= len(watch.series):
        fault = watch.faults[by - len(watch.series)]
        hits, trials = values_of(watch, counting, of, fault.subject)[1].get(fault.fault, (0, 0))
        return hits / max(trials, 1), float(trials)
    one = watch.series[by]
    value, n = values_of(watch, counting, of, one.subject)[0].get((one.trait, one.cell), (np.nan, 0.0))
    if of and watch.groups[one.subject] is WatchGroup.PERFORMANCE:  # whose n is that of its variance
        n = float(of[WHOLE].opened().block("tally")[TALLY.index("labelled")])
    return additive(one.trait, value), n
