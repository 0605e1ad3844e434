"""`monitor.evaluate`: a model's predictions in a data frame, measured as the service measures its log."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, Unpack

import pyarrow as pa

from monitor.core.errors import ConfigurationError
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.notebook.arrow_frames import to_arrow, to_pandas
from monitor.notebook.counted_frames import CountedFrames, count_frames
from monitor.notebook.evaluation_page import Html, ReportLines, charts_page, frame_sections, report_page
from monitor.notebook.frame_oddities import label_coverage_sentences, oddity_sentences
from monitor.notebook.frame_periods import measure_frame_window
from monitor.notebook.frame_times import (
    is_reference_rule,
    merge_time_key,
    parse_every,
    require_one_clock,
    split_by_time,
)
from monitor.notebook.model_keys import ModelKeys, infer_task, make_frame_spec, require_known, require_measure
from monitor.notebook.over_time import OverTime, measure_over_time
from monitor.pipeline.windows.window_target import WindowTarget
from monitor.show.plain_rows import plain_row

if TYPE_CHECKING:
    import pandas as pd

_WIDE = 88  # characters of a line of sentences, in a notebook or a terminal
_TEXT, _NUMBER = pa.string(), pa.float64()
_COLUMNS = {
    "measure": _TEXT, "subject": _TEXT, "version": _TEXT, "segment": _TEXT, "against": _TEXT,
    "value": _NUMBER, "lower": _NUMBER, "upper": _NUMBER, "level": _NUMBER, "n": pa.int64(),
    "coverage": _NUMBER, "resolution": _NUMBER, "reason": _TEXT, "warning": _TEXT, "detail": _TEXT,
}  # fmt: skip


def evaluate(
    predictions: Any,
    labels: Any = None,
    *,
    reference: Any = None,
    task: Literal["binary", "multiclass", "regression"] | None = None,
    time: str | None = None,
    every: str | None = None,
    **model: Unpack[ModelKeys],
) -> "Evaluation":
    """Measure a model's predictions in a data frame, as the service measures those in a database.

    Parameters
    ----------
    predictions
        a frame of pandas, Arrow or Polars (or of any library that speaks the Arrow C stream): a row a
        prediction, with its features.
    labels
        frame of the labels, found by `id`; None: they are the column `label` of the predictions.
    reference
        frame that shifts, falls and estimates are judged against, its columns named as in the predictions:
        the test set, or out-of-fold scores. Or, where there is a time, the first part of the predictions: a
        share of the rows, as 0.25, or the time from which on they are no longer the reference, as
        ``"2024-03-01"``. None: nothing is compared.
    task
        ``"binary"``, ``"multiclass"`` or ``"regression"``; left out: binary where there is a score,
        multiclass where there are probabilities.
    time
        column of the times of the predictions: another name of `event_time`.
    every
        what each point of lines over time holds: ``"7d"``, ``"6h"``, or ``"day"``, ``"week"``, ``"month"``,
        ``"quarter"``. The first begins with the day of the first row, of the calendar with its unit.
    **model
        columns and choices, by the names that the configuration has for them, as ``label="paid"``: score,
        threshold, prediction, probabilities, label, id, event_time, reported_at, revision, logged_at,
        version, segments, positive, negative, classes, names, only_for, numeric, categorical, exclude,
        profit, measures, level, resamples, dependence ("none" or "day"), control, challenger, serving,
        score_range, event_time_unit, rate_interval, resample_segments, top_shares, timezone, pane.
        `config.example.toml` explains each.

    Returns
    -------
    Evaluation
        labels are taken to be all that will come: what stands on them is settled.

    Raises
    ------
    ConfigurationError
        if keys are missing, unknown or do not go together, each named.
    SourceError
        if a frame or a column cannot be read.
    """
    keys = merge_time_key(model, time, every)
    spec = make_frame_spec(
        infer_task(task, keys), keys, apart=labels is not None, compared=reference is not None
    )
    window = None if every is None else parse_every(every, spec.keys.timezone)
    rows = to_arrow(predictions, "predictions")
    split = is_reference_rule(reference)
    if split and labels is not None:
        raise ConfigurationError(
            ["reference: a part of the predictions needs its labels in the same frame: give a frame, or join"]
        )
    if split or every is not None:
        for title, frame in {"frame": predictions, "reference": None if split else reference}.items():
            require_one_clock(frame, keys.get("event_time"), title)
        rows, of_reference = split_by_time(spec, rows, reference)
    else:
        of_reference = None if reference is None else to_arrow(reference, "reference")
    frames = count_frames(
        spec, rows, None if labels is None else to_arrow(labels, "labels"), of_reference, window
    )
    return Evaluation(frames)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What was measured. Shown in a notebook, it is its report.

    Parameters
    ----------
    frames
        what was counted.
    """

    frames: CountedFrames

    @cached_property
    def rows(self) -> tuple[MeasurementRow, ...]:
        """All measurements: of the whole, of versions and segments, against the reference."""
        frames = self.frames
        return measure_frame_window(WindowTarget(frames.model, frames.caches, frames.window, frames.end))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what looks wrong, and on rows that no measure stands on; the gravest first."""
        model = self.frames.model
        return (
            *oddity_sentences(model.reading, self.rows),
            *self.frames.notes,
            *label_coverage_sentences(model.spec, self.rows),
        )

    def to_arrow(self) -> pa.Table:
        """Measurements as an Arrow table, its columns those of `to_frame`."""
        records = [_row_values(row) for row in self.rows]
        return pa.table(
            {name: pa.array([record[name] for record in records], kind) for name, kind in _COLUMNS.items()}
        )

    def to_frame(self) -> "pd.DataFrame":
        """Measurements as a data frame.

        Returns
        -------
        pandas.DataFrame
            one row a measurement. A `value` that is missing has a `reason`; `version` and `segment` are
            missing for the whole, `against` where nothing is compared; `detail` is JSON.
        """
        return to_pandas(self.to_arrow())

    def value(
        self, measure: str, subject: str = "", *, segment: str | None = None, version: str | None = None
    ) -> float | None:
        """Value of a measure; None: it has none, or is not of this task.

        Parameters
        ----------
        subject
            as ``"feature:age"`` or ``"class:dog"``; empty: the model itself.
        segment, version
            as ``"country=DE"``; None: the whole.

        Raises
        ------
        ConfigurationError
            if there is no such measure, subject, segment or version, or if it is measured of the whole alone.
        """
        require_measure(measure)
        for name, given in {"segment": segment, "version": version}.items():
            if given is not None:
                there = {one for row in self.rows if (one := getattr(row, name)) is not None}
                key = "segments" if name == "segment" else name
                require_known(name, given, there, f"name the column: {key}")
        if subjects := {row.subject for row in self.rows if row.measure == measure}:
            require_known(f"subject of {measure}", subject, subjects)
        wanted = (measure, subject, segment, version, "")
        rows = (
            row
            for row in self.rows
            if (row.measure, row.subject, row.segment, row.version, row.against) == wanted
        )
        found = next(rows, None)
        if found is None and not (segment is None and version is None) and subjects:
            of = f" of {subject}" if subject else ""
            raise ConfigurationError(
                [f"{measure}{of} is measured of all records alone: leave segment and version out"]
            )
        return None if found is None else found.measurement.value

    def over_time(self) -> OverTime:
        """Performance, drift and estimates of each window of `every`, those of the reference first.

        Raises
        ------
        ConfigurationError
            if no windows were asked for.
        """
        if self._lines is None:
            raise ConfigurationError(
                ['every: required for lines over time: evaluate(…, time="timestamp", every="7d")']
            )
        return self._lines

    @cached_property
    def _lines(self) -> OverTime | None:
        return measure_over_time(self.frames)

    def report(self) -> Html:
        """What is said of it, its charts and tables: HTML in one file, without script and requests.

        Where windows were asked for by `every`, lines over time come first.
        """
        lines = None if self._lines is None else ReportLines(self._lines.figures, self._lines.sentences)
        return report_page(self.frames, self.rows, self.notes, lines)

    def plot(self, *titles: str) -> Html:
        """Charts of the report: all, or those of some titles, as ``"ROC"``.

        Raises
        ------
        AddressError
            if there is no chart of that title.
        """
        return charts_page(self.frames, self.rows, titles)

    def __str__(self) -> str:
        """Notes and first sentences of the report."""
        told = [] if self._lines is None else [("over time", " ".join(self._lines.sentences))]
        told += [("notes", " ".join(self.notes))] if self.notes else []
        told += [
            (section.title, " ".join(section.sentences)) for section in frame_sections(self.frames, self.rows)
        ]
        return "\n".join(
            fill(text, _WIDE, initial_indent=f"{title.capitalize():13}", subsequent_indent=" " * 13)
            for title, text in told
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def _row_values(row: MeasurementRow) -> Mapping[str, Any]:
    """Values of a row's columns; its details as `monitor.read_snapshots` has them."""
    result = row.measurement
    return {
        **plain_row(StoredMeasurement("", 0, row)),
        "level": None if result.interval is None else result.interval.level,
        "detail": None if result.detail is None else result.detail.text,
    }
