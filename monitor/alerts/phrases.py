"""Values of a rule in words: with their unit, how sure they are, their limit, and what stands behind them."""

from collections.abc import Iterator, Sequence

from monitor.alerts.lifecycle import Alert
from monitor.alerts.rules import Base, Bound, Rule
from monitor.alerts.verdicts import Verdict
from monitor.core.text import duration, number
from monitor.measures.against import FIGURES
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import OF_SHIFT, Unit, Yardstick

_MOST = 5  # lines of one table
_TITLES = {
    "cell": "Cells that moved most",
    "feature": "Features, the largest first",
    "segment": "Segments that contribute most",
}


def worded(rule: Rule | None, value: float | None) -> str:
    """Value of what a rule judges, with its unit: durations as 2d 3h, ratios as %.

    A difference from another moment bears its sign, that of a ratio is one of percentage points.
    """
    if rule is None or value is None:
        return "unknown" if value is None else number(value)
    return f"{number(100 * value)} %" if rule.features == "share" else of_measure(rule, value)


def of_measure(rule: Rule, value: float) -> str:
    """Value of a rule's measure: of one subject, where the rule judges the share of several."""
    unit = _unit(rule)
    return f"{_plain(rule, value)} {unit}" if unit else _plain(rule, value)


def measured(rule: Rule | None, verdict: Verdict) -> str:
    """Value, interval and number of records: how sure it is."""
    if rule is None:
        return number(verdict.value)
    if rule.features == "share":
        return f"{worded(rule, verdict.value)} of {verdict.n:,} features by {rule.measure}"
    interval = ""
    if verdict.lower is not None and verdict.upper is not None:
        interval = f" [{_plain(rule, verdict.lower)} to {_plain(rule, verdict.upper)}]"
    n = f", n {verdict.n:,}" if verdict.n else ""
    return f"{rule.measure} {worded(rule, verdict.value)}{interval}{n}"


def beyond(rule: Rule | None, verdict: Verdict) -> str:
    """A breach: the value, and which limit it is beyond."""
    value = measured(rule, verdict)
    if verdict.limit is None:
        return value
    side = "above" if (verdict.value or 0.0) > verdict.limit else "below"
    return f"{value}: {side} the limit {worded(rule, verdict.limit)}{_of_condition(rule, side)}"


def _of_condition(rule: Rule | None, side: str) -> str:
    """What the limit is, and what else was asked for, in brackets."""
    if rule is None or rule.features == "share":
        return ""
    condition = rule.condition
    limit, size = condition.above if side == "above" else condition.below, condition.and_above
    base = None if limit is None else limit.base
    parts = (
        f"{limit} of {rule.against}" if base is Base.EARLIER else "",
        "its critical value" if base is Base.CRITICAL else "",
        "" if size is None else f"by size above {size}",
        "" if condition.bound is Bound.POINT else "with its whole interval",
    )
    remarks = ", ".join(part for part in parts if part)
    return f" ({remarks})" if remarks else ""


def _plain(rule: Rule, value: float) -> str:
    """Value of a measure; a difference bears its sign."""
    measure = BY_NAME.get(rule.measure)
    sign = "+" if _differs(rule) and value > 0 else ""
    if measure is not None and measure.unit is Unit.SECONDS:
        return sign + duration(value)
    return sign + number(100 * value if _unit(rule) else value)


def _unit(rule: Rule) -> str:
    measure = BY_NAME.get(rule.measure)
    if measure is None or measure.unit is not Unit.RATIO or measure.yardstick is Yardstick.P_VALUE:
        return ""  # of a probability 0.0001 says more than 0.01 %
    return "percentage points" if _differs(rule) else "%"


def _differs(rule: Rule) -> bool:
    """Whether the values of a rule are differences; shift against another moment is none."""
    measure = BY_NAME.get(rule.measure)
    return rule.against != "" and measure is not None and measure.family not in OF_SHIFT


def cause_lines(rule: Rule | None, group: Sequence[Alert]) -> Iterator[str]:
    """Lines on the cause of the largest alert of a group; none where nothing is known."""
    cause = group[0].breach.cause
    if cause is None or not cause.rows:
        return
    yield ""
    if cause.columns == FIGURES:
        before, *_, n = cause.rows[0]
        yield f"It was {_cell(before)}, n {_cell(n)}, at the moment it is compared with."
        return
    first, columns = cause.columns[0], [column.replace("_", " ") for column in cause.columns[1:]]
    subject = group[0].series.subject
    of = f" of {subject}" if len(group) > 1 and subject else ""
    yield f"{_TITLES.get(first, first.capitalize())}{of}:"
    for row in cause.rows[:_MOST]:
        name, *values = row
        if first == "feature" and rule is not None and isinstance(values[0], float | int):
            yield f"- {name}: {rule.measure} {of_measure(rule, values[0])}"
            continue
        named = zip(columns, values, strict=True)
        yield f"- {_cell(name)}: " + ", ".join(f"{column} {_cell(value)}" for column, value in named)


def _cell(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value) or "unknown"
