"""Rows of judged days: evidence, size of the change, smallest change that would be found, by subject."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import BECAUSE, Detail, Measurement, Reason
from monitor.evidence.days import NEVER, DayRow
from monitor.evidence.expected import FEWEST
from monitor.evidence.telling import Judgement, NotJudged
from monitor.evidence.watched import Watch, WatchGroup
from monitor.measures.catalogue.daily import ALERTS, BUDGET, CHANGE, CHANGED, DETECTABLE, EVIDENCE
from monitor.measures.rows import CUMULATIVE, MeasurementRow, Truth
from monitor.pipeline.sequential.standing import StandingChange
from monitor.records.pane import Part
from monitor.sentences.changed import VERSION
from monitor.sentences.known import few
from monitor.specs.rows import Day

_SOME = 0.1
_MONTH = 30  # days
_DRIFTS = "it moves by itself: smaller changes are not told from that"
_FEW = "too few records a day to tell smaller changes from chance"
PERFORMANCE = WatchGroup.PERFORMANCE.value
_REASONS = {
    NotJudged.LEARNING: Reason.LEARNING,
    NotJudged.TOO_FEW: Reason.TOO_FEW,
    NotJudged.NOT_CHOSEN: Reason.TOO_FEW,
    NotJudged.NO_RECORDS: Reason.NO_RECORDS,
    NotJudged.UNDEFINED: Reason.UNDEFINED,
}
_OF_LABELS = {WatchGroup.PERFORMANCE, WatchGroup.LABEL, WatchGroup.LABELS}
_MAIN = {Part.RECORDS: "records", Part.LABELS: ""}


def watched_as(subject: str) -> str:
    """Subject of a watch, of that of a row: performance is of the whole, and its rows name no subject."""
    return subject or PERFORMANCE


def is_of_labels(subject: str) -> bool:
    """Whether the subject of a row is judged with the days of labels."""
    return watched_as(subject) in _OF_LABELS


def learning_rows(part: Part, end: int, days: int) -> Iterator[MeasurementRow]:
    """That nothing is judged of a part yet."""
    because = f"learning: {days} of {FEWEST} days"
    if part is Part.LABELS and not days:
        because = (
            "learning: the age at which labels are taken is not known yet; "
            "if most come later than two thirds of the horizon, give settle_after"
        )
    detail = Detail(BECAUSE, ((because,),))
    result = Measurement(value=None, n=days, reason=Reason.LEARNING, detail=detail)
    yield _row(EVIDENCE, _MAIN[part], end, result)


def rows_of(
    end: int,
    told: Iterable[Judgement],
    *,
    day: int,
    n: int,
    subjects: int,
    standing: Mapping[str, StandingChange],
    segmented: bool = False,
) -> Iterator[MeasurementRow]:
    """What is said of a day's subjects.

    Parameters
    ----------
    end
        of the day, microseconds.
    day
        its date in the model's time zone, days since 1970-01-01.
    n
        its records.
    subjects
        of the model that are watched.
    standing
        by subject the changes that stand.
    segmented
        subjects are segments: what is watched of each is the subject of its rows.
    """
    for one in told:
        segment, subject = (one.subject, one.group.value) if segmented else (None, one.subject)
        subject = "" if subject == PERFORMANCE else subject
        reason = None if one.unjudged is None else _REASONS.get(one.unjudged)
        judged = reason is None or one.stands  # faults may, whatever the series
        change = standing.get(one.subject)
        detail = _detail(one, day, subjects, change)
        result = _result(one.evidence if judged else None, n, reason, detail)
        yield _row(EVIDENCE, subject, end, result, segment)
        size = one.size if one.index is None else one.index
        yield _row(CHANGE, subject, end, _result(size if judged and one.what else None, n, reason), segment)
        if one.detectable is not None:
            why = None if one.drifts is None else Detail(BECAUSE, ((_DRIFTS if one.drifts else _FEW,),))
            yield _row(DETECTABLE, subject, end, _result(one.detectable, n, None, why), segment)


def budget_rows(end: int, allowed: float, told: int) -> Iterator[MeasurementRow]:
    """What the budget allows in 30 days, and how many changes were told in the last 30.

    Parameters
    ----------
    end
        of the newest day, microseconds.
    """
    yield _row(BUDGET, "", end, Measurement(value=allowed, n=0))
    yield _row(ALERTS, "", end, Measurement(value=float(told), n=0))


def told_lately(days: Iterable[Day], rows: Sequence[DayRow], after: int) -> int:
    """Changes told in the 30 days up to the newest row's.

    Days due by `after` were learned from alone: the first day that came later told all that stood.
    """
    due = zip(days, rows, strict=False)  # the first days have no rows until something is watched
    told = [row for day, row in due if day.due > after]
    begun = (
        ((row.reset == row.day) | (row is told[0])) & (row.since > NEVER) & (row.evidence > 1) for row in told
    )
    lately = (row.day > rows[-1].day - _MONTH for row in told)
    return sum(int(some.sum()) for some, late in zip(begun, lately, strict=True) if late)


def with_evidence(rows: Sequence[MeasurementRow], watch: Watch, last: DayRow) -> list[MeasurementRow]:
    """Rows of the subjects that have a tenth of the evidence that an alert needs, or had it the day before.

    Parameters
    ----------
    last
        of the day before.
    """
    had = zip(watch.subjects, last.evidence, strict=True)
    moved = {name for name, evidence in had if evidence >= _SOME}
    has = (row for row in rows if row.measure == EVIDENCE and (row.measurement.value or 0.0) >= _SOME)
    moved.update(row.segment or watched_as(row.subject) for row in has)
    return [row for row in rows if (row.segment or watched_as(row.subject)) in moved]


def _result(value: float | None, n: int, reason: Reason | None, detail: Detail | None = None) -> Measurement:
    absent = None if value is not None else reason or Reason.UNDEFINED
    return Measurement(value=value, n=n, reason=absent, detail=detail)


def _detail(one: Judgement, day: int, subjects: int, change: StandingChange | None) -> Detail:
    low, high = (None, None) if one.expected is None else one.expected
    since = None if one.since is None else _date(one.since)
    size = one.size if one.index is None else one.index
    way = "rises" if one.rises else "falls"
    what = one.what or ""
    held = None if change is None else change.held
    level = few(change.versions) if change is not None and what == VERSION else one.level
    told = (what, level, way, one.value, low, high, size, since, one.months, one.apparent, one.days)
    own = (None, None, None) if one.in_unit is None else one.in_unit
    where = (None, None, None) if held is None else (held.segment, held.of_change, held.of_records)
    usual = None if one.usual_since is None else _date(one.usual_since)
    unvalued = None if one.unvalued is None else one.unvalued.value
    missing = one.missing or (None, None)
    return Detail(
        CHANGED, ((*told, one.over, *own, subjects, *where, unvalued, _date(day), usual, *missing),)
    )


def _date(day: int) -> str:
    return to_iso(day * DAY)[:10]


def _row(
    measure: str, subject: str, end: int, result: Measurement, segment: str | None = None
) -> MeasurementRow:
    return MeasurementRow(
        window=CUMULATIVE,
        window_end=end,
        truth=Truth.NONE,
        version=None,
        segment=segment,
        measure=measure,
        subject=subject,
        measurement=result,
    )
