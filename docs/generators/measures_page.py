"""Measures, rendered from the catalogue: their reference, and families and reasons of `docs/measures.md`."""

import re
from collections.abc import Callable, Mapping

from measure_pictures import picture_title

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

_REFERENCE = """# Reference of measures

Each measure: its task (left out: all models), unit, better direction and name in Prometheus; its definition,
interval and source. Written by `make docs` from the catalogue (`monitor/measures/`); a test compares.
[Measures](measures.md) says how to read them, what to do when one moves, and why there may be
[no value](measures.md#where-there-is-no-value). How often intervals hold the true value is
[simulated](evidence.md#how-far-the-intervals-can-be-trusted).
"""
_SHORT = 5  # words from which on a text is said once in a family
_SIMULATED = re.compile(r"[;:] at 95 % it held .*")  # the page of evidence has the figures
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
            "measurements, blind to a change of what scores mean: "
            "[when they fail](concepts.md#when-they-fail)."
        ),
    ),
    MeasureFamily.SHIFT: (
        "Shift against the reference",
        (
            "Whether what the model is fed, or says, is still distributed as it was; once labels are "
            "settled, whether these are. A shift is no loss of performance yet, and a loss needs no shift. "
            "Other conventions on the same data: [below](#the-stability-index-ours-and-others)."
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
            "What the default alerts check: each day once, against the 56 days before it, within the budget "
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
_TO_DO: Mapping[MeasureFamily, str] = {
    MeasureFamily.PERFORMANCE: (
        "Look at the segments that contribute most (`monitor show --explain`), at the newest version, and at "
        "what shifted in the same window. Roll the version back if the fall began with it, repair a broken "
        "feature; else retrain."
    ),
    MeasureFamily.AVERAGES: (
        "Compare *macro* with *weighted*: where only *macro* fell, a rare class is lost. The recall of each "
        "class (`class:NAME`) says which."
    ),
    MeasureFamily.GAINS: (
        "Fewer positives at the top: look whether the ranking is worse (`roc_auc`). If it holds, compare "
        "your threshold with `best_profit_threshold`."
    ),
    MeasureFamily.CALIBRATION: (
        "Look at slope and intercept. Ranking holds and these are off: recalibrate on settled labels. "
        "Ranking fell too: begin with performance."
    ),
    MeasureFamily.ESTIMATE: (
        "Look at the features that shifted, and wait for labels before you act. Where `estimated_*_error` "
        "stays away from 0, do not go by estimates: scores mean something else now."
    ),
    MeasureFamily.SHIFT: (
        "Above its critical value *and* 0.1: look at the cells that moved (`detail`), at the feature's "
        "source and at what was deployed. Then look at performance: a shift alone harms nothing."
    ),
    MeasureFamily.DISTANCES: (
        "As for a shift. Choose one yardstick: ten of them on one feature are ten chances of a false alert."
    ),
    MeasureFamily.VALUES: (
        "A mean that jumps by a factor is a unit. A higher `out_of_range_rate` is a new source, or a code "
        "for missing values such as −999. `score_move` names the features that move the score."
    ),
    MeasureFamily.QUALITY: (
        "Missing: a join that finds nothing, a renamed column, a service that times out. Invalid: a changed "
        "format. New values: map them, or retrain."
    ),
    MeasureFamily.COMPARISON: (
        "Look at the arms' shares first: if they are not the planned ones, nothing follows. Then end the "
        "experiment by its plan, or stop the arm that harms."
    ),
    MeasureFamily.LABELS: (
        "Coverage falls or delays grow: look at the job that writes labels. Until it is back go by nowcasts "
        "and shift. Corrections grow: ask what corrects them."
    ),
    MeasureFamily.VOLUME: (
        "Fewer records: the traffic, the serving log, a client that was lost. `duplicate_records`: rows are "
        "logged twice. `log_delay_p90`: rows are still to come."
    ),
    MeasureFamily.DAILY: (
        "At 1 an alert fires: `monitor changes` says what moved and since when. A large `detectable_change` "
        "hides small changes: the subject has few records, or varies by itself."
    ),
    MeasureFamily.LOG: (
        "Ages grow: the log or the label feed stopped. Misdated, future, orphaned rows: look at what writes "
        "them. `panes_waiting` grows: raise `recount_rows`, or `every`."
    ),
}
_BETTER = {
    BetterDirection.HIGHER: ", higher is better",
    BetterDirection.LOWER: ", lower is better",
    BetterDirection.NONE: "",
}


def reference(metric: Callable[[Measure], str]) -> str:
    """The page that has every measure.

    Parameters
    ----------
    metric
        name of the family of metrics that shows a measure; empty: none does.
    """
    parts = [_REFERENCE]
    for family in _families():
        parts.append(f"## {_TITLES[family][0]}\n")
        first = dict[tuple[str, str], str]()  # by (what, text): the measure that said it first
        parts += [f"{_described(measure, metric(measure), first)}\n" for measure in _of(family)]
    return "\n".join(parts)


def families() -> str:
    """What each family says, its picture, what to do when it moves, and its measures."""
    return "\n".join(_family(family) for family in _families())


def reasons() -> str:
    """Table of the reasons why there is no value."""
    rows = "\n".join(f"| `{reason}` | {_REASONS[reason]} |" for reason in Reason)
    return f"| reason | means |\n|---|---|\n{rows}\n"


def _families() -> list[MeasureFamily]:
    return [family for family in MeasureFamily if _of(family)]


def _of(family: MeasureFamily) -> list[Measure]:
    return [measure for measure in CATALOGUE if measure.family is family]


def _family(family: MeasureFamily) -> str:
    title, text = _TITLES[family]
    names = ", ".join(f"[`{one.name}`](measures-reference.md#{one.name})" for one in _of(family))
    return "\n".join(
        [
            f"### {title}\n",
            f"{text} {_default(family)}".strip() + "\n",
            f"![{picture_title(family)}](pictures/measures-{family}.svg)\n",
            f"**What to do when it moves**: {_TO_DO[family]}\n",
            f"{names}\n",
        ]
    )


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


def _described(measure: Measure, metric: str, first: dict[tuple[str, str], str]) -> str:
    """A measure: its facts, its definition; how sure it is and where it is from, or as which one before.

    Parameters
    ----------
    first
        by (what is said, its text): the name of the measure that said it first; what is new is added.
    """
    unit = f"{_UNITS[measure.unit]}{_BETTER[measure.direction]}".removeprefix(", ")
    tasks = "" if measure.tasks == frozenset(ModelTask) else ", ".join(sorted(measure.tasks))
    facts = [tasks, unit, "nowcast" if measure.nowcast else "", f"`{metric}`" if metric else ""]
    said = " · ".join(filter(None, facts))
    parts = [f"### `{measure.name}`", *([f"*{said}*"] if said else []), measure.definition]
    for name, text in (("Interval", _interval(measure)), ("Source", measure.source)):
        one = first.setdefault((name, text), measure.name)
        short = one == measure.name or len(text.split()) < _SHORT
        parts += [f"{name}: {text if short else f'as `{one}`'}."] if text else []
    return "\n\n".join(parts)


def _interval(measure: Measure) -> str:
    return _SIMULATED.sub("", measure.certainty) + ("" if measure.smooth else "; none by days")
