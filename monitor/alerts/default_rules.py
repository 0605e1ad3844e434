"""Rules of a model for which none is configured: few, and each wakes somebody for a reason.

What hurts at once is critical: a fall of performance, a log or labels that stop. What has changed is told
once, by the evidence of days: a warning. How far all is from the reference is shown, not told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.alerts.alert_rules import BreachCondition, JudgedBound, LimitBase, Rule, RuleLimit, Severity
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.core.measurement import LEVEL
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.volume_measures import MOST_SILENCE
from monitor.measures.measurement_comparison import FALL
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth
from monitor.records.reading import ModelTask

MAIN = {
    ModelTask.BINARY: "roc_auc",
    ModelTask.MULTICLASS: "accuracy",
    ModelTask.REGRESSION: "root_mean_squared_error",
}
MISDATED_SHARE = 0.01  # of the rows that came since the last audit: a few are a footnote of a log
# At most: a batch a night, a batch a week, and some delay. A log that is written all day stops sooner.
LOG_STOPS, LABELS_STOP = MOST_SILENCE, 8 * DAY
MISMATCH = 0.01  # p-value that stays valid however often it is looked at
KEPT = 7 * DAY  # what comes back within a week is one alert: it fires on until it was clear for so long


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleGrounds:
    """What of a model decides which rules make sense."""

    task: ModelTask
    windows: tuple[tuple[str, int, int], ...]  # (name, length, step) in the configured order; microseconds
    # score, labels, reference, arms, share: whether it has a score, labels, a reference, a control group, a
    # planned share of it.
    score: bool
    labels: bool
    reference: bool
    arms: bool = False
    share: bool = False
    # reported, settle_after: whether labels say when they were reported; the age at which they are there,
    # microseconds.
    reported: bool = True
    settle_after: int = 0
    classes: int = 2  # of several classes their number; 0 where only the reference knows it
    # horizon, every, ready_after: microseconds.
    horizon: int = 60 * DAY
    every: int = HOUR
    ready_after: int = 0
    hours: bool = True  # whether its hours can be judged: panes are shorter than a day, rows say when logged
    level: float = LEVEL  # of intervals


def main_window(names: Sequence[str]) -> str:
    """Window that rules judge unless they name another: seven days if the model has it, else its first."""
    return "7d" if "7d" in names else next(iter(names), "")


def main_measure(task: ModelTask, *, scored: bool) -> str:
    """Measure that stands for the others; scored: whether a binary model has scores."""
    return MAIN[task] if scored or task is not ModelTask.BINARY else "accuracy"


def longest_window(windows: Sequence[tuple[str, int, int]]) -> str:
    """The longest of some windows, (name, length, step): of those that slide, if any does.

    A calendar month ends once a month: what is to be told early cannot wait for that.

    >>> longest_window([("7d", 7 * DAY, DAY), ("30d", 30 * DAY, DAY), ("month", 31 * DAY, 0)])
    '30d'
    """
    return max(windows, key=lambda window: (window[2] > 0, window[1]))[0]


def default_unknown_after(windows: tuple[tuple[str, int, int], ...], window: str) -> int:
    """For how long a verdict may be unknown: three steps of its window, at least a day."""
    steps = {name: step or length for name, length, step in windows}
    return max(DAY, 3 * steps.get(window, 0))


def default_rules(watched: RuleGrounds) -> tuple[Rule, ...]:
    """Rules of a model; their annotations say what they mean and what to look at."""
    parts = (_freshness_rules, _change_rules, _performance_rules, _arm_rules)
    return tuple(rule for part in parts for rule in part(watched))


def fall_condition(*, higher: bool) -> BreachCondition:
    """When a performance is surely worse than the one that it is the difference from.

    Parameters
    ----------
    higher
        whether more is better.
    """
    return BreachCondition(
        above=None if higher else RuleLimit(FALL, LimitBase.EARLIER),
        below=RuleLimit(-FALL, LimitBase.LEEWAY) if higher else None,
        bound=JudgedBound.UPPER if higher else JudgedBound.LOWER,
    )


def _freshness_rules(watched: RuleGrounds) -> Iterator[Rule]:
    age = max(LOG_STOPS, 3 * watched.every, watched.ready_after + DAY) / SECOND
    yield Rule(
        name="log_stopped",
        measure="log_age",
        condition=BreachCondition(
            above=RuleLimit(age, LimitBase.SILENCE if watched.hours else LimitBase.ONE)
        ),
        severity=Severity.CRITICAL,
        annotations=(
            ("summary", "The log has stopped"),
            ("action", "Look whether the model serves, and whether its log is still written."),
        ),
    )
    if watched.labels:
        stop = max(LABELS_STOP, 3 * watched.every)
        # Where events alone tell how old the newest label is, labels come so much later than these.
        if not watched.reported:
            stop = min(watched.horizon, stop + watched.settle_after)
        yield Rule(
            name="labels_stopped",
            measure="label_age",
            condition=BreachCondition(above=RuleLimit(stop / SECOND)),
            severity=Severity.CRITICAL,
            annotations=(
                ("summary", "Labels have stopped"),
                ("action", "Look at the feed of labels: until it is back, performance is not known."),
            ),
        )
    yield Rule(
        name="misdated_records",
        measure="misdated_rate",
        condition=BreachCondition(above=RuleLimit(MISDATED_SHARE), bound=JudgedBound.LOWER),
        annotations=(
            ("summary", "Rows have event times far outside the horizon, and no window counts them"),
            ("action", "Look at what writes the event time: its unit, its default, its year."),
        ),
    )


def _change_rules(watched: RuleGrounds) -> Iterator[Rule]:
    """What changed, by the evidence of days: all subjects share the budget of false alerts."""
    for name, subject, severity, summary, action in (
        (
            "performance_changed",
            "",
            Severity.CRITICAL,
            "Performance has become worse",
            "Look at what changed with it, at the segment that holds it and at the newest version.",
        ),
        (
            "changed",
            "*",
            Severity.WARNING,
            "Something changed",
            "Look at its source, at what changed with it, and at what was deployed that day.",
        ),
    ):
        if not subject and not watched.labels:
            continue
        yield Rule(
            name=name,
            measure=EVIDENCE,
            condition=BreachCondition(above=RuleLimit(1.0)),
            severity=severity,
            subject=subject,
            window=CUMULATIVE,
            unknown_after=KEPT,
            annotations=(("summary", summary), ("action", action)),
        )


def _performance_rules(watched: RuleGrounds) -> Iterator[Rule]:
    if not (watched.labels and watched.reference):
        return
    higher = watched.task is not ModelTask.REGRESSION
    measure = MAIN[watched.task] if watched.score or watched.task is not ModelTask.BINARY else "accuracy"
    fall = fall_condition(higher=higher)
    longest = longest_window(watched.windows)
    for name, truth, severity in (
        ("performance", LabelTruth.SETTLED, Severity.CRITICAL),
        ("performance_nowcast", LabelTruth.NOWCAST, Severity.WARNING),
    ):
        so_far = ", by the labels so far" if truth is LabelTruth.NOWCAST else ""
        yield Rule(
            name=name,
            measure=measure,
            condition=fall,
            severity=severity,
            window=longest,
            truth=truth,
            against="reference",
            keep_firing_for=KEPT,
            unknown_after=default_unknown_after(watched.windows, longest),
            annotations=(
                ("summary", f"Performance is clearly worse than in the reference{so_far}"),
                ("action", "Look at the segments that contribute most, then at shifts of the features."),
            ),
        )


def _arm_rules(watched: RuleGrounds) -> Iterator[Rule]:
    if not watched.arms:
        return
    if watched.labels and watched.classes:
        several = watched.task is ModelTask.MULTICLASS and watched.classes > 2
        yield Rule(
            name="control_group",
            measure="control_p_value_always_valid",
            condition=BreachCondition(
                below=RuleLimit((1 - watched.level) / (watched.classes if several else 1))
            ),
            subject="class:*" if several else "",
            window=CUMULATIVE,
            truth=LabelTruth.SETTLED,
            annotations=(
                ("summary", "Control and treatment differ, by a test that may be looked at every day"),
                (
                    "action",
                    "Look at the difference and its sign: the model may do better or worse than none.",
                ),
            ),
        )
    if watched.share:
        yield Rule(
            name="sample_ratio",
            measure="sample_ratio_p_value_always_valid",
            condition=BreachCondition(below=RuleLimit(MISMATCH)),
            window=CUMULATIVE,
            annotations=(
                ("summary", "The arms' shares are not those that were planned"),
                ("action", "Mistrust the comparison of the arms: look at how records get into them."),
            ),
        )


ALL = RuleGrounds(
    task=ModelTask.BINARY,
    windows=(("1d", DAY, HOUR), ("7d", 7 * DAY, 6 * HOUR), ("30d", 30 * DAY, DAY)),
    score=True,
    labels=True,
    reference=True,
    arms=True,
    share=True,
)
NAMES = frozenset(rule.name for rule in default_rules(ALL))  # they do not depend on the task
