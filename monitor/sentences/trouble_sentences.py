"""What stands in the way of a model's cycles, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.core.text import brief_line, double_quoted, readable_text
from monitor.sentences.time_words import utc_moment_words

_ONCE = 1  # failure that is tried again before anybody is told
_COLUMNS, _EMPTY, _LABELS = "Columns are missing: ", "No rows are left in ", "Labels are no "
_REMEDIES = {  # by how a trouble is told: what would end it
    _EMPTY: "look at what deleted or moved them",
    _LABELS: "bring back what they held, or write in [models.classes] what they hold now",
}
_BRING_BACK = "bring them back, or take them out of the configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleTrouble:
    """What stands in the way of a model's cycles."""

    # as_of, since: of the last cycle that met it, and of the first.
    as_of: int
    since: int
    failed: int  # cycles that failed in a row; 0: they succeed, but not all can be measured
    told: str  # what it is, in words


def missing_columns_sentence(names: Sequence[str]) -> str:
    """That columns of the log are not there; empty: none lacks."""
    return f"{_COLUMNS}{', '.join(map(double_quoted, names))}" if names else ""


def empty_tables_sentence(titles: Sequence[str]) -> str:
    """That tables have lost their rows; empty: none has."""
    return f"{_EMPTY}{' and '.join(titles)}" if titles else ""


def other_labels_sentence(n: int, unknown: int, words: Sequence[str], *, numbers: bool) -> str:
    """That labels are not those that the model knows.

    Parameters
    ----------
    n, unknown
        new labels, and those of them that are no class, or no number.
    words
        frequent ones of these.
    """
    held = f", but {' and '.join(map(double_quoted, words))}" if words else ""
    what = "numbers" if numbers else "classes of the model"
    return f"{_LABELS}{what}: {unknown:,} of {n:,} new ones{held}"


def is_trouble_over(trouble: CycleTrouble, *, rows: int, labels_known: bool) -> bool:
    """Whether a cycle that met nothing shows that a trouble is over: one without new rows cannot, of columns.

    Parameters
    ----------
    rows
        that the cycle read.
    labels_known
        whether it found labels, and knows most of them.
    """
    if trouble.told.startswith(_LABELS):
        return labels_known
    return rows > 0 or trouble.told.startswith(_EMPTY)


def is_same_trouble(one: str, other: str) -> bool:
    """Whether two troubles that stop no cycle are told alike."""
    return any(one.startswith(kind) and other.startswith(kind) for kind in (_COLUMNS, _EMPTY, _LABELS))


def open_trouble_sentence(trouble: CycleTrouble | None, as_of: int | None) -> str | None:
    """What somebody is needed for; None: nothing, or what failed has succeeded since.

    Parameters
    ----------
    as_of
        of the last cycle that succeeded; None: none did.
    """
    if trouble is None:
        return None
    sentence = brief_line(readable_text(trouble.told))
    if trouble.failed:
        if trouble.failed <= _ONCE or (as_of is not None and trouble.as_of <= as_of):
            return None
        done = (
            "none has succeeded yet"
            if as_of is None
            else f"nothing newer than {utc_moment_words(as_of)} is known"
        )
        return (
            f"Cycles have failed {trouble.failed:,} times since {utc_moment_words(trouble.since)}, and "
            f"{done}: {sentence}"
        )
    remedy = next((end for start, end in _REMEDIES.items() if sentence.startswith(start)), _BRING_BACK)
    return f"{sentence}, since {utc_moment_words(trouble.since)}: {remedy}"
