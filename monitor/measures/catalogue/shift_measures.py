"""Shift, where numbers lie, and values that are none: formulas in the files of `shift`."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from monitor.measures.catalogue.measure import (
    BINARY,
    BetterDirection,
    ChanceYardstick,
    Measure,
    MeasureExposure,
    MeasureFamily,
    MeasureUnit,
)

_INDEX = "Siddiqi (2006), Credit Risk Scorecards; Yurdakul & Naranjo (2020), J. Risk Model Validation 14(4)"
_LIN = "Lin (1991), IEEE Trans. Inf. Theory 37:145; SciPy `jensenshannon(base=2)`"
_SHARES = "simulated: 1,000 pairs of samples of the reference's shares, their sizes rounded to two digits"
_NUMBERS = "simulated: 1,000 Brownian bridges over the reference's cells, the limit of many records"
_row = partial(Measure, family=MeasureFamily.SHIFT)
_distance = partial(Measure, family=MeasureFamily.DISTANCES, direction=BetterDirection.LOWER)

SHIFT_ROWS = (
    _row(
        "stability_index",
        "Σ (p - q)·ln(p / q) over cells, q the reference's share, p the window's: the reference's deciles, "
        "or its 19 most frequent levels and the rest; and the cells of unseen, missing, invalid values. A "
        "cell empty on both sides is left out; each other cell gets ½ a record on both sides. Fewer than 10 "
        "records a cell: `too_few`.",
        unit=MeasureUnit.PLAIN,
        direction=BetterDirection.LOWER,
        source=_INDEX,
        headline=True,
        critical="stability_index_critical",
        exposed=MeasureExposure.FEATURES,
    ),
    _row(
        "stability_index_critical",
        "Value that the index exceeds with probability 1 - level if nothing has shifted: (1/n + 1/m)·χ²(B - "
        "1), B the cells with reference records; simulated where a cell expects fewer than 50 records. "
        "Detail: m, the records of the reference.",
        unit=MeasureUnit.PLAIN,
        source=_INDEX,
        headline=True,
        yardstick=ChanceYardstick.CRITICAL,
        exposed=MeasureExposure.FEATURES,
    ),
    _row(
        "stability_index_bias",
        "Expected index if nothing has shifted: (B - 1)·(1/n + 1/m).",
        unit=MeasureUnit.PLAIN,
        source=_INDEX,
    ),
    _row(
        "ks_distance",
        "Largest absolute difference between the cumulative shares of the reference and of the window at "
        "the cells' edges; missing and invalid values left out. Never above the value of the raw numbers, "
        "and below it by at most the resolution. Numbers only.",
        direction=BetterDirection.LOWER,
        source="SciPy `ks_2samp`",
        headline=True,
        beside="ks_p_value",
        percent=False,
    ),
    _row(
        "ks_p_value",
        "Probability of at least this `ks_distance` if nothing has shifted; conservative with ties.",
        source="Kolmogorov's limit, SciPy `kstwobign`",
        yardstick=ChanceYardstick.P_VALUE,
    ),
)

_DISTANCES = (
    _distance(
        "jensen_shannon_distance",
        "Root of the Jensen-Shannon divergence, in bits, of the shares in the cells of the stability index.",
        source=_LIN,
        critical="jensen_shannon_distance_critical",
    ),
    _distance(
        "hellinger_distance",
        "Root of ½ Σ (√p - √q)² over the cells of the stability index.",
        source="Hellinger (1909), J. reine angew. Math. 136:210",
        critical="hellinger_distance_critical",
    ),
    _distance(
        "largest_share_distance",
        "Largest |p - q| over the cells of the stability index (L-infinity).",
        critical="largest_share_distance_critical",
    ),
    _distance(
        "total_variation_distance",
        "½ Σ |p - q| over the cells of the stability index: the share of the records that changed cells.",
        source="Levin, Peres & Wilmer (2009), Markov Chains and Mixing Times, ch. 4",
        critical="total_variation_distance_critical",
    ),
    _distance(
        "chi_squared",
        "Pearson's statistic of the two rows of counts in the cells of the stability index: are both drawn "
        "from one distribution? One cell: 0.",
        unit=MeasureUnit.PLAIN,
        source="SciPy `chi2_contingency(correction=False)`",
        critical="chi_squared_critical",
    ),
    _distance(
        "chi_squared_p_value",
        "Probability of at least this `chi_squared` if nothing has shifted, in the limit of many records. "
        "Where cells expect fewer than 5 not to be trusted: see `chi_squared_critical`.",
        direction=BetterDirection.NONE,
        source="SciPy `chi2_contingency(correction=False)`",
        yardstick=ChanceYardstick.P_VALUE,
    ),
    _distance(
        "cramers_v",
        "Root of `chi_squared` / records of both sides: how large the shift is, however many records.",
        source="Cramér (1946), Mathematical Methods of Statistics",
        critical="cramers_v_critical",
    ),
    _distance(
        "wasserstein_distance",
        "Area between both cumulative shares / the reference's standard deviation, from the shares at the "
        "cells' edges; the resolution bounds what lies between them. Numbers beyond the reference's range: "
        "`out_of_range`. Numbers only.",
        unit=MeasureUnit.PLAIN,
        source="SciPy `wasserstein_distance`",
        critical="wasserstein_distance_critical",
    ),
)
LOSS_BY_SCORES = "log_loss_by_scores"
_value = partial(Measure, family=MeasureFamily.VALUES, unit=MeasureUnit.PLAIN)
_quality = partial(
    Measure,
    family=MeasureFamily.QUALITY,
    direction=BetterDirection.LOWER,
    interval="Wilson",
    source="Wilson (1927), JASA 22:209",
    rate=True,
    headline=True,
)
VALUE_ROWS = (
    _value(
        "mean",
        "Mean of the numbers of the subject, from exact sums. A number further from the reference's middle "
        "than 2⁴⁰ of its standard deviations: `out_of_range`.",
        interval="normal",
    ),
    _value(
        "standard_deviation",
        "Standard deviation of the subject's numbers, n - 1 in the denominator. One number: `undefined`.",
        source="NumPy `std(ddof=1)`",
    ),
    _value(
        "standardized_mean_difference",
        "(Mean of the window - mean of the reference) / root of the mean of both variances. No spread on "
        "both sides: `undefined`.",
        interval="Welch's of the difference, divided by the same root",
        source="Cohen (1988), Statistical Power Analysis for the Behavioral Sciences; Welch (1947)",
    ),
    _value(
        "minimum",
        "Lower edge of the cell that holds the smallest number, which is above it by at most the "
        "resolution. Below the smallest of the reference: `out_of_range`.",
    ),
    _value(
        "maximum",
        "Upper edge of the cell that holds the largest number, which is below it by at most the resolution. "
        "Above the largest of the reference: `out_of_range`.",
    ),
    _value(
        "out_of_range_rate",
        "Share of the numbers of the subject below the smallest or above the largest of the reference. None "
        "of a score whose range is bounded.",
        unit=MeasureUnit.RATIO,
        direction=BetterDirection.LOWER,
        interval="Wilson",
        source="Wilson (1927), JASA 22:209",
        headline=True,
        rate=True,
    ),
    _value(
        "score_move",
        "Mean of the score, of a regression's prediction, or of several classes of the probability of the "
        "one that the reference has most, less that of the reference. Detail: what the features make of it, "
        "by an additive table that is fitted to the reference: all together, and each whose interval "
        "excludes 0. Of single features only where the table explains half of the variance of rows that it "
        "has not seen, and features and score agree.",
        interval="normal; of effects a jackknife over ten tenths of the reference, and the records",
        source="Breiman & Friedman (1985), J. Am. Stat. Assoc. 80:580",
    ),
    _value(
        LOSS_BY_SCORES,
        "Of scores that are probabilities: how much higher `log_loss` is expected to be than in the "
        "reference by the scores of all records of the window alone, before any label: as "
        "`log_loss_by_mix`, which is of records with labels. Fewer than 50 records, or labels in the "
        "reference: none.",
        tasks=BINARY,
        interval="normal, of both sides",
    ),
)
QUALITY_ROWS = (
    _quality(
        "missing_rate",
        "Share of the records without a value of the subject.",
        exposed=MeasureExposure.FEATURES,
    ),
    _quality(
        "invalid_rate",
        "Share of the records whose value of the subject is none: NaN, infinite, not a number, out of range.",
    ),
    _quality(
        "unseen_rate",
        "Share of the records whose category or class the reference does not know.",
        exposed=MeasureExposure.FEATURES,
    ),
)


def _distance_and_critical(distance: Measure) -> Iterator[Measure]:
    """Yield a distance, then its critical value if it has one."""
    yield distance
    if distance.critical is not None:
        how = _NUMBERS if distance.name == "wasserstein_distance" else _SHARES
        yield replace(
            distance,
            name=distance.critical,
            direction=BetterDirection.NONE,
            definition=f"Value that `{distance.name}` exceeds with probability 1 - level if nothing has "
            f"shifted; {how}.",
            source="",
            critical=None,
            yardstick=ChanceYardstick.CRITICAL,
        )


DISTANCE_ROWS = tuple(row for distance in _DISTANCES for row in _distance_and_critical(distance))
