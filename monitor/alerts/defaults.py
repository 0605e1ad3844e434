"""Rules of a model for which none is configured: few, and each wakes somebody for a reason.

What hurts at once is critical: a fall of performance, a log or labels that stop. What has changed is told
once, by the evidence of days: a warning. How far all is from the reference is shown, not told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.alerts.rules import Base, Bound, Condition, Limit, Rule, Severity
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.core.measurement import LEVEL
from monitor.measures.against import FALL, SEASON
from monitor.measures.catalogue.daily import EVIDENCE
from monitor.measures.rows import CUMULATIVE, Truth
from monitor.measures.worded import SIZES
from monitor.records.reading import Task

MAIN = {
    Task.BINARY: "roc_auc",
    Task.MULTICLASS: "accuracy",
    Task.REGRESSION: "root_mean_squared_error",
}
SIZE, FAR = SIZES  # of a stability index: the classical bands, below which a shift is small, or is not large
MISSING = 0.05  # by so much more of the values are missing, invalid or unseen than in the reference
INVALID = 0.01  # of the labels: a feed that writes what is no label goes on doing so
MISDATED_SHARE = 0.01  # of the rows that came since the last audit: a few are a footnote of a log
SHARE = 0.2  # of the features
FEWER, MORE = 0.5, 2.0  # times the records of the same hours of earlier weeks
LOG_STOPS, LABELS_STOP = 36 * HOUR, 8 * DAY  # a batch a night, a batch a week, and some delay
DELAY = 0.75  # of the horizon: labels later than it are counted nowhere
MISMATCH = 0.01  # p-value that stays valid however often it is looked at
KEPT = 7 * DAY  # what comes back within a week is one alert: it fires on until it was clear for so long
_MOVED = Condition(above=Limit(1.0, Base.CRITICAL), and_above=Limit(SIZE))
_FAR_OFF = Condition(above=Limit(1.0, Base.CRITICAL), and_above=Limit(FAR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What of a model decides which rules make sense."""

    task: Task
    windows: tuple[tuple[str, int, int], ...]  # (name, length, step) in the configured order; microseconds
    # score, labels, reference, features, categories, season, arms, share: whether it has a score, labels, a
    # reference, features in it, categorical ones among them, a season that its shift is compared with, a
    # control group, a planned share of it.
    score: bool
    labels: bool
    reference: bool
    features: bool
    categories: bool = True
    season: bool = False
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
    level: float = LEVEL  # of intervals

    @property
    def window(self) -> str:
        """The window that its rules judge."""
        return main_window([name for name, _, _ in self.windows])


def main_window(names: Sequence[str]) -> str:
    """Window that rules judge unless they name another: seven days if the model has it, else its first."""
    return "7d" if "7d" in names else next(iter(names), "")


def main_measure(task: Task, *, scored: bool) -> str:
    """Measure that stands for the others; scored: whether a binary model has scores."""
    return MAIN[task] if scored or task is not Task.BINARY else "accuracy"


def longest_window(windows: Sequence[tuple[str, int, int]]) -> str:
    """The longest of some windows, (name, length, step): of those that slide, if any does.

    A calendar month ends once a month: what is to be told early cannot wait for that.

    >>> longest_window([("7d", 7 * DAY, DAY), ("30d", 30 * DAY, DAY), ("month", 31 * DAY, 0)])
    '30d'
    """
    return max(windows, key=lambda window: (window[2] > 0, window[1]))[0]


def patience(windows: tuple[tuple[str, int, int], ...], window: str) -> int:
    """For how long a verdict may be unknown: three steps of its window, at least a day."""
    steps = {name: step or length for name, length, step in windows}
    return max(DAY, 3 * steps.get(window, 0))


