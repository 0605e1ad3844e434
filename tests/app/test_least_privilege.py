"""The roles of docs/security.md on a real PostgreSQL: they suffice, may do no more, get new passwords."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
import servers
from click.testing import CliRunner, Result
from psycopg import errors, sql
from serving import Bench, Database, fill_tables, model, predictions
from sqlalchemy import make_url

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.cli import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.core.errors import StoreError

pytestmark = pytest.mark.postgres

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
OPTIONS = 'windows = ["1d"]'
START = from_iso("2024-03-01")
READER, STORE = "monitor_reader", "monitor_store"
READ_ONLY = errors.ReadOnlySqlTransaction
FORBIDDEN = errors.InsufficientPrivilege


@dataclass(frozen=True, slots=True)
class Roles:
    """A database with both roles, the files of their passwords, and a configuration that uses them."""

    bench: Bench
    admin: str

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.bench.config

    def run(self, *statements: str) -> None:
        """Run statements as the owner of it all."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def file(self, role: str) -> Path:
        """File of a role's password."""
        return self.bench.directory / role

    def connect(self, role: str) -> psycopg.Connection[tuple[object, ...]]:
        """Connect as a role."""
        return psycopg.connect(
            self.admin, user=role, password=self.file(role).read_text().strip(), autocommit=True
        )

    def rotate(self, role: str, password: str) -> None:
        """Give a role another password and end its connections; its file is not written."""
        self.run(
            f"ALTER ROLE {role} PASSWORD '{password}'",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'",
        )

    def configure(self, reader: str = "") -> None:
        """Write the configuration."""
        at = make_url(self.admin)
        url = (
            f"postgresql://{{0}}:${{{{file:{self.bench.directory}/{{0}}}}}}@127.0.0.1:{at.port}/{at.database}"
        )
        text = (
            f'[store]\nurl = "{url.format(STORE)}"\n[sources.log]\nurl = "{url.format(READER)}{reader}"\n'
            f"{model(options=OPTIONS)}"
        )
        self.config.write_text(text, encoding="utf-8")


def statements(of: str) -> str:
    """SQL of the page."""
    found = re.search(
        rf"<!-- sql of the {of} -->\n```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def roles(
    postgres_server: servers.PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Roles]:
    """Tables of a log, another table, and the roles as the page makes them."""
    directory = tmp_path_factory.mktemp("roles")
    with postgres_server.database() as url:
        database = Database(url)
        rows = predictions(96, START, START + 2 * DAY)
        fill_tables(database, rows, labelled=START + 3 * DAY)
        database.run("CREATE TABLE salaries (amount integer)")
        made = Roles(Bench(directory, database, url), url.replace("+psycopg", ""))
        name = str(make_url(url).database)
        made.run(statements("source").replace("serving", name), statements("store"))
        made.run(f"CREATE ROLE {servers.ASKED_ROLE}", f"GRANT {servers.ASKED_ROLE} TO {READER}, {STORE}")
        made.file(READER).write_text("change-me\n", encoding="utf-8")
        made.file(STORE).write_text("change-me-too\n", encoding="utf-8")
        made.configure()
        migrated = command(made, "migrate")
        assert migrated.exit_code == 0, migrated.output
        yield made
    with psycopg.connect(
        make_url(url).set(drivername="postgresql", database="postgres").render_as_string(hide_password=False),
        autocommit=True,
    ) as connection:
        for role in (READER, STORE, servers.ASKED_ROLE):
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def command(roles: Roles, *arguments: str) -> Result:
    return CliRunner().invoke(main, [arguments[0], "--config", str(roles.config), *arguments[1:]])


