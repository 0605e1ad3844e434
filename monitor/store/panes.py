"""Counted parts of panes, and those that changed in the source and are not yet counted again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, bindparam, case, delete, func, select, update

from monitor.core.clock import to_iso
from monitor.core.errors import CodecError, StoreError, damaged
from monitor.records.pane import PanePart, Part
from monitor.specs.rows import PaneFacts, WaitingPane
from monitor.store.damage import understood
from monitor.store.statements import Insert, insert_of, put
from monitor.store.tables import panes, waiting

if TYPE_CHECKING:
    from monitor.records.counting import Counting

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
_MOVED = (
    update(panes)
    .where(
        panes.c.run == bindparam("of_run"),
        panes.c.model == bindparam("of_model"),
        panes.c.part == Part.LABELS.value,
        panes.c.start == bindparam("new_start"),
        panes.c.counted_as_of == bindparam("stood_counted"),
        func.coalesce(panes.c.labelled_as_of, panes.c.counted_as_of) == bindparam("stood_labelled"),
    )
    .values(
        labelled_as_of=bindparam("as_of"),
        codec=bindparam("new_codec"),
        newest=bindparam("new_newest"),
        labelled=bindparam("new_labelled"),
        checksum=bindparam("new_checksum"),
        blob=bindparam("new_blob"),
    )
)


def save_parts(
    connection: Connection,
    run: str,
    model: str,
    part: Part,
    parts: Sequence[PanePart],
    *,
    layout: str,
    mapping: str = "",
    as_of: int,
) -> list[bytes]:
    """Store parts that were counted whole, in place of what is there, and take them off the waiting list.

    Returns
    -------
    list of bytes
        the parts as they are stored.
    """
    if not parts:
        return []
    key = {"run": run, "model": model, "part": part.value}
    counted = {"layout": layout, "mapping": mapping, "counted_as_of": as_of, "labelled_as_of": as_of}
    rows = _rows(parts)
    put(connection, panes, [key | counted | row for row in rows])
    key = {"of_run": run, "of_model": model, "of_part": part.value}
    connection.execute(_COUNTED, [key | {"of_start": int(pane.start)} for pane in parts])
    return [row["blob"] for row in rows]


def _rows(parts: Sequence[PanePart]) -> list[dict[str, Any]]:
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
        for pane, blob in zip(parts, codec.encode(parts), strict=True)
    ]


def move_parts(
    connection: Connection,
    run: str,
    model: str,
    parts: Sequence[PanePart],
    stood: Sequence[PaneFacts],
    *,
    as_of: int,
) -> list[bytes]:
    """Store labels parts that a difference has moved, each in place of the very one that it was added to.

    Returns
    -------
    list of bytes
        the parts as they are stored.

    Raises
    ------
    StoreError
        if one of them is another by now: nothing is written.
    """
    if not parts:
        return []
    new = _rows(parts)
    owner = {"of_run": run, "of_model": model, "as_of": as_of}
    rows = [
        owner
        | {f"new_{name}": value for name, value in row.items()}
        | {"stood_counted": int(facts.counted_as_of), "stood_labelled": int(facts.labelled_as_of)}
        for row, facts in zip(new, stood, strict=True)
    ]
    if connection.execute(_MOVED, rows).rowcount != len(rows):
        raise StoreError(f'panes of "{model}": another process has counted them meanwhile')
    return [row["blob"] for row in new]


def clear(connection: Connection, run: str, model: str) -> None:
    """Delete a model's panes, and what waits."""
    for table in (panes, waiting):
        connection.execute(delete(table).where(table.c.run == run, table.c.model == model))


def facts(connection: Connection, run: str, model: str, since: int) -> list[PaneFacts]:
    """Facts of the parts that start at or after `since`, by part and start."""
    stored = connection.execute(
        select(*_FACTS)
        .where(panes.c.run == run, panes.c.model == model, panes.c.start >= since)
        .order_by(panes.c.part, panes.c.start)
    )
    with understood(f'table panes, panes of "{model}"'):
        return [
            PaneFacts(
                start=start,
                part=Part(part),
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
            for start, part, counted, moved, layout, mapping, rows, newest, records, labelled, checksum in (
                stored
            )
        ]


def load(
    connection: Connection, run: str, model: str, part: Part, starts: Sequence[int], counting: Counting
) -> dict[int, PanePart]:
    """Parts of the given starts that were counted on the layout of `counting`.

    Raises
    ------
    CodecError
        if a blob cannot be read; it names the pane.
    """
    from monitor.records import codec

    layout, loaded = counting.layout(part), {}
    for start, *facts, blob in _stored(connection, run, model, part, starts, counting):
        try:
            strata = codec.decode(blob, layout)
        except CodecError as error:
            where = f'pane {to_iso(start)} of "{model}", part {part.value}'
            raise damaged(where, error) from error
        loaded[start] = PanePart(start, strata, *facts)
    return loaded


def load_blobs(
    connection: Connection, run: str, model: str, part: Part, starts: Sequence[int], counting: Counting
) -> dict[int, bytes]:
    """The same parts as they are stored, by start."""
    return {start: bytes(blob) for start, *_, blob in _stored(connection, run, model, part, starts, counting)}


def _stored(
    connection: Connection, run: str, model: str, part: Part, starts: Sequence[int], counting: Counting
) -> Iterator[Sequence[Any]]:
    query = select(*_STORED).where(
        panes.c.run == run,
        panes.c.model == model,
        panes.c.part == part.value,
        panes.c.layout == counting.stored_as(counting.layout(part)),
    )
    plain = [int(start) for start in starts]
    for first in range(0, len(plain), _AT_ONCE):
        yield from connection.execute(query.where(panes.c.start.in_(plain[first : first + _AT_ONCE])))


def note_waiting(connection: Connection, run: str, model: str, panes: Iterable[WaitingPane]) -> None:
    """Remember dirty panes: the oldest since stays."""
    rows = [
        {
            "run": run,
            "model": model,
            "part": pane.part.value,
            "start": int(pane.start),
            "since": int(pane.since),
        }
        for pane in panes
    ]
    if rows:
        connection.execute(_noted(connection.dialect.name), rows)


@lru_cache
def _noted(dialect: str) -> Insert:
    statement = insert_of(dialect, waiting)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["run", "model", "part", "start"],
        set_={
            "since": case((new.since < waiting.c.since, new.since), else_=waiting.c.since),
        },
    )


def waiting_panes(connection: Connection, run: str, model: str) -> list[WaitingPane]:
    """Panes that wait, longest waiting first."""
    rows = connection.execute(_WAITING, {"run": run, "model": model})
    with understood(f'table waiting, panes of "{model}"'):
        return [WaitingPane(start=start, part=Part(part), since=since) for start, part, since in rows]
