"""Where numbers lie, and values that are none: formulas in `shift/values.py` and `quality.py`."""

from functools import partial

from monitor.measures.catalogue.measure import Direction, Exposure, Family, Measure, Unit

_row = partial(Measure, family=Family.VALUES, unit=Unit.PLAIN)
_quality = partial(
    Measure,
    family=Family.QUALITY,
    direction=Direction.LOWER,
    interval="Wilson",
    source="Wilson (1927), JASA 22:209",
    rate=True,
    headline=True,
)

VALUE_ROWS = (
    _row(
        "mean",
        "Mean of the numbers of the subject, from exact sums. A number further from the reference's middle "
        "than 2⁴⁰ of its standard deviations: `out_of_range`.",
        interval="normal",
    ),
    _row(
        "standard_deviation",
        "Standard deviation of the subject's numbers, n - 1 in the denominator. One number: `undefined`.",
        source="NumPy `std(ddof=1)`",
    ),
    _row(
        "standardized_mean_difference",
        "(Mean of the window - mean of the reference) / root of the mean of both variances. No spread on "
        "both sides: `undefined`.",
        interval="Welch's of the difference, divided by the same root",
        source="Cohen (1988), Statistical Power Analysis for the Behavioral Sciences; Welch (1947)",
    ),
    _row(
        "minimum",
        "Lower edge of the cell that holds the smallest number, which is above it by at most the "
        "resolution. Below the smallest of the reference: `out_of_range`.",
    ),
    _row(
        "maximum",
        "Upper edge of the cell that holds the largest number, which is below it by at most the resolution. "
        "Above the largest of the reference: `out_of_range`.",
    ),
    _row(
        "out_of_range_rate",
        "Share of the numbers of the subject below the smallest or above the largest of the reference. None "
        "of a score whose range is bounded.",
        unit=Unit.RATIO,
        direction=Direction.LOWER,
        interval="Wilson",
        source="Wilson (1927), JASA 22:209",
        headline=True,
        rate=True,
    ),
)

QUALITY_ROWS = (
    _quality(
        "missing_rate", "Share of the records without a value of the subject.", exposed=Exposure.FEATURES
    ),
    _quality(
        "invalid_rate",
        "Share of the records whose value of the subject is none: NaN, infinite, not a number, out of range.",
    ),
    _quality(
        "unseen_rate",
        "Share of the records whose category or class the reference does not know.",
        exposed=Exposure.FEATURES,
    ),
)
