"""A judged change: one record, from the day that is judged to the store, the charts and the words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from monitor.core.clock import DAY, to_iso

Cell: TypeAlias = float | str | None
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class NotJudged(StrEnum):
    """Why the series of a subject were not judged on a day. Its faults are judged all the same."""

    LEARNING = "learning"
    TOO_FEW = "too_few"
    NO_RECORDS = "no_records"
    UNDEFINED = "undefined"
    UNUSUAL = "unusual"
    NOT_FOLLOWED = "not_followed"
    NOT_CHOSEN = "not_chosen"


class ChangeAspect(StrEnum):
    """What of a subject's values changes."""

    LEVEL = "level"  # where they lie, and how they are distributed
    MISSING = "missing"
    NEW = "new"  # values that the reference did not have


_ASPECTS = {
    "missing": ChangeAspect.MISSING,
    "invalid": ChangeAspect.MISSING,
    "unseen": ChangeAspect.NEW,
    "beyond": ChangeAspect.NEW,
}


def aspect_of_kind(kind: str) -> ChangeAspect:
    """What changes with a kind of change.

    >>> aspect_of_kind("missing").value, aspect_of_kind("shape").value
    ('missing', 'level')
    """
    return _ASPECTS.get(kind, ChangeAspect.LEVEL)


class ExpectedBand(NamedTuple):
    """Two standard deviations to either side of what was expected; of a fault from 0 to its largest share."""

    low: float
    high: float


class UnitFigures(NamedTuple):
    """A mean, or a standard deviation, in the unit of its column, and the band that was expected."""

    observed: float
    low: float
    high: float


class SegmentShare(NamedTuple):
    """The segment that holds a change, and its shares of change and records; name "": none stands out."""

    name: str = ""
    of_change: float = 0.0
    of_records: float = 0.0


class OutcomeCounts(NamedTuple):
    """Records since a change began, and how many have the outcome: seen, and by what scores usually mean.

    Of numbers the mean of label - prediction, seen and usual, in the unit of the labels.
    """

    n: int
    observed: float
    expected: float


class HourSpan(NamedTuple):
    """Hours that told a gross fault before their day was over: the first begins, the last ends; ISO 8601."""

    first: str
    end: str


class MissingShare(NamedTuple):
    """Share of the day's records without a value, and the largest one that was expected."""

    observed: float
    expected: float


class EffectStanding(StrEnum):
    """Whether it is known what a feature does to the mean score."""

    KNOWN = "known"
    MIXED = "mixed"  # features and score do not agree, or the table is too poor: no share is said
    BEYOND = "beyond"  # too many of its values are such as the reference hardly has


class ChangeEffect(NamedTuple):
    """What a feature that changed does to the mean score by itself, since the week before."""

    own: float
    own_half_width: float
    moved: float  # by how much the mean score moved
    moved_half_width: float
    standing: str  # an `EffectStanding`
    target: str  # what stands for the score: "score", "prediction", "class:NAME"


