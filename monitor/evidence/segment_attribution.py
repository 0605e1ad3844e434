"""Which segment holds a change, by its own counts, and which change of a segment is that of the whole."""

from dataclasses import dataclass, replace

import numpy as np

from monitor.core.change import SegmentShare
from monitor.evidence.change_sizes import additive_value
from monitor.evidence.day_record import NO_CHANGE, DayRecord
from monitor.evidence.day_values import measure_subject_values
from monitor.evidence.score_residuals import mean_residual_terms
from monitor.evidence.watch import RESIDUALS, DailyStatistic, SubjectGroup, Watch
from monitor.records.counting import TALLY, Counting
from monitor.states.strata import WHOLE, Strata, Stratum, isolate_stratum, select_segments

_STANDS_OUT = 0.25  # share of a change, beyond the share of the records
_WHOLE_ONLY = ("late", "future", "version")  # faults that are not counted by segment: nor are features
_TOGETHER = 3  # days between the beginnings of what is one change
_EXPLAINED = 0.5  # share of the change of the whole that the segments of a column must show


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Counters of a change: of its days, and of those before."""

    by: int  # series, or series + fault, by which it was found
    sign: float  # 1: it rises; -1: it falls
    # during, before: counters by stratum.
    during: Strata
    before: Strata
    # days_during, days_before: how many days these are.
    days_during: float
    days_before: float


def find_holding_segment(watch: Watch, counting: Counting, counts: ChangeCounts) -> SegmentShare | None:
    """The segment that holds most of a change, beyond its share of the records; None: it is counted of none.

    A segment adds n·(value now - value before) to a change, of an error the mean square, of labels
    against scores what they are beyond what scores promise; of faults the
    records beyond its earlier share; of the number of records what it has more or fewer a day, and its share
    is that of the larger number. Features, and some faults of the log, are counted of the whole alone.
    """
    is_fault = counts.by >= len(watch.series)
    fault = watch.faults[counts.by - len(watch.series)] if is_fault else None
    subject = watch.series[counts.by].subject if fault is None else fault.subject
    if watch.groups[subject] is SubjectGroup.FEATURE or (fault is not None and fault.name in _WHOLE_ONLY):
        return None
    of_whole, _ = _stratum_contribution(watch, counting, counts, WHOLE)
    best, excess = SegmentShare(), _STANDS_OUT
    for column, _ in counting.segments:
        strata = select_segments({**counts.during, **counts.before}, ((column, ()),))
        each = [_stratum_contribution(watch, counting, counts, stratum) for stratum in strata]
        total, records = sum(part for part, _ in each), sum(size for _, size in each)
        # Segments that do not show the change of the whole say nothing of it.
        if not (of_whole > 0 and records > 0 and total >= _EXPLAINED * of_whole):
            continue
        for stratum, (part, size) in zip(strata, each, strict=True):
            if part / total - size / records >= excess:
                excess = part / total - size / records
                best = SegmentShare(stratum.segment or "", part / total, size / records)
    return best


def without_repeats_of_whole(
    watch: Watch, record: DayRecord, whole_watch: Watch, whole_record: DayRecord
) -> DayRecord:
    """The record of segments in which no change is told anew that one of the whole tells on the same day.

    They began within 3 days of one another. It stands all the same, with evidence that is just not enough.
    """
    since_of_whole = dict(zip(whole_watch.subjects, whole_record.since.tolist(), strict=True))
    since = np.asarray([since_of_whole.get(group.value, NO_CHANGE) for group in watch.groups], dtype=np.int64)
    found = (record.since > NO_CHANGE) & (record.evidence_from == record.day)
    repeated = found & (since > NO_CHANGE) & (np.abs(record.since - since) <= _TOGETHER)
    return replace(record, evidence=np.where(repeated, 1.0, record.evidence).astype(np.float32))


def _stratum_contribution(
    watch: Watch, counting: Counting, counts: ChangeCounts, stratum: Stratum
) -> tuple[float, float]:
    """What a stratum adds to a change, 0 if it goes the other way; its records."""
    now, n = _value_and_records(watch, counting, counts.by, isolate_stratum(counts.during, stratum))
    before, n_before = _value_and_records(watch, counting, counts.by, isolate_stratum(counts.before, stratum))
    if counts.by < len(watch.series) and watch.series[counts.by].statistic is DailyStatistic.RECORDS:
        a_day, a_day_before = n / counts.days_during, n_before / counts.days_before
        return max(counts.sign * (a_day - a_day_before), 0.0), max(a_day, a_day_before)
    added = counts.sign * (now - before)
    return (max(n * added, 0.0), n) if np.isfinite(added) else (0.0, n)


def _value_and_records(watch: Watch, counting: Counting, by: int, strata: Strata) -> tuple[float, float]:
    """Value of a series, or share of a fault, and the records behind it."""
    if by >= len(watch.series):
        fault = watch.faults[by - len(watch.series)]
        _, faults = measure_subject_values(watch, counting, strata, fault.subject)
        hits, trials = faults.get(fault.name, (0, 0))
        return hits / max(trials, 1), float(trials)
    one = watch.series[by]
    if one.statistic in RESIDUALS:
        if WHOLE not in strata:
            return np.nan, 0.0
        whole = strata[WHOLE].make_dense()
        terms = mean_residual_terms(watch.score_maps[one.cell], counting, whole, one.cell)
        labelled = float(whole.dense_block("tally")[TALLY.index("labelled")])
        return terms[RESIDUALS.index(one.statistic)], labelled
    values, _ = measure_subject_values(watch, counting, strata, one.subject)
    value, n = values.get((one.statistic, one.cell), (np.nan, 0.0))
    # The n of performance is that of its variance: records are counted by their tally.
    if strata and watch.groups[one.subject] is SubjectGroup.PERFORMANCE:
        n = float(strata[WHOLE].make_dense().dense_block("tally")[TALLY.index("labelled")])
    return additive_value(one.statistic, value), n
