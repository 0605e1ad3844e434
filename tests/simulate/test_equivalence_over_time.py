"""Whatever happens to log and process, in the end all is as one count from scratch finds it: with ==.

Logs are simulated over virtual time, cycles are those of the application. Unfrozen panes of the horizon and
the measurements of the windows made of them are compared after a final audit. History (which windows settled,
what was kept) is compared with a replay over the same ticks where rows are only added.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lived import START, Lived, differing, differing_history, simulated
from mixes import MIXES, mixes

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.simulate import Mix

DAYS = 4
QUICK = settings(  # a sequence takes seconds: none is made smaller
    max_examples=3,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)
Steps = list[tuple[int, int, bool]]

steps = st.lists(
    st.tuples(st.sampled_from([1, 3, 9, 24, 30]), st.sampled_from([0, 2, 30]), st.booleans()),
    min_size=1,
    max_size=7,
)


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
    lived.audit()
    without = frozenset({"feature:temp"} if lived.log.plan.dropped else ())
    with lived.from_scratch(lived.as_of) as scratch:
        return differing(lived, scratch, without=without)


@QUICK
@given(mix=mixes(), seed=st.integers(0, 99), steps=steps)
def test_in_the_end_all_is_as_one_count_from_scratch_finds_it(mix: Mix, seed: int, steps: Steps) -> None:
    with simulated(mix, seed, DAYS) as lived:
        live(lived, steps)

        assert end(lived) == [], lived.steps


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


@pytest.mark.parametrize("name", ["delays", "times"])
def test_where_rows_are_only_added_the_history_is_that_of_a_replay(name: str) -> None:
    """With restarts, and panes of a hundred records, whose labels wait for more."""
    mix = MIXES[name]
    assert mix.append_only
    steps = [(hours, 30 * (at % 2), at % 3 == 1) for at, hours in enumerate([30, 1, 9, 24, 1, 24, 30])]
    with simulated(mix, 4, DAYS, horizon="4d", pane="12h") as lived:
        live(lived, steps)
        lived.advance(START + 30 * DAY)

        assert differing_history(lived) == []
        assert any(one.settled_as_of is not None for one in lived.app.store.windows("late", START))
