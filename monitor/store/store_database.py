"""Open, create and upgrade the store's database."""

import os
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, inspect, text

from monitor.core.errors import StoreError
from monitor.specs.urls import sqlite_file
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import (
    is_writable,
    make_store_engine,
    parse_store_url,
    read_transaction,
    refuse_lost,
    shown_store_url,
    write_transaction,
)
from monitor.store.tables.shared_columns import METADATA

_SCRIPTS = Path(__file__).parent / "migrations"


def open_store(url: str, run: str) -> SqlStore:
    """Store of a run.

    A SQLite database is created and migrated; PostgreSQL only by `migrate_store`, on request.

    Parameters
    ----------
    url
        SQLAlchemy URL, secrets filled in.
    run
        "live", or the name of a replay.

    Raises
    ------
    StoreError
        if the database does not answer, is not migrated, or was migrated by a newer version.
    """
    engine = make_store_engine(url)
    try:
        _require_newest(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlStore(engine=engine, run=run, schema=_newest_revision())


def open_to_read(url: str, run: str) -> SqlStore:
    """Store of a run that is there already: nothing is created or migrated.

    Raises
    ------
    StoreError
        as `require_kept`.
    """
    require_kept(url)
    return SqlStore(engine=make_store_engine(_read_only_url(url)), run=run, schema=_newest_revision())


def _read_only_url(url: str) -> str:
    """URL by which a SQLite file is read that this process may not write, or whose directory it may not."""
    address = parse_store_url(url)
    file = sqlite_file(address.database or "")
    if address.get_backend_name() != "sqlite" or is_writable(file):
        return url
    return f"sqlite:///file:{quote(str(file.absolute()))}?mode=ro&uri=true"


def require_kept(url: str) -> None:
    """Refuse a store that is not there, or is of another version.

    Raises
    ------
    StoreError
        which says what would help.
    """
    address = parse_store_url(url)
    file = sqlite_file(address.database or "")
    try:
        there = address.get_backend_name() != "sqlite" or file.is_file()
    except OSError as error:  # a directory above may not be searched
        raise StoreError(f"store {shown_store_url(address)}: cannot be read: {error.strerror}") from error
    if not there:
        refuse_lost(file, shown_store_url(address))
        raise StoreError(
            f"store {shown_store_url(address)}: there is no such file. If there was one, put it back or "
            "restore it: "
            "without it history and decisions are gone. A first cycle makes one (`monitor cycle`)"
        )
    engine = make_store_engine(_read_only_url(url))
    try:
        version = _read_version(engine)
        if version != _newest_revision():
            raise _other_version(engine, version)
    finally:
        engine.dispose()


def migrate_store(url: str) -> str:
    """Bring the store's tables to the newest version; returns it.

    Raises
    ------
    StoreError
        if the database refuses, or was migrated by a newer version.
    """
    engine = make_store_engine(url, limit=None)
    try:
        _upgrade_tables(engine)
    finally:
        engine.dispose()
    return _newest_revision()


def schema_version(url: str) -> str | None:
    """Version of the store's tables; None before the first migration.

    Raises
    ------
    StoreError
        if the database does not answer.
    """
    engine = make_store_engine(url)
    try:
        return _read_version(engine)
    finally:
        engine.dispose()


def is_newest(url: str) -> bool:
    """Whether the store's tables are there, of this version; nothing is made or upgraded.

    Raises
    ------
    StoreError
        if the database does not answer.
    """
    address = parse_store_url(url)
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
        return False
    return schema_version(url) == _newest_revision()


def require_usable(url: str) -> None:
    """Say why a store could not be opened, if it could not; nothing is made or upgraded.

    Raises
    ------
    StoreError
        if the database does not answer, is of another version, or its file could not be made.
    """
    address = parse_store_url(url)
    if address.get_backend_name() != "sqlite":
        open_store(url, "live").close()
        return
    name = address.database or ":memory:"
    if name == ":memory:" or name.startswith("file:"):
        return
    file = Path(name)
    # SQLite writes into an empty file when it is opened.
    if file.exists() and file.stat().st_size:
        _require_known(address, schema_version(url))
    elif not file.parent.is_dir():
        raise StoreError(f"store {shown_store_url(address)}: there is no directory {file.parent}")
    refuse_lost(file, shown_store_url(address))
    written = file if file.exists() else file.parent
    if not os.access(written, os.W_OK):
        raise StoreError(f"store {shown_store_url(address)}: {written} cannot be written")


def _require_newest(engine: Engine) -> None:
    version = _read_version(engine)
    if version == _newest_revision():
        return
    if engine.dialect.name == "sqlite":
        _upgrade_tables(engine)
        return
    raise _other_version(engine, version)


def _upgrade_tables(engine: Engine) -> None:
    from alembic import command  # a third of a second, needed once a version
    from alembic.config import Config

    with write_transaction(engine) as connection:
        _require_known(engine.url, _schema_revision(connection))
        config = Config()
        config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
        config.attributes.update(connection=connection, metadata=METADATA)
        command.upgrade(config, "head")


def _other_version(engine: Engine, version: str | None) -> StoreError:
    _require_known(engine.url, version)
    with read_transaction(engine) as connection:
        names = inspect(connection).get_table_names()
    sentence = f"version {_newest_revision()} needed: got {version or 'none'}; run `monitor migrate`"
    if names and not METADATA.tables.keys() & set(names):
        sentence = (
            "this is no store of monitor: it has tables, and none of ours; is it the log? Name the store"
        )
    return StoreError(f"store {shown_store_url(engine.url)}: {sentence}")


def _require_known(url: URL, version: object) -> None:
    # Of a damaged store the version is anything.
    known = _list_revisions()
    if version is None or version in known:
        return
    sentence = f"made by another version: got {version}, newest known is {known[-1]}"
    if isinstance(version, str) and version.isdecimal() and version < known[0]:
        sentence = (
            f"too old to be upgraded: got {version}, the oldest known is {known[0]}; begin "
            "another store, and replay the log into it (`monitor replay`)"
        )
    raise StoreError(f"store {shown_store_url(url)}: {sentence}")


def _read_version(engine: Engine) -> str | None:
    with read_transaction(engine) as connection:
        return _schema_revision(connection)


def _schema_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return version


def _newest_revision() -> str:
    return _list_revisions()[-1]


def _list_revisions() -> list[str]:
    """All versions, oldest first: their files begin with them."""
    versions = sorted(file.name.partition("_")[0] for file in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))
    if not versions:
        raise StoreError(f"the installation is not whole: {_SCRIPTS} has no versions")
    return versions
