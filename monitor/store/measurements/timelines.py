"""Kept measurements as series in time: a measure after the other, of each series its windows in order."""

from collections.abc import Collection, Iterator

from sqlalchemy import Engine, Select, case, func, null, select

from monitor.measures.measurement_row import MeasurementRow
from monitor.store.measurements.measurement_columns import columns_of, row_of
from monitor.store.store_connections import read_transaction
from monitor.store.tables import snapshots

_OF_SERIES = ("measure", "model", "version", "segment", "window", "subject", "against")
_AT_A_TIME = 5_000  # rows


def stream_timelines(
    engine: Engine,
    run: str,
    models: Collection[str],
    measures: Collection[str],
    with_truth: Collection[str],
    *,
    against: Collection[str],
    window: str | None = None,
    ends: tuple[int | None, int | None] = (None, None),
    as_of: int | None = None,
) -> Iterator[tuple[str, MeasurementRow]]:
    """(model, row) of the newest revisions, never all in memory: the database sorts them.

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

    Raises
    ------
    StoreError
        if the database does not answer.
    """
    after, until = ends
    kept = snapshots.c
    conditions = [kept.run == run, kept.model.in_(models), kept.measure.in_(measures)]
    conditions += [kept.against.in_(against)]
    conditions += [] if window is None else [kept.window == window]
    conditions += [] if after is None else [kept.window_end > after]
    conditions += [] if until is None else [kept.window_end <= until]
    conditions += [] if as_of is None else [kept.as_of <= as_of]
    query = _newest_query(with_truth).where(*conditions).subquery()
    order = [query.c[name] for name in (*_OF_SERIES, "label", "window_end")]
    newest = select(query.c.model, *columns_of(query)).where(query.c.revision == 1).order_by(*order)
    with read_transaction(engine) as connection:
        for model, *values in connection.execution_options(yield_per=_AT_A_TIME).execute(newest):
            yield model, row_of(values)


def _newest_query(with_truth: Collection[str]) -> Select[tuple[object, ...]]:
    """Rows with the truth that tells their series apart, and how many revisions are newer."""
    kept = snapshots.c
    label = case((kept.measure.in_(with_truth), kept.truth), else_="").label("label")
    key = [*(kept[name] for name in _OF_SERIES), kept.window_end, label]
    revision = func.row_number().over(partition_by=key, order_by=[kept.as_of.desc(), kept.truth])
    # tables behind values take most of the room; of differences they hold the value of the other side
    detail = case((kept.against != "", kept.detail), else_=null()).label("detail")
    columns = (detail if column is kept.detail else column for column in columns_of(snapshots))
    return select(kept.model, *columns, label, revision.label("revision"))
