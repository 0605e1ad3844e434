"""Rules: what is judged, against which limit, for how long it must hold; changes that are expected."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from monitor.core.clock import DAY, to_iso
from monitor.core.errors import DAMAGE, damage_error

FeatureScope: TypeAlias = Literal["each", "share"]
EVERY = "*"
ACCEPTED = "accepted"  # kind of event, and first word of what rows of the accepted window are against
ACKNOWLEDGED = "acknowledged"  # kind of event: somebody has seen an alert


class Severity(StrEnum):
    """How urgent an alert is."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class JudgedBound(StrEnum):
    """What of a measurement is judged: its value, or a bound of its interval."""

    POINT = "point"
    LOWER = "lower"
    UPPER = "upper"


class LimitBase(StrEnum):
    """What a limit is a multiple of."""

    ONE = ""
    EARLIER = "earlier"  # what the value is the difference from
    CRITICAL = "critical"  # the critical value
    # What the value is the difference from or, if that is less, five times what it lacks to 1: a twentieth of
    # the value, or a quarter of what is missing. For measures of which 1 is perfect, 5 % of an AUC of 0.97 is
    # more than all that it lacks.
    LEEWAY = "leeway"
    SILENCE = "silence"  # seconds, or less: twice the longest gap that this hour of the week had


@dataclass(frozen=True, slots=True)
class RuleLimit:
    """A limit: `amount` times its base."""

    amount: float  # of `LimitBase.EARLIER` a share: -0.05 is 5 % less than the value of the reference
    base: LimitBase = LimitBase.ONE

    def __str__(self) -> str:
        match self.base:
            case LimitBase.CRITICAL:
                return "its critical value" if self.amount == 1 else f"{self.amount:g} x its critical value"
            case LimitBase.EARLIER:
                return f"{100 * self.amount:+g} %"
            case LimitBase.LEEWAY:
                return f"{100 * self.amount:+g} %, or a quarter of what is missing to 1"
            case LimitBase.SILENCE:
                return f"twice the longest gap of this hour of the week, at most {self.amount:g}"
            case LimitBase.ONE:
                return f"{self.amount:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachCondition:
    """When a measurement is a breach: above a limit, below one, or outside two."""

    # above, below: at least one of them; both: outside.
    above: RuleLimit | None = None
    below: RuleLimit | None = None
    # clear_above, clear_below: a firing alert ends only when the value is back within these.
    clear_above: float | None = None
    clear_below: float | None = None
    # what is judged. LOWER against `above` and UPPER against `below`: only what is surely beyond. Of two
    # limits any bound but POINT means that the whole interval lies beyond one of them.
    bound: JudgedBound = JudgedBound.POINT
    # besides, the value itself is beyond this by size: above it, or, where `below` is judged, its negative.
    and_above: RuleLimit | None = None

    def __str__(self) -> str:
        sides = [f"above {self.above}"] if self.above is not None else []
        sides += [f"below {self.below}"] if self.below is not None else []
        sure = "" if self.bound is JudgedBound.POINT else f", by the {self.bound} bound of its interval"
        size = "" if self.and_above is None else f" and by size above {self.and_above}"
        return " or ".join(sides) + sure + size


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition on one measure of a model. Durations are microseconds of as-of time."""

    name: str
    measure: str
    condition: BreachCondition
    severity: Severity = Severity.WARNING
    subject: str = ""  # exact, or every one of a kind: "feature:*", "class:*"
    window: str = ""  # name of a window; empty: figures of the cycle itself
    truth: str = ""  # settled, nowcast or provisional; empty for measures without labels
    # what the value is the difference from, or the shift against; empty: none, of a shift the reference.
    against: str = ""
    # version, segment: empty: the whole; "*", "carrier=*": each one; else exact.
    version: str = ""
    segment: str = ""
    features: FeatureScope = "each"  # of several subjects: each is an alert, or their share in breach is one
    share: float = 0.2  # above which share of the judged subjects the rule is in breach
    min_n: int = 0  # with fewer records a verdict is unknown
    hold: int = 0  # for how long a breach lasts before it fires
    keep_firing_for: int = 0  # for how long a firing alert must be clear before it ends
    unknown_after: int = DAY  # for how long a verdict may be unknown before the alert ends
    labels: tuple[tuple[str, str], ...] = ()  # (name, value) added to the alert, for routing
    # (name, value): what the reader of an alert is told besides.
    annotations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class AlertedSeries:
    """What one alert is about: a rule, and which stratum and subject of it. The whole is empty."""

    rule: str
    version: str = ""
    segment: str = ""
    window: str = ""
    subject: str = ""

    def __str__(self) -> str:
        parts = (self.rule, self.version, self.segment, self.window, self.subject)
        return "/".join(part for part in parts if part)


def matches_pattern(pattern: str, value: str) -> bool:
    """Whether a version, segment or subject is one of a pattern.

    >>> [matches_pattern("feature:*", subject) for subject in ("feature:age", "score")]
    [True, False]
    >>> matches_pattern("", "carrier=AA"), matches_pattern("*", ""), matches_pattern("*", "carrier=AA")
    (False, False, True)
    """
    if pattern.endswith(EVERY):
        return value != "" and value.startswith(pattern.removesuffix(EVERY))
    return value == pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A window of one series that is the new normal."""

    series: AlertedSeries
    # start, end: of the accepted window; microseconds.
    start: int
    end: int
    # lower, upper: bounds of the accepted value: its interval, or twice the value where it has none.
    lower: float
    upper: float
    # as of of the cycle that whoever accepted it had seen: it holds from the next one on, also where ticks
    # that were missed are run later.
    since: int = 0
    until: int | None = None  # microseconds; None: for ever
    # who, why: of the decision, which the event holds.
    who: str = ""
    why: str = ""

    @property
    def comparison_name(self) -> str:
        """What rows that are measured against the accepted window bear."""
        return f"{ACCEPTED}:{self.series.rule}"

    @property
    def is_withdrawal(self) -> bool:
        """Whether it takes an earlier one back: it is accepted for no time at all."""
        return self.until is not None and self.until <= self.since

    def detail_json(self) -> str:
        """JSON, as an event's detail."""
        series = self.series
        key = [series.rule, series.version, series.segment, series.window, series.subject]
        plain = {
            "series": key,
            "start": self.start,
            "end": self.end,
            "since": self.since,
            "until": self.until,
        }
        return json.dumps(plain | {"lower": self.lower, "upper": self.upper}, sort_keys=True)


