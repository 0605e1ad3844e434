"""Lines over time: every measure of each window of a frame, beside the reference and its limit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from monitor.alerts.default_rules import main_measure
from monitor.core.clock import to_datetime
from monitor.core.errors import ConfigurationError
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.estimate_measures import ESTIMATED
from monitor.measures.value_words import SIZES, format_measure_value
from monitor.notebook.arrow_frames import to_pandas
from monitor.notebook.counted_frames import CountedFrames
from monitor.notebook.evaluation_page import Html, lines_page
from monitor.notebook.model_keys import require_known, require_measure
from monitor.notebook.time_charts import (
    draw_line,
    is_worse_above,
    line_title,
    line_window_words,
    unit_noun,
)
from monitor.notebook.time_points import (
    COMING,
    MOVED,
    LineWindow,
    PointKey,
    PointState,
    TimePoint,
    later_points,
    measure_points,
)
from monitor.pages.figures import Figure
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.known_measurements import FEATURE, readable_name
from monitor.show.measurement_tables import ALIASES

if TYPE_CHECKING:
    import pandas as pd

_FEATURES = 3  # features that have a chart of their own
_WIDE = 88  # characters of a line of sentences, in a notebook or a terminal
_NUMBER, _TEXT, _TIME = pa.float64(), pa.string(), pa.timestamp("us", "UTC")
_COLUMNS = {
    "period": _TEXT, "start": _TIME, "end": _TIME, "measure": _TEXT, "subject": _TEXT, "value": _NUMBER,
    "lower": _NUMBER, "upper": _NUMBER, "n": pa.int64(), "reference": _NUMBER, "limit": _NUMBER,
    "state": _TEXT, "reason": _TEXT,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class OverTime:
    """Measures of each window of a frame. Shown in a notebook, it is its charts.

    Parameters
    ----------
    frames
        what was counted.
    windows
        in order of time, those of the reference first.
    points
        by measure and subject, one for each window.
    """

    frames: CountedFrames
    windows: tuple[LineWindow, ...]
    points: Mapping[PointKey, Sequence[TimePoint]]

    @property
    def main(self) -> str:
        """Measure of performance that stands for the others; where no label has come, an estimate."""
        reading = self.frames.model.reading
        measure = main_measure(reading.task, scored=reading.has_score)
        if self._has_later_value(measure):
            return measure
        return next((name for name in self._ordered_estimates(measure)), measure)

    def _ordered_estimates(self, measure: str) -> list[str]:
        """Estimates that have a value in the predictions, that of a measure first."""
        known = [name for name in ESTIMATED if self._has_later_value(name)]
        return sorted(known, key=lambda name: BY_NAME[name].estimates != measure)

    @property
    def frame(self) -> "pd.DataFrame":
        """The same as `to_frame()`."""
        return self.to_frame()

    def to_frame(self) -> "pd.DataFrame":
        """Points as a data frame.

        Returns
        -------
        pandas.DataFrame
            one row a window and measure. `period` is ``"reference"`` or ``"predictions"``; `reference` the
            value of the whole reference; `limit` where worse begins; `state` ``"worse"``, ``"within"`` or
            ``"unknown"``, missing where a measure has no limit; `reason` why there is no value, or why it is
            not judged. `start` and `end` (exclusive, UTC) are missing for a reference without times.
        """
        return to_pandas(self.to_arrow())

    def to_arrow(self) -> pa.Table:
        """Points as an Arrow table, its columns those of `to_frame`."""
        records = [
            _point_values(window, key, point)
            for key, points in self.points.items()
            for window, point in zip(self.windows, points, strict=True)
        ]
        return pa.table(
            {name: pa.array([record[name] for record in records], kind) for name, kind in _COLUMNS.items()}
        )

    def plot(self, measure: str = "", subject: str = "") -> Html:
        """Chart of a measure over time; of none named those that lead the report.

        Parameters
        ----------
        measure
            as ``"roc_auc"`` or ``"psi"``.
        subject
            as ``"feature:age"`` or ``"score"``; empty: the model itself.

        Raises
        ------
        ConfigurationError
            if there is no such measure or subject.
        """
        if not measure:
            return lines_page(self.frames, self.figures)
        name = ALIASES.get(measure.lower(), measure)
        if name != MOVED:
            require_measure(name)
        there = {of for known, of in self.points if known == name}
        if not there:
            raise ConfigurationError([f"{name} is not measured of these frames"])
        require_known(f"subject of {name}", subject, there)
        return lines_page(self.frames, (self._draw_figure(name, subject, 180),))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Charts that lead a report: performance with its estimate, the score, how much moved and what."""
        output = "score" if (INDEX, "score") in self.points else "prediction"
        names = [(self.main, "", 180)]
        if self.main not in ESTIMATED and not _estimate_of(self.main):  # of a number it is of another error
            names += [(BY_NAME[name].estimates, "", 120) for name in self._ordered_estimates(self.main)[:1]]
        names += [(INDEX, output, 80), (MOVED, "", 60)]
        names += [(INDEX, subject, 60) for subject in self.list_most_moved()]
        names.append(("records", "", 60))
        return tuple(self._draw_figure(*name) for name in names if self._has_values(*name[:2]))

    def _draw_figure(self, measure: str, subject: str, height: int) -> Figure:
        estimate = self.points.get((_estimate_of(measure), ""), ()) if not subject else ()
        return draw_line(
            self.windows, (measure, subject), self.points[measure, subject], estimate, height=height
        )

    def list_most_moved(self) -> list[str]:
        """Subjects of the features that moved most in any window, the most first; none that moved nowhere.

        By how many times what the reference's own windows reach, at least 0.1: those of a season move too.
        """
        moved = {}
        for (measure, subject), points in self.points.items():
            if measure == INDEX and subject.startswith(FEATURE):
                of_later = [point for _, point in later_points(self.windows, points)]
                values = [one.measurement.value or 0.0 for one in of_later if one.state is PointState.WORSE]
                if values:
                    moved[subject] = max(values) / max(SIZES[0], of_later[0].reference or 0.0)
        return sorted(moved, key=lambda subject: (-moved[subject], subject))[:_FEATURES]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the lines say: performance first, then labels that are still coming, then what moved."""
        return tuple(_line_sentences(self))

    def _has_values(self, measure: str, subject: str = "") -> bool:
        return any(point.measurement.value is not None for point in self.points.get((measure, subject), ()))

    def _has_later_value(self, measure: str) -> bool:
        pairs = later_points(self.windows, self.points[measure, ""]) if (measure, "") in self.points else ()
        return any(point.measurement.value is not None for _, point in pairs)

    def __str__(self) -> str:
        """Its sentences."""
        return fill(" ".join(self.sentences), _WIDE)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()


def measure_over_time(frames: CountedFrames) -> OverTime | None:
    """Lines over time of frames; None: none were asked for."""
    if frames.every is None:
        return None
    return OverTime(frames, *measure_points(frames.periods, frames.every))


def _point_values(window: LineWindow, key: PointKey, point: TimePoint) -> dict[str, Any]:
    interval, (start, end) = point.measurement.interval, window.span or (None, None)
    return {
        "period": "reference" if window.of_reference else "predictions",
        "start": None if start is None else to_datetime(start),
        "end": None if end is None else to_datetime(end),
        "measure": key[0],
        "subject": key[1],
        "value": point.measurement.value,
        "lower": None if interval is None else interval.lower,
        "upper": None if interval is None else interval.upper,
        "n": point.measurement.n,
        "reference": point.reference,
        "limit": point.limit,
        "state": str(point.state) or None,
        "reason": point.reason or None,
    }


def _estimate_of(measure: str) -> str:
    """Name of the measure that estimates another before labels come; empty: there is none."""
    return next((name for name in ESTIMATED if BY_NAME[name].estimates == measure), "")


def _line_sentences(lines: OverTime) -> Iterator[str]:
    main = lines.main
    points = list(later_points(lines.windows, lines.points[main, ""])) if (main, "") in lines.points else []
    limits = [point for _, point in points if point.limit is not None]
    if lines.frames.model.reference is None:
        yield "Nothing is checked without a reference: give reference."
    elif points and not limits:
        yield f"{line_title(main)} is not checked: the reference has no labels."
    yield from _performance_sentences(main, points)
    coming = [window for window in lines.windows if window.labels == COMING]
    if coming:
        noun = unit_noun(coming[0].window, len(coming))
        which = f"the last {noun}" if len(coming) == 1 else f"the last {len(coming)} {noun}"
        yield f"The labels of {which} are still coming."
    yield from _moved_sentences(lines)


def _performance_sentences(main: str, points: Sequence[tuple[LineWindow, TimePoint]]) -> Iterator[str]:
    judged = [(window, point) for window, point in points if point.state is not PointState.UNKNOWN]
    limited = [(window, point) for window, point in judged if point.limit is not None]
    if not limited:
        return
    name, limit = line_title(main), format_measure_value(main, limited[0][1].limit)
    side = "above" if is_worse_above(main) else "below"
    worse = [(window, point) for window, point in limited if point.state is PointState.WORSE]
    noun = unit_noun(limited[0][0].window, len(limited))
    if worse:
        window, point = worse[-1]
        value = format_measure_value(main, point.measurement.value)
        yield (
            f"{name} was clearly {side} the limit of {limit} in {len(worse)} of {len(limited)} {noun}, "
            f"last in {line_window_words(window)} ({value})."
        )
    else:
        yield f"{name} was clearly {side} the limit of {limit} in none of {len(limited)} {noun}."
    yield f"The reference has {format_measure_value(main, limited[0][1].reference)}."


def _moved_sentences(lines: OverTime) -> Iterator[str]:
    moved = lines.list_most_moved()
    if not moved:
        if (MOVED, "") in lines.points:
            yield "No feature moved by a PSI of 0.1."
        return
    told = []
    for subject in moved:
        pairs = list(later_points(lines.windows, lines.points[INDEX, subject]))
        window, point = max(pairs, key=lambda pair: pair[1].measurement.value or 0.0)
        noun = unit_noun(window.window, 2)
        own = "" if point.reference is None else f", at most {point.reference:.2f} in the reference's {noun}"
        value = point.measurement.value or 0.0
        told.append(f"{readable_name(subject)} (PSI {value:.2f} in {line_window_words(window)}{own})")
    yield f"Most moved: {'; '.join(told)}."
