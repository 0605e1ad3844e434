"""A reference: the grids that its columns give, and its own records counted on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Floats
from monitor.core.clock import HOUR
from monitor.core.errors import SourceError
from monitor.records.column_values import (
    CategoryValues,
    NumberValues,
    is_nan,
    parse_categories,
    parse_numbers,
)
from monitor.records.count_records import count_records, find_cells, output_values
from monitor.records.counting import VOLUME, Counting, class_grid, number_grid
from monitor.records.effect_table import (
    MOST_ROWS,
    NO_EFFECTS,
    CellMatrix,
    EffectTable,
    effect_target,
    fit_effect_table,
    make_effect_cells,
)
from monitor.records.labels.count_labels import count_labels
from monitor.records.probabilities import COARSE_EDGES, parse_class_probabilities, probability_cell_middles
from monitor.records.reading import MOST_CLASSES, ModelTask, ReadingOptions, canonical_name
from monitor.records.winning_rows import (
    parse_predictions,
    parse_role_times,
    parse_scores,
    predicted_classes,
)
from monitor.states import grids, sums
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid, Grid, NumericGrid
from monitor.states.strata import WHOLE, Strata, Stratum

ROWS_AT_ONCE = 50_000  # rows that are counted at once: sums of slices are those of the whole
SEGMENTS = 20  # values of a column that are strata of their own


@dataclass(frozen=True, slots=True)
class Reference:
    """Counters of the reference's records and labels on the grids of `counting`."""

    counting: Counting
    records: Counters
    labels: Counters
    # segments, label_segments: of its records by segment, without features; and of its labels.
    segments: Strata = field(default_factory=dict)
    label_segments: Strata = field(default_factory=dict)
    effects: EffectTable | None = None  # what its features do to the score; None: nobody has looked

    @property
    def n(self) -> int:
        """Its records."""
        return int(self.records.dense_block("volume")[VOLUME.index("records")])


def make_plain_counting(reading: ReadingOptions, table: pa.Table | None = None) -> Counting:
    """Grids of a model without a reference: classes, scores on a uniform grid; no features.

    Parameters
    ----------
    table
        all rows, role-named, where they are at hand: of them the scale and the segments' values are taken.
        None: the scale is the configured one, and there are no segments.
    """
    segments = () if table is None else _reference_segments(table, reading)
    bare = replace(reading, numeric=(), categorical=(), segments=tuple(column for column, _ in segments))
    regression = reading.task is ModelTask.REGRESSION
    outcome: Grid = number_grid(None) if regression else class_grid(reading.classes)
    return Counting(
        reading=bare,
        features=(),
        score=grids.score_grid(None, *reading.score_range) if reading.has_score else None,
        prediction=outcome,
        label=outcome if reading.labelled else None,
        scale=sums.power_of_two(reading.scale) if table is None else _label_scale(table, reading),
        segments=segments,
    )


def reference_of(table: pa.Table, reading: ReadingOptions, beside: pa.Table | None = None) -> Reference:
    """Grids and counters of a reference.

    Parameters
    ----------
    table
        role-named columns; ids, times and versions are not needed. Held in memory whole. A feature or an
        output that it lacks is not compared: a feature is not counted, an output counts on fixed cells.
    beside
        all rows that are compared, where they are at hand: their segments' values are strata, too.

    Raises
    ------
    SourceError
        if it has more classes than are measured.
    """
    reading = replace(reading, classes=reading.classes or _reference_classes(table, reading))
    if len(reading.classes) > MOST_CLASSES:
        raise SourceError(
            f"the reference has {len(reading.classes):,} classes, at most {MOST_CLASSES:,} are measured: "
            "name the frequent ones in classes.values, others count as unseen"
        )
    score = parse_scores(table, reading)
    prediction = parse_predictions(table, reading, score)
    has_label = reading.labelled and "label" in table.column_names
    features = {
        name: _feature_grid(table, name, reading)
        for name in (*reading.numeric, *reading.categorical)
        if f"feature:{name}" in table.column_names
    }
    counting = Counting(
        reading=reading,
        features=tuple(sorted(features.items())),
        score=_score_grid(score, reading),
        prediction=_outcome_grid(prediction, reading),
        label=_outcome_grid(_numeric_label(table, reading), reading) if reading.labelled else None,
        scale=_label_scale(table, reading) if has_label else sums.power_of_two(reading.scale),
        segments=_reference_segments(table, reading, beside),
    )
    return count_on_grids(table, counting)


