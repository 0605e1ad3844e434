"""From measurements to verdicts: one outcome for each series of a rule."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from monitor.alerts.alert_rules import (
    ACCEPTED,
    Acceptance,
    Accepted,
    AlertedSeries,
    BreachCondition,
    JudgedBound,
    LimitBase,
    Rule,
    RuleLimit,
    compare_with_accepted,
    matches_pattern,
)
from monitor.core.change import Change
from monitor.core.measurement import FEW_DELAYS, DetailTable, Interval, Measurement, Reason, table_of
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.comparison_measures import CONTRIBUTION
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import BetterDirection, MeasureUnit
from monitor.measures.catalogue.volume_measures import SILENCE_LIMIT
from monitor.measures.measurement_comparison import FIGURES, MEANS
from monitor.measures.measurement_row import CUMULATIVE, MeasurementRow
from monitor.measures.value_words import is_compared_by_difference

_TOP = 5  # features, cells or segments that a verdict names
COUNTED = ("feature", "value", "limit", "beside", "cell", "expected", "actual")
WORST = ("segment", *FIGURES)
_ALWAYS = frozenset({"records", "coverage"})  # one of them is there wherever anything was measured
_Key: TypeAlias = tuple[str, str, str, str]
_SILENCE_PLACE = (SILENCE_LIMIT, "", "", "")  # a figure of the cycle
Index: TypeAlias = Mapping[_Key, Sequence[MeasurementRow]]


NOT_KEPT = "what it was judged by then is not kept"  # reason of a verdict that a later one has replaced
# Errors in the unit of the labels are large where labels are, be the model good or bad.
_GROWING = (MeasureUnit.LABEL, MeasureUnit.LABEL_SQUARED)
USUAL = "usual"  # reason of one that is clear as the change is what is expected: it did not go back


class Outcome(StrEnum):
    """What a measurement says of a condition; WITHIN: no breach, but not yet far enough back."""

    BREACH = "breach"
    WITHIN = "within"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One outcome of a rule for one series, and what it stands on."""

    outcome: Outcome
    window_end: int
    # value, lower, upper, n: of the measurement; of a share of features the share and their number.
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    reason: str = ""  # why the outcome is unknown; `USUAL`: why it is clear
    # that decided, as a number: of two sides the nearer one; where a size is asked for besides, the further
    # one of both.
    limit: float | None = None
    # what the value is read beside: of a difference the value then, of a shift its critical value. None:
    # there is none, or it has no value.
    beside: float | None = None
    against: str = ""  # what it was judged against instead of what the rule names; empty: that
    cause: DetailTable | None = None  # which cells moved, which segments or features contribute most
    change: Change | None = None  # what changed, of a rule on the evidence of days

    @property
    def evidence_table(self) -> DetailTable | None:
        """What stands behind it as a table: a change is one of a single row."""
        return self.cause if self.change is None else table_of(self.change)

    @property
    def novelty_key(self) -> tuple[int, float | None, float | None, float | None, int, Outcome]:
        """What makes a verdict a new one: a new window end, or a changed state of the same."""
        return (self.window_end, self.value, self.lower, self.upper, self.n, self.outcome)


def rule_measures(rules: Iterable[Rule]) -> frozenset[str]:
    """Measures that rules read."""
    rules = list(rules)
    yardsticks = (_critical_measure_name(rule) for rule in rules if _uses_critical_value(rule.condition))
    return frozenset({*(rule.measure for rule in rules), *yardsticks, CONTRIBUTION, SILENCE_LIMIT})


def _critical_measure_name(rule: Rule) -> str:
    """Measure that is the critical value of a rule's; empty: it has none."""
    measure = BY_NAME.get(rule.measure)
    return "" if measure is None else measure.critical or ""


def group_rule_rows(rows: Iterable[MeasurementRow], measures: frozenset[str]) -> Index:
    """Rows by measure, window, truth and against; of each place one of the newest, see `has_judged_rows`.

    Cost: one pass.
    """
    by_place: dict[_Key, list[MeasurementRow]] = {}
    for row in rows:
        if row.measure not in measures and row.measure not in _ALWAYS:
            continue
        place = _place_key(row.window, row.truth, row.version, row.segment)
        if place not in by_place or by_place[place][0].window_end < row.window_end:
            by_place[place] = [row]
        if row.measure in measures:
            by_place.setdefault((row.measure, row.window, row.truth, row.against), []).append(row)
    return by_place


