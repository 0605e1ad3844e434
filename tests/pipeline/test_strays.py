"""Rows that no pane counts, and ids that several do: the audit has a figure for each."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from memory import MemorySource
from synthetic import SPEC, START, labels_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.errors import SourceUnavailable
from monitor.core.measurement import Measurement, Reason
from monitor.pipeline.audit import audit_log
from monitor.pipeline.changes.dirty_panes import find_changes
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range
from monitor.store.sql_store import SqlStore

AS_OF = START + DAY


@dataclass
class Impatient(MemorySource):
    """A database that gives up to group the ids."""

    def count_repeated_ids(self, model: ModelSpec, *, as_of: int, bounds: Range) -> int:
        raise SourceUnavailable(f"{model.name}: {as_of}, {bounds}: statement timeout")


def log() -> pa.Table:
    """Rows each hour; the fourth has no id, the fifth no time, the seventh the id of the sixth."""
    table = predictions_of(np.arange(8, dtype=np.int64) * HOUR + START + MINUTE)
    ids, times = table["id"].to_pylist(), table["event_time"].to_pylist()
    ids[4], ids[7], times[5] = None, ids[6], None
    columns = {"id": pa.array(ids), "event_time": pa.array(times, pa.int64())}
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def figures(source: MemorySource, store: SqlStore) -> dict[str, Measurement]:
    """What an audit measures."""
    monitored = monitored_of(source, store)
    model, panes = monitored.model, monitored.caches.panes
    changes = find_changes(model, panes, store.states.read_state(SPEC.name), AS_OF)
    return {row.measure: row.measurement for row in audit_log(model, panes, changes, (), AS_OF).rows}


def test_rows_without_id_or_time_and_repeated_ids_are_measured(fresh_store: SqlStore) -> None:
    found = figures(MemorySource(log(), labels_of(())), fresh_store)

    assert {name: found[name].value for name in ("rows_without_id", "rows_without_time", "repeated_ids")} == {
        "rows_without_id": 1,
        "rows_without_time": 1,
        "repeated_ids": 1,
    }


def test_ids_that_a_database_gives_up_to_group_are_not_counted_and_stop_no_audit(
    fresh_store: SqlStore,
) -> None:
    found = figures(Impatient(log(), labels_of(())), fresh_store)

    assert found["repeated_ids"] == Measurement.without_value(Reason.NOT_COUNTED, n=0)
    assert found["rows_without_id"].value == 1
