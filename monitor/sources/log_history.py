"""A time range of the log as a table: one row a prediction, with its winning label."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.core.text import make_shown_name
from monitor.records.column_values import encode_texts, parse_categories, parse_numbers, parse_texts
from monitor.records.dedupe import combine_codes, find_smallest_rows
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import are_rows_serving, logged_times, parse_role_times
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range, Source


def read_history(model: ModelSpec, source: Source, span: Range) -> pa.Table:
    """Outputs, features and labels of the predictions of a range; repeats and corrections are settled."""
    table = source.read_records(model, [span])
    if model.reference is not None and model.reference.version is not None:
        chosen_mask = (
            parse_texts(table["version"]).level_positions((make_shown_name(model.reference.version),), -1)
            >= 0
        )
    else:
        chosen_mask = are_rows_serving(table, model.reading)
    records = _select_first_rows(table.filter(pa.array(chosen_mask)), model.reading, span)
    if model.labels is None:
        return records
    labels = _winning_labels(source.read_records_with_labels(model, [span]), model.reading)
    row = pc.index_in(records["id"].cast(pa.string()), value_set=labels["id"].cast(pa.string()))
    return records.append_column("label", labels["label"].take(row))


def _select_first_rows(table: pa.Table, reading: ReadingOptions, span: Range) -> pa.Table:
    event = parse_role_times(table, "event_time", reading)
    logged, _ = logged_times(table, event, reading)
    inside = event.known & (event.us >= span[0]) & (event.us < span[1])
    inside &= np.asarray(table["id"].is_valid().combine_chunks())
    at = np.flatnonzero(inside)
    rows = table.take(pa.array(at))
    codes = [encode_texts(rows["id"])]
    if reading.versioned:
        codes.append(parse_categories(rows["version"]).codes + 1)
    winners, _ = find_smallest_rows(combine_codes(codes), [logged[at]])
    return table.take(pa.array(at[winners]))


def _winning_labels(table: pa.Table, reading: ReadingOptions) -> pa.Table:
    """Highest revision, then latest report, then smallest value; one row an id."""
    keys: list[Ints] = []
    there = np.asarray(table["label"].is_valid().combine_chunks())
    if "revision" in table.column_names:
        keys.append(-parse_numbers(table["revision"]).rank_ties())
        there |= np.asarray(table["revision"].is_valid().combine_chunks())
    if "reported_at" in table.column_names:
        reported = parse_role_times(table, "reported_at", reading)
        event = parse_role_times(table, "event_time", reading)
        keys.append(-np.where(reported.known, reported.us, event.us))
        there |= reported.known
    label = table["label"]
    keys.append(
        (
            parse_numbers(label) if reading.task is ModelTask.REGRESSION else parse_categories(label)
        ).rank_ties()
    )
    there &= np.asarray(table["id"].is_valid().combine_chunks())
    at = np.flatnonzero(there)
    group = encode_texts(table["id"].take(pa.array(at)))
    winners, _ = find_smallest_rows(group, [key[at] for key in keys])
    return table.select(["id", "label"]).take(pa.array(at[winners]))
