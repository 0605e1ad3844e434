"""Comparison: outcomes of the control and the treatment arm."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.core.measurement import LEVEL, DetailTable, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import (
    newcombe_difference,
    normal_interval,
    normal_quantile,
    rate_measurement,
    sample_variance,
    student_interval,
    welch_interval,
)
from monitor.states.sums import HALF
from monitor.states.views import CellHistogram, ExactSums


@dataclass(frozen=True, slots=True)
class ArmRate:
    """Positive labels of an arm, and all of known class."""

    positive: int
    n: int


@dataclass(frozen=True, slots=True)
class ArmMean:
    """Mean, sample variance and fourth central moment of an arm's labels; a reason where there is none."""

    value: float
    variance: float
    n: int
    reason: Reason | None = None
    fourth: float = math.nan


def rates_of(label: CellHistogram | None, classes: int) -> list[ArmRate]:
    """Outcome of an arm by class, in their order; labels of unseen classes are left out."""
    counts = [0] * classes if label is None else label.counts[:classes].tolist()
    n = sum(counts)
    return [ArmRate(count, n) for count in counts]


def summarize_arm_labels(errors: ExactSums | None) -> ArmMean:
    """Outcome of a regression model's arm, of the records that have label and prediction."""
    if errors is None:
        return ArmMean(0.0, 0.0, 0, Reason.NO_LABELS)
    mean = mean_of_sums(*label_sums(errors), errors.scale_of("label"))
    return mean if mean.reason is not None else replace(mean, fourth=_fourth_moment(errors))


def label_sums(errors: ExactSums) -> tuple[int, int, int, int]:
    """Labels, those too large to be added, their sum and that of their squares: see `mean_of_sums`."""
    lost = errors.count_out_of_range("label") + errors.count_out_of_range("squared_label")
    return errors.count_of("label"), lost, errors.units_of("label"), errors.units_of("squared_label")


def mean_of_sums(n: int, lost: int, first: int, second: int, scale: float) -> ArmMean:
    """Outcome of a regression model's arm, of exact sums.

    Parameters
    ----------
    n, lost
        labels; those too large to be added.
    first, second
        sums of the labels and of their squares in units of 2^-40 of the scale, and of its square.
    """
    if n == 0:
        return ArmMean(0.0, 0.0, 0, Reason.NO_LABELS)
    if lost:
        return ArmMean(0.0, 0.0, n, Reason.OUT_OF_RANGE)
    value, variance = first / (n * HALF), sample_variance(first, second, n) if n > 1 else 0.0
    return ArmMean(value * scale, variance * scale * scale, n)


def weekly_table(weeks: Sequence[tuple[str, ArmRate | ArmMean, ArmRate | ArmMean]]) -> DetailTable:
    """Table of weeks: each arm's outcome, its standard deviation where it is a mean, and its labels."""
    means = any(isinstance(arm, ArmMean) for _, *arms in weeks for arm in arms)
    parts = ("", "_sd", "_n") if means else ("", "_n")
    columns = ("week", *(f"{arm}{part}" for arm in ("control", "treatment") for part in parts))
    rows = (
        (week, *_outcome_cells(control), *_outcome_cells(treatment)) for week, control, treatment in weeks
    )
    return DetailTable(columns, tuple(rows))


def rate_difference(control: ArmRate, treatment: ArmRate, level: float = LEVEL) -> Measurement:
    """Treatment's rate - control's, with Newcombe's interval."""
    n = control.n + treatment.n
    if control.n == 0 or treatment.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=n)
    sides = ((treatment.positive, treatment.n), (control.positive, control.n))
    value, interval = newcombe_difference(*sides, level)
    return Measurement(value=value, n=n, interval=interval)


def arm_mean(arm: ArmMean, level: float = LEVEL) -> Measurement:
    """Mean with Student's interval; none for one record or without variance."""
    if arm.reason is not None:
        return Measurement.without_value(arm.reason, n=arm.n)
    interval = student_interval(arm.value, arm.variance / arm.n, arm.n - 1, level)
    return Measurement(value=arm.value, n=arm.n, interval=interval)


def mean_difference(control: ArmMean, treatment: ArmMean, level: float = LEVEL) -> Measurement:
    """Treatment's mean - control's, with Welch's interval."""
    n = control.n + treatment.n
    reason = control.reason or treatment.reason
    if reason is not None:
        return Measurement.without_value(reason, n=n)
    interval = None
    if min(control.n, treatment.n) > 1:
        sides = [(arm.value, arm.variance, arm.n) for arm in (treatment, control)]
        interval = welch_interval(sides[0], sides[1], level)
    return Measurement(value=treatment.value - control.value, n=n, interval=interval)


