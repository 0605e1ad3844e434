"""How models stand, for people: a line a model, or one model on one screen; JSON."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.alerts.incidents import Incident, incident_words
from monitor.alerts.model_standing import HealthState, ModelStanding, rank_models
from monitor.alerts.shared_incidents import share_incidents
from monitor.core.clock import to_iso
from monitor.core.text import json_text
from monitor.sentences.known_measurements import SentenceSection, readable_name
from monitor.show.terminal_layout import wrap_text
from monitor.show.terminal_words import iso_or_none

NARROWEST, WIDEST = 80, 120
MOST_LINES = 25  # of one model
_TITLE = 13
_COLOURS = {
    HealthState.CRITICAL: "red",
    HealthState.WARNING: "yellow",
    HealthState.NO_DATA: "magenta",
    HealthState.OK: "green",
}
_REASONS = 8  # lines of a model in a list
_OF_ONE = 12  # lines of the head of one model
_WORTH = {"inputs": 2, "data": 4, "next": 6, "performance": 8, "accepted": 10}  # of a last sentence; else 0
_ALONE = 5  # what a sentence is worth more that stands alone
_CLAUSE = re.compile(r"[;,:] (?![^\[(]*[\])])")  # ends there, but not within brackets
_OPEN = re.compile(r"[\[(][^\])]*$")
_MORE = "More: --all"


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
        "next": words.next_step,
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
    """Head, and a paragraph a section: cut so that all of it is on one screen, unless all is asked for."""
    yield StyledLine(f"{readable_name(standing.model)}: {state_words(standing)}", _COLOURS[standing.state])
    all_of = [line for reason in standing.because for line in wrap_text(reason, width, "  ", "    ")]
    head = all_of if whole else _reason_lines(standing.because, width)
    yield from map(StyledLine, head)
    most = sys.maxsize if whole else MOST_LINES - 1 - len(head)
    sections, fits = _fit_sections(standing.sections, width, most)
    yield from (StyledLine(line) for section in sections for line in _section_lines(section, width))
    if not fits:
        yield StyledLine(_MORE)


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


def _fit_sections(
    sections: Sequence[SentenceSection], width: int, most: int
) -> tuple[list[SentenceSection], bool]:
    """Sections without some last sentences, as few lines as may be, so that they fit; whether all do.

    What stays as it is, is shortened before what moved, and performance last. A sentence is told whole or not
    at all, but for one that stands alone: that ends with a clause, a line earlier each time.
    """
    fitted = list(sections)
    while True:
        lines = [len(_section_lines(one, width)) for one in fitted]
        over = sum(lines) - (most - (fitted != [*sections]))
        if over <= 0:
            return fitted, fitted == [*sections]
        over += fitted == [*sections]  # the line that says that there is more
        shorter = [_shorten_section(one, width) for one in fitted]
        gained = [many - len(_section_lines(one, width)) for many, one in zip(lines, shorter, strict=True)]
        spare = [
            (
                gain > 0,
                -_WORTH.get(one.title, 0) - _ALONE * (len(one.sentences) == 1),
                gain >= over,
                min(gain, 2 * over - gain),
            )
            for one, gain in zip(fitted, gained, strict=True)
        ]
        best = spare.index(max(spare))
        fitted[best] = shorter[best]


def _shorten_section(section: SentenceSection, width: int) -> SentenceSection:
    """A section without as many last sentences as make a line; one that is alone ends a line earlier."""
    kept, lines = section.sentences, len(_section_lines(section, width))
    while len(kept) > 1:
        kept = kept[:-1]
        if len(_section_lines(shorter := SentenceSection(section.title, kept), width)) < lines:
            return shorter
    return SentenceSection(section.title, (_fit_clauses(kept[0], width - _TITLE, max(1, lines - 1)),))


def _fit_clauses(text: str, width: int, most: int) -> str:
    """As many clauses of a text as there is room for in so many lines; words, where it has no such end."""
    room = " ".join(wrap_text(text, width)[:most])
    sentence = _OPEN.sub("", room)
    ends = [found.start() for found in _CLAUSE.finditer(sentence)]
    if ends and ends[-1] > len(room) // 3:
        return f"{sentence[: ends[-1]]} …"
    return f"{room[: most * width - 2].rsplit(' ', 1)[0].rstrip()} …"


def _section_lines(section: SentenceSection, width: int) -> list[str]:
    return wrap_text(" ".join(section.sentences), width, f"{section.title:{_TITLE}}", _TITLE * " ")


def _cut_text(text: str, width: int, end: str = "") -> str:
    """Text that is cut where it is too long, and what always stands at its end."""
    room = width - len(end)
    return f"{text if len(text) <= room else f'{text[: room - 1].rstrip()}…'}{end}"
