"""A daemon that is killed leaves, in the end, what one leaves that nobody disturbs."""

import random
from pathlib import Path

import pytest
from crashes import EVERY, FIRST, Crashes, contents, differences, write_log

TICKS, MOST = 8, 8


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_killed_daemons_leave_what_an_undisturbed_one_leaves(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rng = random.Random(7)  # noqa: S311 -- moments, no secrets
    write_log(tmp_path, TICKS)
    whole = Crashes(tmp_path / "whole", f"sqlite:///{tmp_path / 'whole.db'}", TICKS, rng)
    expected = whole.undisturbed()
    url = (
        f"sqlite:///{tmp_path / 'killed.db'}"
        if engine == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    killed = Crashes(tmp_path / "killed", url, TICKS, rng, longest=2.0)

    for _ in killed.disturbed(MOST):
        pass

    assert differences(expected, contents(killed.store_url)) == {}
    assert killed.kills >= 3


def test_a_process_for_each_cycle_leaves_what_one_process_leaves(tmp_path: Path) -> None:
    """Labels within the overlap, seen before a restart, are not taken for new ones after it."""
    rng = random.Random(7)  # noqa: S311 -- moments, no secrets
    write_log(tmp_path, TICKS)
    one = Crashes(tmp_path / "one", f"sqlite:///{tmp_path / 'one.db'}", TICKS, rng)
    many = Crashes(tmp_path / "many", f"sqlite:///{tmp_path / 'many.db'}", TICKS, rng)
    expected = one.undisturbed()

    for tick in range(FIRST, many.last + 1, EVERY):
        assert many.bench.cycle(tick).error is None

    assert differences(expected, contents(many.store_url)) == {}
