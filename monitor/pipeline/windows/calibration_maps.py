"""What estimates before labels are learned from: the reference's labels, or those of a settled window."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from monitor.core.measurement import Reason
from monitor.measures.estimates import Learned
from monitor.measures.evaluate import Result, learned
from monitor.measures.rows import Truth
from monitor.pipeline.panes import Panes
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.records.reference import Reference
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum, segments_of

Taught: TypeAlias = Mapping[Stratum, Learned | Reason]
_KEPT = 16  # of settled windows, and of estimates, in memory


@dataclass(slots=True)
class Lessons:
    """Maps that were learned, and the estimates that were made with them: each once.

    Parameters
    ----------
    reference
        of the reference's labels, and those of its segments; None: not asked yet.
    settled
        of settled windows: by start and end, with what was seen of their labels.
    made
        estimates by window, end and truth, with the state and the map behind them.
    """

    reference: Taught | None = None
    settled: dict[tuple[int, int], tuple[int, Taught]] = field(default_factory=dict)
    made: dict[tuple[str, int, Truth], tuple[Strata, Taught, Mapping[Stratum, list[Result]]]] = field(
        default_factory=dict
    )

    def of_reference(self, counting: Counting, reference: Reference) -> Taught:
        """What the reference's labels teach."""
        if self.reference is None:
            self.reference = _taught(counting, {WHOLE: reference.labels, **reference.label_segments})
        return self.reference

    def of_settled(self, counting: Counting, panes: Panes, start: int, end: int) -> Taught:
        """What the labels of the panes of [start, end) teach. Cost: where they changed, a sum of panes."""
        seen, known = panes.seen(Part.LABELS, start, end), self.settled.get((start, end))
        if known is not None and known[0] == seen:
            return known[1]
        if len(self.settled) >= _KEPT:
            self.settled.clear()
        labels = panes.window(Part.LABELS, start, end, strata=bool(counting.segments))
        found = _taught(counting, {WHOLE: Counters.empty(counting.labels), **labels})
        self.settled[start, end] = (seen, found)
        return found

    def keep(
        self,
        key: tuple[str, int, Truth],
        state: Strata,
        taught: Taught,
        results: Mapping[Stratum, list[Result]],
    ) -> None:
        """Keep estimates while the state and the map stay the same."""
        if len(self.made) >= _KEPT:
            self.made.clear()
        self.made[key] = (state, taught, results)


def _taught(counting: Counting, labels: Strata) -> Taught:
    """What labels teach of the whole, and of each segment: the whole's map does not know how they differ."""
    every = [WHOLE, *segments_of(labels, counting.segments)]
    return {stratum: learned(counting, labels[stratum], whole=stratum == WHOLE) for stratum in every}
