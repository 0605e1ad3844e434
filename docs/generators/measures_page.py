"""The reference of all measures, rendered from the catalogue: `docs/measures.md`, a page for each family."""

from collections.abc import Callable, Mapping

from monitor.core.measurement import Reason
from monitor.measures.catalogue import CATALOGUE
from monitor.measures.catalogue.measure import (
    ALWAYS,
    DEFAULT_FAMILIES,
    BetterDirection,
    Measure,
    MeasureFamily,
    MeasureUnit,
)
from monitor.records.reading import ModelTask

_HEAD = """# Measures

Every measure that there is: what it means, its unit, which way is better, how sure it is, where it is from,
and its name in Prometheus: a page for each family. Written by `make docs` from the catalogue
(`monitor/measures/`); a test compares.

| family | measures |
|---|---|
{families}

## How to read a measure

> `accuracy` 0.812 (0.790 to 0.833), n 1,204, settled; `majority_accuracy` 0.785

* **The value** describes the window's records, exactly, but for the *resolution*: the bound of what
  counting in cells can have changed, 0 where nothing.
* **n** is how many records it stands on: those with a label, those predicted positive, those with a value
  of the feature, as the definition says.
* **The interval** says how sure one can be of what lies behind these records. 95 % unless `level` says
  otherwise: of a hundred such intervals about five are wrong, and nobody knows which. Two values whose
  intervals overlap widely have not been shown to differ. Where an interval is narrower than it should be is
  [simulated and shown](intervals.md).
* **Provisional, nowcast or settled**: the first labels of a window are not a sample of all of them
  ([why](concepts.md#late-truth)). Decide by what is settled; watch the nowcast, of the whole model:
  {nowcasts}.
* **Better than what?** Most values need a second one beside them: `accuracy` the `majority_accuracy`,
  `stability_index` its `stability_index_critical`, each distance its own, `expected_calibration_error` its
  `expected_calibration_error_critical`, `brier_score` the `brier_skill_score`, `root_mean_squared_error`
  the `r2_score`. A *critical value* is exceeded in 5 of 100 windows though nothing changed.
* **A hundred measures are a hundred chances**: where 30 features are tested each day, one or two stand
  above their critical value each day though nothing has happened. What stays there, or grows, has happened.

**`against`**: rows that bear it compare. Shift against the window before (`previous`) or against trailing
weeks (`28d`), in the place of the reference; performance as the difference from the reference's own labels
(`reference`), the window before, or trailing weeks, with an interval that 0 lies outside of where the
difference is more than chance. Key `against`; not in Prometheus. Against a `season` of the reference:
`stability_index`, `ks_distance` and their like, whose critical value and p-value know how much earlier
periods differ, and the difference of each `mean` with the expected band ([how](concepts.md#seasons)).

**`detail`**: a small table behind a value: points of a curve, deciles, the reliability table, the cells
that moved, the segments that contribute, the figures of the other moment. Its columns have names.
`monitor show --explain` prints it, in JSON and CSV too, and exports hold it. Of the whole model alone; not in
Prometheus.

**Subjects** are `score`, `prediction`, `feature:NAME`, `class:NAME`, `actual:NAME,predicted:NAME`,
`top:SHARE`, or empty: the whole model. Binary models have two classes: their precision, recall and the like
are those of the positive one.

**Families**: the key `measures` chooses among those that may be left out; each page says which models
have its family by default.

**Prometheus**: measures with a name there are exposed for the whole model. They have `_lower` and `_upper`
where there is an interval. They have `_reference` (what the reference's labels gave) where performance is
compared with the reference. Their labels are `model`, `version`, `segment`, `window`, `subject`, and
`truth` where they stand on labels. All measures are in the store, in `monitor show` and in exports.

## Where there is no value

There is a reason, never NaN and never a made-up 0:

| reason | means |
|---|---|
"""
_FOOT = """
Sums are exact but for the rounding of each term to a fixed unit, 2⁻⁴⁰ of its scale. Where that is more than
a millionth of a mean error it is its `resolution`; where it is more than a tenth there is no value.
Bootstraps resample the counts, not the records (`resamples`, 400), and are seeded by the counts: equal
counts have equal intervals. Records are taken as independent; with `dependence = "day"` the intervals of
windows of 20 days or more are made of how much their days differ, but for those that say *none by days*.
Where the estimated variance is 0 there is no normal interval.
"""
_PUBLISHED = """
## Where a published figure differs

Tests hold the measures to worked examples of textbooks and lectures (`tests/golden`). Where a source prints
something else than its own data give, ours is what the data give:

* Kelleher, Mac Namee & D'Arcy (2015), ch. 8, and its slides: a true positive rate of 0.777 is cut off, not
  rounded (7/9); the confusion matrix [[4, 4], [2, 10]] at the threshold 0.75 has 8 positives where the data
  have 9; the K-S separation, reached at the score 0.657, is written without its absolute value.
* "Model Evaluation" (CS576): R² of 0.889 and 0.776; 1 - SSE/SST of its 30 records is 0.912 and 0.796.
* Heskes, "Model Evaluation": a ROC curve whose three records of the score 0.85 tie has an area by their
  order, 0.6 or 0.52; ties count half here. A sign test of 0.4199 has two digits swapped: 0.4119.
* "Estimation of future model performance": the upper bound 0.9448 of a Wilson interval is rounded to 0.95.
"""
_REASONS: Mapping[Reason, str] = {
    Reason.NO_RECORDS: "the window, or the slice, holds no record",
    Reason.NO_LABELS: "none of its records has a label (and a prediction, or a score)",
    Reason.NO_REFERENCE: "there is no reference, or it lacks the column",
    Reason.TOO_FEW: "there are records, but fewer than the measure needs: its definition says how many",
    Reason.ONE_CLASS: "all labels are of one class, and it takes two",
    Reason.UNDEFINED: "a denominator is 0, as the precision's where nothing is predicted positive",
    Reason.OUT_OF_RANGE: "a term was too large to be summed exactly, or lies in a cell without an end",
    Reason.NOT_COUNTED: "the column is missing, slices of this kind do not count it, or the time that it is "
    "compared with was not counted whole",
    Reason.TOO_SHORT: "fewer than three earlier periods of its season have been counted",
    Reason.NOT_SETTLED: "it needs a settled window, and there is none yet",
    Reason.LEARNING: "too few days have been learned to know what to expect",
    Reason.TOO_EARLY: "too few labels are in for a nowcast, or too little is known of how late they are",
    Reason.NOT_CONFIGURED: "it needs a key that is not given (`detect`), or predictions that follow from the "
    "score by one threshold, or from the largest of several probabilities",
    Reason.SELECTIVE_LABELS: "labels come for some predictions only, and it compares them with all: see "
    "[labels that only some records get](concepts.md#labels-that-only-some-records-get)",
}
_TITLES: Mapping[MeasureFamily, tuple[str, str]] = {
    MeasureFamily.PERFORMANCE: (
        "Performance: once labels are in",
        "How good the predictions were. Records that have a label and a prediction, or a score.",
    ),
    MeasureFamily.AVERAGES: (
        "Averages over classes",
        (
            "One number for many classes: *macro* counts each class alike, *weighted* by its records, "
            "*micro* each record alike."
        ),
    ),
    MeasureFamily.GAINS: (
        "What the highest scores hold",
        (
            "For models whose highest scores are acted upon: how many of the positives are found there, "
            "and what that is worth."
        ),
    ),
    MeasureFamily.CALIBRATION: (
        "Calibration: are the scores probabilities?",
        (
            "Of records with a score of 0.2 a fifth should be positive. A model may rank well and be off "
            "here, and the other way round."
        ),
    ),
    MeasureFamily.ESTIMATE: (
        "Estimates of performance: before labels are in",
        (
            "What labels will probably give, from the scores or predictions alone. Estimates, not "
            "measurements, blind to a change of what scores mean: [when they fail](estimates.md)."
        ),
    ),
    MeasureFamily.SHIFT: (
        "Shift against the reference",
        (
            "Whether what the model is fed, or says, is still distributed as it was; once labels are "
            "settled, whether these are. A shift is no loss of performance yet, and a loss needs no shift. "
            "Other conventions on the same data: [the stability index](stability-index.md)."
        ),
    ),
    MeasureFamily.DISTANCES: (
        "Further distances from the reference",
        "The same question by other yardsticks, for those who are used to them.",
    ),
    MeasureFamily.VALUES: (
        "Where the numbers lie",
        "Mean, spread and ends of scores, predictions and numeric features.",
    ),
    MeasureFamily.QUALITY: (
        "Quality of the data",
        "Broken feeds show here first.",
    ),
    MeasureFamily.COMPARISON: (
        "Comparisons: control and treatment, champion and challenger",
        (
            "*Always valid* ones may be looked at, and stopped at, at any time: they stand on all settled "
            "days since a date ([why](adr/0013-comparisons-that-go-on.md)). The others are for one look "
            "at a window that was chosen beforehand."
        ),
    ),
    MeasureFamily.LABELS: (
        "Labels",
        "How many are there, how late they came, and what was odd about them.",
    ),
    MeasureFamily.VOLUME: (
        "Volume",
        "How many records there are, and what was odd about their rows.",
    ),
    MeasureFamily.DAILY: (
        "Days against what was expected of them",
        (
            "What the default alerts judge: each day once, against the 56 days before it, within the budget "
            "of false alerts ([how](alerts.md))."
        ),
    ),
    MeasureFamily.LOG: (
        "The log as a whole",
        "What no window has, counted by the daily audit within two horizons.",
    ),
}
_UNITS = {
    MeasureUnit.RATIO: "ratio",
    MeasureUnit.SECONDS: "s",
    MeasureUnit.RECORDS: "records",
    MeasureUnit.PLAIN: "",
    MeasureUnit.LABEL: "label",
    MeasureUnit.LABEL_SQUARED: "label²",
    MeasureUnit.AMOUNT: "amount",
}
_BACK = (
    "[How to read them](../measures.md#how-to-read-a-measure), and why there may be "
    "[no value](../measures.md#where-there-is-no-value)."
)
_BETTER = {
    BetterDirection.HIGHER: ", higher is better",
    BetterDirection.LOWER: ", lower is better",
    BetterDirection.NONE: "",
}


