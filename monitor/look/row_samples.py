"""Some rows of a model, as cycles read them: the newest where an index finds them; where its log begins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.clock import DAY
from monitor.look.row_edges import RowEdge
from monitor.look.table_look import (
    EPOCH_ON,
    FAR,
    FROM_FILES,
    LOOKED_AT,
    TIMES,
    ModelLook,
    TableLook,
    TimeLook,
    some_rows_sql,
)
from monitor.records.winning_rows import parse_role_times
from monitor.sources.indexes import RowCount, count_rows
from monitor.sources.sql.relations import SurveyedRelation, id_join_condition, narrow_relation
from monitor.sources.sql.scan import (
    has_own_table,
    select_feature_outputs,
    select_label_outputs,
    select_prediction_outputs,
)
from monitor.sources.sql.statements import (
    OutputColumn,
    ReadSession,
    Statement,
    WantedKind,
)
from monitor.sources.sql.time_ranges import TimeShape
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range

_PARTS = 10  # of the labelled predictions' time
_OF_PART = LOOKED_AT // _PARTS
_OLDEST = 100  # rows, some of which may have no time
_PAUSE = 180 * DAY  # of a log, at most


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
class LogSpan:
    """Event times of a log's oldest and newest prediction, and whether older ones lie before a long pause."""

    oldest: int  # since 1970
    newest: int
    has_older: bool = False


def sample_records(session: ReadSession, look: ModelLook, now: int) -> RowSample:
    """Newest predictions up to now; some, where all lie in the future."""
    survey, event = look.predictions.survey, look.times["event_time"]
    outputs = (*select_prediction_outputs(survey, look.model), *select_feature_outputs(survey, look.model))
    if event.sortable:
        newest = _read_some(session, survey, outputs, event.newest_first(session, look.predictions, now))
        if newest.num_rows:
            return RowSample(newest, newest=True)
    return RowSample(_read_some(session, survey, outputs), newest=False)


def sample_alike(session: ReadSession, look: ModelLook, joined: pa.Table | None) -> pa.Table | None:
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
    known, event = parse_role_times(joined, "event_time", look.model.reading), look.times["event_time"]
    if not known.known.any() or not event.sortable:
        return None
    moments = np.quantile(known.us[known.known], (np.arange(_PARTS) + 0.5) / _PARTS).astype(np.int64)
    survey = look.predictions.survey
    parts = (
        "SELECT * FROM "
        + some_rows_sql(survey, event.newest_up_to(session, look.predictions, moment, _OF_PART), _OF_PART)
        for moment in moments.tolist()
    )
    body = f"FROM ({' UNION ALL '.join(parts)}) AS {survey.alias}"
    return session.read_table(Statement(select_prediction_outputs(survey, look.model), body))


def find_log_span(
    session: ReadSession, table: TableLook, event: TimeLook, now: int, newest: int | None = None
) -> LogSpan | None:
    """Where a log begins and ends; None where no index finds it, or all of it lies in the future.

    A few misdated rows, or many, would be its oldest ones: what lies beyond half a year without any row is
    left out. Cost: some of the oldest rows, and one row of each half year between them and the newest.

    Parameters
    ----------
    newest
        event time up to now, where it is known.
    """
    if not event.sortable:
        return None
    time, reading, survey = event.time, event.reading, table.survey
    output = survey.output_column(
        WantedKind.TIME, "event_time", event.column, unit=reading.unit_of("event_time")
    )

    def moments_of(chosen: str) -> np.ndarray:
        found = parse_role_times(
            _read_some(session, survey, (output,), chosen, _OLDEST), "event_time", reading
        )
        return found.us[found.known]

    if newest is None:
        past = moments_of(event.newest_up_to(session, table, now, _OLDEST))
        if not len(past):
            return None
        newest = int(past.max())

    def oldest_since(first: int) -> int:
        part = event.part_of(session, table, RowEdge((first, newest + 1), _OLDEST, newest=False))
        return int(moments_of(event.order_of(part, newest=False)).min(initial=newest))

    oldest = oldest_since(EPOCH_ON)
    ends = range(newest + 1, oldest, -_PAUSE)
    there = are_there(session, survey, [time.range_condition(end - _PAUSE, end) for end in ends])
    if all(there):
        return LogSpan(oldest, newest)
    return LogSpan(oldest_since(ends[there.index(False)]), newest, has_older=True)


def are_there(session: ReadSession, survey: SurveyedRelation, conditions: Sequence[str]) -> list[bool]:
    """Whether there is a row of each condition, by one statement."""
    one = f"SELECT 1 AS one FROM {survey.item} WHERE"
    asked_names = [
        f"(SELECT count(*) FROM ({one} {condition} LIMIT 1) AS few) AS at{at}"
        for at, condition in enumerate(conditions)
    ]
    return [bool(count) for count in session.read_rows(f"SELECT {', '.join(asked_names)}")[0]]


def count_far_off(session: ReadSession, look: ModelLook, expected: Range) -> RowCount | None:
    """Predictions whose event times lie outside of those expected; None where no index finds them."""
    event = look.times["event_time"]
    if not event.sortable:
        return None
    ranges = ((EPOCH_ON, expected[0]), (expected[1], FAR))
    survey = narrow_relation(
        look.predictions.survey, look.model.predictions, "event_time", look.model.reading, ranges
    )
    return count_rows(session, survey.item, event.time.exclusion_condition(expected))


