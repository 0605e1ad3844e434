"""Records of which labels were reported within a time: all of their rows, with all of their labels."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.records.winning_rows import parse_role_times
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.relations import (
    SurveyedRelation,
    id_join_condition,
    make_comparable_time,
    make_event_time,
    narrow_relation,
    survey_relation,
)
from monitor.sources.sql.scan import (
    RowScan,
    has_own_table,
    mark_other_times,
    narrow_labels,
    read_scan,
    sample_time_formats,
    select_labelled_outputs,
)
from monitor.sources.sql.statements import ReadSession, Statement
from monitor.sources.sql.time_ranges import TimeShape
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import OTHER_TIMES, Range

_MAY_CHANGE = (
    "rows of their table might be changed later. If they are only ever added, "
    "say append_only = true below [models.labels]"
)
_TEXTS = ("char", "clob", "text", "string")


def read_relabelled(
    session: ReadSession, engine: Engine, model: ModelSpec, bounds: Range, reported: Range, *, undated: bool
) -> pa.Table:
    """Rows with event times within bounds, one for each of their labels (and some more).

    Parameters
    ----------
    reported
        when a label of each record was reported.
    undated
        labels without such a time come too, of records from then on.
    """
    scan = relabelled_scan(session, engine, model, bounds, reported, undated=undated)
    rows = read_scan(session, replace(scan, formats={}))
    table = mark_other_times(rows, scan.formats)
    odd = np.zeros(rows.num_rows, dtype=bool)
    for role in (role for role in scan.formats if pa.types.is_string(rows[role].type)):
        odd |= np.asarray(pc.not_equal(rows[role], table[role]).fill_null(False).combine_chunks())
    # Event times that are written otherwise than most: what they are only a whole count of their panes says.
    if not odd.any():
        return table
    event = parse_role_times(rows.filter(pa.array(odd)), "event_time", model.reading)
    us = np.zeros(rows.num_rows, dtype=np.int64)
    us[odd] = event.us
    readable = odd.copy()
    readable[odd] = event.known
    return table.append_column(OTHER_TIMES, pa.array(us, mask=~readable))


def relabelled_scan(
    session: ReadSession, engine: Engine, model: ModelSpec, bounds: Range, reported: Range, *, undated: bool
) -> RowScan:
    """What `read_relabelled` reads: by an index on the ids; undated labels by another statement."""
    assert model.labels is not None
    column = str(model.labels.column_of("reported_at"))
    survey, labels = (
        survey_relation(session, engine, model.predictions, "p"),
        survey_relation(session, engine, model.labels, "l"),
    )
    event = make_event_time(session, survey, model, bounds)
    survey = narrow_relation(survey, model.predictions, "event_time", model.reading, [bounds])
    labels = narrow_labels(labels, model, bounds[0])
    near = replace(event, sql=engine.unindexed_sql(event.sql) or event.sql).range_condition(*bounds)
    same = id_join_condition(model.predictions, model.labels, survey, labels)
    joined = f"FROM {labels.item} JOIN {survey.item} ON {same}"
    outputs = select_labelled_outputs(survey, labels, model)
    found = _reported_condition(session, model, survey, labels, reported)
    statements = [Statement(outputs, f"{joined} WHERE {found} AND ({near})")]
    if undated:
        bare = narrow_relation(labels, model.labels, "reported_at", model.reading, [], undated=True)
        joined = f"FROM {bare.item} JOIN {survey.item} ON {same}"
        late = event.range_condition(max(bounds[0], reported[0]), bounds[1])
        none = f"{labels.qualified_ref(column, 'reported_at')} IS NULL"
        statements.append(Statement(outputs, f"{joined} WHERE {none} AND ({late})"))
    formats = sample_time_formats(session, survey, outputs, f" JOIN {labels.item} ON {same}", event, bounds)
    return RowScan(outputs, tuple(statements), formats)


def _reported_condition(
    session: ReadSession,
    model: ModelSpec,
    survey: SurveyedRelation,
    labels: SurveyedRelation,
    reported: Range,
) -> str:
    """Condition of a record's labels: one of them was reported then.

    A number may be written in several ways by texts: "7" and "07" are labels of one prediction, which then
    tells whose they are.
    """
    assert model.labels is not None
    engine, column = survey.engine, str(model.labels.column_of("reported_at"))
    new = survey_relation(session, engine, model.labels, "k")
    recent = make_comparable_time(session, new, column, "reported_at", model.reading).range_condition(
        *reported
    )
    new = narrow_relation(new, model.labels, "reported_at", model.reading, [reported])
    pairs = _id_pairs(model)
    if all(_are_alike(survey.types[ours], labels.types[theirs]) for (_, ours), (_, theirs) in pairs):
        here, there = (_join_refs_sql(some, [own for _, own in pairs]) for some in (labels, new))
        return f"({here}) IN (SELECT {there} FROM {new.item} WHERE {recent})"
    known = survey_relation(session, engine, model.predictions, "q")
    here, there = (_join_refs_sql(some, [own for own, _ in pairs]) for some in (survey, known))
    join = f"{new.item} JOIN {known.item} ON {id_join_condition(model.predictions, model.labels, known, new)}"
    return f"({here}) IN (SELECT {there} FROM {join} WHERE {recent})"


def why_no_label_differences(session: ReadSession, engine: Engine, model: ModelSpec) -> str:
    """Why the labels of a model cannot be counted by difference, for people; empty: they can."""
    labels = model.labels
    if labels is None or not has_own_table(labels):
        return "they stand in the prediction table, where new ones take the place of old ones"
    column = labels.column_of("reported_at")
    if column is None:
        return "no column says when they were reported"
    if not _is_append_only(session, engine, model, labels):
        return "append_only = false" if model.append_only is False else _MAY_CHANGE
    survey, here = (
        survey_relation(session, engine, model.predictions, "p"),
        survey_relation(session, engine, labels, "l"),
    )
    if make_comparable_time(session, here, column, "reported_at", model.reading).shape is TimeShape.UNKNOWN:
        return f'times of "{column}" cannot be compared in the database'
    return _why_ids_unfit(session, model, survey, here)


def _why_ids_unfit(
    session: ReadSession, model: ModelSpec, survey: SurveyedRelation, labels: SurveyedRelation
) -> str:
    """Why not all rows of a record are found by the id of a label; empty: they are."""
    engine = survey.engine
    for table in (labels, survey) if engine.has_indexes and not engine.skips_by_bounds else ():
        if not engine.can_use_index(
            session, table.item, _shared_id_condition(model, survey, labels, searched=table)
        ):
            return f"no index finds the ids of {table.title}"
    for pair in _id_pairs(model):
        for table, (role, name) in zip((survey, labels), pair, strict=True):
            if engine.mixes_ids(session, table.item, table.qualified_ref(name, role), table.types[name]):
                return f'column "{name}" of {table.title} holds ids of several types: cast them in `query`'
    return ""


def _is_append_only(session: ReadSession, engine: Engine, model: ModelSpec, labels: Relation) -> bool:
    if model.append_only is not None:
        return model.append_only
    if labels.column_of("revision") is not None:
        return True
    return labels.table is not None and labels.column_of("reported_at") in engine.primary_key(
        session, labels.table
    )


def _shared_id_condition(
    model: ModelSpec, survey: SurveyedRelation, labels: SurveyedRelation, *, searched: SurveyedRelation
) -> str:
    """Condition of the rows of one of both tables that have an id of the other."""

    def searched_ref(table: SurveyedRelation, column: str, role: str) -> str:
        ref = table.qualified_ref(column, role)
        return ref if table is searched else f"(SELECT {ref} FROM {table.item} LIMIT 1)"

    return " AND ".join(
        survey.engine.same_id(
            searched_ref(survey, ours, role),
            searched_ref(labels, theirs, role),
            survey.types[ours],
            labels.types[theirs],
        )
        for (role, ours), (_, theirs) in _id_pairs(model)
    )


def _id_pairs(model: ModelSpec) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """(Role, column) of the ids of both tables."""
    assert model.labels is not None
    ours = model.predictions.id_columns
    return list(zip(ours, model.labels.id_columns or ours, strict=True))


def _join_refs_sql(table: SurveyedRelation, columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(table.qualified_ref(column, role) for role, column in columns)


def _are_alike(kind: str, other: str) -> bool:
    """Both are texts, or both are not, as far as they are known."""
    texts = (any(part in some for part in _TEXTS) for some in (kind, other))
    return kind == other or ("" not in (kind, other) and len(set(texts)) == 1)
