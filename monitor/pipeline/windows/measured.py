"""All windows of a cycle: which are due, and their rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from monitor.alerts.rules import Acceptance, Rule, Series
from monitor.core.typing import Ints
from monitor.measures.against import REFERENCE
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Family
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.caches import Caches, NewestSettled
from monitor.pipeline.keeping import Place
from monitor.pipeline.model import Model
from monitor.pipeline.windows.due import Due, Truths, due_windows, newest_settled_end, oldest_end
from monitor.pipeline.windows.log_rows import next_settling_row
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import Part
from monitor.specs.rows import ModelState, WindowState
from monitor.windows.ends import Window
from monitor.windows.settling import Settled


def watched_rows(measures: WindowMeasures, newest: int, truths: Truths) -> list[MeasurementRow]:
    """What the rules on the newest window of a kind read, if it changed since they were judged last.

    Cost: nothing without rules; a window is measured again only where the panes behind it changed.
    """
    model, caches, window = measures.model, measures.caches, measures.window
    rows: list[MeasurementRow] = []
    changed = any(series.window == window.name for series in measures.accepted)  # panes of earlier windows
    if any((rule.window, rule.truth) == (window.name, Truth.NOWCAST) for rule in model.spec.rules):
        rows += measures.nowcasts(newest, truths)  # weights move with time: there is nothing to wait for
    for truth, part in ((Truth.NONE, Part.RECORDS), (Truth.PROVISIONAL, Part.LABELS)):
        rules = [rule for rule in model.spec.rules if (rule.window, rule.truth) == (window.name, truth)]
        if not rules:
            continue
        seen = caches.panes.seen(part, window.start(newest), newest)
        judged = caches.is_judged(window.name, truth, (newest, seen, tuple(measures.accepted.values())))
        if judged and not changed and all(_is_of_window_alone(rule) for rule in rules):
            continue
        if part is Part.RECORDS:
            rows += measures.records(newest)
        else:
            rows += measures.labels(newest, truth, truths.warning(window, newest))
    return rows


def _is_of_window_alone(rule: Rule) -> bool:
    """Whether what a rule judges stands on the panes of its window, and on no earlier ones."""
    earlier = BY_NAME[rule.measure].family in (Family.ESTIMATE, Family.VOLUME)
    return not earlier and rule.against in ("", REFERENCE)


def newest_kept(states: Iterable[WindowState]) -> dict[str, int]:
    """End of the newest kept window that is settled, by the window's name."""
    ends: dict[str, int] = {}
    for state in states:
        if state.settled_as_of is not None:
            ends[state.window] = max(state.end, ends.get(state.window, state.end))
    return ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
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
    model: Model,
    caches: Caches,
    state: ModelState,
    truth: Truths,
    lacking: Ints,
    *,
    settled: Mapping[str, NewestSettled],
    accepted: Mapping[Series, Acceptance],
    shown: bool,
) -> Measured:
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
    measured = Measured(newest_settled=dict(settled))
    if state.oldest is None:
        return measured
    caches.begin_rows()
    oldest, first = oldest_end(model, state, truth.as_of), model.first_counted(state)
    states = model.store.windows(model.name, oldest)
    for window in model.spec.windows:
        newest = window.newest_end(truth.as_of - model.spec.ready_after)
        newest_settled = settled.get(window.name)
        if newest > first:
            newest_settled = _newest_settled(model, window, newest, newest_settled, first, truth)
        if newest_settled is not None:
            measured.newest_settled[window.name] = newest_settled
        oldest_week = model.oldest_pane(truth.as_of)
        measures = WindowMeasures(
            model, caches, window, first, lacking, oldest_week, newest_settled, accepted
        )
        if newest > first and shown:
            measured.current.extend(_current(measures, newest, truth, first))
        elif newest > first:
            measured.watched.extend(watched_rows(measures, newest, truth))
        due = due_windows(
            model, caches.panes, window, oldest=oldest, newest=newest, truth=truth, states=states
        )
        last_kept = _last_kept(model, window, due)
        for each in due:
            measured.snapshots.extend(_kept_rows(measures, each, last_kept.get(each.end, []), truth))
            measured.windows.append(_window_state(measures, each, truth))
            measured.whole.update(_whole(each))
    measured.settled.update(newest_kept([*states, *measured.windows]))
    return measured


