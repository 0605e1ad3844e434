"""Data frames of any library as Arrow tables."""

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.errors import SourceError
from monitor.sources.sql.statements import text_or_digits

if TYPE_CHECKING:
    import pandas as pd

_FRAMES = ("__arrow_c_stream__", "__dataframe__", "columns")  # a frame has one of them
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
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
        table = _arrow_table(frame)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        reason = ": ".join(str(part).splitlines()[0] for part in reversed(error.args) if str(part))
        raise SourceError(
            f"{title}: no table can be made of {type(frame).__name__}: {reason or type(error).__name__}"
        ) from error
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(f'{title}: every column has a name of its own: got "{twice[0]}" twice')
    return pa.table({name: _plain_column(table[name]) for name in names})


def to_pandas(table: pa.Table) -> "pd.DataFrame":
    """Frame of pandas, its counts whole numbers."""
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _arrow_table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "set_axis") and hasattr(frame, "columns"):  # of pandas
        levels = [name for name in frame.index.names if name is not None]
        columns = [*frame.items(), *((name, frame.index.get_level_values(name)) for name in levels)]
        return pa.table([_arrow_array(column) for _, column in columns], [str(name) for name, _ in columns])
    if isinstance(frame, dict):
        return pa.table({name: _arrow_array(values) for name, values in frame.items()})
    if hasattr(frame, "__arrow_c_stream__") or not hasattr(frame, "__dataframe__"):
        return pa.table(frame)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(frame)


def _arrow_array(values: Any) -> pa.Array | pa.ChunkedArray:
    """Column as Arrow has it; values of several types, and of types that Arrow has not, as texts."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        column = None
    if column is None or isinstance(column.type, pa.BaseExtensionType):
        return pa.array((None if _is_missing(one) else _any_value_text(one) for one in values), pa.string())
    return column


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _any_value_text(value: Any) -> str:
    return text_or_digits(value) if isinstance(value, bytes) else str(value)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Column without what only saves room: dictionaries, large and viewed strings; bytes as texts."""
    if pa.types.is_dictionary(column.type):
        kind = _PLAIN.get(column.type.value_type, column.type.value_type)
        chunks = [pc.take(chunk.dictionary.cast(kind), chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, kind)
    if any(is_bytes(column.type) for is_bytes in _BYTES):
        texts = [None if one is None else _any_value_text(one) for one in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return column.cast(_PLAIN.get(column.type, column.type))
