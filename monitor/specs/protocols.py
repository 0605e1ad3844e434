"""What a cycle asks of a log, what delivery asks of a channel, and what a cycle tells of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from monitor.core.clock import SECOND
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import WaitingNotice

if TYPE_CHECKING:  # what only reads the store does without NumPy and Arrow
    import pyarrow as pa

    from monitor.core.array_types import Ints
    from monitor.records.counting import Counting
    from monitor.records.pane import CountedPanes, PaneHalf
    from monitor.records.winning_rows import Batches

Range = tuple[int, int]
FEW_LABELS, MANY_LABELS = 3, 20  # of which all, or most, are no class: their words have become others
OTHER_TIMES = "other_times"  # column of `Source.read_relabelled`


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Panes that a source counts at once, at most, and their rows, as far as they are known beforehand."""

    panes: int
    rows: int


@dataclass(frozen=True, slots=True)
class MisdatedRows:
    """Rows whose event time lies so far off that neither cycles nor audits read them."""

    misdated: int  # how many
    # rows logged since the moment asked for, which they are some of; None: they are some of all rows, as
    # nothing finds those logged since.
    logged: int | None = None


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What happened to the files of a log since a position, beside rows that were added as they came.

    Parameters
    ----------
    position
        where the tables stand now; empty: they are no files, and nothing but an audit tells.
    records, labels
        starts of panes whose rows, or labels, were changed, removed, or came with times that were searched.
    lost
        why it cannot be told, for people: all panes are counted again. Empty: it can.
    """

    position: str = ""
    records: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    lost: str = ""


NO_REWRITES = Rewrites()


class Source(Protocol):
    """A user's database. Everything it returns bears role names; nothing is written.

    What returns a table returns when the rows are in memory and no cursor is open. Changes are as many as
    the log has rows: they come batch by batch, to be added up at once and dropped; their cursor is open until
    the last one, or until they are closed.
    """

    def read_changed_records(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> Batches:
        """`event_time` (and `logged_at`) of rows logged from `since` on, within event-time bounds."""
        ...

    def find_rewrites(
        self,
        model: ModelSpec,
        position: str,
        *,
        since: int | None,
        labels_since: int | None,
        as_of: int,
        bounds: Range,
    ) -> Rewrites:
        """What was rewritten since a position, of rows with event times within bounds.

        Parameters
        ----------
        position
            as the last call gave it; empty: there was none.
        since, labels_since
            from which on the search for changes finds rows by when they were logged, labels by their reports.
        """
        ...

    def read_changed_labels(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> Batches:
        """`event_time`, `reported_at` of predictions whose labels were reported from `since` on.

        With `since` also their `label`, where labels have such a time.
        """
        ...

    def read_relabelled(
        self, model: ModelSpec, *, since: int, cursor: int, as_of: int, bounds: Range
    ) -> Iterator[tuple[Range, pa.Table]]:
        """All rows of the records of which a label was reported from `since` on, with all of their labels.

        By pieces of the time of reports, each with the records of which one was reported within it, and some
        more; labels without a time come with the first piece, which reaches beyond the cursor.

        Rows of which a time is a text of another format than others near them have their event time,
        microseconds, in the column `OTHER_TIMES`, if it can be read: a whole count says what they are.
        """
        ...

    def why_labels_counted_whole(self, model: ModelSpec) -> str:
        """Why labels of a model cannot be counted by difference, for people; empty: they can."""
        ...

    def read_records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """Rows with event times in the half-open ranges: id, times, version, arm, outputs, features."""
        ...

    def read_records_with_labels(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        """The same predictions without features, joined (outer) with their labels."""
        ...

    def count_panes(
        self,
        model: ModelSpec,
        part: PaneHalf,
        ranges: Sequence[Range],
        counting: Counting,
        *,
        panes: Ints,
        as_of: int,
    ) -> CountedPanes:
        """A part of each of some panes, counted here or where the rows are, as of a moment.

        Parameters
        ----------
        ranges
            of event time: those of the panes, cut where rows are in the future.
        panes
            int64 starts, ascending.
        """
        ...

    def find_empty_table(self, model: ModelSpec, part: PaneHalf) -> str:
        """Title of the table of predictions, or of that of labels, if it has no row at all; else empty."""
        ...

    def has_records(self, model: ModelSpec, *, as_of: int, bounds: Range) -> bool:
        """Whether rows that are visible have event times within the bounds."""
        ...

    def count_orphans(self, model: ModelSpec, bounds: Range) -> int | None:
        """Labels reported within the bounds whose prediction is not there; None where that cannot be told."""
        ...

    def count_incomplete_rows(self, model: ModelSpec, *, as_of: int, bounds: Range) -> Mapping[str, int]:
        """Visible rows that no pane counts: `rows_without_id`, `rows_without_time` (logged within bounds)."""
        ...

    def count_misdated_rows(
        self, model: ModelSpec, *, since: int | None, as_of: int, recent: Range, ever: Range
    ) -> MisdatedRows:
        """Visible rows with event times outside of `recent`, if logged after `since`; else outside of `ever`.

        Else: where `since` is None, or nothing finds the rows logged since without reading all.
        """
        ...

    def count_repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        """Ids (with their version) that stand in more than one pane within event-time bounds."""
        ...

    def list_columns(self, model: ModelSpec) -> Mapping[str, str]:
        """Names and database types of the prediction table's columns."""
        ...


