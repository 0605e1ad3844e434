"""Exact sums: fixed-point numbers in two int64 halves.

A term, divided by its scale (a power of two), is rounded once to the unit 2^-40, ties to even, and stored
as hi * 2^40 + lo with 0 <= lo < 2^40. Halves are added as integers, so that order and grouping cannot
change a sum; the carry of lo is moved to hi by `normalise_halves`. Terms lie below 2^40, so that a sum of
8 million of the largest fits.
"""

from fractions import Fraction
from math import frexp, isfinite, ldexp, ulp

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints

BITS = 40
HALF = 1 << BITS
LIMIT = float(1 << BITS)
SMALLEST = ulp(0.0)  # what a spread is at least: that of the smallest doubles may be rounded to 0
_WHOLE = 2.0**62
_EXPONENT = 250  # of the largest scale: its fourth power is still a double


def split_halves(terms: Floats) -> tuple[Ints, Ints, Bools]:
    """Split terms, in units of their scale, into integer halves.

    Parameters
    ----------
    terms
        float64, any shape.

    Returns
    -------
    hi, lo, fits
        halves; terms of magnitude 2^40 or more, and NaN, do not fit and give 0, 0.
    """
    fits = np.abs(terms) < LIMIT
    units = terms if fits.all() else np.where(fits, terms, 0.0)
    with np.errstate(under="ignore"):
        units = np.rint(units * HALF)
    hi = np.floor(units * (1.0 / HALF))  # of powers of two: exact
    units -= hi * HALF
    return hi.astype(np.int64), units.astype(np.int64), fits


def whole_units(terms: Floats, most: int) -> Ints | None:
    """Terms as integers, where any `most` of them surely add up to less than 2^63; None elsewhere.

    A quarter of the cost of `split_halves`: `normalise_halves` makes the same halves of 0 and the sum of
    these.
    """
    with np.errstate(over="ignore", under="ignore"):
        units = np.rint(terms * HALF)
    largest = max(units.max(initial=0.0), -units.min(initial=0.0))
    return units.astype(np.int64) if largest < _WHOLE / max(most, 1) else None


def normalise_halves(hi: Ints, lo: Ints) -> tuple[Ints, Ints]:
    """Move the carry of `lo` to `hi`: the one form in which equal sums have equal halves."""
    # An arithmetic shift rounds down: negative low halves borrow from the high one.
    carry = lo >> BITS
    return hi + carry, lo - (carry << BITS)


def units_of_halves(hi: int, lo: int) -> int:
    """Value of a sum in units of 2^-40 of its scale."""
    return (int(hi) << BITS) + int(lo)


def exact_fraction(hi: int, lo: int, scale: float) -> Fraction:
    """Value of a sum as an exact fraction, in the unit of its terms."""
    return Fraction(units_of_halves(hi, lo), HALF) * Fraction(scale)


def power_of_two(spread: float) -> float:
    """Power of two at or just below a positive spread, kept within 2^-250 and 2^250.

    Raises
    ------
    ValueError
        if the spread is not a positive finite number.
    """
    if not (isfinite(spread) and spread > 0):
        raise ValueError(f"a scale is a positive finite number: got {spread}")
    exponent = frexp(spread)[1] - 1
    return ldexp(1.0, min(max(exponent, -_EXPONENT), _EXPONENT))
