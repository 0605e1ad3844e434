"""Ids: the join of predictions and labels."""

from monitor.sources.sql.relations import Looked
from monitor.specs.model import Relation


def same_id(predictions: Relation, labels: Relation, there: Looked, here: Looked) -> str:
    """Condition of the join, column by column; ids of different types are compared as numbers or as text."""
    ours = predictions.id_columns
    theirs = labels.id_columns or ours
    pairs = [
        there.engine.same_id(
            there.ref(name, role),
            here.ref(other, f"{role} of the labels"),
            there.types[name],
            here.types[other],
        )
        for (role, name), (_, other) in zip(ours, theirs, strict=True)
    ]
    return " AND ".join(pairs)


def exact(looked: Looked, column: str, role: str) -> str:
    """What to group by: equal where the column's texts are, whatever its collation holds equal."""
    return looked.engine.group_key(looked.ref(column, role), looked.types[column])