def test_both_roles_suffice_for_a_check_and_a_cycle(roles: Roles) -> None:
    checked = command(roles, "check", "--explain")
    cycled = command(roles, "cycle", "--as-of", "2024-03-03")
    shown = command(roles, "show", "--format", "csv")

    assert (checked.exit_code, cycled.exit_code, shown.exit_code) == (0, 0, 0), (
        checked.output,
        cycled.output,
    )
    assert "roc_auc" in shown.stdout
    assert "change-me" not in checked.output + cycled.output


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("INSERT INTO predictions (id) VALUES ('x')", FORBIDDEN),
        ("UPDATE labels SET late = 0", FORBIDDEN),
        ("DELETE FROM predictions", FORBIDDEN),
        ("TRUNCATE predictions", FORBIDDEN),
        ("DROP TABLE labels", FORBIDDEN),
        ("CREATE TABLE mine (a integer)", FORBIDDEN),
        ("CREATE TEMPORARY TABLE mine (a integer)", FORBIDDEN),
        ("SELECT * FROM salaries", FORBIDDEN),
        ("SELECT * FROM monitor.snapshots", FORBIDDEN),
        ("SELECT * FROM pg_authid", FORBIDDEN),
        ("COPY predictions TO '/tmp/stolen'", FORBIDDEN),
        ("COPY predictions TO PROGRAM 'cat'", FORBIDDEN),
    ],
)
def test_the_role_of_a_source_cannot_write_nor_read_anything_else(
    roles: Roles, statement: str, refused: type[errors.Error]
) -> None:
    with roles.connect(READER) as connection:
        with pytest.raises((refused, READ_ONLY)):
            connection.execute(statement.encode())
        connection.execute("SET default_transaction_read_only = off")
        with pytest.raises(refused):
            connection.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM predictions",
        "CREATE TABLE public.mine (a integer)",
        "CREATE SCHEMA mine",
        "CREATE ROLE mine",
    ],
)
def test_the_role_of_the_store_owns_its_schema_and_nothing_else(roles: Roles, statement: str) -> None:
    with roles.connect(STORE) as connection, pytest.raises((FORBIDDEN, errors.UndefinedTable)):
        connection.execute(statement.replace("FROM p", "FROM public.p").encode())


@pytest.fixture(params=["", pytest.param("?reader=fetchmany", marks=pytest.mark.slow)])
def app(request: pytest.FixtureRequest, roles: Roles) -> Iterator[App]:
    """A daemon's application that has connections open, by each reader of PostgreSQL."""
    roles.configure(request.param)
    settings = settings_of(roles.config, {})
    with open_application(settings, roles.bench.directory, run=uuid4().hex) as one:
        assert run_single_cycle(one, "late", START + 2 * DAY).error is None
        yield one


def test_passwords_are_changed_under_the_running_application(roles: Roles, app: App) -> None:
    settings = app.settings
    for at, password in enumerate(("s/cret@1%", "another:one"), start=1):
        with app.open_source_once("log").open_session(), app.open_source_once("log").open_session():
            pass  # as many connections as there may be are open from here on
        for role in (READER, STORE):
            roles.rotate(role, password)
            roles.file(role).write_text(password, encoding="utf-8")

        assert run_single_cycle(app, "late", START + 2 * DAY + at * HOUR).error is None

    assert settings_of(roles.config, {}) == settings  # a reload finds the same store and source


def test_a_password_that_is_not_in_its_file_yet_fails_cycles_until_it_is(roles: Roles, app: App) -> None:
    def waits_for(role: str, fails: Callable[[], str]) -> None:
        password = uuid4().hex
        roles.rotate(role, password)
        told = fails()
        assert "password authentication failed" in told
        assert roles.file(role).read_text(encoding="utf-8").strip() not in told
        roles.file(role).unlink()
        assert f"the file {roles.file(role)} cannot be read: No such file or directory" in fails()
        roles.file(role).write_text(password, encoding="utf-8")

    def failed_cycle() -> str:
        return str(run_single_cycle(app, "late", START + 3 * DAY).error)

    def failed_store() -> str:
        with pytest.raises(StoreError) as caught:
            app.store.states.read_state("late")
        return str(caught.value)

    waits_for(READER, failed_cycle)
    waits_for(STORE, failed_store)

    assert run_single_cycle(app, "late", START + 3 * DAY).error is None
