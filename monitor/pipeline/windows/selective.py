"""Labels that come for some predictions only: what stands on them is not compared with everybody's."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.core.measurement import REMEDY, Detail, Measurement, Reason
from monitor.core.text import double_quoted
from monitor.measures.labels import preferred_classes
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.windows.target import Target
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE


def preferred(counting: Counting, labels: Counters) -> tuple[str, ...]:
    """Predicted classes that the labels of a labels part come for; empty: for all alike."""
    if "predicted" not in counting.labels.by_name:
        return ()
    return preferred_classes(counting.reading.classes, counting.predicted(labels))


def unlike_reference(target: Target, labels: Counters | None, truth: Truth) -> tuple[str, ...]:
    """Predicted classes that labels come for, where the reference's come for others too.

    Asked of a settled window itself; of a younger one, whose classes may only differ in pace, of the newest
    settled window.
    """
    counting, reference = target.model.counting, target.model.reference
    if reference is None:
        return ()
    if truth is not Truth.SETTLED:
        if target.settled is None:
            return ()
        span = target.window.start(target.settled.end), target.settled.end
        labels = target.caches.panes.window(Part.LABELS, *span, strata=False).get(WHOLE, labels)
    classes = () if labels is None else preferred(counting, labels)
    if not classes:
        return ()
    known = target.caches.once(("preferred", reference.labels), lambda: preferred(counting, reference.labels))
    return () if set(known) == set(classes) else classes


def refused(rows: Iterable[MeasurementRow], classes: tuple[str, ...]) -> list[MeasurementRow]:
    """Rows without their values: labels come for predictions of these classes only."""
    named = ", ".join(map(double_quoted, classes))
    because = f"labels come for predictions of {named} and hardly for others: they are compared with all"
    detail = Detail(REMEDY, ((because, f"[models.labels] only_for = [{named}]"),))

    def absent(row: MeasurementRow) -> MeasurementRow:
        n = row.measurement.n
        return replace(row, measurement=Measurement(None, n, Reason.SELECTIVE_LABELS, detail=detail))

    return [absent(row) for row in rows]
