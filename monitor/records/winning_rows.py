"""Rows of the prediction table, parsed: visible, in their panes, one for each id: which row counts."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Ints
from monitor.core.text import make_shown_name
from monitor.records.column_values import (
    CategoryValues,
    NumberValues,
    encode_texts,
    parse_categories,
    parse_numbers,
    parse_texts,
)
from monitor.records.counting import Counting
from monitor.records.label_checksum import checksum_of_moments
from monitor.records.parsed_times import ParsedTimes, parse_times, require_main_format
from monitor.records.probabilities import parse_class_probabilities
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.states.grids import NumericGrid
from monitor.states.strata import NONE, OTHER, WHOLE, Stratum, most_frequent, value_name

TieKeys = Callable[[Ints], list[Ints]]
_MOST = np.iinfo(np.int64).max
MOST_VERSIONS = 1_000  # of a pane: a column that holds more is none of versions
_MARKS = ("id", "version", "arm", "serving", "segment:")  # columns that say which rows count, and where
_OUTPUTS = ("score", "prediction", "challenger", "probability:", "feature:")

Batches = Generator[pa.Table, None, None]
"""Role-named columns of rows, some thousand at a time; closing it ends the reading."""


def find_smallest_rows(group: Ints, keys: list[Ints], ties: TieKeys | None = None) -> tuple[Ints, Ints]:
    """Row of each group with the smallest keys, compared in order.

    Parameters
    ----------
    group
        int64, shape (rows,): rows of one group have one number.
    keys
        int64 arrays of the same shape, the first is compared first.
    ties
        further keys of the given rows, asked for only where rows of a group are still equal.

    Returns
    -------
    rows, counts
        row number and number of rows of each group, by ascending group.
    """
    # A log that is read in the order of its times and repeats no id, as most: nothing has to be sorted.
    if len(group) and (np.diff(group) > 0).all():
        return np.arange(len(group)), np.ones(len(group), dtype=np.int64)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(_changes_in_order(group[order]))
    counts = np.diff(np.append(starts, len(order)))
    # Only rows of groups that have several are compared: they are few, and sorting by all keys is dear.
    several = np.repeat(counts > 1, counts)
    among = order[several]
    order[several] = among[np.lexsort((*(key[among] for key in reversed(keys)), group[among]))]
    rows = order[starts]
    if ties is None or len(rows) == len(order):
        return rows, counts
    winner = np.repeat(rows, counts)
    # Rows equal to their group's winner in all keys, where there are two and more of them: further keys are
    # made of these rows alone.
    tied = np.logical_and.reduce([key[order] == key[winner] for key in keys])
    tied &= np.repeat(np.add.reduceat(tied, starts, dtype=np.int64) > 1, counts)
    candidates = order[tied]
    if len(candidates):
        again, _ = find_smallest_rows(group[candidates], ties(candidates))
        winners = candidates[again]
        rows[np.searchsorted(group[rows], group[winners])] = winners
    return rows, counts


def count_distinct(group: Ints, keys: list[Ints], groups: int) -> Ints:
    """How many different keys each of the groups 0 … groups - 1 has."""
    rows = np.bincount(group, minlength=groups)
    several = rows[group] > 1
    if not several.any():
        return rows
    group, keys = group[several], [key[several] for key in keys]
    order = np.lexsort((*reversed(keys), group))
    new = np.logical_or.reduce([_changes_in_order(column[order]) for column in (group, *keys)])
    return np.where(rows > 1, np.bincount(group[order][new], minlength=groups), rows)


def combine_codes(codes: list[Ints]) -> Ints:
    """One number for each distinct tuple of non-negative codes, in the order of the tuples."""
    combined = codes[0]
    for code in codes[1:]:
        pair = combined, code
        # The product must stay within 64 bits: where it would not, ranks take the place of both, of which
        # there are no more than rows.
        if (int(combined.max(initial=0)) + 1) * (int(code.max(initial=0)) + 1) > _MOST:
            pair = dense_ranks(combined), dense_ranks(code)
        combined = pair[0] * (int(pair[1].max(initial=0)) + 1) + pair[1]
    return combined


def compact_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Small non-negative codes that occur, ascending, and the position of each one among them."""
    there = np.bincount(codes) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def dense_ranks(codes: Ints) -> Ints:
    """Rank of each code among the distinct ones."""
    # As in a log that is read in the order of its times.
    if (np.diff(codes) > 0).all():
        return np.arange(len(codes))
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _changes_in_order(ordered: Ints) -> Bools:
    changes = np.ones(len(ordered), dtype=bool)
    changes[1:] = ordered[1:] != ordered[:-1]
    return changes


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
    version: CategoryValues | None
    arm: CategoryValues | None
    segments: dict[str, CategoryValues]
    serves: Bools

    def filter_rows(self, keep_mask: Bools) -> "WinningRows":
        """Some of the winners, with the rows of their ids; what was read of the panes stays.

        Parameters
        ----------
        keep_mask
            of each winner.
        """
        if keep_mask.all():
            return self
        at, of_kept = np.flatnonzero(keep_mask), keep_mask[self.group]
        arrays = ("rows", "pane", "event_time", "logged_at", "no_logged_at", "repeats", "adjusted", "serves")
        return replace(
            self,
            **{name: getattr(self, name)[at] for name in arrays},
            member=self.member[of_kept],
            group=(np.cumsum(keep_mask) - 1)[self.group[of_kept]],
            version=None if self.version is None else self.version.take_rows(at),
            arm=None if self.arm is None else self.arm.take_rows(at),
            segments={column: values.take_rows(at) for column, values in self.segments.items()},
        )

    @property
    def has_unusual_name(self) -> Bools:
        """Winners whose version, arm or a segment is not named as its text is."""
        unusual = np.zeros(len(self.pane), dtype=bool)
        for categories in (self.version, self.arm, *self.segments.values()):
            unusual |= False if categories is None else categories.renamed_rows()
        return unusual

    def strata_positions(self, counting: Counting) -> Iterator[tuple[list[Stratum], Ints]]:
        """Yield the strata of each dimension, and every winner's position among them, -1 for none.

        Rows that do not serve have a position among the versions only.
        """
        reading = counting.reading
        yield [WHOLE], np.where(self.serves, 0, -1)
        if self.version is not None:
            names, codes = _distinct_names([*self.version.levels, NONE], self.version.codes)
            yield [Stratum(version=name) for name in names], codes
        if self.arm is not None and reading.arms is not None:
            strata = [*reading.arms.arm_strata, reading.arms.rest_stratum]
            codes = self.arm.level_positions((reading.arms.control, reading.arms.treatment), len(strata) - 1)
            codes = np.where(codes < 0, len(strata) - 1, codes)  # no value
            yield strata, np.where(self.serves, codes, -1)
        for column, values in counting.segments:
            if column in self.segments:
                levels = (*values, "")
                positions = self.segments[column].level_positions(levels, len(levels))
                names, codes = _distinct_names([*map(value_name, levels), OTHER, NONE], positions)
                strata = [Stratum(segment=f"{column}={name}") for name in names]
                yield strata, np.where(self.serves, codes, -1)


