"""Stores to look at, made once for all tests of pages; none of them changes what is kept."""

import pytest
from looked_at import bench_of_inputs, bench_of_pages, bench_of_tasks
from serving import Bench


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
