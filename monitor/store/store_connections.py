"""Connections to the store's database: SQLite or PostgreSQL, readers and writers."""

import glob
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    Connection,
    Dialect,
    Engine,
    ExceptionContext,
    NullPool,
    StaticPool,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from monitor.core.errors import REMEDY, StoreError, StoreLost
from monitor.core.secrets import hide_secrets
from monitor.specs.deadlines import bound_waits, libpq_options
from monitor.specs.urls import fault_of, fill_url, has_files, sqlite_file

Identity = tuple[int, int] | None
SILENT = 120.0  # seconds: a statement of a cycle that takes longer waits for a server that hangs
_BEGIN = "store_begin"  # execution option: how a transaction begins on SQLite
_BESIDE = ("-wal", "-shm")  # what was committed last, and who reads and writes
LOCK = ".lock"  # end of the files beside a store by which a daemon or a replay has a run
_BUSY_MS = 30_000
_LONGEST = 500  # characters of a message of the database
# messages: to SQLite these are code 1, as any wrong statement is; the last, the driver's own, has none
_OF_LOST_TABLES = ("no such table", "no such column", "table ", "cannot modify ", "Could not decode")
# Of SQLite's driver: of names that are no UTF-8, of sums of large counts.
_OF_SQLITE = (UnicodeError, OverflowError)
_OF_DAMAGED_PAGES = ("XX001", "XX002")  # of PostgreSQL: of a table, of an index
_NOT_MAPPED = "its -shm cannot be mapped: memory ran out, or it lies on a file system of a network"
_RETRY = 0.01  # seconds: here SQLite does not wait for the timeout above
_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA synchronous = NORMAL",  # a power cut may lose the last cycles, never damage the file
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -32768",  # KiB a connection
)


def parse_store_url(url: str) -> URL:
    """URL of a store, with what its files hold now; PostgreSQL always by psycopg.

    Raises
    ------
    StoreError
        if it is neither SQLite nor PostgreSQL, or a file of it cannot be read.
    """
    try:
        text = fill_url(url)
    except ValueError as error:
        raise StoreError(f"the store's URL: {error}") from None
    if fault := fault_of(text):
        raise StoreError(f"the store's URL: {fault}")
    try:
        address = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError(
            'a store\'s URL is like "sqlite:///monitor.db" or "postgresql://host/name"'
        ) from None
    match address.get_backend_name():
        case "sqlite":
            return address
        case "postgresql" | "postgres":
            return address.set(drivername="postgresql+psycopg")
        case other:
            raise StoreError(f"a store is SQLite or PostgreSQL: got {other}")


def shown_store_url(url: URL) -> str:
    """URL without its password, for messages."""
    return url.set(query={}).render_as_string(hide_password=True)


def make_store_engine(url: str, *, limit: float | None = SILENT) -> Engine:
    """Engine of a store; nothing is connected yet. The URL's files are read for each connection.

    `limit`: seconds until PostgreSQL has to have answered a statement; None: however long it takes.
    """
    address = parse_store_url(url)
    try:
        if address.get_backend_name() == "sqlite":
            return _sqlite_engine(address)
        engine = create_engine(
            address,
            hide_parameters=True,
            pool_pre_ping=True,
            connect_args={
                "prepare_threshold": None,
                "application_name": "monitor",
                "client_encoding": "utf8",
                **libpq_options(address.query),
            },
        )
        if limit is not None:
            event.listen(engine, "connect", partial(bound_waits, limit), insert=True)
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(f"store {shown_store_url(address)}: no driver: {error}") from error
    if has_files(url):
        event.listen(engine, "do_connect", partial(_connect_anew, url))
    return engine


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """Transaction that reads: all of its statements see the store as it is at the first one.

    Raises
    ------
    StoreError
        if the database refuses.
    """
    with _translated_errors(engine), engine.connect() as connection:
        if engine.dialect.name == "postgresql":  # SQLite's transactions are so by themselves
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """Transaction that writes: committed at the end, rolled back by any error.

    On SQLite the write lock is taken at its beginning: a reader that turns writer would be refused.

    Raises
    ------
    StoreError
        if the database refuses.
    """
    with (
        _translated_errors(engine),
        engine.connect() as connection,
        connection.execution_options(**{_BEGIN: "IMMEDIATE"}).begin(),
    ):
        yield connection