def parse_winning_rows(table: pa.Table, counting: Counting, panes: Ints, as_of: int) -> WinningRows:
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
    event = parse_role_times(table, "event_time", reading)
    logged, no_logged_at = logged_times(table, event, reading)
    place, visible = _pane_positions(event, logged, panes, reading, as_of)
    member = np.flatnonzero(visible & np.asarray(table["id"].is_valid().combine_chunks()))
    chosen = table if len(member) == table.num_rows else _select_role_columns(table, _MARKS, member)
    version = parse_texts(chosen["version"], version_name) if reading.versioned else None
    arm = parse_categories(chosen["arm"]) if reading.arms is not None else None
    segments, serves = _segment_columns(chosen, counting), are_rows_serving(chosen, reading)
    # An id is of its pane and version: a later row under another version is another record, not a correction.
    keys = [place[member], encode_texts(chosen["id"]), *([] if version is None else [version.codes + 1])]
    group = dense_ranks(combine_codes(keys))

    def ties(tied: Ints) -> list[Ints]:
        at = member[tied]
        # All that is counted of a row decides between equals, so that whichever is read first the counters
        # are the same.
        ranked: list[Ints | Bools] = [event.us[at], ~no_logged_at[at], event.adjusted[at], ~serves[tied]]
        slices = (*([] if arm is None else [arm]), *segments.values())
        ranked += [column.codes[tied] for column in slices]
        return _tie_keys(select_output_columns(table, at), counting, ranked)

    winners, counts = find_smallest_rows(group, [logged[member]], ties)
    rows = member[winners]
    read, newest, checksum = _pane_facts(place[visible], event.us[visible], logged[visible], len(panes))
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
        version=None if version is None else limit_frequent_versions(version.take_rows(winners), place[rows]),
        arm=None if arm is None else arm.take_rows(winners),
        segments={column: values.take_rows(winners) for column, values in segments.items()},
        serves=serves[winners],
    )


