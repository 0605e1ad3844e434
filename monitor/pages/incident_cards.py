"""The headline card of a page: an incident of one model or of several, or how a model stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from monitor.alerts.alert_phrases import fill_annotations
from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_words import first_days_words, incident_words
from monitor.alerts.incidents import Incident
from monitor.core.text import readable_text
from monitor.pages.page_request import PageLink, PageRequest
from monitor.sentences.known_measurements import capitalize_first, end_sentence
from monitor.sentences.linked_text import LinkedText, TextPiece, linked, plain_text
from monitor.sentences.time_words import day_words

ShownText: TypeAlias = tuple[PageLink, ...]  # pieces of a text; those without an address are text alone


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlineCard:
    """What stands first on a page: an incident, or that there is none."""

    icon: str  # critical, warning, ok, none or stale
    state: str
    meta: tuple[str, ...]
    title: str
    href: str = ""  # where the title leads
    says: tuple[str | ShownText, ...]  # sentences with their stops
    next_step: str | ShownText = ""
    actions: tuple[tuple[str, str, str], ...] = ()  # text, address, look
    models: tuple[PageLink, ...] = ()  # of the fleet's page: whose it is


def link_text(request: PageRequest, model: str, pieces: LinkedText) -> ShownText:
    """A text with the addresses of what its parts lead to."""
    return tuple(_page_link(request, model, piece) for piece in pieces)


def _page_link(request: PageRequest, model: str, piece: TextPiece) -> PageLink:
    if not piece.page:
        return PageLink(readable_text(piece.text), "", False)
    path = tuple(filter(None, piece.page))
    return PageLink(
        readable_text(piece.text), request.link_to("models", model, *path, **dict(piece.query)), False
    )


def incident_card(
    request: PageRequest, models: Sequence[str], incident: Incident, today: int
) -> HeadlineCard:
    """Headline of an incident with what it costs and what to do; of several models what they share."""
    words, model = incident_words(incident, today), models[0]
    page = request.link_to("models", model, "incidents", incident.address)
    many, seen_by = len(incident.every_alert), incident.acknowledged_by
    meta = [f"since {first_days_words(incident, today)}"]
    if len(models) > 1:
        meta.append(f"{len(models)} models · probably one cause")
    else:
        meta.append(f"found {day_words(incident.kept.opened_at, today)}")
        meta.append(f"{many} alert{'' if many == 1 else 's'}")
        meta += ["recovering"] if incident.is_recovering else []
    meta.append(readable_text(f"acknowledged by {seen_by}") if seen_by else "not acknowledged")
    meta += [f"owner: {owner}"] if (owner := readable_text(_owner_of(incident))) else []
    step = linked("check what they share") if len(models) > 1 else words.next_step
    said = (words.names, linked(words.beside), linked(words.consequence), words.also)
    return HeadlineCard(
        icon="critical" if incident.severity is Severity.CRITICAL else "warning",
        state=capitalize_first(incident.severity.value),
        meta=tuple(meta),
        title=words.title,
        href=page,
        says=tuple(link_text(request, model, with_stop(one)) for one in said if one),
        next_step=link_text(request, model, with_stop(step)),
        actions=(
            ("Acknowledge…", f"{page}#decide", "go"),
            ("Accept as normal…", f"{page}#decide", ""),
            ("Evidence", page, ""),
        ),
    )


def with_stop(pieces: LinkedText) -> LinkedText:
    """A text as a sentence ends."""
    text = plain_text(pieces)
    return linked(pieces, end_sentence(text)[len(text) :])


def _owner_of(incident: Incident) -> str:
    """Whose model it is, where its rules say so."""
    first = incident.alerts[0]
    return "" if first.rule is None else fill_annotations(first.rule, first.alert.breach).get("owner", "")
