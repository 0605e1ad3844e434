"""Plans of logs, and logs written by them."""

from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from mixes import MIXES, drawn
from simulation import Delay, Log, Mix, Plan, plan, truth
from simulation.changes import DELETE, INSERT, UPDATE

from monitor.core.clock import DAY, HOUR, from_iso

START = from_iso("2024-01-01")
SPAN = (START, START + 6 * DAY)
AFTER = START + 400 * DAY
CHECKED = "SELECT p.id, l.label FROM predictions p LEFT JOIN labels l ON l.id = p.id ORDER BY p.id"


def tables(planned: Plan) -> list[dict[str, list[object]]]:
    return [
        {"at": one.at.tolist(), **{name: column.tolist() for name, column in one.columns.items()}}
        for one in (planned.predictions, planned.labels)
    ]


@given(seed=st.integers(0, 1_000))
def test_a_seed_gives_one_plan_in_order_whose_rows_are_inserted_once_and_first(seed: int) -> None:
    mix = drawn(np.random.default_rng(seed), 6)

    planned, again = plan(mix, seed, SPAN), plan(mix, seed, SPAN)

    for one, other in zip(
        (planned.predictions, planned.labels), (again.predictions, again.labels), strict=True
    ):
        assert one.at.tolist() == other.at.tolist() == sorted(one.at.tolist())
        rows, first = np.unique(one.columns["row"], return_index=True)
        assert np.sum(one.action == INSERT) == len(rows)
        assert (one.action[first] == INSERT).all()


def test_a_fault_more_leaves_the_others_as_they_are() -> None:
    mix = MIXES["times"]

    plain, repeated = plan(mix, 1, SPAN), plan(replace(mix, repeats=0.5), 1, SPAN)

    assert tables(plain)[1] == tables(repeated)[1]
    known = np.isin(repeated.predictions.columns["row"], plain.predictions.columns["row"])
    assert repeated.predictions.take(known).at.tolist() == plain.predictions.at.tolist()
    assert 0.4 < np.mean(~known) / np.mean(known) < 0.6


def test_delays_have_their_median_and_spread_by_class() -> None:
    mix = Mix(per_day=20_000, positives=Delay(median=40 * HOUR, spread=0.3))
    planned = plan(mix, 3, SPAN)

    event = planned.predictions.columns["event_time"][np.argsort(planned.predictions.columns["id"])]
    labels = planned.labels.columns
    delay = np.log((labels["reported_at"] - event[labels["id"]]) / HOUR)
    for value, median, spread in ((0, 12.0, 0.6), (1, 40.0, 0.3)):
        mine = delay[labels["label"] == value]
        assert np.exp(np.median(mine)) == pytest.approx(median, rel=0.02)
        assert np.std(mine) == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize("name", sorted(MIXES))
def test_every_mix_has_the_changes_that_it_names(name: str) -> None:
    mix = MIXES[name]
    planned = plan(mix, 1, SPAN)

    actions = {*planned.predictions.action.tolist(), *planned.labels.action.tolist()}
    expected = {INSERT}
    expected |= {UPDATE} if mix.rewrites or mix.moves or mix.updates else set()
    expected |= {DELETE} if mix.deletions or mix.label_deletions or mix.keep or mix.refilled else set()
    assert actions == expected
    assert mix.faults != ()


def test_a_log_written_in_steps_holds_what_one_written_at_once_holds() -> None:
    planned = plan(MIXES["everything"], 5, SPAN)

    found = []
    for step in (7 * HOUR, 400 * DAY):
        log, engine = Log(planned), sa.create_engine("sqlite://")
        with engine.begin() as connection:
            log.create(connection)
            for until in range(START - 60 * DAY, START + 10 * DAY + step, step):
                log.advance(connection, min(until, START + 10 * DAY))
            found.append([tuple(row) for row in connection.execute(sa.text(CHECKED + ", p.row, l.row"))])
        engine.dispose()

    assert found[0] == found[1] != []


def test_the_truth_is_what_the_rows_say_in_the_end() -> None:
    """Without conflicts the label of the highest revision is the only one of its id."""
    planned = plan(Mix(per_day=300, updates=0.2, label_deletions=0.1, deletions=0.1, never=0.1), 6, SPAN)
    log, engine = Log(planned), sa.create_engine("sqlite://")

    with engine.begin() as connection:
        log.create(connection)
        log.advance(connection, AFTER)
        rows = connection.execute(sa.text(CHECKED)).all()
    engine.dispose()

    known = [-1.0 if label is None else float(label) for _, label in rows]
    assert np.nan_to_num(truth(planned, AFTER).label, nan=-1.0).tolist() == known
