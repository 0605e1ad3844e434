"""Which rows changed: logged, or labelled, since a moment."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.clock import FIRST, HOUR
from monitor.core.errors import SourceError
from monitor.records.pane import PaneHalf
from monitor.records.winning_rows import Batches, parse_dated_rows, parse_role_times
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.relations import (
    SurveyedRelation,
    drop_utc_offsets,
    exact_text_sql,
    id_join_condition,
    make_comparable_time,
    make_event_time,
    narrow_relation,
    survey_relation,
)
from monitor.sources.sql.scan import (
    has_own_table,
    mark_other_times,
    sample_time_formats,
    survey_labels,
    wanted_outcome,
)
from monitor.sources.sql.statements import OutputColumn, ReadSession, Statement, WantedKind
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import MisdatedRows, Range

_ENDS = ("min", "max")  # of an id's event times


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """Which changes are read: rows seen since a moment and up to another, event times within bounds."""

    since: int | None  # None: whenever they were seen
    as_of: int
    bounds: Range
    # of the bounds: pieces that make them up hold each row once. None: all of them.
    piece: Range | None = None
    # piece of the time from `since` on in which rows were seen: as `piece`, which is None then.
    seen: Range | None = None
    # rows whose event times are no times come with the first piece, if all rows are asked for.
    odd: bool = True
    limit: int | None = None  # rows at which a statement may end

    def narrow_to_piece(self, piece: Range) -> "WantedChanges":
        """The same of a piece of the bounds."""
        return self if piece == self.bounds else replace(self, piece=piece)

    def event_condition(self, event: ComparableTime) -> str:
        """Condition of the event time."""
        lo, hi = self.piece or self.bounds
        own = event.part_condition(self.bounds, (lo, hi))
        first = self.odd and self.since is None and lo <= self.bounds[0]
        odd = event.odd_rows_condition(self.bounds) if first else None
        return own if odd is None else f"{own} OR {odd}"

    def recent_condition(self, seen_time: ComparableTime) -> str:
        """Condition of the time at which rows were seen."""
        span = (self.since or 0, self.as_of + 1)
        return (
            seen_time.range_condition(*span)
            if self.seen is None
            else seen_time.part_condition(span, self.seen)
        )

    def unseen_condition(self, event: ComparableTime) -> str:
        """Condition of the event time of rows whose own time is not known: theirs stands for it."""
        lo, hi = self.bounds
        if self.seen is not None and self.seen[0] != self.since:
            return "1 = 0"  # they came with the first piece
        late = event.range_condition(max(lo, self.since or lo), hi)
        return (
            late if self.piece is None else f"({late}) AND ({event.part_condition(self.bounds, self.piece)})"
        )


@dataclass(frozen=True, slots=True)
class MisdatedRange:
    """Event times outside of which rows are misdated: of those logged since a moment, and of any."""

    since: int | None
    as_of: int
    recent: Range
    ever: Range


def read_changed_records(
    session: ReadSession, engine: Engine, model: ModelSpec, wanted_changes: WantedChanges
) -> Batches:
    """`event_time` and, if there is such a column, `logged_at` of rows logged since then (and some more)."""
    survey = survey_relation(session, engine, model.predictions, "p")
    event = make_event_time(session, survey, model, wanted_changes.bounds)
    logged = _seen_time(session, survey, model, "logged_at", event.range_condition(*wanted_changes.bounds))
    survey = _narrow_to_changes(survey, model, model.predictions, "logged_at", wanted_changes)
    outputs = [_time_output(survey, model, model.predictions, "event_time")]
    if logged is None:
        conditions = [wanted_changes.event_condition(event)]
    else:
        outputs.append(_time_output(survey, model, model.predictions, "logged_at"))
        conditions = _change_conditions(session, survey, event, logged, wanted_changes)
    yield from _select_rows(session, outputs, survey.item, conditions, wanted_changes.limit)


def read_changed_labels(
    session: ReadSession, engine: Engine, model: ModelSpec, wanted_changes: WantedChanges
) -> Batches:
    """Times of predictions, and labels reported since then (and some more), with their `reported_at`."""
    if model.labels is None:
        raise SourceError("no labels are configured")
    survey = survey_relation(session, engine, model.predictions, "p")
    labels = survey_labels(session, engine, model.labels, survey)
    event = make_event_time(session, survey, model, wanted_changes.bounds)
    near = event.range_condition(*wanted_changes.bounds) if labels is survey else None
    reported = _seen_time(session, labels, model, "reported_at", near)
    wanted_changes = replace(wanted_changes, odd=False)
    roles = [role for role in ("event_time", "logged_at") if model.predictions.column_of(role)]
    outputs = [_time_output(survey, model, model.predictions, role) for role in roles]
    if labels is survey:
        source, there = survey.item, _labelled_condition(survey, model.labels)
    else:
        join = id_join_condition(model.predictions, model.labels, survey, labels)
        labels = _narrow_to_changes(labels, model, model.labels, "reported_at", wanted_changes)
        survey = narrow_relation(
            survey, model.predictions, "event_time", model.reading, [wanted_changes.bounds]
        )
        source, there = f"{labels.item} JOIN {survey.item} ON {join}", "1 = 1"
    if reported is None:
        conditions = [wanted_changes.event_condition(event)]
    else:
        outputs.append(_time_output(labels, model, model.labels, "reported_at"))
        # By new labels it is seen whether they are still those that the model knows.
        if wanted_changes.since is not None:
            column = str(model.labels.column_of("label"))
            outputs.append(labels.output_column(wanted_outcome(model.reading), "label", column))
        conditions = _change_conditions(session, labels, event, reported, wanted_changes)
    conditions = [f"{there} AND ({condition})" for condition in conditions]
    yield from _select_rows(session, outputs, source, conditions, wanted_changes.limit)


def _narrow_to_changes(
    survey: SurveyedRelation,
    model: ModelSpec,
    relation: Relation,
    role: str,
    wanted_changes: WantedChanges,
) -> SurveyedRelation:
    """A relation of which only rows seen since then are wanted, or those within the bounds of event time."""
    reading, since = model.reading, wanted_changes.since
    if since is not None and relation.column_of(role) is not None:
        seen = [wanted_changes.seen or (since, wanted_changes.as_of + 1)]
        return narrow_relation(survey, relation, role, reading, seen, undated=True)
    wanted = [wanted_changes.piece or wanted_changes.bounds]
    return narrow_relation(survey, relation, "event_time", reading, wanted, undated=True)


def can_slice_cheaply(
    session: ReadSession, engine: Engine, model: ModelSpec, span: Range, *, labels: bool
) -> bool:
    """Whether a slice of a span is found without reading all rows: by an index, partitions, bounds of files.

    Parameters
    ----------
    labels
        those of the slice are looked for, too: unless they are joined by hash, by an index on their id.
    """
    survey = survey_relation(session, engine, model.predictions, "p")
    event, middle = make_event_time(session, survey, model, span), sum(span) // 2
    if not engine.has_indexes or event.shape in (TimeShape.UNKNOWN, TimeShape.NOTHING):
        return event.shape is not TimeShape.UNKNOWN
    narrow = event.range_condition(middle, middle + HOUR)
    if not survey.engine.can_use_index(session, survey.item, narrow):
        return engine.prunes_partitions(session, survey.item, narrow, event.range_condition(*span))
    if not labels or model.labels is None or not has_own_table(model.labels) or engine.hashes_joins:
        return True
    here = survey_labels(session, engine, model.labels, survey)
    return can_find_ids(session, here, str(model.labels.column_of("id")))


def can_find_seen_rows(
    session: ReadSession, engine: Engine, model: ModelSpec, wanted_changes: WantedChanges, *, labels: bool
) -> bool:
    """Whether an index finds the rows seen within an hour, and another the predictions of labels."""
    survey = survey_relation(session, engine, model.predictions, "p")
    here = survey_labels(session, engine, model.labels, survey) if labels and model.labels else survey
    near = make_event_time(session, survey, model, wanted_changes.bounds).range_condition(
        *wanted_changes.bounds
    )
    role = "reported_at" if labels else "logged_at"
    seen_time = _seen_time(session, here, model, role, near if here is survey else None)
    if (
        seen_time is None
        or not engine.has_indexes
        or seen_time.shape in (TimeShape.UNKNOWN, TimeShape.NOTHING)
    ):
        return False
    if not engine.can_use_index(
        session, here.item, seen_time.range_condition(wanted_changes.as_of - HOUR, wanted_changes.as_of)
    ):
        return False
    return here is survey or can_find_ids(session, survey, str(model.predictions.column_of("id")))


def can_find_ids(session: ReadSession, survey: SurveyedRelation, column: str) -> bool:
    """Whether an index finds rows by a column of their id."""
    ref = survey.qualified_ref(column, "id")
    return survey.engine.can_use_index(
        session, survey.item, f"{ref} = (SELECT {ref} FROM {survey.item} LIMIT 1)"
    )


def empty_table_title(session: ReadSession, engine: Engine, model: ModelSpec, part: PaneHalf) -> str:
    """Title of the table of predictions, or of that of labels, if it has no row at all; else empty."""
    relation = model.predictions if part is PaneHalf.RECORDS else model.labels
    if relation is None or (part is PaneHalf.LABELS and not has_own_table(relation)):
        return ""
    survey = survey_relation(session, engine, relation, "t")
    found = session.read_rows(f"SELECT 1 AS there FROM {survey.item} LIMIT 1")
    return "" if found else survey.title


def has_rows(session: ReadSession, engine: Engine, model: ModelSpec, as_of: int, bounds: Range) -> bool:
    """Whether predictions have event times within bounds, and are visible (texts: widened to a minute)."""
    survey = survey_relation(session, engine, model.predictions, "p")
    near = make_event_time(session, survey, model, bounds).range_condition(*bounds)
    where = f"({near}){_visible_condition(session, survey, model, near, as_of)}"
    return bool(session.read_rows(f"SELECT 1 AS there FROM {survey.item} WHERE {where} LIMIT 1"))


def count_orphans(session: ReadSession, engine: Engine, model: ModelSpec, bounds: Range) -> int | None:
    """Labels reported within the bounds without a prediction in three horizons before their end, one after.

    Predictions count that were logged before the end of the bounds: a replay finds what was found then. None
    without such a time: predictions are never looked for through the whole log, and labels of older ones
    cannot be told from orphans.
    """
    if model.labels is None or not has_own_table(model.labels):
        return 0
    if model.labels.column_of("reported_at") is None:
        return None
    survey, labels = (
        survey_relation(session, engine, model.predictions, "p"),
        survey_relation(session, engine, model.labels, "l"),
    )
    same = id_join_condition(model.predictions, model.labels, survey, labels)
    horizon = model.reading.horizon
    around = (bounds[1] - 1 - 3 * horizon, bounds[1] + horizon)
    near = make_event_time(session, survey, model, around).range_condition(*around)
    visible = f"({near}){_visible_condition(session, survey, model, near, bounds[1] - 1)}"
    # not NOT EXISTS: without an index on the ids SQLite would read the predictions once a label
    labels = narrow_relation(labels, model.labels, "reported_at", model.reading, [bounds])
    survey = narrow_relation(survey, model.predictions, "event_time", model.reading, [around])
    source = f"{labels.item} LEFT JOIN {survey.item} ON {same} AND {visible}"
    alone = f"{survey.qualified_ref(str(model.predictions.column_of('id')), 'id')} IS NULL"
    column = str(model.labels.column_of("reported_at"))
    reported = make_comparable_time(session, labels, column, "reported_at", model.reading)
    outputs = [_time_output(labels, model, model.labels, "reported_at")]
    orphans = 0
    for table in _select_rows(
        session, outputs, source, [f"{alone} AND ({reported.range_condition(*bounds)})"]
    ):
        moment = parse_role_times(table, "reported_at", model.reading)
        orphans += int(np.sum(moment.known & (moment.us >= bounds[0]) & (moment.us < bounds[1])))
    return orphans


def count_incomplete_rows(
    session: ReadSession, engine: Engine, model: ModelSpec, as_of: int, bounds: Range
) -> dict[str, int]:
    """Visible rows without an id within event-time bounds; without an event time, logged within bounds.

    No event time is a bound of it too: an index finds these rows, and only the default partition holds any.
    """
    survey, reading = survey_relation(session, engine, model.predictions, "p"), model.reading
    event = make_event_time(session, survey, model, bounds)
    logged = _seen_time(session, survey, model, "logged_at", event.range_condition(*bounds))
    outputs = [_time_output(survey, model, model.predictions, "event_time")]
    outputs += [] if logged is None else [_time_output(survey, model, model.predictions, "logged_at")]
    nameless = " OR ".join(f"{ref} IS NULL" for ref in _id_refs(survey, model))
    nameless = f"({nameless}) AND ({event.range_condition(*bounds)})"
    batches = parse_dated_rows(_select_rows(session, outputs, survey.item, [nameless]), "logged_at", reading)
    without_id = sum(int(batch.rows_within(bounds, as_of).sum()) for batch in batches)
    column = str(model.predictions.column_of("event_time"))
    timeless = f"{survey.qualified_ref(column, 'event_time')} IS NULL"
    if event.days is not None:  # the day of no time is none
        timeless += f" AND {event.days.sql} IS NULL"
    if logged is None:
        sql = f"SELECT count(*) AS timeless FROM {survey.item} WHERE {timeless}"
        return {"rows_without_id": without_id, "rows_without_time": int(session.read_rows(sql)[0][0])}
    without_time, span = 0, f"{logged.range_condition(bounds[0], as_of + 1)} OR {logged.missing_condition}"
    for table in _select_rows(session, outputs[1:], survey.item, [f"{timeless} AND ({span})"]):
        moment = parse_role_times(table, "logged_at", reading)
        without_time += int(np.sum(~moment.known | ((moment.us >= bounds[0]) & (moment.us <= as_of))))
    return {"rows_without_id": without_id, "rows_without_time": without_time}


def count_misdated(
    session: ReadSession, engine: Engine, model: ModelSpec, misdated_range: MisdatedRange
) -> MisdatedRows:
    """Visible rows whose event time lies outside of what is read; times of logging may be a minute late.

    Cost: two columns of the rows logged since, by an index on when; else one narrow count, by the index on
    the event time that cycles need, which goes through misdated rows alone.
    """
    survey = survey_relation(session, engine, model.predictions, "p")
    event = make_event_time(session, survey, model, misdated_range.recent)
    logged = _seen_time(session, survey, model, "logged_at", event.range_condition(*misdated_range.recent))
    if (
        logged is not None
        and misdated_range.since is not None
        and _can_find_logged_rows(session, survey, event, logged, misdated_range)
    ):
        logged = drop_utc_offsets(session, survey, logged, misdated_range.since, misdated_range.as_of)
        new = logged.range_condition(misdated_range.since + 1, misdated_range.as_of + 1)
        misdated = (
            f"count(CASE WHEN {event.exclusion_condition(misdated_range.recent)} THEN 1 END) AS misdated"
        )
        sql = f"SELECT count(*) AS logged, {misdated} FROM {survey.item} WHERE {new}"
        counts = session.read_rows(sql)[0]
        return MisdatedRows(misdated=int(counts[-1]), logged=int(counts[0]))
    where = f"({event.exclusion_condition(misdated_range.ever)})"
    # By an index on it nearly all rows would be found: the few misdated ones are, by that of the event time.
    if logged is not None and logged.shape is not TimeShape.NOTHING:
        logged = replace(logged, sql=engine.unindexed_sql(logged.sql) or logged.sql)
        where += f" AND ({logged.range_condition(FIRST, misdated_range.as_of + 1)})"
    rows = session.read_rows(f"SELECT count(*) AS misdated FROM {survey.item} WHERE {where}")
    return MisdatedRows(int(rows[0][0]))


def _can_find_logged_rows(
    session: ReadSession,
    survey: SurveyedRelation,
    event: ComparableTime,
    logged: ComparableTime,
    misdated_range: MisdatedRange,
) -> bool:
    """Whether rows logged since are found by an index, or by no more work than any others."""
    engine = survey.engine
    if logged.shape in (TimeShape.UNKNOWN, TimeShape.NOTHING) or engine.scans_are_paid:
        return False
    if not engine.has_indexes or engine.can_use_index(
        session, survey.item, logged.range_condition(misdated_range.as_of - HOUR, misdated_range.as_of)
    ):
        return True
    if event.shape in (TimeShape.UNKNOWN, TimeShape.NOTHING):
        return True
    narrow = event.range_condition(misdated_range.as_of - HOUR, misdated_range.as_of)
    return not (
        engine.can_use_index(session, survey.item, narrow)
        or engine.prunes_partitions(
            session, survey.item, narrow, event.range_condition(*misdated_range.recent)
        )
    )


def count_repeated(session: ReadSession, engine: Engine, model: ModelSpec, as_of: int, bounds: Range) -> int:
    """Ids, with their version, whose first and last event times within bounds lie in different panes.

    `logged_at` is compared in SQL, where the moment may be up to a minute late. Of texts the first and last
    are those of the database: an id is left out where one of them is no time.
    """
    survey, reading = survey_relation(session, engine, model.predictions, "p"), model.reading
    event = make_event_time(session, survey, model, bounds)
    near = event.range_condition(*bounds)
    full_name = " AND ".join(f"{ref} IS NOT NULL" for ref in _id_refs(survey, model))
    columns = [(column, role) for role, column in model.predictions.id_columns]
    if version := model.predictions.column_of("version"):
        columns.append((version, "version"))
    key = [exact_text_sql(survey, column, role) for column, role in columns]
    column = str(model.predictions.column_of("event_time"))
    time, kind, unit = (
        survey.qualified_ref(column, "event_time"),
        survey.types[column],
        reading.unit_of("event_time"),
    )
    where = f"{full_name} AND ({near}){_visible_condition(session, survey, model, near, as_of)}"
    # Few ids are repeated, and only these leave the database: whether in different panes is decided here, by
    # the parser of times.
    grouped = [
        f"{where}{piece} GROUP BY {', '.join(key)} HAVING min({time}) < max({time})"
        for piece in engine.split_groups(session, f"FROM {survey.item} WHERE {where}", key)
    ]
    times_of = (
        engine.output_column(WantedKind.TIME, "event_time", f"{end}({time})", kind, unit) for end in _ENDS
    )
    outputs = [replace(output, name=end) for output, end in zip(times_of, _ENDS, strict=True)]
    said = (_time_output(survey, model, model.predictions, "event_time"),)
    formats = sample_time_formats(session, survey, said, "", event, bounds)
    of_ends = {end: form for form in formats.values() for end in _ENDS}
    repeated = 0
    for batch in _select_rows(session, outputs, survey.item, grouped):
        table = mark_other_times(batch, of_ends)
        first, last = (
            parse_role_times(pa.table({"event_time": table[name]}), "event_time", reading) for name in _ENDS
        )
        both = first.known & last.known
        repeated += int(np.sum(both & (first.us // reading.pane != last.us // reading.pane)))
    return repeated


def _visible_condition(
    session: ReadSession, survey: SurveyedRelation, model: ModelSpec, near: str, as_of: int
) -> str:
    """Further condition: logged as of a moment, which may be up to a minute late, or nobody knows when."""
    logged = _seen_time(session, survey, model, "logged_at", near)
    return (
        ""
        if logged is None
        else f" AND ({logged.range_condition(0, as_of + 1)} OR {logged.missing_condition})"
    )


def _labelled_condition(survey: SurveyedRelation, labels: Relation) -> str:
    """Condition of rows of the prediction table that hold a label, or a report that retracts it."""
    roles = [role for role in ("label", "reported_at") if labels.column_of(role)]
    there = " OR ".join(
        f"{survey.qualified_ref(str(labels.column_of(role)), role)} IS NOT NULL" for role in roles
    )
    return f"({there})"


def _change_conditions(
    session: ReadSession,
    survey: SurveyedRelation,
    event: ComparableTime,
    seen_time: ComparableTime,
    wanted_changes: WantedChanges,
) -> list[str]:
    """Conditions of disjoint sets of rows: those seen since then, and those of whom that is not known.

    Rows whose times are no times lie in no interval: they are looked for in the first read and in audits.
    """
    if wanted_changes.since is None:
        return [wanted_changes.event_condition(event)]
    recent = wanted_changes.recent_condition(seen_time)
    within, off_index = event, survey.engine.unindexed_sql(event.sql)
    if (
        wanted_changes.piece is None
        and off_index
        and survey.engine.can_use_index(session, survey.item, recent)
    ):
        within = replace(event, sql=off_index)  # else the wider range may be looked for
    return [
        f"({recent}) AND {seen_time.sql} IS NOT NULL AND ({wanted_changes.event_condition(within)})",
        f"{seen_time.sql} IS NULL AND ({wanted_changes.unseen_condition(event)})",
    ]


def _select_rows(
    session: ReadSession,
    outputs: list[OutputColumn],
    source: str,
    conditions: list[str],
    limit: int | None = None,
) -> Batches:
    ending = "" if limit is None else f" LIMIT {limit}"
    for condition in conditions:
        yield from session.read_batches(Statement(tuple(outputs), f"FROM {source} WHERE {condition}{ending}"))


def _seen_time(
    session: ReadSession, survey: SurveyedRelation, model: ModelSpec, role: str, near: str | None
) -> ComparableTime | None:
    """When rows were seen: predictions logged, labels reported."""
    relation = model.predictions if role == "logged_at" else model.labels
    column = None if relation is None else relation.column_of(role)
    if column is None:
        return None
    return make_comparable_time(session, survey, column, role, model.reading, near=near)


def _id_refs(survey: SurveyedRelation, model: ModelSpec) -> list[str]:
    return [survey.qualified_ref(column, role) for role, column in model.predictions.id_columns]


def _time_output(survey: SurveyedRelation, model: ModelSpec, relation: Relation, role: str) -> OutputColumn:
    """Column of a time."""
    return survey.output_column(
        WantedKind.TIME, role, str(relation.column_of(role)), unit=model.reading.unit_of(role)
    )
