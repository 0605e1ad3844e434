"""Kept measurements: append-only, each with its provenance. The revision of a window is its rank by as of."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    case,
    delete,
    func,
    null,
    or_,
    select,
    tuple_,
    union,
)

from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.specs.stored_rows import Provenance
from monitor.store.dialect_statements import insert_missing
from monitor.store.measurements.measurement_columns import columns_of, key_of, row_of, values_of
from monitor.store.measurements.series_rows import key_of_kept, write_snapshots
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.measurement_schema import row_sets, snapshot_rows, snapshots
from monitor.store.tables.service_schema import alerts, provenance

_BATCH = 20_000  # rows in memory at once
_AT_A_TIME = 5_000  # the same of timelines
_KEY = ("model", "window", "window_end", "version", "segment", "measure", "subject", "against")
_OF_SERIES = ("measure", "model", "version", "segment", "window", "subject", "against")

_WHOLE_PERFORMANCE = (
    snapshots.c.run == bindparam("run"),
    snapshots.c.model == bindparam("model"),
    snapshots.c.window == bindparam("window"),
    snapshots.c.window_end.in_(bindparam("ends", expanding=True)),
    snapshots.c.segment == "",
    snapshots.c.version == "",
    snapshots.c.truth.in_((LabelTruth.PROVISIONAL.value, LabelTruth.SETTLED.value)),
    snapshots.c.against == "",
)
_LAST_REVISION = (  # each has a coverage
    select(snapshots.c.window_end, func.max(snapshots.c.as_of))
    .where(*_WHOLE_PERFORMANCE, snapshots.c.measure == "coverage")
    .group_by(snapshots.c.window_end)
)
_LAST_KEPT = (
    select(*(null() if column is snapshots.c.detail else column for column in columns_of(snapshots)))
    .where(*_WHOLE_PERFORMANCE, tuple_(snapshots.c.window_end, snapshots.c.as_of).in_(_LAST_REVISION))
    .where(or_(snapshots.c.reason.is_not(None), snapshots.c.level.is_not(None)))
)


@dataclass(frozen=True, slots=True)
class SnapshotRepository(Repository):
    """Kept measurements of a run, and what stood behind them; a cycle's commit appends them."""

    def read_snapshot_rows(
        self,
        model: str | None = None,
        window: str | None = None,
        measure: str | None = None,
        subject: str | None = None,
        segment: str | None = None,
        version: str | None = None,
        ends: tuple[int | None, int | None] = (None, None),
        as_of: int | None = None,
    ) -> list[StoredMeasurement]:
        """Kept measurements, by key and revision.

        Parameters
        ----------
        model, window, measure, subject, segment, version
            None: any. The empty segment or version is the whole.
        ends
            bounds (after, up to) of the windows' ends.
        as_of
            None: all revisions; else of each window, measure, … the newest at or before this moment. Truth is
            no part of that key: a settled row takes the place of the provisional ones before it. Nowcasts
            stand beside provisional rows.
        """
        wanted = {"model": model, "window": window, "measure": measure}
        wanted |= {"subject": subject, "segment": segment, "version": version}
        filters = {name: value for name, value in wanted.items() if value is not None}
        query = _kept_query(self.run, filters, as_of, ends)
        order = (query.selected_columns[name] for name in (*_KEY, "as_of", "truth"))
        with read_transaction(self.engine) as connection:
            rows = connection.execute(query.order_by(*order))
            return [StoredMeasurement(name, as_of, row_of(rest)) for name, as_of, *rest in rows]

    def stream_snapshots(
        self,
        filters: dict[str, str],
        *,
        ends: tuple[int | None, int | None] = (None, None),
        as_of: int | None = None,
    ) -> Iterator[Sequence[Sequence[Any]]]:
        """(model, as of, columns of a row) of the kept rows, some thousand at a time, never all in memory.

        Parameters
        ----------
        filters
            column → value; the whole is the empty text in version and segment.
        ends, as_of
            as in `read_snapshot_rows`.
        """
        query = _kept_query(self.run, filters, as_of, ends)
        columns = query.selected_columns
        key = [columns[column.name] for column in snapshots.primary_key if column.name != "run"]
        with (
            read_transaction(self.engine) as connection,
            connection.execution_options(yield_per=_BATCH).execute(query.order_by(*key)) as rows,
        ):
            yield from rows.partitions()

    def stream_measures(
        self, model: str, measures: Iterable[str], span: tuple[int, int]
    ) -> Iterator[StoredMeasurement]:
        """Some measures that were kept within a span, in the order of as of: no details."""
        columns = (null() if column is snapshots.c.detail else column for column in columns_of(snapshots))
        query = select(snapshots.c.as_of, *columns).where(
            snapshots.c.run == self.run,
            snapshots.c.model == model,
            snapshots.c.measure.in_(list(measures)),
            snapshots.c.as_of.between(*span),
        )
        order = (snapshots.c.as_of, *(column for column in snapshots.primary_key if column.name != "as_of"))
        with read_transaction(self.engine) as connection:
            rows = connection.execution_options(yield_per=_BATCH).execute(query.order_by(*order))
            for as_of, *row in rows:
                yield StoredMeasurement(model, as_of, row_of(row))

    def stream_timelines(
        self,
        models: Collection[str],
        measures: Collection[str],
        with_truth: Collection[str],
        *,
        against: Collection[str],
        window: str | None = None,
        ends: tuple[int | None, int | None] = (None, None),
        as_of: int | None = None,
    ) -> Iterator[StoredMeasurement]:
        """Newest revisions, never all in memory: the database sorts them.

        They are series in time: a measure after the other, of each series its windows in order.

        Parameters
        ----------
        with_truth
            measures whose values on settled, on provisional and on weighed labels are series of their own.
        against
            "" for values; what differences are from.
        ends
            bounds (after, up to) of the windows' ends.
        as_of
            revisions kept at or before this moment; None: all.
        """
        after, until = ends
        kept = snapshots.c
        conditions = [kept.run == self.run, kept.model.in_(models), kept.measure.in_(measures)]
        conditions += [kept.against.in_(against)]
        conditions += [] if window is None else [kept.window == window]
        conditions += [] if after is None else [kept.window_end > after]
        conditions += [] if until is None else [kept.window_end <= until]
        conditions += [] if as_of is None else [kept.as_of <= as_of]
        query = _timeline_query(with_truth).where(*conditions).subquery()
        order = [query.c[name] for name in (*_OF_SERIES, "label", "window_end")]
        columns = (query.c.model, query.c.as_of, *columns_of(query))
        newest = select(*columns).where(query.c.revision == 1).order_by(*order)
        with read_transaction(self.engine) as connection:
            rows = connection.execution_options(yield_per=_AT_A_TIME).execute(newest)
            for model, kept_as_of, *values in rows:
                yield StoredMeasurement(model, kept_as_of, row_of(values))

    def read_last_performance(
        self, model: str, window: str, ends: Sequence[int]
    ) -> dict[tuple[int, str, str], MeasurementRow]:
        """Rows of the last kept performance of the whole at the given ends, by (end, measure, subject).

        Those with an interval or a reason: others cannot be seen to have moved. Without details.
        """
        wanted = {"run": self.run, "model": model, "window": window, "ends": [int(end) for end in ends]}
        with read_transaction(self.engine) as connection:
            return {key_of(row): row_of(row) for row in connection.execute(_LAST_KEPT, wanted)}

    def read_provenance(
        self, model: str | None = None, last: int | None = None
    ) -> list[tuple[str, Provenance]]:
        """(model, provenance) of what is kept, by model and as of; `last`: the newest by a moment alone."""
        query = select(provenance).where(provenance.c.run == self.run)
        if model is not None:
            query = query.where(provenance.c.model == model)
        if last is None:
            query = query.order_by(provenance.c.model, provenance.c.as_of)
        else:
            query = query.where(provenance.c.as_of <= last).order_by(provenance.c.as_of.desc()).limit(1)
        names = Provenance.__dataclass_fields__
        with read_transaction(self.engine) as connection:
            rows = connection.execute(query).mappings()
            return [(row["model"], Provenance(**{name: row[name] for name in names})) for row in rows]


