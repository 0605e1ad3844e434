"""Which process runs a model's cycles: a row, its expiry by the database's clock, and a fencing token."""

from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import BigInteger, Connection, Text, Update, bindparam, or_
from sqlalchemy.sql.dml import ReturningInsert

from monitor.store.dialect_statements import clock_of, insert_of
from monitor.store.repository import OWN_LEASE, Repository, update_lease
from monitor.store.store_connections import write_transaction
from monitor.store.tables.service_schema import leases

_TTL = bindparam("ttl", type_=BigInteger)


@dataclass(frozen=True, slots=True)
class LeaseRepository(Repository):
    """Leases of a run's models. The token of one grows with every claim."""

    def claim_lease(self, model: str, owner: str, ttl: int) -> int | None:
        """Token of the model's lease for `ttl` microseconds, or None while another owner has it."""
        with write_transaction(self.engine) as connection:
            return take_lease(connection, self.run, model, owner, ttl)

    def renew_lease(self, model: str, token: int, ttl: int) -> bool:
        """Move the lease's expiry to `ttl` from now; False if it was taken over."""
        with write_transaction(self.engine) as connection:
            statement = _renew_statement(connection.dialect.name)
            return update_lease(connection, statement, self.run, model, token, ttl=ttl)

    def release_lease(self, model: str, token: int) -> bool:
        """Give the lease back, others may claim it at once; False if it was taken over."""
        return self.renew_lease(model, token, 0)


def take_lease(connection: Connection, run: str, model: str, owner: str, ttl: int) -> int | None:
    """Claim a lease within a transaction that does more."""
    mine = {"of_run": run, "of_model": model, "of_owner": owner, "ttl": ttl}
    claimed = connection.execute(_claim_statement(connection.dialect.name), mine).scalar()
    return None if claimed is None else int(claimed)


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
    return OWN_LEASE.values(expires_at=clock_of(dialect) + _TTL)
