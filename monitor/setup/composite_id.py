"""Several columns that name a prediction together, tried where no column is an id. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import pyarrow as pa

from monitor.core.clock import DAY
from monitor.look.table_look import ColumnLook, TableLook
from monitor.setup.column_names import name_rank, rank_or_last
from monitor.setup.role_guess import GuessedRoles, RoleGuess, type_words
from monitor.sources.sql.statements import has_equality

_MOST = 6  # columns of which pairs and triples are tried


def guess_key(predictions: TableLook, labels: TableLook | None, roles: GuessedRoles) -> None:
    """Take a pair or triple of columns as the id, where no column is one, not even for each version."""
    if "id" in roles.predictions:
        guesses = [roles.predictions[role] for role in ("id", "version") if role in roles.predictions]
        if are_unique([predictions.find_column(guess.column) for guess in guesses]):
            return
    shared = None if labels is None else [column.name for column in labels.columns]
    for names in _id_candidates(predictions, shared):
        if are_unique([predictions.find_column(name) for name in names]):
            types = ", ".join(type_words(predictions.find_column(name)) for name in names)
            together = f"unique together in {predictions.looked:,} rows, none is alone"
            how = "the primary key" if names == predictions.key else together
            own = RoleGuess(names[0], f"{types}: {how}", more=names[1:])
            roles.predictions["id"] = own
            if labels is not None:
                reported = roles.labels.get("reported_at")
                if reported is not None and reported.column in names:
                    del roles.labels["reported_at"]
                roles.labels["id"] = replace(own, why="the same columns name the prediction")
            return


def are_unique(columns: Sequence[ColumnLook]) -> bool:
    """No combination of values is there twice."""
    names = [str(at) for at in range(len(columns))]
    rows = pa.table([column.texts for column in columns], names)
    groups = rows.group_by(names).aggregate([])
    return 0 < int(rows.num_rows) == int(groups.num_rows)


def _id_candidates(predictions: TableLook, shared: Sequence[str] | None) -> Iterator[tuple[str, ...]]:
    """Declared key first; then pairs and triples, ids first."""
    if len(predictions.key) > 1 and (shared is None or set(predictions.key) <= set(shared)):
        yield predictions.key
    may_be = [column.name for column in predictions.columns if _may_be_part(column, shared)]
    ordered = sorted(may_be, key=lambda name: rank_or_last("id", name))[:_MOST]
    for size in (2, 3):
        yield from combinations(ordered, size)


def _may_be_part(column: ColumnLook, shared: Sequence[str] | None) -> bool:
    """Whether a column may be a part of a key: both tables have it; without labels, by its name."""
    named = name_rank("id", column.name) is not None or name_rank("part", column.name) is not None
    return (
        (named if shared is None else column.name in shared)
        and has_equality(column.type)
        and 0 < column.there == len(column.texts)
        and column.distinct > 1
        and (column.numbers is None or column.whole)
        and name_rank("version", column.name) is None
        and not (column.is_time and _has_time_of_day(column))
    )


def _has_time_of_day(column: ColumnLook) -> bool:
    """Whether times are moments: a repeated row has another one, so they name nothing."""
    times = column.parse_moments(None)
    return times is None or bool((times.us[times.known] % DAY != 0).any())
