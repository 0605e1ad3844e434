"""Daemons killed (SIGKILL) at random moments of replayed traffic: does anything get lost, or counted twice?

On a SQLite and on a PostgreSQL store of its own, daemons run the missed ticks of a log whose rows and labels
come late, and each is killed within a second of its first cycle, the last one when it is done. Panes, current
values, snapshots and all else that is kept are compared, with ==, with those of a process that nobody
disturbed. Ends with 1 where they differ or fewer than KILLS daemons were killed.
python benchmarks/sim_crashes.py [KILLS]
"""

import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers
from crashes import Crashes, contents, differences, write_log

from monitor.core.clock import to_iso

KILLS = 200
SEED = 20_241_122
TICKS_A_KILL = 0.5  # about: many of the kills come before a commit


@contextlib.contextmanager
def stores(directory: Path) -> Iterator[dict[str, str]]:
    """URL of an empty store on either database."""
    with servers.postgres() as server, server.database() as url:
        yield {"SQLite": f"sqlite:///{directory / 'killed.db'}", "PostgreSQL": url}


def main(kills: int) -> int:
    """Kill, compare, print; the exit code."""
    ticks = max(4, round(kills / 2 * TICKS_A_KILL))
    began, total, failed = time.monotonic(), 0, False
    with tempfile.TemporaryDirectory() as name, stores(Path(name)) as urls:
        directory = Path(name)
        write_log(directory, ticks)
        rng = random.Random(SEED)  # noqa: S311 -- moments, no secrets
        whole = Crashes(directory / "whole", f"sqlite:///{directory / 'whole.db'}", ticks, rng)
        expected = whole.undisturbed()
        rows = sum(len(found) for found in expected.values())
        print(f"undisturbed: {ticks} cycles up to {to_iso(whole.last)}, {rows:,} rows kept", flush=True)
        for engine, url in urls.items():
            one = Crashes(directory / engine, url, ticks, rng)
            for killed in one.disturbed(kills // 2):
                if killed % 10 == 0:
                    print(f"{engine}: {killed} kills, {time.monotonic() - began:.0f} s", flush=True)
            found = differences(expected, contents(url))
            failed |= bool(found)
            total += one.kills
            print(
                f"{engine}: {one.kills} kills, {one.inside} of them inside a cycle; "
                f"{'equal' if not found else f'different rows: {found}'}",
                flush=True,
            )
    print(f"{total} kills in {time.monotonic() - began:.0f} s")
    return 1 if failed or total < kills else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS))
