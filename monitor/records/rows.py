"""Rows of the prediction table, parsed: visible, in their panes, one for each id."""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.text import name_of
from monitor.core.typing import Bools, Ints
from monitor.records.checksum import checksum_of_moments
from monitor.records.counting import Counting
from monitor.records.dedupe import combine, dense, smallest
from monitor.records.probabilities import probabilities_of
from monitor.records.reading import Reading, Task
from monitor.records.times import Times, parse_times, require_main_format
from monitor.records.values import Categories, Numbers, categories, codes_of, numbers, texts
from monitor.states.grids import NumericGrid
from monitor.states.strata import NONE, OTHER, WHOLE, Stratum, most_frequent, value_name

MOST_VERSIONS = 1_000  # of a pane: a column that holds more is none of versions
_MARKS = ("id", "version", "arm", "serving", "segment:")  # columns that say which rows count, and where
_OUTPUTS = ("score", "prediction", "challenger", "probability:", "feature:")

Batches = Generator[pa.Table, None, None]
"""Role-named columns of rows, some thousand at a time; closing it ends the reading."""


@dataclass(frozen=True, slots=True)
class WinningRows:
    """Winning rows of some panes."""

    panes: Ints  # int64 starts, ascending; `pane` holds positions in it
    # read, newest: of each pane: visible rows, repeats and rows without an id included, and their largest
    # `logged_at` (the smallest int64 where there are none).
    read: Ints
    newest: Ints
    checksum: Ints  # of the same rows: their event times and `logged_at`
    rows: Ints  # positions of the winners in the table that was read
    pane: Ints
    event_time: Ints
    logged_at: Ints
    no_logged_at: Bools
    repeats: Ints  # rows of each winner's id less one
    member: Ints
    # of every row read that lies in a pane: the number of its winner (position in `rows`); `member` holds
    # those rows' positions in the table.
    group: Ints
    adjusted: Bools
    version: Categories | None
    arm: Categories | None
    segments: dict[str, Categories]
    serves: Bools

    def chosen(self, kept: Bools) -> "WinningRows":
        """Some of the winners, with the rows of their ids; what was read of the panes stays.

        Parameters
        ----------
        kept
            of each winner.
        """
        if kept.all():
            return self
        at, of_kept = np.flatnonzero(kept), kept[self.group]
        arrays = ("rows", "pane", "event_time", "logged_at", "no_logged_at", "repeats", "adjusted", "serves")
        return replace(
            self,
            **{name: getattr(self, name)[at] for name in arrays},
            member=self.member[of_kept],
            group=(np.cumsum(kept) - 1)[self.group[of_kept]],
            version=None if self.version is None else self.version.take(at),
            arm=None if self.arm is None else self.arm.take(at),
            segments={column: values.take(at) for column, values in self.segments.items()},
        )

    @property
    def unusual(self) -> Bools:
        """Winners whose version, arm or a segment is not named as its text is."""
        unusual = np.zeros(len(self.pane), dtype=bool)
        for named in (self.version, self.arm, *self.segments.values()):
            unusual |= False if named is None else named.renamed()
        return unusual

    def strata(self, counting: Counting) -> Iterator[tuple[list[Stratum], Ints]]:
        """Yield the strata of each dimension, and every winner's position among them, -1 for none.

        Rows that do not serve have a position among the versions only.
        """
        reading = counting.reading
        yield [WHOLE], np.where(self.serves, 0, -1)
        if self.version is not None:
            names, codes = _named([*self.version.levels, NONE], self.version.codes)
            yield [Stratum(version=name) for name in names], codes
        if self.arm is not None and reading.arms is not None:
            strata = [*reading.arms.strata, reading.arms.rest]
            codes = self.arm.positions((reading.arms.control, reading.arms.treatment), len(strata) - 1)
            codes = np.where(codes < 0, len(strata) - 1, codes)  # no value
            yield strata, np.where(self.serves, codes, -1)
        for column, values in counting.segments:
            if column in self.segments:
                levels = (*values, "")
                positions = self.segments[column].positions(levels, len(levels))
                names, codes = _named([*map(value_name, levels), OTHER, NONE], positions)
                strata = [Stratum(segment=f"{column}={name}") for name in names]
                yield strata, np.where(self.serves, codes, -1)


