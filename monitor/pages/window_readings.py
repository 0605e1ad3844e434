"""Kept rows as points over time: of each window the best that is known, gaps where nothing is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, median_low

from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, Revision, newest_revisions
from monitor.windows.window_ends import Window

_HARDLY_ANY = 0.1  # of the labels that a window mostly has
_BEST = (LabelTruth.SETTLED, LabelTruth.NOWCAST, LabelTruth.PROVISIONAL, LabelTruth.NONE)
REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class WindowReading:
    """What is known of one window: its newest row, settled before nowcast before provisional."""

    end: int
    middle: float  # of the window, microseconds: where it stands on an axis of time
    as_of: int
    row: MeasurementRow

    @property
    def value(self) -> float | None:
        """Value, or None."""
        return self.row.measurement.value

    @property
    def is_final(self) -> bool:
        """Whether labels will move it no more, or it stands on none."""
        return self.row.truth in (LabelTruth.SETTLED, LabelTruth.NONE)


def window_readings(
    rows: Iterable[Revision], window: Window, measure: str, subject: str = "", against: str = ""
) -> list[WindowReading]:
    """One reading a window, by end."""
    best: dict[int, Revision] = {}
    of_series = (
        (as_of, row)
        for as_of, row in rows
        if row.measure == measure and row.subject == subject and row.against == against
    )
    for as_of, row in newest_revisions(of_series):
        before = best.get(row.window_end)
        if before is None or _reading_rank(row) < _reading_rank(before[1]):
            best[row.window_end] = (as_of, row)
    return [
        WindowReading(end, (window.start_of(end) + end) / 2, as_of, row)
        for end, (as_of, row) in sorted(best.items())
    ]


def drop_scarcely_labelled(series: Sequence[WindowReading]) -> list[WindowReading]:
    """Readings that are final, or of more than hardly any label: chance would stretch the axis of a chart."""
    usual = median([one.row.measurement.n for one in series] or [0])
    return [one for one in series if one.is_final or one.row.measurement.n >= _HARDLY_ANY * usual]


def line_points(series: Sequence[WindowReading], window: Window) -> list[tuple[float, float | None]]:
    """Points of a line; a window without a value, or that is not there, is a gap.

    Ends lie as far apart as they mostly do: one that is kept for an alert makes no gaps around it.
    """
    points: list[tuple[float, float | None]] = []
    step = max(window.step, median_low([b.end - a.end for a, b in pairwise(series)] or [0]))
    for at, reading in enumerate(series):
        if at and not window.is_calendar and reading.end - series[at - 1].end > 1.5 * step:
            points.append((reading.middle - step, None))
        points.append((reading.middle, reading.value))
    return points


def band_points(series: Sequence[WindowReading]) -> list[tuple[float, float | None, float | None]]:
    """Intervals of readings; None: it has none."""
    intervals = ((one.middle, one.row.measurement.interval) for one in series)
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
