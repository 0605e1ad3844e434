"""Whatever happens to log and process, in the end all is as one count from scratch finds it: with ==.

Logs are simulated over virtual time, cycles are those of the application. Unfrozen panes of the horizon and
the measurements of the windows made of them are compared after a final audit. History (which windows settled,
what was kept) is compared with a replay over the same ticks where rows are only added.
"""

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from lived import START, Lived, differing, differing_history, differing_labels, simulated
from mixes import MIXES, seen_in_time, shares
from simulation import ClockStep, Mix, plan
from simulation.changes import INSERT, Changes, joined
from simulation.faults import Draft, Fault, changes_in_place, repeats, revisions

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.measures.measurement_row import StoredMeasurement

DAYS = 4
OWN = 2**46  # keys of the rows that a step adds lie apart
WRONG = (0, -5 * HOUR, -10 * MINUTE, 20 * MINUTE, 3 * HOUR)
ODD = ("late", "stale", "future", "early", "stale_labels", "orphans", "never", "hidden")
LATER: dict[str, Fault] = {
    **dict.fromkeys(("corrections", "retractions"), revisions),
    **dict.fromkeys(("repeats", "conflicts", "label_repeats", "label_conflicts"), repeats),
    **dict.fromkeys(("updates", "label_deletions", "rewrites", "moves", "deletions"), changes_in_place),
}
Steps = list[tuple[int, int, bool]]


class Life(RuleBasedStateMachine):
    """A log that goes on and changes, and a monitor beside it."""

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self.rng = np.random.default_rng(0)
        self.added = 0
        self.since: set[str] = set()  # the last audit
        self.known: dict[int, list[StoredMeasurement]] = {}

    @initialize(odd=st.sampled_from(ODD))
    def begin(self, odd: str) -> None:
        """Two days of a log that nobody has looked at."""
        self.lived = self._stack.enter_context(simulated(Mix(), 0, 0))
        self.lived.advance(START)
        self.rows_come(48, odd, 0)

    @rule(hours=st.sampled_from([9, 30]), odd=st.sampled_from(ODD), by=st.sampled_from(WRONG))
    def rows_come(self, hours: int, odd: str, by: int) -> None:
        """Predictions of the next hours, stamped by a clock that may be wrong; labels when they come."""
        now = self.lived.log.now
        steps = (ClockStep(start=0, end=hours * HOUR, by=by),) if by else ()
        mix = Mix(per_day=200, clock_steps=steps, stale_after=5 * DAY, **shares([odd], 0.1))
        planned = plan(mix, self.added, (now, now + hours * HOUR))
        ids = self.added * OWN
        both = planned.predictions, planned.labels
        self._add(*(rows.having(id=rows.columns["id"] + ids) for rows in both))

    @rule(kind=st.sampled_from(sorted(LATER)))
    def rows_change(self, kind: str) -> None:
        """Some of all rows are corrected, repeated, changed or deleted, hours to days after they came."""
        known = self.lived.log.plan
        rows, labels = (one.take(one.inserts) for one in (known.predictions, known.labels))
        changed = LATER[kind](Draft(START, rows, labels), Mix(**shares([kind], 0.1)), self.rng)
        new = changed.predictions.take(slice(len(rows), None)), changed.labels.take(slice(len(labels), None))
        self._add(*new)

    @rule(hours=st.sampled_from([3, 9, 24, 30]), behind=st.sampled_from([0, 2, 30]))
    def cycle(self, hours: int, behind: int) -> None:
        """A cycle some hours later, some minutes behind its tick."""
        self.lived.cycle(self.lived.as_of + hours * HOUR, behind=behind * MINUTE)
        self.since.add("cycle")
        self.known[self.lived.as_of] = self.lived.app.store.snapshots.read_snapshot_rows(
            as_of=self.lived.as_of
        )

    @precondition(lambda self: self.since >= {"cycle"})
    @rule()
    def restart(self) -> None:
        """Go on in a new process."""
        self.lived.restart()

    @precondition(lambda self: self.since >= {"cycle", "rows"})
    @rule()
    def audit(self) -> None:
        """Two days later all is as one count finds it, and what was known then is still told."""
        self.lived.advance(max(self.lived.log.now, self.lived.as_of) + 2 * DAY)
        assert after_audit(self.lived) == [], self.lived.steps
        for as_of, rows in self.known.items():
            assert self.lived.app.store.snapshots.read_snapshot_rows(as_of=as_of) == rows
        self.lived.advance(self.lived.as_of)
        self.since.clear()

    def teardown(self) -> None:
        """Whatever happened."""
        with self._stack:
            self.audit()

    def _add(self, predictions: Changes, labels: Changes) -> None:
        """Have changes happen, from now on; new rows under keys of their own."""
        log, self.added = self.lived.log, self.added + 1
        self.since.add("rows")
        added = []
        for known, new in ((log.plan.predictions, predictions), (log.plan.labels, labels)):
            own = self.added * OWN + np.arange(len(new))
            row = np.where(new.action == INSERT, own, new.columns["row"])
            added.append(joined([known, new.having(row=row).seen(np.maximum(new.at, log.now + 1))]).ordered())
        log.plan = replace(log.plan, predictions=added[0], labels=added[1])


