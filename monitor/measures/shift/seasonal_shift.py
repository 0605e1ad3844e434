"""Shift against a season: the same phase of earlier periods, which differ from one another too."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import scipy

from monitor.core.measurement import BECAUSE, WHEN, DetailTable, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.shift.distances import KS_NAMES, kolmogorov_smirnov
from monitor.measures.shift.shift_cells import CumulativeSteps, ExpectedCells
from monitor.measures.shift.stability_index import (
    NAMES,
    StabilityCounts,
    expected_chance_indices,
    stability_indices,
)
from monitor.measures.statistics.intervals import SampleMoments
from monitor.states.counters import Counters
from monitor.states.grids import Grid, NumericGrid
from monitor.windows.window_ends import FEWEST_PERIODS

SEASONAL = (*NAMES, *KS_NAMES)
INDEX, LIMIT, _ = NAMES
MEAN = "mean"
_BEYOND = "most numbers of earlier periods lie beyond the reference's range, in cells without an end"


@dataclass(frozen=True, slots=True)
class PeriodDistances:
    """How far each period lies from the others, by subject."""

    excess: Mapping[str, Sequence[float]]  # stability indices, less what chance alone gives
    squares: Mapping[str, Sequence[float]]  # squared distances of Kolmogorov and Smirnov

    @classmethod
    def from_periods(
        cls, periods: Iterable[tuple[Counters, ExpectedCells]], options: MeasureOptions
    ) -> "PeriodDistances":
        """Distances of periods, each with what all others lead one to expect of it."""
        excess: dict[str, list[float]] = {}
        squares: dict[str, list[float]] = {}
        options = replace(options, whole=False, min_per_cell=0)
        for period, others in periods:
            sides = StabilityCounts.from_counts(others, period.index, period.value, Reason.NO_RECORDS)
            reasons = [sides.why_incomparable(row) for row in range(len(others.subjects))]
            figures = zip(stability_indices(sides, options), expected_chance_indices(sides), strict=True)
            for subject, (index, bias) in zip(others.subjects, figures, strict=True):
                if index.value is not None and bias.value is not None:
                    excess.setdefault(subject.name, []).append(index.value - bias.value)
            steps = CumulativeSteps.from_counts(others, period.index, period.value)
            for row, (distance, _) in kolmogorov_smirnov(others, steps, reasons):
                if distance.value is not None:
                    squares.setdefault(others.subjects[row].name, []).append(distance.value**2)
        return cls(excess, squares)


def list_unbounded_subjects(expected: ExpectedCells) -> frozenset[str]:
    """Numbers of which most lie in cells without an end: what happens there no distance of cells sees."""
    fine, names = expected.fine_reference, set()
    for row, start, length in zip(expected.numeric_rows, fine.starts, fine.lengths, strict=True):
        subject, counts = expected.subjects[row], fine.counts[start : start + length]
        grid = subject.grid
        if isinstance(grid, NumericGrid) and length > 1:
            ends = counts[0] * math.isinf(grid.lower) + counts[-1] * math.isinf(grid.upper)
            names.update([subject.name] if 2 * ends > counts.sum() else [])
    return frozenset(names)


def season_results(
    shifted: Sequence[MeasureResult],
    apart: PeriodDistances,
    beyond_range: frozenset[str],
    level: float,
    when: str,
) -> Iterator[MeasureResult]:
    """Shift of a window against the sum of the periods, judged by how far these differ.

    Parameters
    ----------
    shifted
        the same against the sum, judged by chance alone.
    beyond_range
        subjects that cannot be judged by cells.
    when
        what is said where there are fewer than three periods.
    """
    distances = {one.subject: one.measurement.value for one in shifted if one.measure == KS_NAMES[0]}
    for result in shifted:
        of_index = result.measure in NAMES
        differ = (apart.excess if of_index else apart.squares).get(result.subject, ())
        measurement = result.measurement
        if len(differ) < FEWEST_PERIODS and measurement.reason in (None, Reason.NO_REFERENCE):
            measurement = too_few_periods_result(measurement.n, when)
        elif measurement.value is not None and result.subject in beyond_range:
            because = DetailTable(BECAUSE, ((_BEYOND,),))
            measurement = Measurement(None, measurement.n, Reason.OUT_OF_RANGE, detail=because)
        elif measurement.value is not None and result.measure == LIMIT:
            measurement = replace(
                measurement, value=measurement.value + season_critical_addition(differ, level)
            )
        elif measurement.value is not None and result.measure == KS_NAMES[1]:
            # Both chance and the differences of the periods must fail to explain it: the larger p-value
            # counts.
            rarer = season_p_value(differ, distances[result.subject] or 0.0)
            measurement = replace(measurement, value=max(measurement.value, rarer))
        yield replace(result, measurement=measurement)


def season_critical_addition(excess: Sequence[float], level: float) -> float:
    """What the k periods' differences add to the critical value of the index: F(1, k-1)·(1 - 1/k²)·mean.

    Where periods differ along one direction by a normal deviate, the squared distance of each from the k - 1
    others has (k + 1)(k - 1)/k² times less variance than that of a new one from all k: their ratio has an F
    distribution, the square of Student's t with k - 1 degrees of freedom. Where they differ along several
    directions the quantile is too large: fewer windows are called moved.

    `excess`: indices of the periods against all others, less what chance alone gives.

    >>> (round(season_critical_addition([0.02, 0.03, 0.01], 0.95), 3),
    ... season_critical_addition([-0.01, 0.0, 0.001], 0.95))
    (0.329, 0.0)
    """
    k = len(excess)
    mean = max(math.fsum(excess) / k, 0.0)
    return float(scipy.special.fdtri(1, k - 1, level)) * (1 - 1 / k**2) * mean


def season_p_value(squares: Sequence[float], distance: float) -> float:
    """Probability of at least this distance from the sum of k periods, by those of each from the others.

    As `season_critical_addition`, of squared distances.
    """
    k = len(squares)
    scale = (1 - 1 / k**2) * math.fsum(squares) / k
    return float(scipy.special.fdtrc(1, k - 1, distance**2 / scale)) if scale > 0 else 0.0


def season_mean_difference(
    now: SampleMoments, periods: Sequence[SampleMoments], grid: Grid, level: float, when: str
) -> Measurement:
    """Difference of a mean from that of k periods, m̄; its interval leaves 0 out beyond the expected band.

    The band is m̄ ± t(k-1)·√(s²(1 + 1/k) + s²_sampling): s² the variance of the periods' means less what
    sampling gives of it, s²_sampling the sampling variances of the window's mean and of m̄.

    Returns
    -------
    Measurement
        with the band as detail; or ``too_short``, or the reason of the window's mean.
    """
    n = int(now.n)
    if now.reason is not None:
        return Measurement.without_value(now.reason, n=n)
    moments = [one for one in periods if one.reason is None and math.isfinite(one.variance)]
    k = len(moments)
    if k < FEWEST_PERIODS or not isinstance(grid, NumericGrid):
        return too_few_periods_result(n, when)
    mean = math.fsum(one.mean for one in moments) / k
    sampling = math.fsum(one.variance / one.n for one in moments) / k
    between = math.fsum((one.mean - mean) ** 2 for one in moments) / (k - 1) - sampling
    own = now.variance / n if math.isfinite(now.variance) else 0.0
    variance = max(between, 0.0) * (1 + 1 / k) + own + sampling / k
    half = float(scipy.special.stdtrit(k - 1, 0.5 + level / 2)) * math.sqrt(variance) * grid.scale
    centre, step = grid.centre + grid.scale * mean, grid.scale * (now.mean - mean)
    records = sum(int(one.n) for one in moments)
    return Measurement(
        value=step,
        n=n,
        interval=Interval(step - half, step + half, level),
        detail=DetailTable(FIGURES, ((centre, centre - half, centre + half, records),)),
    )


def too_few_periods_result(n: int, when: str) -> Measurement:
    """No value: there are fewer than three periods."""
    return Measurement(None, n, Reason.TOO_SHORT, detail=DetailTable(WHEN, ((when,),)))
