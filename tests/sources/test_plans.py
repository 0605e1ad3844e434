"""What a database's plan says of the rows that it reads."""

from typing import cast

import pytest

from monitor.sources.plans import Plan, believed_rows, reads_whole
from monitor.sources.statements import Session

MARIADB = [
    (1, "SIMPLE", "p", "range", "logged_at,id", "logged_at", "9", None, "250", "Using index condition"),
    (1, "SIMPLE", "l", "ref|filter", "id,reported_at", "id|reported_at", "9|9", "p.id", "40 (3%)", ""),
]
MYSQL = [
    (1, "SIMPLE", "p", None, "range", "logged_at,id", "logged_at", "9", None, 250, 100.0, "Using where"),
    (1, "SIMPLE", "l", None, "ref", "id", "id", "9", "log.p.id", 1, 33.3, None),
]


@pytest.mark.parametrize(("rows", "dialect"), [(MARIADB, "mysql"), (MARIADB, "mariadb"), (MYSQL, "mysql")])
def test_rows_are_found_also_where_a_filter_of_rowids_stands_beside_them(
    rows: list[tuple[object, ...]], dialect: str
) -> None:
    plan = Plan("SELECT", tuple(rows), dialect)

    assert believed_rows(cast("Session", None), plan) == 250
    assert not reads_whole(plan)


@pytest.mark.parametrize(("row", "at"), [(MARIADB[0], 3), (MYSQL[0], 4)])
@pytest.mark.parametrize("access", ["ALL", "index"])
def test_a_table_or_index_that_is_read_whole_is_told(row: tuple[object, ...], at: int, access: str) -> None:
    whole = (*row[:at], access, *row[at + 1 :])

    assert reads_whole(Plan("SELECT", (whole,), "mariadb"))


def test_a_table_without_rows_has_none() -> None:
    impossible = (1, "SIMPLE", None, None, None, None, None, None, None, "Impossible WHERE")

    assert believed_rows(cast("Session", None), Plan("SELECT", (impossible,), "mariadb")) == 0
