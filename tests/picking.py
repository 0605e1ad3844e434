"""What a test picks out of rows and stores to look at."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.cycle_model import CycleModel
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.stored_rows import PaneFacts
from monitor.store.sql_store import SqlStore

_WHOLE = {"version": None, "segment": None, "subject": "", "against": ""}


def picked(rows: Iterable[MeasurementRow], measure: str, **fields: Any) -> list[MeasurementRow]:
    """Rows of a measure: of the whole, no subject, against nothing, no nowcasts, unless asked for."""
    wanted = _WHOLE | fields | {"measure": measure}
    asked = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    return [row for row in asked if row.truth is not LabelTruth.NOWCAST or "truth" in fields]


def only(rows: Iterable[MeasurementRow], measure: str, **fields: Any) -> MeasurementRow:
    """The only one of them."""
    [row] = picked(rows, measure, **fields)
    return row


def facts_of(store: SqlStore, start: int, model: str = "late") -> dict[PaneHalf, PaneFacts]:
    """What is stored of a pane, without its counters, by part."""
    return {fact.part: fact for fact in store.panes.read_pane_facts(model, start) if fact.start == start}


def pane_of(model: CycleModel, start: int, part: PaneHalf) -> PanePart:
    """A stored part of a pane, of the layout that the model counts on."""
    return model.store.panes.load_panes(model.name, part, [start], model.counting)[start]


def labels_as_read(store: SqlStore, counting: Counting) -> list[str]:
    """Labels parts of a model with what differences have added; not when they were counted whole last.

    Labels of panes whose difference was cut short are counted whole by the next process.
    """
    facts = [
        replace(each, counted_as_of=0)
        for each in store.panes.read_pane_facts("late", 0)
        if each.part is PaneHalf.LABELS
    ]
    parts = store.panes.load_panes("late", PaneHalf.LABELS, [each.start for each in facts], counting)
    assert len(parts) == len(facts)
    strata = [sorted(parts[each.start].strata.items(), key=str) for each in facts]
    held = [[(name, each.index.tobytes(), each.value.tobytes()) for name, each in one] for one in strata]
    return [repr(pair) for pair in zip(facts, held, strict=True)]
