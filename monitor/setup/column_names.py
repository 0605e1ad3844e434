"""Names that columns of logs usually have, by role, the clearest first: patterns of lower-case names."""

import re
from collections.abc import Iterable

_WHEN = r"(_?(time|timestamp|ts|at|on|date|datetime|dt|utc|ms|millis|epoch))"

WORDS: dict[str, tuple[str, ...]] = {
    "id": (
        r"(prediction|pred|request|inference|scoring)_?(id|uuid|key|no|nr)",
        r"id|uuid|guid|key|ref|reference",
        r".*_?(id|uuid|key|no|nr)",
    ),
    "event_time": (
        rf"(event|predict(ion|ed)|inference|request(ed)?|scor(ing|ed)|decision|decided){_WHEN}",
        r"event|timestamp|time|ts|datetime|date|at",
        rf"(created|made|asked){_WHEN}?",
        rf".*{_WHEN}",
    ),
    "logged_at": (
        rf"(logged|inserted|ingested|written|recorded|stored|loaded|saved|arrived|landed|received|visible){_WHEN}?",
        rf"(row_)?created{_WHEN}",
    ),
    "reported_at": (
        rf"report(ed)?{_WHEN}?",
        rf"(label(l?ed)?|observed|resolved|confirmed|known|settled|feedback|outcome){_WHEN}?",
        rf"(logged|inserted|ingested|written|recorded|created|loaded|arrived|updated|received){_WHEN}?",
        rf".*{_WHEN}",
    ),
    "score": (
        r"(.*_)?(score|probability|proba|prob)",
        r"(p|prob|score|proba|risk|pd|likelihood|confidence)(_.*)?",
        r".*_(risk|likelihood|confidence|p)",
    ),
    "prediction": (
        r"prediction|predicted|pred|y_?pred|y_?hat|decision|forecast|estimate",
        r"(pred|predicted|prediction|forecast|estimated|decided)_.*|.*_(pred|predicted|prediction|hat|forecast|estimate|decision)",
    ),
    "version": (
        r"model_?(version|ver|release|tag|hash)",
        r"version|release|build(_?(no|nr|id|number|version))?",
        r"model(_?(name|id))?",
        r".*_version",
    ),
    "arm": (
        r"arm|group|variant|treatment|experiment(_?(arm|group|variant))?|(ab|test)_?(group|arm|variant)",
    ),
    "serving": (r"is_?(shadow|serving|live)|shadow|serving", r"(serving_?)?(mode|stage)"),
    "part": (
        r"(.*_)?(month|period|quarter|year|week|day|date)|(.*_)?(line|leg|seq|item|part|step|position)",
    ),
    "label": (
        r"label|actual|truth|ground_?truth|target|y|y_?true|outcome|true_(class|label|value)",
        r"(actual|true|real|observed|final|was|is|has)_.*|.*_(label|actual|true|truth|outcome|observed)",
        r"result|class|value",
    ),
    "revision": (r"revision|rev|version|seq|sequence|correction|attempt",),
}


def name_rank(role: str, name: str) -> int | None:
    """How clearly a column's name says its role: 0 the clearest; None if it does not.

    >>> name_rank("event_time", "createdAt"), name_rank("version", "Model Ver"), name_rank("score", "carrier")
    (2, 0, None)
    """
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    plain = re.sub(r"\W+", "_", parts).strip("_")
    return next((at for at, pattern in enumerate(WORDS[role]) if re.fullmatch(pattern, plain)), None)


def clearest_name(role: str, names: Iterable[str]) -> str | None:
    """Name that says a role most clearly, the first of equals; None if none does."""
    ranked = [(place, name) for name in names if (place := name_rank(role, name)) is not None]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def rank_or_last(role: str, name: str) -> int:
    """How clearly a name says a role, as a key to sort by."""
    place = name_rank(role, name)
    return 99 if place is None else place