def version_name(text: str) -> str:
    """Name of a version that the data hold."""
    return value_name(make_shown_name(text))


def limit_frequent_versions(version: CategoryValues, pane: Ints) -> CategoryValues:
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
        # Pane by pane, as a pane must count alike whichever others are read with it.
        distinct, row, counts = np.unique(version.codes[there], return_inverse=True, return_counts=True)
        names = [version.levels[code] for code in distinct]
        frequent = most_frequent(dict(zip(names, counts.tolist(), strict=True)), MOST_VERSIONS)
        rare = np.asarray([name not in frequent for name in names], dtype=bool)
        codes[there[rare[row]]] = levels
    return CategoryValues((*version.levels, OTHER), codes, version.unusual | {levels})


@dataclass(frozen=True, slots=True)
class DatedRows:
    """Times of some rows."""

    event: ParsedTimes
    seen: Ints  # when each row, or its label, became visible; the event time where that is not known
    logged: Ints  # when each row became visible: a label may be reported before its record is logged
    invalid: Bools  # event times that are there but are not times

    def count_invalid_times(self, as_of: int) -> int:
        """Rows visible as of a moment whose event time is no time; it is so long visible, too."""
        return int((self.invalid & (self.logged <= as_of)).sum())

    def rows_within(self, bounds: tuple[int, int], as_of: int) -> Bools:
        """Rows with event times in the half-open bounds that are visible as of a moment."""
        inside = (self.event.us >= bounds[0]) & (self.event.us < bounds[1])
        return self.event.known & inside & (self.seen <= as_of) & (self.logged <= as_of)


def parse_dated_rows(batches: Batches, role: str, reading: ReadingOptions) -> Iterator[DatedRows]:
    """Parse the event times and another time, if it is there, of rows that come batch by batch.

    Raises
    ------
    SourceError
        if a column of times has no main format, be it in different batches.
    """
    formats: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    with closing(batches):
        for table in batches:
            event = parse_role_times(table, "event_time", reading)
            other = parse_role_times(table, role, reading) if role in table.column_names else event
            for column, parsed, seen in zip(("event_time", role), (event, other), formats, strict=True):
                # Batch by batch a column may look as if it had one format: formats are added up over all of
                # them.
                seen.update(parsed.formats)
                require_main_format(seen, reading.column_name(column))
            moment = np.where(other.known, other.us, event.us)
            logged = moment if role == "logged_at" else logged_times(table, event, reading)[0]
            there = np.asarray(table["event_time"].is_valid().combine_chunks())
            yield DatedRows(event, moment, logged, there & ~event.known)


def select_output_columns(table: pa.Table, rows: Ints) -> pa.Table:
    """Outputs and features of chosen rows."""
    return _select_role_columns(table, _OUTPUTS, rows)


def _select_role_columns(table: pa.Table, roles: tuple[str, ...], rows: Ints) -> pa.Table:
    chosen = table.select([name for name in table.column_names if name.startswith(roles)])
    everything = len(rows) == table.num_rows and np.array_equal(rows, np.arange(len(rows)))
    return chosen if everything else chosen.take(pa.array(rows))


def parse_role_times(table: pa.Table, role: str, reading: ReadingOptions) -> ParsedTimes:
    """Parse the times of a role."""
    return parse_times(
        table[role], name=reading.column_name(role), zone=reading.zone, unit=reading.unit_of(role)
    )


def logged_times(table: pa.Table, event: ParsedTimes, reading: ReadingOptions) -> tuple[Ints, Bools]:
    """`logged_at` of each row, and where it reads as the event time because there is none."""
    if "logged_at" not in table.column_names:
        return event.us, np.zeros(table.num_rows, dtype=bool)
    logged = parse_role_times(table, "logged_at", reading)
    return np.where(logged.known, logged.us, event.us), ~logged.known


def parse_scores(table: pa.Table, reading: ReadingOptions) -> NumberValues | None:
    """Scores: the column, or the largest of the class probabilities.

    The largest is missing where one of them is, else invalid where one of them is.
    """
    if "score" in table.column_names:
        return parse_numbers(table["score"])
    probabilities = parse_class_probabilities(table, reading)
    return None if probabilities is None else probabilities.largest_of_rows()


