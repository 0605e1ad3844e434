"""Ids: the join of predictions and labels."""

from monitor.sources.engines import mysql, spark
from monitor.sources.sql.relations import Looked
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


def _same(there: Looked, here: Looked, ours: tuple[str, str], theirs: tuple[str, str]) -> str:
    left, right = there.ref(*ours), here.ref(*theirs)
    if there.dialect.name == "postgresql":
        cast = _cast(there.types[ours[0]], here.types[theirs[0]])
        left, right = f"{left}{cast}", f"{right}{cast}"
    if mysql.is_mysql(there.dialect.name):
        return _mysql(left, right, there.types[ours[0]], here.types[theirs[0]])
    if spark.is_spark(there.dialect.name) and not spark.alike(there.types[ours[0]], here.types[theirs[0]]):
        left, right = f"CAST({left} AS STRING)", f"CAST({right} AS STRING)"
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
