"""Real servers for tests: started as unprivileged users on loopback, thrown away afterwards."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy import URL, make_url

NEEDS = "needs "
ASKED_ROLE = "asked"
"""Role of PostgreSQL: its members are asked for their passwords, others are not."""
_POSTGRES_MISSING = "needs PostgreSQL: apt-get install postgresql"
_MARIADB_MISSING = "needs MariaDB: apt-get install mariadb-server"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"  # where Debian puts servers
_START_TIMEOUT = 60.0


def missing(reason: str) -> NoReturn:
    """Skip the test for want of a program; with CI=true fail it.

    Parameters
    ----------
    reason
        begins with "needs " and says what to install.
    """
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def require_extra(engine: str) -> None:
    """Ask for the extra that brings the SQLAlchemy dialect of an engine."""
    if find_spec(f"{engine}_sqlalchemy") is None:
        missing(f"{NEEDS}the extra {engine}: make test-sql installs it")


def program(name: str, *, package: str) -> str:
    """Path of a program that the machine may lack."""
    return shutil.which(name) or missing(f"{NEEDS}{name}: apt-get install {package}")


def skipped_for_programs(reasons: Sequence[str]) -> dict[str, int]:
    """How many tests were skipped for each missing program."""
    wanted = [text.removeprefix("Skipped: ") for text in reasons]
    return {text: wanted.count(text) for text in sorted(set(wanted)) if text.startswith(NEEDS)}


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL server and an account that may create databases.

    Parameters
    ----------
    url
        SQLAlchemy URL of the maintenance database.
    """

    url: URL

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """URL of a fresh, empty database, as ``postgresql+psycopg://…``; dropped afterwards."""
        name = f"test_{uuid.uuid4().hex[:16]}"
        quoted = sql.Identifier(name)
        with self._connected() as connection:
            known = connection.info.server_version >= 15_00_00
            copied = sql.SQL("STRATEGY file_copy" if known else "")  # twice as fast
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 {}").format(quoted, copied))
        try:
            fresh = self.url.set(drivername="postgresql+psycopg", database=name)
            yield fresh.render_as_string(hide_password=False)
        finally:
            with self._connected() as connection:
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(quoted))

    def _connected(self) -> psycopg.Connection[tuple[object, ...]]:
        plain = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(plain, autocommit=True)


@contextlib.contextmanager
def postgres() -> Iterator[PostgresServer]:
    """The server of TEST_POSTGRES_URL, or one of our own; skips where there is none."""
    given = os.environ.get("TEST_POSTGRES_URL")
    if given:
        yield PostgresServer(make_url(given))
        return
    programs = _postgres_programs()
    with (
        tempfile.TemporaryDirectory(prefix="monitor-postgres-", ignore_cleanup_errors=True) as directory,
        _own_postgres(programs, Path(directory)) as port,
    ):
        yield PostgresServer(
            URL.create("postgresql", username="postgres", host="127.0.0.1", port=port, database="postgres")
        )


def _postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).resolve().parent if on_path else missing(_POSTGRES_MISSING)


@contextlib.contextmanager
def _own_postgres(programs: Path, directory: Path) -> Iterator[int]:
    account = _account("postgres", _POSTGRES_MISSING)
    data = directory / "data"
    if account is not None:
        os.chown(directory, account.pw_uid, account.pw_gid)
    initdb = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--no-sync"]
    with _started([*initdb, "--encoding=UTF8", "--locale=C"], directory, account) as making:
        if making.wait(_START_TIMEOUT) != 0:
            raise RuntimeError(f"initdb failed: {_log(directory)}")
    rules = data / "pg_hba.conf"
    asked = f"host all +{ASKED_ROLE} all scram-sha-256\n"
    rules.write_text(asked + rules.read_text(encoding="utf-8"), encoding="utf-8")
    port = free_port()
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "shared_buffers": "16MB",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [str(programs / "postgres"), "-D", str(data), "-p", str(port), *options]
    with _started(command, directory, account) as server:
        _wait_for(server, lambda: _postgres_answers(port), directory)
        yield port


