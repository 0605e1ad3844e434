"""Counted parts of panes, and those that changed in the source and are not yet counted again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, bindparam, case, delete, func, insert, select, update
from sqlalchemy.sql.dml import ReturningInsert

from monitor.core.clock import to_iso
from monitor.core.errors import CodecError, StoreError, damage_error
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.stored_rows import FoldedPanes, ModelState, PaneFacts, WaitingPane
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import Insert, insert_of, put_rows
from monitor.store.repository import Repository
from monitor.store.state_rows import write_state
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import differences, models, panes, waiting

if TYPE_CHECKING:
    from monitor.records.counting import Counting
    from monitor.records.labels.label_differences import LabelDifferences
    from monitor.states.counters import CounterLayout
    from monitor.states.strata import Strata

_AT_ONCE = 1_000  # starts a statement

_FACTS = (
    panes.c.start,
    panes.c.part,
    panes.c.counted_as_of,
    func.coalesce(panes.c.labelled_as_of, panes.c.counted_as_of),
    panes.c.layout,
    func.coalesce(panes.c.mapping, ""),
    panes.c.rows,
    panes.c.newest,
    panes.c.records,
    panes.c.labelled,
    panes.c.checksum,
)
_STORED = (
    panes.c.start,
    panes.c.rows,
    panes.c.newest,
    panes.c.records,
    panes.c.labelled,
    panes.c.checksum,
    panes.c.blob,
)
_SOME_STORED = select(*_STORED).where(
    panes.c.run == bindparam("run"),
    panes.c.model == bindparam("model"),
    panes.c.part == bindparam("part"),
    panes.c.layout == bindparam("layout"),
    panes.c.start.in_(bindparam("starts", expanding=True)),
)
_WAITING = (
    select(waiting.c.start, waiting.c.part, waiting.c.since)
    .where(waiting.c.run == bindparam("run"), waiting.c.model == bindparam("model"))
    .order_by(waiting.c.since, waiting.c.start, waiting.c.part)
)
_COUNTED = delete(waiting).where(
    and_(
        waiting.c.run == bindparam("of_run"),
        waiting.c.model == bindparam("of_model"),
        waiting.c.part == bindparam("of_part"),
        waiting.c.start == bindparam("of_start"),
    )
)
_FOLDED = (
    update(panes)
    .where(
        panes.c.run == bindparam("of_run"),
        panes.c.model == bindparam("of_model"),
        panes.c.part == PaneHalf.LABELS.value,
        panes.c.start == bindparam("new_start"),
    )
    .values(
        labelled_as_of=bindparam("as_of"),
        codec=bindparam("new_codec"),
        newest=bindparam("new_newest"),
        labelled=bindparam("new_labelled"),
        checksum=bindparam("new_checksum"),
        blob=bindparam("new_blob"),
        holds=bindparam("new_holds"),
    )
)
_DIFFERENCES = (
    select(differences.c.number, differences.c.as_of, differences.c.layout, differences.c.blob)
    .where(differences.c.run == bindparam("run"), differences.c.model == bindparam("model"))
    .order_by(differences.c.number)
)


@dataclass(frozen=True, slots=True)
class PaneRepository(Repository):
    """Counted parts of a run's panes, and its panes that wait to be counted.

    What labels have added to parts since they were written lies beside them, as differences. All writes of
    labels parts of a model have a number, `writes`, of which each process takes the next: of two of them one
    gets it, for the other it is a `StoreError`, and nothing is written.
    """

    def read_pane_facts(self, model: str, since: int) -> list[PaneFacts]:
        """Facts of the parts that start at or after `since`, with their differences, by part and start."""
        wanted = (panes.c.run == self.run, panes.c.model == model, panes.c.start >= since)
        with read_transaction(self.engine) as connection:
            stored = connection.execute(select(*_FACTS).where(*wanted).order_by(panes.c.part, panes.c.start))
            # Oldest first: of a pane the newest difference stays, whose facts hold.
            moved = {
                start: (each, at)
                for _, each in _read_differences(connection, self.run, model)
                for at, start in enumerate(each.start.tolist())
            }
            with named_damage(f'table panes, panes of "{model}"'):
                known = [_facts_of_row(row) for row in stored]
        return [
            replace(
                fact,
                labelled_as_of=moved[fact.start][0].as_of,
                **moved[fact.start][0].facts_at(moved[fact.start][1]),
            )
            if fact.part is PaneHalf.LABELS and fact.start in moved
            else fact
            for fact in known
        ]

    def save_panes(
        self,
        model: str,
        part: PaneHalf,
        parts: Sequence[PanePart],
        *,
        layout: str,
        mapping: str = "",
        as_of: int,
        writes: int | None = None,
        token: int | None = None,
    ) -> None:
        """Store parts that were counted whole, in place of what is there, and take them off the waiting list.

        Parameters
        ----------
        writes
            number of this write of labels parts: they hold all differences before it. None: of a model
            without differences.
        """
        with self.fenced_transaction(model, token) as connection:
            if not parts:
                return
            key = {"run": self.run, "model": model, "part": part.value}
            counted = {"layout": layout, "mapping": mapping, "counted_as_of": as_of, "labelled_as_of": as_of}
            if writes is not None:
                _take_turn(connection, self.run, model, writes)
                counted["holds"] = writes
            put_rows(connection, panes, [key | counted | row for row in _part_rows(parts)])
            key = {"of_run": self.run, "of_model": model, "of_part": part.value}
            connection.execute(_COUNTED, [key | {"of_start": int(pane.start)} for pane in parts])

    def read_differences(self, model: str, layout: str) -> tuple[int, list[LabelDifferences]]:
        """How often labels parts were written; what was added to those of a layout and is not in them yet.

        Facts and panes that are loaded hold it; `load_blobs` gives them without it.

        Raises
        ------
        CodecError
            if a blob cannot be read.
        """
        written = select(models.c.label_writes).where(models.c.run == self.run, models.c.model == model)
        with read_transaction(self.engine) as connection:
            found = [each for of, each in _read_differences(connection, self.run, model) if of == layout]
            return connection.execute(written).scalar() or 0, found

    def add_differences(
        self, model: str, new: LabelDifferences, layout: str, *, writes: int, token: int | None = None
    ) -> None:
        """Keep what labels have added to panes, as the write of labels parts with this number."""
        from monitor.records import codec

        with self.fenced_transaction(model, token) as connection:
            _take_turn(connection, self.run, model, writes)
            row = {"run": self.run, "model": model, "number": writes, "as_of": int(new.as_of)}
            row |= {"layout": layout, "blob": codec.encode_differences(new)}
            connection.execute(insert(differences), row)

    def fold_panes(self, model: str, folded: FoldedPanes, *, writes: int, token: int | None = None) -> None:
        """Store labels parts to which all differences before this write were added."""
        with self.fenced_transaction(model, token) as connection:
            _take_turn(connection, self.run, model, writes)
            _put_waiting(connection, self.run, model, folded.refused)
            owner = {"of_run": self.run, "of_model": model, "new_holds": writes}
            rows = [
                owner | {"as_of": int(as_of)} | {f"new_{name}": value for name, value in row.items()}
                for row, as_of in zip(_part_rows(folded.parts), folded.as_of, strict=True)
            ]
            if rows:
                connection.execute(_FOLDED, rows)
            # Only with the last of the panes is all of it in them.
            if folded.layout is not None:
                mine = (differences.c.run == self.run, differences.c.model == model)
                held = (differences.c.number < writes, differences.c.layout == folded.layout)
                connection.execute(delete(differences).where(*mine, *held))

    def reset_panes(self, model: str, *, token: int | None = None) -> None:
        """Delete a model's panes, and what waits: they are of another width."""
        with self.fenced_transaction(model, token) as connection:
            for table in (panes, differences, waiting):
                connection.execute(delete(table).where(table.c.run == self.run, table.c.model == model))

    def load_panes(
        self, model: str, part: PaneHalf, starts: Sequence[int], counting: Counting
    ) -> dict[int, PanePart]:
        """Parts of the given starts that were counted on the layout of `counting`, by start.

        Raises
        ------
        CodecError
            if a blob cannot be read; it names the pane.
        """
        from monitor.records import codec
        from monitor.records.labels.label_differences import with_differences

        layout = counting.layout_of(part)
        added: list[LabelDifferences] = []
        with read_transaction(self.engine) as connection:
            if part is PaneHalf.LABELS:
                kept_as = counting.hash_stored_layout(layout)
                added = [each for of, each in _read_differences(connection, self.run, model) if of == kept_as]
            stored = list(_read_stored(connection, self.run, model, part, starts, counting))
            try:
                decoded = codec.decode_many([blob for *_, blob in stored], layout)
            except CodecError:
                # One by one it is known which of them is damaged.
                decoded = [_decode_blob(row, layout, f'"{model}", part {part.value}') for row in stored]
        loaded = {
            start: PanePart(start, strata, *facts)
            for (start, *facts, _), strata in zip(stored, decoded, strict=True)
        }
        return loaded if not added else with_differences(layout, loaded, added)

    def load_blobs(
        self, model: str, part: PaneHalf, starts: Sequence[int], counting: Counting
    ) -> dict[int, bytes]:
        """The same parts as they are stored, by start: `monitor.records.codec` unpacks them."""
        with read_transaction(self.engine) as connection:
            stored = _read_stored(connection, self.run, model, part, starts, counting)
            return {start: bytes(blob) for start, *_, blob in stored}

    def note_waiting(
        self, model: str, state: ModelState, dirty: Iterable[WaitingPane], *, token: int | None = None
    ) -> None:
        """Move the model's cursors, keep dirty panes, in one transaction. The oldest since stays."""
        with self.fenced_transaction(model, token) as connection:
            write_state(connection, self.run, model, state)
            _put_waiting(connection, self.run, model, dirty)

    def read_waiting_panes(self, model: str) -> list[WaitingPane]:
        """Panes that wait to be counted, longest waiting first."""
        with read_transaction(self.engine) as connection:
            rows = connection.execute(_WAITING, {"run": self.run, "model": model})
            with named_damage(f'table waiting, panes of "{model}"'):
                return [WaitingPane(start=at, part=PaneHalf(part), since=since) for at, part, since in rows]