def count_on_grids(table: pa.Table, counting: Counting) -> Reference:
    """Reference on the grids of another: a version's own on those of its model."""
    has_label = counting.label is not None and "label" in table.column_names
    return Reference(counting, *_count_reference(table, counting, has_label=has_label))


def with_effects(reference: Reference, table: pa.Table) -> Reference:
    """The reference with its effect table, fitted to the rows that it was counted from.

    Of more than 50,000 rows so many, evenly chosen: in the order of their events if it is known, else as they
    came.
    """
    rows = table.num_rows
    order = np.arange(rows)
    if "event_time" in table.column_names:
        times = parse_role_times(table, "event_time", reference.counting.reading)
        order = np.argsort(times.us, kind="stable")
    chosen = order[np.unique(np.linspace(0, max(rows - 1, 0), min(rows, MOST_ROWS)).astype(int))]
    return replace(reference, effects=_fit_effects(reference, table.take(pa.array(chosen))))


def _fit_effects(reference: Reference, rows: pa.Table) -> EffectTable:
    counting = reference.counting
    target = effect_target(counting, reference.records)
    values = output_values(rows, counting)
    if not target or any(f"feature:{name}" not in values for name, _ in counting.features):
        return NO_EFFECTS
    score, valid = _target_values(target, rows, values, counting)
    cells = make_effect_cells(counting, reference.records)
    matrix: CellMatrix = np.empty((len(cells.features), int(valid.sum())), dtype=np.uint8)
    for at, (name, grid) in enumerate(counting.features):
        matrix[at] = cells.of_grid[at][find_cells(values[f"feature:{name}"], grid)[valid]]
    return fit_effect_table(matrix, cells.sizes, score[valid])


def _target_values(
    target: str, rows: pa.Table, values: Mapping[str, NumberValues | CategoryValues], counting: Counting
) -> tuple[Floats, Bools]:
    """What stands for the score of each row, and whether it has one; probabilities as they are counted."""
    if not target.startswith("class:"):
        column, grid = values.get(target), counting.output_grids[target]
        if not isinstance(column, NumberValues) or not isinstance(grid, NumericGrid):
            return np.zeros(rows.num_rows), np.zeros(rows.num_rows, dtype=np.bool_)
        return column.values, column.lies_within((grid.lower, grid.upper))
    probabilities = parse_class_probabilities(rows, counting.reading)
    if probabilities is None:
        return np.zeros(rows.num_rows), np.zeros(rows.num_rows, dtype=np.bool_)
    of_class = probabilities.values[probabilities.names.index(target.removeprefix("class:"))]
    middle = probability_cell_middles()[np.searchsorted(COARSE_EDGES, of_class, side="right")]
    return middle, ~(probabilities.missing | probabilities.invalid)


def _reference_classes(table: pa.Table, reading: ReadingOptions) -> tuple[str, ...]:
    if reading.task is ModelTask.REGRESSION:
        return ()
    classes = {canonical_name(name) for name in reading.probabilities}
    for role in ("prediction", "label"):
        if role in table.column_names:
            values = (
                parse_categories(table[role]) if role == "label" else predicted_classes(table[role], reading)
            )
            classes |= {level for level in values.levels if not is_nan(level)}
    return tuple(sorted(classes, key=str.encode))


def _feature_grid(table: pa.Table, name: str, reading: ReadingOptions) -> Grid:
    column = table[f"feature:{name}"]
    if name in reading.numeric:
        values = parse_numbers(column)
        return grids.feature_grid(values.values[values.finite])
    return _category_grid(column)


def _category_grid(column: pa.ChunkedArray) -> CategoryGrid:
    values = parse_categories(column)
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    return grids.category_grid(list(values.levels), counts.tolist())


