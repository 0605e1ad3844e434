"""Views of two models that predicted the same records: champion and challenger."""

from dataclasses import dataclass

from monitor.core.array_types import Ints
from monitor.states.views import ScoreTable


@dataclass(frozen=True, slots=True)
class PairedAgreement:
    """Labelled records that both predicted, by which of them was right."""

    both: int
    champion_only: int
    challenger_only: int
    neither: int

    @property
    def n(self) -> int:
        """All records."""
        return self.both + self.champion_only + self.challenger_only + self.neither


@dataclass(frozen=True, slots=True)
class PairedScores:
    """Labelled records of a binary model that both scored."""

    # champion, challenger: by score cell (ascending) and class: the same cells, the same records.
    champion: ScoreTable
    challenger: ScoreTable
    joint: Ints  # int64, shape (2, k, k): class, the champion's and the challenger's coarser cell


@dataclass(frozen=True, slots=True)
class PairedLosses:
    """Differences of the losses, champion's - challenger's, by size and sign."""

    zero: int  # records whose losses are equal
    # smaller, larger: int64, shape (LOSS_EDGES + 1,): records of which the champion's loss is smaller,
    # larger.
    smaller: Ints
    larger: Ints
