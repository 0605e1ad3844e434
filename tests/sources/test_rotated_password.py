"""A password of MariaDB that is changed under an open source; PostgreSQL: app/test_least_privilege.py."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

from monitor.core.errors import SourceUnavailable
from monitor.sources import open_source
from monitor.specs.model_spec import SourceSpec

ONE = "SELECT 1 AS one"


@pytest.mark.mariadb
def test_the_next_connection_has_the_password_that_the_file_holds_then(
    mariadb_url: str, tmp_path: Path
) -> None:
    admin, file = sa.create_engine(mariadb_url, poolclass=sa.NullPool), tmp_path / "password"
    at = make_url(mariadb_url)
    url = f"mariadb://rotated:${{file:{file}}}@{at.host}:{at.port}/{at.database}"

    def change(password: str) -> None:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE OR REPLACE USER rotated@'%%' IDENTIFIED BY '{password}'")
            connection.exec_driver_sql(f"GRANT SELECT ON {at.database}.* TO rotated@'%%'")
            connection.exec_driver_sql("KILL USER rotated")

    change("first@1")
    file.write_text("first@1\n", encoding="utf-8")
    source = open_source(SourceSpec(name="log", url=url))
    try:
        with source.open_session() as session:
            assert session.read_rows(ONE) == [(1,)]
        change("second")
        with pytest.raises(SourceUnavailable, match="Access denied") as caught, source.open_session():
            """Not reached."""
        file.write_text("second\n", encoding="utf-8")
        with source.open_session() as session:
            assert session.read_rows(ONE) == [(1,)]
    finally:
        source.close()
        with admin.connect() as connection:
            connection.exec_driver_sql("DROP USER rotated@'%%'")

    assert "first" not in str(caught.value)
