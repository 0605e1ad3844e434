"""Values of a rule in words: with their unit, how sure they are, and their limit."""

from monitor.alerts.rules import Base, Bound, Rule
from monitor.alerts.verdicts import Verdict
from monitor.core.words import duration, number
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measure import Family, Unit

_CHANCE = "p_value"  # a probability of its own: 0.0001 says more than 0.01 %
_SHIFT = (Family.SHIFT, Family.DISTANCES)


def worded(rule: Rule | None, value: float | None) -> str:
    """Value of what a rule judges, with its unit: durations as 2d 3h, ratios as %.

    A difference from another moment bears its sign, that of a ratio is one of percentage points.
    """
    if rule is None or value is None:
        return "unknown" if value is None else number(value)
    return f"{number(100 * value)} %" if rule.features == "share" else of_measure(rule, value)


def of_measure(rule: Rule, value: float) -> str:
    """Value of a rule's measure: of one subject, where the rule judges the share of several."""
    measure = BY_NAME.get(rule.measure)
    unit = Unit.PLAIN if measure is None else measure.unit
    differs = rule.against != "" and measure is not None and measure.family not in _SHIFT
    sign = "+" if differs and value > 0 else ""
    if unit is Unit.SECONDS:
        return sign + duration(value)
    if unit is Unit.RATIO and _CHANCE not in rule.measure:
        return f"{sign}{number(100 * value)} {'percentage points' if differs else '%'}"
    return sign + number(value)


def measured(rule: Rule | None, verdict: Verdict) -> str:
    """Value, interval and number of records: how sure it is."""
    name = "" if rule is None else f"{rule.measure} "
    if rule is not None and rule.features == "share":
        return f"{worded(rule, verdict.value)} of {verdict.n:,} features by {rule.measure}"
    interval = ""
    if verdict.lower is not None and verdict.upper is not None:
        interval = f" [{worded(rule, verdict.lower)} to {worded(rule, verdict.upper)}]"
    n = f", n {verdict.n:,}" if verdict.n else ""
    return f"{name}{worded(rule, verdict.value)}{interval}{n}"


def beyond(rule: Rule | None, verdict: Verdict) -> str:
    """A breach: the value, and which limit it is beyond."""
    told = measured(rule, verdict)
    if verdict.limit is None:
        return told
    side = "above" if (verdict.value or 0.0) > verdict.limit else "below"
    return f"{told}: {side} the limit {worded(rule, verdict.limit)}{_of_condition(rule, side)}"


def _of_condition(rule: Rule | None, side: str) -> str:
    if rule is None or rule.features == "share":
        return ""
    condition = rule.condition
    limit = condition.above if side == "above" else condition.below
    base = (
        ""
        if limit is None
        else {Base.CRITICAL: ", its critical value", Base.EARLIER: f", {limit}"}.get(limit.base, "")
    )
    size = condition.and_above
    by_size = (
        "" if size is None or size.base is not Base.ONE else f" and by size above {worded(rule, size.amount)}"
    )
    sure = "" if condition.bound is Bound.POINT else ", with its whole interval"
    return base + by_size + sure
