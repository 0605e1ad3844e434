"""Long sequences of simulated time: in the end all must be as one count from scratch finds it, with ==.

Each sequence draws a mix of faults, days, cycles, delays of cycles and restarts from its number. Half of them
have rows that are only added: after each of their cycles the labels must be as a whole count finds them then.
Of a quarter these rows are seen at once: their history must be that of a replay over the same ticks. Prints
progress, what differs, and figures, among them how often labels were added to a pane by difference (`moved`),
and audits that found differences wrong (`wrong`: feeds that are not append-only); ends with 1 where anything
differs. Twenty minutes on two cores. Those of a month or more have a retention of a day, which may remove old
revisions from their histories, nothing else. Databases are SQLite files, or of servers started for it; days
are those of a log, at least and at most.
python benchmarks/sim_time.py [SEQUENCES] [FIRST] [--source ENGINE] [--store ENGINE] [--days FROM TO]
"""

import argparse
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "simulate"))

import servers
from lived import START, Lived, differing, differing_history, differing_labels, simulated
from mixes import added, drawn, seen_in_time
from simulation import Mix

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.pipeline.audit import WRONG

ENGINES = "sqlite", "postgresql", "mariadb"
MONTH = 28  # days
Databases = Callable[[], AbstractContextManager[str | None]]


def main() -> int:
    """Run the sequences, print, count those that differ."""
    asked = arguments()
    began, wrong, totals = time.monotonic(), 0, Counter[str]()
    with contextlib.ExitStack() as stack:
        servers_ = {name: stack.enter_context(databases(name)) for name in {asked.source, asked.store}}
        for done, number in enumerate(range(asked.first, asked.first + asked.sequences), start=1):
            with servers_[asked.source]() as source, servers_[asked.store]() as store:
                mix, words = sequence(number, asked.days, totals, source=source, store=store)
            if words:
                wrong += 1
                print(f"sequence {number}: {mix}\n  " + "\n  ".join(words[:6]), flush=True)
            if done % 10 == 0 or done == asked.sequences:
                left = (time.monotonic() - began) / done * (asked.sequences - done) / 60
                told = f"{done}/{asked.sequences}, {wrong} differ, {dict(totals)}, {left:.0f} min left"
                print(told, flush=True)
    return int(wrong > 0)


def arguments() -> argparse.Namespace:
    """Which sequences, of how many days, on which databases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sequences", type=int, nargs="?", default=200)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--source", choices=ENGINES, default="sqlite")
    parser.add_argument("--store", choices=ENGINES[:2], default="sqlite")
    parser.add_argument("--days", type=int, nargs=2, default=(4, 8), help="at least, at most")
    return parser.parse_args()


@contextlib.contextmanager
def databases(engine: str) -> Iterator[Databases]:
    """Makes empty databases of an engine; None: a file."""
    if engine == "postgresql":
        with servers.postgres() as postgres:
            yield postgres.database
    elif engine == "mariadb":
        with servers.mariadb() as mariadb:
            yield mariadb.database
    else:
        yield contextlib.nullcontext


def sequence(
    number: int, between: Sequence[int], totals: Counter[str], *, source: str | None, store: str | None
) -> tuple[Mix, list[str]]:
    """One sequence; what differs."""
    rng = np.random.default_rng(number)
    days, kind = int(rng.integers(between[0], between[1] + 1)), number % 4
    history, only_added = kind == 0, kind < 2
    retention = DAY if history and days >= MONTH else None
    mix = drawn(rng, days)
    if only_added:
        mix = added(mix) if history else seen_in_time(mix)
    pane = str(rng.choice(["1h", "6h", "1d"]))
    horizon = f"{rng.integers(5, 12)}d"
    with simulated(
        mix, number, days, horizon=horizon, pane=pane, source=source, store=store, retention=retention
    ) as lived:
        words = live(lived, rng, days, each_cycle=only_added)
        if history:
            lived.advance(START + 100 * DAY)
            words += differing_history(lived)
        else:
            lived.advance(START + (days + 1) * DAY)
            lived.audit()
            without = frozenset({"feature:temp"} if mix.dropped else ())
            with lived.from_scratch(lived.as_of) as scratch:
                words += differing(lived, scratch, without=without)
        panes, since = lived.app.store.panes.read_pane_facts("late", 0), lived.comparable_from()
        wrong = lived.app.store.events.read_events("late", WRONG)
        words += [f"an audit found differences wrong: {one.detail}" for one in wrong if only_added]
        totals.update(
            sequences=1,
            histories=history,
            days=days,
            cycles=len(lived.ticks),
            restarts=lived.steps.count("restart"),
            changes=len(lived.log.plan.predictions) + len(lived.log.plan.labels),
            panes=len(panes),
            frozen=sum(one.start < since for one in panes),
            settled=sum(
                one.settled_as_of is not None for one in lived.app.store.states.read_windows("late", 0)
            ),
            removed=lived.removed,
            moved=len(lived.moved),
            wrong=len(wrong),
        )
    return mix, words


def live(lived: Lived, rng: np.random.Generator, days: int, *, each_cycle: bool) -> list[str]:
    """Cycles until the last day, late by up to an hour, with restarts in between.

    Parameters
    ----------
    each_cycle
        labels are compared after each; what differs is returned.
    """
    words: list[str] = []
    as_of, pace = START, int(rng.choice([2, 8, 16, 24]))
    while as_of < START + days * DAY:
        as_of += int(rng.integers(1, 2 * pace)) * HOUR
        lived.cycle(as_of, behind=int(rng.choice([0, 0, 1, 10, 60])) * MINUTE)
        words += differing_labels(lived) if each_cycle else []
        if rng.random() < 0.2:
            lived.restart()
    return words


if __name__ == "__main__":
    sys.exit(main())
