"""Text of which parts lead to a page of the model: pages make links of them, all else the text alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from monitor.core.text import readable_text
from monitor.measures.measure_options import LABEL
from monitor.sentences.known_measurements import FEATURE, readable_name


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a sentence."""

    text: str
    page: tuple[str, ...] = ()  # path below the model's own, as ("feature",); ("",) is its own; (): no link
    query: tuple[tuple[str, str], ...] = ()


LinkedText: TypeAlias = tuple[TextPiece, ...]


def plain_text(pieces: Iterable[TextPiece]) -> str:
    """The text without its links, readable.

    >>> plain_text(linked("see ", feature_piece("age"), " first"))
    'see age first'
    """
    return readable_text("".join(piece.text for piece in pieces))


def linked(*parts: str | TextPiece | LinkedText) -> LinkedText:
    """Text of texts, pieces and other texts; empty texts are left out."""
    pieces: list[TextPiece] = []
    for part in parts:
        if isinstance(part, tuple):
            pieces += part
        elif isinstance(part, TextPiece):
            pieces.append(part)
        elif part:
            pieces.append(TextPiece(part))
    return tuple(pieces)


def feature_piece(name: str) -> TextPiece:
    """A feature, which leads to its page."""
    bare = name.removeprefix(FEATURE)
    return TextPiece(readable_name(bare), ("feature",), (("name", bare),))


def subject_piece(subject: str, name: str) -> TextPiece:
    """What rows call a subject: of a feature its link, else its name."""
    if subject == LABEL:
        return TextPiece("the mix of labels", ("log",))
    return feature_piece(subject) if subject.startswith(FEATURE) else TextPiece(readable_name(name))


def segment_piece(segment: str) -> TextPiece:
    """A segment, "carrier=EV", which leads to the page of segments."""
    column, _, value = segment.partition("=")
    return TextPiece(f"{readable_name(column)} = {readable_name(value)}", ("segments",))


def join_pieces(pieces: Iterable[TextPiece], most: int) -> LinkedText:
    """Pieces in words, the first few of them: see `join_few_names`.

    >>> plain_text(join_pieces([TextPiece(name) for name in "abcde"], 3))
    'a, b, c and 2 more'
    """
    listed = list(pieces)
    rest = len(listed) - most
    return tuple(_with_commas(listed[:most], f" and {rest} more" if rest > 0 else ""))


def _with_commas(listed: list[TextPiece], more: str) -> Iterator[TextPiece]:
    for at, piece in enumerate(listed):
        if at:
            yield TextPiece(" and " if at == len(listed) - 1 and not more else ", ")
        yield piece
    if more:
        yield TextPiece(more)
