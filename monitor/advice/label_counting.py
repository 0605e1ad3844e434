"""How a model's labels are counted: by difference, or whole once a day, why, and what would help."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitor.core.clock import format_duration, to_iso
from monitor.pipeline.audit import WRONG
from monitor.pipeline.restored_state import are_differences_distrusted
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import HistoryEvent


@dataclass(frozen=True, slots=True)
class LabelCounting:
    """How labels are counted."""

    reads: float  # about how often a label is read by the searches that see it
    whole_because: str = ""  # why they are counted whole; empty: by difference
    remedies: tuple[str, ...] = ()  # indexes that are missing, each as what to do, unless a warning says so

    def __str__(self) -> str:
        if not self.whole_because:
            return (
                f"labels are counted by difference: each is read about {self.reads:,.2f} times, "
                "and its pane whole once as it settles"
            )
        whole = "labels are counted whole: a day on which one comes reads all records of its pane again"
        return "; ".join([f"{whole}. Why: {self.whole_because}", *self.remedies])


def label_counting(
    model: ModelSpec, source: SqlSource, remedies: Sequence[str], warnings: Sequence[str] = ()
) -> LabelCounting | None:
    """How the labels of a model are counted, by a look at its source; None: it has none.

    Parameters
    ----------
    remedies
        indexes on ids that are missing, each as what to do.
    warnings
        what is said besides: remedies that stand there are not told again.
    """
    if model.labels is None:
        return None
    because = source.why_labels_counted_whole(model)
    untold = (remedy for remedy in remedies if because and not any(remedy in text for text in warnings))
    return LabelCounting(1 + model.keys.reading.overlap / model.keys.every, because, tuple(untold))


def wrong_differences(model: ModelSpec, events: Iterable[HistoryEvent]) -> list[str]:
    """Warn while labels are counted whole because an audit found differences wrong; `events` in order."""
    events = list(events)
    if model.labels is None or not are_differences_distrusted(events):
        return []
    newest = [event for event in events if event.kind == WRONG][-1]
    detail, now = json.loads(newest.detail or "{}"), to_iso(newest.at)
    since = detail.get("oldest_pane", now)
    panes = f"panes: {detail.get('panes', '?')}, the oldest of {since}"
    overlap = format_duration(model.keys.reading.overlap)
    text = (
        f"the audit of {now} found panes whose labels, added by difference, were wrong ({panes}): rows of "
        "the label table were changed or deleted, or became visible later than the overlap "
        f"({overlap}). Labels are counted whole, once a day, until you decide: if "
        "rows are changed or deleted, say append_only = false in [models.labels]; if they become visible "
        f"late, raise overlap in [models.reading]; then run monitor recount --model {model.name} "
        f"--from {since} --to {now}, which ends this"
    )
    return [text]
