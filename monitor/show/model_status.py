"""How models stand, for people: a line a model, or one model on one screen; JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.alerts.incident_words import incident_words
from monitor.alerts.incidents import Incident
from monitor.alerts.model_standing import HealthState, ModelStanding, rank_models
from monitor.alerts.model_summary import ChangedSeries, SummaryFigure
from monitor.alerts.shared_incidents import share_incidents
from monitor.core.clock import to_iso
from monitor.core.text import json_text
from monitor.sentences.known_measurements import SentenceSection, join_few_names, readable_name
from monitor.sentences.time_words import day_words
from monitor.show.terminal_layout import wrap_text
from monitor.show.terminal_words import iso_or_none

NARROWEST, WIDEST = 80, 120
_TITLE = 13
_COLOURS = {
    HealthState.CRITICAL: "red",
    HealthState.WARNING: "yellow",
    HealthState.NO_DATA: "magenta",
    HealthState.OK: "green",
}
_REASONS = 8  # lines of a model in a list
_OF_ONE = 8  # lines of the reasons of one model
_MOST_CHANGED = 5  # lines of what changed
_MORE = "More: --all"
_ALWAYS = ("accepted", "next")  # details that are told unasked


@dataclass(frozen=True, slots=True)
class StyledLine:
    """A line, and the colour that it has on a terminal; empty: none."""

    text: str
    colour: str = ""


def status_lines(models: Sequence[ModelStanding], width: int, *, whole: bool = False) -> list[StyledLine]:
    """One model on one screen; of several a line each, the worst first.

    Parameters
    ----------
    width
        of the terminal in characters; lines are at least 80 and at most 120 wide.
    whole
        nothing of one model is left out, however many screens that takes.
    """
    width = min(max(width, NARROWEST), WIDEST)
    if len(models) == 1:
        return list(_model_screen(models[0], width, whole=whole))
    lines = head_lines(models, width)
    return [*lines, StyledLine("One model on one screen: monitor status --model NAME")] if lines else []


def head_lines(models: Sequence[ModelStanding], width: int) -> list[StyledLine]:
    """What several models share; of each its name, its state, and the first reason, whole."""
    width = min(max(width, NARROWEST), WIDEST)
    shared = share_incidents(models)
    together = [line for one in shared.incidents for line in wrap_text(one.sentence, width, "", "    ")]
    sizes = [(len(readable_name(standing.model)), len(state_words(standing))) for standing in models]
    columns = tuple(map(max, zip(*sizes, strict=True)))
    return [
        *(StyledLine(line) for line in together),
        *(
            line
            for standing in rank_models(models)
            for line in _standing_head_lines(standing, shared.first_reason(standing), columns, width)
        ),
    ]


def accepted_lines(models: Sequence[ModelStanding]) -> list[str]:
    """What is accepted of each model, in words."""
    return [
        f"{readable_name(standing.model)}: {sentence}"
        for standing in rank_models(models)
        for section in standing.sections
        if section.title == "accepted"
        for sentence in section.sentences
    ]


def status_json(models: Sequence[ModelStanding]) -> str:
    """JSON list of models, the worst first."""
    shared = share_incidents(models)
    return json_text(
        [
            {
                "model": standing.model,
                "state": standing.state.value,
                "badges": [badge.value for badge in standing.badges],
                "because": list(standing.because),
                "incidents": [
                    plain_incident(one, standing.as_of or 0)
                    | {"shared_with": shared.other_models(standing.model, one.address)}
                    for one in standing.incidents
                ],
                "as_of": iso_or_none(standing.as_of),
                "figures": [
                    {
                        "title": one.title,
                        "days": one.span,
                        "value": one.value,
                        "beside": one.beside,
                        "mark": one.mark.value or None,
                        "note": one.note,
                        "exact": one.exact,
                    }
                    for one in standing.summary.figures
                ],
                "changed": [
                    {
                        "subject": one.subject,
                        "what": one.what,
                        "usual": one.usual,
                        "now": one.now,
                        "since": to_iso(one.since)[:10],
                        "incident": one.incident or None,
                    }
                    for one in standing.summary.changed
                ],
                "sections": {section.title: list(section.sentences) for section in standing.sections},
            }
            for standing in rank_models(models)
        ],
        indent=1,
    )


def plain_incident(incident: Incident, today: int) -> dict[str, object]:
    """An incident as plain values: days and times are ISO 8601, UTC."""
    words = incident_words(incident, today)
    first_day, last_day = incident.first_days
    return {
        "incident": incident.address,
        "kind": incident.kind.value,
        "severity": incident.severity.value,
        "first_day": to_iso(first_day)[:10],
        "last_day": to_iso(last_day)[:10],
        "opened_at": to_iso(incident.kept.opened_at),
        "recovering": incident.is_recovering,
        "headline": words.headline,
        "consequence": words.consequence,
        "next": words.step_text,
        "acknowledged_by": incident.acknowledged_by or None,
        "alerts": [str(part.alert.series) for part in incident.every_alert],
        "same_day": list(incident.same_day),
    }


def state_words(standing: ModelStanding) -> str:
    """State of a model and the badges beside it."""
    return " · ".join([standing.state.value, *(badge.value for badge in standing.badges)])


def _standing_head_lines(
    standing: ModelStanding, reason: str, columns: tuple[int, ...], width: int
) -> list[StyledLine]:
    names, states = columns
    more = len(standing.because) - 1
    start, end = (
        f"{readable_name(standing.model):{names}}  {state_words(standing):{states}}  ",
        f" (+{more} more)" if more > 0 else "",
    )
    others = " " * (len(start) if len(start) <= width // 2 else 4)
    lines = wrap_text(reason + end, width, start, others)
    if len(lines) > _REASONS:
        lines = [*lines[: _REASONS - 1], _cut_text(lines[_REASONS - 1], width, f" …{end}")]
    return [StyledLine(line, _COLOURS[standing.state]) for line in lines]


def _model_screen(standing: ModelStanding, width: int, *, whole: bool) -> Iterator[StyledLine]:
    """What happened and what to do, the four figures, what changed; the details if they are asked for."""
    yield StyledLine(f"{readable_name(standing.model)}: {state_words(standing)}", _COLOURS[standing.state])
    every_reason = [line for reason in standing.because for line in wrap_text(reason, width, "  ", "    ")]
    yield from map(StyledLine, every_reason if whole else _reason_lines(standing.because, width))
    yield from map(StyledLine, _figure_lines(standing.summary.figures, width))
    today = standing.as_of or 0
    yield from map(StyledLine, _changed_lines(standing.summary.changed, today, width, whole=whole))
    shown = [one for one in standing.sections if whole or one.title in _ALWAYS]
    yield from (StyledLine(line) for section in shown for line in _section_lines(section, width))
    if len(shown) < len(standing.sections):
        yield StyledLine(_MORE)


def _figure_lines(figures: Sequence[SummaryFigure], width: int) -> Iterator[str]:
    """A figure a paragraph: what it is, its value, what that is beside, of which days, a sentence."""
    titles, values = max(len(one.title) for one in figures), max(len(one.value) for one in figures)
    for one in figures:
        start = f"{one.title:{titles}}  {one.value:>{values}}  "
        about = ", ".join(filter(None, (one.beside, one.span)))
        text = " ".join(filter(None, (f"{about}." if about else "", one.note)))
        yield from wrap_text(text, width, start, " " * len(start))


def _changed_lines(changed: Sequence[ChangedSeries], today: int, width: int, *, whole: bool) -> Iterator[str]:
    """Table of what changed: usual, now, since when; series of which all is the same are one line."""
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for one in changed:
        if one.incident:  # of others a sentence says that their alert is closed
            alike.setdefault((one.what, one.usual, one.now, day_words(one.since, today)), []).append(one.name)
    if not alike:
        return
    lines = [(_joined_names(names, whole=whole), *cells) for cells, names in alike.items()]
    shown = lines if whole else lines[:_MOST_CHANGED]
    rows = [("", "what", "usual", "now", "since"), *shown]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sizes[0] = max(1, min(sizes[0], width - sum(sizes[1:]) - 2 * len(sizes)))
    yield "What changed"
    for name, *cells in rows:
        texts = [_cut_text(name, sizes[0]), *cells]
        line = "  ".join(f"{text:{size}}" for text, size in zip(texts, sizes, strict=True))
        yield _cut_text(f"  {line.rstrip()}", width)
    if len(shown) < len(lines):
        yield f"  … {len(lines) - len(shown)} more: --all"


def _joined_names(names: Sequence[str], *, whole: bool) -> str:
    return names[0] if len(names) == 1 else join_few_names(names, len(names) if whole else 1)


def _reason_lines(because: Sequence[str], width: int) -> list[str]:
    """The first reasons, each whole, as far as there is room, and how many more there are."""
    sentences: list[str] = []
    for at, reason in enumerate(because):
        lines = wrap_text(reason, width, "  ", "    ")
        left = len(because) - at
        if len(sentences) + len(lines) + (left > 1) <= _OF_ONE:
            sentences += lines
            continue
        if not sentences:  # one that fills the room by itself
            sentences, left = [*lines[: _OF_ONE - 2], _cut_text(lines[_OF_ONE - 2], width, " …")], left - 1
        return [*sentences, *([f"  … {left} more: --all"] if left else [])]
    return sentences


def _section_lines(section: SentenceSection, width: int) -> list[str]:
    return wrap_text(" ".join(section.sentences), width, f"{section.title:{_TITLE}}", _TITLE * " ")


def _cut_text(text: str, width: int, end: str = "") -> str:
    """Text that is cut where it is too long, and what always stands at its end."""
    room = width - len(end)
    return f"{text if len(text) <= room else f'{text[: room - 1].rstrip()}…'}{end}"
