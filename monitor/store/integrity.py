"""Whether what holds the store is sound: pages, indexes, tables with their columns, types of values."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import OperationalError

from monitor.core.errors import REMEDY, StoreError
from monitor.specs.deadlines import enforce_deadline
from monitor.specs.urls import sqlite_file
from monitor.store.damaged_rows import GuardedType
from monitor.store.store_connections import (
    make_store_engine,
    parse_store_url,
    read_transaction,
    shown_store_url,
)
from monitor.store.store_database import is_newest
from monitor.store.tables.measurement_schema import VIEWS
from monitor.store.tables.shared_columns import METADATA

LIMIT = 10.0  # seconds
_LEAST = 0.1  # seconds: who interrupts a statement has to come after it began
_PRAGMAS = ("quick_check(1)", "integrity_check(1)")  # pages and NULLs; then whether indexes have all rows
_MOST = 300  # characters of what SQLite says
_CANCELED = "57014"  # by PostgreSQL: the statement took too long
_NO_AMCHECK = (
    "nobody looked at the pages of its tables: that needs the extension amcheck, and a role that may call "
    'it. See "A broken store" in docs/operations.md'
)
# Of amcheck's functions this alone: bt_index_check, tried on a damaged index, took the server down with it.
# The schema of an extension need not be one that is searched: it is asked for.
_VERIFY_HEAP = text(
    "SELECT quote_ident(n.nspname) FROM pg_extension e "
    "JOIN pg_depend d ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' "
    "JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass "
    "JOIN pg_namespace n ON n.oid = p.pronamespace "
    "WHERE e.extname = 'amcheck' AND p.proname = 'verify_heapam' "
    "AND has_function_privilege(p.oid, 'EXECUTE') AND has_schema_privilege(n.oid, 'USAGE')"
)
_DAMAGED_BLOCK = (
    "SELECT t::text, v.blkno, v.msg FROM unnest(CAST(:tables AS regclass[])) AS t, "
    "LATERAL {schema}.verify_heapam(t) AS v LIMIT 1"
)
# of all tables of the database, since its statistics began; NULL where it has no checksums
_FAILED_CHECKSUMS = text("SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()")


@dataclass(frozen=True, slots=True)
class Integrity:
    """What was looked at without finding damage."""

    warnings: tuple[str, ...] = ()  # what may be damage
    notes: tuple[str, ...] = ()  # what was not looked at, and why


def require_sound(url: str, limit: float = LIMIT) -> Integrity:
    """Look for damage of a store that can be opened; nothing is changed.

    Of SQLite it reads the whole file three times, as far as it comes within the limit. Of PostgreSQL it reads
    what the extension amcheck reads, where this role may call it.

    Parameters
    ----------
    limit
        seconds.

    Raises
    ------
    StoreError
        which names the first damage that was found.
    CodecError
        if a value is of another type than its column.
    """
    address = parse_store_url(url)
    name, in_file = shown_store_url(address), address.get_backend_name() == "sqlite"
    file = sqlite_file(address.database or "")
    if in_file and not file.is_file():  # none yet, or one in memory
        return Integrity()
    if in_file and not file.stat().st_size:
        then = "the first cycle makes a store of it. If there was one, restore a backup"
        return Integrity(warnings=(f"store {name}: the file {file} is empty: {then}",))
    # Tables of another version have other columns.
    if not is_newest(url):
        return Integrity()
    engine = make_store_engine(url)
    try:
        with read_transaction(engine) as connection:
            for table in (*METADATA.sorted_tables, *VIEWS.sorted_tables):
                # Names all of its columns: one that lacks is an error.
                connection.execute(select(table).limit(0))
            look = _look_at_file if in_file else _look_at_server
            return look(connection, name, limit)
    finally:
        engine.dispose()


def _look_at_file(connection: Connection, name: str, limit: float) -> Integrity:
    until = time.monotonic() + limit
    interrupt: Callable[[], None] = connection.connection.driver_connection.interrupt  # type: ignore[union-attr]
    try:
        for pragma in _PRAGMAS:
            with _limit_statement(until, interrupt):
                said = str(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar())
            if said != "ok":
                raise StoreError(f"store {name}: damaged, says SQLite: {_first_damage_line(said)}; {REMEDY}")
        for table in METADATA.sorted_tables:
            with _limit_statement(until, interrupt):
                _require_types(connection, table)
    except TimeoutError:
        short = f"{limit:g} seconds were too short to look at the whole file"
        return Integrity(notes=(f"store {name}: {short}. `PRAGMA integrity_check` of sqlite3 does",))
    return Integrity()


def _look_at_server(connection: Connection, name: str, limit: float) -> Integrity:
    failed = connection.execute(_FAILED_CHECKSUMS).scalar()
    sentence = f"the server has met wrong checksums of pages of this database, {failed} in all; {REMEDY}"
    warnings = (f"store {name}: {sentence}",) if failed else ()
    schema = connection.execute(_VERIFY_HEAP).scalar()
    if schema is None:
        return Integrity(warnings, (f"store {name}: {_NO_AMCHECK}",))
    tables = [table.name for table in METADATA.sorted_tables]
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(limit * 1_000)}")
    try:
        found = connection.execute(text(_DAMAGED_BLOCK.format(schema=schema)), {"tables": tables}).first()
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != _CANCELED:
            raise
        short = f"{limit:g} seconds were too short for amcheck to look at all of its tables"
        return Integrity(warnings, (f"store {name}: {short}",))
    if found is not None:
        where = f"table {found[0]}, block {found[1]}: {found[2]}"
        raise StoreError(f"store {name}: damaged, says PostgreSQL: {where}; {REMEDY}")
    return Integrity(warnings)


@contextmanager
def _limit_statement(until: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Have a statement end in time.

    Raises
    ------
    TimeoutError
        if it does not; what it says then is made up: pages that it did not come to are missing.
    """
    left = until - time.monotonic()
    if left < _LEAST:
        raise TimeoutError
    with enforce_deadline(left, interrupt):
        yield
    if time.monotonic() >= until:
        raise TimeoutError


def _require_types(connection: Connection, table: Table) -> None:
    """Look at the least and the largest value of each column: SQLite sorts values by their type first."""
    if connection.execute(select(table.c[0]).limit(1)).first() is None:
        return
    columns = [column for column in table.columns if isinstance(column.type, GuardedType)]
    connection.execute(select(*(most(column) for column in columns for most in (func.min, func.max)))).all()


def _first_damage_line(said: str) -> str:
    """First line that names damage."""
    lines = [line for line in said.splitlines() if not line.startswith("***")]
    return (lines or [said])[0][:_MOST]