def read_rows(table: pa.Table, counting: Counting, panes: Ints, as_of: int) -> WinningRows:
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
        if a column of times has no main format.
    """
    reading = counting.reading
    event = times(table, "event_time", reading)
    logged, no_logged_at = logged_times(table, event, reading)
    place, visible = _places(event, logged, panes, reading, as_of)
    member = np.flatnonzero(visible & np.asarray(table["id"].is_valid().combine_chunks()))
    chosen = table if len(member) == table.num_rows else _of(table, _MARKS, member)
    version = texts(chosen["version"], version_name) if reading.versioned else None
    arm = categories(chosen["arm"]) if reading.arms is not None else None
    segments, serves = _segment_columns(chosen, counting), serves_of(chosen, reading)
    keys = [place[member], codes_of(chosen["id"]), *([] if version is None else [version.codes + 1])]
    group = dense(combine(keys))

    def ties(tied: Ints) -> list[Ints]:
        at = member[tied]
        ranked: list[Ints | Bools] = [event.us[at], ~no_logged_at[at], event.adjusted[at], ~serves[tied]]
        slices = (*([] if arm is None else [arm]), *segments.values())
        ranked += [column.codes[tied] for column in slices]
        return _tie_keys(outputs_of(table, at), counting, ranked)

    winners, counts = smallest(group, [logged[member]], ties)
    rows = member[winners]
    read, newest, checksum = _facts(place[visible], event.us[visible], logged[visible], len(panes))
    return WinningRows(
        panes=panes,
        read=read,
        newest=newest,
        checksum=checksum,
        rows=rows,
        pane=place[rows],
        event_time=event.us[rows],
        logged_at=logged[rows],
        no_logged_at=no_logged_at[rows],
        repeats=counts - 1,
        member=member,
        group=group,
        adjusted=event.adjusted[rows],
        version=None if version is None else frequent_versions(version.take(winners), place[rows]),
        arm=None if arm is None else arm.take(winners),
        segments={column: values.take(winners) for column, values in segments.items()},
        serves=serves[winners],
    )


def version_name(text: str) -> str:
    """Name of a version that the data hold."""
    return value_name(name_of(text))


def frequent_versions(version: Categories, pane: Ints) -> Categories:
    """The 1,000 versions with most rows of each pane (ties by name), the others as *other*, an unusual name.

    Parameters
    ----------
    version
        of each row; missing ones are none of the 1,000.
    pane
        int64, of each row.
    """
    levels = len(version.levels)
    if levels <= MOST_VERSIONS:
        return version
    codes = version.codes.copy()
    for at in np.unique(pane):
        there = np.flatnonzero((pane == at) & (version.codes >= 0))
        distinct, row, counts = np.unique(version.codes[there], return_inverse=True, return_counts=True)
        names = [version.levels[code] for code in distinct]
        frequent = most_frequent(dict(zip(names, counts.tolist(), strict=True)), MOST_VERSIONS)
        rare = np.asarray([name not in frequent for name in names], dtype=bool)
        codes[there[rare[row]]] = levels
    return Categories((*version.levels, OTHER), codes, version.unusual | {levels})


@dataclass(frozen=True, slots=True)
class Dated:
    """Times of some rows."""

    event: Times
    seen: Ints  # when each row, or its label, became visible; the event time where that is not known
    logged: Ints  # when each row became visible: a label may be reported before its record is logged
    invalid: Bools  # event times that are there but are not times

    def invalid_times(self, as_of: int) -> int:
        """Rows visible as of a moment whose event time is no time; it is so long visible, too."""
        return int((self.invalid & (self.logged <= as_of)).sum())

    def within(self, bounds: tuple[int, int], as_of: int) -> Bools:
        """Rows with event times in the half-open bounds that are visible as of a moment."""
        inside = (self.event.us >= bounds[0]) & (self.event.us < bounds[1])
        return self.event.known & inside & (self.seen <= as_of) & (self.logged <= as_of)


def dated(batches: Batches, role: str, reading: Reading) -> Iterator[Dated]:
    """Parse the event times and another time, if it is there, of rows that come batch by batch.

    Raises
    ------
    SourceError
        if a column of times has no main format, be it in different batches.
    """
    formats: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    with closing(batches):
        for table in batches:
            event = times(table, "event_time", reading)
            other = times(table, role, reading) if role in table.column_names else event
            for column, parsed, seen in zip(("event_time", role), (event, other), formats, strict=True):
                seen.update(parsed.formats)
                require_main_format(seen, reading.column(column))
            moment = np.where(other.known, other.us, event.us)
            logged = moment if role == "logged_at" else logged_times(table, event, reading)[0]
            there = np.asarray(table["event_time"].is_valid().combine_chunks())
            yield Dated(event, moment, logged, there & ~event.known)


def outputs_of(table: pa.Table, rows: Ints) -> pa.Table:
    """Outputs and features of chosen rows."""
    return _of(table, _OUTPUTS, rows)


def _of(table: pa.Table, roles: tuple[str, ...], rows: Ints) -> pa.Table:
    chosen = table.select([name for name in table.column_names if name.startswith(roles)])
    everything = len(rows) == table.num_rows and np.array_equal(rows, np.arange(len(rows)))
    return chosen if everything else chosen.take(pa.array(rows))


def times(table: pa.Table, role: str, reading: Reading) -> Times:
    """Parse the times of a role."""
    return parse_times(table[role], name=reading.column(role), zone=reading.zone, unit=reading.unit(role))


def logged_times(table: pa.Table, event: Times, reading: Reading) -> tuple[Ints, Bools]:
    """`logged_at` of each row, and where it reads as the event time because there is none."""
    if "logged_at" not in table.column_names:
        return event.us, np.zeros(table.num_rows, dtype=bool)
    logged = times(table, "logged_at", reading)
    return np.where(logged.known, logged.us, event.us), ~logged.known


def score_of(table: pa.Table, reading: Reading) -> Numbers | None:
    """Scores: the column, or the largest of the class probabilities.

    The largest is missing where one of them is, else invalid where one of them is.
    """
    if "score" in table.column_names:
        return numbers(table["score"])
    probabilities = probabilities_of(table, reading)
    return None if probabilities is None else probabilities.largest()


def prediction_of(table: pa.Table, reading: Reading, score: Numbers | None) -> Numbers | Categories | None:
    """Predictions: the column, the score against the threshold, or the most probable class.

    Without a column a prediction is missing where the score, or one of the probabilities, is missing or
    invalid; there is none at all where nothing gives one.
    """
    if "prediction" in table.column_names:
        column = table["prediction"]
        return numbers(column) if reading.task is Task.REGRESSION else predicted_classes(column, reading)
    if score is not None and reading.task is Task.BINARY and reading.threshold is not None:
        codes = np.where(score.values >= reading.threshold, 1, 0)
        return Categories(reading.classes, np.where(score.within(reading.score_range), codes, -1))
    probabilities = probabilities_of(table, reading)
    return None if probabilities is None else probabilities.most_probable()


def predicted_classes(column: pa.ChunkedArray, reading: Reading) -> Categories:
    """Classes that a column of predictions means, a champion's or a challenger's."""
    return categories(column).meaning(dict(reading.words))


def is_labelled(table: pa.Table, reading: Reading) -> Bools:
    """Rows whose predictions are those that labels come for: all, unless `only_for` says which."""
    if not reading.only_for:
        return np.ones(table.num_rows, dtype=bool)
    prediction = prediction_of(table, reading, score_of(table, reading))
    if not isinstance(prediction, Categories):
        return np.zeros(table.num_rows, dtype=bool)
    return prediction.positions(reading.only_for, -1) >= 0


def serves_of(table: pa.Table, reading: Reading) -> Bools:
    """Rows that serve: all of them where nothing tells."""
    if reading.serving is None or "serving" not in table.column_names:
        return np.ones(table.num_rows, dtype=bool)
    return categories(table["serving"]).positions(reading.serving.values, -1) >= 0


def _segment_columns(table: pa.Table, counting: Counting) -> dict[str, Categories]:
    """Segment columns that are there."""
    roles = {column: f"segment:{column}" for column, _ in counting.segments}
    return {column: categories(table[role]) for column, role in roles.items() if role in table.column_names}


def _places(event: Times, logged: Ints, panes: Ints, reading: Reading, as_of: int) -> tuple[Ints, Bools]:
    """Position of each row's pane, and whether the row lies in one and is visible."""
    place = np.searchsorted(panes, event.us, side="right") - 1
    ends = np.append(panes + reading.pane, np.iinfo(np.int64).min)  # the last one of rows before all panes
    visible = event.known & (logged <= as_of) & (event.us <= as_of + reading.tolerance)
    visible &= event.us < ends[place]
    return place, visible


