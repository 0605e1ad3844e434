"""Strata: slices of the records that are counted apart."""

from typing import NamedTuple

OTHER = "other"
NONE = "(none)"


class Stratum(NamedTuple):
    """The whole (both None), a version, or a segment ("column=value"; an arm is one)."""

    version: str | None = None
    segment: str | None = None


WHOLE = Stratum()
