"""Axes: which numbers are at their ends, which have ticks, and where a number lies between."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MOST = 12  # ticks of an axis
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_FARTHEST = 1e300  # beyond it a difference of two numbers is none any more


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A number of an axis that is labelled."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers from `low` to `high`, `low` < `high`, and the ticks between them."""

    low: float
    high: float
    ticks: tuple[AxisTick, ...] = ()
    title: str = ""  # what the numbers are; empty: known from elsewhere

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"axis: low must be below high: got {self.low} and {self.high}")

    def axis_position(self, value: float) -> float:
        """Where a number lies: 0 at the low end, 1 at the high one; what lies beyond an end is put there.

        >>> Axis(0.0, 4.0).axis_position(1.0), Axis(0.0, 1.0).axis_position(9.0)
        (0.25, 1.0)
        """
        low, high = self.low, self.high
        if not low < value < high:  # an end, or beyond it
            return 1.0 if value >= high else 0.0
        return (value - low) / (high - low)


def linear_axis(
    values: Iterable[float],
    *,
    zero: bool = False,
    most: int = 5,
    label: Callable[[float], str] | None = None,
    title: str = "",
) -> Axis:
    """Axis that holds all values and ends at ticks.

    Parameters
    ----------
    values
        finite; none at all gives 0 to 1, a single one has some room around it.
    zero
        whether 0 must be on it.
    most
        ticks at most, 2 to 12.
    label
        text of a tick; None: the shortest one.

    >>> [tick.label for tick in linear_axis([0.52, 0.77]).ticks]
    ['0.5', '0.6', '0.7', '0.8']
    """
    low, high = _value_range([*values, *([0.0] if zero else [])])
    step = _tick_step(low, high, min(max(most, 2), MOST))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    text = label or (lambda at: f"{at:.10g}")
    ticks = tuple(AxisTick(at * step, _signed_label(text(at * step + 0.0))) for at in range(first, last + 1))
    return Axis(first * step, last * step, ticks, title=title)


def _value_range(values: list[float]) -> tuple[float, float]:
    """Smallest and largest value, apart from one another."""
    if not values:
        return 0.0, 1.0
    low, high = (min(max(end, -_FARTHEST), _FARTHEST) for end in (min(values), max(values)))
    if high - low > max(1e-9 * max(abs(low), abs(high)), 1 / _FARTHEST):
        return low, high
    around = max(abs(low) / 10, 1e-300) if low else 1.0
    return low - around, high + around


def _tick_step(low: float, high: float, most: int) -> float:
    """Smallest of 1, 2, 2.5, 5 times a power of ten with which there are at most so many ticks."""
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    for nice in (*_NICE, 20.0):
        step = nice * power
        if math.ceil(high / step - 1e-9) - math.floor(low / step + 1e-9) + 1 <= most:
            return step
    return 50.0 * power


def _signed_label(label: str) -> str:
    """Label with the sign of subtraction; what is rounded to nothing has none."""
    bare = label.removeprefix("-")
    if bare == label:
        return label
    return f"\N{MINUS SIGN}{bare}" if any(digit in "123456789" for digit in bare) else bare
