"""Notices on their way: written with the incidents that they tell of, claimed, delivered or given up."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, delete, func, select, update

from monitor.alerts.alert_messages import Notice
from monitor.alerts.incident_life import IncidentTurn
from monitor.alerts.report_notices import REPORT
from monitor.core.clock import DAY
from monitor.core.text import content_hash
from monitor.specs.stored_rows import SentNotice, WaitingNotice
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import database_now, insert_missing, put_rows
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import messages, outbox

KEPT = 30 * DAY  # after that, of what was told or given up nothing is kept: incidents are, for ever
_WAITS = outbox.c.delivered_at.is_(None) & outbox.c.given_up_at.is_(None)
_LONGEST_ERROR = 500
_AT_A_TIME = 1_000


def write_notices(connection: Connection, run: str, model: str, notices: Sequence[Notice]) -> None:
    """Put notices into the outbox, a row for each channel; what is there already stays as it is."""
    if not notices:
        return
    now = connection.scalar(select(database_now(connection)))
    rows = [
        {
            "key": content_hash(
                [run, model, notice.incident, notice.as_of, notice.kind, notice.severity, channel]
            ),
            "run": run,
            "model": model,
            "incident": notice.incident,
            "kind": str(notice.kind),
            "channel": channel,
            "as_of": int(notice.as_of),
            "payload": notice.payload,
            "written_at": now,
            "attempts": 0,
            "next_at": 0,
            "delivered_at": None,
            "given_up_at": None,
            "error": "",
        }
        for notice in notices
        for channel in notice.channels
    ]
    insert_missing(connection, outbox, rows)


@dataclass(frozen=True, slots=True)
class OutboxRepository(Repository):
    """A run's notices on their way. Times to wait are microseconds by the database's clock."""

    def read_waiting_notices(self, channel: str) -> list[WaitingNotice]:
        """What a channel has not taken yet, oldest first."""
        with read_transaction(self.engine) as connection:
            wait = (outbox.c.next_at - database_now(connection)).label("wait")
            order = outbox.c.as_of, outbox.c.model, outbox.c.incident, outbox.c.kind
            same = [messages.c[name] == outbox.c[name] for name in ("run", "model", "incident", "channel")]
            rows = connection.execute(
                select(outbox, wait, messages.c.message)
                .outerjoin(messages, and_(*same))
                .where(self._waiting_condition(channel))
                .order_by(*order)
            )
            with named_damage("table outbox"):
                return [_waiting_notice(row) for row in rows.mappings()]

    def read_sent_notices(self, model: str, incident: str) -> list[SentNotice]:
        """Notices of an incident that are still kept, in the order in which they were written."""
        query = (
            select(
                outbox.c.as_of, outbox.c.kind, outbox.c.channel, outbox.c.delivered_at, outbox.c.given_up_at
            )
            .where(outbox.c.run == self.run, outbox.c.model == model, outbox.c.incident == incident)
            .order_by(outbox.c.as_of, outbox.c.channel)
        )
        with read_transaction(self.engine) as connection:
            return [
                SentNotice(
                    as_of=row.as_of,
                    kind=row.kind,
                    channel=row.channel,
                    is_delivered=row.delivered_at is not None,
                    is_given_up=row.given_up_at is not None,
                )
                for row in connection.execute(query)
            ]

    def claim_notice(self, notice: WaitingNotice, wait: int) -> bool:
        """Have a notice for `wait` microseconds; False: another process has it, or it waits no more.

        One that is neither delivered nor put back is claimed again after that: at least once.
        """
        with write_transaction(self.engine) as connection:
            now = database_now(connection)
            untouched = outbox.c.attempts == notice.attempts, outbox.c.next_at <= now
            mine = update(outbox).where(outbox.c.key == notice.key, _WAITS, *untouched)
            claimed = mine.values(attempts=outbox.c.attempts + 1, next_at=now + wait)
            return connection.execute(claimed).rowcount == 1

    def note_message(self, notice: WaitingNotice, message: str) -> None:
        """Note by what the channel finds the message of the notice's incident."""
        with write_transaction(self.engine) as connection:
            row = {**self._incident_key(notice), "message": message}
            put_rows(connection, messages, [row])

    def note_delivered(self, notice: WaitingNotice) -> None:
        """Note that the channel has taken it, whoever sent it; what is over is edited no more."""
        with write_transaction(self.engine) as connection:
            if notice.kind in (IncidentTurn.RESOLVED, REPORT):
                of_incident = (messages.c[name] == key for name, key in self._incident_key(notice).items())
                connection.execute(delete(messages).where(*of_incident))
            taken = update(outbox).where(outbox.c.key == notice.key, outbox.c.delivered_at.is_(None))
            now = database_now(connection)
            connection.execute(taken.values(delivered_at=now, given_up_at=None, error=""))
            self._prune_notices(connection, notice.channel)

    def note_undelivered(self, notice: WaitingNotice, error: str, wait: int) -> None:
        """Note why it was not taken, unless another process has it now, and let it wait."""
        with write_transaction(self.engine) as connection:
            mine = outbox.c.key == notice.key, outbox.c.attempts == notice.attempts + 1
            later = database_now(connection) + wait
            put_back = update(outbox).where(*mine, _WAITS)
            connection.execute(put_back.values(error=error[:_LONGEST_ERROR], next_at=later))

    def give_up(self, channel: str, age: int) -> int:
        """Tell no more what was written so many microseconds ago; how many notices that were."""
        with read_transaction(self.engine) as connection:
            old = self._waiting_condition(channel) & (outbox.c.written_at < database_now(connection) - age)
            if not connection.execute(select(func.count()).select_from(outbox).where(old)).scalar_one():
                return 0
        with write_transaction(self.engine) as connection:
            gone = update(outbox).where(old).values(given_up_at=database_now(connection))
            self._prune_notices(connection, channel)
            return connection.execute(gone).rowcount

    def _incident_key(self, notice: WaitingNotice) -> dict[str, str]:
        own = {"run": self.run, "model": notice.model}
        return {**own, "incident": notice.incident, "channel": notice.channel}

    def _prune_notices(self, connection: Connection, channel: str) -> None:
        """Delete what was told, or given up, and written long ago; a bounded number at a time."""
        mine = (outbox.c.run == self.run) & (outbox.c.channel == channel) & ~_WAITS
        old = mine & (outbox.c.written_at < database_now(connection) - KEPT)
        oldest = select(outbox.c.key).where(old).order_by(outbox.c.as_of).limit(_AT_A_TIME)
        connection.execute(delete(outbox).where(outbox.c.key.in_(oldest)))

    def _waiting_condition(self, channel: str) -> ColumnElement[bool]:
        return (outbox.c.run == self.run) & (outbox.c.channel == channel) & _WAITS


def _waiting_notice(row: RowMapping) -> WaitingNotice:
    return WaitingNotice(
        key=row["key"],
        model=row["model"],
        incident=row["incident"],
        kind=row["kind"],
        channel=row["channel"],
        as_of=row["as_of"],
        payload=json.loads(row["payload"]),
        attempts=row["attempts"],
        wait=max(0, row["wait"]),
        message=row["message"] or "",
    )
