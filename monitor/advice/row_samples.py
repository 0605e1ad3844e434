"""A bounded look at the rows of a model: the newest where an index finds them, else some."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.clock import DAY
from monitor.records.winning_rows import parse_role_times
from monitor.sources.engines.engine import Engine
from monitor.sources.indexes import MANY, RowCount, count_rows
from monitor.sources.sql.relations import SurveyedRelation, same_id, survey_relation
from monitor.sources.sql.scan import (
    feature_outputs,
    has_own_table,
    label_outputs,
    look_labels,
    prediction_outputs,
)
from monitor.sources.sql.statements import (
    OutputColumn,
    ReadSession,
    Statement,
    WantedKind,
    concat_mixed_tables,
)
from monitor.sources.sql.time_columns import make_comparable_time
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range

LOOKED_AT = 5_000
_SORTED = 20 * MANY  # rows up to which sorting them without an index is cheap
_PARTS = 10  # of the labelled predictions' time
_OLDEST = 100  # rows, some of which may have no time
_PAUSE = 180 * DAY  # of a log, at most
_EPOCH_ON = 0  # rows from before 1970 are no newest ones


@dataclass(frozen=True, slots=True)
class RowSample:
    """Rows with role names."""

    rows: pa.Table
    newest: bool  # they are the newest ones; else those that the database hands over first

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.num_rows)

    @property
    def title(self) -> str:
        """What messages call them."""
        return f"the {self.n:,} {'newest' if self.newest else 'first'}"


@dataclass(frozen=True, slots=True)
class LogStart:
    """Event time of a log's oldest prediction since 1970, and whether others lie before a long pause."""

    oldest: int
    has_older: bool = False


def sample_records(session: ReadSession, engine: Engine, model: ModelSpec, now: int) -> RowSample:
    """Newest predictions up to now; some, where all lie in the future."""
    survey = survey_relation(session, engine, model.predictions, "p")
    column = str(model.predictions.column_of("event_time"))
    time = make_comparable_time(session, survey, column, "event_time", model.reading)
    order = _newest_first(session, survey, time, now)
    outputs = (*prediction_outputs(survey, model), *feature_outputs(survey, model))
    sample = RowSample(
        session.read_table(Statement(outputs, f"FROM {_sample_rows_sql(survey, order or '')}")),
        order is not None,
    )
    if sample.n or order is None:
        return sample
    return RowSample(
        session.read_table(Statement(outputs, f"FROM {_sample_rows_sql(survey, '')}")), newest=False
    )


def sample_alike(
    session: ReadSession, engine: Engine, model: ModelSpec, joined: pa.Table | None
) -> pa.Table | None:
    """Predictions that were made when some labelled ones were, whether or not their labels came.

    As many as of the newest ones, each part of them just before another quantile of the event times of
    those: else a drift of the newest would look like a choice. None where no index finds them.

    Parameters
    ----------
    joined
        labels that have a prediction, with its event time; None: none were looked at.
    """
    if joined is None:
        return None
    event = parse_role_times(joined, "event_time", model.reading)
    survey = survey_relation(session, engine, model.predictions, "p")
    column = str(model.predictions.column_of("event_time"))
    time = make_comparable_time(session, survey, column, "event_time", model.reading)
    if not event.known.any() or not is_sortable(session, survey, time):
        return None
    moments = np.quantile(event.us[event.known], (np.arange(_PARTS) + 0.5) / _PARTS).astype(np.int64)
    outputs = prediction_outputs(survey, model)
    parts = [
        f"WHERE ({time.range_condition(_EPOCH_ON, moment + 1)}) ORDER BY {time.sql} DESC"
        for moment in moments.tolist()
    ]
    return concat_mixed_tables(
        [
            session.read_table(
                Statement(outputs, f"FROM {_sample_rows_sql(survey, part, LOOKED_AT // _PARTS)}")
            )
            for part in parts
        ]
    )


