"""Changes of a table, as columns: rows inserted, updated, deleted, each at a virtual moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from monitor.core.array_types import Bools, Ints

Column: TypeAlias = NDArray[Any]

INSERT, UPDATE, DELETE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a table; NaN in a column is NULL.

    Parameters
    ----------
    at
        microseconds: from when on the change is visible.
    action
        INSERT, UPDATE (all columns) or DELETE.
    columns
        values by column; `row` is the key of the row.
    """

    at: Ints
    action: Ints
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        """Return the number of changes."""
        return len(self.at)

    @property
    def inserts(self) -> Bools:
        """Which changes are insertions."""
        mine: Bools = self.action == INSERT
        return mine

    def take(self, chosen: Ints | Bools | slice) -> "Changes":
        """Some of the changes."""
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return Changes(self.at[chosen], self.action[chosen], columns)

    def having(self, **columns: Column | float) -> "Changes":
        """The same changes with other values in some columns."""
        full = {name: np.broadcast_to(column, len(self)).copy() for name, column in columns.items()}
        return replace(self, columns={**self.columns, **full})

    def seen(self, at: Ints) -> "Changes":
        """The same changes at other moments."""
        return replace(self, at=at)

    def doing(self, action: int) -> "Changes":
        """The same rows with another action."""
        return replace(self, action=np.full(len(self), action))

    def ordered(self) -> "Changes":
        """By moment; those of one moment stay in their order."""
        return self.take(np.argsort(self.at, kind="stable"))


def inserted(at: Ints, **columns: Column) -> Changes:
    """Rows that are inserted."""
    return Changes(at, np.full(len(at), INSERT), columns)


def standing(changes: Changes, until: int) -> Changes:
    """Rows that stand after the changes up to a moment, which are ordered."""
    seen = changes.take(changes.at <= until)
    gone = seen.columns["row"][seen.action == DELETE]
    seen = seen.take(~np.isin(seen.columns["row"], gone))
    _, last = np.unique(seen.columns["row"][::-1], return_index=True)
    return seen.take(len(seen) - 1 - last)


def joined(changes: Sequence[Changes]) -> Changes:
    """All of these, one after the other."""
    first = changes[0]
    return Changes(
        np.concatenate([one.at for one in changes]),
        np.concatenate([one.action for one in changes]),
        {name: np.concatenate([one.columns[name] for one in changes]) for name in first.columns},
    )
