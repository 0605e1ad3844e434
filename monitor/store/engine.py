"""Open, create and upgrade the store's database."""

import os
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, inspect, text

from monitor.core.errors import StoreError
from monitor.specs.urls import sqlite_file
from monitor.store.adapter import SqlStore
from monitor.store.connections import connect, parsed, reading, refuse_lost, shown, writable, writing
from monitor.store.tables import METADATA

_SCRIPTS = Path(__file__).parent / "migrations"


def open_store(url: str, run: str) -> SqlStore:
    """Store of a run.

    A SQLite database is created and migrated; PostgreSQL only by `migrate`, on request.

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
    engine = connect(url)
    try:
        _require_newest(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlStore(engine=engine, run=run, schema=_newest())


def open_to_read(url: str, run: str) -> SqlStore:
    """Store of a run that is there already: nothing is created or migrated.

    Raises
    ------
    StoreError
        as `require_kept`.
    """
    require_kept(url)
    return SqlStore(engine=connect(_to_read(url)), run=run, schema=_newest())


def _to_read(url: str) -> str:
    """URL by which a SQLite file is read that this process may not write, or whose directory it may not."""
    address = parsed(url)
    file = sqlite_file(address.database or "")
    if address.get_backend_name() != "sqlite" or writable(file):
        return url
    return f"sqlite:///file:{quote(str(file.absolute()))}?mode=ro&uri=true"


def require_kept(url: str) -> None:
    """Refuse a store that is not there, or is of another version.

    Raises
    ------
    StoreError
        which says what would help.
    """
    address = parsed(url)
    file = sqlite_file(address.database or "")
    try:
        there = address.get_backend_name() != "sqlite" or file.is_file()
    except OSError as error:  # a directory above may not be searched
        raise StoreError(f"store {shown(address)}: cannot be read: {error.strerror}") from error
    if not there:
        refuse_lost(file, shown(address))
        raise StoreError(
            f"store {shown(address)}: there is no such file. If there was one, put it back or restore it: "
            "without it history and decisions are gone. A first cycle makes one (`monitor cycle`)"
        )
    engine = connect(_to_read(url))
    try:
        version = _version(engine)
        if version != _newest():
            raise _other_version(engine, version)
    finally:
        engine.dispose()


def migrate(url: str) -> str:
    """Bring the store's tables to the newest version; returns it.

    Raises
    ------
    StoreError
        if the database refuses, or was migrated by a newer version.
    """
    engine = connect(url, limit=None)
    try:
        _upgrade(engine)
    finally:
        engine.dispose()
    return _newest()


def schema_version(url: str) -> str | None:
    """Version of the store's tables; None before the first migration.

    Raises
    ------
    StoreError
        if the database does not answer.
    """
    engine = connect(url)
    try:
        return _version(engine)
    finally:
        engine.dispose()


def is_newest(url: str) -> bool:
    """Whether the store's tables are there, of this version; nothing is made or upgraded.

    Raises
    ------
    StoreError
        if the database does not answer.
    """
    address = parsed(url)
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
        return False
    return schema_version(url) == _newest()


def require_usable(url: str) -> None:
    """Say why a store could not be opened, if it could not; nothing is made or upgraded.

    Raises
    ------
    StoreError
        if the database does not answer, is of another version, or its file could not be made.
    """
    address = parsed(url)
    if address.get_backend_name() != "sqlite":
        open_store(url, "live").close()
        return
    name = address.database or ":memory:"
    if name == ":memory:" or name.startswith("file:"):
        return
    file = Path(name)
    if file.exists() and file.stat().st_size:  # SQLite writes into an empty one when it is opened
        _require_known(address, schema_version(url))
    elif not file.parent.is_dir():
        raise StoreError(f"store {shown(address)}: there is no directory {file.parent}")
    refuse_lost(file, shown(address))
    written = file if file.exists() else file.parent
    if not os.access(written, os.W_OK):
        raise StoreError(f"store {shown(address)}: {written} cannot be written")


def _require_newest(engine: Engine) -> None:
    version = _version(engine)
    if version == _newest():
        return
    if engine.dialect.name == "sqlite":
        _upgrade(engine)
        return
    raise _other_version(engine, version)


def _upgrade(engine: Engine) -> None:
    from alembic import command  # a third of a second, needed once a version
    from alembic.config import Config

    with writing(engine) as connection:
        _require_known(engine.url, _revision(connection))
        config = Config()
        config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
        config.attributes.update(connection=connection, metadata=METADATA)
        command.upgrade(config, "head")


def _other_version(engine: Engine, version: str | None) -> StoreError:
    _require_known(engine.url, version)
    with reading(engine) as connection:
        names = inspect(connection).get_table_names()
    told = f"version {_newest()} needed: got {version or 'none'}; run `monitor migrate`"
    if names and not METADATA.tables.keys() & set(names):
        told = "this is no store of monitor: it has tables, and none of ours; is it the log? Name the store"
    return StoreError(f"store {shown(engine.url)}: {told}")


def _require_known(url: URL, version: str | None) -> None:
    if version is not None and version not in _revisions():
        raise StoreError(
            f"store {shown(url)}: made by another version: got {version}, newest known is {_newest()}"
        )


def _version(engine: Engine) -> str | None:
    with reading(engine) as connection:
        return _revision(connection)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return version


def _newest() -> str:
    return _revisions()[-1]


def _revisions() -> list[str]:
    """All versions, oldest first: their files begin with them."""
    versions = sorted(file.name.partition("_")[0] for file in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))
    if not versions:
        raise StoreError(f"the installation is not whole: {_SCRIPTS} has no versions")
    return versions
