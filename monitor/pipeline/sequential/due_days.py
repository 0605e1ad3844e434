"""Which days are judged now, and what they held at their due moments.

Records of a day are due once it is over and `ready_after` has passed, its labels at an age that is learnt
once. What a day held then comes from its panes, where these show it, else from the source, as of then: a tick
that comes later, or a process that was killed before it, finds the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY, SECOND
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.pane_counting import MOST_ROWS, chunk_starts
from monitor.records.counting import DELAY_EDGES
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.read_ranges import counted_ranges
from monitor.specs.stored_rows import ModelState
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata
from monitor.windows.day_moments import PATIENCE, days_from, due_moment, label_age, zone_of_days
from monitor.windows.strata_folding import fold_strata

_EDGES: Floats = np.asarray(DELAY_EDGES)


@dataclass(frozen=True, slots=True, order=True)
class DueDay:
    """A part of a day that is due."""

    at: int  # when it is judged, microseconds: at its due moment or, of labels, when their age was learnt
    part: PaneHalf
    start: int
    end: int
    due: int  # as of which it is counted
    age: int = 0  # of its labels, whole days; 0 of records


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    """Which days were judged last: where those of records and of labels end, and the age of labels taken.

    None: none was, or the age is not known yet.
    """

    records: int | None = None
    labels: int | None = None
    age: int | None = None


def due_days(
    model: CycleModel, panes: ModelPanes, state: ModelState, judged: JudgingProgress, as_of: int
) -> list[DueDay]:
    """Days that have become due since the last ones that were judged, in the order in which they are judged.

    Days that have left the horizon before they were judged never are.
    """
    if state.oldest is None:
        return []
    spec, zone = model.spec, zone_of_days(model.reading.zone, model.reading.pane)
    first = max(model.find_horizon_start(as_of), model.find_history_start(state))

    def days(part: PaneHalf, judged_until: int | None, age: int, learnt: int = 0) -> Iterator[DueDay]:
        for start, end in days_from(max(first, judged_until or 0), zone):
            moment = due_moment(end, spec.ready_after, spec.keys.every, age * DAY)
            yield DueDay(max(moment, learnt), part, start, end, moment, age)

    def take_due_days(many: Iterator[DueDay]) -> list[DueDay]:
        return list(takewhile(lambda day: day.at <= as_of, many))

    records = take_due_days(days(PaneHalf.RECORDS, judged.records, 0))
    if not model.reading.labelled:
        return records
    age, learnt = judged.age, 0
    if age is None:
        age, learnt = _learnt_label_age(model, panes, first, records)
    labels = [] if age is None else take_due_days(days(PaneHalf.LABELS, judged.labels, age, learnt))
    return sorted([*records, *labels])


def _learnt_label_age(
    model: CycleModel, panes: ModelPanes, first: int, records: list[DueDay]
) -> tuple[int | None, int]:
    """Age at which labels are taken, and the moment at which it was learnt: that of a day of records."""
    if model.spec.keys.settle_after is not None:
        return -(-model.spec.keys.settle_after // DAY), 0
    if not records:
        return None, 0
    zone = zone_of_days(model.reading.zone, model.reading.pane)
    days = list(takewhile(lambda day: day[1] <= records[-1].due, days_from(first, zone)))
    ends = np.asarray([end for _, end in days], dtype=np.int64)
    longest = int((records[-1].due - ends.min(initial=records[-1].due)) // DAY)
    # Whole cells alone: a delay within a cell may lie on either side, and a later look would find another
    # age.
    ages = np.searchsorted(_EDGES, np.arange(longest + 1) * (DAY / SECOND), side="right")
    counts = np.stack([_cumulative_delays(model, panes, span)[:, ages] for span in days], axis=1)
    patience = min(PATIENCE, model.reading.horizon // DAY - 1)
    for day in records:
        # Day by day, as cycles at those moments would have learnt it: a late first cycle finds the same age.
        over = ends <= day.due
        age = label_age(counts[:, over], (day.due - ends[over]) // DAY, patience)
        if age is not None:
            return age, day.due
    return None, 0


def _cumulative_delays(model: CycleModel, panes: ModelPanes, span: tuple[int, int]) -> Ints:
    """Labels of a day's records by class, in the cells of delays wholly below each edge: cumulative."""
    whole = panes.sum_window(PaneHalf.LABELS, *span, strata=False, kept=False).get(WHOLE)
    if whole is None:
        whole = Counters.make_empty(model.counting.labels_layout)
    cells = whole.dense_block("delays")
    return np.concatenate([np.zeros((len(cells), 1), dtype=np.int64), np.cumsum(cells, axis=1)], axis=1)


@dataclass(frozen=True, slots=True)
class DayReader:
    """What days held at their due moments, from the panes of a cycle or, where these changed, the source."""

    model: CycleModel
    panes: ModelPanes
    as_of: int
    uncounted: frozenset[int]  # starts of panes that wait, or lack a part
    seen_rows: Mapping[int, int]  # rows that the cycle found to have changed, by pane start

    def read_strata(self, day: DueDay) -> Strata:
        """What a day, or some that lie together, held. Cost: none, or a read of its rows."""
        if self._are_panes_current(day):
            return self.panes.sum_window(day.part, day.start, day.end, kept=False)
        model, facts = self.model, self.panes.facts_by_start(day.part)
        starts = list(range(day.start, day.end, model.reading.pane))
        # Panes without facts had no row so far, unless they wait to be counted.
        unknown = {start: self.seen_rows.get(start, MOST_ROWS) for start in self.uncounted}
        rows = {start: facts[start].rows if start in facts else unknown.get(start, 0) for start in starts}
        pieces = (self._count_from_source(day, chunk) for chunk in chunk_starts(starts, rows, model.at_once))
        return fold_strata(
            model.counting.layout_of(day.part), (part.strata for parts in pieces for part in parts)
        )

    def is_counted(self, span: tuple[int, int]) -> bool:
        """Whether no pane of a span waits to be counted."""
        return self.uncounted.isdisjoint(range(*span, self.model.reading.pane))

    def _count_from_source(self, day: DueDay, starts: list[int]) -> Sequence[PanePart]:
        model, panes = self.model, np.asarray(starts, dtype=np.int64)
        ranges = counted_ranges(starts, model.reading, day.due)
        counted = model.source.count_panes(
            model.spec, day.part, ranges, model.counting, panes=panes, as_of=day.due
        )
        return counted.parts

    def _are_panes_current(self, day: DueDay) -> bool:
        """Whether a day's panes hold what was known when it was due: nothing came later."""
        starts = range(day.start, day.end, self.model.reading.pane)
        if day.start < self.model.find_horizon_start(self.as_of) or not self.uncounted.isdisjoint(starts):
            return False
        if day.due == self.as_of:
            return True
        # Labels change nothing of records, but a labels part is of the records that are there.
        parts = (PaneHalf.RECORDS,) if day.part is PaneHalf.RECORDS else PaneHalf
        facts = [self.panes.facts_by_start(part).get(start) for part in parts for start in starts]
        return all(fact is None or fact.newest is None or fact.newest <= day.due for fact in facts)
