"""What the rows of a log have in common that matters: loads, features that hold no numbers, names. Pure."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from monitor.core.clock import HOUR, format_duration
from monitor.core.errors import SourceError
from monitor.core.text import MOST_BYTES
from monitor.records.reading import Reading
from monitor.records.rows import MOST_VERSIONS, times
from monitor.records.values import numbers, texts
from monitor.specs.model import ModelSpec

_MANY = 0.05  # share of values that are no numbers from which on a feature may be none
_HOURS = 12  # of events, from which on loads can be told from a stream
_ROOM = 2 * HOUR  # for a slow night
_NAMED = ("version", "arm", "segment:", "prediction", "feature:")  # roles whose texts become names
_MANY_VERSIONS = 100


def feature_warnings(rows: pa.Table, model: ModelSpec, about: str) -> Iterator[str]:
    """Warn of features without any value, and of numeric ones with many values that are no numbers."""
    for name in (*model.reading.numeric, *model.reading.categorical):
        column = rows[f"feature:{name}"] if f"feature:{name}" in rows.column_names else None
        if column is None:
            continue
        if column.null_count == len(column):
            yield f'{about} none has a value of the feature "{name}"'
        elif name in model.reading.numeric:
            values = numbers(column)
            wrong = float(np.mean(~values.finite & ~values.missing))
            if _MANY < wrong < 1.0:
                yield f'{about} {wrong:.1%} hold no number in the numeric feature "{name}": these are invalid'


def load_warnings(rows: pa.Table, model: ModelSpec, about: str) -> Iterator[str]:
    """Warn of rows that are logged by a few loads a day, later than windows are first measured."""
    if "logged_at" not in rows.column_names:
        return
    try:
        event, logged = (times(rows, role, model.reading) for role in ("event_time", "logged_at"))
    except SourceError:
        return  # said of the times themselves
    known = event.known & logged.known
    loads, load_of = np.unique(logged.us[known] // HOUR, return_inverse=True)
    hours = len(np.unique(event.us[known] // HOUR))
    if hours < _HOURS or 4 * len(loads) > hours:
        return
    newest = np.full(len(loads), np.iinfo(np.int64).max)
    np.minimum.at(newest, load_of, (logged.us - event.us)[known])
    late = int(np.median(newest))
    if late > model.ready_after:
        wanted = format_duration((late // HOUR + 1) * HOUR + _ROOM)
        yield (
            f"{about} all come by {len(loads)} load{'s' if len(loads) > 1 else ''}, each at least "
            f"{format_duration(late // HOUR * HOUR)} after its newest event: windows are first measured "
            f"{format_duration(model.ready_after)} after their end, without them; "
            f'reading.ready_after = "{wanted}" waits'
        )


def name_warnings(rows: pa.Table, reading: Reading, about: str) -> Iterator[str]:
    """Warn of texts that cannot be names as they stand, and of versions that are too many to be versions."""
    for role in rows.column_names:
        column = role.partition(":")[2] or reading.column(role)
        text = not pa.types.is_floating(rows[role].type) and not pa.types.is_null(rows[role].type)
        if not (text and role.startswith(_NAMED)):
            continue
        values = texts(rows[role])
        named = f'"{column}" ({role})'
        if n := int(values.renamed().sum()):
            yield (
                f"{about} {n:,} {'has an unusual name' if n == 1 else 'have unusual names'} in {named}: "
                f"characters that nobody sees, or more than {MOST_BYTES} bytes. They are escaped and cut"
            )
        if role == "version" and len(values.levels) > _MANY_VERSIONS:
            yield (
                f"{about} {named} has {len(values.levels):,} values: is it a version? The 20 with most "
                f"records in a window are measured apart; those beyond {MOST_VERSIONS:,} in a pane are other"
            )
