"""Loading a reference: a file, a table or query, or a time range of the log, with role-named columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.core.clock import to_iso
from monitor.core.errors import SourceError
from monitor.core.text import make_shown_name
from monitor.records.column_values import encode_texts, parse_categories, parse_numbers, parse_texts
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.winning_rows import (
    are_rows_serving,
    combine_codes,
    find_smallest_rows,
    logged_times,
    parse_role_times,
)
from monitor.sources import default_features
from monitor.sources.default_features import FeatureCandidate
from monitor.sources.sql.relations import survey_relation
from monitor.sources.sql.scan import feature_column, wanted_outcome
from monitor.sources.sql.sql_names import suggest_name
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, Statement, WantedKind
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import Range, Source

_EXACT = 2.0**53  # below it every whole double is one integer


def load_reference(model: ModelSpec, source: Source, base_dir: Path) -> tuple[pa.Table, ReadingOptions]:
    """Reference of a model, and its reading with the features filled in.

    Parameters
    ----------
    base_dir
        directory at which relative paths of files start.

    Raises
    ------
    SourceError
        if the reference, or a column that the model needs, is not there.
    """
    reference_spec = model.reference
    if reference_spec is None:
        raise SourceError("no reference is configured")
    if reference_spec.file is not None:
        table = source.list_columns(model) if model.find_features else {}
        return take_reference_columns(
            model, table, load_reference_file(base_dir / reference_spec.file), f'file "{reference_spec.file}"'
        )
    if reference_spec.relation is not None:
        return _load_relation(model, source, reference_spec.relation)
    return _load_log_span(model, source, (reference_spec.start, reference_spec.end))


def wanted_columns(model: ModelSpec) -> dict[str, tuple[str, WantedKind, bool]]:
    """Column, type and whether it must be there, by role: the names are those of predictions and labels."""
    reading, columns = model.reading, dict(model.predictions.columns)
    if model.labels is not None and (label := model.labels.column_of("label")):
        columns["label"] = label
    if model.reference is not None and model.reference.relation is not None:
        columns |= dict(model.reference.relation.columns)
    wanted_kinds = {
        "score": WantedKind.NUMBER,
        "prediction": wanted_outcome(reading),
        "label": wanted_outcome(reading),
    }
    wanted_kinds |= {f"probability:{name}": WantedKind.NUMBER for name in reading.probabilities}
    by_role = {
        role: (column, want, role != "label")
        for role, want in wanted_kinds.items()
        if (column := columns.get(role))
    }
    for names, want in ((reading.numeric, WantedKind.NUMBER), (reading.categorical, WantedKind.TEXT)):
        by_role |= {f"feature:{name}": (feature_column(model, name), want, True) for name in names}
    by_role |= {f"segment:{name}": (name, WantedKind.TEXT, True) for name in reading.segments}
    return by_role


def load_reference_file(path: Path) -> pa.Table:
    """Table of a Parquet or CSV file.

    Raises
    ------
    SourceError
        if it is not there, or cannot be read.
    """
    if not path.is_file():
        raise SourceError(f"there is no reference file {path}")
    from pyarrow import csv, parquet  # a kept reference needs neither

    try:
        if path.suffix.lower() == ".csv":
            options = csv.ConvertOptions(
                null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
            )
            return csv.read_csv(path, convert_options=options)
        return parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"reference file {path} cannot be read: {str(error).splitlines()[0]}") from error


def take_reference_columns(
    model: ModelSpec, predictions: Mapping[str, str], table: pa.Table, title: str
) -> tuple[pa.Table, ReadingOptions]:
    """Reference of a table in memory, and the reading of its model with the features filled in.

    Parameters
    ----------
    predictions
        types of the prediction table's columns, by name: features are found in both.
    title
        of the reference, in messages.

    Raises
    ------
    SourceError
        if a column that the model needs is not there.
    """
    if model.find_features:
        candidates = [FeatureCandidate(name, table[name]) for name in table.column_names]
        model = _with_features(model, predictions, candidates)
    columns: dict[str, pa.ChunkedArray] = {}
    for role, (column, want, must) in wanted_columns(model).items():
        if column in table.column_names:
            columns[role] = normalize_column(table[column], want)
        elif must:
            raise _missing_column_error(title, column, role, table.column_names)
    return pa.table(columns), model.reading


def _load_relation(model: ModelSpec, source: Source, relation: Relation) -> tuple[pa.Table, ReadingOptions]:
    """The columns that are wanted of a table, which is read once, within retries.

    Grids are made of exact quantiles, which need all values of a column: so the wanted columns are held in
    memory whole. Where features are looked for, columns that may be some are read as what they are found to
    hold and as what they are counted as.
    """
    if not isinstance(source, SqlSource):
        raise SourceError("a reference table is read from a database only")
    table = source.list_columns(model) if model.find_features else {}
    return source.read_with_retries(lambda session: _read_relation(session, source, model, relation, table))


def _read_relation(
    session: ReadSession, source: SqlSource, model: ModelSpec, relation: Relation, table: Mapping[str, str]
) -> tuple[pa.Table, ReadingOptions]:
    survey = survey_relation(session, source.reader.engine, relation, "f")

    def output(role: str, want: WantedKind, column: str) -> OutputColumn:
        ref = survey.qualified_ref(column, role.partition(":")[0])
        return survey.engine.output_column(want, role, ref, survey.types[column])

    roles = [
        output(role, want, column)
        for role, (column, want, must) in wanted_columns(model).items()
        if must or column in survey.types
    ]
    if not model.find_features:
        return session.read_table(Statement(tuple(roles), f"FROM {survey.item}")), model.reading
    possible = default_features.possible_features(model, table)
    names = [
        name
        for name in survey.types
        if name in possible and default_features.may_be_feature(survey.types[name])
    ]
    values = {name: replace(output(name, WantedKind.VALUE, name), name=f"value:{name}") for name in names}
    # What turns out to be a category is counted as it is written. So it is read as text too, where that is
    # another expression than its value; what is a number is numeric, and needs none.
    texts: dict[str, OutputColumn] = {}
    for name, value in values.items():
        if value.kind is ColumnKind.NUMBER and "bool" not in survey.types[name]:
            continue
        text = output(f"feature:{name}", WantedKind.TEXT, name)
        if text.kind is not value.kind or text.sql != value.sql:
            texts[name] = text
    rows = session.read_table(Statement((*roles, *values.values(), *texts.values()), f"FROM {survey.item}"))
    candidates = [FeatureCandidate(name, rows[f"value:{name}"], survey.types[name]) for name in names]
    numeric, categorical = default_features.find_features(model, candidates, table)
    chosen = {name: f"value:{name}" for name in (*numeric, *categorical)}
    chosen |= {name: f"feature:{name}" for name in categorical if name in texts}
    columns = {output.name: rows[output.name] for output in roles}
    columns |= {f"feature:{name}": rows[role] for name, role in chosen.items()}
    return pa.table(columns), replace(model.reading, numeric=numeric, categorical=categorical)


def _load_log_span(
    model: ModelSpec, source: Source, ends: tuple[int | None, int | None]
) -> tuple[pa.Table, ReadingOptions]:
    if ends[0] is None or ends[1] is None:
        raise SourceError("a reference is a file, a table, a query, or from … to … of the log")
    span = (ends[0], ends[1])
    if model.find_features:
        types = source.list_columns(model)
        names = [name for name in types if default_features.may_be_feature(types[name])]
        loose = replace(model, reading=replace(model.reading, numeric=(), categorical=tuple(names)))
        table = source.read_records(loose, [span])
        candidates = [FeatureCandidate(name, table[f"feature:{name}"], types[name]) for name in names]
        model = _with_features(model, types, candidates)
    table = read_history(model, source, span)
    for name in model.reading.segments:
        if f"segment:{name}" not in table.column_names:
            title = f"from {to_iso(span[0])} to {to_iso(span[1])}"
            raise _missing_column_error(title, name, "segment", tuple(source.list_columns(model)))
    return table, model.reading


def _with_features(
    model: ModelSpec, predictions: Mapping[str, str], candidates: Sequence[FeatureCandidate]
) -> ModelSpec:
    numeric, categorical = default_features.find_features(model, candidates, predictions)
    return replace(model, reading=replace(model.reading, numeric=numeric, categorical=categorical))


def normalize_column(column: pa.ChunkedArray, want: WantedKind) -> pa.ChunkedArray:
    """Column of a file as readers hand it over: strings, or doubles where it holds numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if want is WantedKind.TEXT and pa.types.is_floating(column.type):
        return _digit_texts(column)
    if want is WantedKind.TEXT or pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.cast(pa.string())
    return column.cast(pa.float64(), safe=False)


def _digit_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of doubles: whole ones as integers print, which pandas makes doubles where one is missing."""
    whole = pc.and_(pc.equal(pc.trunc(column), column), pc.less(pc.abs(column), _EXACT))
    integers = pc.if_else(whole, column, None).cast(pa.int64())
    return pc.if_else(whole, integers.cast(pa.string()), column.cast(pa.string()))


def _missing_column_error(title: str, column: str, role: str, columns: Sequence[str]) -> SourceError:
    return SourceError(
        f'the reference {title} has no column "{column}" ({role}){suggest_name(column, columns)}'
    )


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
    regression = reading.task is ModelTask.REGRESSION
    value = parse_numbers(table["label"]) if regression else parse_categories(table["label"])
    keys.append(value.rank_ties())
    there &= np.asarray(table["id"].is_valid().combine_chunks())
    at = np.flatnonzero(there)
    group = encode_texts(table["id"].take(pa.array(at)))
    winners, _ = find_smallest_rows(group, [key[at] for key in keys])
    return table.select(["id", "label"]).take(pa.array(at[winners]))
