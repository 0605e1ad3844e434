"""`monitor run` that is killed leaves, in the end, what a process leaves that nobody disturbs."""

import random
from pathlib import Path

import pytest
from crashes import EVERY, Crashes, contents, differences, write_log

TICKS = 3


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Directory of a log, and the as of from which on ticks are missed."""
    directory = tmp_path_factory.mktemp("crashes")
    return directory, write_log(directory, TICKS)


@pytest.fixture(scope="module")
def whole(log: tuple[Path, int]) -> Crashes:
    """What nobody disturbs."""
    directory, first = log
    return Crashes(directory / "whole", f"sqlite:///{directory / 'whole.db'}", first)


@pytest.mark.parametrize(
    ("engine", "most"), [("sqlite", 2), pytest.param("postgresql", 1, marks=pytest.mark.postgres)]
)
def test_killed_daemons_leave_what_an_undisturbed_process_leaves(
    engine: str, most: int, log: tuple[Path, int], whole: Crashes, request: pytest.FixtureRequest
) -> None:
    directory, first = log
    file = f"sqlite:///{directory / 'killed.db'}"
    url = file if engine == "sqlite" else request.getfixturevalue("postgres_url")
    killed = Crashes(directory / engine, url, first)

    for _ in killed.disturbed(most, random.Random(7)):  # noqa: S311 -- moments, no secrets
        pass

    assert differences(whole.undisturbed(killed.as_of), contents(url)) == {}
    assert killed.kills >= most


def test_a_process_for_each_cycle_leaves_what_one_process_leaves(
    log: tuple[Path, int], whole: Crashes
) -> None:
    """Labels within the overlap, seen before a restart, are not taken for new ones after it."""
    directory, first = log
    expected = whole.undisturbed(first + TICKS * EVERY)
    many = Crashes(directory / "many", f"sqlite:///{directory / 'many.db'}", first)

    for tick in range(first, whole.as_of + 1, EVERY):
        assert many.bench.cycle(tick).error is None

    assert differences(expected, contents(many.store_url)) == {}
    assert expected["alerts"]
    assert expected["outbox"]