def log_start(session: ReadSession, engine: Engine, model: ModelSpec, newest: int) -> LogStart | None:
    """Where a log begins that ends with its newest prediction; None where no index finds it.

    A few misdated rows, or many, would be its oldest ones: what lies beyond half a year without any row is
    left out. Cost: some of the oldest rows, and one row of each half year between them and the newest.
    """
    survey = survey_relation(session, engine, model.predictions, "p")
    column = str(model.predictions.column_of("event_time"))
    time = make_comparable_time(session, survey, column, "event_time", model.reading)
    if not is_sortable(session, survey, time):
        return None
    output = survey.output_column(
        WantedKind.TIME, "event_time", column, unit=model.reading.unit_of("event_time")
    )

    def oldest_since(first: int) -> int:
        oldest = f"WHERE ({time.range_condition(first, newest + 1)}) ORDER BY {time.sql}"
        rows = session.read_table(Statement((output,), f"FROM {_sample_rows_sql(survey, oldest, _OLDEST)}"))
        found = parse_role_times(rows, "event_time", model.reading)
        return int(found.us[found.known].min(initial=newest))

    oldest = oldest_since(_EPOCH_ON)
    ends = range(newest + 1, oldest, -_PAUSE)
    there = are_there(session, survey, [time.range_condition(end - _PAUSE, end) for end in ends])
    if all(there):
        return LogStart(oldest)
    return LogStart(oldest_since(ends[there.index(False)]), has_older=True)


def are_there(session: ReadSession, survey: SurveyedRelation, conditions: Sequence[str]) -> list[bool]:
    """Whether there is a row of each condition, by one statement."""
    one = f"SELECT 1 AS one FROM {survey.item} WHERE"
    asked_names = [
        f"(SELECT count(*) FROM ({one} {condition} LIMIT 1) AS few) AS at{at}"
        for at, condition in enumerate(conditions)
    ]
    return [bool(count) for count in session.read_rows(f"SELECT {', '.join(asked_names)}")[0]]


def count_far_off(session: ReadSession, engine: Engine, model: ModelSpec, expected: Range) -> RowCount | None:
    """Predictions whose event times lie outside of those expected; None where no index finds them."""
    survey = survey_relation(session, engine, model.predictions, "p")
    column = str(model.predictions.column_of("event_time"))
    time = make_comparable_time(session, survey, column, "event_time", model.reading)
    return (
        count_rows(session, survey.item, time.outside_condition(expected))
        if is_sortable(session, survey, time)
        else None
    )


def sample_times(session: ReadSession, engine: Engine, model: ModelSpec, now: int) -> RowSample | None:
    """The times alone of the newest predictions; None without a column of event times."""
    types = survey_relation(session, engine, model.predictions, "p").types
    roles = ("event_time", "logged_at")
    columns = tuple(pair for pair in model.predictions.columns if pair[0] in roles and pair[1] in types)
    if "event_time" not in dict(columns):
        return None
    reading = replace(
        model.reading,
        versioned=False,
        arms=None,
        serving=None,
        segments=(),
        probabilities=(),
        numeric=(),
        categorical=(),
    )
    predictions = replace(model.predictions, columns=columns)
    return sample_records(session, engine, replace(model, predictions=predictions, reading=reading), now)


def odd_times(session: ReadSession, engine: Engine, model: ModelSpec, role: str, now: int) -> pa.Table | None:
    """Some of the times of `role` that are none and sort beside all that are, as `n/a` does.

    None where the column holds no such texts, or looking for them would read a large table whole.

    Parameters
    ----------
    role
        event_time, or reported_at of a model that has it.
    """
    survey, column = (
        survey_relation(session, engine, model.predictions, "p"),
        model.predictions.column_of(role),
    )
    if role == "reported_at" and model.labels is not None:
        survey, column = look_labels(session, engine, model.labels, survey), model.labels.column_of(role)
    column = str(column)
    time = make_comparable_time(session, survey, column, role, model.reading)
    beside = time.odd_near((now - model.reading.horizon, now))
    if time.shape is not TimeShape.TEXT or beside is None or not is_sortable(session, survey, time):
        return None
    output = survey.output_column(WantedKind.TIME, role, column)
    return session.read_table(Statement((output,), f"FROM {_sample_rows_sql(survey, f'WHERE {beside}')}"))


