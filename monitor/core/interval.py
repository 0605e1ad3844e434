"""An interval and its level."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

RateMethod: TypeAlias = Literal["wilson", "clopper-pearson"]
Dependence: TypeAlias = Literal["none", "day"]

LEVEL = 0.95  # of intervals and critical values, unless another is asked for


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
