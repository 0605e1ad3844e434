"""What pages of a model share: its specification, choices, second lines of charts, what stands behind it."""

from collections.abc import Callable, Sequence

from monitor.alerts.model_facts import ModelFacts
from monitor.core.clock import DAY
from monitor.pages.page_request import PageData, PageLink, PageRequest, require_known_name
from monitor.records.reading import ModelTask
from monitor.sentences.time_words import local_moment_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import REPLAYED, HistoryEvent

RANGES = {"90d": 90 * DAY, "180d": 180 * DAY, "1y": 366 * DAY, "all": 0}
RANGE_WORDS = {"90d": "90 d", "180d": "180 d", "1y": "1 y", "all": "All"}
MEASURES = {
    ModelTask.BINARY: ("roc_auc", "accuracy", "recall", "precision", "brier_score", "profit"),
    ModelTask.MULTICLASS: ("accuracy", "average_class_accuracy", "cohen_kappa_score", "log_loss"),
    ModelTask.REGRESSION: ("root_mean_squared_error", "mean_absolute_error", "r2_score"),
}


def spec_of(data: PageData, name: str) -> ModelSpec:
    """Specification of a model.

    Raises
    ------
    AddressError
        404, with a suggestion.
    """
    specs = {spec.name: spec for spec in data.list_specs()}
    return specs[require_known_name(name, list(specs), "model")]


def read_events_until(data: PageData, name: str, as_of: int | None) -> list[HistoryEvent]:
    """What had happened by a moment, the newest first; None: by now."""
    newest_first = sorted(data.read_events(name), key=lambda event: event.at)[::-1]
    return [event for event in newest_first if as_of is None or event.at <= as_of]


def make_choice_links(
    request: PageRequest,
    name: str,
    values: Sequence[str],
    chosen: str,
    say: Callable[[str], str] = str,
) -> tuple[PageLink, ...]:
    """Links to this page with each value of a parameter; `say`: what it is called."""
    return tuple(
        PageLink(say(value), request.link_here(**{name: value}), value == chosen) for value in values
    )


def provenance_line(data: PageData, name: str, facts: ModelFacts) -> str:
    """What stands behind the numbers, in a line."""
    if facts.as_of is None:
        return ""
    provenance = data.read_provenance(name, facts.as_of)
    if provenance is None:
        return ""
    reference = f" · reference {provenance.reference[:16]}" if provenance.reference else ""
    return (
        f"monitor {provenance.code} · configuration {provenance.config[:16]} · grids "
        f"{provenance.grid[:16]}{reference}"
    )


def replay_note(data: PageData, name: str, facts: ModelFacts) -> str:
    """That what is shown was measured afterwards; empty: it was not."""
    replays = [event.at for event in data.read_events(name) if event.kind == REPLAYED]
    until = max(replays, default=0)
    if facts.as_of is None or until < facts.as_of:
        return ""
    until = until if facts.replay_until is None else facts.as_of
    return f"A replay measured all up to {local_moment_words(until)} afterwards: nobody got its alerts then."
