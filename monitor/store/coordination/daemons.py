"""Which daemons share a run: a row each, and which of their configurations is the newest."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, case, delete, select, union, update

from monitor.core.clock import DAY
from monitor.store.coordination.leases import take_lease
from monitor.store.dialect_statements import database_now, insert_statement, put_rows
from monitor.store.repository import Repository, read_schema
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import daemons, models
from monitor.store.tables.service_schema import leases as held

WHOLE_RUN = ""  # in place of a model's name: the lease of the one process that has the run for itself
_KEPT = 30 * DAY  # a configuration that nobody used for so long is new when it comes back


class IdleReason(StrEnum):
    """Why a daemon claims nothing."""

    CONFIGURATION = "configuration"
    SCHEMA = "schema"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class DaemonRepository(Repository):
    """The processes that work on a run."""

    def join_run(
        self, owner: str, config: str, ttl: int, *, alone: bool = False
    ) -> tuple[int, dict[str, int] | None] | None:
        """Join a run, unless another process has it for itself.

        Parameters
        ----------
        alone
            the daemon has the run for itself: what is left of others are rows of dead ones, and their leases.

        Returns
        -------
        tuple or None
            generation of the daemon's configuration; of a new one the as of of the last cycle by model:
            nobody has run a later one by this configuration. None: another process has the run.
        """
        with write_transaction(self.engine) as connection:
            _lock_run(connection, self.run)
            if _is_held(connection, self.run):
                return None
            now = database_now(connection)
            others = daemons.c.run == self.run, daemons.c.owner != owner
            if alone:
                _take_over_run(connection, self.run, owner)
                connection.execute(
                    update(daemons).where(*others, daemons.c.expires_at > now).values(expires_at=now)
                )
            connection.execute(delete(daemons).where(*others, daemons.c.expires_at < now - _KEPT))
            configurations = connection.execute(
                select(daemons.c.config, daemons.c.generation, daemons.c.expires_at > now).where(
                    daemons.c.run == self.run
                )
            ).all()
            generation = generation_of(
                config, [(other, number, bool(alive)) for other, number, alive in configurations]
            )
            _put_heartbeat(connection, self.run, owner, config, generation, ttl)
            if any(number == generation for _, number, _ in configurations):
                return generation, None
            cycles = select(models.c.model, models.c.as_of).where(
                models.c.run == self.run, models.c.as_of.is_not(None)
            )
            return generation, {row.model: row.as_of for row in connection.execute(cycles)}

    def inherit_run(self, owner: str) -> None:
        """Note who has a run by the lock on its file, and free the cycles of those who had it: they died.

        A cycle by hand needs no lock: it goes on.
        """
        with write_transaction(self.engine) as connection:
            _take_over_run(connection, self.run, owner)

    def note_heartbeat(self, owner: str, config: str, generation: int, ttl: int) -> int:
        """Say that a daemon lives, for `ttl` microseconds more; returns what the database's clock says."""
        with write_transaction(self.engine) as connection:
            return _put_heartbeat(connection, self.run, owner, config, generation, ttl)

    def leave_run(self, owner: str) -> None:
        """Say that a daemon has ended; its configuration is remembered."""
        with write_transaction(self.engine) as connection:
            now = database_now(connection)
            connection.execute(
                update(daemons)
                .where(daemons.c.run == self.run, daemons.c.owner == owner)
                .values(expires_at=now)
            )

    def hold_run(self, owner: str, ttl: int) -> int | None:
        """Token of the whole run for one process, or None while a daemon or another such process has it."""
        with write_transaction(self.engine) as connection:
            _lock_run(connection, self.run)
            alive = select(daemons.c.owner).where(
                daemons.c.run == self.run, daemons.c.expires_at > database_now(connection)
            )
            if connection.execute(alive.limit(1)).first() is not None:
                return None
            return take_lease(connection, self.run, WHOLE_RUN, owner, ttl)

    def list_holders(self, model: str) -> list[tuple[str, int]]:
        """Who has a model's lease, or the run, and when that expires unless it is renewed.

        A run in a file is its last owner's: no expiry but that of the file's lock.
        """
        with read_transaction(self.engine) as connection:
            now, in_file = database_now(connection), connection.dialect.name == "sqlite"
            leased = select(held.c.owner, held.c.expires_at).where(
                held.c.run == self.run, held.c.model == model, held.c.owner != ""
            )
            valid = leased if in_file else leased.where(held.c.expires_at > now)
            sharing = select(daemons.c.owner, daemons.c.expires_at).where(
                daemons.c.run == self.run, daemons.c.expires_at > now
            )
            owners = connection.execute(valid).all()
            if not owners and model == WHOLE_RUN:
                owners = connection.execute(sharing.order_by(daemons.c.owner)).all()
            return [(owner, int(expires_at)) for owner, expires_at in owners]

    def why_idle(self, generation: int) -> IdleReason | None:
        """Why a daemon claims nothing now; None: it may claim."""
        with read_transaction(self.engine) as connection:
            if read_schema(connection) != self.schema:
                return IdleReason.SCHEMA
            newer = select(daemons.c.owner).where(
                daemons.c.run == self.run,
                daemons.c.generation > generation,
                daemons.c.expires_at > database_now(connection),
            )
            if connection.execute(newer.limit(1)).first() is not None:
                return IdleReason.CONFIGURATION
            return IdleReason.HELD if _is_held(connection, self.run) else None

    def read_progress(self) -> dict[str, tuple[int | None, str, int, bool, int]]:
        """By model: the last cycle's as of, owner and token, whether it is released, when it worked last.

        That is the lease's expiry, of a daemon that lives: when it was released, or until when a cycle that
        goes on has it. 0: the last owner is none, or has died.
        """
        with read_transaction(self.engine) as connection:
            now = database_now(connection)
            mine = (
                (daemons.c.run == held.c.run)
                & (daemons.c.owner == held.c.owner)
                & (daemons.c.expires_at > now)
            )
            rows = connection.execute(
                select(
                    models.c.model,
                    models.c.as_of,
                    held.c.owner,
                    held.c.token,
                    held.c.expires_at <= now,
                    case((daemons.c.owner.is_not(None), held.c.expires_at), else_=0),
                )
                .outerjoin(held, (held.c.run == models.c.run) & (held.c.model == models.c.model))
                .outerjoin(daemons, mine)
                .where(models.c.run == self.run)
            )
            return {
                model: (as_of, owner or "", token or 0, bool(released), worked or 0)
                for model, as_of, owner, token, released, worked in rows
            }

    def read_last_heartbeats(self) -> dict[str, int]:
        """When the daemon of a model's last cycle was heard of last, by model; none while any daemon runs.

        A model whose last cycle was none of a daemon's is left out.
        """
        with read_transaction(self.engine) as connection:
            others = daemons.alias()
            alive = select(others.c.owner).where(
                others.c.run == self.run, others.c.expires_at > database_now(connection)
            )
            last = select(held.c.model, daemons.c.expires_at).join(
                daemons, (daemons.c.run == held.c.run) & (daemons.c.owner == held.c.owner)
            )
            rows = connection.execute(
                last.where(held.c.run == self.run, held.c.model != WHOLE_RUN, ~alive.exists())
            )
            return {model: int(expires_at) for model, expires_at in rows}

    def is_replaying(self, grace: int) -> bool:
        """Whether a process that is no daemon has the run for itself and lives, as a replay does.

        A run in a file is told by the leases of its models: between two cycles the last one ended just now.

        Parameters
        ----------
        grace
            microseconds: so long ago a cycle of such a process may have ended.
        """
        with read_transaction(self.engine) as connection:
            if connection.dialect.name != "sqlite":
                return _is_held(connection, self.run)
            now = database_now(connection)
            holder = select(held.c.owner).where(
                held.c.run == self.run, held.c.model == WHOLE_RUN, held.c.owner != ""
            )
            alive = select(daemons.c.owner).where(daemons.c.run == self.run, daemons.c.expires_at > now)
            worked = select(held.c.owner).where(
                held.c.run == self.run,
                held.c.owner == holder.scalar_subquery(),
                held.c.owner.not_in(alive),
                held.c.expires_at > now - grace,
            )
            return connection.execute(worked.limit(1)).first() is not None


