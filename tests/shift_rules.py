"""Rules on shift, values and volume as a user writes them: none of them is a default."""

from monitor.alerts.alert_rules import BreachCondition, JudgedBound, LimitBase, Rule, RuleLimit, Severity
from monitor.core.clock import DAY
from monitor.measures.measurement_row import LabelTruth

KEPT = 7 * DAY
MOVED = BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.1))
FAR_OFF = BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.25))


def shift_rule(subject: str, *, window: str = "7d", against: str = "") -> Rule:
    """The distribution of the score, the prediction or the settled labels has moved."""
    return Rule(
        name=f"{subject}_shift",
        measure="stability_index",
        condition=MOVED,
        severity=Severity.INFO,
        subject=subject,
        window=window,
        truth=LabelTruth.SETTLED if subject == "label" else "",
        against="" if subject == "label" else against,
        keep_firing_for=KEPT,
        unknown_after=DAY,
        annotations=(
            ("summary", f"The {subject}'s distribution has moved"),
            ("action", "Look at its cells."),
        ),
    )


def feature_shift(*, window: str = "7d", against: str = "") -> Rule:
    """More than a fifth of the features have moved."""
    return Rule(
        name="feature_shift",
        measure="stability_index",
        condition=MOVED,
        severity=Severity.INFO,
        subject="feature:*",
        window=window,
        against=against,
        features="share",
        share=0.2,
        keep_firing_for=KEPT,
        unknown_after=DAY,
        annotations=(("summary", "Many features have moved"), ("action", "Look at the features named.")),
    )


def feature_far_off(*, window: str = "7d", against: str = "") -> Rule:
    """One feature is far from the reference."""
    return Rule(
        name="feature_far_off",
        measure="stability_index",
        condition=FAR_OFF,
        severity=Severity.INFO,
        subject="feature:*",
        window=window,
        against=against,
        keep_firing_for=KEPT,
        unknown_after=DAY,
        annotations=(("summary", "A feature is far from the reference"), ("action", "Look at its source.")),
    )


def faulty_values(fault: str, *, window: str = "7d") -> Rule:
    """Features have more missing, invalid or unseen values than the reference."""
    return Rule(
        name=f"{fault}_values",
        measure=f"{fault}_rate",
        condition=BreachCondition(above=RuleLimit(0.05), bound=JudgedBound.LOWER),
        severity=Severity.INFO,
        subject="feature:*",
        window=window,
        against="reference",
        features="share",
        share=0.0,
        keep_firing_for=KEPT,
        unknown_after=DAY,
        annotations=(("summary", f"Features have more {fault} values"), ("action", "Look at their source.")),
    )


def volume_rule(window: str) -> Rule:
    """The log has not as many records as usual."""
    return Rule(
        name="volume",
        measure="volume_ratio",
        condition=BreachCondition(above=RuleLimit(2.0), below=RuleLimit(0.5), bound=JudgedBound.LOWER),
        severity=Severity.INFO,
        window=window,
        keep_firing_for=KEPT,
        unknown_after=DAY,
        annotations=(("summary", "Unusual volume"), ("action", "Look at the traffic.")),
    )


def own_rules(window: str = "7d") -> tuple[Rule, ...]:
    """One of each."""
    return (
        *(shift_rule(subject, window=window) for subject in ("score", "prediction", "label")),
        feature_shift(window=window),
        feature_far_off(window=window),
        faulty_values("missing", window=window),
        volume_rule(window),
    )
