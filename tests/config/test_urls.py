from pathlib import Path

import pytest

from monitor.specs.urls import resolve_url, shown_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///monitor.db", "sqlite:///monitor.db"),
        ("sqlite:////var/a@b:c.db", "sqlite:////var/a@b:c.db"),
        ("postgresql://db.example/app", "postgresql://db.example/app"),
        ("postgresql://ann@db.example:5432/app", "postgresql://ann@db.example:5432/app"),
        ("postgresql+psycopg://ann:s3cret@db:5432/app", "postgresql+psycopg://ann:***@db:5432/app"),
        ("postgresql://:s3cret@db/app", "postgresql://:***@db/app"),
        ("postgresql://ann:@db/app", "postgresql://ann:***@db/app"),
        (
            "sc://spark.example:15002/;use_ssl=true;token=s3cret",
            "sc://spark.example:15002/;use_ssl=true;token=***",
        ),
        ("postgresql://ann:s3%40cret@db/app", "postgresql://ann:***@db/app"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, expected: str) -> None:
    assert shown_url(url) == expected


@pytest.mark.parametrize("password", ["a@b", "a/b", "a:b", "a?b@c/d", "@", "a#b", "://", "a\nb"])
def test_no_part_of_a_password_is_shown_that_was_not_encoded(password: str) -> None:
    assert shown_url(f"postgresql://ann:{password}@db/app") == "postgresql://ann:***@db/app"


def test_secrets_of_the_query_string_are_hidden() -> None:
    url = "postgresql://db/app?user=ann&password=s3cret&sslmode=require&sslkey=/k&Token=t&flag&x="

    assert (
        shown_url(url)
        == "postgresql://db/app?user=ann&password=***&sslmode=require&sslkey=***&Token=***&flag&x="
    )


def test_an_odbc_string_in_the_query_is_hidden() -> None:
    assert (
        shown_url("mssql+pyodbc:///?odbc_connect=DRIVER%3DX%3BPWD%3Ds3cret")
        == "mssql+pyodbc:///?odbc_connect=***"
    )


@pytest.mark.parametrize("text", ["", "s3cret", "ann:s3cret@db/app"])
def test_a_text_that_is_no_url_is_hidden_whole(text: str) -> None:
    assert shown_url(text) == "***"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///log.db", "sqlite:////conf/log.db"),
        ("sqlite+pysqlite:///../log.db?timeout=3", "sqlite+pysqlite:////conf/../log.db?timeout=3"),
        ("duckdb:///log.duckdb", "duckdb:////conf/log.duckdb"),
        ("chdb:///data/log", "chdb:////conf/data/log"),
        *(
            (kept, kept)
            for kept in (
                "sqlite:////srv/log.db",
                "sqlite://",
                "sqlite:///:memory:",
                "sqlite:///file:log.db?uri=true",
                "duckdb:///md:log",
                "postgresql:///log",
            )
        ),
    ],
)
def test_a_relative_path_of_a_file_starts_at_a_directory(url: str, expected: str) -> None:
    assert resolve_url(url, Path("/conf")) == expected
