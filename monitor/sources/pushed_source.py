"""A database that counts its own rows: cells and sums come, and the rows of repeated ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.records.column_values import CategoryValues, join_id_columns, parse_categories, parse_texts
from monitor.records.count_records import count_records, find_cells, find_log_delay_cells
from monitor.records.counting import DELAY_EDGES, VOLUME, Counting
from monitor.records.label_checksum import checksum_of_moments
from monitor.records.pane import CountedPanes, PaneHalf, PanePart
from monitor.records.winning_rows import MOST_VERSIONS, WinningRows, are_rows_serving, version_name
from monitor.sources.engines.engine import RowReader
from monitor.sources.sql.pushed_counts import PARTS, PushedRows, make_pushed_rows, why_no_pushdown
from monitor.sources.sql.relations import survey_relation
from monitor.sources.sql.statements import ReadSession, Statement
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Stratum

_Strata = list[dict[Stratum, list[Counters]]]

_TRIES = 2  # at counting by several statements: rows that are read here are read by one
_NEVER = np.iinfo(np.int64).min
_DIGITS = "0123456789"
_TALLIES = {"n": "records", "stale": "stale", "unlogged": "no_logged_at"}


class _UnusualName(Exception):  # noqa: N818 -- a reason to read the rows, not an error
    """A text cannot be a name as it stands: such rows are read, and counted here."""


class _RowsMoved(Exception):  # noqa: N818 -- a reason to count again
    """Rows came between two statements of a session that does not hold one state of the tables."""


class PushedSource(SqlSource):
    """The `Source` of a database that counts records by GROUP BY; labels are read, and counted here."""

    def count_panes(
        self,
        model: ModelSpec,
        part: PaneHalf,
        ranges: Sequence[Range],
        counting: Counting,
        *,
        panes: Ints,
        as_of: int,
    ) -> CountedPanes:
        """A part of each of some panes: records are counted where they are, if they can be.

        A database that holds no snapshot may say different numbers by different statements: then all are run
        once more, and if they differ again the rows are read, by one statement.
        """
        if part is PaneHalf.RECORDS:
            counted = self.count_grouped_records(model, ranges, counting, panes=panes, as_of=as_of)
            if isinstance(counted, CountedPanes):
                return counted
        return super().count_panes(model, part, ranges, counting, panes=panes, as_of=as_of)

    def count_grouped_records(
        self, model: ModelSpec, ranges: Sequence[Range], counting: Counting, *, panes: Ints, as_of: int
    ) -> CountedPanes | str:
        """Records of panes, counted where they are; or why they are read, and counted here."""
        for _ in range(_TRIES):
            try:
                return self._retries.run_read(
                    lambda session: _count_pushed(
                        session, self, model, ranges, counting, panes=panes, as_of=as_of
                    )
                )
            except _RowsMoved:
                continue
            except _UnusualName:
                return "a name is unusual, or there are too many versions"
        return "rows came between its statements"

    def planning_source(self, reader: RowReader) -> SqlSource:
        """A source that asks another reader the same."""
        return PushedSource(reader)

    def why_no_pushdown(self, model: ModelSpec, counting: Counting) -> str | None:
        """Why records of a model are read, and counted here."""
        return self._retries.run_read(
            lambda session: why_no_pushdown(
                model, survey_relation(session, self.reader.engine, model.predictions, "p"), counting
            )
        )

    def label_reading_note(self, model: ModelSpec) -> str | None:
        """What `check` says of the labels of a model; None: it has none."""
        if model.labels is None:
            return None
        return (
            "labels are read, not grouped: their checksum needs id, times and label of each record, "
            "and exact sums its raw score"
        )


@dataclass(slots=True)
class _ComparedCounts:
    """How many rows with an id each statement has counted, by pane."""

    panes: Ints
    repeated: Ints | int = 0  # rows of repeated ids, which were read before and are counted by no statement
    counts: list[Ints] = field(default_factory=list)

    def note_counts(self, table: pa.Table, *, times: int = 1) -> None:
        """Note the `n` of a statement, which counts each row so many times."""
        self.counts.append(self.count_pane_rows(table["pane"], table["n"]) // times)

    def count_pane_rows(self, us: pa.ChunkedArray, n: pa.ChunkedArray | None = None) -> Ints:
        """Rows by pane, of times and of how many rows each stands for."""
        at = np.searchsorted(self.panes, np.asarray(us), side="right") - 1
        total = np.zeros(len(self.panes), dtype=np.int64)
        np.add.at(total, at, 1 if n is None else np.asarray(n))
        return total

    def require_equal_counts(self, moments: pa.Table, *, one_more: bool) -> None:
        """Refuse counts that are not those of all rows with an id, or an id that came again meanwhile.

        Raises
        ------
        _Moved
            if any statement counted others.
        """
        named = self.count_pane_rows(moments["us"], moments["named"])
        if one_more or any(not np.array_equal(counts + self.repeated, named) for counts in self.counts):
            raise _RowsMoved


def _count_pushed(
    session: ReadSession,
    source: SqlSource,
    model: ModelSpec,
    ranges: Sequence[Range],
    counting: Counting,
    *,
    panes: Ints,
    as_of: int,
) -> CountedPanes | str:
    survey = survey_relation(session, source.reader.engine, model.predictions, "p")
    if (reason := why_no_pushdown(model, survey, counting)) is not None:
        return reason
    rows = make_pushed_rows(session, survey, model, ranges, counting, panes=panes, as_of=as_of)
    if rows is None:
        return "no row has such a time"
    strata: _Strata = [{} for _ in panes]
    compared_counts = _ComparedCounts(panes)
    alone, repeated = not _has_repeats(session, rows), None
    if not alone:
        repeated = _read_repeated(session, rows)
        compared_counts.repeated = compared_counts.count_pane_rows(repeated["event_time"].cast(pa.int64()))
        for at, part in enumerate(count_records(repeated, counting, panes=panes, as_of=as_of)):
            _add_counters(strata, ((at, stratum, counters) for stratum, counters in part.strata.items()))
    roles = ("version", "arm", *(f"segment:{name}" for name, _ in counting.segments))
    for role in (None, *(role for role in roles if role in rows.column_by_role)):
        _add_counters(strata, _count_dimension(session, rows, role, panes, compared_counts, alone=alone))
    if any(sum(stratum.version is not None for stratum in of_pane) > MOST_VERSIONS for of_pane in strata):
        # Which of a pane's versions are the rarest only all of its rows tell: they are counted here.
        raise _UnusualName
    moments = _read_statement(session, rows.moments_statement(), "times of rows")
    if not source.reader.engine.one_snapshot:
        # Each statement sees the rows of its own moment: their numbers must agree, or what was counted is of
        # no moment.
        compared_counts.require_equal_counts(moments, one_more=alone and _has_repeats(session, rows))
    _add_counters(strata, _count_log_delays(moments, repeated, rows, panes))
    missing = tuple(name for name, _ in counting.features if f"feature:{name}" not in rows.column_by_role)
    return CountedPanes(_parts_of_panes(strata, moments, counting, panes), moments.num_rows, missing)


def _read_statement(session: ReadSession, statement: Statement, what: str) -> pa.Table:
    """Rows of a statement; where it is refused, its session tells what it is of."""
    try:
        return session.read_table(statement)
    except Exception as error:
        error.add_note(f"the statement of {what}")
        raise


def _has_repeats(session: ReadSession, rows: PushedRows) -> bool:
    return bool(_read_statement(session, rows.has_repeats_statement(), "repeated ids").num_rows)


def _read_repeated(session: ReadSession, rows: PushedRows) -> pa.Table:
    """Rows of repeated ids, role-named."""
    table = _read_statement(session, rows.repeated_rows_statement(), "rows of repeated ids")
    event, seen = (table[name].cast(pa.timestamp("us", "UTC")) for name in ("us", "seen"))
    unlogged = pc.equal(table["unlogged"], 1)
    table = table.drop_columns(["us", "seen", "unlogged"]).append_column("event_time", event)
    if "logged_at" in rows.column_by_role:
        table = table.append_column("logged_at", pc.if_else(unlogged, None, seen))
    return join_id_columns(table)


def _count_dimension(
    session: ReadSession,
    rows: PushedRows,
    role: str | None,
    panes: Ints,
    compared_counts: _ComparedCounts,
    *,
    alone: bool,
) -> Iterator[tuple[int, Stratum, Counters]]:
    """Counters of the rows of ids that do not repeat, by pane and the strata of one dimension.

    `role`: by whose values rows are counted apart; None: all together.
    """
    layout = rows.counting.records_layout
    names = [name for name in rows.counting.output_grids if rows.value_sql(name) is not None]
    blocks = [name for name in names if role is None or not name.startswith("feature:")]
    by = "" if role is None else f" by {role}"
    volumes = _read_statement(session, rows.volumes_statement(role, alone=alone), f"volumes{by}")
    compared_counts.note_counts(volumes)
    tallies = [_stack_tallies(volumes, rows.counting)]
    most = rows.engine.most_grouped
    for some in (blocks[at : at + most] for at in range(0, len(blocks), most)):
        statement = rows.cells_statement(role, some, alone=alone)
        cells = _read_statement(session, statement, f"cells{by}")
        compared_counts.note_counts(cells, times=len(some))
        tallies.append(_place_cells(cells, some, rows.counting))
    if role is None and any(rows.value_sql(name) is not None for name in rows.counting.summed_names):
        sums = _read_statement(session, rows.sums_statement(alone=alone), "exact sums")
        compared_counts.note_counts(sums)
        tallies.append(_stack_moment_sums(sums, rows.counting))
    for table, position, counts in tallies:
        strata, code = _strata_of(table, role, rows.counting, panes)
        pane = np.searchsorted(panes, np.asarray(table["pane"]))
        inside = (code >= 0) & (counts != 0)
        key, slot = np.unique(
            ((pane * len(strata) + code) * layout.size + position)[inside], return_inverse=True
        )
        total = np.zeros(len(key), dtype=np.int64)
        np.add.at(total, slot, counts[inside])
        group, index = np.divmod(key, layout.size)
        edges = [*np.flatnonzero(np.diff(group, prepend=-1)), len(group)]
        for first, last in pairwise(edges if len(group) else []):
            at, stratum = divmod(int(group[first]), len(strata))
            yield at, strata[stratum], Counters(layout, index[first:last], total[first:last])


def _count_log_delays(
    moments: pa.Table, repeated: pa.Table | None, rows: PushedRows, panes: Ints
) -> Iterator[tuple[int, Stratum, Counters]]:
    """Times from event to log of the rows of ids that do not repeat: those of all rows less the others'."""
    counting = rows.counting
    if not (counting.reading.has_logged_column and "logged_at" in rows.column_by_role):
        return
    named = np.asarray(moments["named"]) == 1
    tables = [(moments, named & (np.asarray(moments["unlogged"]) == 0), 1)]
    if repeated is not None:
        event, logged = (repeated[name].cast(pa.int64()) for name in ("event_time", "logged_at"))
        # Rows of repeated ids were counted with their winners: here they are taken off again.
        other = repeated.append_column("us", event).append_column("seen", logged.fill_null(0))
        tables.append((other, np.asarray(logged.is_valid()), -1))
    total = np.zeros((len(panes), len(DELAY_EDGES) + 1), dtype=np.int64)
    for table, logged_rows, sign in tables:
        us, seen = (np.asarray(table[name]) for name in ("us", "seen"))
        cell, has = find_log_delay_cells(us, seen, logged_rows & are_rows_serving(table, counting.reading))
        at = np.searchsorted(panes, us, side="right") - 1
        np.add.at(total, (at[has], cell[has]), sign)
    first = counting.records_layout.offsets["log_delays"]
    for place in np.flatnonzero(total.any(axis=1)).tolist():
        index = np.flatnonzero(total[place])
        yield place, WHOLE, Counters(counting.records_layout, first + index, total[place, index])


