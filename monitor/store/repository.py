"""What the store's repositories share: a database, a run, and transactions that a lease's token fences."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, Update, bindparam, text, update

from monitor.core.errors import LeaseLost, StoreError
from monitor.store.store_connections import write_transaction
from monitor.store.tables.service_schema import leases

# a model's lease, as long as it has this token: nobody has taken it over
OWN_LEASE = update(leases).where(
    leases.c.run == bindparam("of_run"),
    leases.c.model == bindparam("of_model"),
    leases.c.token == bindparam("of_token"),
)
_HELD = OWN_LEASE.values(expires_at=leases.c.expires_at)
_SCHEMA = text("SELECT version_num FROM alembic_version")


@dataclass(frozen=True, slots=True)
class Repository:
    """A run's rows of one subject. Safe to use from several threads; every call is one transaction.

    What the database refuses is a `StoreError`. What a cycle writes bears the token of the model's lease: the
    first statement of each transaction checks it, and where it is no longer the lease's, nothing is written
    and `LeaseLost` is raised. None: unchecked.
    """

    engine: Engine = field(repr=False)
    run: str
    schema: str = ""  # version of the tables that this program knows; empty: not checked

    @contextmanager
    def fenced_transaction(self, model: str, token: int | None) -> Iterator[Connection]:
        """Transaction that writes only as long as the token is the model's lease, which it holds to its end.

        Raises
        ------
        LeaseLost
            if the token is no longer the lease's. An expired lease that nobody took over is still held.
        StoreError
            if the store was migrated meanwhile.
        """
        with write_transaction(self.engine) as connection:
            if token is not None:
                if not update_lease(connection, _HELD, self.run, model, token):
                    lease = f'model "{model}" of run "{self.run}": token {token}'
                    raise LeaseLost(f"{lease} was taken over by another process")
                if self.schema and (version := read_schema(connection)) != self.schema:
                    raise StoreError(
                        f"the store was migrated to version {version}, this process knows {self.schema}: "
                        "update it"
                    )
            yield connection


def update_lease(
    connection: Connection, statement: Update, run: str, model: str, token: int, **more: int
) -> bool:
    """Run an update of `OWN_LEASE`; whether it is there."""
    key = {"of_run": run, "of_model": model, "of_token": token}
    return connection.execute(statement, key | more).rowcount == 1


def read_schema(connection: Connection) -> str:
    """Version of the store's tables."""
    return str(connection.execute(_SCHEMA).scalar_one())