def has_judged_rows(rows: Index, rule: Rule, series: AlertedSeries, last: int) -> bool:
    """Whether there are rows of a rule's window and truth, of the whole or of strata as the series is.

    `last`: end of the window that the series was judged on last. Of a later one strata are always measured;
    revisions of that one or of earlier ones are of the whole alone.
    """
    if _place_key(rule.window, rule.truth, series.version, series.segment) in rows:
        return True
    whole = rows.get(_place_key(rule.window, rule.truth, "", ""))
    return whole is not None and whole[0].window_end > last


def _place_key(window: str, truth: str, version: str | None, segment: str | None) -> _Key:
    return ("", window, truth, "a stratum" if version or segment else "the whole")


def judge_rule(rule: Rule, rows: Index, accepted: Accepted | None = None) -> dict[AlertedSeries, Verdict]:
    """Verdicts of a rule; of a series that has several rows, on the newest window.

    Parameters
    ----------
    accepted
        changes that are expected, by series: where rows say how far a window is from the accepted one, these
        are judged; else what lies within the accepted bounds is no breach. Nor is, while it is accepted,
        a sequential test: it never forgets what it has seen.
    """
    verdicts = _judge_series(rule, rows, accepted or {})
    for series, acceptance in (accepted or {}).items():
        if series in verdicts and (rule.measure, rule.window, rule.truth, acceptance.comparison_name) in rows:
            other = _judge_series(compare_with_accepted(rule, acceptance), rows, {}).get(series)
            if other is not None and other.outcome is not Outcome.UNKNOWN:
                verdicts[series] = replace(other, against=ACCEPTED)
    return verdicts


def _judge_series(rule: Rule, rows: Index, accepted: Accepted) -> dict[AlertedSeries, Verdict]:
    place = (rule.window, rule.truth)
    yardsticks = rows.get((_critical_measure_name(rule), *place, rule.against), ())
    plain = rows.get((rule.measure, *place, ""), ()) if rule.against else ()
    critical, whole = _measurements_by_place(yardsticks), _measurements_by_place(plain)
    contributing = rows.get((CONTRIBUTION, *place, rule.against), ())
    added = next((row.measurement.detail for row in contributing), None)
    worst = None if BY_NAME[rule.measure].unit in _GROWING else _worst_segments(rule, plain)
    # Contributions are of a mean over the records: they come first where that mean is what is judged.
    first, second = (added, worst) if rule.measure in MEANS.values() else (worst, added)
    cause = first or second
    compared = is_compared_by_difference(rule.measure, rule.against)
    verdicts: dict[AlertedSeries, Verdict] = {}
    for row in rows.get((rule.measure, *place, rule.against), ()):
        version, segment = row.version or "", row.segment or ""
        if not (matches_pattern(rule.subject, row.subject) and matches_pattern(rule.version, version)):
            continue
        # A rule on evidence that names no segment judges the whole and all segments that are watched.
        is_of_all = rule.measure == EVIDENCE and not rule.segment
        if not (is_of_all or matches_pattern(rule.segment, segment)):
            continue
        series = AlertedSeries(rule.name, version, segment, row.window, row.subject)
        if series in verdicts and verdicts[series].window_end >= row.window_end:
            continue
        key = (version, segment, row.subject, row.window_end)
        then = _earlier_value(whole.get(key), row) if compared else None
        chance = critical[key].value if key in critical and _uses_critical_value(rule.condition) else None
        bases = {
            LimitBase.ONE: 1.0,
            LimitBase.CRITICAL: chance,
            LimitBase.EARLIER: None if then is None else abs(then),
            LimitBase.LEEWAY: None if then is None else leeway_of(then),
            LimitBase.SILENCE: next((one.measurement.value for one in rows.get(_SILENCE_PLACE, ())), None),
        }
        expected = accepted.get(series)
        # What was accepted is learned from: later evidence is of something else.
        if expected is not None and rule.measure == EVIDENCE and row.window_end > expected.end:
            expected = None
        verdict = _judge_row(
            rule,
            row,
            bases,
            expected,
            beside=chance if then is None else then,
            cause=_choose_cause_table(row.measurement.detail, None if segment else cause),
        )
        # A sequential test never forgets what it has seen: while that is accepted it can be no news.
        if rule.window == CUMULATIVE and expected is not None and verdict.outcome is Outcome.BREACH:
            verdict = replace(verdict, outcome=Outcome.CLEAR)
        if verdict.outcome is Outcome.CLEAR and verdict.change is not None and verdict.change.usual_since:
            verdict = replace(verdict, reason=USUAL)
        verdicts[series] = verdict
    return _judge_stratum_shares(rule, verdicts, accepted) if rule.features == "share" else verdicts