def sample_labels(
    session: ReadSession, engine: Engine, model: ModelSpec, now: int, *, oldest: bool = False
) -> RowSample | None:
    """Newest labels with the event times and outputs of their predictions, `found` 1 where there is one.

    None where finding the predictions would read a large table whole.

    Parameters
    ----------
    oldest
        those that were reported first instead, where some column says when.
    """
    if model.labels is None:
        return None
    survey = survey_relation(session, engine, model.predictions, "p")
    labels = look_labels(session, engine, model.labels, survey)
    column, order = model.labels.column_of("reported_at"), None
    if column is not None:
        time = make_comparable_time(session, labels, column, "reported_at", model.reading)
        order = _newest_first(session, labels, time, now)
    if oldest and order is not None:
        order = order.removesuffix(" DESC")
    outputs = (*label_outputs(labels, model.labels, model.reading), *_joined_outputs(survey, model))
    if not has_own_table(model.labels):
        there = (
            order
            or f"WHERE {labels.qualified_ref(str(model.labels.column_of('label')), 'label')} IS NOT NULL"
        )
        return RowSample(
            session.read_table(Statement(outputs, f"FROM {_sample_rows_sql(survey, there)}")),
            order is not None,
        )
    if not _cheap_join(session, survey, model):
        return None
    join = same_id(model.predictions, model.labels, survey, labels)
    body = f"FROM {_sample_rows_sql(labels, order or '')} LEFT JOIN {survey.item} ON {join}"
    return RowSample(session.read_table(Statement(outputs, body)), order is not None)


def count_traffic(
    session: ReadSession, engine: Engine, model: ModelSpec, newest: int, span: int
) -> RowCount | None:
    """Predictions of the last `span` up to the newest one; None where no index finds them."""
    survey = survey_relation(session, engine, model.predictions, "p")
    column = str(model.predictions.column_of("event_time"))
    time = make_comparable_time(session, survey, column, "event_time", model.reading)
    return _count_recent_rows(session, survey, time, newest, span)


def label_traffic(
    session: ReadSession, engine: Engine, model: ModelSpec, newest: int, span: int
) -> RowCount | None:
    """Labels reported in the last `span` up to the newest one; None where no index finds them."""
    if model.labels is None or (column := model.labels.column_of("reported_at")) is None:
        return None
    survey = survey_relation(session, engine, model.predictions, "p")
    labels = look_labels(session, engine, model.labels, survey)
    return _count_recent_rows(
        session,
        labels,
        make_comparable_time(session, labels, column, "reported_at", model.reading),
        newest,
        span,
    )


def _sample_rows_sql(survey: SurveyedRelation, chosen: str, most: int = LOOKED_AT) -> str:
    """Some rows as an item of FROM: ORDER BY does not stand beside SQLite's row of literals."""
    return f"(SELECT {survey.alias}.* FROM {survey.item} {chosen} LIMIT {most}) AS {survey.alias}"


def _count_recent_rows(
    session: ReadSession, survey: SurveyedRelation, time: ComparableTime, newest: int, span: int
) -> RowCount | None:
    if not is_sortable(session, survey, time):
        return None
    return count_rows(session, survey.item, time.range_condition(newest - span, newest + 1))


def _joined_outputs(survey: SurveyedRelation, model: ModelSpec) -> Sequence[OutputColumn]:
    column = str(model.predictions.column_of("event_time"))
    time = survey.output_column(
        WantedKind.TIME, "event_time", column, unit=model.reading.unit_of("event_time")
    )
    there = (
        f"CASE WHEN {survey.qualified_ref(str(model.predictions.column_of('id')), 'id')} IS NULL THEN 0 "
        "ELSE 1 END"
    )
    is_found = survey.engine.output_column(WantedKind.NUMBER, "found", f"({there})", survey.engine.integer)
    outputs = (
        output
        for output in prediction_outputs(survey, model)
        if output.name in ("score", "prediction") or output.name.startswith("probability:")
    )
    return (time, is_found, *outputs)


def _newest_first(
    session: ReadSession, survey: SurveyedRelation, time: ComparableTime, now: int
) -> str | None:
    if not is_sortable(session, survey, time):
        return None
    condition = time.range_condition(_EPOCH_ON, now + DAY)
    return f"WHERE ({condition}) ORDER BY {time.sql} DESC"


def is_sortable(session: ReadSession, survey: SurveyedRelation, time: ComparableTime) -> bool:
    """Whether the newest rows of a column of times are found without reading a large table whole."""
    if time.shape in (TimeShape.UNKNOWN, TimeShape.NOTHING):
        return False
    if survey.engine.has_index(session, survey.item, time.range_condition(0, 1)):
        return True
    return not count_rows(session, survey.item, most=_SORTED).more


def _cheap_join(session: ReadSession, survey: SurveyedRelation, model: ModelSpec) -> bool:
    """Whether predictions are found by id without reading a large table."""
    own = survey.qualified_ref(str(model.predictions.column_of("id")), "id")
    same = f"{own} = (SELECT {own} FROM {survey.item} LIMIT 1)"
    if survey.engine.has_index(session, survey.item, same):
        return True
    return not count_rows(session, survey.item, most=5 * _SORTED).more
