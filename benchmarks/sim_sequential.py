"""How often the comparisons that are looked at again and again are wrong, and how soon they are right.

Simulates experiments and looks at each of them many times: without a difference (false alarms), and with one
(found in time). Prints shares of experiments beside the fixed-time tests', and ends with 1 where a promise is
broken; --quick: fewer experiments, and three standard deviations of room.
python benchmarks/sim_sequential.py [--quick]
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from monitor.core.array_types import Ints
from monitor.measures.comparison.arm_outcomes import ArmRate
from monitor.measures.comparison.challenger import discordant_evidence
from monitor.measures.comparison.sequential_tests import (
    convert_to_mean,
    log_share_evidence,
    outcome_evidence,
    p_value_of,
)

LEVEL = 0.05
DETECT = 0.01
A_DAY = 1_000  # records an arm
HOURLY = 1_440  # looks in 60 days
FEW, MANY = 60, 2_000  # experiments


@dataclass(frozen=True)
class Promise:
    """A share of simulated experiments, and what it must be."""

    name: str
    shares: list[bool]
    most: float = 1.0
    least: float = 0.0

    @property
    def share(self) -> float:
        return float(np.mean(self.shares))

    def kept(self, room: float) -> bool:
        n = len(self.shares)
        below, above = (room * (bound * (1 - bound) / n) ** 0.5 for bound in (self.least, self.most))
        return self.least - below <= self.share <= self.most + above

    def line(self) -> str:
        rule = f"at most {self.most:.0%}" if self.most < 1 else f"at least {self.least:.0%}"
        return f"{self.name:72} {self.share:6.1%}  {rule if (self.most, self.least) != (1.0, 0.0) else ''}"


def main() -> int:
    """Simulate, print, compare."""
    quick = "--quick" in sys.argv[1:]
    rng, times = np.random.default_rng(1), FEW if quick else MANY
    kept = True
    for simulate in (of_outcomes, of_shares, of_challengers):
        for promise in simulate(rng, times):
            fits = promise.kept(3.0 if quick else 0.0)
            print(promise.line().rstrip(), "" if fits else "BROKEN", flush=True)
            kept &= fits
    return 0 if kept else 1


def of_outcomes(rng: np.random.Generator, times: int) -> Iterator[Promise]:
    """Rates of two arms."""

    def experiment(first: float, second: float, count: int) -> tuple[Ints, Ints, Ints]:
        n = np.arange(1, count + 1) * A_DAY // 24
        size = np.diff(n, prepend=0)
        return np.cumsum(rng.binomial(size, first)), np.cumsum(rng.binomial(size, second)), n

    def found(positive: Ints, other: Ints, n: Ints) -> bool:
        return any(map(differs, positive.tolist(), other.tolist(), n.tolist()))

    equal = [experiment(0.1, 0.1, HOURLY) for _ in range(times)]
    rare = [experiment(0.005, 0.005, HOURLY) for _ in range(times // 2)]
    better = [experiment(0.1, 0.11, 25 * 24) for _ in range(times)]
    yield Promise("10 % in both arms, 1,440 looks: false alarms", [found(*one) for one in equal], most=LEVEL)
    yield Promise("  the same, fixed-time z test", [naive(*one) for one in equal])
    yield Promise("0.5 % in both arms, 1,440 looks: false alarms", [found(*one) for one in rare], most=LEVEL)
    name = "10 % against 11 %, 1,000 an arm and day: found within 25 days"
    yield Promise(name, [found(*one) for one in better], least=0.80)


def differs(positive: int, other: int, n: int) -> bool:
    """Whether the always-valid test finds a difference at one look."""
    return (
        p_value_of(
            outcome_evidence(
                convert_to_mean(ArmRate(positive, n)), convert_to_mean(ArmRate(other, n)), DETECT
            )
        )
        <= LEVEL
    )


def naive(positive: Ints, other: Ints, n: Ints) -> bool:
    """Whether z exceeds 1.96 at any look from 500 an arm on."""
    p, q = positive / n, other / n
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(p - q) / np.sqrt(p * (1 - p) / n + q * (1 - q) / n)
    return bool((z[n >= 500] > 1.96).any())


def of_shares(rng: np.random.Generator, times: int) -> Iterator[Promise]:
    """Predictions of two arms, of which the first is planned to have a tenth."""

    def experiment(share: float, count: int, size: int) -> tuple[Ints, Ints]:
        control = np.cumsum(rng.binomial(size, share, count))
        return control, np.arange(1, count + 1) * size - control

    def found(control: Ints, treatment: Ints) -> bool:
        return any(map(mismatched, control.tolist(), treatment.tolist()))

    planned = [experiment(0.1, HOURLY, A_DAY // 24) for _ in range(times)]
    broken = [experiment(0.12, 14, A_DAY) for _ in range(times)]
    slightly = [experiment(0.105, 60, A_DAY) for _ in range(times)]
    yield Promise(
        "control 10 % as planned, 1,440 looks: false alarms", [found(*one) for one in planned], LEVEL
    )
    yield Promise("  the same, fixed-time chi-squared test", [chi_squared(*one) for one in planned])
    name = "control 12 % instead of 10 %, 1,000 a day: found within 14 days"
    yield Promise(name, [found(*one) for one in broken], least=0.80)
    yield Promise("control 10.5 %, 1,000 a day: found within 60 days", [found(*one) for one in slightly])


def mismatched(control: int, treatment: int) -> bool:
    """Whether the sample ratio test finds other shares than planned at one look."""
    return p_value_of(log_share_evidence(control, treatment, 0.1, 0.1)) <= LEVEL


def chi_squared(control: Ints, treatment: Ints) -> bool:
    """Whether the test of fit at 5 % does at any look."""
    n = control + treatment
    return bool((chdtrc(1, (control - 0.1 * n) ** 2 / (0.1 * 0.9 * n)) <= LEVEL).any())


def of_challengers(rng: np.random.Generator, times: int) -> Iterator[Promise]:
    """Records that only one of two models predicts right."""

    def found(better: float, count: int, size: int) -> bool:
        right = np.cumsum(rng.binomial(size, better, count)).tolist()
        return any(
            p_value_of(discordant_evidence(at * size - c, c)) <= LEVEL for at, c in enumerate(right, 1)
        )

    equal = [found(0.5, HOURLY, 4) for _ in range(times)]
    better = [found(0.55, 30, 100) for _ in range(times)]
    yield Promise("champion and challenger equal, 1,440 looks: false alarms", equal, most=LEVEL)
    name = "challenger right in 55 % of 100 discordant records a day: within 30 days"
    yield Promise(name, better, least=0.80)


if __name__ == "__main__":
    sys.exit(main())
