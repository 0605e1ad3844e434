"""Which waiting panes are counted now? Pure; times are microseconds."""

from dataclasses import dataclass

from monitor.core.clock import DAY
from monitor.windows.settling import UNCOUNTED_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class RecountCandidate:
    """A pane that waits, and what is known of its last count.

    Parameters
    ----------
    start
        of the pane.
    since
        as of which it waits.
    records_changed
        rows of it changed, not only labels.
    labels
        labels reported since its last count.
    counted_as_of
        of its last count; None: never counted.
    rows, records
        at its last count.
    """

    start: int
    since: int
    records_changed: bool
    labels: int
    counted_as_of: int | None
    rows: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one cycle.

    Parameters
    ----------
    rows
        at most so many rows are read again; at least one pane is.
    pane, every
        width of a pane, time between cycles.
    settling_age
        age at which windows settle, None while unknown.
    """

    rows: int
    pane: int
    every: int
    settling_age: int | None


def about_to_settle(candidate: RecountCandidate, as_of: int, budget: Budget) -> bool:
    """Past the settling age and last counted before it."""
    if budget.settling_age is None or candidate.counted_as_of is None:
        return False
    end = candidate.start + budget.pane
    return as_of - end >= budget.settling_age > candidate.counted_as_of - end


def ripe(candidate: RecountCandidate, as_of: int, budget: Budget) -> bool:
    """Whether a pane is worth counting again now.

    A pane whose rows changed always is. One whose labels changed waits until they are 1 % of its records or
    a 24th of its age has passed since its last count (at least a cycle, at most a day).
    """
    if candidate.records_changed or candidate.counted_as_of is None:
        return True
    if about_to_settle(candidate, as_of, budget):
        return True
    if candidate.labels >= UNCOUNTED_SHARE * candidate.records:
        return True
    patience = min(max((as_of - candidate.start) // 24, budget.every), DAY)
    return as_of - candidate.counted_as_of >= patience


def choose(candidates: list[RecountCandidate], as_of: int, budget: Budget) -> list[RecountCandidate]:
    """Panes to count now: about to settle, then longest waiting, within the budget of rows."""
    due = [candidate for candidate in candidates if ripe(candidate, as_of, budget)]
    due.sort(
        key=lambda candidate: (
            not about_to_settle(candidate, as_of, budget),
            candidate.since,
            candidate.start,
        )
    )
    chosen: list[RecountCandidate] = []
    rows = 0
    for candidate in due:
        rows += candidate.rows
        if chosen and rows > budget.rows:
            break
        chosen.append(candidate)
    return sorted(chosen, key=lambda candidate: candidate.start)
