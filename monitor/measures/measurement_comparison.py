"""Against another moment: by how much a performance differs, and which segments that comes from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from monitor.core.measurement import DetailTable, Interval, Measurement, difference_interval
from monitor.measures.catalogue.measure import BetterDirection, Measure, MeasureFamily, MeasureUnit
from monitor.records.reading import ModelTask

MOST = 5  # segments that are shown: those that contribute most
REFERENCE, SEASON = "reference", "season"
OF_MEANS = "standardized_mean_difference"  # of the values the only one that compares
FIGURES = ("value", "lower", "upper", "n")
_OF_PERFORMANCE = (
    MeasureFamily.PERFORMANCE,
    MeasureFamily.AVERAGES,
    MeasureFamily.GAINS,
    MeasureFamily.CALIBRATION,
)
FALL = 0.05  # of the reference's own value: by so much performance is clearly worse
MEANS = {  # means over records: what segments contribute to their differences adds up
    ModelTask.BINARY: "accuracy",
    ModelTask.MULTICLASS: "accuracy",
    ModelTask.REGRESSION: "mean_absolute_error",
}


@dataclass(frozen=True, slots=True)
class SegmentMean:
    """Mean of the main measure over n labelled records; 0 without any."""

    n: int
    value: float


NO_RECORDS = SegmentMean(0, 0.0)


def is_comparable(measure: Measure, *, every: bool = False) -> bool:
    """Whether a measure of performance is compared: it does not grow with the records, nor tells of chance.

    Parameters
    ----------
    every
        False: the headlines, and what the catalogue says is compared with the reference besides.
    """
    if measure.unit is MeasureUnit.RECORDS or measure.total or measure.yardstick is not None:
        return False
    if every:
        return measure.family in _OF_PERFORMANCE
    return measure.compared or (measure.family is MeasureFamily.PERFORMANCE and measure.headline)


def measurement_difference(now: Measurement, then: Measurement) -> Measurement:
    """Value now less the value then, of other records.

    The interval is made of both values' intervals: see `difference_interval`. Of two Wilson intervals that is
    Newcombe's hybrid score interval.

    Returns
    -------
    Measurement
        with the n of `now`, the resolutions added up, and as detail the figures of `then`. The reason of
        `now`, else of `then`, where either has no value; no interval where either has none.

    >>> from monitor.core.measurement import Interval
    >>> now = Measurement(value=0.7, n=100, interval=Interval(0.64, 0.76))
    >>> then = Measurement(value=0.8, n=100, interval=Interval(0.72, 0.88))
    >>> (round(measurement_difference(now, then).value, 3),
    ... measurement_difference(now, then).interval.upper < 0.001)
    (-0.1, True)
    """
    if now.value is None:
        return Measurement(value=None, reason=now.reason, n=now.n)
    if then.value is None:
        return Measurement(value=None, reason=then.reason, n=now.n)
    interval = None
    if now.interval is not None and then.interval is not None:
        interval = difference_interval((now.value, now.interval), (then.value, then.interval))
    bounds = (None, None) if then.interval is None else (then.interval.lower, then.interval.upper)
    return Measurement(
        value=now.value - then.value,
        n=now.n,
        interval=interval,
        resolution=now.resolution + then.resolution,
        detail=DetailTable(FIGURES, ((then.value, *bounds, then.n),)),
    )


def difference_among(now: Measurement, then: Measurement, many: int) -> Measurement:
    """Value now less the value then, where it is the one of `many` comparisons that stands out.

    Its interval is wider, by Bonferroni: all of them hold together with the level of one. Half its width
    grows as normal quantiles do. A part beside the whole that it belongs to is told apart too rarely, never
    too often: the interval takes them for other records.

    >>> from monitor.core.measurement import Interval
    >>> part = Measurement(value=0.6, n=90, interval=Interval(0.48, 0.72))
    >>> whole = Measurement(value=0.75, n=900, interval=Interval(0.71, 0.79))
    >>> [difference_among(part, whole, many).interval.upper < 0 for many in (1, 20)]
    [True, False]
    """
    step = measurement_difference(now, then)
    if step.interval is None or step.value is None or many < 2:
        return step
    level, quantile = step.interval.level, NormalDist().inv_cdf
    wider = quantile(1 - (1 - level) / (2 * many)) / quantile(1 - (1 - level) / 2)
    lower, upper = (
        step.value + wider * (end - step.value) for end in (step.interval.lower, step.interval.upper)
    )
    return replace(step, interval=Interval(lower, upper, level))


def mix_measurements(parts: Sequence[tuple[float, Measurement]]) -> Measurement:
    """What several references lead one to expect of a rate: Σ w·v, w the share compared with each.

    The interval is made of all intervals (l, u) as in `measurement_difference`: from v - sqrt(Σ w²·(v - l)²)
    to v + sqrt(Σ w²·(u - v)²).

    Returns
    -------
    Measurement
        with the n of all of them; the reason of the first that has no value.
    """
    n = sum(measurement.n for _, measurement in parts)
    absent = next((measurement for _, measurement in parts if measurement.value is None), None)
    if absent is not None:
        return Measurement(value=None, reason=absent.reason, n=n)
    value = math.fsum(share * (measurement.value or 0.0) for share, measurement in parts)
    bounds = [
        (share, measurement.value or 0.0, measurement.interval)
        for share, measurement in parts
        if measurement.interval is not None
    ]
    if len(bounds) < len(parts):
        return Measurement(value=value, n=n)
    below = math.hypot(*(share * (at - interval.lower) for share, at, interval in bounds))
    above = math.hypot(*(share * (interval.upper - at) for share, at, interval in bounds))
    return Measurement(value=value, n=n, interval=Interval(value - below, value + above, bounds[0][2].level))


def is_worse(direction: BetterDirection, difference: Measurement) -> bool:
    """Whether a difference is one to the worse, and its interval excludes 0."""
    if difference.interval is None:
        return False
    return (
        difference.interval.upper < 0
        if direction is BetterDirection.HIGHER
        else difference.interval.lower > 0
    )


def segment_contributions(
    now: Mapping[str, SegmentMean], then: Mapping[str, SegmentMean], whole: tuple[SegmentMean, SegmentMean]
) -> dict[str, float]:
    """What each segment adds to the difference of the wholes' means.

    s·(m - M') - s'·(m' - M'), see `segment_contribution`: a segment adds by being worse than it was,
    and by having grown while it is worse than the others. Segments of one column add up to the difference.

    Parameters
    ----------
    now, then
        means by segment; a segment that is missing has no records.
    whole
        means of the whole, now and then.
    """
    of_now, of_then = whole
    return {
        name: _weighted_deviation(now.get(name, NO_RECORDS), of_now.n, of_then.value)
        - _weighted_deviation(then.get(name, NO_RECORDS), of_then.n, of_then.value)
        for name in sorted(now.keys() | then.keys())
    }


def contribution_columns(measure: str) -> tuple[str, ...]:
    """Columns of a table of contributions to the difference of a mean: its values bear its name."""
    return ("segment", "contribution", measure, "before", "share", "share_before")


def contributed_measure(detail: DetailTable) -> str:
    """Measure whose difference a table of contributions is of; empty: it is another table."""
    return detail.columns[2] if detail.columns[:2] == ("segment", "contribution") else ""


def largest_segment_contribution(
    measure: Measure,
    now: Mapping[str, SegmentMean],
    then: Mapping[str, SegmentMean],
    whole: tuple[SegmentMean, SegmentMean],
) -> Measurement | None:
    """Contribution of the segment that adds most to a change to the worse; None where none does.

    Parameters
    ----------
    measure
        the mean.
    now, then, whole
        as in `segment_contributions`.
    """
    sign = -1 if measure.direction is BetterDirection.HIGHER else 1
    added = segment_contributions(now, then, whole)
    worst = sorted((name for name in added if sign * added[name] > 0), key=lambda name: -sign * added[name])
    if not worst:
        return None
    rows = []
    for name in worst[:MOST]:
        sides = now.get(name, NO_RECORDS), then.get(name, NO_RECORDS)
        values = [round(side.value, 6) if side.n else None for side in sides]
        shares = [
            round(side.n / all_.n, 6) if all_.n else None for side, all_ in zip(sides, whole, strict=True)
        ]
        rows.append((name, round(added[name], 6), *values, *shares))
    n = now.get(worst[0], NO_RECORDS).n
    return Measurement(
        value=added[worst[0]], n=n, detail=DetailTable(contribution_columns(measure.name), tuple(rows))
    )


def _weighted_deviation(part: SegmentMean, n: int, centre: float) -> float:
    return part.n / n * (part.value - centre) if n else 0.0
