"""Rows of judged days: evidence, size of the change, smallest change that would be found, by subject."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from monitor.core.change import Change, NotJudged
from monitor.core.measurement import BECAUSE, DetailTable, Measurement, Reason
from monitor.evidence.day_record import NO_CHANGE, DayRecord
from monitor.evidence.describing import OngoingChange, SubjectVerdict
from monitor.evidence.hourly_faults import HourlyFault
from monitor.evidence.judging import MOST_EVIDENCE
from monitor.evidence.watch import SubjectGroup, Watch
from monitor.measures.catalogue.daily_measures import (
    ALERTS,
    BUDGET,
    CHANGE,
    DETECTABLE,
    EVIDENCE,
    FEWEST_DAYS,
)
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.records.pane import PaneHalf
from monitor.sentences.change_words import NEW_VERSION
from monitor.sentences.known_measurements import join_few_names
from monitor.specs.stored_rows import KeptDay

PERFORMANCE = SubjectGroup.PERFORMANCE.value
_SOME_EVIDENCE = 0.1
_MONTH = 30  # days
_MOST_NATS = 100.0  # more evidence is all the same
_DRIFTS = "it varies by itself"
_FEW_RECORDS = "it has few records a day"
_REASONS = {
    NotJudged.LEARNING: Reason.LEARNING,
    NotJudged.TOO_FEW: Reason.TOO_FEW,
    NotJudged.NOT_CHOSEN: Reason.TOO_FEW,
    NotJudged.NO_RECORDS: Reason.NO_RECORDS,
    NotJudged.UNDEFINED: Reason.UNDEFINED,
}
_LABEL_GROUPS = {SubjectGroup.PERFORMANCE, SubjectGroup.LABEL, SubjectGroup.LABELS}


def watched_subject(row_subject: str) -> str:
    """Subject of a watch, of that of a row: performance is of the whole, and its rows name no subject."""
    return row_subject or PERFORMANCE


def is_label_subject(row_subject: str) -> bool:
    """Whether the subject of a row is judged with the days of labels."""
    return watched_subject(row_subject) in _LABEL_GROUPS


def hourly_fault_row(fault: HourlyFault, change: Change, day_end: int) -> MeasurementRow:
    """A gross fault of a day that is not over: a row of its subject, as the whole day will have one."""
    evidence = min(float(np.exp(min(fault.excess, _MOST_NATS))), MOST_EVIDENCE)
    return _day_row(EVIDENCE, fault.subject, day_end, Measurement(value=evidence, n=fault.n, change=change))


def learning_row(part: PaneHalf, end: int, days: int) -> MeasurementRow:
    """That nothing is judged of a part yet."""
    because = f"learning: {days} of {FEWEST_DAYS} days"
    if part is PaneHalf.LABELS and not days:
        because = (
            "learning: the age at which labels are taken is not known yet; "
            "if most come later than two thirds of the horizon, give settle_after"
        )
    detail = DetailTable(BECAUSE, ((because,),))
    result = Measurement(value=None, n=days, reason=Reason.LEARNING, detail=detail)
    return _day_row(EVIDENCE, "" if part is PaneHalf.LABELS else "records", end, result)


def subject_rows(
    verdict: SubjectVerdict, ongoing: OngoingChange | None, *, end: int, n: int, segmented: bool
) -> Iterator[MeasurementRow]:
    """What is said of a subject on a day that ends then, of so many records."""
    segment, subject = (verdict.subject, verdict.group.value) if segmented else (None, verdict.subject)
    subject = "" if subject == PERFORMANCE else subject
    reason = None if verdict.not_judged is None else _REASONS.get(verdict.not_judged)
    # Faults are judged, and may be a change that stands, whatever the series.
    judged = reason is None or verdict.stands
    change = _with_versions(verdict.change, ongoing)
    evidence = _value_or_reason(verdict.evidence if judged else None, n, reason)
    yield _day_row(EVIDENCE, subject, end, replace(evidence, change=change), segment)
    size = change.size if judged and change.kind else None
    yield _day_row(CHANGE, subject, end, _value_or_reason(size, n, reason), segment)
    if verdict.detectable is not None:
        why = {None: None, True: _DRIFTS, False: _FEW_RECORDS}[verdict.drifts]
        detail = None if why is None else DetailTable(BECAUSE, ((why,),))
        result = Measurement(value=verdict.detectable, n=n, detail=detail)
        yield _day_row(DETECTABLE, subject, end, result, segment)


def budget_rows(end: int, allowed: float, alerts: int) -> Iterator[MeasurementRow]:
    """What the budget allows in 30 days, and how many changes were told in the last 30."""
    yield _day_row(BUDGET, "", end, Measurement(value=allowed, n=0))
    yield _day_row(ALERTS, "", end, Measurement(value=float(alerts), n=0))


def count_recent_alerts(days: Iterable[KeptDay], records: Sequence[DayRecord], after: int) -> int:
    """Changes told in the 30 days up to the newest record's.

    Days due by `after` were learned from alone: the first day that came later told all that stood.
    """
    due = zip(days, records, strict=False)  # the first days have no records until something is watched
    told = [record for day, record in due if day.due > after]
    count = 0
    for record in told:
        begun = (record.evidence_from == record.day) | (record is told[0])
        if record.day > records[-1].day - _MONTH:
            count += int((begun & (record.since > NO_CHANGE) & (record.evidence > 1)).sum())
    return count


def select_evident_rows(
    rows: Sequence[MeasurementRow], watch: Watch, last: DayRecord
) -> list[MeasurementRow]:
    """Rows of subjects that have a tenth of the evidence that an alert needs, or had it the day before."""
    # The first day with less is kept too: it shows that it is over.
    had = zip(watch.subjects, last.evidence, strict=True)
    moved = {name for name, evidence in had if evidence >= _SOME_EVIDENCE}
    for row in rows:
        if row.measure == EVIDENCE and (row.measurement.value or 0.0) >= _SOME_EVIDENCE:
            moved.add(row.segment or watched_subject(row.subject))
    return [row for row in rows if (row.segment or watched_subject(row.subject)) in moved]


def _with_versions(change: Change, ongoing: OngoingChange | None) -> Change:
    if ongoing is None or change.kind != NEW_VERSION:
        return change
    return replace(change, category=join_few_names(ongoing.versions))


def _value_or_reason(value: float | None, n: int, reason: Reason | None) -> Measurement:
    absent = None if value is not None else reason or Reason.UNDEFINED
    return Measurement(value=value, n=n, reason=absent)


def _day_row(
    measure: str, subject: str, end: int, result: Measurement, segment: str | None = None
) -> MeasurementRow:
    return MeasurementRow(
        window=CUMULATIVE,
        window_end=end,
        truth=LabelTruth.NONE,
        version=None,
        segment=segment,
        measure=measure,
        subject=subject,
        measurement=result,
    )
