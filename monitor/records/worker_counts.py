"""Counting where the rows are: batches of a worker's rows in, encoded parts of panes out.

What travels is plain: the job as JSON, rows as Arrow, counters as the blobs that the store keeps.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Ints
from monitor.core.errors import SourceError
from monitor.core.version import VERSION
from monitor.records import codec
from monitor.records.codec import counting_text, parse_counting
from monitor.records.column_values import join_id_columns
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PanePart
from monitor.records.winning_rows import parse_role_times

PANE = "pane"  # last column of the rows: start of their pane
MOST_ROWS = 200_000  # after which the panes that are complete are counted
COUNTED = pa.schema(
    [(name, pa.int64()) for name in ("start", "rows", "newest", "records", "labelled", "checksum", "read")]
    + [("blob", pa.binary())]
)


def job_text(counting: Counting, names: Sequence[str], *, labels: bool, panes: Ints, as_of: int) -> str:
    """What workers are told, as JSON: which part, how it is counted, the roles of the rows' columns."""
    plain = {
        "version": VERSION,
        "counting": counting_text(counting),
        "names": list(names),
        "labels": labels,
        "panes": panes.tolist(),
        "as_of": as_of,
    }
    return json.dumps(plain, separators=(",", ":"))


def append_pane_starts(batches: Iterable[pa.RecordBatch], *, job: str) -> Iterator[pa.RecordBatch]:
    """Add the starts of panes to rows whose times the engine does not parse; other rows are left out."""
    order = _parse_job(job)
    reading, panes = parse_counting(order["counting"]).reading, order["panes"]
    for batch in batches:
        rows = pa.table([batch.column(order["names"].index("event_time"))], names=["event_time"])
        event = parse_role_times(rows, "event_time", reading)
        start = event.us - event.us % reading.pane
        inside = pa.array(event.known & np.isin(start, panes))
        yield batch.append_column(PANE, pa.array(start)).filter(inside)


def count_batches(batches: Iterable[pa.RecordBatch], *, job: str) -> Iterator[pa.RecordBatch]:
    """Parts of the panes whose rows come, all rows of a pane behind one another.

    Memory: the rows of one pane, and some 200,000 more.

    Raises
    ------
    SourceError
        if this is not the version that asks, or a column of times mixes formats.
    """
    order = _parse_job(job)
    counting = parse_counting(order["counting"])
    count = count_labels if order["labels"] else count_records
    for table in batch_whole_panes(batches, MOST_ROWS):
        starts, read = np.unique(np.asarray(table[PANE]), return_counts=True)
        rows = join_id_columns(table.drop_columns([PANE]).rename_columns(order["names"]))
        parts = count(rows, counting, panes=starts, as_of=order["as_of"])
        plain = {name: [getattr(part, name) for part in parts] for name in COUNTED.names[:6]}
        yield pa.RecordBatch.from_pydict(plain | {"read": read, "blob": codec.encode_parts(parts)}, COUNTED)


def batch_whole_panes(batches: Iterable[pa.RecordBatch], at_least: int) -> Iterator[pa.Table]:
    """Rows of several panes at a time, none of them cut."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        first, last = held[0][PANE][0], batch[PANE][-1]
        if first != last and sum(rows.num_rows for rows in held) >= at_least:
            table = pa.Table.from_batches(held)
            end = int(np.searchsorted(np.asarray(table[PANE]), last.as_py()))
            yield table.slice(0, end)
            held = table.slice(end).to_batches()
    if held:
        yield pa.Table.from_batches(held)


def decode_pane_parts(table: pa.Table, counting: Counting, *, labels: bool, panes: Ints) -> list[PanePart]:
    """Parts of the given panes that workers have counted; those of which they saw no row are empty."""
    layout = counting.labels_layout if labels else counting.records_layout
    by_start = {
        row["start"]: PanePart(
            row["start"],
            codec.decode_strata(row["blob"], layout),
            row["rows"],
            row["newest"],
            row["records"],
            row["labelled"],
            row["checksum"],
        )
        for row in table.to_pylist()
    }
    return [by_start.get(start, PanePart(start, {})) for start in panes.tolist()]


def _parse_job(job: str) -> dict[str, Any]:
    order: dict[str, Any] = json.loads(job)
    here = VERSION
    if order["version"] != here:
        raise SourceError(
            f"the workers' monitor must be {order['version']}, as the one that asks: got {here}"
        )
    return order
