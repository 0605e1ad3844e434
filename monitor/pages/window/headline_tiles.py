"""Headlines of a window: as they were kept, and beside them what is known by now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.core.measurement import Measurement
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import LabelTruth, StoredMeasurement, newest_revisions
from monitor.measures.value_words import (
    difference_base,
    format_interval_bounds,
    format_measure_value,
    value_with_interval,
)
from monitor.pages.period_words import local_moment_words
from monitor.records.reading import ModelTask
from monitor.specs.model_spec import ModelSpec

TILES = {
    ModelTask.BINARY: (
        "roc_auc", "ks_separation", "average_precision", "accuracy", "majority_accuracy", "precision",
        "recall", "brier_score", "brier_skill_score", "profit",
    ),
    ModelTask.MULTICLASS: ("accuracy", "majority_accuracy", "average_class_accuracy", "f1_macro", "log_loss"),
    ModelTask.REGRESSION: (
        "root_mean_squared_error", "mean_absolute_error", "bias", "error_median", "r2_score",
    ),
}  # fmt: skip


_TRUTHS = tuple(LabelTruth)  # the best one last


@dataclass(frozen=True, slots=True)
class HeadlineTile:
    """A measure of the window in words."""

    measure: str
    value: str
    bounds: str
    reference: str = ""  # its value there; empty where it is not compared
    # when the value was kept, where another is known by now and the page's head says another moment; or that
    # it is counted alone.
    since: str = ""
    now: str = ""  # since when another value is known, and which; empty: the same


def pick_headline_rows(rows: Sequence[StoredMeasurement], against: str = "") -> dict[str, StoredMeasurement]:
    """Newest kept rows by measure, of each the best truth: settled before nowcast before provisional."""
    kept_revisions = newest_revisions(
        stored for stored in rows if not stored.row.subject and stored.row.against == against
    )
    return {
        stored.row.measure: stored
        for stored in sorted(kept_revisions, key=lambda stored: _TRUTHS.index(stored.row.truth))
    }


def make_headline_tiles(
    spec: ModelSpec,
    revisions: Mapping[str, StoredMeasurement],
    steps: Mapping[str, StoredMeasurement],
    known: Mapping[str, tuple[int, Measurement]],
    verb: str,
    zone: str,
    main: str,
) -> Iterator[HeadlineTile]:
    """Headlines as they were kept, beside each what is known by now, where that is another figure.

    Parameters
    ----------
    steps
        headlines against the reference.
    known
        what is known by now, and since when; `verb`: how; empty: the page's head says it.
    main
        the measure of which the page's head says when it was kept: others say so where theirs is another.
    """
    headed = _moment_and_truth(revisions[main]) if main in revisions else None
    for name in TILES[spec.reading.task]:
        at, now = known.get(name, (0, None))
        result, sentence, before = now, "", None
        since = f"{verb} {local_moment_words(at, zone)}" if verb else ""
        if name in revisions:
            kept = revisions[name]
            result = kept.row.measurement
            if now is not None and not is_as_kept(name, now, revisions):
                sentence = f"{since}: {value_with_interval(name, now)}"
            # Beside another figure one must know when this one was kept, unless the page's head says it.
            elsewhen = sentence and _moment_and_truth(kept) != headed
            since = f"{kept.row.truth}, kept {local_moment_words(kept.as_of, zone)}" if elsewhen else ""
            before = difference_base(steps[name].row.measurement, result) if name in steps else None
        if result is None or (result.value is None and not sentence):
            continue
        value = f"({result.reason})" if result.value is None else format_measure_value(name, result.value)
        reference = "" if before is None else f"reference {format_measure_value(name, before)}"
        yield HeadlineTile(
            name, value, format_interval_bounds(name, result.interval), reference, since, sentence
        )


def _moment_and_truth(kept: StoredMeasurement) -> tuple[int, LabelTruth]:
    return kept.as_of, kept.row.truth


def is_as_kept(measure: str, now: Measurement, revisions: Mapping[str, StoredMeasurement]) -> bool:
    """Whether a figure reads as the one that was kept."""
    before = revisions.get(measure)
    return before is not None and value_with_interval(measure, before.row.measurement) == value_with_interval(
        measure, now
    )


def chart_value_words(result: MeasureResult, revisions: Mapping[str, StoredMeasurement]) -> str:
    """Value of a chart and its interval; what does not read as it was kept is said to be counted now."""
    words = value_with_interval(result.measure, result.measurement)
    return words if is_as_kept(result.measure, result.measurement, revisions) else f"{words}, counted now"


def kept_value_words(kept: StoredMeasurement | None, zone: str) -> str:
    """What was kept of the main measure, and when; empty: it had no value."""
    if kept is None or kept.row.measurement.value is None:
        return ""
    row = kept.row
    value = format_measure_value(row.measure, row.measurement.value)
    return (
        f"kept {local_moment_words(kept.as_of, zone)}: {row.measure} {value}, n {row.measurement.n:,}, "
        f"{row.truth}"
    )
