"""Ids: the join of predictions and labels, and one text for an id of several columns."""

import pyarrow as pa
import pyarrow.compute as pc

from monitor.sources import mysql
from monitor.sources.catalogue import Looked
from monitor.specs.model import Relation

_WHOLE = ("smallint", "integer", "bigint", "oid")
_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")  # to numeric
_TEXTS = ("text", "character varying")


def same_id(predictions: Relation, labels: Relation, there: Looked, here: Looked) -> str:
    """Condition of the join, column by column; ids of different types are compared as numbers or as text."""
    ours = predictions.id_columns
    theirs = labels.id_columns or ours
    pairs = [
        _same(there, here, (name, role), (other, f"{role} of the labels"))
        for (role, name), (_, other) in zip(ours, theirs, strict=True)
    ]
    return " AND ".join(pairs)


def exact(looked: Looked, column: str, role: str) -> str:
    """What to group by: equal where the column's texts are, whatever its collation holds equal."""
    ref = looked.ref(column, role)
    if mysql.is_mysql(looked.dialect.name) and looked.types[column] not in mysql.NUMBERS:
        return f"CAST({ref} AS BINARY)"
    return ref


def with_one_id(table: pa.Table) -> pa.Table:
    """Columns id, id:1, id:2, … as one text: joined by commas, commas in them escaped; null where one is."""
    parts = [name for name in table.column_names if name.partition(":")[0] == "id"]
    if len(parts) < 2:
        return table
    joined = pc.binary_join_element_wise(
        *(_escaped(table[name]) for name in parts), ",", null_handling="emit_null"
    )
    rest = table.drop_columns(parts[1:])
    return rest.set_column(rest.column_names.index("id"), "id", joined)


def _same(there: Looked, here: Looked, ours: tuple[str, str], theirs: tuple[str, str]) -> str:
    left, right = there.ref(*ours), here.ref(*theirs)
    if there.dialect.name == "postgresql":
        cast = _cast(there.types[ours[0]], here.types[theirs[0]])
        left, right = f"{left}{cast}", f"{right}{cast}"
    if mysql.is_mysql(there.dialect.name):
        return _mysql(left, right, there.types[ours[0]], here.types[theirs[0]])
    return f"{right} = {left}"


def _mysql(left: str, right: str, one: str, other: str) -> str:
    """Without regard to the collation; numbers are not compared with texts as doubles, in which 7 = '7x'."""
    left = f"CAST({left} AS CHAR)" if one in mysql.NUMBERS and other not in mysql.NUMBERS else left
    right = f"CAST({right} AS CHAR)" if other in mysql.NUMBERS and one not in mysql.NUMBERS else right
    exact = "" if one in mysql.NUMBERS else f" AND CAST({right} AS BINARY) = CAST({left} AS BINARY)"
    return f"{right} = {left}{exact}"


def _cast(one: str, other: str) -> str:
    """What makes two types of PostgreSQL comparable; nothing where they are: an index is used then."""
    for alike, cast in ((_WHOLE, ""), (_TEXTS, ""), (_NUMBERS, "::numeric")):
        if one in alike and other in alike:
            return cast
    return "" if one == other else "::text"


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), ",", "\\,")
