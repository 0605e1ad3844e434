"""A window without a label: what is estimated of it, and what came out of the model beside the reference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from monitor.measures.catalogue.estimate_measures import ESTIMATED
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import format_interval_bounds, format_measure_value
from monitor.pages.features import feature_charts
from monitor.pages.figures import FigureGroup
from monitor.pages.page_request import CountedWindow
from monitor.pages.window.class_charts import MOST, ClassRow, format_rate_cells
from monitor.pages.window.performance_tiles import PerformanceTile
from monitor.sentences.known_measurements import capitalize_first
from monitor.sentences.reason_words import why_absent
from monitor.specs.model_spec import ModelSpec
from monitor.states.counters import Counters
from monitor.states.grids import NumericGrid
from monitor.states.strata import Stratum

ESTIMATED_RATES = {  # of a class, and how they are headed
    "estimated_precision": "Estimated precision",
    "estimated_recall": "Estimated recall",
    "estimated_roc_auc": "Estimated ROC AUC",
}


def estimate_tiles(revisions: Mapping[str, StoredMeasurement]) -> tuple[PerformanceTile, ...]:
    """Estimates of a window, each with its reason where it has no value; none where all lack one."""
    known = {name: revisions[name].row.measurement for name in ESTIMATED if name in revisions}
    if all(one.value is None for one in known.values()):
        return ()
    return tuple(
        PerformanceTile(
            measure=name,
            what=capitalize_first(name.replace("_", " ")),
            value=f"({one.reason})" if one.value is None else format_measure_value(name, one.value),
            exact=name,
            said=(why_absent(one) if one.value is None else format_interval_bounds(name, one.interval),),
        )
        for name, one in known.items()
    )


def why_no_performance(spec: ModelSpec, revisions: Mapping[str, StoredMeasurement]) -> str:
    """What stands in the place of performance, and why."""
    if spec.labels is None:
        return "No labels are configured: performance is not measured."
    known = [revisions[name].row.measurement for name in ESTIMATED if name in revisions]
    if any(one.value is not None for one in known):
        basis = "scores" if spec.reading.has_score else "predictions"
        return f"No record has a label yet: performance is estimated from the {basis}."
    lost = f", and nothing is estimated: {why_absent(known[0])}" if known else ""
    return f"No record has a label yet{lost}."


def draw_output_groups(
    spec: ModelSpec, window_counts: CountedWindow, slice_: Stratum
) -> Iterator[FigureGroup]:
    """Distribution of the scores, or of the numbers predicted, beside the reference's."""
    both, subject = _both_sides(window_counts, slice_), "score" if spec.reading.has_score else "prediction"
    if both is None:
        return
    now, then = (window_counts.counting.histogram_view(counters, subject) for counters in both)
    if not isinstance(now.grid, NumericGrid):
        return
    name = "largest probability" if window_counts.counting.probability_classes else subject
    compared_cells = feature_charts.ComparedCells.from_counts(
        name, now.grid, now.regular_counts, then.regular_counts, "model"
    )
    if compared_cells is not None:
        figure = replace(feature_charts.draw_distribution(compared_cells), title=f"{subject.capitalize()}s")
        yield FigureGroup("What comes out?", "two", (figure,))


def predicted_class_rows(
    window_counts: CountedWindow, slice_: Stratum, rows: Sequence[StoredMeasurement]
) -> tuple[ClassRow, ...]:
    """Classes by how many records are predicted as each, the most frequent first; none of numbers."""
    classes, counters = window_counts.counting.reading.classes, window_counts.strata.get(slice_)
    if not classes or counters is None:
        return ()
    both = _both_sides(window_counts, slice_)
    sides = [counters] if both is None else list(both)
    counts = [
        window_counts.counting.histogram_view(side, "prediction")
        .regular_counts[: len(classes)]
        .astype(np.int64)
        for side in sides
    ]
    shares = [(side / max(int(side.sum()), 1)).tolist() for side in counts]
    known = {
        (stored.row.measure, stored.row.subject): stored.row.measurement
        for stored in rows
        if not stored.row.against
    }
    order = np.argsort(-counts[0], kind="stable")[:MOST].tolist()
    return tuple(
        ClassRow(
            name=classes[at],
            records=f"{int(counts[0][at]):,}",
            share=shares[0][at],
            reference=shares[1][at] if both else None,
            words=", reference ".join(format_measure_value("base_rate", side[at]) for side in shares),
            rates=tuple(
                format_rate_cells(measure, result)
                for measure in ESTIMATED_RATES
                if (result := known.get((measure, f"class:{classes[at]}"))) is not None
            ),
        )
        for at in order
    )


def _both_sides(window_counts: CountedWindow, slice_: Stratum) -> tuple[Counters, Counters] | None:
    """Records of the window and of the reference; a version is beside all of it. None: there are not both."""
    now, reference = window_counts.strata.get(slice_), window_counts.reference
    if now is None or reference is None:
        return None
    if slice_.segment is None:
        return now, reference.records
    then = reference.segments.get(Stratum(segment=slice_.segment))
    return None if then is None else (now, then)
