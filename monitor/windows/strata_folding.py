"""Fold panes to windows: a sum of counters, stratum by stratum."""

from collections import defaultdict
from collections.abc import Iterable

from monitor.states.counters import CounterLayout, Counters
from monitor.states.strata import OTHER, Strata, Stratum, most_frequent

VERSIONS = 20  # measured apart


def fold_strata(layout: CounterLayout, parts: Iterable[Strata]) -> dict[Stratum, Counters]:
    """Sum of any number of panes (or of sums of panes). Cost: their non-zero counters."""
    by_stratum: dict[Stratum, list[Counters]] = defaultdict(list)
    for strata in parts:
        for stratum, counters in strata.items():
            by_stratum[stratum].append(counters)
    return {
        stratum: many[0] if len(many) == 1 else Counters.merge_all(layout, many)
        for stratum, many in by_stratum.items()
    }


def merge_rare_versions(layout: CounterLayout, strata: Strata, block: str) -> Strata:
    """Merge all but the 20 versions with most records into *other*.

    Parameters
    ----------
    block
        whose first counter is the number of records.
    """
    records = {
        stratum.version: int(counters.dense_block(block).flat[0])
        for stratum, counters in strata.items()
        if stratum.version is not None and stratum.version != OTHER
    }
    if len(records) <= VERSIONS:
        return strata
    frequent = most_frequent(records, VERSIONS)
    rare = [stratum for stratum in strata if stratum.version is not None and stratum.version not in frequent]
    kept = {stratum: counters for stratum, counters in strata.items() if stratum not in rare}
    return kept | {Stratum(version=OTHER): Counters.merge_all(layout, [strata[stratum] for stratum in rare])}
