"""The reference of all measures, rendered from the catalogue: `docs/measures.md`."""

from monitor.measures.catalogue import CATALOGUE, Direction, Family, Measure, Unit
from monitor.records.reading import Task

_HEAD = """# Measures

This page is made from the catalogue of measures, and a test holds it to that:
`python -c "from monitor.measures.documentation import markdown as m; print(m(), end='')" > docs/measures.md`.

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
positive one. *Exposed* measures are on the metrics page by default; `show` and the store have all of them.
"""
_TITLES = {
    Family.PERFORMANCE: "Performance",
    Family.SHIFT: "Shift against the reference",
    Family.QUALITY: "Quality of the data",
    Family.COMPARISON: "Control against treatment",
    Family.LABELS: "Labels",
    Family.VOLUME: "Volume",
}
_UNITS = {
    Unit.RATIO: "ratio (1 is all)",
    Unit.SECONDS: "seconds",
    Unit.RECORDS: "records",
    Unit.PLAIN: "plain number",
    Unit.LABEL: "unit of the label",
    Unit.LABEL_SQUARED: "square of the label's unit",
    Unit.AMOUNT: "amount, as configured",
}
_DIRECTIONS = {Direction.HIGHER: "higher", Direction.LOWER: "lower", Direction.NONE: "neither"}


def markdown() -> str:
    """Text of `docs/measures.md`."""
    parts = [_HEAD]
    for family, title in _TITLES.items():
        parts.append(f"## {title}\n")
        parts.extend(_section(measure) for measure in CATALOGUE if measure.family is family)
    return "\n".join(parts)


def _section(measure: Measure) -> str:
    tasks = "all" if measure.tasks == frozenset(Task) else ", ".join(sorted(measure.tasks))
    facts = [
        f"Unit: {_UNITS[measure.unit]}",
        f"better: {_DIRECTIONS[measure.direction]}",
        f"models: {tasks}",
        f"interval: {measure.interval}",
        f"exposed: {'yes' if measure.headline else 'no'}",
    ]
    lines = [f"### `{measure.name}`\n", f"{measure.definition}\n", f"{'; '.join(facts)}."]
    if measure.reference:
        lines.append(f"Reference: {measure.reference}.")
    return "\n".join(lines) + "\n"
