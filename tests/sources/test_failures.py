"""What is told of a driver's error: names of columns, never values of rows."""

from dataclasses import dataclass

import psycopg.errors
import pytest
from sqlalchemy.exc import DataError

from monitor.core.clock import SECOND
from monitor.core.errors import DatabaseTrouble
from monitor.sources.driver_failures import refused_error, unavailable_error
from monitor.sources.source_opening import address_of

POSTGRES = address_of("postgresql://ann@db.example/log")
SQLITE = address_of("sqlite:///log.db")


@dataclass
class DriverError(Exception):
    """An error as ADBC raises it."""

    message: str
    sqlstate: str | None = None

    def __str__(self) -> str:
        return self.message


class MySQLDataError(psycopg.DataError):
    """An error of a value without an SQLSTATE."""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DriverError('ERROR: invalid input syntax: "Jane Doe"', "22P02"), "ERROR: invalid input syntax: ***"),
        (
            DriverError('[libpq] Fetch failed: invalid input: "Jane"'),
            "[libpq] Fetch failed: invalid input: ***",
        ),
        (DriverError('ERROR: column "scor" does not exist', "42703"), 'ERROR: column "scor" does not exist'),
        (
            DataError(None, None, psycopg.errors.DatetimeFieldOverflow('date out of range: "Jane"')),
            "(psycopg.errors.DatetimeFieldOverflow) date out of range: ***",
        ),
        (
            DataError(None, None, MySQLDataError("(1292, 'Incorrect DOUBLE value: Jane')")),
            "(test_failures.MySQLDataError) (1292, ***",
        ),
    ],
)
def test_a_message_that_may_quote_a_value_loses_its_quotation(error: Exception, told: str) -> None:
    assert str(refused_error(POSTGRES, error)) == f"{POSTGRES.shown} refuses a query: {told}"


def test_sqlite_quotes_no_values_and_is_heard_out() -> None:
    assert str(refused_error(SQLITE, DriverError('near "SELEC": syntax error'))).endswith(
        'near "SELEC": syntax error'
    )


def test_a_query_that_took_too_long_is_told_with_its_limit_and_what_to_do() -> None:
    error = DriverError("canceling statement due to statement timeout", "57014")

    told = str(unavailable_error(POSTGRES, error, DatabaseTrouble.TIMEOUT, limit=30 * SECOND))

    assert told.startswith(f"{POSTGRES.shown} ended a query: canceling statement due to statement timeout;")
    assert "statement_timeout is 30s" in told
    assert "monitor check --explain" in told


def test_a_query_that_is_ended_for_others_is_no_silence() -> None:
    error = DriverError("canceling statement due to conflict with recovery", "40001")

    assert "does not answer" not in str(unavailable_error(POSTGRES, error, DatabaseTrouble.CONFLICT))
