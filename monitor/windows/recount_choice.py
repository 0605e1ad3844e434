"""Which waiting panes are counted now? Pure; times are microseconds."""

from dataclasses import dataclass

from monitor.core.clock import DAY
from monitor.windows.settling import is_confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class RecountCandidate:
    """A pane that waits, and what is known of its last count."""

    start: int  # of the pane
    since: int  # as of which it waits
    records_changed: bool  # rows of it changed, not only labels
    counted_as_of: int | None  # of its last count; None: never counted
    rows: int  # that a count reads


@dataclass(frozen=True, slots=True, kw_only=True)
class RecountBudget:
    """Limits of one cycle."""

    rows: int  # at most so many rows are read again; at least one pane is
    pane: int  # width of a pane
    settling_age: int | None  # age at which windows settle, None while unknown
    # labels are added by difference: a pane that waits for labels all the same is counted at once.
    by_difference: bool = False


def is_settling_pane(end: int, counted_as_of: int, as_of: int, settling_age: int | None) -> bool:
    """Whether a pane is old enough to settle, and its last count was not."""
    if settling_age is None or as_of - end < settling_age:
        return False
    return not is_confirmed(counted_as_of - end, settling_age)


def is_due(candidate: RecountCandidate, as_of: int, budget: RecountBudget) -> bool:
    """Whether a pane is counted now, if the rows allow: at once, once a day, and once as it settles."""
    if candidate.records_changed or budget.by_difference or candidate.counted_as_of is None:
        return True
    return as_of - candidate.counted_as_of >= DAY or is_settling_pane(
        candidate.start + budget.pane, candidate.counted_as_of, as_of, budget.settling_age
    )


def choose_panes(
    candidates: list[RecountCandidate], as_of: int, budget: RecountBudget
) -> list[RecountCandidate]:
    """Panes to count now, ascending: the longest waiting ones, within the budget of rows."""
    due = [candidate for candidate in candidates if is_due(candidate, as_of, budget)]
    due.sort(key=lambda candidate: (candidate.since, candidate.start))
    chosen_candidates: list[RecountCandidate] = []
    rows = 0
    for candidate in due:
        rows += candidate.rows
        # One pane at least, though it alone may hold more than the budget: else it would wait for ever.
        if chosen_candidates and rows > budget.rows:
            break
        chosen_candidates.append(candidate)
    return sorted(chosen_candidates, key=lambda candidate: candidate.start)
