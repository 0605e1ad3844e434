"""Comparison: outcomes of the control and the treatment arm."""

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.core.measurement import Measurement, Reason
from monitor.measures.ask import Result
from monitor.measures.intervals import newcombe_difference, rate, student, welch
from monitor.measures.moments import variance_of
from monitor.states.views import Histogram, Sums


@dataclass(frozen=True, slots=True)
class Rate:
    """Positive labels of an arm, and all of known class."""

    positive: int
    n: int


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean and sample variance of an arm's labels; a reason where there is none."""

    value: float
    variance: float
    n: int
    reason: Reason | None = None


def rate_of(label: Histogram | None) -> Rate:
    """Outcome of a binary model's arm; labels of unseen classes are left out."""
    if label is None:
        return Rate(0, 0)
    negative, positive = label.counts[:2].tolist()
    return Rate(positive, negative + positive)


def mean_of(errors: Sums | None) -> Mean:
    """Outcome of a regression model's arm, of the records that have label and prediction."""
    n = errors.n("label") if errors is not None else 0
    if errors is None or n == 0:
        return Mean(0.0, 0.0, 0, Reason.NO_LABELS)
    if errors.out_of_range("label") or errors.out_of_range("squared_label"):
        return Mean(0.0, 0.0, n, Reason.OUT_OF_RANGE)
    value = errors.mean("label")
    return Mean(float(value), variance_of(value, errors.mean("squared_label"), n), n)


def rate_difference(control: Rate, treatment: Rate, level: float = 0.95) -> Measurement:
    """Treatment's rate - control's, with Newcombe's interval."""
    n = control.n + treatment.n
    if control.n == 0 or treatment.n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=n)
    sides = ((treatment.positive, treatment.n), (control.positive, control.n))
    value, interval = newcombe_difference(*sides, level)
    return Measurement(value=value, n=n, interval=interval)


def arm_mean(arm: Mean, level: float = 0.95) -> Measurement:
    """Mean with Student's interval; none for one record or without variance."""
    if arm.reason is not None:
        return Measurement.absent(arm.reason, n=arm.n)
    interval = student(arm.value, arm.variance / arm.n, arm.n - 1, level)
    return Measurement(value=arm.value, n=arm.n, interval=interval)


def mean_difference(control: Mean, treatment: Mean, level: float = 0.95) -> Measurement:
    """Treatment's mean - control's, with Welch's interval."""
    n = control.n + treatment.n
    reason = control.reason or treatment.reason
    if reason is not None:
        return Measurement.absent(reason, n=n)
    interval = None
    if min(control.n, treatment.n) > 1:
        sides = [(arm.value, arm.variance, arm.n) for arm in (treatment, control)]
        interval = welch(sides[0], sides[1], level)
    return Measurement(value=treatment.value - control.value, n=n, interval=interval)


def rate_results(control: Rate, treatment: Rate, level: float) -> Iterator[Result]:
    """All measures of a binary model's arms."""
    for name, arm in (("control", control), ("treatment", treatment)):
        yield Result(f"{name}_outcome_rate", "", rate(arm.positive, arm.n, level, Reason.NO_LABELS))
    yield Result("outcome_rate_difference", "", rate_difference(control, treatment, level))


def mean_results(control: Mean, treatment: Mean, level: float) -> Iterator[Result]:
    """All measures of a regression model's arms."""
    for name, arm in (("control", control), ("treatment", treatment)):
        yield Result(f"{name}_outcome_mean", "", arm_mean(arm, level))
    yield Result("outcome_mean_difference", "", mean_difference(control, treatment, level))
