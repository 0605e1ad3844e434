"""All windows of a cycle: which are due, and their rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from monitor.alerts.alert_rules import Acceptance, AlertedSeries, Rule
from monitor.core.array_types import Ints
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_comparison import REFERENCE
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.caches import ModelCaches, NewestSettled
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.kept_rows import Place
from monitor.pipeline.windows.due_windows import (
    DueWindow,
    LabelArrivals,
    due_windows,
    newest_settled_end,
    oldest_end,
)
from monitor.pipeline.windows.log_rows import next_settling_row
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import PaneHalf
from monitor.specs.stored_rows import ModelState, WindowState
from monitor.windows.settling import SettledState
from monitor.windows.window_ends import Window


def measure_watched_window(
    measures: WindowMeasures, newest: int, truths: LabelArrivals
) -> list[MeasurementRow]:
    """What the rules on the newest window of a kind read, if it changed since they were judged last.

    Cost: nothing without rules; a window is measured again only where the panes behind it changed.
    """
    model, caches, window = measures.model, measures.caches, measures.window
    rows: list[MeasurementRow] = []
    # What is judged against an accepted window stands on its panes too, which the fingerprint does not see.
    changed = any(series.window == window.name for series in measures.accepted)
    # Weights of a nowcast move with time, though no pane changes: there is nothing to wait for.
    if any((rule.window, rule.truth) == (window.name, LabelTruth.NOWCAST) for rule in model.spec.rules):
        rows += measures.measure_nowcasts(newest, truths)
    for truth, part in ((LabelTruth.NONE, PaneHalf.RECORDS), (LabelTruth.PROVISIONAL, PaneHalf.LABELS)):
        rules = [rule for rule in model.spec.rules if (rule.window, rule.truth) == (window.name, truth)]
        if not rules:
            continue
        seen = caches.panes.span_fingerprint(part, window.start_of(newest), newest)
        judged = caches.is_judged(window.name, truth, (newest, seen, tuple(measures.accepted.values())))
        if judged and not changed and all(_is_of_window_alone(rule) for rule in rules):
            continue
        if part is PaneHalf.RECORDS:
            rows += measures.measure_without_labels(newest)
        else:
            rows += measures.measure_with_labels(newest, truth, truths.unsettled_warning(window, newest))
    return rows


def _is_of_window_alone(rule: Rule) -> bool:
    """Whether what a rule judges stands on the panes of its window, and on no earlier ones."""
    earlier = BY_NAME[rule.measure].family in (MeasureFamily.ESTIMATE, MeasureFamily.VOLUME)
    return not earlier and rule.against in ("", REFERENCE)


def find_settled_ends(states: Iterable[WindowState]) -> dict[str, int]:
    """End of the newest kept window that is settled, by the window's name."""
    ends: dict[str, int] = {}
    for state in states:
        if state.settled_as_of is not None:
            ends[state.window] = max(state.end, ends.get(state.window, state.end))
    return ends


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWindows:
    """What a cycle measured."""

    newest_settled: dict[str, NewestSettled]  # newest settled window by its name
    # of the newest and the newest settled window of each kind, if shown.
    current: list[MeasurementRow] = field(default_factory=list)
    # if not shown: what rules read of the newest ones.
    watched: list[MeasurementRow] = field(default_factory=list)
    # ends of the newest kept windows that are settled, by name.
    settled: dict[str, int] = field(default_factory=dict)
    snapshots: list[MeasurementRow] = field(default_factory=list)  # the kept rows
    windows: list[WindowState] = field(default_factory=list)  # what has happened to kept windows
    # windows and truths that are kept for the first time, or for good.
    whole: set[Place] = field(default_factory=set)


def measure_windows(
    model: CycleModel,
    caches: ModelCaches,
    state: ModelState,
    truth: LabelArrivals,
    lacking: Ints,
    *,
    settled: Mapping[str, NewestSettled],
    accepted: Mapping[AlertedSeries, Acceptance],
    shown: bool,
) -> MeasuredWindows:
    """Measure what is due.

    Parameters
    ----------
    lacking
        int64, ascending: starts of panes that are not counted.
    settled
        newest settled window by its name, as of the last cycle.
    accepted
        changes that are expected.
    shown
        False: of the newest windows what rules read is enough.
    """
    measured_windows = MeasuredWindows(newest_settled=dict(settled))
    if state.oldest is None:
        return measured_windows
    caches.rotate_row_cache()
    oldest, first = oldest_end(model, state, truth.as_of), model.find_history_start(state)
    states = model.store.states.read_windows(model.name, oldest)
    for window in model.spec.windows:
        newest = window.newest_end(truth.as_of - model.spec.ready_after)
        newest_settled = settled.get(window.name)
        if newest > first:
            newest_settled = _newest_settled(model, window, newest, newest_settled, first, truth)
        if newest_settled is not None:
            measured_windows.newest_settled[window.name] = newest_settled
        oldest_week = model.find_horizon_start(truth.as_of)
        measures = WindowMeasures(
            model, caches, window, first, lacking, oldest_week, newest_settled, accepted
        )
        if newest > first and shown:
            measured_windows.current.extend(_measure_newest_window(measures, newest, truth, first))
        elif newest > first:
            measured_windows.watched.extend(measure_watched_window(measures, newest, truth))
        due = due_windows(
            model, caches.panes, window, oldest=oldest, newest=newest, truth=truth, states=states
        )
        last_kept = _last_kept(model, window, due)
        for each in due:
            measured_windows.snapshots.extend(
                _measure_kept_window(measures, each, last_kept.get(each.end, []), truth)
            )
            measured_windows.windows.append(_window_state(measures, each, truth))
            measured_windows.whole.update(_list_whole_places(each))
    measured_windows.settled.update(find_settled_ends([*states, *measured_windows.windows]))
    return measured_windows


