"""Rows of the prediction table, with and without their labels: statements, and role-named columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from monitor.records.column_values import join_id_columns
from monitor.records.parsed_times import count_formats, main_format, mark_other_texts
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.relations import (
    SurveyedRelation,
    drop_utc_offsets,
    id_join_condition,
    make_event_time,
    narrow_relation,
    survey_relation,
)
from monitor.sources.sql.statements import (
    INT64_MAX,
    ColumnKind,
    OutputColumn,
    ReadSession,
    Statement,
    WantedKind,
    concat_mixed_tables,
)
from monitor.sources.sql.time_ranges import ComparableTime, Interval, TimeShape, close_smallest_gaps
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import Range

_MOST_RANGES = 400  # of a statement that finds them by an index
MOST_FILTERS = 50  # of a statement that compares each row with them
_TIMES = ("event_time", "logged_at", "reported_at")
_LOOKED_AT, _ENOUGH = 100, 10  # rows whose texts tell the format of times
_AT_ONCE = 20_000  # texts that are looked at in Python's memory


@dataclass(frozen=True, slots=True)
class RowScan:
    """Statements that together find some rows once, and the columns of each."""

    outputs: tuple[OutputColumn, ...]
    statements: tuple[Statement, ...]
    # that texts of times have near the rows, by role: see `main_format`.
    formats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatementPiece:
    """Part of a statement that picks rows by ranges: what comes before SELECT, after FROM and after WHERE."""

    before: str
    source: str
    where: str = "1 = 1"


def read_records(session: ReadSession, engine: Engine, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
    """Rows with event times in the ranges (and some more): all but labels. A missing feature is left out."""
    return read_scan(session, record_scan(session, engine, model, ranges))


def read_records_with_labels(
    session: ReadSession, engine: Engine, model: ModelSpec, ranges: Sequence[Range]
) -> pa.Table:
    """The same rows without features, joined (outer) with their labels; with the challenger's output."""
    return read_scan(session, labelled_scan(session, engine, model, ranges))


def record_scan(session: ReadSession, engine: Engine, model: ModelSpec, ranges: Sequence[Range]) -> RowScan:
    """What `read_records` reads."""
    survey = survey_relation(session, engine, model.predictions, "p")
    outputs = (*select_prediction_outputs(survey, model), *select_feature_outputs(survey, model))
    return _scan_ranges(session, survey, model, ranges, outputs, "")


def labelled_scan(session: ReadSession, engine: Engine, model: ModelSpec, ranges: Sequence[Range]) -> RowScan:
    """What `read_records_with_labels` reads."""
    survey = survey_relation(session, engine, model.predictions, "p")
    if model.labels is None:
        return _scan_ranges(
            session, survey, model, ranges, select_labelled_outputs(survey, survey, model), ""
        )
    labels = survey_labels(session, engine, model.labels, survey)
    join = ""
    if labels is not survey:
        labels = narrow_labels(labels, model, min((lo for lo, _ in ranges), default=0))
        join = (
            f" LEFT JOIN {labels.item} ON "
            f"{id_join_condition(model.predictions, model.labels, survey, labels)}"
        )
    return _scan_ranges(session, survey, model, ranges, select_labelled_outputs(survey, labels, model), join)


def select_labelled_outputs(
    survey: SurveyedRelation, labels: SurveyedRelation, model: ModelSpec
) -> tuple[OutputColumn, ...]:
    """What labels are counted by: the predictions, the challenger's output, the labels."""
    outputs = select_prediction_outputs(survey, model)
    if (challenger := model.reading.challenger) is not None:
        outputs += (survey.output_column(wanted_challenger(model.reading), "challenger", challenger.column),)
    return (
        outputs
        if model.labels is None
        else outputs + select_label_outputs(labels, model.labels, model.reading)
    )


def select_prediction_outputs(survey: SurveyedRelation, model: ModelSpec) -> tuple[OutputColumn, ...]:
    """Id, times, version, arm, serving, outputs of the model; segments whose columns are there.

    Raises
    ------
    SourceError
        if one of their columns is missing.
    """
    reading, relation = model.reading, model.predictions
    wanted_kinds = [(role, WantedKind.TEXT) for role, _ in relation.id_columns]
    wanted_kinds += [("event_time", WantedKind.TIME), ("logged_at", WantedKind.TIME)]
    wanted_kinds += [("version", WantedKind.TEXT)] if reading.versioned else []
    wanted_kinds += [("score", WantedKind.NUMBER), ("prediction", wanted_outcome(reading))]
    wanted_kinds += [(f"probability:{name}", WantedKind.NUMBER) for name in reading.probabilities]
    columns = [(role, want, relation.column_of(role)) for role, want in wanted_kinds]
    if reading.arms is not None:
        columns.append(("arm", WantedKind.TEXT, relation.column_of("arm") or reading.arms.column))
    if reading.serving is not None:
        columns.append(("serving", WantedKind.TEXT, reading.serving.column))
    columns += [
        (f"segment:{name}", WantedKind.TEXT, name) for name in reading.segments if name in survey.types
    ]
    return tuple(
        survey.output_column(want, role, column, unit=reading.unit_of(role))
        for role, want, column in columns
        if column
    )


