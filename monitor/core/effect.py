"""How far the mean score moved, and what features do to it by themselves: from figures to words."""

from dataclasses import dataclass

MOVE = "score_move"  # measure
# First row of its details: what all features make together; of which shares may be said or not.
TOGETHER, UNATTRIBUTED = "(together)", "(together, not attributable)"


@dataclass(frozen=True, slots=True)
class FeatureEffect:
    """What one feature does to the mean score by itself."""

    name: str
    value: float
    half_width: float  # of its interval
    is_beyond: bool = False  # too many of its values are such as the reference hardly has: it is not known

    @property
    def is_certain(self) -> bool:
        """Whether it is known, and not 0."""
        return not self.is_beyond and abs(self.value) > self.half_width


@dataclass(frozen=True, slots=True)
class ScoreMove:
    """How far the mean score moved between two sets of records, and what of it single features make."""

    target: str  # what stands for the score: "score", "prediction", "class:NAME"
    actual: float  # seen
    half_width: float  # of its interval
    total: float  # what all features make together
    is_attributed: bool  # both agree, and the table is good enough: shares may be said
    features: tuple[FeatureEffect, ...]  # all that have values
    n: int  # records with a score, those that it moved to

    def certain_effects(self) -> list[FeatureEffect]:
        """Effects that may be said, the largest first."""
        certain = [one for one in self.features if one.is_certain] if self.is_attributed else []
        return sorted(certain, key=lambda one: (-abs(one.value), one.name))
