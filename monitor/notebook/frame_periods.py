"""Windows of a frame over time: each counted once, measured as `monitor.evaluate` measures its rows alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Ints
from monitor.core.clock import DAY
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle_model import CountedModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.panes_in_memory import PanesInMemory
from monitor.pipeline.windows.estimate_rows import estimate_error_rows, estimate_rows
from monitor.pipeline.windows.window_rows import make_label_rows, make_record_rows
from monitor.pipeline.windows.window_target import WindowTarget, fold_window_part
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.label_checksum import wrap_sums
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.winning_rows import parse_role_times
from monitor.sentences.time_words import THE_FRAME
from monitor.show.plain_rows import order_rows
from monitor.states.strata import WHOLE
from monitor.windows.strata_folding import fold_strata
from monitor.windows.window_ends import Window

EVERYTHING = 1 << 61  # as of: everything is visible
_AT_ONCE = 100_000  # rows that are counted at once: memory beside the frame is of so many

CountedHalves = Mapping[PaneHalf, Sequence[PanePart]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePeriod:
    """One window of a frame, or of its reference, to be measured."""

    target: WindowTarget
    span: tuple[int, int] | None  # start, end; None: the whole reference, whose rows have no times
    of_reference: bool

    def measure_rows(self) -> tuple[MeasurementRow, ...]:
        """Measurements of the whole of its records."""
        return measure_frame_window(self.target, strata=False)


def measure_frame_window(target: WindowTarget, *, strata: bool = True) -> tuple[MeasurementRow, ...]:
    """All that is measured of a window of a frame, in order: against the reference, labels taken as settled.

    Parameters
    ----------
    strata
        whether versions and segments are measured too.
    """
    counted = target.model.counting
    records, labels = (fold_window_part(target, part) for part in (PaneHalf.RECORDS, PaneHalf.LABELS))
    rows = make_record_rows(target, records, strata=strata)
    rows += estimate_rows(target, records, strata=strata)
    if counted.label is not None:
        of_labels = make_label_rows(target, labels, LabelTruth.SETTLED, strata=strata)
        rows += [*of_labels, *estimate_error_rows(target, of_labels, labels)]
    return tuple(
        stored.row
        for stored in order_rows(StoredMeasurement("", 0, replace(row, window_end=0)) for row in rows)
    )


def count_frame_halves(
    records: pa.Table, with_labels: pa.Table, counting: Counting, panes: Ints
) -> dict[PaneHalf, list[PanePart]]:
    """Both parts of the panes of a frame, each row counted once.

    Parameters
    ----------
    records, with_labels
        role-named columns: predictions, and these joined with their labels.
    panes
        starts, ascending; each ends where the next one starts.
    """
    return {
        PaneHalf.RECORDS: _count_in_parts(records, counting, panes, count_records),
        PaneHalf.LABELS: _count_in_parts(with_labels, counting, panes, count_labels),
    }


def _count_in_parts(
    table: pa.Table, counting: Counting, panes: Ints, count: Callable[..., list[PanePart]]
) -> list[PanePart]:
    if len(panes) == 1 or table.num_rows <= _AT_ONCE:
        return count(table, counting, panes=panes, as_of=EVERYTHING)
    times = parse_role_times(table, "event_time", counting.reading)
    place = np.where(times.known, np.searchsorted(panes, times.us, side="right") - 1, -1)
    order = np.argsort(place, kind="stable")
    firsts = np.searchsorted(place[order], np.arange(len(panes) + 1))
    counted: list[PanePart] = []
    for first, last in _batch_panes(firsts):
        rows = table.take(pa.array(order[firsts[first] : firsts[last]]))
        counted += count(rows, counting, panes=panes[first:last], as_of=EVERYTHING)
    return counted


def _batch_panes(firsts: Ints) -> Iterator[tuple[int, int]]:
    """Bounds of consecutive panes whose rows are counted at once.

    Parameters
    ----------
    firsts
        position of the first row of each pane, and the end of the last one.
    """
    first = 0
    while first < len(firsts) - 1:
        last = int(np.searchsorted(firsts, firsts[first] + _AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), len(firsts) - 1)
        yield first, last
        first = last


def merge_pane_halves(
    counting: Counting, halves: CountedHalves, start: int
) -> dict[PaneHalf, list[PanePart]]:
    """The parts of all panes as those of one: an id that lies in several windows counts once in each."""
    return {
        part: [
            PanePart(
                start,
                fold_strata(counting.layout_of(part), (pane.strata for pane in panes)),
                rows=sum(pane.rows for pane in panes),
                newest=max((pane.newest for pane in panes if pane.newest is not None), default=None),
                records=sum(pane.records for pane in panes),
                labelled=sum(pane.labelled for pane in panes),
                checksum=int(wrap_sums(np.asarray([pane.checksum for pane in panes], np.int64).sum())),
            )
        ]
        for part, panes in halves.items()
    }


def keep_halves(model: str, counting: Counting, halves: CountedHalves) -> ModelPanes:
    """Panes in memory that hold these parts."""
    panes = ModelPanes(model, counting, PanesInMemory())
    for part, counted in halves.items():
        panes.save_counted_parts(part, counted, EVERYTHING, mapping="")
    return panes


def make_periods(
    model: CountedModel,
    caches: ModelCaches,
    halves: CountedHalves,
    bounds: Ints,
    *,
    of_reference: bool = False,
) -> tuple[FramePeriod, ...]:
    """Windows between bounds, each with its own panes.

    Parameters
    ----------
    caches
        of the same references: what follows from these is made once for all windows.
    """
    made = []
    ends = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    starts = {part: np.asarray([pane.start for pane in panes], np.int64) for part, panes in halves.items()}
    for start, end in ends:
        within = {
            part: panes[slice(*np.searchsorted(starts[part], [start, end]).tolist())]
            for part, panes in halves.items()
        }
        panes = keep_halves(model.name, model.counting, within)
        window = Window(THE_FRAME, end - start, end - start, model.spec.reading.zone)
        target = WindowTarget(model, caches.share_with_panes(panes), window, end)
        made.append(FramePeriod(target=target, span=(start, end), of_reference=of_reference))
    return tuple(made)


def reference_model(model: CountedModel) -> CountedModel:
    """The model as its reference's own rows are counted: without versions, segments, arms."""
    counting = model.counting
    bare = replace(counting.reading, versioned=False, arms=None, segments=())
    return replace(model, counting=replace(counting, reading=bare, segments=()))


def whole_reference_period(model: CountedModel, caches: ModelCaches) -> FramePeriod:
    """The reference as one point, where its rows have no times."""
    reference = model.reference
    if reference is None:
        raise ValueError("whole_reference_period: the model has no reference")
    model = reference_model(model)
    halves: dict[PaneHalf, list[PanePart]] = {
        PaneHalf.RECORDS: [PanePart(0, {WHOLE: reference.records}, records=reference.n)],
        PaneHalf.LABELS: [PanePart(0, {WHOLE: reference.labels}, records=reference.n)],
    }
    target = WindowTarget(
        model,
        caches.share_with_panes(keep_halves(model.name, model.counting, halves)),
        Window(THE_FRAME, DAY, DAY, model.spec.reading.zone),
        DAY,
    )
    return FramePeriod(target=target, span=None, of_reference=True)