@contextlib.contextmanager
def standby() -> Iterator[tuple[URL, URL]]:
    """A PostgreSQL server of our own and a hot standby of it, which cancels what is in recovery's way."""
    programs, account = _postgres_programs(), _account("postgres", _POSTGRES_MISSING)
    with tempfile.TemporaryDirectory(prefix="monitor-standby-", ignore_cleanup_errors=True) as directory:
        place, port = Path(directory), free_port()
        (place / "copy").mkdir()
        with _own_postgres(programs, place) as primary:
            copy = [str(programs / "pg_basebackup"), "-D", str(place / "copy" / "data"), "-R", "-X", "stream"]
            copy += [
                "-h",
                "127.0.0.1",
                "-p",
                str(primary),
                "-U",
                "postgres",
                "--checkpoint=fast",
                "--no-sync",
            ]
            if account is not None:
                os.chown(place / "copy", account.pw_uid, account.pw_gid)
            with _started(copy, place / "copy", account) as copying:
                if copying.wait(_START_TIMEOUT) != 0:
                    raise RuntimeError(f"pg_basebackup failed: {_log(place / 'copy')}")
            run = [str(programs / "postgres"), "-D", str(place / "copy" / "data"), "-p", str(port)]
            run += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={place / 'copy'}"]
            run += ["-c", "max_standby_streaming_delay=300ms", "-c", "fsync=off"]
            with _started(run, place / "copy", account) as server:
                _wait_for(server, lambda: _postgres_answers(port), place / "copy")
                own = URL.create("postgresql+psycopg", "postgres", host="127.0.0.1", database="postgres")
                yield own.set(port=primary), own.set(port=port)


@dataclass(slots=True)
class Restartable:
    """A PostgreSQL server of our own that can be stopped and started again."""

    url: str
    command: list[str]
    directory: Path
    stack: contextlib.ExitStack

    def start(self) -> None:
        """Start it, and wait until it answers."""
        account, port = _account("postgres", _POSTGRES_MISSING), make_url(self.url).port or 0
        process = self.stack.enter_context(_started(self.command, self.directory, account))
        _wait_for(process, lambda: _postgres_answers(port), self.directory)

    def stop(self) -> None:
        """End it at once: what is not committed is lost."""
        self.stack.close()


