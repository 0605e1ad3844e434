"""Estimates before labels come, and their errors: formulas in `score_estimates.py`, `class_estimates.py`."""

from dataclasses import replace
from functools import partial

from monitor.measures.catalogue.measure import (
    CLASSES,
    MANY_CLASSES,
    NUMBERS,
    BetterDirection,
    Measure,
    MeasureFamily,
    MeasureUnit,
)

_MAP = (
    "The map from score to P(positive) is a step function of at most 60 groups of score cells, learned from "
    "the labels of the reference, or, where it has none, of the window that settled before this one began; "
    "fewer than 10 labels of a class there: `too_few`. Segments: by the labels of the same segment there."
)
_PREDICTED = (
    "Where labels show that predictions are not the classes from one score on, or, multi-class, not one of "
    "the largest probabilities: `not_configured`. "
    "Nothing settled to learn from: `not_settled`."
)
_EACH = (
    "Multi-class, with class probabilities: of each class against the others, subject `class:NAME`, in 64 "
    "cells of its own probability; not of segments."
)
_ALIKE = (
    "Map and classes are those of `estimated_roc_auc`; `not_configured` and `not_settled` as with "
    "`estimated_accuracy`."
)
_LEFT_OUT = (
    "Classes of which labels taught nothing, or none is expected, are left out; one with fewer than 10 "
    "labels: `too_few`."
)
_BOUND = (
    "an upper bound: how the classes go together is not counted; at 95 % it held 96 to 100 % of what "
    "simulated labels gave"
)
_INTERVAL = (
    "prediction interval of what labels will give: normal, by the variances of the labels "
    "(Poisson-binomial) and of the map"
)
_LITERATURE = "Garg et al. (2022), ICLR; Kumar, Liang & Ma (2019), NeurIPS 32"
_estimate = partial(
    Measure,
    family=MeasureFamily.ESTIMATE,
    tasks=CLASSES,
    direction=BetterDirection.HIGHER,
    headline=True,
    source=_LITERATURE,
)
_number = partial(Measure, family=MeasureFamily.ESTIMATE, headline=True)

_ESTIMATES = (
    _estimate(
        "estimated_roc_auc",
        "`roc_auc` of the expected counts n·P(positive) and n·(1 - P(positive)) of the score groups. "
        f"{_EACH} {_MAP}",
        interval=f"{_INTERVAL}, on the logit scale",
        estimates="roc_auc",
        percent=False,
    ),
    _estimate(
        "estimated_accuracy",
        "Mean P(positive) of the records predicted positive, and 1 - P(positive) of the others. Multi-class: "
        "mean P(right) of the most probable class, by its probability. "
        f"The map is that of `estimated_roc_auc`. {_PREDICTED}",
        interval=_INTERVAL,
        estimates="accuracy",
    ),
    _estimate(
        "estimated_precision",
        f"Mean P(positive) of the records predicted positive. None of them: `undefined`. {_ALIKE}",
        interval=_INTERVAL,
        estimates="precision",
    ),
    _estimate(
        "estimated_recall",
        f"Σ P(positive) of the records predicted positive / Σ P(positive) of all. {_ALIKE}",
        interval=f"{_INTERVAL}; delta method",
        estimates="recall",
    ),
    _estimate(
        "estimated_roc_auc_macro",
        f"Mean of the classes' `estimated_roc_auc`. {_LEFT_OUT}",
        tasks=MANY_CLASSES,
        interval=f"{_INTERVAL}, on the logit scale; {_BOUND}",
        estimates="roc_auc_macro",
        percent=False,
    ),
    _estimate(
        "estimated_precision_macro",
        "Mean of the classes' `estimated_precision`; that of a class never predicted counts as 0. "
        f"{_LEFT_OUT}",
        tasks=MANY_CLASSES,
        interval=f"{_INTERVAL}; the classes' variances add up",
        estimates="precision_macro",
    ),
    _estimate(
        "estimated_recall_macro",
        f"Mean of the classes' `estimated_recall`. {_LEFT_OUT}",
        tasks=MANY_CLASSES,
        interval=f"{_INTERVAL}; {_BOUND}",
        estimates="recall_macro",
    ),
    _number(
        "estimated_mean_absolute_error",
        "Mean of the expected absolute errors: those of 25 groups of the prediction's cells, learned from "
        "the labels of the reference, or, where it has none, of the window that settled before this one "
        "began. A group without errors lies between its neighbours. Without a reference there are no cells: "
        "`no_reference`; fewer than 10 errors: `too_few`; nothing settled to learn from: `not_settled`. "
        "Segments: by the errors of the same segment there.",
        tasks=NUMBERS,
        unit=MeasureUnit.LABEL,
        direction=BetterDirection.LOWER,
        interval=(
            "prediction interval of what labels will give: normal, by the variances of the errors and of the "
            "expected ones"
        ),
        estimates="mean_absolute_error",
    ),
)
ESTIMATED = tuple(estimate.name for estimate in _ESTIMATES)
ESTIMATE_ROWS = (
    *_ESTIMATES,
    *(
        replace(
            estimate,
            name=f"{estimate.name}_error",
            unit=estimate.unit if estimate.unit is MeasureUnit.LABEL else MeasureUnit.PLAIN,
            direction=BetterDirection.LOWER,
            definition=f"`{estimate.name}` - `{estimate.estimates}`, once the window has settled. An "
            "interval without 0: labels are not as the map led one to expect.",
            interval="the estimate's, less the realised value",
            headline=False,
            needs_labels=True,
        )
        for estimate in _ESTIMATES
    ),
)
