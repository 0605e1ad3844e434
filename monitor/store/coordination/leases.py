"""Which process runs a model's cycles: a row, its expiry by the database's clock, and a fencing token."""

from functools import lru_cache

from sqlalchemy import BigInteger, Connection, Text, Update, bindparam, or_, update
from sqlalchemy.sql.dml import ReturningInsert

from monitor.core.errors import LeaseLost
from monitor.store.dialect_statements import clock_of, insert_of
from monitor.store.tables import leases

_TTL = bindparam("ttl", type_=BigInteger)
_MINE = update(leases).where(
    leases.c.run == bindparam("of_run"),
    leases.c.model == bindparam("of_model"),
    leases.c.token == bindparam("of_token"),
)
_HELD = _MINE.values(expires_at=leases.c.expires_at)


def claim_lease(connection: Connection, run: str, model: str, owner: str, ttl: int) -> int | None:
    """Token of the lease, or None while another owner has it. The token grows with every claim."""
    mine = {"of_run": run, "of_model": model, "of_owner": owner, "ttl": ttl}
    claimed = connection.execute(_claim_statement(connection.dialect.name), mine).scalar()
    return None if claimed is None else int(claimed)


def renew_lease(connection: Connection, run: str, model: str, token: int, ttl: int) -> bool:
    """Move the expiry to `ttl` from now; with 0 others may claim at once. False: another has taken over."""
    return _is_mine(connection, _renew_statement(connection.dialect.name), run, model, token, ttl=ttl)


def require_lease(connection: Connection, run: str, model: str, token: int) -> None:
    """Hold the lease's row until the end of the transaction.

    Raises
    ------
    LeaseLost
        if the token is no longer the lease's. An expired lease that nobody took over is still held.
    """
    if not _is_mine(connection, _HELD, run, model, token):
        raise LeaseLost(f'model "{model}" of run "{run}": token {token} was taken over by another process')


@lru_cache
def _claim_statement(dialect: str) -> ReturningInsert[int]:
    now, owner = clock_of(dialect), bindparam("of_owner", type_=Text)
    expires_at = now + _TTL
    statement = insert_of(dialect, leases).values(
        run=bindparam("of_run"), model=bindparam("of_model"), owner=owner, token=1, expires_at=expires_at
    )
    return statement.on_conflict_do_update(
        index_elements=["run", "model"],
        set_={"owner": owner, "token": leases.c.token + 1, "expires_at": expires_at},
        where=or_(leases.c.expires_at <= now, leases.c.owner == owner),
    ).returning(leases.c.token)


@lru_cache
def _renew_statement(dialect: str) -> Update:
    return _MINE.values(expires_at=clock_of(dialect) + _TTL)


def _is_mine(
    connection: Connection, statement: Update, run: str, model: str, token: int, **more: int
) -> bool:
    """Run an update of the lease; whether it is there."""
    key = {"of_run": run, "of_model": model, "of_token": token}
    return connection.execute(statement, key | more).rowcount == 1
