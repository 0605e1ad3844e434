"""Rows of the prediction table, parsed: visible, in their panes, one for each id."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from monitor.core.errors import SourceError
from monitor.core.typing import Bools, Ints
from monitor.records.counting import Counting
from monitor.records.dedupe import combine, smallest
from monitor.records.reading import Reading, Task
from monitor.records.times import Times, parse_times
from monitor.records.values import Categories, Numbers, canonical, categories, codes_of, numbers
from monitor.states.strata import NONE, OTHER, WHOLE, Stratum

MOST_VERSIONS = 1_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Winning rows of some panes.

    Parameters
    ----------
    panes
        int64 starts, ascending; `pane` holds positions in it.
    rows
        positions of the winners in the table that was read.
    group
        of every row read that lies in a pane: the number of its winner (position in `rows`);
        `member` holds those rows' positions in the table.
    repeats
        rows of each winner's id less one.
    """

    panes: Ints
    rows: Ints
    pane: Ints
    event_time: Ints
    logged_at: Ints
    no_logged_at: Bools
    repeats: Ints
    member: Ints
    group: Ints
    adjusted: Bools
    version: Categories | None
    arm: Categories | None

    def strata(self, reading: Reading) -> Iterator[tuple[list[Stratum], Ints]]:
        """The strata of each dimension, and every winner's position among them."""
        yield [WHOLE], np.zeros(len(self.rows), dtype=np.int64)
        if self.version is not None:
            if len(self.version.levels) > MOST_VERSIONS:
                raise SourceError(
                    f"the version column holds {len(self.version.levels)} values in one read: "
                    f"at most {MOST_VERSIONS} are versions of a model"
                )
            names = [*self.version.levels, NONE]
            codes = np.where(self.version.codes < 0, len(names) - 1, self.version.codes)
            yield [Stratum(version=name) for name in names], codes
        if self.arm is not None and reading.arms is not None:
            arms = (reading.arms.control, reading.arms.treatment)
            names = [*arms, OTHER]
            codes = self.arm.positions(tuple(canonical(arm) for arm in arms), 2)
            yield (
                [Stratum(segment=f"{reading.arms.column}={name}") for name in names],
                np.where(codes < 0, 2, codes),
            )


def read_rows(table: pa.Table, counting: Counting, panes: Ints, as_of: int) -> Rows:
    """Winning rows of the given panes, as of a moment.

    Parameters
    ----------
    table
        role-named columns, any order of rows; rows outside the panes are passed over.
    panes
        int64 starts, ascending.

    Raises
    ------
    SourceError
        if a column of times mixes formats, or there are too many versions.
    """
    reading = counting.reading
    event = times(table, "event_time", reading)
    logged, no_logged_at = logged_times(table, event, reading)
    has_id = np.asarray(table["id"].is_valid().combine_chunks())
    place = np.searchsorted(panes, event.us, side="right") - 1
    inside = (place >= 0) & (len(panes) > 0)
    inside[inside] &= event.us[inside] < panes[place[inside]] + reading.pane
    visible = event.known & has_id & (logged <= as_of) & (event.us <= as_of + reading.tolerance)
    member = np.flatnonzero(inside & visible)
    chosen = table.take(pa.array(member))
    version = categories(chosen["version"]) if reading.versioned else None
    keys = [place[member], codes_of(chosen["id"])]
    if version is not None:
        keys.append(version.codes + 1)
    group = np.unique(combine(keys), return_inverse=True)[1] if len(member) else np.empty(0, np.int64)
    winners, counts = smallest(
        group, [logged[member]], lambda tied: _tie_keys(chosen.take(pa.array(tied)), counting)
    )
    rows = member[winners]
    arm = categories(chosen["arm"]).take(winners) if reading.arms is not None else None
    return Rows(
        panes=panes,
        rows=rows,
        pane=place[rows],
        event_time=event.us[rows],
        logged_at=logged[rows],
        no_logged_at=no_logged_at[rows],
        repeats=counts - 1,
        member=member,
        group=group,
        adjusted=event.adjusted[rows],
        version=None if version is None else version.take(winners),
        arm=arm,
    )


def times(table: pa.Table, role: str, reading: Reading) -> Times:
    """Parsed times of a role."""
    return parse_times(table[role], name=role, zone=reading.zone, unit=reading.unit(role))


def logged_times(table: pa.Table, event: Times, reading: Reading) -> tuple[Ints, Bools]:
    """`logged_at` of each row, and where it reads as the event time because there is none."""
    if "logged_at" not in table.column_names:
        return event.us, np.zeros(table.num_rows, dtype=bool)
    logged = times(table, "logged_at", reading)
    return np.where(logged.known, logged.us, event.us), ~logged.known


def score_of(table: pa.Table, reading: Reading) -> Numbers | None:
    """Scores: the column, or the largest of the class probabilities."""
    if "score" in table.column_names:
        return numbers(table["score"])
    if not reading.probabilities:
        return None
    columns = [numbers(table[f"probability:{name}"]) for name in reading.probabilities]
    missing = np.logical_or.reduce([column.missing for column in columns])
    return Numbers(np.maximum.reduce([column.values for column in columns]), missing)


def prediction_of(table: pa.Table, reading: Reading, score: Numbers | None) -> Numbers | Categories:
    """Predictions: the column, the score against the threshold, or the most probable class."""
    if "prediction" in table.column_names:
        column = table["prediction"]
        return numbers(column) if reading.task is Task.REGRESSION else categories(column)
    if reading.task is Task.BINARY and score is not None and reading.threshold is not None:
        codes = np.where(score.values >= reading.threshold, 1, 0)
        return Categories(reading.classes, np.where(score.finite, codes, -1))
    columns = [numbers(table[f"probability:{name}"]) for name in reading.probabilities]
    values = np.stack([np.where(column.finite, column.values, -np.inf) for column in columns])
    none = np.logical_and.reduce([column.missing for column in columns])
    return Categories(reading.probabilities, np.where(none, -1, values.argmax(axis=0)))


def _tie_keys(table: pa.Table, counting: Counting) -> list[Ints]:
    score = score_of(table, counting.reading)
    keys = [] if score is None else [score.rank()]
    keys.append(prediction_of(table, counting.reading, score).rank())
    for name in counting.reading.numeric:
        if f"feature:{name}" in table.column_names:
            keys.append(numbers(table[f"feature:{name}"]).rank())
    for name in counting.reading.categorical:
        if f"feature:{name}" in table.column_names:
            keys.append(categories(table[f"feature:{name}"]).rank())
    return keys
