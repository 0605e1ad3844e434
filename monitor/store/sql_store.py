"""The store of one run: its repositories by subject, and the commit of a cycle, which is of many of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from monitor.alerts.alert_messages import Notice
from monitor.alerts.incident_life import KeptIncident
from monitor.alerts.lifecycle import Alert
from monitor.measures.measurement_row import MeasurementRow
from monitor.specs.stored_rows import HistoryEvent, KeptDay, LedgerEntry, ModelState, Provenance, WindowState
from monitor.specs.urls import sqlite_file
from monitor.store.alert_rows import AlertRepository, drop_alerts, write_alerts
from monitor.store.configuration_rows import ConfigurationRepository
from monitor.store.coordination.daemons import DaemonRepository
from monitor.store.coordination.leases import LeaseRepository
from monitor.store.coordination.outbox import OutboxRepository, write_notices
from monitor.store.coordination.trouble_rows import TroubleRepository
from monitor.store.event_rows import EventRepository, write_events
from monitor.store.incident_rows import IncidentRepository, write_incidents
from monitor.store.ledger_rows import LedgerRepository, append_days, append_entries
from monitor.store.measurements.charted_rows import ChartRepository
from monitor.store.measurements.current_measurements import CurrentRepository, replace_current
from monitor.store.measurements.measurement_snapshots import (
    SnapshotRepository,
    append_snapshots,
    prune_revisions,
)
from monitor.store.model_histories import HistoryRepository
from monitor.store.pane_rows import PaneRepository
from monitor.store.reference_rows import ReferenceRepository
from monitor.store.state_rows import StateRepository, write_state, write_windows


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleCommit:
    """All that the last transaction of a cycle writes."""

    state: ModelState  # the model's new state
    current: Sequence[MeasurementRow]  # replaces the model's current rows
    provenance: Provenance
    # (provenance, rows) appended; a key that is there already is left as it is.
    snapshots: Sequence[MeasurementRow]
    windows: Sequence[WindowState]  # states of kept windows, inserted or replaced
    # False: `current` holds, and replaces, figures of no window only: the next cycle goes on from them.
    whole: bool = True
    # events, entries, days: appended.
    events: Sequence[HistoryEvent] = ()
    entries: Sequence[LedgerEntry] = ()
    days: Sequence[KeptDay] = ()
    # alerts, dropped: inserted or replaced; deleted.
    alerts: Sequence[Alert] = ()
    dropped: Sequence[Alert] = ()
    incidents: Sequence[KeptIncident] = ()  # inserted or replaced
    notices: Sequence[Notice] = ()  # put into the outbox; one that is there already is left as it is
    # what is no first and no last revision goes, of windows that end at or after the first moment, if it was
    # kept before the second; None: all stays.
    pruned: tuple[int, int] | None = None


class SqlStore:
    """A run's part of the store's database. Safe to use from several threads.

    Parameters
    ----------
    schema
        version of the tables that this program knows; empty: not checked.
    """

    def __init__(self, engine: Engine, run: str, schema: str = "") -> None:
        self.engine, self.run, self.schema = engine, run, schema
        shared = (engine, run, schema)
        self.panes = PaneRepository(*shared)
        self.states = StateRepository(*shared)
        self.current = CurrentRepository(*shared)
        self.snapshots = SnapshotRepository(*shared)
        self.charts = ChartRepository(*shared)
        self.ledger = LedgerRepository(*shared)
        self.alerts = AlertRepository(*shared)
        self.incidents = IncidentRepository(*shared)
        self.events = EventRepository(*shared)
        self.references = ReferenceRepository(*shared)
        self.configurations = ConfigurationRepository(*shared)
        self.histories = HistoryRepository(*shared)
        self.leases = LeaseRepository(*shared)
        self.daemons = DaemonRepository(*shared)
        self.outbox = OutboxRepository(*shared)
        self.troubles = TroubleRepository(*shared)

    @property
    def file(self) -> Path | None:
        """The database's file; None: it is a server's, or in memory."""
        name = self.engine.url.database
        return None if not self.is_file_database or name in (None, ":memory:") else sqlite_file(str(name))

    @property
    def is_file_database(self) -> bool:
        """Whether the database is a file, whose locks die with their process; else a server's."""
        return self.engine.dialect.name == "sqlite"

    def with_run(self, run: str) -> "SqlStore":
        """The part of another run, by the same connections."""
        return SqlStore(self.engine, run, self.schema)

    def commit_cycle(self, model: str, commit: CycleCommit, *, token: int | None = None) -> None:
        """Write all of a cycle's results in one transaction; of the token see `Repository`."""
        as_of, owner = commit.provenance.as_of, (self.run, model)
        with self.leases.fenced_transaction(model, token) as connection:
            write_state(connection, *owner, commit.state)
            replace_current(connection, *owner, as_of, commit.current, whole=commit.whole)
            append_snapshots(connection, *owner, commit.provenance, commit.snapshots)
            write_windows(connection, *owner, commit.windows)
            write_events(connection, self.run, commit.events)
            append_entries(connection, *owner, commit.entries)
            append_days(connection, *owner, commit.days)
            drop_alerts(connection, *owner, commit.dropped)
            write_alerts(connection, *owner, commit.alerts)
            write_incidents(connection, *owner, commit.incidents)
            write_notices(connection, *owner, commit.notices)
            if commit.pruned is not None:
                prune_revisions(connection, *owner, *commit.pruned)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
