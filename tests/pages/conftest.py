"""Stores to look at, made once for all tests of pages; none of them changes what is kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import servers
from looked_at import bench_of_inputs, bench_of_pages, bench_of_tasks
from serving import Bench

if TYPE_CHECKING:
    from playwright.sync_api import Browser

QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Forty days of a model with all, one without labels and reference, one that never ran."""
    return bench_of_pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Sixteen days of models of every task."""
    return bench_of_tasks(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Forty judged days of a model, of which a feature is missing on the last two."""
    return bench_of_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    program = servers.program("chromium", package="chromium")
    with sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu", *QUIET]
        )
        yield found
        found.close()