def _newest_settled(
    model: CycleModel,
    window: Window,
    newest: int,
    before: NewestSettled | None,
    first: int,
    truth: LabelArrivals,
) -> NewestSettled | None:
    """Newest settled window of a kind: estimates of the newest window are learned from it."""
    if not model.reading.labelled:
        return before
    end = newest_settled_end(window, newest, before.end if before else None, first, truth)
    if end is not None and (before is None or before.end != end):
        return NewestSettled(end, truth.judge_window_settled(window, end).warning)
    return before


def _measure_newest_window(
    measures: WindowMeasures, newest: int, truth: LabelArrivals, first: int
) -> list[MeasurementRow]:
    if not measures.model.reading.labelled:
        return measures.measure_without_labels(newest)
    warning = truth.unsettled_warning(measures.window, newest)
    rows = measures.measure_without_labels(newest) + measures.measure_with_labels(
        newest, LabelTruth.PROVISIONAL, warning
    )
    rows += measures.measure_nowcasts(newest, truth)
    if measures.settled is not None:
        rows += measures.measure_with_labels(
            measures.settled.end, LabelTruth.SETTLED, measures.settled.warning
        )
    settled = None if measures.settled is None else measures.settled.end
    expected = truth.forecast_window_settling(measures.window, settled, first)
    return [*rows, next_settling_row(measures.window, newest, expected)]


def _measure_kept_window(
    measures: WindowMeasures, due: DueWindow, last: list[MeasurementRow], truths: LabelArrivals
) -> list[MeasurementRow]:
    settled = due.settles is not SettledState.NO or (
        due.state is not None and due.state.settled_as_of is not None
    )
    truth = LabelTruth.SETTLED if settled else LabelTruth.PROVISIONAL
    rows = measures.measure_without_labels(due.end) if due.first else []
    if due.records and not due.first:
        rows = measures.measure_record_revision(due.end)
    if not measures.model.reading.labelled:
        return rows
    if due.first or due.settles is not SettledState.NO:
        warning = due.settles.warning if settled else truths.unsettled_warning(due.window, due.end)
        rows += [] if settled else measures.measure_nowcasts(due.end, truths)
        return rows + measures.measure_with_labels(due.end, truth, warning)
    if due.labels and measures.has_performance_moved(due.end, last):
        # Settled is for good, and so is the warning under which it was: a revision does not ask again.
        kept = due.state.warning if due.state else ""
        rows += [] if settled else measures.measure_nowcasts(due.end, truths)
        return rows + measures.measure_label_revision(
            due.end, truth, kept if settled else truths.unsettled_warning(due.window, due.end)
        )
    return rows


def _list_whole_places(due: DueWindow) -> Iterator[Place]:
    """What is kept with whole curves: of a window the first of all, and the settled performance."""
    if due.first:
        yield from (
            (due.window.name, due.end, truth.value) for truth in (LabelTruth.NONE, LabelTruth.PROVISIONAL)
        )
    if due.settles is not SettledState.NO:
        yield due.window.name, due.end, LabelTruth.SETTLED.value


def _last_kept(model: CycleModel, window: Window, due: list[DueWindow]) -> dict[int, list[MeasurementRow]]:
    ends = [each.end for each in due if each.labels and each.settles is SettledState.NO]
    if not ends:
        return {}
    by_end: dict[int, list[MeasurementRow]] = {}
    for (end, _, _), row in model.store.snapshots.read_last_performance(
        model.name, window.name, ends
    ).items():
        by_end.setdefault(end, []).append(row)
    return by_end


def _window_state(measures: WindowMeasures, due: DueWindow, truth: LabelArrivals) -> WindowState:
    panes, start = measures.caches.panes, due.window.start_of(due.end)
    before = due.state or WindowState(window=due.window.name, end=due.end, first_as_of=truth.as_of)
    settles, records = due.settles is not SettledState.NO, due.first or due.records
    return replace(
        before,
        settled_as_of=truth.as_of if settles else before.settled_as_of,
        measured_as_of=truth.as_of,
        records_seen=panes.span_fingerprint(PaneHalf.RECORDS, start, due.end)
        if records
        else before.records_seen,
        labels_seen=panes.span_fingerprint(PaneHalf.LABELS, start, due.end),
        warning=due.settles.warning or before.warning,
    )
