"""Sequential tests: comparisons that stay valid however often they are looked at.

A fixed-time test that is looked at again and again finds a difference sooner or later where there is none.
These do not, if the counts only grow: every record enters once. Where there is no difference, the evidence
for one exceeds 20 at any of all looks with a probability of at most 1 / 20 [1]_: 1 / the most evidence that
there ever was is a p-value, and stays one.

References
----------
.. [1] Ville (1939). Étude critique de la notion de collectif. Gauthier-Villars.
"""

import math
from collections.abc import Iterator

import scipy

from monitor.core.measurement import LEVEL, Interval, Measurement, Reason
from monitor.measures.catalogue.comparison_measures import CONCENTRATION, ENOUGH
from monitor.measures.comparison.arm_outcomes import ArmMean, ArmRate
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import find_root


def convert_to_mean(outcome: ArmRate | ArmMean) -> ArmMean:
    """Mean of an arm's outcomes: a rate is that of zeros and ones."""
    if isinstance(outcome, ArmMean):
        return outcome
    share = outcome.positive / outcome.n if outcome.n else 0.0
    return ArmMean(share, share * (1 - share), outcome.n)


def log_evidence(difference: float, variance: float, detect: float) -> float:
    """Logarithm of the normal-mixture evidence against no difference.

    The likelihood ratio of N(θ, V) to N(0, V) at the difference D, averaged over θ from N(0, τ²):
    ½ ln(V / (V + τ²)) + D² τ² / (2 V (V + τ²)) [1]_.

    Parameters
    ----------
    difference, variance
        D and its variance V > 0, of everything that has entered so far.
    detect
        τ > 0, the size of the differences that matter; chosen beforehand, never from the data.

    References
    ----------
    .. [1] Johari, Koomen, Pekelis & Walsh (2022). Always valid inference: continuous monitoring of A/B tests.
       Oper. Res. 70:1806, eq. 11.
    """
    both = variance + detect * detect
    return 0.5 * math.log(variance / both) + difference**2 * detect * detect / (2 * variance * both)


def confidence_sequence(difference: float, variance: float, detect: float, level: float) -> Interval:
    """Differences against which the evidence is at most 1 / (1 - level), so that it holds at all looks."""
    both = variance + detect * detect
    spread = math.log(both / variance) - 2 * math.log1p(-level)
    half = math.sqrt(variance * both * spread) / detect
    return Interval(difference - half, difference + half, level)


def difference_always_valid(
    control: ArmMean, treatment: ArmMean, detect: float, level: float = LEVEL
) -> Measurement:
    """Treatment's mean - control's, with a confidence sequence.

    Returns
    -------
    Measurement
        or ``no_labels``, ``too_few`` below 500 an arm, ``undefined`` without variance.
    """
    absent, variance = _variance_or_reason(control, treatment)
    if absent is not None:
        return absent
    value = treatment.value - control.value
    interval = confidence_sequence(value, variance, detect, level)
    return Measurement(value=value, n=control.n + treatment.n, interval=interval)


def outcome_evidence(control: ArmMean, treatment: ArmMean, detect: float) -> float:
    """Logarithm of the evidence for a difference of the means; 0 while there is no answer."""
    absent, variance = _variance_or_reason(control, treatment)
    return 0.0 if absent is not None else log_evidence(treatment.value - control.value, variance, detect)


def log_share_evidence(control: int, treatment: int, share: float, planned: float) -> float:
    """Logarithm of the evidence against a share of the control arm.

    The Dirichlet-multinomial Bayes factor [1]_ for two arms: B(a + x, b + y) / B(a, b) / (s^x (1 - s)^y),
    a = 10,000 times the planned share and b = 10,000 - a, chosen beforehand.

    Parameters
    ----------
    share
        s, what the evidence speaks against; the planned share or any other one.
    planned
        where the prior lies.

    References
    ----------
    .. [1] Lindon & Malek (2022). Anytime-valid inference for multinomial count data. NeurIPS 35, eq. 6.
    """
    alpha, beta = CONCENTRATION * planned, CONCENTRATION * (1 - planned)
    prior = float(scipy.special.betaln(alpha + control, beta + treatment) - scipy.special.betaln(alpha, beta))
    return prior - control * math.log(share) - treatment * math.log1p(-share)