def leeway_of(then: float) -> float:
    """What `LimitBase.LEEWAY` is a share of.

    >>> round(0.05 * leeway_of(0.7), 4), round(0.05 * leeway_of(0.96), 4)
    (0.035, 0.01)
    """
    return min(abs(then), 5 * abs(1 - then))


def _choose_cause_table(own: DetailTable | None, segments: DetailTable | None) -> DetailTable | None:
    """The measurement's own table, unless it only holds what the value is the difference from."""
    return segments or own if own is None or own.columns == FIGURES else own


def _worst_segments(rule: Rule, rows: Sequence[MeasurementRow]) -> DetailTable | None:
    """Segments by the better bound of their own value, the surely worst first; None: there are none.

    Contributions are of a mean over records. Of other measures, and where that mean has not surely fallen,
    these tell where to look.
    """
    direction = (
        BY_NAME[rule.measure].direction
        if is_compared_by_difference(rule.measure, rule.against)
        else BetterDirection.NONE
    )
    end = max((row.window_end for row in rows), default=0)
    found = [
        (row.segment, row.measurement)
        for row in rows
        if row.segment and row.version is None and row.window_end == end and row.subject == rule.subject
    ]
    figures = []
    for name, now in found:
        if now.value is not None:
            bounds = (None, None) if now.interval is None else (now.interval.lower, now.interval.upper)
            figures.append((name, now.value, *bounds, now.n))
    if direction is BetterDirection.NONE or not figures:
        return None
    best, sign = (3, 1) if direction is BetterDirection.HIGHER else (2, -1)
    # What is bad even by its better bound is surely bad: a small segment with a bad value by chance comes
    # later.
    figures.sort(key=lambda row: sign * (row[1] if row[best] is None else row[best]))
    return DetailTable(WORST, tuple(figures[:_TOP]))


def _uses_critical_value(condition: BreachCondition) -> bool:
    limits = (condition.above, condition.below, condition.and_above)
    return any(limit is not None and limit.base is LimitBase.CRITICAL for limit in limits)


def _measurements_by_place(rows: Iterable[MeasurementRow]) -> dict[tuple[str, str, str, int], Measurement]:
    return {
        (row.version or "", row.segment or "", row.subject, row.window_end): row.measurement for row in rows
    }


def _earlier_value(now: Measurement | None, row: MeasurementRow) -> float | None:
    """What a value is the difference from."""
    if now is None or now.value is None or row.measurement.value is None:
        return None
    return now.value - row.measurement.value


def _judge_row(
    rule: Rule,
    row: MeasurementRow,
    bases: Mapping[LimitBase, float | None],
    accepted: Acceptance | None,
    *,
    beside: float | None,
    cause: DetailTable | None,
) -> Verdict:
    """What a measurement says, or why it says nothing, and the limit that it was judged against."""
    measurement, interval = row.measurement, row.measurement.interval
    outcome, limit, reason = _judge_value(rule, row, bases, accepted)
    return Verdict(
        outcome=outcome,
        window_end=row.window_end,
        value=measurement.value,
        lower=None if interval is None else interval.lower,
        upper=None if interval is None else interval.upper,
        n=measurement.n,
        reason=reason,
        limit=limit,
        beside=beside,
        cause=cause,
        change=measurement.change,
    )


def _judge_value(
    rule: Rule,
    row: MeasurementRow,
    bases: Mapping[LimitBase, float | None],
    accepted: Acceptance | None,
) -> tuple[Outcome, float | None, str]:
    """Outcome, the limit that decided, and why the outcome is unknown."""
    measurement, value, condition = row.measurement, row.measurement.value, rule.condition
    if value is None:
        return Outcome.UNKNOWN, None, str(measurement.reason)
    if FEW_DELAYS in row.warning.split(", "):
        return Outcome.UNKNOWN, None, FEW_DELAYS
    if measurement.n < rule.min_n:
        return Outcome.UNKNOWN, None, "too_few"
    sides = _judged_sides(condition, value, measurement.interval)
    if sides is None:
        return Outcome.UNKNOWN, None, "no_interval"
    asked = (condition.above, condition.below, condition.and_above)
    above, below, size = (_limit_value(limit, bases) for limit in asked)
    if any(
        limit is None and wanted is not None
        for limit, wanted in zip((above, below, size), asked, strict=True)
    ):
        return Outcome.UNKNOWN, None, "no_limit"
    return *_compare_with_limits(condition, value, sides, (above, below, size), accepted), ""


def _judged_sides(
    condition: BreachCondition, value: float, interval: Interval | None
) -> tuple[float, float] | None:
    """What is judged against `above` and against `below`; None where a bound is asked for and missing."""
    if condition.bound is JudgedBound.POINT:
        return (value, value)
    if interval is None:
        return None
    if condition.above is not None and condition.below is not None:
        return (interval.lower, interval.upper)
    judged = interval.lower if condition.bound is JudgedBound.LOWER else interval.upper
    return (judged, judged)


