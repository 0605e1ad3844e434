"""Daemons killed (SIGKILL) at random moments of missed ticks: does anything get lost, or counted twice?

On a SQLite and on a PostgreSQL store of its own, the command `monitor run` catches up with a log whose rows
and labels come late: each one runs the ticks that were missed, and is killed within a second of its first
cycle, every second one as soon as it has added labels to panes by difference, before the cycle is committed,
the last one when nothing is left to do. Panes, current values, snapshots and all else that is kept are
compared, with ==, with those of a process that nobody disturbed. Ends with 1 where they differ. A kill takes
some three seconds of CPU, most of them for the start. So is a replay into each store, which is stopped at
random ticks by INT, TERM and KILL, and goes on.
python benchmarks/sim_crashes.py [KILLS]
"""

import contextlib
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers
from crashes import EVERY, Crashes, Stop, contents, differences, write_log

KILLS = 200
SEED = 20_241_122
TICKS_A_KILL = 1.4  # enough on a fast machine: many of the kills come before a commit
MOST_TICKS = 140  # those of a day: none is older than `catch_up`
STOPS, TICKS = 10, 29  # of a replay
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@contextlib.contextmanager
def stores(directory: Path) -> Iterator[dict[str, str]]:
    """URL of an empty store on either database."""
    with servers.postgres() as server, server.database() as url:
        yield {"SQLite": f"sqlite:///{directory / 'killed.db'}", "PostgreSQL": url}


def one_round(kills: int, rng: random.Random) -> tuple[int, bool]:
    """Kill about so many on stores of their own, compare, print; how many, and whether all is equal."""
    ticks = min(MOST_TICKS, max(4, round(kills / 2 * TICKS_A_KILL)))
    began, total, equal = time.monotonic(), 0, True
    with tempfile.TemporaryDirectory() as name, stores(Path(name)) as urls:
        directory = Path(name)
        first = write_log(directory, ticks)
        whole = Crashes(directory / "whole", f"sqlite:///{directory / 'whole.db'}", first)
        for engine, url in urls.items():
            one = Crashes(directory / engine, url, first)
            for killed in one.disturbed(-(-kills // 2), rng):
                if killed % 10 == 0:
                    print(f"{engine}: {killed} kills, {time.monotonic() - began:.0f} s", flush=True)
            expected = whole.undisturbed(one.as_of)
            found = differences(expected, contents(url))
            equal &= not found
            total += one.kills
            missed, rows = (one.as_of - first) // EVERY, sum(map(len, expected.values()))
            print(
                f"{engine}: {one.kills} kills, {one.inside} of them inside a cycle, {one.between} after it "
                f"had added labels to panes; {missed} missed ticks, "
                f"{rows:,} rows kept: {f'different rows: {found}' if found else 'equal'}",
                flush=True,
            )
            equal &= stopped_replay(engine, one, whole, rng)
    return total, equal


def stopped_replay(engine: str, one: Crashes, whole: Crashes, rng: random.Random) -> bool:
    """Stop a replay again and again; whether it leaves what one leaves that nobody disturbs."""
    ticks = sorted(rng.randrange(TICKS) for _ in range(STOPS))
    stops = [Stop(at, rng.uniform(0.0, 0.3), rng.choice(SIGNALS)) for at in ticks]
    found = differences(whole.replayed(one.first, ()), one.replayed(one.first, stops))
    print(f"{engine}: a replay, stopped: {f'different rows: {found}' if found else 'equal'}", flush=True)
    return not found


def main(kills: int) -> int:
    """Round after round, as a fast machine has run what it missed before it was killed often enough."""
    began, total, equal = time.monotonic(), 0, True
    rng = random.Random(SEED)  # noqa: S311 -- moments, no secrets
    while total < kills and equal:
        found, equal = one_round(kills - total, rng)
        total += found
    print(f"{total} kills in {time.monotonic() - began:.0f} s")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS))
