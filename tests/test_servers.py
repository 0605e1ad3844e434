import psycopg
import pytest
import servers
import sqlalchemy as sa
from sqlalchemy import make_url


@pytest.mark.mariadb
def test_a_fresh_mariadb_database_is_empty(mariadb_url: str) -> None:
    with sa.create_engine(mariadb_url, poolclass=sa.NullPool).connect() as connection:
        assert sa.inspect(connection).get_table_names() == []


@pytest.mark.postgres
def test_a_fresh_postgresql_database_is_empty(postgres_url: str) -> None:
    plain = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)

    with psycopg.connect(plain) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()

    assert found == (0,)


def test_a_missing_program_skips_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="needs nosuch: apt-get install nosuch-package"):
        servers.program("nosuch", package="nosuch-package")


def test_a_missing_program_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="needs nosuch"):
        servers.program("nosuch", package="nosuch-package")


def test_only_skips_for_programs_are_counted() -> None:
    reasons = ["Skipped: needs a: install a", "Skipped: slow", "Skipped: needs a: install a"]

    assert servers.skipped_for_programs(reasons) == {"needs a: install a": 2}
