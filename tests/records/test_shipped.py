import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import AS_OF, PANES, Log, counting_of, logs, table_of

from monitor.core.errors import SourceError
from monitor.records.codec import counting_text
from monitor.records.codec import parse_counting as counting_of_text
from monitor.records.column_values import join_id_columns
from monitor.records.count_records import count_records
from monitor.records.reading import ChallengerOutput
from monitor.records.worker_counts import (
    COUNTED,
    PANE,
    append_pane_starts,
    batch_whole_panes,
    count_batches,
    decode_pane_parts,
    job_text,
)


def sorted_batches(table: pa.Table, job: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Rows as an engine hands them to a worker: with their panes, in the order of these, in batches."""
    named = table.rename_columns([f"c{at}" for at in range(table.num_columns)])
    placed = pa.Table.from_batches(
        append_pane_starts(named.to_batches(), job=job), named.schema.append(pa.field(PANE, pa.int64()))
    )
    yield from placed.sort_by(PANE).combine_chunks().to_batches(max_chunksize=rows)


@given(log=logs(), rows=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_parts_counted_by_workers_are_those_counted_here(log: Log, rows: int) -> None:
    found = []
    for table, labels in ((log.table, False), (log.joined_table(), True)):
        job = job_text(log.counting, table.column_names, labels=labels, panes=PANES, as_of=AS_OF)
        counted = pa.Table.from_batches(count_batches(sorted_batches(table, job, rows), job=job), COUNTED)
        found += decode_pane_parts(counted, log.counting, labels=labels, panes=PANES)

    assert found == log.parts()


@pytest.mark.parametrize("at_least", [1, 8, 100])
def test_no_pane_is_cut_and_little_more_than_asked_is_held(at_least: int) -> None:
    panes = np.repeat([10, 20, 30, 40], [5, 1, 1, 6])
    table = pa.table({"c0": np.arange(len(panes)), PANE: panes})

    found = list(batch_whole_panes(table.to_batches(max_chunksize=2), at_least))

    assert pa.concat_tables(found).equals(table)
    seen = [set(part[PANE].to_pylist()) for part in found]
    assert sum(len(one) for one in seen) == 4
    assert len(seen) == {1: 3, 8: 2, 100: 1}[at_least]


def test_ids_of_several_columns_become_one_on_the_worker() -> None:
    rows = [
        {"id": "a,b", "id:1": "c", "event_time": PANES[0], "score": "0.3"},
        {"id": "a", "id:1": "b,c", "event_time": PANES[0], "score": "0.4"},
        {"id": "a", "id:1": "b,c", "event_time": PANES[0], "score": "0.5"},
    ]
    table = table_of(rows, ["id", "id:1", "event_time", "score"])
    counting = replace(
        counting_of("threshold"),
        reading=replace(counting_of("threshold").reading, versioned=False, arms=None),
    )
    job = job_text(counting, table.column_names, labels=False, panes=PANES[:1], as_of=AS_OF)

    (batch,) = count_batches(sorted_batches(table, job, 2), job=job)

    (part,) = decode_pane_parts(pa.Table.from_batches([batch]), counting, labels=False, panes=PANES[:1])
    assert [part] == count_records(join_id_columns(table), counting, panes=PANES[:1], as_of=AS_OF)
    assert part.records == 2


def test_a_worker_of_another_version_counts_nothing() -> None:
    job = json.loads(job_text(counting_of("binary"), ["id"], labels=False, panes=PANES, as_of=AS_OF))

    with pytest.raises(SourceError, match=r"must be .*\+later, as the one that asks: got"):
        next(count_batches([], job=json.dumps(job | {"version": job["version"] + "+later"})))


def test_how_a_model_with_a_challenger_is_counted_survives_as_json() -> None:
    plain = counting_of("binary")
    counting = replace(
        plain, reading=replace(plain.reading, challenger=ChallengerOutput(column="other", threshold=0.5))
    )

    assert counting_of_text(counting_text(counting)) == counting
