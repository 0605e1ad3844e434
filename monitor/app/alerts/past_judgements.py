"""What days were judged by at a moment in the past: again, from the rows that are kept of them for ever."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.measures.catalogue.daily_measures import DAILY
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.cycle_model import CountedModel
from monitor.pipeline.sequential.judge_days import newest_day_rows, read_watched_parts
from monitor.records.counting import Counting
from monitor.specs.model_spec import ModelSpec
from monitor.store.sql_store import SqlStore


def add_newest_days(
    store: SqlStore, spec: ModelSpec, counting: Counting, kept_rows: Iterable[MeasurementRow], as_of: int
) -> list[MeasurementRow]:
    """Rows with those of the newest days as of a cycle; of these the kept ones, where there are any.

    Only days with some evidence have kept rows: without this the last of them would be told, however old.

    Parameters
    ----------
    counting
        how the newest cycle counted.
    kept_rows
        newest ones of each place.
    """
    model = CountedModel(spec=replace(spec, reading=counting.reading), counting=counting, reference=None)
    parts = read_watched_parts(model, store, due=as_of)
    newest = newest_day_rows(model, parts, as_of, store.states.read_state(spec.name).first_as_of)
    rows, days = [], {}
    for row in kept_rows:
        if row.measure in DAILY:
            days[row.measure, row.subject, row.segment, row.window_end] = row
        else:
            rows.append(row)
    return [
        *rows,
        *(days.get((row.measure, row.subject, row.segment, row.window_end), row) for row in newest),
    ]
