"""Unshifted: samples of which it is known that nothing has shifted, for the critical values of shift."""

import hashlib
import math
from functools import lru_cache

import numpy as np

from monitor.core.typing import Ints

SIMULATIONS = 1_000


@lru_cache(maxsize=64)  # of a reference again and again
def samples(size: int, shares: tuple[float, ...], side: str) -> Ints:
    """Counts of samples of so many records, shape (simulations, cells). Cost: 1,000 binomials a cell, once.

    Seeded by the arguments: a pure function of them.
    """
    shape = np.asarray(shares) / math.fsum(shares)
    return seeded(size, shares, side).multinomial(size, shape, size=SIMULATIONS)


def seeded(*key: object) -> np.random.Generator:
    """Random numbers that are the same for the same key."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest))


def two_digits(number: float) -> int:
    """Size that windows of about as many records share, so that they share one simulation."""
    return int(float(f"{number:.2g}"))