def _facts(place: Ints, event: Ints, logged: Ints, panes: int) -> tuple[Ints, Ints, Ints]:
    """Of each pane: its rows, their newest `logged_at`, the checksum of their moments."""
    newest = np.full(panes, np.iinfo(np.int64).min)
    np.maximum.at(newest, place, logged)
    return np.bincount(place, minlength=panes), newest, checksum_of_moments(event, logged, place, panes)


def _named(names: list[str], codes: Ints) -> tuple[list[str], Ints]:
    """Distinct names, the last for empty ones, and codes among them; -1 is the last."""
    filled = [name or names[-1] for name in names]
    position = {name: at for at, name in enumerate(dict.fromkeys(filled))}
    return list(position), np.asarray([position[name] for name in filled], dtype=np.int64)[codes]


def _tie_keys(table: pa.Table, counting: Counting, ranked: list[Ints | Bools]) -> list[Ints]:
    """Rank all that is counted of a row; features last, since the labels part does not read them.

    Nor does the records part read the challenger's score, and no counter of it depends on that.
    """
    score = score_of(table, counting.reading)
    prediction = prediction_of(table, counting.reading, score)
    outputs = [values.rank() for values in (score, prediction) if values is not None]
    outputs += [numbers(table[f"probability:{name}"]).rank() for name in counting.reading.probabilities]
    features = [
        (numbers if isinstance(grid, NumericGrid) else categories)(table[f"feature:{name}"]).rank()
        for name, grid in counting.features
        if f"feature:{name}" in table.column_names
    ]
    others = []
    if "challenger" in table.column_names:
        of_number = counting.scored
        others = [(numbers if of_number else categories)(table["challenger"]).rank()]
    return [*outputs, *(key.astype(np.int64) for key in ranked), *others, *features]
