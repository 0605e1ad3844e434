"""Fifty odd passwords on real servers, right and wrong: all connect, and nothing says one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import process
import psycopg
import pytest
import servers
import sqlalchemy as sa
from click.testing import CliRunner, Result
from odd_passwords import WORDS, odd_passwords, traces
from psycopg import sql
from serving import Database, fill_tables, model, predictions
from sqlalchemy import make_url

from monitor.cli import main
from monitor.core.clock import DAY, MINUTE, floor_to
from monitor.store.store_database import migrate_store

OPTIONS = 'every = "1s"\nwindows = ["1d"]\nresamples = 20\nreading = { ready_after = "0s" }'
PASSWORDS = odd_passwords()
PLACES = ["environment", "file", "url in the environment", "url in a file"]


@dataclass(slots=True)
class Odd:
    """A database with a log and a store, roles whose passwords are asked for, and a configuration."""

    directory: Path
    admin: str
    environ: dict[str, str]

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.directory / "config.toml"

    def role(self, name: str, password: str) -> None:
        """Make a role, or give it another password."""
        role, given = sql.Identifier(name), sql.Literal(password)
        with psycopg.connect(self.admin, autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
            if known is None:
                connection.execute(
                    sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(
                        role, sql.Identifier(servers.ASKED_ROLE)
                    )
                )
                connection.execute(sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA public TO {}").format(role))
            connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, given))

    def url(self, name: str, password: str, place: str, scheme: str = "postgresql") -> str:
        """URL of a role whose password stands in a place."""
        at = make_url(self.admin)
        rest = f"@{at.host}:{at.port}/{at.database}"
        if place.startswith("url"):
            held = sa.URL.create("x", "x", password).render_as_string(hide_password=False)
            encoded = held.removeprefix("x://x:").removesuffix("@")
            text, where = f"{scheme}://{name}:{encoded}{rest}", f"{name}-url"
            return self.held(where, text, place)
        return f"{scheme}://{name}:{self.held(name, password, place)}{rest}"

    def held(self, name: str, value: str, place: str) -> str:
        """Place that is filled with a value."""
        if place.endswith("environment"):
            variable = name.upper().replace("-", "_")
            self.environ[variable] = value
            return f"${{{variable}}}"
        (self.directory / name).write_text(f"{value}\n", encoding="utf-8")
        return f"${{file:{self.directory / name}}}"

    def configure(self, store: str, **sources: str) -> None:
        """Write the configuration: a model for each source, of its name."""
        tables = "".join(f'[sources.{name}]\nurl = "{url}"\n' for name, url in sources.items())
        models = "".join(
            model(name, options=OPTIONS).replace('source = "log"', f'source = "{name}"') for name in sources
        )
        text = f'[store]\nurl = "{store}"\n[log]\nformat = "json"\nlevel = "debug"\n{tables}{models}'
        self.config.write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> Result:
        """Run a command."""
        return CliRunner().invoke(main, [*arguments, "--config", str(self.config)], env=self.environ)


@pytest.fixture
def odd(postgres_url: str, tmp_path: Path) -> Iterator[Odd]:
    """Tables with rows of the last two days, a store that is migrated."""
    database, now = Database(postgres_url), floor_to(time.time_ns() // 1_000, MINUTE)
    rows = predictions(200, now - 2 * DAY, now - MINUTE)
    fill_tables(database, rows, labelled=now)
    migrate_store(postgres_url)
    made = Odd(tmp_path, postgres_url.replace("+psycopg", ""), {})
    try:
        with psycopg.connect(made.admin, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {servers.ASKED_ROLE}".encode())
        yield made
    finally:
        with psycopg.connect(made.admin, autocommit=True) as connection:
            roles = connection.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'odd%'").fetchall()
            for (role,) in roles:
                connection.execute(f"DROP OWNED BY {role}".encode())
                connection.execute(f"DROP ROLE {role}".encode())
            connection.execute(f"DROP ROLE {servers.ASKED_ROLE}".encode())


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("reader", "passwords"),
    [
        ("", PASSWORDS[::7]),
        pytest.param("?reader=fetchmany", PASSWORDS[len(WORDS) :: 9], marks=pytest.mark.slow),
        pytest.param("", PASSWORDS, marks=pytest.mark.long),
    ],
)
def test_odd_passwords_open_source_and_store_on_postgresql_and_check_says_none(
    odd: Odd, reader: str, passwords: list[str]
) -> None:
    for at, password in enumerate(passwords):
        place = PLACES[at % len(PLACES)]
        url = odd.url("odd", password, place)
        odd.configure(url, log=url + reader)

        odd.role("odd", password)
        right = odd.run("check")
        odd.role("odd", f"another{at}")
        wrong = odd.run("check")

        assert (place, password, right.exit_code, right.output) == (place, password, 0, right.output)
        assert (password, wrong.exit_code) == (password, 2)
        assert "authentication" in wrong.stderr, password
        assert traces(password, right.output + wrong.output) == []


@pytest.mark.mariadb
@pytest.mark.parametrize("passwords", [PASSWORDS[::7], pytest.param(PASSWORDS, marks=pytest.mark.long)])
def test_odd_passwords_open_a_source_on_mariadb_and_check_says_none(
    mariadb_url: str, tmp_path: Path, passwords: list[str]
) -> None:
    admin, at = sa.create_engine(mariadb_url, poolclass=sa.NullPool), make_url(mariadb_url)
    odd = Odd(tmp_path, mariadb_url, {})

    def give(password: str) -> None:
        with admin.connect() as connection:
            literal = password.replace("\\", "\\\\").replace("'", "\\'").replace("%", "%%")
            connection.exec_driver_sql(f"CREATE OR REPLACE USER odd@'%%' IDENTIFIED BY '{literal}'")
            connection.exec_driver_sql(f"GRANT SELECT ON {at.database}.* TO odd@'%%'")

    try:
        for number, password in enumerate(passwords):
            odd.configure(
                f"sqlite:///{tmp_path}/monitor.db",
                log=odd.url("odd", password, PLACES[number % len(PLACES)], "mariadb"),
            )
            give(password)
            right = odd.run("check")
            give(f"another{number}")
            wrong = odd.run("check")

            assert "predictions" in right.stderr, password  # it is not there: so the server was asked
            assert "(1045, " not in right.stderr, password  # access denied
            assert "(1045, " in wrong.stderr, password
            assert traces(password, right.output + wrong.output) == []
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql("DROP USER odd@'%%'")


@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("source", "postgresql://odd:{}@127.0.0.1:1/app"),
        pytest.param(
            "source", "postgresql://odd:{}@no.such.invalid/app?reader=fetchmany", marks=pytest.mark.slow
        ),
        ("source", "postgresql://[::1]:1/app?user=odd&password={}"),
        ("source", "postgresql://127.0.0.1/app?sslmode=verify-full&sslkey=none&sslpassword={}"),
        ("source", "mariadb://odd:{}@127.0.0.1:1/app"),
        ("source", "nosuch://odd:{}@127.0.0.1/app"),
        ("store", "postgres://odd:{}@127.0.0.1:1/app"),
        ("store", "postgresql://127.0.0.1:1/app?user=odd&password={}"),
    ],
)
def test_where_nobody_answers_no_message_says_a_password(tmp_path: Path, key: str, url: str) -> None:
    odd = Odd(tmp_path, "", {})
    for at, password in enumerate(PASSWORDS):
        used = url.format(odd.held("odd", password, PLACES[at % 2]))
        other = f"sqlite:///{tmp_path}/none.db"
        odd.configure(used if key == "store" else other, log=used if key == "source" else other)

        told = odd.run("check")

        assert told.exit_code == 2
        assert traces(password, told.output) == []


@pytest.mark.postgres
def test_odd_passwords_are_in_no_output_of_the_daemon_and_of_a_cycle(odd: Odd) -> None:
    chosen, port = [one for one in PASSWORDS if len(one) > 3][3::15], servers.free_port()
    store, *others = chosen
    odd.role("odd_store", store)
    urls = {}
    for at, password in enumerate(others):
        odd.role(f"odd{at}", password if at % 2 else f"another{at}")
        urls[f"log{at}"] = odd.url(f"odd{at}", password, PLACES[at % len(PLACES)])
    odd.configure(odd.url("odd_store", store, "file"), **urls)
    text = odd.config.read_text(encoding="utf-8")
    odd.config.write_text(f"[http]\nport = {port}\n{text}", encoding="utf-8")

    cycled = odd.run("cycle")
    with process.daemon(odd.config, port, environ=odd.environ) as running:
        running.started()
        for at in range(len(others)):
            running.wait_cycle(f"log{at}", "cycle" if at % 2 else "cycle failed")
        health = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30).text
        page = running.page()
        assert running.stop()[0] == 0
    odd.role("odd_store", "another")
    without_store = odd.run("cycle")
    said = cycled.output + without_store.output + running.log_file.read_text(encoding="utf-8") + health + page

    assert (cycled.exit_code, without_store.exit_code) == (1, 1)
    assert "authentication failed" in without_store.stderr
    assert {password: traces(password, said) for password in chosen} == {key: [] for key in chosen}
