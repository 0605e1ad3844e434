"""Judging a day: what is counted of it against what the days before let expect, and against the budget."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from monitor.core.typing import Floats, Ints
from monitor.evidence.before import Before
from monitor.evidence.days import NEVER, DayRow, DayValues, History, remembered
from monitor.evidence.expected import CLIPPED, FEWEST, Expectation, expect
from monitor.evidence.faults import Faulty, faulty
from monitor.evidence.gathering import Gathered, gather, so_far, suspected
from monitor.evidence.sizes import floors
from monitor.evidence.standing import MOST, WeighedEvidence, usual_since, with_standing
from monitor.evidence.watched import Watch

MONTH = 30.0  # days that a budget is stated for


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertBudget:
    """What may be told.

    Parameters
    ----------
    false_alerts
        in 30 days, over all that is watched of a model, both parts of it.
    smallest
        stability index of the smallest change that is told; 0: whatever is evident.

    Raises
    ------
    ValueError
        if nothing or everything would be told.
    """

    false_alerts: float = 1.0
    smallest: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.false_alerts < np.inf:
            raise ValueError(f"false_alerts: a number above 0: got {self.false_alerts}")
        if not 0 <= self.smallest < np.inf:
            raise ValueError(f"smallest: a stability index, 0 or more: got {self.smallest}")

    @property
    def needed(self) -> float:
        """Evidence that an alert needs."""
        return MONTH / self.false_alerts


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A judged day. `row` is to be kept; `telling.judgements` words the others.

    Parameters
    ----------
    row
        what is remembered.
    days
        of the rows that it was judged by, and its own.
    expectation, gathered, weighed, faults
        what stands behind it, by series and by fault.
    usual_since
        shape (subjects,): see `standing.usual_since`.
    """

    row: DayRow
    days: tuple[int, ...]
    expectation: Expectation
    gathered: Gathered
    weighed: WeighedEvidence
    faults: Faulty
    usual_since: Ints


def step(
    watch: Watch, history: History, day: DayValues, *, budget: AlertBudget, unusual: bool = False
) -> Judged:
    """Judge a day by the 56 days before it. A pure function of rows as they are kept.

    Parameters
    ----------
    history
        rows of this watch: earlier ones and later ones change nothing.
    unusual
        the day is known to be like no other: it is judged by nobody, and learned from by nobody.
    """
    rows = remembered(history, day.day)
    found = so_far(watch, rows)
    before = Before.of(watch, rows, suspected(watch, rows, found))
    value = np.full(len(watch.series), np.nan) if unusual else day.values.astype(np.float64)
    expectation = _expected(watch, before, day, value)
    row = _row(day, value, expectation, rows[-1] if rows else _none(watch), unusual=unusual)
    gathered = gather(watch, [*rows, row], expectation.level, found)
    evidence = gathered.evidence * watch.weight / budget.needed
    reached = gathered.size >= floors(watch.kind, watch.floor, budget.smallest)
    faults, rare = _faults(watch, before, row)
    weighed = WeighedEvidence(evidence, np.where(reached, evidence, 0.0).sum(axis=0), rare / budget.needed)
    stands = with_standing(watch, [*rows, row], value, weighed, gathered, faults)
    return Judged(
        stands,
        tuple(one.day for one in [*rows, row]),
        expectation,
        gathered,
        weighed,
        faults,
        usual_since(watch, [*rows, stands]),
    )


def faults_then(watch: Watch, history: History, row: DayRow) -> Faulty:
    """What was said of the faults of a day that is kept."""
    rows = remembered(history, row.day)
    nobody = np.zeros((len(rows), len(watch.series)), dtype=np.bool_)  # faults know no suspicion
    return _faults(watch, Before.of(watch, rows, nobody), row)[0]


def _expected(watch: Watch, before: Before, day: DayValues, value: Floats) -> Expectation:
    return expect(
        before.of_series(watch),
        day.day,
        np.where(before.rarely_any(watch), np.nan, value),
        day.samples.astype(np.float64)[watch.sample],
        np.stack([before.lag(day.day, 1), before.lag(day.day, 2)]),
    )


def accept(watch: Watch, row: DayRow, subjects: Collection[str]) -> DayRow:
    """The last row with the changes that stand of some subjects taken for what is expected.

    What is learned begins with the first day of the change: for 14 days nothing else is judged of them.
    """
    chosen = np.isin(np.asarray(watch.subjects), list(subjects)) & (row.since > NEVER)
    return replace(
        row,
        since=np.where(chosen, NEVER, row.since).astype(np.int32),
        by=np.where(chosen, -1, row.by).astype(np.int32),
        size=np.where(chosen, 0.0, row.size).astype(np.float32),
        evidence=np.where(chosen, 0.0, row.evidence).astype(np.float32),
        reset=np.where(chosen, row.day, row.reset).astype(np.int32),
        restart=np.where(chosen, row.since, row.restart).astype(np.int32),
    )


def as_judged_by(watch: Watch, rows: Sequence[DayRow]) -> list[DayRow]:
    """Rows as they are kept, with what `accept` took of each before the day after it was judged."""

    def taken(row: DayRow, after: DayRow) -> list[str]:
        chosen = (row.since > NEVER) & (after.restart == row.since)
        chosen &= (after.reset == row.day) | (after.since > NEVER)  # it did not end by itself
        return [watch.subjects[at] for at in np.flatnonzero(chosen)]

    found = [(row, taken(row, after)) for row, after in pairwise(rows)]
    return [*(accept(watch, row, subjects) if subjects else row for row, subjects in found), *rows[-1:]]


def _none(watch: Watch) -> DayRow:
    """What is remembered before the first day."""
    series, faults, subjects = len(watch.series), len(watch.faults), len(watch.subjects)
    none, zero = np.full(series, np.nan, np.float32), np.zeros(subjects, np.float32)
    never, nobody = np.zeros(subjects, np.int32), np.zeros(faults, np.int32)
    samples = np.zeros(watch.samples, np.float32)
    return DayRow(
        0, none, samples, nobody, nobody, none, none, none, none, never, never - 1, zero, zero, never, never
    )


def _row(day: DayValues, value: Floats, expectation: Expectation, last: DayRow, *, unusual: bool) -> DayRow:
    """The day's row, with what stood the day before."""
    far, judged = CLIPPED * expectation.deviation, np.isfinite(expectation.surprise)
    clipped = np.clip(value, expectation.level - far, expectation.level + far)
    return replace(
        last,
        day=day.day,
        values=day.values,
        samples=day.samples,
        hits=np.zeros_like(day.hits) if unusual else day.hits,
        trials=np.zeros_like(day.trials) if unusual else day.trials,
        learned=np.where(expectation.days >= FEWEST, clipped, value).astype(np.float32),
        away=np.where(judged, value - expectation.level, np.nan).astype(np.float32),
        surprise=expectation.surprise.astype(np.float32),
        deviation=np.where(judged, expectation.deviation, np.nan).astype(np.float32),
    )


def _faults(watch: Watch, before: Before, row: DayRow) -> tuple[Faulty, Floats]:
    """What is said of the day's faults, and their evidence: weight by chance, 0 where none is told."""
    found = faulty(
        row.day - before.days,
        before.hits,
        before.trials,
        before.usable[:, watch.fault_subject],
        (row.hits.astype(np.int64), row.trials.astype(np.int64)),
        watch.fault_least,
    )
    evidence = watch.fault_weight / np.maximum(found.rarity, 1.0 / MOST)
    return found, np.where(found.rarity < 1, np.minimum(evidence, MOST), 0.0)