def control_record_share(control: int, treatment: int, planned: float, level: float = LEVEL) -> Measurement:
    """Share of the control arm, with the shares that the evidence never excluded."""
    n = control + treatment
    if n == 0:
        return Measurement.without_value(Reason.NO_RECORDS, n=0)
    share = control / n
    lower = 0.0 if control == 0 else _share_bound(control, treatment, planned, level)
    upper = 1.0 if treatment == 0 else 1 - _share_bound(treatment, control, 1 - planned, level)
    return Measurement(value=share, n=n, interval=Interval(min(lower, share), max(upper, share), level))


def p_value_of(evidence: float) -> float:
    """1 / evidence, of its logarithm, at most 1.

    >>> round(p_value_of(math.log(20)), 9), p_value_of(-1.0)
    (0.05, 1.0)
    """
    return math.exp(min(0.0, -evidence))


def outcome_results(
    control: ArmRate | ArmMean,
    treatment: ArmRate | ArmMean,
    *,
    detect: float | None,
    most: float,
    level: float,
    subject: str = "",
) -> Iterator[MeasureResult]:
    """All measures of the arms' outcomes so far.

    Parameters
    ----------
    detect
        None: not configured, and there is no answer.
    most
        logarithm of the most evidence that there was at any look.
    """
    name = "rate" if isinstance(control, ArmRate) else "mean"
    arms = convert_to_mean(control), convert_to_mean(treatment)
    difference = Measurement.without_value(Reason.NOT_CONFIGURED, n=arms[0].n + arms[1].n)
    if detect is not None:
        difference = difference_always_valid(*arms, detect, level)
    yield MeasureResult(f"outcome_{name}_difference_always_valid", subject, difference)
    yield MeasureResult("control_p_value_always_valid", subject, always_valid_p_value(difference, most))


def measure_arm_shares(
    control: int, treatment: int, *, planned: float, most: float, level: float
) -> Iterator[MeasureResult]:
    """All measures of the arms' predictions so far."""
    share = control_record_share(control, treatment, planned, level)
    yield MeasureResult("control_record_share", "", share)
    yield MeasureResult("sample_ratio_p_value_always_valid", "", always_valid_p_value(share, most))


def always_valid_p_value(compared_value: Measurement, most: float) -> Measurement:
    """P-value of a comparison, absent for the same reason, of the most evidence that there was."""
    if compared_value.value is None:
        return compared_value
    return Measurement(value=p_value_of(most), n=compared_value.n)


def _variance_or_reason(control: ArmMean, treatment: ArmMean) -> tuple[Measurement | None, float]:
    """Why there is no answer, and the variance of the difference."""
    n = control.n + treatment.n
    reason = control.reason or treatment.reason
    if min(control.n, treatment.n) == 0:
        reason = Reason.NO_LABELS
    elif reason is None and min(control.n, treatment.n) < ENOUGH:
        reason = Reason.TOO_FEW
    if reason is not None:
        return Measurement.without_value(reason, n=n), 0.0
    variance = control.variance / control.n + treatment.variance / treatment.n
    if not 0 < variance < math.inf:
        return Measurement.without_value(Reason.UNDEFINED, n=n), 0.0
    return None, variance


def _share_bound(successes: int, failures: int, planned: float, level: float) -> float:
    """Share below the observed one against which the evidence is just 1 / (1 - level)."""
    limit, share = -math.log1p(-level), successes / (successes + failures)

    def beyond(candidate: float) -> float:
        return log_share_evidence(successes, failures, candidate, planned) - limit

    lowest = 1e-300
    highest = min(share, 1 - 1e-16)
    if beyond(highest) >= 0:
        return highest
    return find_root(beyond, lowest, highest) if beyond(lowest) > 0 else 0.0
