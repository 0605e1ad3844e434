"""Strata: slices of the records that are counted apart."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from monitor.core.text import reserved
from monitor.states.counters import Counters, Layout, Moved, moved_all

OTHER = "other"
NONE = "(none)"


class Stratum(NamedTuple):
    """The whole (both None), a version, or a segment ("column=value"; an arm is one)."""

    version: str | None = None
    segment: str | None = None


WHOLE = Stratum()
Strata: TypeAlias = Mapping[Stratum, Counters]


def value_name(value: str) -> str:
    """Name of a version, or of a segment's value, that the data hold: told apart from *other* and *none*."""
    return reserved(value) if value in (OTHER, NONE) else value


def segment_of(column: str, value: str) -> Stratum:
    """Stratum of the records whose column holds a value."""
    return Stratum(segment=f"{column}={value_name(value)}")


def rest_of(column: str) -> Stratum:
    """Stratum of the records whose column holds none of the values that have strata of their own."""
    return Stratum(segment=f"{column}={OTHER}")


def segments_of(strata: Iterable[Stratum], segments: Iterable[tuple[str, tuple[str, ...]]]) -> list[Stratum]:
    """Segments among strata, by name; arms and versions are none.

    Parameters
    ----------
    segments
        (column, values): the columns that have segments.
    """
    columns = tuple(f"{column}=" for column, _ in segments)
    chosen = [
        stratum
        for stratum in strata
        if stratum.version is None and (stratum.segment or "").startswith(columns)
    ]
    return sorted(chosen, key=lambda stratum: stratum.segment or "")


def most_frequent(counts: Mapping[str, int], most: int) -> set[str]:
    """The names with the largest counts, at most so many, ties by name: the others are *other*."""
    return set(sorted(counts, key=lambda name: (-counts[name], name))[:most])


_Move: TypeAlias = tuple[Strata, Iterable[Strata], Iterable[Strata]]


def moved_strata(layout: Layout, moves: Iterable[_Move]) -> list[Strata | None]:
    """Sums without what is taken from each, and with what is added: exactly the sums of what is left.

    None: a count would fall below 0.
    """
    empty = Counters.empty(layout)
    totals: list[Strata] = []
    keys: list[tuple[int, Stratum]] = []
    flat: list[Moved] = []
    for at, (total, *both) in enumerate(moves):
        sides: dict[Stratum, tuple[list[Counters], list[Counters]]] = {}
        for side, many in enumerate(both):
            for strata in many:
                for stratum, counters in strata.items():
                    sides.setdefault(stratum, ([], []))[side].append(counters)
        flat += [(total.get(stratum, empty), *each) for stratum, each in sides.items()]
        keys += [(at, stratum) for stratum in sides]
        totals.append(total)
    moved: list[dict[Stratum, Counters]] = [dict(total) for total in totals]
    refused = set()
    for (at, stratum), now in zip(keys, moved_all(layout, flat), strict=True):
        if now is None:
            refused.add(at)
        elif len(now.index):
            moved[at][stratum] = now
        else:
            moved[at].pop(stratum, None)
    return [None if at in refused else strata for at, strata in enumerate(moved)]
