"""Kept rows as points over time: of each window the best that is known, gaps where nothing is."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from statistics import median, median_low
from typing import TypeVar

from monitor.alerts.model_facts import ModelFacts
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement, newest_revisions
from monitor.windows.window_ends import Window

_HARDLY_ANY = 0.1  # of the labels that a window mostly has
_BEST = (LabelTruth.SETTLED, LabelTruth.NOWCAST, LabelTruth.PROVISIONAL, LabelTruth.NONE)
REFERENCE = "reference"

K = TypeVar("K", bound=Hashable)


def select_best_readings(
    rows: Iterable[StoredMeasurement], key: Callable[[MeasurementRow], K]
) -> dict[K, StoredMeasurement]:
    """Of each key the newest row that knows most: with a value, then settled before nowcast before others."""
    best: dict[K, StoredMeasurement] = {}
    for stored in newest_revisions(rows):
        place = key(stored.row)
        before = best.get(place)
        if before is None or _reading_rank(stored.row) < _reading_rank(before.row):
            best[place] = stored
    return best


def current_readings(facts: ModelFacts, window: str) -> list[StoredMeasurement]:
    """What is known now of the newest windows of a kind, as its newest revision.

    A revision is kept where it moves a value by some of its interval: what is known now may differ from it by
    less, and is what `status` and the tiles say.
    """
    if facts.as_of is None:
        return []
    mine = [row for row in facts.rows if row.window == window and row.is_of_whole]
    final = {_place_of(row) for row in mine if row.truth is LabelTruth.SETTLED}
    return [
        StoredMeasurement(facts.model, facts.as_of, row)
        for row in mine
        if row.truth is not LabelTruth.PROVISIONAL or _place_of(row) not in final
    ]


def _place_of(row: MeasurementRow) -> tuple[int, str, str, str]:
    return row.window_end, row.measure, row.subject, row.against


def window_readings(
    rows: Iterable[StoredMeasurement], measure: str, subject: str = "", against: str = ""
) -> list[StoredMeasurement]:
    """What is known of each window, by end."""
    of_series = (
        stored
        for stored in rows
        if (stored.row.measure, stored.row.subject, stored.row.against) == (measure, subject, against)
    )
    best = select_best_readings(of_series, lambda row: row.window_end)
    return [best[end] for end in sorted(best)]


def drop_scarcely_labelled(series: Sequence[StoredMeasurement]) -> list[StoredMeasurement]:
    """Readings that are final, or of more than hardly any label: chance would stretch the axis of a chart."""
    usual = median([one.row.measurement.n for one in series] or [0])
    return [one for one in series if one.row.is_final or one.row.measurement.n >= _HARDLY_ANY * usual]


def line_points(series: Sequence[StoredMeasurement], window: Window) -> list[tuple[float, float | None]]:
    """Points of a line; a window without a value, or that is not there, is a gap.

    Ends lie as far apart as they mostly do: one that is kept for an alert makes no gaps around it.
    """
    points: list[tuple[float, float | None]] = []
    ends = [one.row.window_end for one in series]
    step = max(window.step, median_low([later - end for end, later in pairwise(ends)] or [0]))
    for at, reading in enumerate(series):
        middle = window.middle_of(ends[at])
        if at and not window.is_calendar and ends[at] - ends[at - 1] > 1.5 * step:
            points.append((middle - step, None))
        points.append((middle, reading.row.measurement.value))
    return points


def band_points(
    series: Sequence[StoredMeasurement], window: Window
) -> list[tuple[float, float | None, float | None]]:
    """Intervals of readings; None: it has none."""
    intervals = ((window.middle_of(one.row.window_end), one.row.measurement.interval) for one in series)
    return [
        (middle, None, None) if interval is None else (middle, interval.lower, interval.upper)
        for middle, interval in intervals
    ]


def reference_value(
    rows: Iterable[MeasurementRow], measure: str
) -> tuple[float, float | None, float | None] | None:
    """Value of the reference and the bounds of its interval, as the newest comparison with it tells them."""
    told = [
        row.measurement.detail
        for row in rows
        if row.measure == measure
        and (row.against, row.subject, row.is_of_whole) == (REFERENCE, "", True)
        and row.measurement.detail is not None
        and row.measurement.detail.columns == FIGURES
    ]
    if not told:
        return None
    value, lower, upper, _ = told[-1].rows[0]
    if not isinstance(value, float | int):
        return None
    return (
        float(value),
        float(lower) if isinstance(lower, float | int) else None,
        float(upper) if isinstance(upper, float | int) else None,
    )


def _reading_rank(row: MeasurementRow) -> tuple[bool, int]:
    return (row.measurement.value is None, _BEST.index(row.truth))
