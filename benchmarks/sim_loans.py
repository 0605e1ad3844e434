"""A loan log in many seeds, replayed day by day: after how many days its drift is told, and what before it.

python benchmarks/sim_loans.py [--seeds 25] [--first 0]
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from loans import day, loans  # noqa: E402 -- found by the line above
from test_loans_story import Bank  # noqa: E402

DAYS, EACH_DAY, UNIT_ERROR, DRIFT, LATEST = 88, 300, 45, 62, 18
RULE = "performance_changed"


def days_until_told(seed: int) -> tuple[list[float], list[float]]:
    """Days after the drift, and before it, on which a change of labels against scores was told."""
    log = loans(DAYS, EACH_DAY, seed, unit_error_day=UNIT_ERROR, drift_day=DRIFT)
    with TemporaryDirectory() as name:
        url = f"sqlite:///{name}/loans.db"
        log.load(url)
        log.write_reference(Path(name) / "reference.parquet")
        bank = Bank(Path(name))
        bank.begin(url)
        span = ("--from", day(1).date().isoformat(), "--to", day(DAYS - 1).date().isoformat())
        done = bank.monitor("replay", *span, "--every", "1d", "--run", "live")
        if done.exit_code:
            raise SystemExit(done.output)
        told = [one.day - DRIFT for one in bank.fired() if one.rule == RULE]
    return [at for at in told if at >= 0], [at for at in told if at < 0]


def main() -> int:
    """Print a line a seed, then all of them; 1: fewer than 23 of 25 within 18 days."""
    parser = argparse.ArgumentParser(description="Loans whose labels take 5 to 40 days.")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    found, false = [], 0
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        after, before = days_until_told(seed)
        found.append(after[0] if after else float("inf"))
        false += len(before)
        print(f"seed {seed}: told after {found[-1]:.0f} days, before the drift {len(before)}", flush=True)
    within = sum(at <= LATEST for at in found)
    print(f"within {LATEST} days: {within} of {len(found)}; told before anything changed: {false}")
    return int(within * 25 < 23 * len(found))


if __name__ == "__main__":
    sys.exit(main())
