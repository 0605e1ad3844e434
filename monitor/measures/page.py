"""The catalogue as a page of the documentation."""

from monitor.measures.catalogue import CATALOGUE, Direction, Family, Measure, Unit
from monitor.records.reading import Task

_HEADINGS = {
    Family.PERFORMANCE: "Performance: once labels are in",
    Family.SHIFT: "Shift against the reference",
    Family.QUALITY: "Data quality",
    Family.COMPARISON: "Control against treatment",
    Family.LABELS: "Labels",
    Family.VOLUME: "Volume",
}
_UNITS = {
    Unit.RATIO: "0 to 1",
    Unit.SECONDS: "s",
    Unit.RECORDS: "records",
    Unit.PLAIN: "",
    Unit.LABEL: "label",
    Unit.LABEL_SQUARED: "label²",
    Unit.AMOUNT: "profit matrix",
}
_BETTER = {Direction.HIGHER: "↑", Direction.LOWER: "↓", Direction.NONE: ""}
_INTRODUCTION = """\
# Measures

What the catalogue (`monitor/measures/catalogue.py`) says; `make docs` writes this page from it.
↑: higher is better, ↓: lower is. Bold ones are exposed to Prometheus by default for the whole model; all are
in the store and in `monitor show`.
"""


def page() -> str:
    """Markdown of all measures, by family."""
    return "\n".join([_INTRODUCTION, *(_section(family) for family in _HEADINGS)])


def _section(family: Family) -> str:
    rows = [_row(measure) for measure in CATALOGUE if measure.family is family]
    head = ["| measure | models | unit | definition | interval | reference |", "|---|---|---|---|---|---|"]
    return "\n".join([f"## {_HEADINGS[family]}", "", *head, *rows, ""])


def _row(measure: Measure) -> str:
    name = f"**`{measure.name}`**" if measure.headline else f"`{measure.name}`"
    tasks = "all" if measure.tasks == frozenset(Task) else ", ".join(sorted(measure.tasks))
    unit = f"{_UNITS[measure.unit]} {_BETTER[measure.direction]}".strip()
    interval = "" if measure.interval == "none" else measure.interval
    cells = [name, tasks, unit, measure.definition, interval, measure.reference]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
