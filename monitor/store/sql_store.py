"""The store of one run: what the pipeline asks for, each call one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine

from monitor.alerts.lifecycle import Alert
from monitor.core.clock import LAST
from monitor.measures.measurement_row import MeasurementRow
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.protocols import CycleCommit
from monitor.specs.stored_rows import (
    ChartedRows,
    FoldedPanes,
    HistoryEvent,
    KeptConfiguration,
    KeptDay,
    KeptReference,
    LedgerEntry,
    ModelState,
    PaneFacts,
    Provenance,
    WaitingPane,
    WindowState,
)
from monitor.specs.urls import sqlite_file
from monitor.store import (
    alert_rows,
    configuration_rows,
    entry_rows,
    event_rows,
    model_histories,
    pane_rows,
    reference_rows,
    state_rows,
)
from monitor.store.coordination import daemons, leases, outbox
from monitor.store.measurements import charted_rows, current_measurements, measurement_snapshots
from monitor.store.pane_rows import note_waiting, save_parts, waiting_panes
from monitor.store.store_connections import read_transaction, write_transaction

if TYPE_CHECKING:  # what only reads measurements does without NumPy and Arrow
    from monitor.records.counting import Counting
    from monitor.records.labels.label_differences import LabelDifferences
    from monitor.records.reference import Reference


@dataclass(frozen=True, slots=True)
class SqlStore:
    """A run's part of the store's database. Safe to use from several threads.

    Every call is one transaction. What the database refuses is a `StoreError`. Where a token is given that is
    no longer the model's lease, nothing is written and `LeaseLost` is raised.
    """

    engine: Engine = field(repr=False)
    run: str
    schema: str = ""  # version of the tables that this program knows; empty: not checked

    @property
    def file(self) -> Path | None:
        """The database's file; None: it is a server's, or in memory."""
        name = self.engine.url.database
        return None if not self.in_one_file or name in (None, ":memory:") else sqlite_file(str(name))

    @property
    def in_one_file(self) -> bool:
        """Whether the database is a file, whose locks die with their process; else a server's."""
        return self.engine.dialect.name == "sqlite"

    def read_state(self, model: str) -> ModelState:
        """State of a model; empty before its first cycle."""
        with read_transaction(self.engine) as connection:
            return state_rows.read_state(connection, self.run, model)

    def note_waiting(
        self, model: str, state: ModelState, panes: Iterable[WaitingPane], *, token: int | None = None
    ) -> None:
        """Move the cursors and remember the dirty panes, in one transaction."""
        with self._fenced_transaction(model, token) as connection:
            state_rows.write_state(connection, self.run, model, state)
            note_waiting(connection, self.run, model, panes)

    def read_waiting_panes(self, model: str) -> list[WaitingPane]:
        """Panes that wait to be counted, longest waiting first."""
        with read_transaction(self.engine) as connection:
            return waiting_panes(connection, self.run, model)

    def read_pane_facts(self, model: str, since: int) -> list[PaneFacts]:
        """Facts of the stored pane parts that start at or after `since`."""
        with read_transaction(self.engine) as connection:
            return pane_rows.read_pane_facts(connection, self.run, model, since)

    def save_panes(
        self,
        model: str,
        part: PaneHalf,
        panes: Sequence[PanePart],
        *,
        layout: str,
        mapping: str = "",
        as_of: int,
        writes: int | None = None,
        token: int | None = None,
    ) -> None:
        """Store counted parts and take them off the waiting list, in one transaction."""
        kept: dict[str, Any] = {"layout": layout, "mapping": mapping, "as_of": as_of, "writes": writes}
        with self._fenced_transaction(model, token) as connection:
            save_parts(connection, self.run, model, part, panes, **kept)

    def read_differences(self, model: str, layout: str) -> tuple[int, list[LabelDifferences]]:
        """How often labels parts were written; what was added to those of a layout and is not in them yet."""
        with read_transaction(self.engine) as connection:
            found = [
                each for of, each in pane_rows.read_differences(connection, self.run, model) if of == layout
            ]
            return pane_rows.label_writes(connection, self.run, model), found

    def add_differences(
        self, model: str, new: LabelDifferences, layout: str, *, writes: int, token: int | None = None
    ) -> None:
        """Keep what labels have added to panes, as the write of labels parts with this number."""
        with self._fenced_transaction(model, token) as connection:
            pane_rows.add_differences(connection, self.run, model, new, layout, writes=writes)

    def fold_panes(self, model: str, folded: FoldedPanes, *, writes: int, token: int | None = None) -> None:
        """Store labels parts to which all differences were added."""
        with self._fenced_transaction(model, token) as connection:
            pane_rows.write_folded_panes(connection, self.run, model, folded, writes=writes)

    def drop_panes(self, model: str, *, token: int | None = None) -> None:
        """Delete a model's panes, and what waits: they are of another width."""
        with self._fenced_transaction(model, token) as connection:
            pane_rows.drop_panes(connection, self.run, model)

    def load_panes(
        self, model: str, part: PaneHalf, starts: Sequence[int], counting: Counting
    ) -> dict[int, PanePart]:
        """Stored parts that were counted on the layout of `counting`, by start."""
        with read_transaction(self.engine) as connection:
            return pane_rows.load_parts(connection, self.run, model, part, starts, counting)

    def load_blobs(
        self, model: str, part: PaneHalf, starts: Sequence[int], counting: Counting
    ) -> dict[int, bytes]:
        """The same parts as they are stored: counters that nobody has unpacked."""
        with read_transaction(self.engine) as connection:
            return pane_rows.load_blobs(connection, self.run, model, part, starts, counting)

    def read_windows(self, model: str, since: int) -> list[WindowState]:
        """States of kept windows that end at or after `since`, by window and end."""
        with read_transaction(self.engine) as connection:
            return state_rows.read_windows(connection, self.run, model, since)

    def read_last_performance(
        self, model: str, window: str, ends: Sequence[int]
    ) -> dict[tuple[int, str, str], MeasurementRow]:
        """Rows of the last kept performance of the whole at the given ends, by (end, measure, subject)."""
        with read_transaction(self.engine) as connection:
            return measurement_snapshots.last_kept(connection, self.run, model, window, ends)

    def commit_cycle(self, model: str, commit: CycleCommit, *, token: int | None = None) -> None:
        """Write all of a cycle's results in one transaction."""
        with self._fenced_transaction(model, token) as connection:
            as_of = commit.provenance.as_of
            state_rows.write_state(connection, self.run, model, commit.state)
            current_measurements.replace_current(
                connection, self.run, model, as_of, commit.current, whole=commit.whole
            )
            measurement_snapshots.append_snapshots(
                connection, self.run, model, commit.provenance, commit.snapshots
            )
            state_rows.write_windows(connection, self.run, model, commit.windows)
            event_rows.append_events(connection, self.run, commit.events)
            entry_rows.append_entries(connection, self.run, model, commit.entries)
            entry_rows.append_days(connection, self.run, model, commit.days)
            alert_rows.drop_alerts(connection, self.run, model, commit.dropped)
            alert_rows.write_alerts(connection, self.run, model, commit.alerts)
            outbox.write_notices(connection, self.run, model, commit.notices)
            if commit.pruned is not None:
                measurement_snapshots.prune_revisions(connection, self.run, model, *commit.pruned)

    def read_entries(self, model: str) -> list[LedgerEntry]:
        """What has entered the sequential tests of a model, by comparison, key and start."""
        with read_transaction(self.engine) as connection:
            return entry_rows.read_entries(connection, self.run, model)

    def read_days(
        self, model: str, part: PaneHalf, key: str, newest: int, until: int = LAST, due: int = LAST
    ) -> list[KeptDay]:
        """The newest days of a part up to a moment, and due by one, judged under a key, oldest first."""
        with read_transaction(self.engine) as connection:
            return entry_rows.read_days(connection, self.run, model, part, key, newest, until, due)

    def read_alerts(
        self, model: str | None = None, *, ended: bool = False, as_of: int | None = None
    ) -> list[tuple[str, Alert]]:
        """(model, alert): pending or firing now, or as of a moment; `ended`: those over by then too."""
        with read_transaction(self.engine) as connection:
            return alert_rows.read_alerts(connection, self.run, model, ended=ended, as_of=as_of)

    def read_current(
        self, model: str | None = None, measures: Collection[str] | None = None
    ) -> list[tuple[str, int, MeasurementRow]]:
        """(model, as of, row) of the current measurements; None: of any model, any measure."""
        with read_transaction(self.engine) as connection:
            return current_measurements.read_current(connection, self.run, model, measures)

    def read_snapshot_rows(
        self,
        model: str | None = None,
        window: str | None = None,
        measure: str | None = None,
        subject: str | None = None,
        segment: str | None = None,
        version: str | None = None,
        ends: tuple[int | None, int | None] = (None, None),
        as_of: int | None = None,
    ) -> list[tuple[str, int, MeasurementRow]]:
        """(model, as of, row) of the kept measurements, by key and revision.

        Parameters
        ----------
        model, window, measure, subject, segment, version
            None: any. The empty segment or version is the whole.
        ends
            bounds (after, up to) of the windows' ends.
        as_of
            None: all revisions; else of each window, measure, … the newest at or before this moment. A
            settled row takes the place of the provisional ones before it.
        """
        wanted = {"model": model, "window": window, "measure": measure}
        wanted |= {"subject": subject, "segment": segment, "version": version}
        filters = {name: value for name, value in wanted.items() if value is not None}
        with read_transaction(self.engine) as connection:
            return measurement_snapshots.read_snapshot_rows(connection, self.run, filters, as_of, ends)

    def read_charted_rows(self, model: str, which: ChartedRows) -> list[tuple[int, MeasurementRow]]:
        """(as of, row) of the kept measurements of one window's ends, by end and as of."""
        with read_transaction(self.engine) as connection:
            return charted_rows.read_charted_rows(connection, self.run, model, which)

    def read_charted_values(
        self, model: str, which: ChartedRows
    ) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        """Newest values alone of the same measurements, by measure, subject and end."""
        with read_transaction(self.engine) as connection:
            return charted_rows.read_charted_values(connection, self.run, model, which)

    def stream_snapshots(
        self,
        filters: dict[str, str],
        *,
        ends: tuple[int | None, int | None] = (None, None),
        as_of: int | None = None,
    ) -> Iterator[Sequence[Sequence[Any]]]:
        """(model, as of, columns of a row) of the kept measurements, some thousand at a time.

        Parameters
        ----------
        filters, as_of
            as in `history`.
        ends
            bounds (after, up to) of the windows' ends.
        """
        with read_transaction(self.engine) as connection:
            yield from measurement_snapshots.stream_snapshots(
                connection, self.run, filters, ends=ends, as_of=as_of
            )

    def kept_of(
        self, model: str, measures: Iterable[str], span: tuple[int, int]
    ) -> Iterator[tuple[int, MeasurementRow]]:
        """(as of, row) of some measures that were kept within a span, in the order of as of."""
        with read_transaction(self.engine) as connection:
            yield from measurement_snapshots.of_measures(connection, self.run, model, measures, span)

    def read_provenance(
        self, model: str | None = None, last: int | None = None
    ) -> list[tuple[str, Provenance]]:
        """(model, provenance) of what is kept, by model and as of; `last`: the newest by a moment alone."""
        with read_transaction(self.engine) as connection:
            return measurement_snapshots.read_provenances(connection, self.run, model, last)

    def read_reference(self, key: str) -> Reference | None:
        """A kept reference by the hash of its specification."""
        with read_transaction(self.engine) as connection:
            return reference_rows.read_reference(connection, key)

    def reference_keys(self, model: str) -> list[str]:
        """Keys of a model's kept references, oldest first."""
        with read_transaction(self.engine) as connection:
            return reference_rows.list_reference_keys(connection, model)

    def reference_facts(self, key: str) -> KeptReference | None:
        """What is known of a kept reference beside its counters."""
        with read_transaction(self.engine) as connection:
            return reference_rows.describe_reference(connection, key)

    def save_reference(self, key: str, model: str, reference: Reference, made_of: str = "") -> None:
        """Keep a reference; one that is kept already stays as it is."""
        with write_transaction(self.engine) as connection:
            reference_rows.keep_reference(connection, key, model, reference, made_of)

    def read_configuration(self, key: str) -> KeptConfiguration | None:
        """Return the configuration of a hash, if it is kept."""
        with read_transaction(self.engine) as connection:
            return configuration_rows.read_configuration(connection, key)

    def save_configuration(self, key: str, model: str, content: str) -> None:
        """Keep a configuration; one that is kept already stays as it is."""
        with write_transaction(self.engine) as connection:
            configuration_rows.keep_configuration(connection, key, model, content)

    def append_events(self, happened: Sequence[HistoryEvent]) -> None:
        """Keep events, in one transaction."""
        with write_transaction(self.engine) as connection:
            event_rows.append_events(connection, self.run, happened)

    def read_events(self, model: str | None = None, kind: str | None = None) -> list[HistoryEvent]:
        """Events in the order in which they were kept; None: of any model, of any kind."""
        with read_transaction(self.engine) as connection:
            return event_rows.read_events(connection, self.run, model=model, kind=kind)

    def newest_event(self) -> int:
        """Number of the run's newest event; 0: there is none."""
        with read_transaction(self.engine) as connection:
            return event_rows.newest_event_number(connection, self.run)

    def list_runs(self, model: str) -> list[str]:
        """Runs in which a model has a history."""
        with read_transaction(self.engine) as connection:
            return model_histories.list_runs(connection, model)

    def rename_histories(self, renamed: Sequence[tuple[HistoryEvent, Mapping[str, str]]]) -> None:
        """Hand histories of subjects over to their models, with new keys of references by their old ones."""
        with write_transaction(self.engine) as connection:
            for event, keys in renamed:
                model_histories.rename_history(connection, event.subject, event.model, keys)
            event_rows.append_events(connection, self.run, [event for event, _ in renamed])

    def forget_history(self, event: HistoryEvent) -> dict[str, int]:
        """Delete the history of the event's model, in one transaction; how many rows, by table."""
        with write_transaction(self.engine) as connection:
            gone = model_histories.forget_history(connection, event.model)
            event_rows.append_events(connection, self.run, [replace(event, detail=json.dumps(gone))])
        return gone

    def claim_lease(self, model: str, owner: str, ttl: int) -> int | None:
        """Token of the model's lease for `ttl` microseconds, or None while another owner has it."""
        with write_transaction(self.engine) as connection:
            return leases.claim_lease(connection, self.run, model, owner, ttl)

    def renew_lease(self, model: str, token: int, ttl: int) -> bool:
        """Move the lease's expiry to `ttl` from now; False if it was taken over."""
        with write_transaction(self.engine) as connection:
            return leases.renew_lease(connection, self.run, model, token, ttl)

    def release_lease(self, model: str, token: int) -> bool:
        """Give the lease back; False if it was taken over."""
        return self.renew_lease(model, token, 0)

    def hold_run(self, owner: str, ttl: int) -> int | None:
        """Token of the whole run, or None while a daemon or another such process has it."""
        with write_transaction(self.engine) as connection:
            return daemons.hold_run(connection, self.run, owner, ttl)

    def list_holders(self, model: str) -> list[tuple[str, int]]:
        """Owners of the model's lease, or with no name of the run, and when it expires."""
        with read_transaction(self.engine) as connection:
            return daemons.list_holders(connection, self.run, model)

    def join_run(
        self, owner: str, config: str, ttl: int, *, alone: bool = False
    ) -> tuple[int, dict[str, int] | None] | None:
        """Generation of a daemon's configuration, of a new one the last cycles; None: another has the run."""
        with write_transaction(self.engine) as connection:
            return daemons.join_run(connection, self.run, owner, config, ttl, alone=alone)

    def inherit_run(self, owner: str) -> None:
        """Have a run whose file's lock was taken; what killed owners of it left is free."""
        with write_transaction(self.engine) as connection:
            daemons.inherit_run(connection, self.run, owner)

    def note_heartbeat(self, owner: str, config: str, generation: int, ttl: int) -> int:
        """See `store.coordination.daemons.beat`."""
        with write_transaction(self.engine) as connection:
            return daemons.note_heartbeat(connection, self.run, owner, config, generation, ttl)

    def leave_run(self, owner: str) -> None:
        """Say that a daemon has ended."""
        with write_transaction(self.engine) as connection:
            daemons.leave_run(connection, self.run, owner)

    def why_idle(self, generation: int) -> daemons.IdleReason | None:
        """Why a daemon claims nothing now; None: it may claim."""
        with read_transaction(self.engine) as connection:
            return daemons.why_idle(connection, self.run, generation, self.schema)

    def read_progress(self) -> dict[str, tuple[int | None, str, int, bool, int]]:
        """By model the last cycle's as of, owner and token, whether it is released, when it worked last."""
        with read_transaction(self.engine) as connection:
            return daemons.read_progress(connection, self.run)

    def last_heard(self) -> dict[str, int]:
        """When the daemon of a model's last cycle was heard of last, by model; none while any daemon runs."""
        with read_transaction(self.engine) as connection:
            return daemons.read_last_heartbeats(connection, self.run)

    def is_replaying(self, grace: int) -> bool:
        """Whether a process that is no daemon has the run, and worked within so many microseconds."""
        with read_transaction(self.engine) as connection:
            return daemons.is_replaying(connection, self.run, grace)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _fenced_transaction(self, model: str, token: int | None) -> Iterator[Connection]:
        """Transaction that writes only as long as the token is the model's lease."""
        with write_transaction(self.engine) as connection:
            if token is not None:
                leases.require_lease(connection, self.run, model, token)
                if self.schema:
                    daemons.require_schema(connection, self.schema)
            yield connection