def _facts_of_row(row: Sequence[Any]) -> PaneFacts:
    start, part, counted, moved, layout, mapping, rows, newest, records, labelled, checksum = row
    return PaneFacts(
        start=start,
        part=PaneHalf(part),
        counted_as_of=counted,
        labelled_as_of=moved,
        layout=intern(layout),  # the same of all panes
        mapping=intern(mapping),
        rows=rows,
        newest=newest,
        records=records,
        labelled=labelled,
        checksum=checksum,
    )


def _part_rows(parts: Sequence[PanePart]) -> list[dict[str, Any]]:
    from monitor.records import codec  # NumPy: for cycles alone

    return [
        {
            "start": int(pane.start),
            "codec": codec.VERSION,
            "rows": int(pane.rows),
            "newest": None if pane.newest is None else int(pane.newest),
            "records": int(pane.records),
            "labelled": int(pane.labelled),
            "checksum": int(pane.checksum),
            "blob": blob,
        }
        for pane, blob in zip(parts, codec.encode_parts(parts), strict=True)
    ]


def _take_turn(connection: Connection, run: str, model: str, writes: int) -> None:
    """Take the next number of what is written of labels parts: of two processes one gets it.

    Raises
    ------
    StoreError
        if another process has written some meanwhile.
    """
    turn = {"run": run, "model": model, "label_writes": writes}
    if connection.execute(_turn_statement(connection.dialect.name), turn).scalar() is None:
        raise StoreError(f'panes of "{model}": another process has counted them meanwhile')