def volume_reach(length: int, weeks: int = 2) -> int:
    """How far back volumes are compared: a window, and so many earlier ones that do not overlap it.

    Parameters
    ----------
    weeks
        1: there is a ratio; 2: it has an interval.

    >>> [volume_reach(days * DAY) // DAY for days in (1, 7, 14, 30)]
    [15, 21, 42, 100]
    """
    return weeks * -(-length // (7 * DAY)) * 7 * DAY + length


def default_rules(watched: Watched) -> tuple[Rule, ...]:
    """Rules of a model; their annotations say what they mean and what to look at."""
    parts = (_stops, _changes, _performance, _shifts, _features, _labels, _arms)
    return tuple(rule for part in parts for rule in part(watched))


def _stops(watched: Watched) -> Iterator[Rule]:
    age = max(LOG_STOPS, 3 * watched.every, watched.ready_after + DAY) / SECOND
    yield Rule(
        name="log_stopped",
        measure="log_age",
        condition=Condition(above=Limit(age)),
        severity=Severity.CRITICAL,
        annotations=(
            ("summary", "The log has stopped"),
            ("action", "Look whether the model serves, and whether its log is still written."),
        ),
    )
    if watched.labels:
        stop = max(LABELS_STOP, 3 * watched.every)
        if not watched.reported:  # events alone tell the age: labels come so much later
            stop = min(watched.horizon, stop + watched.settle_after)
        yield Rule(
            name="labels_stopped",
            measure="label_age",
            condition=Condition(above=Limit(stop / SECOND)),
            severity=Severity.CRITICAL,
            annotations=(
                ("summary", "Labels have stopped"),
                ("action", "Look at the feed of labels: until it is back, performance is not known."),
            ),
        )
    yield Rule(
        name="misdated_records",
        measure="misdated_rate",
        condition=Condition(above=Limit(MISDATED_SHARE), bound=Bound.LOWER),
        annotations=(
            ("summary", "Rows have event times far outside the horizon, and no window counts them"),
            ("action", "Look at what writes the event time: its unit, its default, its year."),
        ),
    )
    shortest, length, step = min(watched.windows, key=lambda window: window[1])
    if volume_reach(length) + watched.ready_after > watched.horizon:
        return
    yield Rule(
        name="volume",
        measure="volume_ratio",
        condition=Condition(above=Limit(MORE), below=Limit(FEWER), bound=Bound.LOWER),
        severity=Severity.INFO,
        window=shortest,
        hold=0 if length >= DAY else 2 * (step or length),
        keep_firing_for=KEPT,
        unknown_after=patience(watched.windows, shortest),
        annotations=(
            ("summary", "The log has not as many records as usual"),
            ("action", "Look at the traffic, and whether rows are logged twice or not at all."),
        ),
    )


def _changes(watched: Watched) -> Iterator[Rule]:
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
            condition=Condition(above=Limit(1.0)),
            severity=severity,
            subject=subject,
            window=CUMULATIVE,
            unknown_after=KEPT,
            annotations=(("summary", summary), ("action", action)),
        )


def _performance(watched: Watched) -> Iterator[Rule]:
    if not (watched.labels and watched.reference):
        return
    higher = watched.task is not Task.REGRESSION
    measure = MAIN[watched.task] if watched.score or watched.task is not Task.BINARY else "accuracy"
    fall = Condition(
        above=None if higher else Limit(FALL, Base.EARLIER),
        below=Limit(-FALL, Base.EARLIER) if higher else None,
        bound=Bound.UPPER if higher else Bound.LOWER,
    )
    longest = longest_window(watched.windows)
    for name, truth, window, severity in (
        ("performance", Truth.SETTLED, watched.window, Severity.CRITICAL),
        ("performance_nowcast", Truth.NOWCAST, longest, Severity.WARNING),
    ):
        so_far = ", by the labels so far" if truth is Truth.NOWCAST else ""
        yield Rule(
            name=name,
            measure=measure,
            condition=fall,
            severity=severity,
            window=window,
            truth=truth,
            against="reference",
            keep_firing_for=KEPT,
            unknown_after=patience(watched.windows, window),
            annotations=(
                ("summary", f"Performance is surely worse than the reference's{so_far}"),
                ("action", "Look at the segments that contribute most, then at shifts of the features."),
            ),
        )


def _shifts(watched: Watched) -> Iterator[Rule]:
    if not watched.reference:
        return
    wait = patience(watched.windows, watched.window)
    subjects = ["score"] if watched.score else []
    for subject in [*subjects, "prediction", *(["label"] if watched.labels else [])]:
        yield Rule(
            name=f"{subject}_shift",
            measure="stability_index",
            condition=_MOVED,
            severity=Severity.INFO,
            subject=subject,
            window=watched.window,
            truth=Truth.SETTLED if subject == "label" else "",
            against="" if subject == "label" else _moment(watched),
            keep_firing_for=KEPT,
            unknown_after=wait,
            annotations=(
                ("summary", f"The {subject}'s distribution has moved"),
                ("action", "Look at the cells that moved, then at the features and at the newest version."),
            ),
        )