def _strata_of(
    table: pa.Table, role: str | None, counting: Counting, panes: Ints
) -> tuple[list[Stratum], Ints]:
    """Strata of a dimension, and the position of each row's among them; -1: it has none."""
    kind, _, name = (role or "").partition(":")
    categories = None
    if role is not None:
        categories = _require_usual(
            parse_texts(table[role], version_name) if kind == "version" else parse_categories(table[role])
        )
    pane = np.searchsorted(panes, np.asarray(table["pane"]))
    no, none = np.zeros(len(pane), dtype=bool), np.zeros(len(pane), dtype=np.int64)
    rows = WinningRows(
        panes=panes,
        read=none,
        newest=none,
        checksum=none,
        rows=none,
        pane=pane,
        event_time=none,
        logged_at=none,
        no_logged_at=no,
        repeats=none,
        member=none,
        group=none,
        adjusted=no,
        version=categories if kind == "version" else None,
        arm=categories if kind == "arm" else None,
        segments={name: categories} if kind == "segment" and categories is not None else {},
        serves=are_rows_serving(table, counting.reading),
    )
    dimensions = list(rows.strata_positions(counting))
    return dimensions[0 if role is None else 1]


def _stack_tallies(table: pa.Table, counting: Counting) -> tuple[pa.Table, Ints, Ints]:
    """Volumes, one row a counter."""
    first = counting.records_layout.offsets["volume"]
    places = [first + VOLUME.index(name) for name in _TALLIES.values()]
    columns = list(_TALLIES)
    if counting.reading.serving is not None:
        table = table.append_column(
            "served", pa.array(are_rows_serving(table, counting.reading) * np.asarray(table["n"]))
        )
        places.append(counting.records_layout.offsets["served"])
        columns.append("served")
    return _stack_columns(table, columns, places)


