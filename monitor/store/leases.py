"""Which process runs a model's cycles: a row, its expiry by the database's clock, and a fencing token."""

from sqlalchemy import ColumnElement, Connection, or_, update

from monitor.core.errors import LeaseLost
from monitor.store.statements import database_now, insert
from monitor.store.tables import leases


def claim(connection: Connection, run: str, model: str, owner: str, ttl: int) -> int | None:
    """Token of the lease, or None while another owner has it. The token grows with every claim."""
    now = database_now(connection)
    statement = insert(connection, leases).values(
        run=run, model=model, owner=owner, token=1, expires_at=now + ttl
    )
    claimed = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["run", "model"],
            set_={"owner": owner, "token": leases.c.token + 1, "expires_at": now + ttl},
            where=or_(leases.c.expires_at <= now, leases.c.owner == owner),
        ).returning(leases.c.token)
    ).scalar()
    return None if claimed is None else int(claimed)


def renew(connection: Connection, run: str, model: str, token: int, ttl: int) -> bool:
    """Move the expiry; False if the token is no longer the lease's."""
    return _touch(connection, run, model, token, expires_at=database_now(connection) + ttl)


def release(connection: Connection, run: str, model: str, token: int) -> bool:
    """Let others claim at once; False if the token is no longer the lease's."""
    return _touch(connection, run, model, token, expires_at=database_now(connection))


def check(connection: Connection, run: str, model: str, token: int) -> None:
    """Hold the lease's row until the end of the transaction.

    Raises
    ------
    LeaseLost
        if the token is no longer the lease's. An expired lease that nobody took over is still held.
    """
    if not _touch(connection, run, model, token, expires_at=leases.c.expires_at):
        raise LeaseLost(f'model "{model}" of run "{run}": token {token} was taken over by another process')


def _touch(
    connection: Connection, run: str, model: str, token: int, *, expires_at: ColumnElement[int]
) -> bool:
    touched = connection.execute(
        update(leases)
        .where(leases.c.run == run, leases.c.model == model, leases.c.token == token)
        .values(expires_at=expires_at)
    )
    return touched.rowcount == 1