@lru_cache
def _turn_statement(dialect: str) -> ReturningInsert[int]:
    statement = insert_of(dialect, models)
    new = statement.excluded.label_writes
    return statement.on_conflict_do_update(
        index_elements=["run", "model"],
        set_={"label_writes": new},
        where=func.coalesce(models.c.label_writes, 0) == new - 1,
    ).returning(models.c.label_writes)


def _read_differences(connection: Connection, run: str, model: str) -> list[tuple[str, LabelDifferences]]:
    """(layout, what labels have added to panes that do not hold it yet), oldest first.

    Raises
    ------
    CodecError
        if a blob cannot be read.
    """
    from monitor.records import codec

    found = []
    stored = connection.execute(_DIFFERENCES, {"run": run, "model": model}).all()
    # What was written before the oldest difference holds none of them: few rows are read.
    held = select(panes.c.start, panes.c.holds).where(
        panes.c.run == run,
        panes.c.model == model,
        panes.c.part == PaneHalf.LABELS.value,
        panes.c.holds >= min((number for number, *_ in stored), default=0),
    )
    holds = connection.execute(held).all() if stored else []
    for number, as_of, layout, blob in stored:
        try:
            each = codec.decode_differences(blob, as_of)
        except CodecError as error:
            raise damage_error(f'differences {number} of "{model}"', error) from error
        # A pane says the number of the last write that it holds: that difference, and each one before, is in
        # it. So one that was folded, or counted whole, since is not added twice, whenever a process was
        # killed.
        left = each.without_panes(start for start, last in holds if last >= number)
        if len(left.start):
            found.append((layout, left))
    return found


def _decode_blob(row: Sequence[Any], layout: CounterLayout, whose: str) -> Strata:
    from monitor.records import codec

    start, *_, blob = row
    try:
        return codec.decode_strata(blob, layout)
    except CodecError as error:
        raise damage_error(f"pane {to_iso(start)} of {whose}", error) from error


def _read_stored(
    connection: Connection, run: str, model: str, part: PaneHalf, starts: Sequence[int], counting: Counting
) -> Iterator[Sequence[Any]]:
    kept_as = counting.hash_stored_layout(counting.layout_of(part))
    whose = {"run": run, "model": model, "part": part.value, "layout": kept_as}
    plain = [int(start) for start in starts]
    for first in range(0, len(plain), _AT_ONCE):
        yield from connection.execute(_SOME_STORED, whose | {"starts": plain[first : first + _AT_ONCE]})


def _put_waiting(connection: Connection, run: str, model: str, dirty: Iterable[WaitingPane]) -> None:
    rows = [
        {
            "run": run,
            "model": model,
            "part": pane.part.value,
            "start": int(pane.start),
            "since": int(pane.since),
        }
        for pane in dirty
    ]
    if rows:
        connection.execute(_put_waiting_statement(connection.dialect.name), rows)


@lru_cache
def _put_waiting_statement(dialect: str) -> Insert:
    statement = insert_of(dialect, waiting)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["run", "model", "part", "start"],
        set_={
            "since": case((new.since < waiting.c.since, new.since), else_=waiting.c.since),
        },
    )
