"""A password of PostgreSQL that changes under the real daemon: it goes on with the one that its file has."""

import time
from pathlib import Path

import process
import psycopg
import pytest
import servers
from click.testing import CliRunner
from serving import Bench, Database, create_tables, model, predictions
from sqlalchemy import make_url

from monitor.cli import main
from monitor.core.clock import DAY, MINUTE, floor_to

pytestmark = [pytest.mark.postgres, pytest.mark.long]
OPTIONS = 'every = "1s"\nwindows = ["1d"]\nresamples = 20\nreading = { ready_after = "0s" }'
ROLE = "rotating"


def test_a_password_is_changed_under_the_running_daemon(postgres_url: str, tmp_path: Path) -> None:
    database, now = Database(postgres_url), floor_to(time.time_ns() // 1_000, MINUTE)
    create_tables(database)
    database.insert("predictions", predictions(200, now - 2 * DAY, now - MINUTE))
    admin, file, port = postgres_url.replace("+psycopg", ""), tmp_path / "password", servers.free_port()
    at = make_url(postgres_url)
    url = f"postgresql://{ROLE}:${{file:{file}}}@{at.host}:{at.port}/{at.database}"

    def rotate(password: str) -> None:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {ROLE} PASSWORD '{password}'".encode())
            connection.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'".encode()
            )

    try:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {servers.ASKED_ROLE}".encode())
            connection.execute(f"CREATE ROLE {ROLE} LOGIN IN ROLE {servers.ASKED_ROLE}".encode())
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE}".encode())
            connection.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {ROLE}".encode())
        rotate("the-first-one")
        file.write_text("the-first-one\n", encoding="utf-8")
        bench = Bench(tmp_path, Database(url), url)
        bench.configure(f'[http]\nport = {port}\n[log]\nformat = "json"\n', model(options=OPTIONS))
        config = tmp_path / "config.toml"
        assert CliRunner().invoke(main, ["migrate", "--config", str(config)]).exit_code == 0

        with process.daemon(config, port) as running:
            running.started()
            running.wait_cycle("late")
            rotate("the-second-one")
            running.wait_cycle("late", "cycle failed")
            refused = running.logged("cycle failed", model="late")[-1]
            file.write_text("the-second-one\n", encoding="utf-8")
            running.wait_cycle("late")

            assert "password authentication failed" in str(refused)
            assert running.status("/readyz") == 200
            told = running.log_file.read_text(encoding="utf-8")
            assert "the-first-one" not in told
            assert "the-second-one" not in told
            assert running.stop()[0] == 0
    finally:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {ROLE}".encode())
            connection.execute(f"DROP ROLE {ROLE}, {servers.ASKED_ROLE}".encode())
