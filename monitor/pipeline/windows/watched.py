"""What the rules on the newest window of a kind read, where no rows are shown."""

from collections.abc import Iterable

from monitor.alerts.rules import Rule
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import Family
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.windows.against import REFERENCE
from monitor.pipeline.windows.window_rows import WindowMeasures
from monitor.records.pane import Part
from monitor.specs.rows import WindowState


def watched_rows(measures: WindowMeasures, newest: int, warning: str) -> list[MeasurementRow]:
    """What the rules on the newest window of a kind read, if it changed since they were judged last.

    Cost: nothing without rules; a window is measured again only where the panes behind it changed.
    """
    model, caches, window = measures.model, measures.caches, measures.window
    rows: list[MeasurementRow] = []
    changed = any(series.window == window.name for series in measures.accepted)  # panes of earlier windows
    for truth, part in ((Truth.NONE, Part.RECORDS), (Truth.PROVISIONAL, Part.LABELS)):
        rules = [rule for rule in model.spec.rules if (rule.window, rule.truth) == (window.name, truth)]
        if not rules:
            continue
        seen = caches.panes.seen(part, window.start(newest), newest)
        judged = caches.is_judged(window.name, truth, (newest, seen, tuple(measures.accepted.values())))
        if judged and not changed and all(_is_of_window_alone(rule) for rule in rules):
            continue
        rows += measures.records(newest) if part is Part.RECORDS else measures.labels(newest, truth, warning)
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