def select_label_outputs(
    survey: SurveyedRelation, relation: Relation, reading: ReadingOptions
) -> tuple[OutputColumn, ...]:
    """Label, time of its report, revision."""
    wanted_kinds = [
        ("label", wanted_outcome(reading)),
        ("reported_at", WantedKind.TIME),
        ("revision", WantedKind.NUMBER),
    ]
    columns = [(role, want, relation.column_of(role)) for role, want in wanted_kinds]
    return tuple(
        survey.output_column(want, role, column, unit=reading.unit_of(role))
        for role, want, column in columns
        if column
    )


def select_feature_outputs(survey: SurveyedRelation, model: ModelSpec) -> tuple[OutputColumn, ...]:
    """Features whose columns are there."""
    wanted_kinds = [(name, WantedKind.NUMBER) for name in model.reading.numeric]
    wanted_kinds += [(name, WantedKind.TEXT) for name in model.reading.categorical]
    columns = [(name, want, feature_column(model, name)) for name, want in wanted_kinds]
    return tuple(
        survey.output_column(want, f"feature:{name}", column)
        for name, want, column in columns
        if column in survey.types
    )


def feature_column(model: ModelSpec, name: str) -> str:
    """Column of a feature: its name, unless the relation says otherwise."""
    return model.predictions.column_of(f"feature:{name}") or name


def wanted_outcome(reading: ReadingOptions) -> WantedKind:
    """What predictions and labels are."""
    return WantedKind.NUMBER if reading.task is ModelTask.REGRESSION else WantedKind.TEXT


def wanted_challenger(reading: ReadingOptions) -> WantedKind:
    """What a challenger's column holds: scores of a binary model, classes of another."""
    return WantedKind.NUMBER if reading.task is ModelTask.BINARY else WantedKind.TEXT


def survey_labels(
    session: ReadSession, engine: Engine, labels: Relation, predictions: SurveyedRelation
) -> SurveyedRelation:
    """The relation of the labels: their own, or that of the predictions."""
    return survey_relation(session, engine, labels, "l") if has_own_table(labels) else predictions


def narrow_labels(survey: SurveyedRelation, model: ModelSpec, first: int) -> SurveyedRelation:
    """Labels of records from `first` on: none is looked for that was reported a horizon before its record."""
    assert model.labels is not None
    wanted = [(first - model.reading.horizon, INT64_MAX)]
    return narrow_relation(survey, model.labels, "reported_at", model.reading, wanted, undated=True)


def has_own_table(labels: Relation) -> bool:
    """Labels stand in a table or query of their own."""
    return labels.table is not None or labels.query is not None


def statement_pieces(
    session: ReadSession, survey: SurveyedRelation, time: ComparableTime, ranges: Sequence[Range]
) -> Iterator[StatementPiece]:
    """Parts of the statements that together pick every row of the ranges once."""
    days = close_smallest_gaps(ranges, MOST_FILTERS)
    for piece in _interval_pieces(session, survey, time, ranges):
        yield replace(piece, where=time.within_days(piece.where, *days))


def _interval_pieces(
    session: ReadSession, survey: SurveyedRelation, time: ComparableTime, ranges: Sequence[Range]
) -> Iterator[StatementPiece]:
    if time.shape is TimeShape.UNKNOWN:
        yield StatementPiece("", survey.item)
        return
    intervals = time.interval_literals(ranges)
    if len(intervals) == 1:
        yield StatementPiece("", survey.item, time.interval_condition(intervals[0]))
    # It skips parts of the table by bounds: one statement, with few enough of them.
    elif intervals and survey.engine.skips_by_bounds:
        yield _any_interval_piece(
            survey, time, time.interval_literals(close_smallest_gaps(ranges, MOST_FILTERS))
        )
    elif intervals and not survey.engine.can_use_index(
        session, survey.item, _covering_condition(time, intervals)
    ):
        intervals = time.interval_literals(close_smallest_gaps(ranges, MOST_FILTERS))
        chosen = f"EXISTS (SELECT 1 FROM r WHERE {_joined_condition(time)})"
        where = f"{_covering_condition(time, intervals)} AND {chosen}"
        yield StatementPiece(_range_values_sql(survey, intervals), survey.item, where)
    elif intervals:
        for first in range(0, len(intervals), _MOST_RANGES):
            yield _joined_ranges_piece(survey, time, intervals[first : first + _MOST_RANGES])