def _stack_moment_sums(table: pa.Table, counting: Counting) -> tuple[pa.Table, Ints, Ints]:
    """Moments, one row a counter: halves in the one form of a pane's whole sum."""
    summed = counting.summed_names
    first, width = counting.records_layout.offsets["moments"], 2 * len(summed)
    columns, places = [], []
    for name in table.column_names:
        part, _, rest = name.partition(":")
        power, _, block = rest.partition(":")
        if not rest:
            continue
        columns.append(name)
        at = 2 * summed.index(block) + (power == "z")
        places.append(first + PARTS.index(part) * width + at)
    return _stack_columns(table, columns, places)


def _stack_columns(
    table: pa.Table, columns: Sequence[str], places: Sequence[int]
) -> tuple[pa.Table, Ints, Ints]:
    counts = [np.asarray(table[name].fill_null(0)) for name in columns]
    stacked = pa.concat_tables([table] * len(columns))
    return stacked, np.repeat(np.asarray(places), table.num_rows), np.concatenate(counts)


def _place_cells(table: pa.Table, blocks: Sequence[str], counting: Counting) -> tuple[pa.Table, Ints, Ints]:
    """Positions in the layout: of numbers as they came, of texts by their canonical form."""
    n = table.num_rows
    position = np.zeros(n, dtype=np.int64)
    if "position" in table.column_names:
        position = np.asarray(table["position"].fill_null(0)).astype(np.int64)
    if "text" in table.column_names:
        coded = table["text"].combine_chunks().dictionary_encode()
        place = _place_texts(coded.dictionary.to_pylist(), blocks, counting)
        there = np.asarray(coded.indices.is_valid())
        position = np.where(
            there, place[np.asarray(coded.indices.fill_null(0))] if len(place) else 0, position
        )
    return table, position, np.asarray(table["n"])


