"""Long sequences of simulated time: in the end all must be as one count from scratch finds it, with ==.

Each sequence draws a mix of faults, days, cycles, delays of cycles and restarts from its number. A quarter of
them has rows that are only added: of these the history must be that of a replay over the same ticks. Prints
progress, what differs, and figures; ends with 1 where anything differs. Twenty minutes on two cores.
python benchmarks/sim_time.py [SEQUENCES] [FIRST]
"""

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "simulate"))

from lived import START, Lived, differing, differing_history, simulated
from mixes import added, drawn

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.simulate import Mix

SEQUENCES = 200


def main() -> int:
    """Run the sequences, print, count those that differ."""
    sequences, first = (int(text) for text in (sys.argv[1:] + [SEQUENCES, 0][len(sys.argv) - 1 :]))
    began, wrong, totals = time.monotonic(), 0, Counter[str]()
    for number in range(first, first + sequences):
        mix, words = sequence(number, totals)
        if words:
            wrong += 1
            print(f"sequence {number}: {mix}\n  " + "\n  ".join(words[:6]), flush=True)
        done = number - first + 1
        if done % 10 == 0 or done == sequences:
            left = (time.monotonic() - began) / done * (sequences - done) / 60
            print(f"{done}/{sequences}, {wrong} differ, {dict(totals)}, {left:.0f} min left", flush=True)
    return int(wrong > 0)


def sequence(number: int, totals: Counter[str]) -> tuple[Mix, list[str]]:
    """One sequence; what differs."""
    rng = np.random.default_rng(number)
    days, history = int(rng.integers(4, 9)), number % 4 == 0
    mix = added(drawn(rng, days)) if history else drawn(rng, days)
    pane = str(rng.choice(["1h", "6h", "1d"]))
    with simulated(mix, number, days, horizon=f"{rng.integers(5, 12)}d", pane=pane) as lived:
        live(lived, rng, days)
        if history:
            lived.advance(START + 100 * DAY)
            words = differing_history(lived)
        else:
            lived.advance(START + (days + 1) * DAY)
            lived.audit()
            without = frozenset({"feature:temp"} if mix.dropped else ())
            with lived.from_scratch(lived.as_of) as scratch:
                words = differing(lived, scratch, without=without)
        totals.update(
            sequences=1,
            histories=history,
            cycles=len(lived.ticks),
            restarts=lived.steps.count("restart"),
            changes=len(lived.log.plan.predictions) + len(lived.log.plan.labels),
            panes=len(lived.app.store.facts("late", 0)),
        )
    return mix, words


def live(lived: Lived, rng: np.random.Generator, days: int) -> None:
    """Cycles until the last day, late by up to an hour, with restarts in between."""
    as_of, pace = START, int(rng.choice([8, 16, 24]))
    while as_of < START + days * DAY:
        as_of += int(rng.integers(1, 2 * pace)) * HOUR
        lived.cycle(as_of, behind=int(rng.choice([0, 0, 1, 10, 60])) * MINUTE)
        if rng.random() < 0.2:
            lived.restart()


if __name__ == "__main__":
    sys.exit(main())
