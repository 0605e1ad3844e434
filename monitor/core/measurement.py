"""The result of a measure: a value and its interval, or the reason why there is none."""

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal, TypeAlias

from monitor.core.change import Change

RateMethod: TypeAlias = Literal["wilson", "clopper-pearson"]
Dependence: TypeAlias = Literal["none", "day"]

LEVEL = 0.95  # of intervals and critical values, unless another is asked for
FEW_DELAYS = "few_delays"  # warning of windows that settled by the delays of all classes
BECAUSE, WHEN, REMEDY = ("because",), ("when",), ("because", "write")
"""Columns of details of one line: why there is no value; when there will be one; why, and what to write."""

_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds that hold the true value with probability `level`.

    Raises
    ------
    ValueError
        if a bound is not a number or the lower one is above the upper one.
    """

    lower: float
    upper: float
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"interval: lower must be at most upper: got {self.lower} and {self.upper}")


class Reason(StrEnum):
    """Why a measurement has no value."""

    NO_RECORDS = "no_records"
    NO_LABELS = "no_labels"
    NO_REFERENCE = "no_reference"
    TOO_FEW = "too_few"
    ONE_CLASS = "one_class"
    UNDEFINED = "undefined"
    OUT_OF_RANGE = "out_of_range"
    NOT_COUNTED = "not_counted"
    NOT_SETTLED = "not_settled"
    TOO_EARLY = "too_early"
    TOO_SHORT = "too_short"
    LEARNING = "learning"
    NOT_CONFIGURED = "not_configured"
    SELECTIVE_LABELS = "selective_labels"


@dataclass(frozen=True)
class DetailTable:
    """A small table behind a value: a curve, the cells that moved, deciles."""

    columns: tuple[str, ...]  # names
    # plain values in the order of the columns: numbers are finite, None where there is none.
    rows: tuple[tuple[float | str | None, ...], ...]

    @cached_property
    def text(self) -> str:
        """JSON of it; rows that stay from cycle to cycle keep it."""
        return _ENCODE({"columns": self.columns, "rows": self.rows})


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value or a reason, the number of records behind it, and how sure it is."""

    value: float | None  # a finite number, or None
    n: int  # records behind the value
    reason: Reason | None = None  # given exactly when there is no value
    interval: Interval | None = None  # where theory or a bootstrap gives one
    resolution: float = 0.0  # bound of the error due to cells, in the value's unit; 0 when exact
    detail: DetailTable | None = None  # table behind the value: stored and shown, never exposed to Prometheus
    change: Change | None = None  # of the evidence of days: what changed. It is kept where a table would be.

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(f"either a value or a reason: got {self.value} and {self.reason}")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"a value is finite: got {self.value}")

    @classmethod
    def without_value(cls, reason: Reason, *, n: int) -> "Measurement":
        """No value, and why."""
        return cls(value=None, reason=reason, n=n)

    @property
    def table(self) -> DetailTable | None:
        """What is behind the value as a table: a change is one of a single row."""
        return self.detail if self.change is None else table_of(self.change)


def table_of(change: Change) -> DetailTable:
    """A change as a table of one row."""
    cells = change.cells()
    return DetailTable(tuple(cells), (tuple(cells.values()),))


def difference_interval(first: tuple[float, Interval], second: tuple[float, Interval]) -> Interval:
    """Interval of a difference of independent values, first - second, made of both intervals [1]_.

    From d - sqrt((v1 - l1)² + (u2 - v2)²) to d + sqrt((u1 - v1)² + (v2 - l2)²), d = v1 - v2.

    Parameters
    ----------
    first, second
        value v, and its interval (l, u).

    References
    ----------
    .. [1] Zou & Donner (2008). Construction of confidence limits about effect measures: a general approach.
       Statistics in Medicine 27:1693-1702, section 2.
    """
    (v1, of_first), (v2, of_second) = first, second
    below = math.hypot(v1 - of_first.lower, of_second.upper - v2)
    above = math.hypot(of_first.upper - v1, v2 - of_second.lower)
    difference = v1 - v2
    return Interval(difference - below, difference + above, of_first.level)