def _newest_settled(
    model: Model, window: Window, newest: int, before: NewestSettled | None, first: int, truth: Truths
) -> NewestSettled | None:
    """Newest settled window of a kind: estimates of the newest window are learned from it."""
    if not model.reading.labelled:
        return before
    end = newest_settled_end(window, newest, before.end if before else None, first, truth)
    if end is not None and (before is None or before.end != end):
        return NewestSettled(end, truth.of(window, end).warning)
    return before


def _current(measures: WindowMeasures, newest: int, truth: Truths, first: int) -> list[MeasurementRow]:
    if not measures.model.reading.labelled:
        return measures.records(newest)
    warning = truth.warning(measures.window, newest)
    rows = measures.records(newest) + measures.labels(newest, Truth.PROVISIONAL, warning)
    rows += measures.nowcasts(newest, truth)
    if measures.settled is not None:
        rows += measures.labels(measures.settled.end, Truth.SETTLED, measures.settled.warning)
    settled = None if measures.settled is None else measures.settled.end
    expected = truth.next_settling(measures.window, settled, first)
    return [*rows, next_settling_row(measures.window, newest, expected)]


def _kept_rows(
    measures: WindowMeasures, due: Due, last: list[MeasurementRow], truths: Truths
) -> list[MeasurementRow]:
    settled = due.settles is not Settled.NO or (due.state is not None and due.state.settled_as_of is not None)
    truth = Truth.SETTLED if settled else Truth.PROVISIONAL
    rows = measures.records(due.end) if due.first else []
    if due.records and not due.first:
        rows = measures.revised_records(due.end)
    if not measures.model.reading.labelled:
        return rows
    if due.first or due.settles is not Settled.NO:
        warning = due.settles.warning if settled else truths.warning(due.window, due.end)
        rows += [] if settled else measures.nowcasts(due.end, truths)
        return rows + measures.labels(due.end, truth, warning)
    if due.labels and measures.moved(due.end, last):
        kept = due.state.warning if due.state else ""
        rows += [] if settled else measures.nowcasts(due.end, truths)
        return rows + measures.revised(
            due.end, truth, kept if settled else truths.warning(due.window, due.end)
        )
    return rows


def _whole(due: Due) -> Iterator[Place]:
    """What is kept with whole curves: of a window the first of all, and the settled performance."""
    if due.first:
        yield from ((due.window.name, due.end, truth.value) for truth in (Truth.NONE, Truth.PROVISIONAL))
    if due.settles is not Settled.NO:
        yield due.window.name, due.end, Truth.SETTLED.value


def _last_kept(model: Model, window: Window, due: list[Due]) -> dict[int, list[MeasurementRow]]:
    ends = [each.end for each in due if each.labels and each.settles is Settled.NO]
    if not ends:
        return {}
    by_end: dict[int, list[MeasurementRow]] = {}
    for (end, _, _), row in model.store.last_kept(model.name, window.name, ends).items():
        by_end.setdefault(end, []).append(row)
    return by_end


def _window_state(measures: WindowMeasures, due: Due, truth: Truths) -> WindowState:
    panes, start = measures.caches.panes, due.window.start(due.end)
    before = due.state or WindowState(window=due.window.name, end=due.end, first_as_of=truth.as_of)
    settles, records = due.settles is not Settled.NO, due.first or due.records
    return replace(
        before,
        settled_as_of=truth.as_of if settles else before.settled_as_of,
        measured_as_of=truth.as_of,
        records_seen=panes.seen(Part.RECORDS, start, due.end) if records else before.records_seen,
        labels_seen=panes.seen(Part.LABELS, start, due.end),
        warning=due.settles.warning or before.warning,
    )
