"""Exact sums: fixed-point numbers in two int64 halves.

A term x is rounded once to the unit 2^-40 * s (s a power of two, the scale) and stored as
hi * 2^40 + lo with 0 <= lo < 2^40. Halves are added as integers, so that order and grouping
cannot change a sum; the carry of lo is moved to hi by `normalise`.
"""

from fractions import Fraction

import numpy as np

from monitor.core.typing import Bools, Floats, Ints

BITS = 40
HALF = 1 << BITS
LIMIT = float(1 << BITS)


def halves(terms: Floats, scale: float) -> tuple[Ints, Ints, Bools]:
    """Split terms into integer halves.

    Parameters
    ----------
    terms
        float64, any shape; finite.
    scale
        a power of two, in the unit of the terms.

    Returns
    -------
    hi, lo, fits
        halves; terms of magnitude 2^40 * scale or more do not fit and give 0, 0.
    """
    scaled = terms / scale
    fits = np.abs(scaled) < LIMIT
    scaled = np.where(fits, scaled, 0.0)
    whole = np.floor(scaled)
    fraction = np.rint((scaled - whole) * HALF).astype(np.int64)
    carry = fraction >> BITS
    return whole.astype(np.int64) + carry, fraction - (carry << BITS), fits


def normalise(hi: Ints, lo: Ints) -> tuple[Ints, Ints]:
    """Move the carry of `lo` to `hi`: the one form in which equal sums have equal halves."""
    carry = lo >> BITS
    return hi + carry, lo - (carry << BITS)


def exact(hi: int, lo: int, scale: float) -> Fraction:
    """Value of a sum as an exact fraction, in the unit of its terms."""
    return Fraction((int(hi) << BITS) + int(lo), HALF) * Fraction(scale)


def power_of_two(spread: float) -> float:
    """Power of two at or just below a positive spread.

    Raises
    ------
    ValueError
        if the spread is not a positive finite number.
    """
    if not (np.isfinite(spread) and spread > 0):
        raise ValueError(f"a scale is a positive finite number: got {spread}")
    return float(2.0 ** np.floor(np.log2(spread)))
