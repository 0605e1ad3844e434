"""The catalogue's rows of errors of numbers, besides the four best known."""

from monitor.measures.measure import NUMBERS, Direction, Family, Measure, Unit

_ORDER_STATISTICS = (
    "order statistics by the binomial distribution, outer edges of their cells: at least as wide as the "
    "level says; none where n is too small ({n} at 95 %)"
)
_QUANTILE = (
    "Value of prediction - label that {percent} % of the records do not exceed: the order statistic of rank "
    "⌈n·{share}⌉, or the mean of it and the next where that is whole, from the middles of cells 1 % wide."
)


def _quantile(name: str, percent: int, smallest: int) -> Measure:
    return Measure(
        name,
        Unit.LABEL,
        Direction.NONE,
        Family.PERFORMANCE,
        NUMBERS,
        _QUANTILE.format(percent=percent, share=percent / 100),
        _ORDER_STATISTICS.format(n=f"below {smallest} records"),
        "NumPy `quantile(method='averaged_inverted_cdf')`; Conover (1999), Practical Nonparametric "
        "Statistics, 3.2",
        headline=False,
        smooth=False,
    )


ERROR_ROWS: tuple[Measure, ...] = (
    Measure(
        "sum_of_squared_errors",
        Unit.LABEL_SQUARED,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Σ(prediction - label)².",
        "see `mean_squared_error`",
        "",
        headline=False,
        total=True,
    ),
    Measure(
        "half_sum_of_squared_errors",
        Unit.LABEL_SQUARED,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "½ Σ(prediction - label)²: the textbook's sum of squared errors.",
        "see `mean_squared_error`",
        "Kelleher, Mac Namee & D'Arcy (2015), ch. 8",
        headline=False,
        total=True,
    ),
    Measure(
        "bias",
        Unit.LABEL,
        Direction.NONE,
        Family.PERFORMANCE,
        NUMBERS,
        "Mean error: mean of prediction - label; above 0 the model says too much.",
        "normal",
        "",
        headline=True,
    ),
    Measure(
        "median_absolute_error",
        Unit.LABEL,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Median of |prediction - label|, from the middles of cells 1 % wide. Errors below 2⁻²⁰ of the "
        "scale count as 0, and the resolution says so.",
        _ORDER_STATISTICS.format(n="below 6 records"),
        "scikit-learn `median_absolute_error`; Conover (1999), Practical Nonparametric Statistics, 3.2",
        headline=False,
        smooth=False,
    ),
    Measure(
        "max_error",
        Unit.LABEL,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Largest |prediction - label|: the middle of its cell, 1 % wide.",
        "none",
        "scikit-learn `max_error`",
        headline=False,
    ),
    _quantile("error_p05", 5, 72),
    _quantile("error_p25", 25, 13),
    _quantile("error_median", 50, 6),
    _quantile("error_p75", 75, 13),
    _quantile("error_p95", 95, 72),
    Measure(
        "mean_absolute_percentage_error",
        Unit.PLAIN,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Mean of |prediction - label| / |label|; 1 is 100 %. A label that is 0: `undefined`.",
        "normal; not to be trusted where labels come near 0: at 95 % it held the true value in 72 % of "
        "simulated samples of 100 whose normal labels lay 3.3 sd above 0, in 94 % with gamma labels",
        "scikit-learn `mean_absolute_percentage_error`",
        headline=False,
    ),
    Measure(
        "relative_squared_error",
        Unit.PLAIN,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "`mean_squared_error` / that of always saying the labels' mean: 1 - `r2_score`, which is the skill "
        "against that baseline. Labels all equal: `undefined`.",
        "delta method, that of `r2_score`",
        "",
        headline=False,
    ),
    Measure(
        "relative_root_mean_squared_error",
        Unit.PLAIN,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Square root of `relative_squared_error`.",
        "delta method on `relative_squared_error`",
        "",
        headline=False,
    ),
    Measure(
        "relative_absolute_error",
        Unit.PLAIN,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "`mean_absolute_error` / that of always saying the labels' median. The baseline is exact but for the "
        "records in the median's own cell (10 % wide, around the reference's median or else 0), which the "
        "resolution bounds. Labels all equal, or all in one cell: `undefined`.",
        "delta method",
        "",
        headline=False,
    ),
    Measure(
        "d2_absolute_error_score",
        Unit.PLAIN,
        Direction.HIGHER,
        Family.PERFORMANCE,
        NUMBERS,
        "Skill against the median: 1 - `relative_absolute_error`.",
        "delta method",
        "scikit-learn `d2_absolute_error_score`",
        headline=False,
    ),
)
