"""What stands behind an alert: the cells that moved, the segments or features that contribute most."""

from collections.abc import Iterator, Sequence

from monitor.alerts.lifecycle import Alert
from monitor.alerts.phrases import of_measure
from monitor.alerts.rules import Rule
from monitor.core.measurement import Detail
from monitor.core.text import number
from monitor.measures.against import FIGURES

_MOST = 5  # lines of one table
_TITLES = {
    "cell": "Cells that moved most",
    "feature": "Features, the largest first",
    "segment": "Segments that contribute most",
}


def cause_lines(rule: Rule | None, group: Sequence[Alert]) -> list[str]:
    """Lines on the cause of the largest alert of a group; none where nothing is known."""
    cause = group[0].breach.cause
    if cause is None or not cause.rows:
        return []
    return ["", *_lines(rule, group, cause)]


def _lines(rule: Rule | None, group: Sequence[Alert], cause: Detail) -> Iterator[str]:
    if cause.columns == FIGURES:
        before, *_, n = cause.rows[0]
        yield f"It was {_cell(before)}, n {_cell(n)}, at the moment it is compared with."
        return
    first = cause.columns[0]
    subject = group[0].series.subject
    of = f" of {subject}" if len(group) > 1 and subject else ""
    yield f"{_TITLES.get(first, first.capitalize())}{of}:"
    for row in cause.rows[:_MOST]:
        name, *values = row
        if first == "feature" and rule is not None and isinstance(values[0], float | int):
            yield f"- {name}: {rule.measure} {of_measure(rule, values[0])}"
            continue
        named = zip(_columns(cause), values, strict=True)
        yield f"- {_cell(name)}: " + ", ".join(f"{column} {_cell(value)}" for column, value in named)


def _columns(cause: Detail) -> list[str]:
    return [column.replace("_", " ") for column in cause.columns[1:]]


def _cell(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value) or "unknown"