Life.TestCase.settings = settings(  # a sequence takes seconds: none is made smaller
    max_examples=4,
    stateful_step_count=12,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)
test_in_the_end_all_is_as_one_count_from_scratch_finds_it = Life.TestCase


def live(lived: Lived, steps: Steps) -> None:
    """Cycles some hours apart, each some minutes behind its tick; some in a new process."""
    as_of = START
    for hours, behind, restarts in steps:
        if restarts:
            lived.restart()
        as_of += hours * HOUR
        lived.cycle(as_of, behind=behind * MINUTE)


def end(lived: Lived) -> list[str]:
    """What differs when all that is planned for the days has happened, and after a final audit."""
    lived.advance(START + (DAYS + 1) * DAY)
    return after_audit(lived)


def after_audit(lived: Lived) -> list[str]:
    """What differs from one count from scratch."""
    lived.audit()
    without = frozenset({"feature:temp"} if lived.log.plan.dropped else ())
    with lived.from_scratch(lived.as_of) as scratch:
        return differing(lived, scratch, without=without)


TWO_DAYS: Steps = [(9, 30, False), (3, 0, True), (48, 2, False)]


@pytest.mark.parametrize("name", sorted(MIXES.keys() - {"everything"}))
def test_every_kind_of_fault_ends_so(name: str) -> None:
    with simulated(MIXES[name], 1, DAYS) as lived:
        live(lived, TWO_DAYS)

        assert end(lived) == []


@pytest.mark.postgres
def test_so_it_is_on_postgresql(postgres_url: str) -> None:
    with simulated(MIXES["everything"], 2, DAYS, source=postgres_url) as lived:
        live(lived, TWO_DAYS)

        assert end(lived) == []


@pytest.mark.mariadb
def test_so_it_is_on_mariadb(mariadb_url: str) -> None:
    with simulated(MIXES["everything"], 3, DAYS, source=mariadb_url) as lived:
        live(lived, TWO_DAYS)

        assert end(lived) == []


def labels_after_each_cycle(seed: int, source: str | None = None) -> list[str]:
    """What differs from whole counts, of labels that come by difference and rows seen within the overlap."""
    words: list[str] = []
    with simulated(seen_in_time(MIXES["everything"]), seed, DAYS, source=source) as lived:
        for at, hours in enumerate([20, 1, 1, 5, 1, 24, 1, 1, 9, 1, 30, 1, 1]):
            lived.cycle(lived.as_of + hours * HOUR, behind=at % 3 * 10 * MINUTE)
            words += differing_labels(lived)
            if at % 4 == 3:
                lived.restart()
        assert len(lived.moved) > 20
    return words


def test_after_each_cycle_labels_are_as_a_whole_count_finds_them() -> None:
    assert labels_after_each_cycle(5) == []


@pytest.mark.postgres
def test_so_they_are_on_postgresql(postgres_url: str) -> None:
    assert labels_after_each_cycle(6, postgres_url) == []


@pytest.mark.mariadb
def test_so_they_are_on_mariadb(mariadb_url: str) -> None:
    assert labels_after_each_cycle(7, mariadb_url) == []


@pytest.mark.parametrize("name", ["delays", "times"])
def test_where_rows_are_only_added_the_history_is_that_of_a_replay(name: str) -> None:
    """With restarts, and panes of a hundred records."""
    mix = MIXES[name]
    assert mix.append_only
    steps = [(hours, 30 * (at % 2), at % 3 == 1) for at, hours in enumerate([30, 1, 9, 24, 1, 24, 30])]
    with simulated(mix, 4, DAYS, horizon="4d", pane="12h") as lived:
        live(lived, steps)
        lived.advance(START + 30 * DAY)

        assert differing_history(lived) == []
        assert any(
            one.settled_as_of is not None for one in lived.app.store.states.read_windows("late", START)
        )