def generation_of(config: str, configurations: Sequence[tuple[str, int, bool]]) -> int:
    """Generation of a configuration that comes into use.

    It is the newest one, unless it was in use before one that a daemon still uses: an old file that is
    started again does not displace a newer one, but comes back once nobody uses that.

    >>> generation_of("a", [("a", 1, True)]), generation_of("b", [("a", 1, True)])
    (1, 2)
    >>> generation_of("a", [("a", 1, False), ("b", 2, True)])
    1
    >>> generation_of("a", [("a", 1, False), ("b", 2, False)])
    3

    `configurations`: configuration, generation, and whether a daemon uses it now.
    """
    own = max((generation for other, generation, _ in configurations if other == config), default=0)
    newest = max((generation for _, generation, _ in configurations), default=0)
    if own and own == newest:
        return own
    if own and any(alive and generation > own for _, generation, alive in configurations):
        return own
    return newest + 1


def _take_over_run(connection: Connection, run: str, owner: str) -> None:
    _lock_run(connection, run)
    now, whole = database_now(connection), (held.c.run == run, held.c.model == WHOLE_RUN)
    before = union(select(daemons.c.owner).where(daemons.c.run == run), select(held.c.owner).where(*whole))
    died = held.c.run == run, held.c.owner.in_(before), held.c.owner != owner, held.c.expires_at > now
    connection.execute(update(held).where(*died).values(expires_at=now))
    connection.execute(update(held).where(*whole).values(owner=owner))


def _put_heartbeat(
    connection: Connection, run: str, owner: str, config: str, generation: int, ttl: int
) -> int:
    now = int(connection.execute(select(database_now(connection))).scalar_one())
    row = {"run": run, "owner": owner, "config": config, "generation": generation, "expires_at": now + ttl}
    put_rows(connection, daemons, [row])
    return now


def _lock_run(connection: Connection, run: str) -> None:
    """Let no other process join or take the run until the end of the transaction."""
    statement = insert_statement(connection, held).values(
        run=run, model=WHOLE_RUN, owner="", token=0, expires_at=0
    )
    locked = statement.on_conflict_do_update(index_elements=["run", "model"], set_={"token": held.c.token})
    connection.execute(locked)


def _is_held(connection: Connection, run: str) -> bool:
    taken = select(held.c.owner).where(
        held.c.run == run, held.c.model == WHOLE_RUN, held.c.expires_at > database_now(connection)
    )
    return connection.execute(taken).first() is not None