def parse_predictions(
    table: pa.Table, reading: ReadingOptions, score: NumberValues | None
) -> NumberValues | CategoryValues | None:
    """Predictions: the column, the score against the threshold, or the most probable class.

    Without a column a prediction is missing where the score, or one of the probabilities, is missing or
    invalid; there is none at all where nothing gives one.
    """
    if "prediction" in table.column_names:
        column = table["prediction"]
        return (
            parse_numbers(column)
            if reading.task is ModelTask.REGRESSION
            else predicted_classes(column, reading)
        )
    if score is not None and reading.task is ModelTask.BINARY and reading.threshold is not None:
        codes = np.where(score.values >= reading.threshold, 1, 0)
        return CategoryValues(reading.classes, np.where(score.lies_within(reading.score_range), codes, -1))
    probabilities = parse_class_probabilities(table, reading)
    return None if probabilities is None else probabilities.most_probable()


def predicted_classes(column: pa.ChunkedArray, reading: ReadingOptions) -> CategoryValues:
    """Classes that a column of predictions means, a champion's or a challenger's."""
    return parse_categories(column).with_meanings(dict(reading.words))


def are_labels_expected(table: pa.Table, reading: ReadingOptions) -> Bools:
    """Rows whose predictions are those that labels come for: all, unless `only_for` says which."""
    if not reading.only_for:
        return np.ones(table.num_rows, dtype=bool)
    prediction = parse_predictions(table, reading, parse_scores(table, reading))
    if not isinstance(prediction, CategoryValues):
        return np.zeros(table.num_rows, dtype=bool)
    return prediction.level_positions(reading.only_for, -1) >= 0


def are_rows_serving(table: pa.Table, reading: ReadingOptions) -> Bools:
    """Rows that serve: all of them where nothing tells."""
    if reading.serving is None or "serving" not in table.column_names:
        return np.ones(table.num_rows, dtype=bool)
    return parse_categories(table["serving"]).level_positions(reading.serving.values, -1) >= 0


def _segment_columns(table: pa.Table, counting: Counting) -> dict[str, CategoryValues]:
    """Segment columns that are there."""
    roles = {column: f"segment:{column}" for column, _ in counting.segments}
    return {
        column: parse_categories(table[role]) for column, role in roles.items() if role in table.column_names
    }


def _pane_positions(
    event: ParsedTimes, logged: Ints, panes: Ints, reading: ReadingOptions, as_of: int
) -> tuple[Ints, Bools]:
    """Position of each row's pane, and whether the row lies in one and is visible."""
    place = np.searchsorted(panes, event.us, side="right") - 1
    # The last end is that of rows before all panes, whose place is -1: none of them lies in one.
    ends = np.append(panes + reading.pane, np.iinfo(np.int64).min)
    visible = event.known & (logged <= as_of) & (event.us <= as_of + reading.tolerance)
    visible &= event.us < ends[place]
    return place, visible


def _pane_facts(place: Ints, event: Ints, logged: Ints, panes: int) -> tuple[Ints, Ints, Ints]:
    """Of each pane: its rows, their newest `logged_at`, the checksum of their moments."""
    newest = np.full(panes, np.iinfo(np.int64).min)
    np.maximum.at(newest, place, logged)
    return np.bincount(place, minlength=panes), newest, checksum_of_moments(event, logged, place, panes)


def _distinct_names(names: list[str], codes: Ints) -> tuple[list[str], Ints]:
    """Distinct names, the last for empty ones, and codes among them; -1 is the last."""
    filled = [name or names[-1] for name in names]
    position = {name: at for at, name in enumerate(dict.fromkeys(filled))}
    return list(position), np.asarray([position[name] for name in filled], dtype=np.int64)[codes]


def _tie_keys(table: pa.Table, counting: Counting, ranked: list[Ints | Bools]) -> list[Ints]:
    """Rank all that is counted of a row; features last, since the labels part does not read them.

    Nor does the records part read the challenger's score, and no counter of it depends on that.
    """
    score = parse_scores(table, counting.reading)
    prediction = parse_predictions(table, counting.reading, score)
    outputs = [values.rank_ties() for values in (score, prediction) if values is not None]
    outputs += [
        parse_numbers(table[f"probability:{name}"]).rank_ties() for name in counting.reading.probabilities
    ]

    def rank_column(role: str, *, of_numbers: bool) -> Ints:
        parse = parse_numbers if of_numbers else parse_categories
        return parse(table[role]).rank_ties()

    features = [
        rank_column(f"feature:{name}", of_numbers=isinstance(grid, NumericGrid))
        for name, grid in counting.features
        if f"feature:{name}" in table.column_names
    ]
    others = []
    if "challenger" in table.column_names:
        others = [rank_column("challenger", of_numbers=counting.counts_scores)]
    return [*outputs, *(key.astype(np.int64) for key in ranked), *others, *features]