def _covering_condition(time: ComparableTime, intervals: Sequence[Interval]) -> str:
    return time.interval_condition((intervals[0][0], intervals[-1][1]))


def _joined_ranges_piece(
    survey: SurveyedRelation, time: ComparableTime, intervals: Sequence[Interval]
) -> StatementPiece:
    covering, condition = _covering_condition(time, intervals), _joined_condition(time)
    joined = survey.engine.range_join_sql(survey.item, survey.alias, covering, condition)
    return (
        _any_interval_piece(survey, time, intervals)
        if joined is None
        else StatementPiece(_range_values_sql(survey, intervals), *joined)
    )


def _any_interval_piece(
    survey: SurveyedRelation, time: ComparableTime, intervals: Sequence[Interval]
) -> StatementPiece:
    return StatementPiece("", survey.item, f"({time.any_interval_condition(intervals)})")


def _joined_condition(time: ComparableTime) -> str:
    return time.interval_condition(("r.lo", "r.hi"))


def _range_values_sql(survey: SurveyedRelation, intervals: Sequence[Interval]) -> str:
    return f"WITH r(lo, hi) AS ({survey.engine.range_rows_sql(intervals)}) "


def read_scan(session: ReadSession, scan: RowScan) -> pa.Table:
    """Role-named rows of all statements; what is in another format of times is marked."""
    if not scan.statements:
        return join_id_columns(Statement(scan.outputs, "").empty_table())
    return mark_other_times(
        join_id_columns(concat_mixed_tables([session.read_table(some) for some in scan.statements])),
        scan.formats,
    )


def mark_other_times(table: pa.Table, formats: Mapping[str, str]) -> pa.Table:
    """Texts of times that are in another format than their role's are marked."""
    for role, form in formats.items():
        column = table[role].combine_chunks()
        if pa.types.is_string(column.type):
            pieces = [
                mark_other_texts(column.slice(at, _AT_ONCE), form) for at in range(0, len(column), _AT_ONCE)
            ]
            table = table.set_column(
                table.column_names.index(role), role, pa.chunked_array(pieces, pa.string())
            )
    return table


def _scan_ranges(
    session: ReadSession,
    survey: SurveyedRelation,
    model: ModelSpec,
    ranges: Sequence[Range],
    outputs: tuple[OutputColumn, ...],
    join: str,
) -> RowScan:
    span = (min(lo for lo, _ in ranges), max(hi for _, hi in ranges)) if ranges else None
    time = make_event_time(session, survey, model, span)
    survey = narrow_relation(survey, model.predictions, "event_time", model.reading, ranges)
    if span is not None:
        time = drop_utc_offsets(session, survey, time, *span)
    statements = (
        Statement(outputs, f"FROM {piece.source}{join} WHERE {piece.where}", piece.before)
        for piece in statement_pieces(session, survey, time, ranges)
    )
    return RowScan(
        outputs, tuple(statements), sample_time_formats(session, survey, outputs, join, time, span)
    )


def sample_time_formats(
    session: ReadSession,
    survey: SurveyedRelation,
    outputs: tuple[OutputColumn, ...],
    join: str,
    time: ComparableTime,
    span: Range | None,
) -> dict[str, str]:
    """Main format of each time that is text, by a look at some rows within a day of those to be read.

    So what is a time does not depend on how many panes are read at once. Cost: up to 100 rows.
    """
    texts = [
        output
        for output in outputs
        if output.name in _TIMES and output.kind in (ColumnKind.TEXT, ColumnKind.MOMENT) and not output.plain
    ]
    if span is None or not texts:
        return {}
    selected = ", ".join(f"{survey.engine.readable_sql(output.sql)} AS {output.name}" for output in texts)
    # As if texts had offsets, which widens the range by a day: their format is what is still to be found.
    near = replace(time, offsets=True).range_condition(*span)
    sql = f"SELECT {selected} FROM {survey.item}{join}"
    rows = session.read_rows(f"{sql} WHERE {near} LIMIT {_LOOKED_AT}")
    # Too few near by to tell a format: rows of any time are written as these are.
    if len(rows) < _ENOUGH:
        rows += session.read_rows(f"{sql} LIMIT {_LOOKED_AT}")
    formats = {}
    for output, values in zip(texts, zip(*rows, strict=True), strict=False):
        counted = count_formats(pa.array([value for value in values if isinstance(value, str)], pa.string()))
        if (main := main_format(counted)) is not None:
            formats[output.name] = main
    return formats