def compare_with_accepted(rule: Rule, acceptance: Acceptance) -> Rule:
    """The rule as it judges a window by the accepted one.

    Where the whole interval was to lie beyond its limit, it now is to lie beyond no difference, and the value
    beyond the limit: both windows vary by chance, so few falls are surely larger than a limit.
    """
    rule, condition = replace(rule, against=acceptance.comparison_name), rule.condition
    sides = [(one, sign) for one, sign in ((condition.above, 1), (condition.below, -1)) if one is not None]
    (limit, sign), *other = sides
    size = replace(limit, amount=sign * limit.amount)
    # Only what asks for a sure fall of a size is judged otherwise: against two limits, or by its value alone,
    # a rule means against the accepted window what it means.
    if other or condition.bound is JudgedBound.POINT or condition.and_above is not None or size.amount <= 0:
        return rule
    above, below = (RuleLimit(0.0), None) if sign > 0 else (None, RuleLimit(0.0))
    return replace(
        rule, condition=BreachCondition(above=above, below=below, bound=condition.bound, and_above=size)
    )


Accepted: TypeAlias = Mapping[AlertedSeries, Acceptance]


def select_standing_acceptances(
    decisions: Iterable[Acceptance], at: int, *, seen: int | None = None
) -> dict[AlertedSeries, Acceptance]:
    """What is accepted at a moment, of decisions in their order: of a series the last one counts.

    Parameters
    ----------
    seen
        only of those whose decider had seen no later cycle; None: an earlier one than that at the moment.
    """
    last = at - 1 if seen is None else seen
    standing = {acceptance.series: acceptance for acceptance in decisions if acceptance.since <= last}
    return {
        series: acceptance
        for series, acceptance in standing.items()
        if acceptance.until is None or at < acceptance.until
    }


def parse_acceptance(text: str, *, who: str = "", why: str = "") -> Acceptance:
    """What `Acceptance.detail_json` wrote, and who decided it, and why.

    Raises
    ------
    CodecError
        if it is damaged.
    """
    try:
        plain = json.loads(text)
        acceptance = Acceptance(
            series=AlertedSeries(*map(str, plain.pop("series"))), who=who, why=why, **plain
        )
        for moment in (acceptance.start, acceptance.end, acceptance.since, acceptance.until or 0):
            to_iso(moment)
    except DAMAGE as error:
        raise damage_error("table events, an accepted change", repr(error)) from error
    return acceptance
