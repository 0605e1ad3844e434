"""Values that no reference has: read from the source for `monitor alerts --explain`, never kept."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa

from monitor.alerts.lifecycle import AlertState
from monitor.app.kept_run import KeptRun
from monitor.app.pages.window_counts import KeptReferences, read_newest_counting
from monitor.core.clock import DAY, from_iso
from monitor.core.errors import SourceError
from monitor.measures.measure_options import FEATURE
from monitor.measures.value_words import approximate_text, format_measure_value
from monitor.records.column_values import parse_categories, parse_numbers
from monitor.records.winning_rows import parse_winning_rows
from monitor.sentences.known_measurements import join_few_names, readable_name
from monitor.show.alert_tables import ShownAlert
from monitor.sources import open_source
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.windows.day_moments import days_from, zone_of_days
from monitor.windows.window_ends import count_epoch_days

_FEWEST = 3  # records of a value that is named, as of a fault that is told


def with_odd_values(kept_run: KeptRun, alerts: Sequence[ShownAlert]) -> list[ShownAlert]:
    """Alerts on unseen or far-off values that stand, with what these are; a source that is away adds none."""
    references: KeptReferences = {}
    return [
        shown_alert
        if shown_alert.alert.state is AlertState.RESOLVED
        else replace(shown_alert, odd_values=_describe_odd_values(kept_run, shown_alert, references))
        for shown_alert in alerts
    ]


def _describe_odd_values(kept_run: KeptRun, shown_alert: ShownAlert, references: KeptReferences) -> str:
    change, name = shown_alert.alert.breach.change, shown_alert.alert.series.subject.removeprefix(FEATURE)
    if change is None or change.first_day is None or change.kind not in ("unseen", "beyond"):
        return ""
    if (configured := kept_run.find_configured(shown_alert.model)) is None:
        return ""
    spec, source = configured
    counting = read_newest_counting(kept_run.store, spec, references)
    grid = dict(counting.features).get(name)
    if grid is None:
        return ""
    numeric = (name,) if isinstance(grid, NumericGrid) else ()
    one = replace(counting.reading, numeric=numeric, categorical=() if numeric else (name,))
    zone, first = zone_of_days(one.zone, one.pane), from_iso(change.first_day)
    span = next(day for day in days_from(first - DAY, zone) if count_epoch_days(day[0], zone) == first // DAY)
    try:
        with closing(open_source(source, store_url=kept_run.settings.store.url)) as opened:
            table = opened.read_records(replace(spec, reading=one), [span])
    except SourceError:
        table = None
    if table is None or FEATURE + name not in table.column_names:
        return ""
    panes, as_of = (
        np.arange(*span, one.pane, dtype=np.int64),
        kept_run.store.states.read_state(spec.name).as_of or span[1],
    )
    rows = parse_winning_rows(table, replace(counting, reading=one), panes, as_of)
    column = table[FEATURE + name].take(rows.rows[rows.serves])
    if isinstance(grid, NumericGrid):
        return _far_numbers_sentence(grid, column, change.first_day)
    return _unseen_values_sentence(grid, column, change.first_day)


def _unseen_values_sentence(grid: CategoryGrid, column: pa.ChunkedArray, since: str) -> str:
    """The most frequent values that the reference does not have."""
    values = parse_categories(column)
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels)).tolist()
    unseen = [
        (count, level)
        for count, level in zip(counts, values.levels, strict=True)
        if count >= _FEWEST and grid.find_level_cell(level) == grid.regular_size
    ]
    n = max(len(values.codes), 1)
    sentences = [
        f"{readable_name(level)} {format_measure_value('unseen_rate', count / n)}"
        for count, level in sorted(unseen)[::-1]
    ]
    return f"Unseen on {since}, of all records: {join_few_names(sentences)}" if sentences else ""


def _far_numbers_sentence(grid: NumericGrid, column: pa.ChunkedArray, since: str) -> str:
    """Between what the numbers beyond all of the reference's lie, and between what the reference's do."""
    numbers = parse_numbers(column)
    values = numbers.values[numbers.finite]
    low, high = grid.edges[0], grid.edges[-1]
    far = np.sort(values[(values < low) | (values >= high)]).tolist()
    if len(far) < _FEWEST:
        return ""
    return (
        f"Beyond the reference's on {since}: {len(far):,} numbers from {approximate_text(far[0])} to "
        f"{approximate_text(far[-1])}, "
        f"half of them above {approximate_text(far[len(far) // 2])}; "
        f"all of the reference's lie from {approximate_text(low)} to {approximate_text(high)}"
    )
