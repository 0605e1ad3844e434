"""Tiles of a measure and its interval."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadlineTile:
    """A measure in words."""

    measure: str
    value: str
    bounds: str
