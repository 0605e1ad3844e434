"""The catalogue's rows of the estimates before labels arrive, and of what they turned out to be wrong by."""

from dataclasses import replace

from monitor.measures.measure import CLASSES, MANY_CLASSES, NUMBERS, Direction, Family, Measure, Unit

_MAP = (
    "The map from score to P(positive) is a step function of at most 60 groups of score cells, learned from "
    "the labels of the reference, or, where it has none, of the window that settled before this one began; "
    "fewer than 10 labels of a class there: `too_few`. Segments: by the labels of the same segment there."
)
_PREDICTED = (
    "Where labels show that predictions are not the classes from one score on: `not_configured`. "
    "Nothing settled to learn from: `not_settled`."
)
_EACH = (
    "Multi-class, with class probabilities: of each class against the others, subject `class:NAME`, by its "
    "own probability, in 64 cells by whether it is the predicted class; not of segments."
)
_LEFT_OUT = (
    "Classes of which labels taught nothing, or none is expected, are left out; one with fewer than 10 "
    "labels: `too_few`."
)
_BOUND = (
    "an upper bound: a record is of one class, so that the mean squares of what labels add to the classes "
    "add up; at 95 % it held 96 to 100 % of what simulated labels gave"
)
_INTERVAL = (
    "prediction interval of the value that labels will give: normal, by the Poisson-binomial variance of the "
    "labels and that of the map"
)
_LITERATURE = "Garg et al. (2022), ICLR; Kumar, Liang & Ma (2019), NeurIPS 32"

_ESTIMATES = (
    Measure(
        "estimated_roc_auc",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        CLASSES,
        "`roc_auc` of the expected counts n·P(positive) and n·(1 - P(positive)) of the score groups. "
        f"{_EACH} {_MAP}",
        f"{_INTERVAL}, on the logit scale",
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_accuracy",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        CLASSES,
        "Mean P(positive) of the records predicted positive, and 1 - P(positive) of the others. Multi-class: "
        "mean P(right) of the most probable class, by its probability. "
        f"The map is that of `estimated_roc_auc`. {_PREDICTED}",
        _INTERVAL,
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_precision",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        CLASSES,
        "Mean P(positive) of the records predicted positive. None of them: `undefined`. "
        f"{_EACH} The map is that of `estimated_roc_auc`. {_PREDICTED}",
        _INTERVAL,
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_recall",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        CLASSES,
        "Σ P(positive) of the records predicted positive / Σ P(positive) of all. "
        f"{_EACH} The map is that of `estimated_roc_auc`. {_PREDICTED}",
        f"{_INTERVAL}; delta method",
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_roc_auc_macro",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        MANY_CLASSES,
        f"Mean of the classes' `estimated_roc_auc`. {_LEFT_OUT}",
        f"{_INTERVAL}, on the logit scale; {_BOUND}",
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_precision_macro",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        MANY_CLASSES,
        "Mean of the classes' `estimated_precision`; that of a class never predicted counts as 0. "
        f"{_LEFT_OUT}",
        f"{_INTERVAL}; the classes' variances add up",
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_recall_macro",
        Unit.RATIO,
        Direction.HIGHER,
        Family.ESTIMATE,
        MANY_CLASSES,
        f"Mean of the classes' `estimated_recall`. {_LEFT_OUT}",
        f"{_INTERVAL}; {_BOUND}",
        _LITERATURE,
        headline=True,
    ),
    Measure(
        "estimated_mean_absolute_error",
        Unit.LABEL,
        Direction.LOWER,
        Family.ESTIMATE,
        NUMBERS,
        "Mean of the expected absolute errors: those of 25 groups of the prediction's cells, learned from "
        "the labels of the reference, or, where it has none, of the window that settled before this one "
        "began. A group without errors lies between its neighbours. Without a reference there are no "
        "cells: `no_reference`; fewer than 10 errors: `too_few`; nothing settled to learn from: "
        "`not_settled`. Segments: by the errors of the same segment there.",
        "prediction interval of the value that labels will give: normal, by the variances of the errors and "
        "of the expected ones",
        "",
        headline=True,
    ),
)


def _error_of(estimate: Measure) -> Measure:
    name = estimate.name.removeprefix("estimated_")
    unit = estimate.unit if estimate.unit is Unit.LABEL else Unit.PLAIN
    return replace(
        estimate,
        name=f"{estimate.name}_error",
        unit=unit,
        direction=Direction.LOWER,
        definition=f"`{estimate.name}` - `{name}`, once the window has settled: the nearer to 0 the better. "
        "An interval without 0 says that labels are not as the map led one to expect.",
        interval="the estimate's, less the realised value",
        headline=False,
    )


ESTIMATE_ROWS: tuple[Measure, ...] = (*_ESTIMATES, *map(_error_of, _ESTIMATES))
