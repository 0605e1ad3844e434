"""Days on which nothing happens, or one thing does: false alerts, and days until a change is found."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from alert_gates.made_series import Change, Noise, begun, days, run, watch

from monitor.evidence.judging import AlertBudget

HISTORIES = (14, 28, 56)  # days
JUDGED = 120
NOISES = (
    Noise("independent days"),
    Noise("effects of days, .04 sd", sd=0.04),
    Noise("design effect 3", design=3),
    Noise("design effect 10", design=10),
    Noise("effects of days and weekends", sd=0.04, weekend=True),
)
STRESSES = (
    Noise("autocorrelation .85", sd=0.04, likeness=0.85),
    Noise("shocks of Student's t₄, 70 % in common", sd=0.04, heavy=True, common=0.7),
    Noise("random walk of .02 sd a day", sd=0.04, walk=0.02),
    Noise("all three", sd=0.04, likeness=0.85, heavy=True, common=0.7, walk=0.02),
)
CHANGES = {
    "level by .5 sd": (Change(0, level=0.5), 2.5),
    "level by .3 sd": (Change(0, level=0.3), 4.5),
    "level by .2 sd": (Change(0, level=0.2), 9.0),
    "spread by a quarter": (Change(0, widens=0.25), 2.5),
    "a level of 16 % doubled": (Change(0, share=2.0), 2.5),
    "3 % stuck at one value": (Change(0, stuck=0.03), 4.5),
}
CENSORED = 31  # days


@dataclass(frozen=True)
class Quiet:
    """A cell of gates 1 and 2."""

    noise: Noise
    records: int
    features: int
    budget: AlertBudget


def false_alerts(cell: Quiet, seed: int, runs: int) -> tuple[list[int], dict[str, int], float]:
    """Alerts after each history, by what they were found, and the months that were judged after each."""
    of, count, by = watch(cell.features), np.zeros(len(HISTORIES)), Counter[str]()
    for number in range(runs):
        rng = np.random.default_rng([seed, number, cell.records, cell.features])
        made = days(cell.features, cell.noise, cell.records, max(HISTORIES) + JUDGED, rng)
        for day, judged in enumerate(run(of, made, cell.budget)):
            told = begun(of, judged)
            count += [len(told) * (history <= day < history + JUDGED) for history in HISTORIES]
            for subject in told:
                at = int(judged.record.found_by[of.subjects.index(subject)])
                by[of.series[at].statistic.value if at < len(of.series) else "fault"] += 1
    return count.astype(int).tolist(), dict(by), runs * JUDGED / 30


def found_after(change: Change, seed: int, runs: int, records: int = 5_000, features: int = 100) -> list[int]:
    """Days until a change is found, of each run; 31: not within 30 days."""
    of, noise, budget = watch(features), NOISES[4], AlertBudget(smallest=0.0)
    touched = "feature:0" if change.share == 1.0 else f"feature:{features - features // 5}"
    found = []
    for number in range(runs):
        rng = np.random.default_rng([seed, number])
        first = 56 + 7 + number % 7
        one = Change(first, change.level, change.widens, change.stuck, change.share)
        made = days(features, noise, records, first + CENSORED - 1, rng, one)
        told = (day for day, judged in enumerate(run(of, made, budget)) if touched in begun(of, judged))
        found.append(next((day - first + 1 for day in told if day >= first), CENSORED))
    return found
