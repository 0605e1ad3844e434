"""References of the same phase of earlier periods: how often is a window called moved that is like them?

Periods differ by a tilt of their cells with a standard deviation of their own; windows hold 5,000 records in
20 cells. Asked for: 5 % beyond a critical value, 95 % of means within a band.
python benchmarks/sim_season.py
"""

import numpy as np
from scipy import stats

from monitor.core.typing import Floats, Ints

CELLS, RECORDS, RUNS = 20, 5_000, 4_000
SCORES: Floats = stats.norm.ppf((np.arange(CELLS) + 0.5) / CELLS)


def period(rng: np.random.Generator, between: float) -> Ints:
    """Counts of one period's window."""
    shares = np.exp(rng.normal(0, between) * SCORES)
    return np.asarray(rng.multinomial(RECORDS, shares / shares.sum()))


def index(one: Ints, other: Ints) -> float:
    """Stability index."""
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * CELLS) for counts in (one, other))
    return float(((p - q) * np.log(p / q)).sum())


def beyond(rng: np.random.Generator, between: float, periods: int) -> list[bool]:
    """Beyond chance alone; beyond leave-one-period-out distances, and their logarithms; mean in its band."""
    earlier, now = [period(rng, between) for _ in range(periods)], period(rng, between)
    total = np.sum(earlier, axis=0)
    apart = np.asarray([index(one, total - one) for one in earlier])
    distance, wide = index(now, total), np.sqrt(1 + 1 / periods)
    chance = stats.chi2.ppf(0.95, CELLS - 1) * (1 + 1 / periods) / RECORDS
    t = stats.t.ppf(0.95, periods - 1) * wide
    plain = apart.mean() + t * apart.std(ddof=1)
    logs = np.exp(np.log(apart).mean() + t * np.log(apart).std(ddof=1))
    *means, mean = ((counts * SCORES).sum() / RECORDS for counts in (*earlier, now))
    sampling = (SCORES**2).mean() / RECORDS
    variance = max(np.var(means, ddof=1) - sampling, 0.0) + sampling
    band = stats.t.ppf(0.975, periods - 1) * wide * np.sqrt(variance)
    return [
        distance > chance,
        distance > max(chance, plain),
        distance > max(chance, logs),
        bool(abs(mean - np.mean(means)) <= band),
    ]


def main() -> None:
    """Print a table."""
    print("| between | periods | chance alone | leave one out | of logarithms | mean within its band |")
    print("|---|---|---|---|---|---|")
    for between in (0.0, 0.05, 0.15):
        for periods in (2, 3, 4, 8):
            rng = np.random.default_rng([7, periods, round(100 * between)])
            rates = np.mean([beyond(rng, between, periods) for _ in range(RUNS)], axis=0)
            print(f"| {between} | {periods} |", " | ".join(f"{rate:.1%}" for rate in rates), "|", flush=True)


if __name__ == "__main__":
    main()
