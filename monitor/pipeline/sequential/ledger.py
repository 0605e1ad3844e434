"""Ledgers: sums of all that has entered a sequential test, each record once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from monitor.core.clock import DAY, floor_to
from monitor.specs.stored_rows import LedgerEntry

WEEKS = 20  # that are kept apart
# The first Monday after the epoch, which was a Thursday: weeks are counted from it.
_WEEK, _MONDAY = 7 * DAY, 4 * DAY

LedgerCounts: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Sum of all entries of one test."""

    total: LedgerCounts  # sums of whatever is compared
    end: int | None = None  # what lies before it has entered, or never will; None: nothing has
    most: float = 0.0  # logarithm of the most evidence that there was after any pane
    weeks: tuple[tuple[int, LedgerCounts], ...] = ()  # (start of the week, its sums), the newest last

    def accumulate_evidence(
        self, panes: Iterable[LedgerCounts], evidence: Callable[[LedgerCounts], float]
    ) -> tuple[LedgerCounts, float]:
        """Sum with further panes, and the most evidence so far, looked at after each of them."""
        total, most = self.total, self.most
        for counts in panes:
            total = add_counts(total, counts)
            most = max(most, evidence(total))
        return total, most

    def with_entry(self, entry: LedgerEntry) -> "Ledger":
        """Ledger with one more entry."""
        week = floor_to(entry.start - _MONDAY, _WEEK) + _MONDAY
        weeks = dict(self.weeks)
        weeks[week] = add_counts(weeks[week], entry.entered) if week in weeks else entry.entered
        kept = tuple(sorted(weeks.items()))[-WEEKS:]
        return replace(self, end=entry.end, total=entry.total, most=entry.most, weeks=kept)


def add_counts(first: LedgerCounts, second: LedgerCounts) -> LedgerCounts:
    """Sum of counts."""
    return tuple(a + b for a, b in zip(first, second, strict=True))
