"""Kept measurements as one Arrow table, by ADBC: values come as they lie, names are joined to them here.

SQLite's ADBC driver brings a library of its own. When it closes a file, the locks go that other connections
of the same process have on it: this is for processes that write no store, and it opens files to read alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import adbc_driver_manager
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import URL, ColumnElement, Select, Table, literal_column, select, union_all
from sqlalchemy.dialects import postgresql, sqlite

from monitor.core.errors import StoreError
from monitor.core.secrets import hide_secrets
from monitor.measures.measurement_row import LabelTruth
from monitor.specs.deadlines import libpq_options
from monitor.specs.urls import libpq_uri, sqlite_file
from monitor.store.store_connections import parse_store_url, read_alone, shown_store_url
from monitor.store.tables.measurement_schema import details, row_sets, series, snapshot_rows

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_DIALECTS = {"sqlite": sqlite.dialect, "postgresql": postgresql.dialect}
_STRATUM = "segment", "version"
_SUBJECT = "measure", "subject", "against"
_WINDOW = "model", "window", "window_end"


def read_snapshot_table(
    url: str,
    run: str,
    filters: Mapping[str, str],
    ends: tuple[int | None, int | None],
    as_of: int | None,
) -> pa.Table:
    """Kept measurements with all their columns, in the order of `stream_snapshots`.

    Parameters
    ----------
    filters
        model, window or measure → value.
    ends
        bounds (after, up to) of the windows' ends.
    as_of
        None: all revisions; else as in `read_snapshot_rows`.

    Raises
    ------
    StoreError
        if the database does not answer, or holds what it should not.
    """
    sets = _rows_query(row_sets, run, filters, ends, as_of)
    named = _rows_query(series, run, filters)
    rows = select(*snapshot_rows.c).where(snapshot_rows.c.row_set.in_(sets.with_only_columns(row_sets.c.id)))
    if "measure" in filters:
        rows = rows.where(snapshot_rows.c.series.in_(named.with_only_columns(series.c.id)))
    address = parse_store_url(url)
    with _query_runner(address) as fetch:
        kept = fetch(rows)  # first: what they refer to is there then
        span = pc.min_max(kept["detail"]).as_py()
        behind = details.c.id.between(span["min"] or 0, span["max"] or 0)
        texts = fetch(
            _rows_query(details, run, filters).where(behind).with_only_columns(details.c.id, details.c.text)
        )
        return _join_snapshot_tables(kept, fetch(sets), fetch(named), texts, newest=as_of is not None)


def _rows_query(
    table: Table,
    run: str,
    filters: Mapping[str, str],
    ends: tuple[int | None, int | None] = (None, None),
    as_of: int | None = None,
) -> Select[Any]:
    """Rows of a table as far as its columns are asked for."""
    asked = {"run": run, **filters}
    chosen = [table.c[name] == value for name, value in asked.items() if name in table.c]
    after, until = ends
    chosen += [] if after is None else [table.c.window_end > after]
    chosen += [] if until is None else [table.c.window_end <= until]
    chosen += [] if as_of is None else [table.c.as_of <= as_of]
    return select(*table.c).where(*chosen)


@contextmanager
def _query_runner(address: URL) -> Iterator[Any]:
    """Function that runs a query."""
    dialect = _DIALECTS[address.get_backend_name()](paramstyle="named")  # which writes % as it is
    guarded = address.get_backend_name() == "sqlite"  # PostgreSQL tells types, and keeps no order of a union
    try:
        with closing(_adbc_connection(address)) as connection, connection.cursor() as cursor:

            def fetch(query: Select[Any]) -> pa.Table:
                asked = (
                    union_all(select(*map(_typed_literal, query.selected_columns)), query)
                    if guarded
                    else query
                )
                cursor.execute(str(asked.compile(dialect=dialect, compile_kwargs={"literal_binds": True})))
                return cursor.fetch_arrow_table().slice(int(guarded))

            yield fetch
    except (adbc_driver_manager.Error, pa.ArrowException) as error:
        raise StoreError(
            f"store {shown_store_url(address)}: {hide_secrets(str(error)).partition(chr(10))[0]}"
        ) from error


def _adbc_connection(address: URL) -> Any:
    if address.get_backend_name() == "sqlite":
        import adbc_driver_sqlite.dbapi

        return adbc_driver_sqlite.dbapi.connect(read_alone(sqlite_file(str(address.database))))
    import adbc_driver_postgresql.dbapi

    given = address.update_query_dict(libpq_options(address.query))
    return adbc_driver_postgresql.dbapi.connect(libpq_uri(*given[1:]))


def _typed_literal(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A literal of the column's type: SQLite's driver infers types from the first values that come."""
    literals = {float: "0.0", int: "0", str: "''"}
    plain = getattr(column.type, "kept", column.type)
    return literal_column(literals[plain.python_type]).label(column.name)