def rate_ratio(control: ArmRate, treatment: ArmRate, level: float = LEVEL) -> Measurement:
    """Treatment's rate / control's, with Katz's log interval [1]_; none where an arm has no positive label.

    References
    ----------
    .. [1] Katz, Baptista, Azen & Pike (1978). Obtaining confidence intervals for the risk ratio in cohort
       studies. Biometrics 34:469, method C.
    """
    n = control.n + treatment.n
    if control.n == 0 or treatment.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=n)
    if control.positive == 0:
        return Measurement.without_value(Reason.UNDEFINED, n=n)
    value = treatment.positive * control.n / (control.positive * treatment.n)
    interval = None
    if treatment.positive:
        variance = sum(1 / arm.positive - 1 / arm.n for arm in (control, treatment))
        interval = _log_scale_interval(value, variance, level)
    return Measurement(value=value, n=n, interval=interval)


def arm_sd(arm: ArmMean, level: float = LEVEL) -> Measurement:
    """Standard deviation with the delta method's interval, (m₄ - s⁴) / n the variance of s²."""
    if arm.reason is not None:
        return Measurement.without_value(arm.reason, n=arm.n)
    if arm.n < 2:
        return Measurement.without_value(Reason.TOO_FEW, n=arm.n)
    value, interval = math.sqrt(arm.variance), None
    if arm.variance > 0 and math.isfinite(arm.fourth):
        spread = arm.variance * (arm.n - 1) / arm.n  # with the fourth moment of the same n records
        variance = (arm.fourth - spread**2) / (4 * arm.variance * arm.n)
        interval = normal_interval(value, variance, level, lowest=0.0)
    return Measurement(value=value, n=arm.n, interval=interval)


def mean_ratio(control: ArmMean, treatment: ArmMean, level: float = LEVEL) -> Measurement:
    """Treatment's mean / control's where both are positive, with a normal interval on the logarithm."""
    n = control.n + treatment.n
    reason = control.reason or treatment.reason
    if reason is None and min(control.value, treatment.value) <= 0:
        reason = Reason.UNDEFINED
    if reason is not None:
        return Measurement.without_value(reason, n=n)
    value, interval = treatment.value / control.value, None
    if not math.isfinite(value):
        return Measurement.without_value(Reason.UNDEFINED, n=n)
    if min(control.n, treatment.n) > 1:
        variance = sum(arm.variance / arm.n / arm.value**2 for arm in (control, treatment))
        interval = _log_scale_interval(value, variance, level)
    return Measurement(value=value, n=n, interval=interval)


def compare_arm_rates(
    control: ArmRate, treatment: ArmRate, level: float, subject: str = ""
) -> Iterator[MeasureResult]:
    """All measures of one class in both arms."""
    for name, arm in (("control", control), ("treatment", treatment)):
        yield MeasureResult(
            f"{name}_outcome_rate", subject, rate_measurement(arm.positive, arm.n, level, Reason.NO_LABELS)
        )
    yield MeasureResult("outcome_rate_difference", subject, rate_difference(control, treatment, level))
    yield MeasureResult("outcome_rate_ratio", subject, rate_ratio(control, treatment, level))


def compared_classes(classes: Sequence[str]) -> list[tuple[int, str]]:
    """Classes whose rates are compared: position and subject. Of two the positive one, the model itself.

    >>> compared_classes(["0", "1"]), compared_classes(["a", "b", "c"])
    ([(1, '')], [(0, 'class:a'), (1, 'class:b'), (2, 'class:c')])
    """
    return [(1, "")] if len(classes) == 2 else [(at, f"class:{name}") for at, name in enumerate(classes)]


def compare_arm_means(control: ArmMean, treatment: ArmMean, level: float) -> Iterator[MeasureResult]:
    """All measures of a regression model's arms."""
    for name, arm in (("control", control), ("treatment", treatment)):
        yield MeasureResult(f"{name}_outcome_mean", "", arm_mean(arm, level))
        yield MeasureResult(f"{name}_outcome_sd", "", arm_sd(arm, level))
    yield MeasureResult("outcome_mean_difference", "", mean_difference(control, treatment, level))
    yield MeasureResult("outcome_mean_ratio", "", mean_ratio(control, treatment, level))


def _fourth_moment(errors: ExactSums) -> float:
    """Fourth central moment; NaN where a power was out of range."""
    if errors.count_out_of_range("cubed_label") or errors.count_out_of_range("quartic_label"):
        return math.nan
    mean, square = errors.exact_mean("label"), errors.exact_mean("squared_label")
    third, fourth = errors.exact_mean("cubed_label"), errors.exact_mean("quartic_label")
    return float(fourth - 4 * mean * third + 6 * mean**2 * square - 3 * mean**4)


def _outcome_cells(arm: ArmRate | ArmMean) -> tuple[float | None, ...]:
    if isinstance(arm, ArmRate):
        return (arm.positive / arm.n if arm.n else None, arm.n)
    if arm.reason is not None:
        return (None, None, arm.n)
    return (arm.value, math.sqrt(arm.variance) if arm.n > 1 else None, arm.n)


def _log_scale_interval(value: float, variance: float, level: float) -> Interval | None:
    half = normal_quantile(level) * math.sqrt(max(0.0, variance))
    if not 0 < half < 100:  # a wider one says nothing
        return None
    return Interval(value * math.exp(-half), value * math.exp(half), level)