@contextmanager
def _translated_errors(engine: Engine) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, *_OF_SQLITE) as error:
        whole = getattr(error, "orig", None) or error
        what = hide_secrets(str(whole)).strip().partition("\n")[0][:_LONGEST]
        remedy = f"; {REMEDY}" if _is_damage(whole) else ""
        if getattr(whole, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHMMAP:
            remedy = f"; {_NOT_MAPPED}"
        raise StoreError(f"store {shown_store_url(engine.url)}: {what}{remedy}") from error


def _is_damage(error: object) -> bool:
    """Whether the file itself is damaged, or is no database."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    lost = isinstance(error, sqlite3.Error) and str(error).startswith(_OF_LOST_TABLES)
    if isinstance(error, _OF_SQLITE) or lost or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return True
    return getattr(error, "sqlstate", None) in _OF_DAMAGED_PAGES


def _connect_anew(
    url: str, dialect: Dialect, _record: object, _args: object, parameters: dict[str, Any]
) -> Any:
    positional, named = dialect.create_connect_args(parse_store_url(url))
    return dialect.connect(*positional, **{**parameters, **named})


def _sqlite_engine(url: URL) -> Engine:
    if url.database in {None, "", ":memory:"}:  # every connection would have a database of its own
        arguments = {"check_same_thread": False}
        engine = create_engine(url, hide_parameters=True, poolclass=StaticPool, connect_args=arguments)
        event.listen(engine, "connect", _prepare_connection)
    else:
        alone = url.query.get("mode") == "ro"
        engine = create_engine(url, hide_parameters=True, poolclass=NullPool if alone else None)
        if alone:
            event.listen(engine, "do_connect", partial(_connect_alone, sqlite_file(str(url.database))))
        event.listen(engine, "handle_error", _drop_read_only)
        event.listen(engine, "connect", _prepare_connection)
        watched = WatchedFile(url)
        event.listen(engine, "do_connect", watched.require_connectable)
        event.listen(engine, "do_connect", partial(_make_private, url))
        event.listen(engine, "connect", watched.note_opened)
        event.listen(engine, "begin", watched.require_same)
        event.listen(engine, "commit", watched.require_same)
        event.listen(engine, "close", watched.note_closed)
    event.listen(engine, "begin", _begin_transaction)
    return engine


def read_alone(file: Path) -> str:
    """URI of a SQLite file for one connection that reads it alone.

    Where it may not be written, and nobody has it open, it cannot change while it is read: SQLite needs to
    make no file beside it. Who opens it later is seen by the next connection.
    """
    real = Path(os.path.realpath(file))
    still = "" if is_writable(real) or Path(f"{real}-wal").exists() else "&immutable=1"
    return f"file:{quote(str(real))}?mode=ro{still}"


def is_database(file: Path) -> bool:
    """Whether a file is a database, by SQLite's own look.

    Who else opens one drops the locks that this process has on it, as soon as it closes it.
    """
    if not file.is_file() or not file.stat().st_size:
        return False
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            connection.execute("PRAGMA schema_version")
        except sqlite3.DatabaseError as error:
            return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_NOTADB
    return True


def is_writable(file: Path) -> bool:
    """Whether this process may write a file, and others beside it."""
    return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)


def _make_private(url: URL, *_connecting: object) -> None:
    """Make a file that is not there its owner's alone; what SQLite makes beside it has the same rights."""
    file = os.path.realpath(sqlite_file(str(url.database)))
    if url.query.get("mode", "rwc") == "rwc" and not file.endswith(":memory:"):
        with suppress(OSError):  # it is there, or SQLite says why it cannot be made
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _connect_alone(file: Path, _dialect: Dialect, _record: object, arguments: list[Any], _named: Any) -> None:
    arguments[0] = read_alone(file)


def _drop_read_only(context: ExceptionContext) -> None:
    """What was opened while the file was read-only stays so: the next try opens it anew."""
    code = getattr(context.original_exception, "sqlite_errorcode", 0)
    if code & 0xFF == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True


def _prepare_connection(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver would begin on its own, and too late
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    _write_ahead(connection, until=time.monotonic() + _BUSY_MS / 1_000)


def _write_ahead(connection: Any, *, until: float) -> None:
    """Let readers go on while a cycle writes; of several first openers all but one must try again."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_READONLY and _read_alone(connection):
                return
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_RETRY)
        else:
            return


def _read_alone(connection: Any) -> bool:
    """Whether a connection was opened to read alone."""
    name: str = connection.execute("PRAGMA database_list").fetchone()[2]
    return not os.access(name, os.W_OK)


def _begin_transaction(connection: Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get(_BEGIN, 'DEFERRED')}")


class WatchedFile:
    """Refuses connections and transactions once a file is not the one that was opened.

    What an open connection writes then goes into a file without a name, and is gone with the process. None
    is made in its place: an empty store that a daemon fills anew would hide what has happened. Where the same
    one comes back, it is used again.
    """

    def __init__(self, url: URL) -> None:
        self._file, self._shown = sqlite_file(str(url.database)), shown_store_url(url)
        self._first: Identity = None
        self._open: dict[int, dict[Path, Identity]] = {}

    def require_connectable(self, *_connecting: object) -> None:
        """Refuse to connect to another file than before, or beside one whose log was taken from others.

        A connection that opens makes the log anew that is not there: two would be written for one file.

        Raises
        ------
        StoreLost
            if it is another one, or there is none.
        StoreError
            if there is none, and what lies beside it says that there was one.
        """
        if self._first is None:
            refuse_lost(self._file, self._shown)
        else:
            self._compare_file(self._file, self._first)
        for files in list(self._open.values()):
            self._require_same(files)

    def note_opened(self, connection: Any, record: Any) -> None:
        """Remember what a connection has opened."""
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens what stands beside it
        self._first = self._first or _file_identity(self._file)
        real = os.path.realpath(self._file)
        files = [self._file, *(Path(f"{real}{beside}") for beside in _BESIDE)]
        self._open[id(connection)] = record.info["files"] = {file: _file_identity(file) for file in files}

    def note_closed(self, connection: Any, _record: object) -> None:
        """Forget what a connection had opened: the last to close takes the log away itself."""
        self._open.pop(id(connection), None)

    def require_same(self, connection: Connection) -> None:
        """Refuse to read or write what is no part of the store any more.

        Raises
        ------
        StoreLost
            if a file that the connection has opened was deleted or replaced.
        """
        self._require_same(connection.info["files"])

    def _require_same(self, files: dict[Path, Identity]) -> None:
        for file, opened in list(files.items()):
            if opened is None:  # what stands beside a new file comes with the first write
                files[file] = _file_identity(file)
            else:
                self._compare_file(file, opened)

    def _compare_file(self, file: Path, opened: Identity) -> None:
        identity = _file_identity(file)
        if identity == opened:
            return
        what = "was deleted or moved away" if identity is None else "was replaced by another file"
        then = "start it again: SQLite keeps what was committed"
        if file == self._file:
            then = f"restore {file} from a backup, and start it again"
        raise StoreLost(
            f"store {self._shown}: {file} {what} while this process had it open, and nothing is written "
            f"until it is back. Put the same file back; or stop this process, {then}"
        )


def refuse_lost(file: Path, name: str) -> None:
    """Refuse a SQLite file that is not there though its log or a daemon's lock is: it was moved away.

    SQLite would take the log of the one that was moved for that of a new one, and throw it away.

    Raises
    ------
    StoreError
        which says what to do.
    """
    beside = [Path(f"{os.path.realpath(file)}{end}") for end in _BESIDE]
    paths = [one for one in beside if _file_identity(one) is not None]
    paths += sorted(file.parent.glob(f"{glob.escape(file.name)}.*{LOCK}"))
    # In this order: a file that is made just now is there before its log.
    if not paths or _file_identity(file) is not None:
        return
    left = ", ".join(one.name for one in paths)
    raise StoreError(
        f"store {name}: {file.name} is not there, but {left} {'is' if len(paths) == 1 else 'are'}: "
        "it was deleted or moved away. Put it back: a daemon that has it open then goes on by itself. "
        "To restore a backup, or to begin without its history, first stop what has it open; "
        f"then remove {left}"
    )


def _file_identity(file: Path) -> Identity:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