def _moment(watched: Watched) -> str:
    """What shift is judged against."""
    return SEASON if watched.season else ""


def _features(watched: Watched) -> Iterator[Rule]:
    if not (watched.reference and watched.features):
        return
    wait = patience(watched.windows, watched.window)
    yield Rule(
        name="feature_shift",
        measure="stability_index",
        condition=_MOVED,
        severity=Severity.INFO,
        subject="feature:*",
        window=watched.window,
        against=_moment(watched),
        features="share",
        share=SHARE,
        keep_firing_for=KEPT,
        unknown_after=wait,
        annotations=(
            ("summary", "Many features have moved"),
            ("action", "Look at the features named: at their source, and whether the population changed."),
        ),
    )
    yield Rule(
        name="feature_far_off",
        measure="stability_index",
        condition=_FAR_OFF,
        severity=Severity.INFO,
        subject="feature:*",
        window=watched.window,
        against=_moment(watched),
        keep_firing_for=KEPT,
        unknown_after=wait,
        annotations=(
            ("summary", f"A feature is far from {'its season' if watched.season else 'the reference'}"),
            ("action", "Look at the feature's source: unit, scale and codes, and what was deployed last."),
        ),
    )
    for fault in ("missing", "invalid", "unseen") if watched.categories else ("missing", "invalid"):
        yield Rule(
            name=f"{fault}_values",
            measure=f"{fault}_rate",
            condition=Condition(above=Limit(MISSING), bound=Bound.LOWER),
            severity=Severity.INFO,
            subject="feature:*",
            window=watched.window,
            against="reference",
            features="share",
            share=0.0,
            keep_firing_for=KEPT,
            unknown_after=wait,
            annotations=(
                ("summary", f"Features have more {fault} values than the reference"),
                ("action", "Look at the features named, at their source and at what was deployed last."),
            ),
        )


def _labels(watched: Watched) -> Iterator[Rule]:
    if not watched.labels:
        return
    yield Rule(
        name="invalid_labels",
        measure="invalid_label_rate",
        condition=Condition(above=Limit(INVALID), bound=Bound.LOWER),
        severity=Severity.INFO,
        window=watched.window,
        truth=Truth.PROVISIONAL,
        unknown_after=patience(watched.windows, watched.window),
        annotations=(
            ("summary", "Labels are no class or no number, and count as none"),
            ("action", "Look at what the feed writes into the label's column, and at [models.classes]."),
        ),
    )
    if not watched.reported:
        return
    yield Rule(
        name="label_delay",
        measure="label_delay_p90",
        condition=Condition(above=Limit(DELAY * watched.horizon / SECOND)),
        severity=Severity.INFO,
        window=watched.window,
        truth=Truth.SETTLED,
        unknown_after=patience(watched.windows, watched.window),
        annotations=(
            ("summary", "One label in ten comes very late"),
            ("action", "Look at the feed of labels; a longer horizon lets windows settle on later labels."),
        ),
    )


def _arms(watched: Watched) -> Iterator[Rule]:
    if not watched.arms:
        return
    if watched.labels and watched.classes:
        several = watched.task is Task.MULTICLASS and watched.classes > 2
        yield Rule(
            name="control_group",
            measure="control_p_value_always_valid",
            condition=Condition(below=Limit((1 - watched.level) / (watched.classes if several else 1))),
            subject="class:*" if several else "",
            window=CUMULATIVE,
            truth=Truth.SETTLED,
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
            condition=Condition(below=Limit(MISMATCH)),
            window=CUMULATIVE,
            annotations=(
                ("summary", "The arms' shares are not those that were planned"),
                ("action", "Mistrust the comparison of the arms: look at how records get into them."),
            ),
        )


ALL = Watched(
    task=Task.BINARY,
    windows=(("1d", DAY, HOUR), ("7d", 7 * DAY, 6 * HOUR), ("30d", 30 * DAY, DAY)),
    score=True,
    labels=True,
    reference=True,
    features=True,
    arms=True,
    share=True,
)
NAMES = frozenset(rule.name for rule in default_rules(ALL))  # they do not depend on the task