@contextlib.contextmanager
def restartable() -> Iterator[Restartable]:
    """A server that runs, for tests that restart it."""
    programs, port = _postgres_programs(), free_port()
    with tempfile.TemporaryDirectory(prefix="monitor-restarts-", ignore_cleanup_errors=True) as directory:
        place = Path(directory)
        with _own_postgres(programs, place):
            pass
        command = [str(programs / "postgres"), "-D", str(place / "data"), "-p", str(port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        url = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
        with contextlib.ExitStack() as stack:
            server = Restartable(url, command, place, stack)
            server.start()
            yield server


@contextlib.contextmanager
def pgbouncer(url: str) -> Iterator[str]:
    """URL of the same PostgreSQL database through PgBouncer, which lends connections by the transaction."""
    program_ = shutil.which("pgbouncer", path=_PATH) or missing("needs PgBouncer: apt-get install pgbouncer")
    account, port, behind = _account("postgres", _POSTGRES_MISSING), free_port(), make_url(url)
    settings = {"listen_addr": "127.0.0.1", "listen_port": port, "unix_socket_dir": "", "auth_type": "trust"}
    settings |= {"auth_file": "users", "pool_mode": "transaction", "max_client_conn": 200}
    options = "\n".join(f"{name} = {value}" for name, value in settings.items())
    server = f"* = host={behind.host} port={behind.port or 5432}"
    with tempfile.TemporaryDirectory(prefix="monitor-pgbouncer-", ignore_cleanup_errors=True) as directory:
        place = Path(directory)
        place.chmod(0o755)
        (place / "users").write_text(f'"{behind.username}" "{behind.password or ""}"\n', encoding="utf-8")
        (place / "ini").write_text(f"[databases]\n{server}\n[pgbouncer]\n{options}\n", encoding="utf-8")
        with _started([program_, "ini"], place, account) as process:
            _wait_for(process, lambda: _postgres_answers(port, str(behind.database)), place)
            yield behind.set(port=port).render_as_string(hide_password=False)


@dataclass(frozen=True, slots=True)
class MariadbServer:
    """A MariaDB server and an account that may create databases.

    Parameters
    ----------
    url
        SQLAlchemy URL without a database.
    """

    url: URL

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """URL of a fresh, empty database, as ``mariadb+pymysql://…``; dropped afterwards."""
        name = f"test_{uuid.uuid4().hex[:16]}"
        self._run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        try:
            yield self.url.set(database=name).render_as_string(hide_password=False)
        finally:
            self._run(f"DROP DATABASE {name}")

    def _run(self, statement: str) -> None:
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)


@contextlib.contextmanager
def mariadb() -> Iterator[MariadbServer]:
    """The server of TEST_MARIADB_URL, or one of our own; skips where there is none."""
    given = os.environ.get("TEST_MARIADB_URL")
    if given:
        yield MariadbServer(make_url(given))
        return
    programs = [shutil.which(name, path=_PATH) for name in ("mariadb-install-db", "mariadbd")]
    install, server = (found or missing(_MARIADB_MISSING) for found in programs)
    with (
        tempfile.TemporaryDirectory(prefix="monitor-mariadb-", ignore_cleanup_errors=True) as directory,
        _own_mariadb(install, server, Path(directory)) as url,
    ):
        yield MariadbServer(url)


@contextlib.contextmanager
def _own_mariadb(install: str, program: str, directory: Path) -> Iterator[URL]:
    account = _account("mysql", _MARIADB_MISSING)
    if account is not None:
        os.chown(directory, account.pw_uid, account.pw_gid)
    data = f"--datadir={directory / 'data'}"
    own = f"--tmpdir={directory}"  # a server that starts clears the one that all share
    making = [
        install,
        "--no-defaults",
        data,
        own,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    with _started(making, directory, account) as process:
        if process.wait(_START_TIMEOUT) != 0:
            raise RuntimeError(f"mariadb-install-db failed: {_log(directory)}")
    port = free_port()
    options = ["--bind-address=127.0.0.1", f"--port={port}", f"--socket={directory / 'socket'}"]
    options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--skip-log-bin"]
    options += ["--innodb-flush-method=nosync", "--innodb-doublewrite=0", "--sync-frm=0"]
    url = URL.create("mariadb+pymysql", username="root", host="127.0.0.1", port=port)
    with _started([program, "--no-defaults", data, own, *options], directory, account) as server:
        _wait_for(server, lambda: _mariadb_answers(url), directory)
        yield url


def _account(name: str, reason: str) -> pwd.struct_passwd | None:
    """Neither server runs as root: Debian's own account then."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(name)
    except KeyError:
        missing(reason)


@contextlib.contextmanager
def _started(
    command: Sequence[str], directory: Path, account: pwd.struct_passwd | None
) -> Iterator[subprocess.Popen[bytes]]:
    environment: Mapping[str, str] = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
    with process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGQUIT)  # immediate: nothing is worth a checkpoint
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(server: subprocess.Popen[bytes], answers: Callable[[], bool], directory: Path) -> None:
    until = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < until and server.poll() is None:
        if answers():
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {_log(directory)}")


def _postgres_answers(port: int, database: str = "postgres") -> bool:
    try:
        psycopg.connect(
            host="127.0.0.1", port=port, user="postgres", dbname=database, connect_timeout=2
        ).close()
    except psycopg.OperationalError:
        return False
    return True


def _mariadb_answers(url: URL) -> bool:
    try:
        sa.create_engine(url, poolclass=sa.NullPool).connect().close()
    except sa.exc.OperationalError:
        return False
    return True


def _log(directory: Path) -> str:
    return (directory / "log").read_text(errors="replace")[-2000:]
