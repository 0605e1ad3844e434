"""Labels that come for some predictions only: what stands on them is not compared with everybody's."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.core.measurement import REMEDY, DetailTable, Measurement, Reason
from monitor.core.text import double_quoted
from monitor.measures.label_arrival import preferred_classes
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.windows.window_target import WindowTarget
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE


def find_labelled_classes(counting: Counting, labels: Counters) -> tuple[str, ...]:
    """Predicted classes that the labels of a labels part come for; empty: for all alike."""
    if "predicted" not in counting.labels_layout.blocks_by_name:
        return ()
    return preferred_classes(counting.reading.classes, counting.predicted_counts(labels))


def find_selective_classes(
    target: WindowTarget, labels: Counters | None, truth: LabelTruth
) -> tuple[str, ...]:
    """Predicted classes that labels come for, where the reference's come for others too.

    Asked of a settled window itself; of a younger one, whose classes may only differ in pace, of the newest
    settled window.
    """
    counting, reference = target.model.counting, target.model.reference
    if reference is None:
        return ()
    if truth is not LabelTruth.SETTLED:
        if target.settled is None:
            return ()
        span = target.window.start_of(target.settled.end), target.settled.end
        labels = target.caches.panes.sum_window(PaneHalf.LABELS, *span, strata=False).get(WHOLE, labels)
    classes = () if labels is None else find_labelled_classes(counting, labels)
    if not classes:
        return ()
    known = target.caches.made_once(
        ("preferred", reference.labels), lambda: find_labelled_classes(counting, reference.labels)
    )
    return () if set(known) == set(classes) else classes


def blank_row_values(rows: Iterable[MeasurementRow], classes: tuple[str, ...]) -> list[MeasurementRow]:
    """Rows without their values: labels come for predictions of these classes only."""
    name = ", ".join(map(double_quoted, classes))
    because = f"labels come for predictions of {name} and hardly for others: they are compared with all"
    detail = DetailTable(REMEDY, ((because, f"[models.labels] only_for = [{name}]"),))

    def absent(row: MeasurementRow) -> MeasurementRow:
        n = row.measurement.n
        return replace(row, measurement=Measurement(None, n, Reason.SELECTIVE_LABELS, detail=detail))

    return [absent(row) for row in rows]
