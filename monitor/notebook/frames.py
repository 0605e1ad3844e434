"""Data frames of any library as Arrow tables."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

_INDEX = "__index_level_"  # of a pandas frame whose index has no name
_FRAMES = ("__arrow_c_stream__", "__dataframe__", "columns")  # a frame has one of them
_PLAIN = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}


def to_arrow(frame: Any, title: str) -> pa.Table:
    """Arrow table of a data frame.

    Parameters
    ----------
    frame
        of pandas; of Arrow; of any library whose frames speak the Arrow C stream or the dataframe interchange
        protocol, as Polars and DuckDB; or a dictionary of columns.
    title
        of the frame, in messages.

    Raises
    ------
    SourceError
        if it is none of these, has a name twice, or a column that Arrow cannot read.
    """
    if hasattr(type(frame), "collect") and hasattr(type(frame), "lazy"):  # of Polars, not yet computed
        raise SourceError(f"{title}: a {type(frame).__name__} holds no rows yet: give its .collect()")
    if not isinstance(frame, dict) and not any(hasattr(frame, name) for name in _FRAMES):
        raise SourceError(
            f"{title}: must be a data frame (pandas, Polars, Arrow) or a dictionary of columns: "
            f"got {type(frame).__name__}"
        )
    try:
        table = _table(frame)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        reason = ": ".join(str(part).splitlines()[0] for part in reversed(error.args) if str(part))
        raise SourceError(
            f"{title}: no table can be made of {type(frame).__name__}: {reason or type(error).__name__}"
        ) from error
    names = [name for name in table.column_names if not name.startswith(_INDEX)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(f'{title}: every column has a name of its own: got "{twice[0]}" twice')
    return pa.table({name: _plain(table[name]) for name in names})


def to_pandas(table: pa.Table) -> "pd.DataFrame":
    """Frame of pandas, its counts whole numbers."""
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "set_axis") and hasattr(
        frame, "columns"
    ):  # of pandas: a column may be called by a number
        frame = frame.set_axis([str(name) for name in frame.columns], axis="columns")
    if hasattr(frame, "__arrow_c_stream__") or isinstance(frame, dict) or not hasattr(frame, "__dataframe__"):
        return pa.table(frame)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(frame)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Column without what only saves room: dictionaries, large and viewed strings."""
    if pa.types.is_dictionary(column.type):
        kind = _PLAIN.get(column.type.value_type, column.type.value_type)
        chunks = [pc.take(chunk.dictionary.cast(kind), chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, kind)
    return column.cast(_PLAIN.get(column.type, column.type))
