"""One text for an id of several columns."""

import pyarrow as pa
import pyarrow.compute as pc


def with_one_id(table: pa.Table) -> pa.Table:
    """Columns id, id:1, id:2, … as one text: joined by commas, commas in them escaped; null where one is."""
    parts = [name for name in table.column_names if name.partition(":")[0] == "id"]
    if len(parts) < 2:
        return table
    joined = pc.binary_join_element_wise(
        *(_escaped(table[name]) for name in parts), ",", null_handling="emit_null"
    )
    rest = table.drop_columns(parts[1:])
    return rest.set_column(rest.column_names.index("id"), "id", joined)


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring(pc.replace_substring(column.cast(pa.string()), "\\", "\\\\"), ",", "\\,")
