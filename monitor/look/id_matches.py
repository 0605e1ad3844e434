"""Labels and predictions side by side, before anything is configured: do their ids meet, which numbers do."""

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from monitor.look.table_look import AT_ONCE, LOOKED_AT, SORTED, TableLook, some_rows_sql
from monitor.sources.sql.relations import id_join_condition
from monitor.sources.sql.statements import Statement, WantedKind
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import Relation

_FOUND_OF = 200  # ids that are looked for in the other table
IdColumns: TypeAlias = tuple[Sequence[str], Sequence[str]]


def found_ids(
    source: SqlSource, predictions: TableLook, labels: TableLook, own: str, theirs: str
) -> tuple[int, int] | None:
    """How many of some labels' ids are predictions'; None where finding out would read a large table."""
    too_many = predictions.rows.n > SORTED if predictions.files is None else predictions.rows.more
    if not predictions.find_column(own).indexed and too_many:
        return None
    first, second = (Relation(columns=(("id", name),)) for name in (own, theirs))
    there, here = predictions.survey, labels.survey
    with source.reader.open_session() as session:
        ref = here.qualified_ref(theirs, "id")
        some = f"(SELECT DISTINCT {ref} FROM {here.item} WHERE {ref} IS NOT NULL LIMIT {_FOUND_OF}) AS l"
        of = int(session.read_rows(f"SELECT count(*) AS n FROM {some}")[0][0])
        exists = f"EXISTS (SELECT 1 FROM {there.item} WHERE {id_join_condition(first, second, there, here)})"
        matched = int(session.read_rows(f"SELECT count(*) AS n FROM {some} WHERE {exists}")[0][0])
    return matched, of


def labelled_values(
    source: SqlSource,
    predictions: TableLook,
    labels: TableLook | None,
    ids: IdColumns,
    label: str,
    columns: Sequence[str],
) -> pa.Table | None:
    """Numbers of some labels, as column `label`, and of their predictions' columns, by one statement.

    None where finding the predictions would read a large table.

    Parameters
    ----------
    labels
        None: the label stands in the prediction table.
    ids
        columns of the predictions' id, and of the labels'.
    """
    if labels is not None and not predictions.find_column(ids[0][0]).indexed and predictions.rows.more:
        return None
    there, here = predictions.survey, (labels or predictions).survey
    labelled = f"WHERE {here.qualified_ref(label, 'label')} IS NOT NULL"
    body = f"FROM {some_rows_sql(here, labelled)}"
    if labels is not None:  # a prediction may stand there more than once
        first, second = (Relation(columns=_id_columns(names)) for names in ids)
        body += f" JOIN {there.item} ON {id_join_condition(first, second, there, here)} LIMIT {LOOKED_AT}"
    outputs = [here.output_column(WantedKind.VALUE, "label", label)]
    outputs += [there.output_column(WantedKind.VALUE, f"column:{name}", name) for name in columns[:AT_ONCE]]
    with source.reader.open_session() as session:
        return session.read_table(Statement(tuple(outputs), body))


def _id_columns(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"id:{at}" if at else "id", name) for at, name in enumerate(names))
