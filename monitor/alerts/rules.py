"""Rules: what is judged, against which limit, and for how long it must hold. Plain values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from monitor.core.clock import DAY

FeatureScope: TypeAlias = Literal["each", "share"]
EVERY = "*"


class Severity(StrEnum):
    """How urgent an alert is."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Bound(StrEnum):
    """What of a measurement is judged: its value, or a bound of its interval."""

    POINT = "point"
    LOWER = "lower"
    UPPER = "upper"


class Base(StrEnum):
    """What a limit is a multiple of: 1, what the value is the difference from, the critical value."""

    ONE = ""
    EARLIER = "earlier"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: `amount` times its base.

    Parameters
    ----------
    amount
        of `Base.EARLIER` a share: -0.05 is 5 % less than the value of the reference.
    """

    amount: float
    base: Base = Base.ONE

    def __str__(self) -> str:
        match self.base:
            case Base.CRITICAL:
                return "its critical value" if self.amount == 1 else f"{self.amount:g} x its critical value"
            case Base.EARLIER:
                return f"{100 * self.amount:+g} %"
            case Base.ONE:
                return f"{self.amount:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """When a measurement is a breach: above a limit, below one, or outside two.

    Parameters
    ----------
    above, below
        at least one of them; both: outside.
    clear_above, clear_below
        a firing alert ends only when the value is back within these.
    bound
        what is judged. LOWER against `above` and UPPER against `below`: only what is surely beyond. Of two
        limits any bound but POINT means that the whole interval lies beyond one of them.
    and_above
        besides, the value itself is beyond this by size: above it, or, where `below` is judged, its negative.
    """

    above: Limit | None = None
    below: Limit | None = None
    clear_above: float | None = None
    clear_below: float | None = None
    bound: Bound = Bound.POINT
    and_above: Limit | None = None

    def __str__(self) -> str:
        sides = [f"above {self.above}"] if self.above is not None else []
        sides += [f"below {self.below}"] if self.below is not None else []
        sure = "" if self.bound is Bound.POINT else f", by the {self.bound} bound of its interval"
        size = "" if self.and_above is None else f" and by size above {self.and_above}"
        return " or ".join(sides) + sure + size


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition on one measure of a model. Durations are microseconds of as-of time.

    Parameters
    ----------
    subject
        exact, or every one of a kind: "feature:*", "class:*".
    window
        name of a window; empty: figures of the cycle itself.
    truth
        settled or provisional; empty for measures without labels.
    against
        what the value is the difference from, or the shift against; empty: none, of a shift the reference.
    version, segment
        empty: the whole; "*", "carrier=*": each one; else exact.
    features
        of several subjects: each is an alert, or their share in breach is one.
    share
        above which share of the judged subjects the rule is in breach.
    min_n
        with fewer records a verdict is unknown.
    hold
        for how long a breach lasts before it fires.
    keep_firing_for
        for how long a firing alert must be clear before it ends.
    unknown_after
        for how long a verdict may be unknown before the alert ends.
    labels
        (name, value) added to the alert, for routing.
    annotations
        (name, value): what the reader of an alert is told besides.
    """

    name: str
    measure: str
    condition: Condition
    severity: Severity = Severity.WARNING
    subject: str = ""
    window: str = ""
    truth: str = ""
    against: str = ""
    version: str = ""
    segment: str = ""
    features: FeatureScope = "each"
    share: float = 0.2
    min_n: int = 0
    hold: int = 0
    keep_firing_for: int = 0
    unknown_after: int = DAY
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """What one alert is about: a rule, and which stratum and subject of it. The whole is empty."""

    rule: str
    version: str = ""
    segment: str = ""
    window: str = ""
    subject: str = ""

    def __str__(self) -> str:
        parts = (self.rule, self.version, self.segment, self.window, self.subject)
        return "/".join(part for part in parts if part)


def matches(pattern: str, value: str) -> bool:
    """Whether a version, segment or subject is one of a pattern.

    >>> [matches("feature:*", one) for one in ("feature:age", "score")]
    [True, False]
    >>> matches("", "carrier=AA"), matches("*", ""), matches("*", "carrier=AA")
    (False, False, True)
    """
    if pattern.endswith(EVERY):
        return value != "" and value.startswith(pattern.removesuffix(EVERY))
    return value == pattern