def append_snapshots(
    connection: Connection, run: str, model: str, behind: Provenance, rows: Sequence[MeasurementRow]
) -> None:
    """Keep rows as of `behind.as_of`, and what stood behind them; what is kept already stays as it is."""
    as_of, rows_read = int(behind.as_of), int(behind.rows_read)
    new = [values_of(run, model, as_of, row) for row in rows]
    of_this = (provenance.c.run == run, provenance.c.model == model, provenance.c.as_of == as_of)
    if connection.execute(select(provenance.c.as_of).where(*of_this)).first() is None:
        row = asdict(behind) | {"run": run, "model": model, "as_of": as_of, "rows_read": rows_read}
        insert_missing(connection, provenance, [row])
    else:
        of_this = (snapshots.c.run == run, snapshots.c.model == model, snapshots.c.as_of == as_of)
        there = set(map(tuple, connection.execute(select(*snapshots.primary_key).where(*of_this))))
        new = [row for row in new if key_of_kept(row) not in there]
    write_snapshots(connection, new)


def prune_revisions(connection: Connection, run: str, model: str, since: int, before: int) -> None:
    """Delete what was kept before a moment and is no first and no last revision.

    They are so by window, stratum, measure, subject and truth: what a window settled with is the first of its
    truth. Nor goes what was kept as an alert fired or ended, or what it was judged by last. Cost: one scan of
    the windows that end at or after `since`.
    """
    mine = (row_sets.c.run == run, row_sets.c.model == model)
    as_of, number = row_sets.c.as_of, snapshot_rows.c.series
    key = [number, row_sets.c.window_end]
    ranked = (
        select(
            snapshot_rows.c.row_set,
            number,
            as_of,
            func.min(as_of).over(partition_by=key).label("first"),
            func.max(as_of).over(partition_by=key).label("last"),
        )
        .join(row_sets, row_sets.c.id == snapshot_rows.c.row_set)
        .where(*mine, row_sets.c.window_end >= since, row_sets.c.window_end <= before)
        .subquery()
    )
    rows = ranked.c
    between = select(rows.row_set, rows.series).where(
        rows.as_of < before,
        rows.as_of > rows.first,
        rows.as_of < rows.last,
        rows.as_of.not_in(_cited_moments(run, model)),
    )
    connection.execute(delete(snapshot_rows).where(tuple_(snapshot_rows.c.row_set, number).in_(between)))


