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
from monitor.measures.rows import MeasurementRow
from monitor.records.pane import PanePart, Part
from monitor.specs.protocols import Commit
from monitor.specs.rows import (
    Day,
    Drawn,
    Entry,
    Event,
    FoldedPanes,
    KeptConfiguration,
    KeptReference,
    ModelState,
    PaneFacts,
    Provenance,
    WaitingPane,
    WindowState,
)
from monitor.specs.urls import sqlite_file
from monitor.store import alerts, configurations, entries, events, histories, panes, references, states
from monitor.store.connections import reading, writing
from monitor.store.coordination import daemons, leases, outbox
from monitor.store.measurements import current, drawn, snapshots
from monitor.store.panes import note_waiting, save_parts, waiting_panes

if TYPE_CHECKING:  # what only reads measurements does without NumPy and Arrow
    from monitor.records.counting import Counting
    from monitor.records.labels.differences import Differences
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

    def state(self, model: str) -> ModelState:
        """State of a model; empty before its first cycle."""
        with reading(self.engine) as connection:
            return states.read(connection, self.run, model)

    def note_waiting(
        self, model: str, state: ModelState, panes: Iterable[WaitingPane], *, token: int | None = None
    ) -> None:
        """Move the cursors and remember the dirty panes, in one transaction."""
        with self._fenced(model, token) as connection:
            states.write(connection, self.run, model, state)
            note_waiting(connection, self.run, model, panes)

    def waiting(self, model: str) -> list[WaitingPane]:
        """Panes that wait to be counted, longest waiting first."""
        with reading(self.engine) as connection:
            return waiting_panes(connection, self.run, model)

    def facts(self, model: str, since: int) -> list[PaneFacts]:
        """Facts of the stored pane parts that start at or after `since`."""
        with reading(self.engine) as connection:
            return panes.facts(connection, self.run, model, since)

    def save_panes(
        self,
        model: str,
        part: Part,
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
        with self._fenced(model, token) as connection:
            save_parts(connection, self.run, model, part, panes, **kept)

    def differences(self, model: str, layout: str) -> tuple[int, list[Differences]]:
        """How often labels parts were written; what was added to those of a layout and is not in them yet."""
        with reading(self.engine) as connection:
            found = [each for of, each in panes.read_differences(connection, self.run, model) if of == layout]
            return panes.label_writes(connection, self.run, model), found

    def add_differences(
        self, model: str, new: Differences, layout: str, *, writes: int, token: int | None = None
    ) -> None:
        """Keep what labels have added to panes, as the write of labels parts with this number."""
        with self._fenced(model, token) as connection:
            panes.add_differences(connection, self.run, model, new, layout, writes=writes)

    def fold_panes(self, model: str, folded: FoldedPanes, *, writes: int, token: int | None = None) -> None:
        """Store labels parts to which all differences were added."""
        with self._fenced(model, token) as connection:
            panes.fold(connection, self.run, model, folded, writes=writes)

    def drop_panes(self, model: str, *, token: int | None = None) -> None:
        """Delete a model's panes, and what waits: they are of another width."""
        with self._fenced(model, token) as connection:
            panes.clear(connection, self.run, model)

    def load_panes(
        self, model: str, part: Part, starts: Sequence[int], counting: Counting
    ) -> dict[int, PanePart]:
        """Stored parts that were counted on the layout of `counting`, by start."""
        with reading(self.engine) as connection:
            return panes.load(connection, self.run, model, part, starts, counting)

    def load_blobs(
        self, model: str, part: Part, starts: Sequence[int], counting: Counting
    ) -> dict[int, bytes]:
        """The same parts as they are stored: counters that nobody has unpacked."""
        with reading(self.engine) as connection:
            return panes.load_blobs(connection, self.run, model, part, starts, counting)

    def windows(self, model: str, since: int) -> list[WindowState]:
        """States of kept windows that end at or after `since`, by window and end."""
        with reading(self.engine) as connection:
            return states.read_windows(connection, self.run, model, since)

    def last_kept(
        self, model: str, window: str, ends: Sequence[int]
    ) -> dict[tuple[int, str, str], MeasurementRow]:
        """Rows of the last kept performance of the whole at the given ends, by (end, measure, subject)."""
        with reading(self.engine) as connection:
            return snapshots.last_kept(connection, self.run, model, window, ends)

    def commit(self, model: str, commit: Commit, *, token: int | None = None) -> None:
        """Write all of a cycle's results in one transaction."""
        with self._fenced(model, token) as connection:
            as_of = commit.provenance.as_of
            states.write(connection, self.run, model, commit.state)
            current.replace(connection, self.run, model, as_of, commit.current, whole=commit.whole)
            snapshots.append(connection, self.run, model, commit.provenance, commit.snapshots)
            states.write_windows(connection, self.run, model, commit.windows)
            events.append(connection, self.run, commit.events)
            entries.append(connection, self.run, model, commit.entries)
            entries.append_days(connection, self.run, model, commit.days)
            alerts.drop(connection, self.run, model, commit.dropped)
            alerts.write(connection, self.run, model, commit.alerts)
            outbox.write(connection, self.run, model, commit.notices)
            if commit.pruned is not None:
                snapshots.prune(connection, self.run, model, *commit.pruned)

    def entries(self, model: str) -> list[Entry]:
        """What has entered the sequential tests of a model, by comparison, key and start."""
        with reading(self.engine) as connection:
            return entries.read(connection, self.run, model)

    def days(
        self, model: str, part: Part, key: str, newest: int, until: int = LAST, due: int = LAST
    ) -> list[Day]:
        """The newest days of a part up to a moment, and due by one, judged under a key, oldest first."""
        with reading(self.engine) as connection:
            return entries.read_days(connection, self.run, model, part, key, newest, until, due)

    def alerts(
        self, model: str | None = None, *, ended: bool = False, as_of: int | None = None
    ) -> list[tuple[str, Alert]]:
        """(model, alert): pending or firing now, or as of a moment; `ended`: those over by then too."""
        with reading(self.engine) as connection:
            return alerts.read(connection, self.run, model, ended=ended, as_of=as_of)

    def current(
        self, model: str | None = None, measures: Collection[str] | None = None
    ) -> list[tuple[str, int, MeasurementRow]]:
        """(model, as of, row) of the current measurements; None: of any model, any measure."""
        with reading(self.engine) as connection:
            return current.read(connection, self.run, model, measures)

    def history(
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
        with reading(self.engine) as connection:
            return snapshots.history(connection, self.run, filters, as_of, ends)

    def drawn(self, model: str, which: Drawn) -> list[tuple[int, MeasurementRow]]:
        """(as of, row) of the kept measurements of one window's ends, by end and as of."""
        with reading(self.engine) as connection:
            return drawn.read(connection, self.run, model, which)

    def drawn_values(self, model: str, which: Drawn) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        """Newest values alone of the same measurements, by measure, subject and end."""
        with reading(self.engine) as connection:
            return drawn.values(connection, self.run, model, which)

    def stream(
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
        with reading(self.engine) as connection:
            yield from snapshots.stream(connection, self.run, filters, ends=ends, as_of=as_of)

    def kept_of(
        self, model: str, measures: Iterable[str], span: tuple[int, int]
    ) -> Iterator[tuple[int, MeasurementRow]]:
        """(as of, row) of some measures that were kept within a span, in the order of as of."""
        with reading(self.engine) as connection:
            yield from snapshots.of_measures(connection, self.run, model, measures, span)

    def provenance(self, model: str | None = None, last: int | None = None) -> list[tuple[str, Provenance]]:
        """(model, provenance) of what is kept, by model and as of; `last`: the newest by a moment alone."""
        with reading(self.engine) as connection:
            return snapshots.provenances(connection, self.run, model, last)

    def reference(self, key: str) -> Reference | None:
        """A kept reference by the hash of its specification."""
        with reading(self.engine) as connection:
            return references.read(connection, key)

    def reference_keys(self, model: str) -> list[str]:
        """Keys of a model's kept references, oldest first."""
        with reading(self.engine) as connection:
            return references.keys(connection, model)

    def reference_facts(self, key: str) -> KeptReference | None:
        """What is known of a kept reference beside its counters."""
        with reading(self.engine) as connection:
            return references.described(connection, key)

    def save_reference(self, key: str, model: str, reference: Reference, made_of: str = "") -> None:
        """Keep a reference; one that is kept already stays as it is."""
        with writing(self.engine) as connection:
            references.write(connection, key, model, reference, made_of)

    def configuration(self, key: str) -> KeptConfiguration | None:
        """Return the configuration of a hash, if it is kept."""
        with reading(self.engine) as connection:
            return configurations.read(connection, key)

    def save_configuration(self, key: str, model: str, content: str) -> None:
        """Keep a configuration; one that is kept already stays as it is."""
        with writing(self.engine) as connection:
            configurations.keep(connection, key, model, content)

    def record(self, happened: Sequence[Event]) -> None:
        """Keep events, in one transaction."""
        with writing(self.engine) as connection:
            events.append(connection, self.run, happened)

    def events(self, model: str | None = None, kind: str | None = None) -> list[Event]:
        """Events in the order in which they were kept; None: of any model, of any kind."""
        with reading(self.engine) as connection:
            return events.read(connection, self.run, model=model, kind=kind)

    def newest_event(self) -> int:
        """Number of the run's newest event; 0: there is none."""
        with reading(self.engine) as connection:
            return events.newest(connection, self.run)

    def runs(self, model: str) -> list[str]:
        """Runs in which a model has a history."""
        with reading(self.engine) as connection:
            return histories.runs(connection, model)

    def rename(self, renamed: Sequence[tuple[Event, Mapping[str, str]]]) -> None:
        """Hand histories of subjects over to their models, with new keys of references by their old ones."""
        with writing(self.engine) as connection:
            for event, keys in renamed:
                histories.rename(connection, event.subject, event.model, keys)
            events.append(connection, self.run, [event for event, _ in renamed])

    def forget(self, event: Event) -> dict[str, int]:
        """Delete the history of the event's model, in one transaction; how many rows, by table."""
        with writing(self.engine) as connection:
            gone = histories.forget(connection, event.model)
            events.append(connection, self.run, [replace(event, detail=json.dumps(gone))])
        return gone

    def claim(self, model: str, owner: str, ttl: int) -> int | None:
        """Token of the model's lease for `ttl` microseconds, or None while another owner has it."""
        with writing(self.engine) as connection:
            return leases.claim(connection, self.run, model, owner, ttl)

    def renew(self, model: str, token: int, ttl: int) -> bool:
        """Move the lease's expiry to `ttl` from now; False if it was taken over."""
        with writing(self.engine) as connection:
            return leases.renew(connection, self.run, model, token, ttl)

    def release(self, model: str, token: int) -> bool:
        """Give the lease back; False if it was taken over."""
        return self.renew(model, token, 0)

    def hold(self, owner: str, ttl: int) -> int | None:
        """Token of the whole run, or None while a daemon or another such process has it."""
        with writing(self.engine) as connection:
            return daemons.hold(connection, self.run, owner, ttl)

    def holders(self, model: str) -> list[tuple[str, int]]:
        """Owners of the model's lease, or with no name of the run, and when it expires."""
        with reading(self.engine) as connection:
            return daemons.holders(connection, self.run, model)

    def join(
        self, owner: str, config: str, ttl: int, *, alone: bool = False
    ) -> tuple[int, dict[str, int] | None] | None:
        """Generation of a daemon's configuration, of a new one the last cycles; None: another has the run."""
        with writing(self.engine) as connection:
            return daemons.join(connection, self.run, owner, config, ttl, alone=alone)

    def inherit(self, owner: str) -> None:
        """Have a run whose file's lock was taken; what killed owners of it left is free."""
        with writing(self.engine) as connection:
            daemons.inherit(connection, self.run, owner)

    def beat(self, owner: str, config: str, generation: int, ttl: int) -> int:
        """See `store.coordination.daemons.beat`."""
        with writing(self.engine) as connection:
            return daemons.beat(connection, self.run, owner, config, generation, ttl)

    def leave(self, owner: str) -> None:
        """Say that a daemon has ended."""
        with writing(self.engine) as connection:
            daemons.leave(connection, self.run, owner)

    def aside(self, generation: int) -> daemons.Aside | None:
        """Why a daemon claims nothing now; None: it may claim."""
        with reading(self.engine) as connection:
            return daemons.aside(connection, self.run, generation, self.schema)

    def progress(self) -> dict[str, tuple[int | None, str, int, bool, int]]:
        """By model the last cycle's as of, owner and token, whether it is released, when it worked last."""
        with reading(self.engine) as connection:
            return daemons.progress(connection, self.run)

    def last_heard(self) -> dict[str, int]:
        """When the daemon of a model's last cycle was heard of last, by model; none while any daemon runs."""
        with reading(self.engine) as connection:
            return daemons.last_heard(connection, self.run)

    def is_replaying(self, grace: int) -> bool:
        """Whether a process that is no daemon has the run, and worked within so many microseconds."""
        with reading(self.engine) as connection:
            return daemons.is_replaying(connection, self.run, grace)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _fenced(self, model: str, token: int | None) -> Iterator[Connection]:
        """Transaction that writes only as long as the token is the model's lease."""
        with writing(self.engine) as connection:
            if token is not None:
                leases.check(connection, self.run, model, token)
                if self.schema:
                    daemons.require_schema(connection, self.schema)
            yield connection
