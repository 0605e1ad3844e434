"""Errors of numbers: formulas in `regression.py`."""

from functools import partial

from monitor.measures.catalogue.measure import NUMBERS, BetterDirection, Measure, MeasureFamily, MeasureUnit

_ORDER_STATISTICS = (
    "order statistics (binomial), outer edges of their cells: rather too wide; none where n is too small "
    "({n} at 95 %)"
)
_QUANTILE = (
    "Value of prediction - label that {percent} % of the records do not exceed: the order statistic of rank "
    "⌈n·{share}⌉, or the mean of it and the next where that is whole, from the middles of cells 1 % wide."
)
_row = partial(
    Measure, family=MeasureFamily.PERFORMANCE, tasks=NUMBERS, needs_labels=True, unit=MeasureUnit.LABEL
)
_error = partial(_row, direction=BetterDirection.LOWER)

REGRESSION_ROWS = (
    _error(
        "mean_squared_error",
        "Mean of (prediction - label)².",
        unit=MeasureUnit.LABEL_SQUARED,
        interval=(
            "normal, on the fourth moment of the error; at 95 % it held the true value in 94 % of simulated "
            "samples of 100 normal errors, in 87 % of 100 and 92 % of 400 errors with heavy tails "
            "(Student's t, 5 degrees of freedom)"
        ),
        source="scikit-learn `mean_squared_error`",
    ),
    _error(
        "root_mean_squared_error",
        "Square root of `mean_squared_error`.",
        interval=(
            "delta method; at 95 % it held the true value in 94 % of simulated samples of 100 normal "
            "errors, in 89 % of 100 and 92 % of 400 errors with heavy tails (Student's t, 5 degrees of "
            "freedom)"
        ),
        source="scikit-learn `root_mean_squared_error`",
        headline=True,
        nowcast=NUMBERS,
    ),
    _error(
        "mean_absolute_error",
        "Mean of |prediction - label|.",
        interval="normal",
        source="scikit-learn `mean_absolute_error`",
        headline=True,
        nowcast=NUMBERS,
    ),
    _row(
        "r2_score",
        "1 - Σ(prediction - label)² / Σ(label - mean label)². Labels all equal: `undefined`.",
        unit=MeasureUnit.PLAIN,
        direction=BetterDirection.HIGHER,
        interval=(
            "delta method on the means of error², label² and label; at 95 % it held the true value in 94 % "
            "of simulated samples of 100 normal errors, in 90 % of 100 and 93 % of 400 errors with heavy "
            "tails (Student's t, 5 degrees of freedom)"
        ),
        source="scikit-learn `r2_score`",
        headline=True,
    ),
    _error(
        "sum_of_squared_errors",
        "Σ(prediction - label)².",
        unit=MeasureUnit.LABEL_SQUARED,
        beside="mean_squared_error",
        total=True,
    ),
    _error(
        "half_sum_of_squared_errors",
        "½ Σ(prediction - label)²: the textbook's sum of squared errors.",
        unit=MeasureUnit.LABEL_SQUARED,
        source="Kelleher, Mac Namee & D'Arcy (2015), ch. 8",
        beside="mean_squared_error",
        total=True,
    ),
    _row(
        "bias",
        "Mean error: mean of prediction - label; above 0 the model says too much.",
        interval="normal",
        headline=True,
        nowcast=NUMBERS,
    ),
    _error(
        "median_absolute_error",
        "Median of |prediction - label|, from the middles of cells 1 % wide. Errors below 2⁻²⁰ of the scale "
        "count as 0, and the resolution says so.",
        interval=_ORDER_STATISTICS.format(n="below 6 records"),
        source=(
            "scikit-learn `median_absolute_error`; Conover (1999), Practical Nonparametric Statistics, 3.2"
        ),
        smooth=False,
    ),
    _error(
        "max_error",
        "Largest |prediction - label|: the middle of its cell, 1 % wide.",
        source="scikit-learn `max_error`",
    ),
    *(
        _row(
            name,
            _QUANTILE.format(percent=percent, share=percent / 100),
            interval=_ORDER_STATISTICS.format(n=f"below {smallest} records"),
            source="NumPy `quantile(method='averaged_inverted_cdf')`; Conover (1999), Practical "
            "Nonparametric Statistics, 3.2",
            smooth=False,
        )
        for name, percent, smallest in (
            ("error_p05", 5, 72),
            ("error_p25", 25, 13),
            ("error_median", 50, 6),
            ("error_p75", 75, 13),
            ("error_p95", 95, 72),
        )
    ),
    _error(
        "mean_absolute_percentage_error",
        "Mean of |prediction - label| / |label|; 1 is 100 %. A label that is 0: `undefined`.",
        unit=MeasureUnit.PLAIN,
        interval=(
            "normal; not to be trusted where labels come near 0: at 95 % it held the true value in 72 % of "
            "simulated samples of 100 whose normal labels lay 3.3 sd above 0, in 94 % with gamma labels"
        ),
        source="scikit-learn `mean_absolute_percentage_error`",
    ),
    _error(
        "relative_squared_error",
        "`mean_squared_error` / that of always saying the labels' mean: 1 - `r2_score`, which is the skill "
        "against that baseline. Labels all equal: `undefined`.",
        unit=MeasureUnit.PLAIN,
        interval="delta method, that of `r2_score`",
    ),
    _error(
        "relative_root_mean_squared_error",
        "Square root of `relative_squared_error`.",
        unit=MeasureUnit.PLAIN,
        interval="delta method on `relative_squared_error`",
    ),
    _error(
        "relative_absolute_error",
        "`mean_absolute_error` / that of always saying the labels' median. The baseline is exact but for "
        "the records in the median's own cell (10 % wide, around the reference's median or else 0), which "
        "the resolution bounds. Labels all equal, or all in one cell: `undefined`.",
        unit=MeasureUnit.PLAIN,
        interval="delta method",
    ),
    _row(
        "d2_absolute_error_score",
        "Skill against the median: 1 - `relative_absolute_error`.",
        unit=MeasureUnit.PLAIN,
        direction=BetterDirection.HIGHER,
        interval="delta method",
        source="scikit-learn `d2_absolute_error_score`",
    ),
)
