"""Advice is the same by each reader, which the tests of sources hold: here each engine is read by one."""

from collections.abc import Callable

import pytest
from source_databases import Database

POSTGRES = pytest.mark.postgres


@pytest.fixture(
    params=[
        "sqlite-adbc",
        pytest.param("postgres-fetchmany", marks=POSTGRES),
        pytest.param("sqlite-fetchmany", marks=pytest.mark.slow),
        pytest.param("postgres-adbc", marks=[POSTGRES, pytest.mark.slow]),
        pytest.param("mariadb-fetchmany", marks=pytest.mark.mariadb),
    ]
)
def database(request: pytest.FixtureRequest, make_database: Callable[[str], Database]) -> Database:
    """Each engine."""
    return make_database(request.param)
