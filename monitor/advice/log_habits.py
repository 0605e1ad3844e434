"""What the rows of a log have in common that matters: loads, features that hold no numbers, names. Pure."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from monitor.core.clock import HOUR, format_duration
from monitor.core.errors import SourceError
from monitor.core.text import MOST_BYTES, readable_text
from monitor.look.table_look import ENOUGH
from monitor.measures.value_words import approximate_text as rounded
from monitor.measures.value_words import format_factor, has_other_unit
from monitor.records.column_values import parse_numbers, parse_texts
from monitor.records.reading import ReadingOptions
from monitor.records.winning_rows import MOST_VERSIONS, parse_role_times
from monitor.specs.model_spec import ModelSpec

_MANY = 0.05  # share of values that are no numbers from which on a feature may be none
_NEARLY_ALL = 0.9
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
            values = parse_numbers(column)
            wrong = float(np.mean(~values.finite & ~values.missing))
            if _MANY < wrong < 1.0:
                yield f'{about} {wrong:.1%} hold no number in the numeric feature "{name}": these are invalid'


def far_off(rows: pa.Table, reference: pa.Table, model: ModelSpec) -> Iterator[str]:
    """Warn of numeric features that lie beyond all of the reference, or differ from it by a power of ten."""
    sentences = []
    for name in model.reading.numeric:
        role = f"feature:{name}"
        if role not in rows.column_names or role not in reference.column_names:
            continue
        now, then = (
            each.values[each.finite] for each in (parse_numbers(rows[role]), parse_numbers(reference[role]))
        )
        if min(len(now), len(then)) < ENOUGH:
            continue
        beyond = float(np.mean((now < then.min()) | (now > then.max())))
        median, usual = float(np.median(now)), float(np.median(then))
        factor = format_factor(median, usual)
        if beyond >= _NEARLY_ALL or has_other_unit(median, usual):
            of = f"{rounded(median)}, in the reference {rounded(usual)}{factor and f': {factor}'}"
            sentences.append(
                f'"{readable_text(name)}" (median {of}; {beyond:.0%} beyond all of the reference)'
            )
    if sentences:
        yield (
            f"Of {rows.num_rows:,} rows of the log looked at, these features lie far from the reference: "
            f"{', '.join(sentences)}. Look at their units in both. Alerts tell what changes "
            "from day to day: what "
            "was so before the first cycle stands on pages and in status alone"
        )


def load_warnings(rows: pa.Table, model: ModelSpec, about: str) -> Iterator[str]:
    """Warn of rows that are logged by a few loads a day, later than windows are first measured."""
    if "logged_at" not in rows.column_names:
        return
    try:
        event, logged = (parse_role_times(rows, role, model.reading) for role in ("event_time", "logged_at"))
    except SourceError:
        return  # said of the times themselves
    is_known = event.known & logged.known
    loads, load_of = np.unique(logged.us[is_known] // HOUR, return_inverse=True)
    hours = len(np.unique(event.us[is_known] // HOUR))
    # Logged within few hours, though events lie in many: the log is written by loads.
    if hours < _HOURS or 4 * len(loads) > hours:
        return
    newest = np.full(len(loads), np.iinfo(np.int64).max)
    np.minimum.at(newest, load_of, (logged.us - event.us)[is_known])
    late = int(np.median(newest))
    if late > model.ready_after:
        wanted = format_duration((late // HOUR + 1) * HOUR + _ROOM)
        yield (
            f"{about} all come by {len(loads)} load{'s' if len(loads) > 1 else ''}, each at least "
            f"{format_duration(late // HOUR * HOUR)} after its newest event: windows are first measured "
            f"{format_duration(model.ready_after)} after their end, without them; "
            f'reading.ready_after = "{wanted}" waits'
        )


def name_warnings(rows: pa.Table, reading: ReadingOptions, about: str) -> Iterator[str]:
    """Warn of texts that cannot be names as they stand, and of versions that are too many to be versions."""
    for role in rows.column_names:
        column = role.partition(":")[2] or reading.column_name(role)
        text = not pa.types.is_floating(rows[role].type) and not pa.types.is_null(rows[role].type)
        if not (text and role.startswith(_NAMED)):
            continue
        values = parse_texts(rows[role])
        name = f'"{column}" ({role})'
        if n := int(values.renamed_rows().sum()):
            yield (
                f"{about} {n:,} {'has an unusual name' if n == 1 else 'have unusual names'} in {name}: "
                f"characters that nobody sees, or more than {MOST_BYTES} bytes. They are escaped and cut"
            )
        if role == "version" and len(values.levels) > _MANY_VERSIONS:
            yield (
                f"{about} {name} has {len(values.levels):,} values: is it a version? The 20 with most "
                f"records in a window are measured apart; those beyond {MOST_VERSIONS:,} in a pane are other"
            )
