"""Fold panes to windows: a sum of counters, stratum by stratum."""

from collections import defaultdict
from collections.abc import Iterable

from monitor.states.counters import Counters, Layout
from monitor.states.strata import Strata, Stratum


def fold(layout: Layout, parts: Iterable[Strata]) -> dict[Stratum, Counters]:
    """Sum of any number of panes (or of sums of panes). Cost: their non-zero counters."""
    by_stratum: dict[Stratum, list[Counters]] = defaultdict(list)
    for strata in parts:
        for stratum, counters in strata.items():
            by_stratum[stratum].append(counters)
    return {
        stratum: many[0] if len(many) == 1 else Counters.merge_all(layout, many)
        for stratum, many in by_stratum.items()
    }