def sample_times(session: ReadSession, look: ModelLook, now: int) -> RowSample:
    """The times alone of the newest predictions."""
    reading = replace(
        look.model.reading,
        versioned=False,
        arms=None,
        serving=None,
        segments=(),
        probabilities=(),
        numeric=(),
        categorical=(),
    )
    types, relation = look.predictions.survey.types, look.model.predictions
    columns = tuple(pair for pair in relation.columns if pair[0] in TIMES and pair[1] in types)
    model = replace(look.model, predictions=replace(relation, columns=columns), reading=reading)
    return sample_records(session, replace(look, model=model), now)


def odd_times(session: ReadSession, look: ModelLook, role: str, now: int) -> pa.Table | None:
    """Some of the times of `role` that are none and sort beside all that are, as `n/a` does.

    None where the column holds no such texts, or looking for them would read a large table whole.

    Parameters
    ----------
    role
        event_time, or reported_at of a model that has it.
    """
    table, time = look.table_of(role), look.times[role].time
    beside = time.odd_rows_condition((now - look.model.reading.horizon, now))
    if time.shape is not TimeShape.TEXT or beside is None or not look.times[role].sortable:
        return None
    output = table.survey.output_column(WantedKind.TIME, role, look.times[role].column)
    return _read_some(session, table.survey, (output,), f"WHERE {beside}")


def sample_partitions(session: ReadSession, look: ModelLook, role: str, now: int) -> pa.Table | None:
    """A time and the partition of some rows within a horizon; None: no column says the days of this time."""
    survey, looked = look.table_of(role).survey, look.times.get(role)
    if looked is None or looked.time.days is None or survey.partition is None:
        return None
    unit = look.model.reading.unit_of(role)
    outputs = (
        survey.output_column(WantedKind.TIME, role, looked.column, unit=unit),
        survey.output_column(WantedKind.TEXT, "partition", survey.partition[1]),
    )
    recent = looked.time.days.within(now - look.model.reading.horizon, now)
    return _read_some(session, survey, outputs, f"WHERE {recent}")


def sample_labels(
    session: ReadSession, look: ModelLook, now: int, *, oldest: bool = False
) -> RowSample | None:
    """Newest labels with the event times and outputs of their predictions, `found` 1 where there is one.

    None where finding the predictions would read a large table whole.

    Parameters
    ----------
    oldest
        those that were reported first instead, where some column says when.
    """
    model, own = look.model, look.predictions.survey
    if model.labels is None or look.labels is None:
        return None
    survey, reported = look.labels.survey, look.times.get("reported_at")
    span = (EPOCH_ON, now + DAY)
    order = ""
    if reported is not None and reported.sortable:
        span = reported.part_of(session, look.labels, RowEdge(span, LOOKED_AT, newest=not oldest))
        order = reported.order_of(span, newest=not oldest)
    chosen = order
    outputs = (*select_label_outputs(survey, model.labels, model.reading), *_joined_outputs(own, model))
    if not has_own_table(model.labels):
        label = survey.qualified_ref(str(model.labels.column_of("label")), "label")
        return RowSample(
            _read_some(session, survey, outputs, chosen or f"WHERE {label} IS NOT NULL"), newest=bool(order)
        )
    there = own.item if look.finds_by_id else _nearby_item(session, look, span)
    if there is None:
        return None
    join = id_join_condition(model.predictions, model.labels, own, survey)
    body = f"FROM {some_rows_sql(survey, chosen)} LEFT JOIN {there} ON {join}"
    return RowSample(session.read_table(Statement(outputs, body)), newest=bool(order))


def _nearby_item(session: ReadSession, look: ModelLook, labels: Range) -> str | None:
    """Predictions that labels of a range may have, as an item of FROM; None: too many, or none are found."""
    horizon, reading = look.model.reading.horizon, look.model.reading
    span = (labels[0] - 2 * horizon, labels[1] + horizon)
    own = narrow_relation(look.predictions.survey, look.model.predictions, "event_time", reading, [span])
    if own is look.predictions.survey:
        return None
    near = look.times["event_time"].time.range_condition(*span)
    if count_rows(session, own.item, near, FROM_FILES).more:
        return None
    return f"(SELECT * FROM {own.item} WHERE {near}) AS {own.alias}"


def count_recent_rows(
    session: ReadSession, look: ModelLook, role: str, newest: int, span: int
) -> RowCount | None:
    """Predictions, or labels, of the last `span` by a role of times; None where no index finds them."""
    time = look.times.get(role)
    if time is None or not time.sortable:
        return None
    recent = time.time.range_condition(newest - span, newest + 1)
    return count_rows(session, look.table_of(role).survey.item, recent)


def _read_some(
    session: ReadSession,
    survey: SurveyedRelation,
    outputs: tuple[OutputColumn, ...],
    chosen: str = "",
    most: int = LOOKED_AT,
) -> pa.Table:
    return session.read_table(Statement(outputs, f"FROM {some_rows_sql(survey, chosen, most)}"))


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
        for output in select_prediction_outputs(survey, model)
        if output.name in ("score", "prediction") or output.name.startswith("probability:")
    )
    return (time, is_found, *outputs)
