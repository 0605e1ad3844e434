"""`monitor.evaluate`: a model's predictions in a data frame, measured as the service measures its log."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, Unpack

import pyarrow as pa

from monitor.core.errors import ConfigurationError
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.notebook.arrow_frames import to_arrow, to_pandas
from monitor.notebook.counted_frames import CountedFrames, count_frames
from monitor.notebook.evaluation_page import Html, charts_page, frame_sections, report_page
from monitor.notebook.frame_oddities import label_coverage_sentences, oddity_sentences
from monitor.notebook.model_keys import ModelKeys, make_frame_spec, require_known, require_measure
from monitor.pipeline.windows.estimate_rows import estimate_error_rows, estimate_rows
from monitor.pipeline.windows.window_rows import make_label_rows, make_record_rows
from monitor.pipeline.windows.window_target import WindowTarget
from monitor.records.pane import PaneHalf
from monitor.show.plain_rows import order_rows, plain_row

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
    task: Literal["binary", "multiclass", "regression"],
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
        the test set, or out-of-fold scores. None: nothing is compared.
    task
        ``"binary"``, ``"multiclass"`` or ``"regression"``.
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
    spec = make_frame_spec(task, model, apart=labels is not None, compared=reference is not None)
    frames = count_frames(
        spec,
        to_arrow(predictions, "predictions"),
        None if labels is None else to_arrow(labels, "labels"),
        None if reference is None else to_arrow(reference, "reference"),
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
        target = WindowTarget(frames.model, frames.caches, frames.window, frames.end)
        records, labels = (frames.strata_of_part(part) for part in (PaneHalf.RECORDS, PaneHalf.LABELS))
        rows = [*make_record_rows(target, records), *estimate_rows(target, records)]
        if frames.model.counting.label is not None:
            of_labels = make_label_rows(target, labels, LabelTruth.SETTLED)
            rows += [*of_labels, *estimate_error_rows(target, of_labels, labels)]
        return tuple(
            stored.row
            for stored in order_rows(StoredMeasurement("", 0, replace(row, window_end=0)) for row in rows)
        )

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

    def report(self) -> Html:
        """What is said of it, its charts and tables: HTML in one file, without script and requests."""
        return report_page(self.frames, self.rows, self.notes)

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
        told = [("notes", " ".join(self.notes))] if self.notes else []
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