def _cited_moments(run: str, model: str) -> CompoundSelect[tuple[int]]:
    """As of that alerts speak of."""
    moments = (alerts.c.since, alerts.c.fired_at, alerts.c.resolved_at, alerts.c.judged_at)
    mine = (alerts.c.run == run, alerts.c.model == model)
    return union(*(select(moment).where(*mine, moment.is_not(None)) for moment in moments))


def _kept_query(
    run: str, filters: dict[str, str], as_of: int | None, ends: tuple[int | None, int | None]
) -> Select[Any]:
    """Query of `read_snapshot_rows` and `stream_snapshots`, without an order."""
    after, until = ends
    chosen = [snapshots.c.run == run, *(snapshots.c[name] == value for name, value in filters.items())]
    chosen += [] if after is None else [snapshots.c.window_end > after]
    chosen += [] if until is None else [snapshots.c.window_end <= until]
    query = select(snapshots.c.model, snapshots.c.as_of, *columns_of(snapshots)).where(*chosen)
    if as_of is None:
        return query
    key, truth = [snapshots.c[name] for name in _KEY], snapshots.c.truth
    is_nowcast = truth == LabelTruth.NOWCAST.value
    rank = func.rank().over(partition_by=[*key, is_nowcast], order_by=snapshots.c.as_of.desc())
    settled = func.max(case((truth == LabelTruth.SETTLED.value, 1), else_=0)).over(partition_by=key)
    ranked = (
        query.add_columns(rank.label("revision_rank"), settled.label("is_settled"))
        .where(snapshots.c.as_of <= as_of)
        .subquery()
    )
    kept = [column for column in ranked.c if column.name not in ("revision_rank", "is_settled")]
    outdated = (ranked.c.truth == LabelTruth.NOWCAST.value) & (ranked.c.is_settled == 1)
    return select(*kept).where(ranked.c.revision_rank == 1, ~outdated)


def _timeline_query(with_truth: Collection[str]) -> Select[tuple[object, ...]]:
    """Rows with the truth that tells their series apart, and how many revisions are newer."""
    kept = snapshots.c
    label = case((kept.measure.in_(with_truth), kept.truth), else_="").label("label")
    key = [*(kept[name] for name in _OF_SERIES), kept.window_end, label]
    revision = func.row_number().over(partition_by=key, order_by=[kept.as_of.desc(), kept.truth])
    # tables behind values take most of the room; of differences they hold the value of the other side
    detail = case((kept.against != "", kept.detail), else_=null()).label("detail")
    columns = (detail if column is kept.detail else column for column in columns_of(snapshots))
    return select(kept.model, kept.as_of, *columns, label, revision.label("revision"))