def _place_texts(keys: Sequence[str], blocks: Sequence[str], counting: Counting) -> Ints:
    """Positions of texts that bear the place of their block and a sign before them: - for NULL."""
    places = np.zeros(len(keys), dtype=np.int64)
    block_of_key, level_of_key = [], []
    for key in keys:
        digits = len(key) - len(key.lstrip(_DIGITS))
        block_of_key.append(int(key[:digits]))
        level_of_key.append(None if key[digits] == "-" else key[digits + 1 :])
    of_block = np.asarray(block_of_key, dtype=np.int64)
    for at in np.unique(of_block).tolist():
        rows = np.flatnonzero(of_block == at)
        levels = [level_of_key[row] for row in rows.tolist()]
        values = _require_usual(parse_categories(pa.chunked_array([pa.array(levels, pa.string())])))
        name = blocks[at]
        if name == "prediction":
            values = values.with_meanings(dict(counting.reading.words))
        places[rows] = counting.records_layout.offsets[name] + find_cells(values, counting.output_grids[name])
    return places


def _require_usual(values: CategoryValues) -> CategoryValues:
    if values.unusual:
        raise _UnusualName
    return values


def _add_counters(strata: _Strata, counted: Iterator[tuple[int, Stratum, Counters]]) -> None:
    for at, stratum, counters in counted:
        strata[at].setdefault(stratum, []).append(counters)


def _parts_of_panes(strata: _Strata, moments: pa.Table, counting: Counting, panes: Ints) -> list[PanePart]:
    """Parts with the facts of all visible rows."""
    us, seen = (np.asarray(moments[name]) for name in ("us", "seen"))
    at = np.searchsorted(panes, us, side="right") - 1
    newest = np.full(len(panes), _NEVER)
    np.maximum.at(newest, at, seen)
    read = np.bincount(at, minlength=len(panes)).tolist()
    checksums = checksum_of_moments(us, seen, at, len(panes)).tolist()
    layout = counting.records_layout
    merged = [
        {stratum: Counters.merge_all(layout, many) for stratum, many in of_pane.items()} for of_pane in strata
    ]
    return [
        PanePart(
            start,
            merged[place],
            read[place],
            None if newest[place] == _NEVER else int(newest[place]),
            records=int(merged[place][WHOLE].dense_block("volume")[0]) if WHOLE in merged[place] else 0,
            checksum=checksums[place],
        )
        for place, start in enumerate(panes.tolist())
    ]
