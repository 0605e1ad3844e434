"""The reference of all measures, rendered from the catalogue: `docs/measures.md`."""

from monitor.measures.catalogue import CATALOGUE, Direction, Family, Measure, Unit
from monitor.records.reading import Task

_HEAD = """# Measures

What the catalogue (`monitor/measures/catalogue.py`) says; `make docs` writes this page from it, and a test
holds it to that.

Every measure is a function of merged counts. It gives a value, the number n of records behind it, an
interval where theory or a bootstrap gives one (95 % unless `level` says otherwise), and the *resolution*:
the bound of what counting in cells can have changed, 0 where nothing. Where there is no value there is a
reason, never NaN and never a made-up 0:

| reason | means |
|---|---|
| `no_records`, `no_labels`, `no_reference` | there are none |
| `too_few` | fewer than 10 records a cell |
| `one_class` | all labels are of one class |
| `undefined` | a denominator is 0 |
| `out_of_range` | a term was too large to be summed exactly |
| `not_counted` | the column is missing, or versions and arms do not count it |

Sums are exact but for the rounding of each term to a fixed unit, 2⁻⁴⁰ of its scale. Bootstraps resample the
counts, not the records (`resamples`, 400), and are seeded by the counts: equal counts have equal intervals.
Records are taken as independent. An estimate whose estimated variance is 0 has no normal interval.

**Subjects** are `score`, `prediction`, `feature:NAME`, `class:NAME`, `actual:NAME,predicted:NAME`, or empty:
the whole model. Binary models have two classes: their precision, recall and the like are those of the
positive one.

↑: higher is better, ↓: lower is. Bold ones are exposed to Prometheus by default for the whole model; all are
in the store and in `monitor show`.
"""
_TITLES = {
    Family.PERFORMANCE: "Performance: once labels are in",
    Family.AVERAGES: "Averages over classes; of binary models where `measures` asks for them",
    Family.GAINS: "What the highest scores hold",
    Family.CALIBRATION: "Calibration: are the scores probabilities?",
    Family.ESTIMATE: "Estimates of performance: before labels are in ([when they fail](estimates.md))",
    Family.SHIFT: "Shift against the reference",
    Family.DISTANCES: "Further distances from the reference, where `measures` asks for them",
    Family.VALUES: "Where the numbers lie",
    Family.QUALITY: "Quality of the data",
    Family.COMPARISON: "Control against treatment",
    Family.LABELS: "Labels",
    Family.VOLUME: "Volume",
    Family.LOG: "The log as a whole: what no window has, counted by the audit within two horizons",
}
_UNITS = {
    Unit.RATIO: "ratio",
    Unit.SECONDS: "s",
    Unit.RECORDS: "records",
    Unit.PLAIN: "",
    Unit.LABEL: "label",
    Unit.LABEL_SQUARED: "label²",
    Unit.AMOUNT: "amount",
}
_BETTER = {Direction.HIGHER: "↑", Direction.LOWER: "↓", Direction.NONE: ""}


def markdown() -> str:
    """Text of `docs/measures.md`: all measures, by family."""
    return "\n".join([_HEAD, *(_section(family) for family in _TITLES)])


def _section(family: Family) -> str:
    rows = [_row(measure) for measure in CATALOGUE if measure.family is family]
    head = ["| measure | models | unit | definition | interval | reference |", "|---|---|---|---|---|---|"]
    return "\n".join([f"## {_TITLES[family]}", "", *head, *rows, ""])


def _row(measure: Measure) -> str:
    name = f"**`{measure.name}`**" if measure.headline else f"`{measure.name}`"
    tasks = "all" if measure.tasks == frozenset(Task) else ", ".join(sorted(measure.tasks))
    unit = f"{_UNITS[measure.unit]} {_BETTER[measure.direction]}".strip()
    interval = "" if measure.interval == "none" else measure.interval
    cells = [name, tasks, unit, measure.definition, interval, measure.reference]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
