"""What is watched of one part of a model: subjects, their daily series, their faults; known by a key."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from monitor.core.text import content_hash
from monitor.core.typing import Bools, Floats, Ints
from monitor.evidence.cells import UsualCells
from monitor.records.pane import Part
from monitor.states.strata import Strata, Stratum, alone


class Trait(StrEnum):
    """What is followed of a subject from day to day. `LEVEL` to `SHAPE` are those of numbers."""

    LEVEL = "level"
    SPREAD = "spread"
    SKEW = "skew"
    SHAPE = "shape"
    SHARE = "share"
    MISSING = "missing"
    RECORDS = "records"
    COVERAGE = "coverage"
    AUC = "roc_auc"
    LOG_LOSS = "log_loss"
    ERROR_RATE = "error_rate"
    RMSE = "root_mean_squared_error"
    BASE_RATE = "base_rate"


KINDS = tuple(Trait)
"""Order of the kinds: `Watch.kind` holds positions in it."""


class WatchGroup(StrEnum):
    """What a subject belongs to; each has its share of the budget."""

    FEATURE = "feature"
    SCORE = "score"
    PREDICTION = "prediction"
    RECORDS = "records"
    LOG = "log"
    PERFORMANCE = "performance"
    LABEL = "label"
    LABELS = "labels"


SHARES: Mapping[WatchGroup, float] = {
    WatchGroup.FEATURE: 0.37,
    WatchGroup.SCORE: 0.10,
    WatchGroup.PREDICTION: 0.05,
    WatchGroup.RECORDS: 0.05,
    WatchGroup.PERFORMANCE: 0.20,
    WatchGroup.LABEL: 0.05,
    WatchGroup.LABELS: 0.03,
}
"""Shares of the budget that the series of each group have; what is left over stays in reserve."""
OF_SEGMENTS = 0.035
"""Share of the budget of the outputs of all segments together, and as much of their performance."""
FAULTS = 0.05
"""Share of the budget of the faults of values, and as much of those of the log and of the labels."""
WITHIN: Mapping[Trait, float] = {
    Trait.LEVEL: 0.35,
    Trait.SPREAD: 0.20,
    Trait.SKEW: 0.10,
    Trait.SHAPE: 0.25,
    Trait.SHARE: 0.90,
    Trait.MISSING: 0.10,
}
"""Shares of the statistics of one subject, all of a kind together; of others they are equal."""
FLOORS: Mapping[Trait, float] = {
    Trait.LEVEL: 0.3,
    Trait.SPREAD: 0.3,
    Trait.SKEW: 0.3,
    Trait.SHAPE: 0.1,
    Trait.SHARE: 0.25,
    Trait.MISSING: 0.05,
    Trait.RECORDS: float(np.log(2.0)),
    Trait.COVERAGE: 0.3,
    Trait.AUC: 0.025,
    Trait.LOG_LOSS: 0.04,
    Trait.ERROR_RATE: 0.2,
    Trait.RMSE: 0.2,
    Trait.BASE_RATE: 0.15,
}
"""Smallest sizes that are told, in the unit of `sizes.sizes`."""
UPWARD = (
    Trait.SHAPE,
    Trait.AUC,
    Trait.LOG_LOSS,
    Trait.ERROR_RATE,
    Trait.RMSE,
)
"""Series of which only a rise is told: all are the larger the worse."""
LARGEST_SHARE = 0.05  # of missing values that came where none were usual: what is a fault


@dataclass(frozen=True, slots=True)
class Followed:
    """A daily series.

    Parameters
    ----------
    subject
        position in `Watch.subjects`.
    cell
        of a `SHARE`: position of the level among the regular cells; -1: the rest.
    level
        its name; "(rest)".
    sample
        position of its sample size among those of a day.
    weight
        share of the whole budget.
    """

    subject: int
    trait: Trait
    sample: int
    weight: float
    cell: int = -1
    level: str = ""


@dataclass(frozen=True, slots=True)
class Impossible:
    """A fault: records that should not be, counted as k of n.

    Parameters
    ----------
    subject
        position in `Watch.subjects`.
    fault
        "missing", "invalid", "unseen", "beyond", "duplicates", "late", "future", "stale", "unlogged",
        "version", "early", "corrected", "retracted", "invalid_label", "unseen_label".
    least
        smallest share k/n that is told.
    """

    subject: int
    fault: str
    weight: float
    least: float = 0.01


@dataclass(frozen=True)
class Watch:
    """What is watched of one part: the records' and the labels' are two, with days of their own.

    Parameters
    ----------
    subjects
        names: "feature:NAME", "score", "prediction", "records", "log"; "performance", "label", "labels".
    groups
        of each subject.
    cells
        of each numeric subject: its cells and what is followed of them.
    versions
        those that the days which it was made from had; another one is a fault.
    late
        first cell of the time from event to log that is too late; -1: not watched.
    counted
        hash of what the days are counted by.
    segmented
        subjects are segments, "column=value": of each its output or performance, as its group says.
    """

    part: Part
    subjects: tuple[str, ...]
    groups: tuple[WatchGroup, ...]
    series: tuple[Followed, ...]
    faults: tuple[Impossible, ...]
    samples: int
    cells: Mapping[str, UsualCells]
    versions: tuple[str, ...] = ()
    late: int = -1
    counted: str = ""
    segmented: bool = False

    def counted_as(self, subject: int) -> str:
        """Name of the block that holds the values of a subject."""
        return self.groups[subject].value if self.segmented else self.subjects[subject]

    def counters_of(self, strata: Strata, subject: int) -> Strata:
        """Counters that a subject is followed in: those of its segment, as if it were the whole."""
        return alone(strata, Stratum(segment=self.subjects[subject])) if self.segmented else strata

    @cached_property
    def key(self) -> str:
        """Content hash: days of another key are of another watch."""
        plain = [self.part.value, self.subjects, self.versions, self.late, self.counted]
        series = [[one.subject, one.trait.value, one.cell, one.level, one.weight] for one in self.series]
        faults = [[one.subject, one.fault, one.weight, one.least] for one in self.faults]
        cells = {
            name: [cells.counts.tolist(), cells.middle, cells.deviation] for name, cells in self.cells.items()
        }
        return content_hash([plain, series, faults, cells])

    @cached_property
    def subject(self) -> Ints:
        """Subject of each series."""
        return np.asarray([one.subject for one in self.series], dtype=np.int64)

    @cached_property
    def kind(self) -> Ints:
        """Position in `KINDS` of each series' trait."""
        return np.asarray([KINDS.index(one.trait) for one in self.series], dtype=np.int64)

    @cached_property
    def sample(self) -> Ints:
        """Position of each series' sample size."""
        return np.asarray([one.sample for one in self.series], dtype=np.int64)

    @cached_property
    def weight(self) -> Floats:
        """Weight of each series."""
        return np.asarray([one.weight for one in self.series], dtype=np.float64)

    @cached_property
    def floor(self) -> Floats:
        """Smallest size of each series that is told."""
        return np.asarray([FLOORS[one.trait] for one in self.series], dtype=np.float64)

    @cached_property
    def upward(self) -> Bools:
        """Series of which only a rise is told."""
        return np.asarray([one.trait in UPWARD for one in self.series], dtype=np.bool_)

    @cached_property
    def sampled(self) -> Floats:
        """1 where the sampling variance is 1/n; 0 where only days show how much it varies."""
        own = (Trait.SHAPE, Trait.RECORDS)
        return np.asarray([one.trait not in own for one in self.series], dtype=np.float64)

    @cached_property
    def fault_subject(self) -> Ints:
        """Subject of each fault."""
        return np.asarray([one.subject for one in self.faults], dtype=np.int64)

    @cached_property
    def fault_weight(self) -> Floats:
        """Weight of each fault."""
        return np.asarray([one.weight for one in self.faults], dtype=np.float64)

    @cached_property
    def fault_least(self) -> Floats:
        """Smallest share of each fault that is told."""
        return np.asarray([one.least for one in self.faults], dtype=np.float64)

    @cached_property
    def followed(self) -> tuple[tuple[Followed, ...], ...]:
        """Series of each subject."""
        of_subject: list[list[Followed]] = [[] for _ in self.subjects]
        for one in self.series:
            of_subject[one.subject].append(one)
        return tuple(tuple(many) for many in of_subject)

    @cached_property
    def subject_weight(self) -> Floats:
        """Weight of each subject's series together."""
        return np.bincount(self.subject, self.weight, minlength=len(self.subjects)).astype(np.float64)