@dataclass(frozen=True, kw_only=True)
class Change:
    """What the newest day says of a subject, against what the 56 days before it let expect.

    Every judged subject has one; whether it is told is decided by its evidence, the value of its row.
    """

    # statistic or fault that shows it most: "level", "residual_level", "missing", …; empty: none.
    kind: str = ""
    category: str = ""  # which level of a categorical feature, which class; of a new version its name
    rises: bool = True  # the value is larger than expected
    # observed, expected: as people read them: shares between 0 and 1, records, errors; of level, spread,
    # skew in standard deviations of usual days, 0 being usual; of a shape χ²; of residuals log odds, of
    # numbers usual errors.
    observed: float | None = None
    expected: ExpectedBand | None = None
    # days that `observed` is the mean of: 1, the day alone, where that lies outside of `expected`; 0: the day
    # has no value, and this is the one with which the change was found.
    averaged_days: int = 1
    in_unit: UnitFigures | None = None  # of a level or a spread: the same in the unit of the column
    # a stability index where the kind has one, else in the unit of `change_size`. Positive.
    size: float = 0.0
    # since, usual_since: first day of the change; of one that is no longer told, as it is what is expected
    # now.
    since: str | None = None
    usual_since: str | None = None
    # of the day, whatever the size: above 1 it is evident, though perhaps too small to be told.
    evidence_any_size: float | None = None
    chance_months: float | None = None  # by chance so much evidence is found once in so many months, at most
    learned_days: int = 0
    watched_subjects: int | None = None
    segment: SegmentShare | None = None  # which holds it; None: it is not counted by segment
    missing: MissingShare | None = None
    effect: ChangeEffect | None = None  # None: it is of no feature, or effects are not learnt
    outcomes: OutcomeCounts | None = None  # of labels that differ from what scores promise, once it is found
    certain_on: str | None = None  # of labels that still come in: the day from which on it is certain
    hours: HourSpan | None = None  # told by these hours of the day alone; None: by the whole day
    # why the values were not judged, though perhaps how many of them are missing.
    not_judged: str | None = None
    day: str | None = None  # the judged day, where the model is. Dates are ISO 8601.

    @property
    def first_day(self) -> str | None:
        """Where its chart begins: the first day of the change, or the judged one."""
        return self.since or self.day

    @property
    def unit_scale(self) -> tuple[float, float]:
        """What 0 and one standard deviation of usual days are in the unit of the column; (0, 0): unknown."""
        if self.in_unit is None or self.expected is None or not self.expected.high > self.expected.low:
            return 0.0, 0.0
        (_, low, high), band = self.in_unit, self.expected
        deviation = (high - low) / (band.high - band.low)
        return low - band.low * deviation, deviation

    def cells(self) -> dict[str, Cell]:
        """The record as it is stored and exported: plain values by name."""
        cells: dict[str, Cell] = {name: getattr(self, name) for name in _PLAIN}
        cells["direction"] = "rises" if self.rises else "falls"
        for prefix, group in _GROUPS.items():
            values = getattr(self, prefix)
            if values is None and prefix == "effect":  # which few rows have
                continue
            names = (f"{prefix}_{field}" for field in group._fields)
            cells |= zip(names, values or [None] * len(group._fields), strict=True)
        return cells

    @cached_property
    def text(self) -> str:
        """JSON of it; rows that stay from cycle to cycle keep it."""
        return _ENCODE({"change": self.cells()})

    @classmethod
    def from_cells(cls, cells: Mapping[str, Any]) -> "Change":
        """Change of its stored cells; what was not yet kept then has its default."""
        known = {name: cells[name] for name in _PLAIN if cells.get(name) is not None}
        for prefix, group in _GROUPS.items():
            values = [cells.get(f"{prefix}_{field}") for field in group._fields]
            known[prefix] = None if None in values else group(*values)
        return cls(**known, rises=cells.get("direction") != "falls")

    @classmethod
    def from_table(cls, columns: tuple[str, ...], row: tuple[Cell, ...]) -> "Change":
        """Change of a table with one row: what was kept before 0.2."""
        cells = dict(zip(columns, row, strict=True))
        return cls.from_cells({_NAME_BEFORE.get(name, name): cell for name, cell in cells.items()})


_GROUPS: Mapping[str, Any] = {
    "expected": ExpectedBand,
    "in_unit": UnitFigures,
    "segment": SegmentShare,
    "missing": MissingShare,
    "effect": ChangeEffect,
    "outcomes": OutcomeCounts,
    "hours": HourSpan,
}
_PLAIN = tuple(name for name in Change.__dataclass_fields__ if name not in {*_GROUPS, "rises"})
TABLE_BEFORE = ("what", "level")  # how the columns of a change began that was kept as a table
_NAME_BEFORE = {
    "what": "kind",
    "level": "category",
    "way": "direction",
    "value": "observed",
    "months": "chance_months",
    "apparent": "evidence_any_size",
    "days": "learned_days",
    "over": "averaged_days",
    "own": "in_unit_observed",
    "own_low": "in_unit_low",
    "own_high": "in_unit_high",
    "subjects": "watched_subjects",
    "segment": "segment_name",
    "held": "segment_of_change",
    "of_records": "segment_of_records",
    "unvalued": "not_judged",
    "missing": "missing_observed",
    "missing_before": "missing_expected",
}


def iso_date(day: int) -> str:
    """Date of a day that is counted from 1970-01-01."""
    return to_iso(day * DAY)[:10]