def _limit_value(limit: RuleLimit | None, bases: Mapping[LimitBase, float | None]) -> float | None:
    base = None if limit is None else bases[limit.base]
    if limit is not None and limit.base is LimitBase.SILENCE:
        return limit.amount if base is None else min(limit.amount, base)
    return None if limit is None or base is None else limit.amount * base


def _compare_with_limits(
    condition: BreachCondition,
    value: float,
    sides: tuple[float, float],
    limits: tuple[float | None, float | None, float | None],
    accepted: Acceptance | None,
) -> tuple[Outcome, float | None]:
    (high, low), (above, below, size) = sides, limits
    over = above is not None and high > above and (size is None or value > size)
    under = below is not None and low < below and (size is None or value < -size)
    if accepted is not None:
        # What was accepted moves limits outwards, never inwards.
        over, under = over and value > accepted.upper, under and value < accepted.lower
        above = None if above is None else max(above, accepted.upper)
        below = None if below is None else min(below, accepted.lower)
    lower_side = above is None or under
    limit = below if lower_side else above
    if limit is not None and size is not None:
        limit = min(limit, -size) if lower_side else max(limit, size)
    if over or under:
        return Outcome.BREACH, limit
    # An alert that fires is to be surely back before it ends, or it would come and go at its limit.
    not_back = (condition.clear_above is not None and above is not None and high > condition.clear_above) or (
        condition.clear_below is not None and below is not None and low < condition.clear_below
    )
    return Outcome.WITHIN if not_back else Outcome.CLEAR, limit


def _judge_stratum_shares(
    rule: Rule, verdicts: Mapping[AlertedSeries, Verdict], accepted: Accepted
) -> dict[AlertedSeries, Verdict]:
    """One verdict for each stratum: the share of its subjects that are in breach.

    It is clear only if those that were not counted cannot change that.
    """
    groups: dict[AlertedSeries, list[tuple[AlertedSeries, Verdict]]] = {}
    for series, verdict in verdicts.items():
        of_all = AlertedSeries(series.rule, series.version, series.segment, series.window, rule.subject)
        groups.setdefault(of_all, []).append((series, verdict))
    return {series: _judge_share(rule, group, accepted.get(series)) for series, group in groups.items()}


def _judge_share(
    rule: Rule, group: Sequence[tuple[AlertedSeries, Verdict]], accepted: Acceptance | None
) -> Verdict:
    end = max(verdict.window_end for _, verdict in group)
    counted = [(series, verdict) for series, verdict in group if verdict.outcome is not Outcome.UNKNOWN]
    if not counted:
        return replace(
            group[0][1], window_end=end, value=None, lower=None, upper=None, cause=None, change=None
        )
    worst = sorted(counted, key=lambda judged: (-excess_over_limit(judged[1]), judged[0].subject))
    breaches = [(series, verdict) for series, verdict in worst if verdict.outcome is Outcome.BREACH]
    share = len(breaches) / len(counted)
    limit = rule.share if accepted is None else max(rule.share, accepted.upper)
    uncounted = sum(verdict.reason == Reason.NOT_COUNTED for _, verdict in group)
    most = (len(breaches) + uncounted) / (len(counted) + uncounted)
    sure = Outcome.CLEAR if most <= limit else Outcome.UNKNOWN
    return Verdict(
        outcome=Outcome.BREACH if share > limit else sure,
        window_end=end,
        value=share,
        n=len(counted),
        reason=Reason.NOT_COUNTED if share <= limit < most else "",
        limit=limit,
        cause=DetailTable(
            COUNTED,
            tuple(_counted_feature(series, verdict) for series, verdict in (breaches or worst)[:_TOP]),
        ),
    )


def _counted_feature(series: AlertedSeries, verdict: Verdict) -> tuple[float | str | None, ...]:
    """A feature of a share: what it was judged on, and the cell that moved most."""
    cells = verdict.cause
    known = cells is not None and cells.columns[:3] == COUNTED[4:] and cells.rows
    moved = cells.rows[0][:3] if cells is not None and known else (None, None, None)
    return (series.subject, verdict.value, verdict.limit, verdict.beside, *moved)


def excess_over_limit(verdict: Verdict) -> float:
    """How far beyond its limit a value is, in limits."""
    if verdict.value is None or verdict.limit is None:
        return 0.0
    return abs(verdict.value - verdict.limit) / (abs(verdict.limit) or 1.0)
