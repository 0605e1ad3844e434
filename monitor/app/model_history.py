"""Decisions about histories: a renamed model keeps its own, panes are recounted, a model is forgotten."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from monitor.app.alert_decisions import Decision
from monitor.app.application import App, lease_owner_words
from monitor.app.run_lock import ExclusiveRun
from monitor.core.clock import floor_to, to_iso
from monitor.core.errors import LeaseLost, MonitorError, StoreError
from monitor.pipeline.cycle import CycleTick, run_cycle
from monitor.pipeline.cycle_model import CycleModel
from monitor.records.pane import PaneHalf
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import CycleReport
from monitor.specs.reference_choice import reference_key
from monitor.specs.settings import Settings
from monitor.specs.stored_rows import HistoryEvent, WaitingPane

_ALL_ROWS = 2**62


def rename_models(app: App, at: int, *, held: bool = False) -> list[str]:
    """Hand over the histories of models that were renamed, all or none; the new names of those that had one.

    Parameters
    ----------
    held
        the run is this process's already; otherwise it is taken, and refused while a daemon has it.

    Raises
    ------
    MonitorError
        if a model has a history under both of its names in one run: nothing is renamed.
    """
    due = renamed_models(app, app.settings)
    if due and not held:
        with ExclusiveRun(app):
            return rename_models(app, at, held=True)
    try:
        if due:
            events = [
                HistoryEvent(model=spec.name, at=at, kind="renamed", subject=str(spec.keys.formerly))
                for spec in due
            ]
            app.store.histories.rename_histories(
                [(event, _renamed_reference_keys(app, spec)) for event, spec in zip(events, due, strict=True)]
            )
    except StoreError:
        if renamed_models(app, app.settings):  # else another daemon of the same configuration did it just now
            raise
    for spec in due:
        app.forget_caches(spec.name)
    return [spec.name for spec in due]


def renamed_models(app: App, settings: Settings) -> list[ModelSpec]:
    """Models of a configuration whose history stands under their former name.

    Raises
    ------
    MonitorError
        if a model has a history under both of its names in one run.
    """
    due = [
        spec
        for spec in settings.models
        if spec.keys.formerly and app.store.histories.list_runs(spec.keys.formerly)
    ]
    for spec in due:
        both = sorted(
            {*app.store.histories.list_runs(str(spec.keys.formerly))}
            & {*app.store.histories.list_runs(spec.name)}
        )
        if both:
            raise MonitorError(
                f'model "{spec.name}": it has a history of its own beside that of "{spec.keys.formerly}" in '
                f"{quote_names(both)}: take formerly away, or forget one of them by monitor forget --model "
                "NAME"
            )
    return due


def _renamed_reference_keys(app: App, spec: ModelSpec) -> dict[str, str]:
    """Keys of the kept references under the new name: what a reference is made of names its model."""
    old = reference_key(spec.with_keys(name=spec.keys.formerly))
    kept = app.store.references.list_reference_keys(str(spec.keys.formerly))
    return {key: reference_key(spec) + key[len(old) :] for key in kept if key.startswith(old)}


def recount_panes(app: App, name: str, start: int, end: int, decision: Decision) -> tuple[int, CycleReport]:
    """Count the panes that overlap [start, end) again, whole, and measure, as of the model's last cycle.

    The decision is kept as an event before the first pane is counted.

    Returns
    -------
    tuple[int, CycleReport]
        number of the panes, and what the cycle did.

    Raises
    ------
    MonitorError
        if the model has no history yet, or there is no such pane within its horizon.
    """
    with app.lease_model(name) as lease:
        state = app.store.states.read_state(name)
        if state.as_of is None:
            raise MonitorError(f'model "{name}": nothing has been counted yet')
        model, caches = app.prepare_model(name, state.as_of)
        starts = _panes_of_span(model, start, end, state.as_of)
        if not starts:
            span = f"{to_iso(start)} to {to_iso(end)}"
            raise MonitorError(f'model "{name}": no pane from {span} is stored or within the horizon')
        detail = json.dumps({"panes": len(starts), "start": to_iso(start), "end": to_iso(end)})
        app.store.events.append_events([decision.history_event(name, "recounted", detail=detail)])
        waiting = [WaitingPane(start=pane, part=PaneHalf.RECORDS, since=state.as_of) for pane in starts]
        app.store.panes.note_waiting(name, state, waiting, token=lease.token)
        reread = model.spec.keys.reading.model_copy(update={"recount_rows": _ALL_ROWS})
        whole = replace(model, spec=model.spec.with_keys(reading=reread))
        report, _ = run_cycle(whole, caches, CycleTick(state.as_of, lease))
        app.forget_caches(name)
    return len(starts), report


def forget_model(app: App, name: str, decision: Decision) -> dict[str, int]:
    """Delete the history of a model in every run; how many rows, by table.

    Its configurations, references and events are kept for ever: a model that is configured still begins
    anew, compared with the same reference.

    Raises
    ------
    MonitorError
        if nothing is kept of it; `LeaseLost` while a cycle of it runs.
    """
    if not app.store.histories.list_runs(name):
        raise MonitorError(f'nothing is kept of a model "{name}"')
    with _hold_every_lease(app, name):
        gone = app.store.histories.forget_history(decision.history_event(name, "forgotten"))
    app.forget_caches(name)
    return gone


@contextmanager
def _hold_every_lease(app: App, name: str) -> Iterator[None]:
    """Hold the model's lease in every run in which it has a history."""
    with ExitStack() as stack:
        stack.enter_context(app.hold_lease(name))
        for run in {*app.store.histories.list_runs(name)} - {app.store.run}:
            store = app.store.with_run(run)
            token = store.leases.claim_lease(name, app.owner, app.settings.daemon.lease_ttl)
            if token is None:
                raise LeaseLost(
                    f'another process runs a cycle of this model in the run "{run}" '
                    f"({lease_owner_words(store, name)})"
                )
            stack.callback(store.leases.release_lease, name, token)
        yield


def _panes_of_span(model: CycleModel, start: int, end: int, as_of: int) -> list[int]:
    pane = model.reading.pane
    first, last = floor_to(start, pane), min(end, as_of + model.reading.tolerance + 1)
    stored = {
        facts.start for facts in model.store.panes.read_pane_facts(model.name, first) if facts.start < last
    }
    return sorted(stored.union(range(max(first, model.find_horizon_start(as_of)), last, pane)))