def _join_snapshot_tables(
    kept: pa.Table, sets: pa.Table, named: pa.Table, texts: pa.Table, *, newest: bool
) -> pa.Table:
    """One table of the rows and of what their numbers stand for."""
    of_set, of_series = (
        _places_of_ids(kept["row_set"], sets["id"]),
        _places_of_ids(kept["series"], named["id"]),
    )
    window, stratum = _row_ranks(sets, *_WINDOW), _row_ranks(named, *_STRATUM)
    part = _combine_ranks(window[of_set], stratum[of_series])
    as_of = sets["as_of"].to_numpy()[of_set]
    order = np.lexsort((_row_ranks(named, "truth", *_SUBJECT)[of_series], as_of, part))
    if newest:
        key = _combine_ranks(part, _row_ranks(named, *_SUBJECT)[of_series])
        nowcast, settled = (
            pc.equal(named["truth"], truth.value).to_numpy()[of_series]
            for truth in (LabelTruth.NOWCAST, LabelTruth.SETTLED)
        )
        order = order[_is_newest(key, as_of, nowcast, settled)[order]]
    detail = pc.index_in(kept["detail"], texts["id"].combine_chunks())
    apart = (
        sets.drop_columns("id").take(of_set[order]),
        named.select(["truth", *_STRATUM, *_SUBJECT]).take(of_series[order]),
        kept.drop_columns(["row_set", "series", "detail"]).take(order),
        texts.select(["text"]).rename_columns(["detail"]).take(detail.take(order)),
    )
    return pa.table({name: one[name] for one in apart for name in one.column_names})


def _places_of_ids(numbers: pa.ChunkedArray, ids: pa.ChunkedArray) -> Ints:
    """Place of each number among the ids."""
    places = pc.index_in(numbers, ids.combine_chunks())
    if places.null_count:
        raise pa.ArrowInvalid("rows without a series or a row set")
    found: Ints = places.to_numpy().astype(np.int64)
    return found


def _row_ranks(table: pa.Table, *names: str) -> Ints:
    """Rank of each row by some columns; equal ones have the same."""
    keys = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([ranks[key] for key in keys], dtype=np.int64)


def _combine_ranks(first: Ints, second: Ints) -> Ints:
    """Numbers of pairs of ranks, in their order."""
    pairs: Ints = first * (second.max(initial=0) + 1) + second
    return pairs


def _is_newest(keys: Ints, as_of: Ints, nowcast: Bools, settled: Bools) -> Bools:
    """Whether a row is the newest revision of its key: as `read_snapshot_rows` has it."""
    key = pa.array(keys).dictionary_encode().indices.to_numpy().astype(np.int64)
    group = 2 * key + nowcast
    latest = np.full(group.max(initial=0) + 2, np.iinfo(np.int64).min)
    np.maximum.at(latest, group, as_of)
    has_settled = np.zeros(key.max(initial=0) + 1, dtype=bool)
    has_settled[key[settled]] = True
    is_newest: Bools = (as_of == latest[group]) & ~(nowcast & has_settled[key])
    return is_newest