@dataclass(slots=True)
class Lease:
    """The right to write a model's rows: a fencing token, the microseconds that each renewal lasts."""

    token: int
    ttl: int
    # clock, renewed: seconds of a clock that never goes back; at the last renewal.
    clock: Callable[[], float]
    renewed: float

    def is_due(self) -> bool:
        """Whether a tenth of what a renewal lasts has passed: a short cycle need not renew."""
        return self.clock() - self.renewed >= self.ttl / SECOND / 10


@dataclass(frozen=True, slots=True)
class NewLabels:
    """Labels that a search found: those since the search before, or all of its overlap where none came."""

    # n, unknown: labels that are not NULL; those of them that are no class of the model, or no number of a
    # regression.
    n: int = 0
    unknown: int = 0
    words: tuple[str, ...] = ()  # frequent ones of the latter
    numbers: bool = False  # they are to be numbers

    @property
    def are_other(self) -> bool:
        """Whether they have become other words: all of them, or most of many."""
        return self.unknown == self.n >= FEW_LABELS or (self.n >= MANY_LABELS and 2 * self.unknown > self.n)

    @property
    def are_known(self) -> bool:
        """Whether there are some, and at least half of them are known."""
        return 0 < self.n >= 2 * self.unknown


NO_LABELS = NewLabels()


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleReport:
    """What a cycle did; the daemon logs and exposes it."""

    model: str
    as_of: int
    duration: float = 0.0
    rows_read: int = 0
    label_rows_read: int = 0
    panes_counted: int = 0
    panes_waiting: int = 0
    measurements: int = 0
    snapshots: int = 0
    invalid_times: int = 0
    missing_columns: tuple[str, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict)  # seconds of each, in the order of the cycle
    empty_tables: tuple[str, ...] = ()  # titles of tables that have lost their rows
    lost: str = ""  # why it is not known what was rewritten in files, so that the horizon was looked through
    new_labels: NewLabels = NO_LABELS  # whether the labels that came are those that the model knows
    error: str | None = None


NoteMessage: TypeAlias = Callable[[str], None]


def no_message(_message: str) -> None:
    """Nobody asks for the message."""


class Channel(Protocol):
    """Where notices go to."""

    @property
    def shows_files(self) -> bool:
        """Whether pictures and files reach people by it."""
        ...

    def send_notice(self, notice: WaitingNotice, note_message: NoteMessage = no_message) -> None:
        """Hand a notice over; it may come twice, with the same key.

        Parameters
        ----------
        note_message
            is told, as soon as a message stands in the channel that can be edited, by what it is found: it
            comes back as `message` of the incident's next notice.

        Raises
        ------
        NotificationError
            if it was not taken.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """What became of a channel's notices since the start, and how many wait; `age` of the oldest, seconds."""

    delivered: int = 0
    failed: int = 0
    given_up: int = 0
    waiting: int = 0
    age: float = 0.0
