"""Panes counted here, of rows that were read into memory: what engines elsewhere must equal."""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from monitor.core.typing import Ints
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import CountedPanes, Part
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import Range


class Tables(Protocol):
    """What brings rows here."""

    def records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table: ...  # noqa: D102
    def labelled(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table: ...  # noqa: D102


def counted(
    tables: Tables,
    model: ModelSpec,
    part: Part,
    ranges: Sequence[Range],
    counting: Counting,
    *,
    panes: Ints,
    as_of: int,
) -> CountedPanes:
    """Read the rows of panes, and count them; see `Source.counted`."""
    if part is Part.LABELS:
        table = tables.labelled(model, ranges)
        return CountedPanes(count_labels(table, counting, panes=panes, as_of=as_of), table.num_rows)
    table = tables.records(model, ranges)
    names = (f"feature:{name}" for name, _ in counting.features)
    missing = {name.removeprefix("feature:") for name in names if name not in table.column_names}
    parts = count_records(table, counting, panes=panes, as_of=as_of)
    return CountedPanes(parts, table.num_rows, tuple(sorted(missing)))
