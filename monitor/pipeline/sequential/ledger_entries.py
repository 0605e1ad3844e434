"""What enters the sequential tests: what has settled since a moment, once, and never taken back.

Panes enter in the order of their event time, a day at a time (a pane, if it is longer), when the day is
settled, or, of what needs no labels, counted and over. What is corrected later changes windows, not these
sums: a sequential test would not stay valid. Days that leave the horizon before they
can enter never do.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from monitor.core.array_types import Ints
from monitor.core.clock import DAY
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.sequential.ledger import Ledger
from monitor.pipeline.sequential.model_sequential_tests import SequentialTest, make_sequential_tests
from monitor.pipeline.windows.due_windows import LabelArrivals, is_counted
from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import LedgerEntry, ModelState
from monitor.windows.settling import SettledState


@dataclass(frozen=True, slots=True)
class LedgerResults:
    """What a cycle adds."""

    entries: list[LedgerEntry] = field(default_factory=list)
    # of all tests, and `kept` of those to which something was added.
    rows: list[MeasurementRow] = field(default_factory=list)
    kept: list[MeasurementRow] = field(default_factory=list)
    # by test and key, to be remembered once the entries are committed.
    ledgers: dict[tuple[str, str], Ledger] = field(default_factory=dict)


def read_ledgers(model: CycleModel) -> dict[tuple[str, str], Ledger]:
    """Ledgers of a model's tests, by name and key, of the stored entries."""
    ledgers: dict[tuple[str, str], Ledger] = {}
    for entry in (
        model.store.ledger.read_entries(model.name)
        if make_sequential_tests(model.spec, model.counting)
        else ()
    ):
        key = entry.comparison, entry.key
        ledgers[key] = ledgers.get(key, Ledger(entry.total)).with_entry(entry)
    return ledgers


def extend_ledgers(
    model: CycleModel,
    panes: ModelPanes,
    ledgers: Mapping[tuple[str, str], Ledger],
    state: ModelState,
    truth: LabelArrivals,
    lacking: Ints,
) -> LedgerResults:
    """Let in what can enter now, and measure everything that has entered.

    Parameters
    ----------
    ledgers
        as they were committed last.
    lacking
        int64, ascending: starts of panes that are not counted.
    """
    entered = LedgerResults()
    for test in make_sequential_tests(model.spec, model.counting) if state.oldest is not None else ():
        ledger = ledgers.get((test.name, test.key), Ledger(test.nothing))
        spans = _entering_spans(model, test, ledger, state, truth, lacking)
        entries = list(_make_entries(model.reading.pane, panes, test, ledger, spans, truth.as_of))
        for entry in entries:
            ledger = ledger.with_entry(entry)
        rows = [_test_row(test, ledger, truth.as_of, result) for result in test.results(ledger)]
        entered.entries.extend(entries)
        entered.rows.extend(rows)
        entered.kept.extend(rows if entries else [])
        entered.ledgers[test.name, test.key] = ledger
    return entered


def _entering_spans(
    model: CycleModel,
    test: SequentialTest,
    ledger: Ledger,
    state: ModelState,
    truth: LabelArrivals,
    lacking: Ints,
) -> Iterator[tuple[int, int]]:
    """(Start, end) of the days that enter: the first that has not, and those after it."""
    step = max(DAY, model.reading.pane)
    first = model.find_horizon_start(truth.as_of)
    if ledger.end is None:
        first = max(first, model.find_history_start(state), test.since or 0)
    # Whole steps from the epoch on: whichever cycle is the first, the same days enter.
    start = max(-(-first // step) * step, ledger.end or 0)
    while _is_span_final(model, test, (start, start + step), truth, lacking):
        yield start, start + step
        start += step


def _is_span_final(
    model: CycleModel, test: SequentialTest, span: tuple[int, int], truth: LabelArrivals, lacking: Ints
) -> bool:
    """Whether nothing of a span is expected any more: it is settled, or all of it is counted."""
    if span[1] > truth.as_of - model.spec.ready_after:
        return False
    if test.part is PaneHalf.LABELS:
        return truth.judge_span_settled(*span) is not SettledState.NO
    return is_counted(lacking, *span)


def _make_entries(
    pane: int,
    panes: ModelPanes,
    test: SequentialTest,
    ledger: Ledger,
    spans: Iterable[tuple[int, int]],
    as_of: int,
) -> Iterator[LedgerEntry]:
    for start, end in spans:
        counts = [test.counts(strata) for strata in panes.read_panes(test.part, range(start, end, pane))]
        total, most = ledger.accumulate_evidence(counts, test.evidence)
        entry = LedgerEntry(
            comparison=test.name,
            key=test.key,
            start=start,
            end=end,
            as_of=as_of,
            entered=tuple(map(sum, zip(*counts, strict=True))),
            total=total,
            most=most,
        )
        ledger = ledger.with_entry(entry)
        yield entry


def _test_row(test: SequentialTest, ledger: Ledger, as_of: int, result: MeasureResult) -> MeasurementRow:
    return MeasurementRow(
        window=CUMULATIVE,
        window_end=as_of if ledger.end is None else ledger.end,
        truth=LabelTruth.SETTLED if test.part is PaneHalf.LABELS else LabelTruth.NONE,
        version=None,
        segment=None,
        measure=result.measure,
        subject=result.subject,
        measurement=result.measurement,
    )