def pages(metric: Callable[[Measure], str]) -> dict[str, str]:
    """Path and text of the page on all measures, and of each family's.

    Parameters
    ----------
    metric
        name of the family of metrics that shows a measure; empty: none does.
    """
    reasons = "\n".join(f"| `{reason}` | {_REASONS[reason]} |" for reason in Reason)
    head = _HEAD.replace(
        "{nowcasts}", ", ".join(f"`{name}`" for name in sorted(one.name for one in CATALOGUE if one.nowcast))
    )
    families = [family for family in MeasureFamily if _of(family)]
    listed = "\n".join(_listed(family) for family in families)
    text = "\n".join([head.replace("{families}", listed) + reasons, _FOOT, _PUBLISHED.strip(), ""])
    return {"docs/measures.md": text} | {
        f"docs/measures/{family}.md": _page(family, metric) for family in families
    }


def _of(family: MeasureFamily) -> list[Measure]:
    return [measure for measure in CATALOGUE if measure.family is family]


def _listed(family: MeasureFamily) -> str:
    page = f"measures/{family}.md"
    names = ", ".join(f"[`{measure.name}`]({page}#{measure.name})" for measure in _of(family))
    return f"| [{_TITLES[family][0]}]({page}) | {names} |"


def _page(family: MeasureFamily, metric: Callable[[Measure], str]) -> str:
    title, text = _TITLES[family]
    text = text.replace("](", "](../")
    told = [_told(measure, metric(measure)) for measure in _of(family)]
    return "\n\n".join([f"# {title}", f"{text} {_default(family)}".strip(), _BACK, *told]) + "\n"


def _default(family: MeasureFamily) -> str:
    """Which models have an optional family without asking."""
    if family in ALWAYS:
        return ""
    able = {task for measure in CATALOGUE if measure.family is family for task in measure.tasks}
    having = {task for task in able if family in DEFAULT_FAMILIES[task]}
    if not having:
        return f"Only where `measures` names `{family}`."
    of = "" if having == able else f" of {' and '.join(sorted(having))} models"
    return f"Family `{family}`, there by default{of}."


def _told(measure: Measure, metric: str) -> str:
    """A measure: its facts, its definition, how sure it is and where it is from."""
    unit = f"{_UNITS[measure.unit]}{_BETTER[measure.direction]}".removeprefix(", ")
    tasks = "all models" if measure.tasks == frozenset(ModelTask) else ", ".join(sorted(measure.tasks))
    interval = measure.certainty + ("" if measure.smooth else "; none by days")
    facts = [tasks, unit, f"in Prometheus `{metric}`" if metric else ""]
    parts = [f"## `{measure.name}`", f"*{' · '.join(filter(None, facts))}*", measure.definition]
    parts += [f"Interval: {interval}."] if interval else []
    parts += [f"Source: {measure.source}."] if measure.source else []
    return "\n\n".join(parts)
