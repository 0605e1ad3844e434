"""Strata: slices of the records that are counted apart."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from monitor.core.text import mark_reserved_name

if TYPE_CHECKING:
    from monitor.states.counters import Counters  # NumPy: names of strata do without it

OTHER = "other"
NONE = "(none)"


class Stratum(NamedTuple):
    """The whole (both None), a version, or a segment ("column=value"; an arm is one)."""

    version: str | None = None
    segment: str | None = None


WHOLE = Stratum()
Strata: TypeAlias = Mapping[Stratum, "Counters"]


def isolate_stratum(strata: Strata, stratum: Stratum) -> Strata:
    """A stratum as if it were the whole; nothing, where it has no records."""
    return {WHOLE: strata[stratum]} if stratum in strata else {}


def value_name(value: str) -> str:
    """Name of a version, or of a segment's value, that the data hold: told apart from *other* and *none*."""
    return mark_reserved_name(value) if value in (OTHER, NONE) else value


def make_segment_stratum(column: str, value: str) -> Stratum:
    """Stratum of the records whose column holds a value."""
    return Stratum(segment=f"{column}={value_name(value)}")


def make_rest_stratum(column: str) -> Stratum:
    """Stratum of the records whose column holds none of the values that have strata of their own."""
    return Stratum(segment=f"{column}={OTHER}")


def select_segments(
    strata: Iterable[Stratum], segments: Iterable[tuple[str, tuple[str, ...]]]
) -> list[Stratum]:
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