def _reference_segments(
    table: pa.Table, reading: ReadingOptions, beside: pa.Table | None = None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Columns with their most frequent values, of at least 10 records; the others are one stratum.

    Those of the rows beside come first: they are what is measured.
    """
    tables = [table] if beside is None else [beside, table]
    named = (
        (column, [_category_grid(one[f"segment:{column}"]).levels for one in tables])
        for column in reading.segments
    )
    return tuple(
        (column, tuple(dict.fromkeys(filter(None, chain.from_iterable(levels))))[:SEGMENTS])
        for column, levels in named
    )


def _score_grid(score: NumberValues | None, reading: ReadingOptions) -> NumericGrid | None:
    if not reading.has_score:
        return None
    valid = None if score is None else score.values[score.lies_within(reading.score_range)]
    return grids.score_grid(valid, *reading.score_range)


def _outcome_grid(values: NumberValues | CategoryValues | None, reading: ReadingOptions) -> Grid:
    if reading.task is not ModelTask.REGRESSION:
        return CategoryGrid(reading.classes)
    return number_grid(values.values[values.finite] if isinstance(values, NumberValues) else None)


def _numeric_label(table: pa.Table, reading: ReadingOptions) -> NumberValues | None:
    if reading.task is ModelTask.REGRESSION and "label" in table.column_names:
        return parse_numbers(table["label"])
    return None


def _label_scale(table: pa.Table, reading: ReadingOptions) -> float:
    """Power of two at the labels' standard deviation; the configured scale for labels that are all equal."""
    label = _numeric_label(table, reading)
    # Sorted: the scale is part of what counters are counted by, and must not hang on the order of rows.
    values = np.empty(0) if label is None else np.sort(label.values[label.finite])
    if len(values) == 0 or values[0] == values[-1]:
        return sums.power_of_two(reading.scale)
    # Divided by the largest first: squares of huge labels would overflow.
    largest = float(np.abs(values[[0, -1]]).max())
    spread = min(float(np.std(values / largest)) * largest, largest)
    return sums.power_of_two(max(spread, sums.SMALLEST))


def _count_reference(
    table: pa.Table, counting: Counting, *, has_label: bool
) -> tuple[Counters, Counters, Strata, Strata]:
    """Count the reference as one pane, slice by slice: every row has an id of its own, and the same time."""
    names = ["score", "prediction", "label"]
    names += [f"probability:{name}" for name in counting.reading.probabilities]
    names += [f"feature:{name}" for name, _ in counting.features]
    names += [f"segment:{column}" for column, _ in counting.segments]
    kept = [name for name in names if name in table.column_names]
    one_pane = replace(
        counting.reading, versioned=False, arms=None, time_units=(("event_time", "us"),), pane=HOUR
    )
    plain = replace(counting, reading=one_pane)
    panes = np.zeros(1, np.int64)
    # The whole is there even of a reference without rows.
    strata: dict[Stratum, list[Counters]] = {WHOLE: []}
    labelled: dict[Stratum, list[Counters]] = {WHOLE: []}
    for first in range(0, table.num_rows, ROWS_AT_ONCE):
        part = table.select(kept).slice(first, ROWS_AT_ONCE)
        rows = part.append_column("id", pa.array(np.arange(part.num_rows)))
        rows = rows.append_column("event_time", pa.array(np.zeros(part.num_rows, np.int64)))
        for stratum, counters in count_records(rows, plain, panes=panes, as_of=0)[0].strata.items():
            strata.setdefault(stratum, []).append(counters)
        if has_label:
            for stratum, counters in count_labels(rows, plain, panes=panes, as_of=0)[0].strata.items():
                labelled.setdefault(stratum, []).append(counters)
    records = {
        stratum: Counters.merge_all(counting.records_layout, parts) for stratum, parts in strata.items()
    }
    labels = {
        stratum: Counters.merge_all(counting.labels_layout, parts) for stratum, parts in labelled.items()
    }
    return records.pop(WHOLE), labels.pop(WHOLE), records, labels
