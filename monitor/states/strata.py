"""Strata: slices of the records that are counted apart."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from monitor.states.counters import Counters

OTHER = "other"
NONE = "(none)"


class Stratum(NamedTuple):
    """The whole (both None), a version, or a segment ("column=value"; an arm is one)."""

    version: str | None = None
    segment: str | None = None


WHOLE = Stratum()
Strata: TypeAlias = Mapping[Stratum, Counters]
