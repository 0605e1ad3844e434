"""Rows that cross layers: plain, flat, the columns of our tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from monitor.alerts.alert_rules import ACCEPTED, Acceptance, parse_acceptance
from monitor.core.clock import from_iso
from monitor.records.pane import PaneHalf, PanePart

REPLAYED = "replayed"  # kind of event: a replay began that ends here, and nobody follows the log yet
SeenAgain: TypeAlias = tuple[tuple[int, int, int], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What stood behind the measurements of a cycle."""

    as_of: int
    # grid, config: hashes of the grids and of what was configured.
    grid: str
    reference: str  # keys of the references, separated by spaces, the default one first; empty: none
    config: str
    code: str  # version of this program
    rows_read: int  # by the cycle: rows of panes that had not changed were not read again
    # newest_logged_at, newest_reported_at: newest of the rows and labels that were known.
    newest_logged_at: int | None
    newest_reported_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPane:
    """A part of a pane that changed in the source and is not yet counted again."""

    start: int
    part: PaneHalf
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneFacts:
    """What is known of a stored pane part without decoding it."""

    start: int
    part: PaneHalf
    counted_as_of: int  # of the last whole count
    labelled_as_of: int  # of the last difference of its labels since then; without one that of the count
    layout: str
    mapping: str  # hash of what the rows were read by, see `CycleModel.label_mapping_hash`; empty: not known
    rows: int
    newest: int | None
    records: int
    labelled: int
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedPanes:
    """Labels parts to which all differences were added."""

    parts: Sequence[PanePart]
    as_of: Sequence[int]  # of the last difference of each
    # of the differences, which are deleted now; None: others of their panes are still to be stored.
    layout: str | None = None
    refused: Sequence[WaitingPane] = ()  # parts that could not take their differences, and wait


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """Where a model's history stands in a run."""

    as_of: int | None = None  # of the last cycle
    # of the run's first cycle; `oldest` is the log's oldest event time seen then.
    first_as_of: int | None = None
    oldest: int | None = None
    # logged_cursor, reported_cursor: what has been seen of the two tables.
    logged_cursor: int | None = None
    reported_cursor: int | None = None
    audited_as_of: int | None = None  # of the last audit
    settling_age: int | None = None  # from which windows could settle at the last cycle; None: not known yet
    # seen_again, rows_seen_again: (start of a pane, its labels or rows, the checksum of their moments) that
    # the next search for changes sees again; None: not known.
    seen_again: SeenAgain = None
    rows_seen_again: SeenAgain = None
    position: str = ""  # of the source's files, as `Source.find_rewrites` gave it; empty: it has none


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowState:
    """What has happened to one kept window: when it was first measured, settled, last measured."""

    window: str
    end: int
    first_as_of: int
    settled_as_of: int | None = None
    measured_as_of: int | None = None
    # records_seen, labels_seen: when it was last measured: the rows that stood behind it; the checksum of its
    # labels, which only tells whether they are still the same.
    records_seen: int = 0
    labels_seen: int = 0
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """What has entered a sequential test: each record once, in the order of event time."""

    # comparison, key: its name; the hash of what is compared: another key begins anew.
    comparison: str
    key: str
    # start, end, as_of: of the panes that entered, and when they did.
    start: int
    end: int
    as_of: int
    # entered, total: their counts, and those of all that has entered so far.
    entered: tuple[int, ...]
    total: tuple[int, ...]
    most: float  # logarithm of the most evidence that there was after any pane so far


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDay:
    """A part of a day as it was counted at its due moment, and what was known once it had been judged."""

    key: str  # hash of what is watched: another key begins anew
    part: PaneHalf  # records or labels
    # start, end: of the day; microseconds.
    start: int
    end: int
    due: int  # the moment as of which it was counted: a function of the day alone
    age: int = 0  # of its labels then, whole days; 0 of records
    # of the first days their counters (`monitor.records.codec`), else statistics (`monitor.evidence`).
    blob: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """What happened to a model's history, and by whom. Events are kept for ever."""

    model: str
    at: int  # microseconds: the as of of a cycle, or when a person decided
    kind: str  # renamed, recounted, forgotten, …
    subject: str = ""  # to what: a version, an old name, or empty
    # who, why: of a decision; empty: the service itself.
    who: str = ""
    why: str = ""
    detail: str = "{}"  # figures of the kind, as JSON

    @property
    def acceptance(self) -> Acceptance:
        """What somebody accepted, of an event of that kind. Raises CodecError if it is damaged."""
        return parse_acceptance(self.detail, who=self.who, why=self.why)

    @property
    def log_moment(self) -> int:
        """When it was in the log: a version begins before a cycle counts it."""
        oldest = json.loads(self.detail).get("oldest_pane")
        return self.at if oldest is None else from_iso(oldest)

    @property
    def words(self) -> str:
        """Its kind for people: to accept for no time at all is to withdraw."""
        taken_back = self.kind == ACCEPTED and self.acceptance.is_withdrawal
        return "withdrawn" if taken_back else self.kind.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentNotice:
    """What became of a notice of an incident to a channel."""

    as_of: int
    kind: str  # opened, grew or resolved
    channel: str
    is_delivered: bool
    is_given_up: bool


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes with a message."""

    name: str  # of plain letters, digits, signs - and .
    kind: str  # media type
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingNotice:
    """A notice that a channel has not taken yet."""

    key: str  # of this notice and channel, always the same: by it a receiver knows what it has already
    model: str
    incident: str
    kind: str
    channel: str
    as_of: int
    payload: Mapping[str, Any]  # what is told: see `alerts.messages.Notice`
    attempts: int = 0  # how often it was tried
    wait: int = 0  # microseconds until it may be tried; 0: now
    message: str = ""  # by which the channel finds its message of the incident; empty: it has none
    files: tuple[AttachedFile, ...] = ()  # made as it is sent, for channels that show them


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptConfiguration:
    """What was configured of a model, as JSON; `created`: when it was first used, microseconds."""

    hash: str
    model: str
    content: str
    created: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReference:
    """A kept reference without its counters."""

    key: str  # hash of what it is made of; of a file also a hash of its content
    model: str
    grid: str  # hash of its grids
    made_of: str  # file, table, query or time range, in words; empty: kept by a version that did not say it
    rows: int  # records it was made of
    created: int  # when it was kept, microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartedRows:
    """Which kept measurements of a window's ends pages draw."""

    window: str
    # after, until: bounds of the windows' ends: after the one, up to the other.
    after: int
    until: int
    # measures, subjects, against: None: any.
    measures: Sequence[str] | None = None
    subjects: Sequence[str] | None = None
    against: Sequence[str] | None = None
    as_of: int | None = None  # only what was kept then; None: all revisions
    # segment, version: empty: the whole; None: any.
    segment: str | None = ""
    version: str | None = ""
    details: bool = False  # whether the tables behind the values are read too
    # whether the newest revisions alone are read, as `newest_revisions` chooses them.
    newest: bool = False
