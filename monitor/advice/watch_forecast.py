"""What will be watched of a model, and which rules can be judged now, later and never. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from monitor.alerts.alert_rules import JudgedBound, Rule
from monitor.config.unjudgeable_rules import never_judged
from monitor.core.clock import DAY, format_duration, to_iso
from monitor.evidence.watch import MOST_SEGMENTS
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_comparison import SEASON
from monitor.measures.measurement_row import CUMULATIVE
from monitor.sentences.change_words import told_later_sentence
from monitor.specs.model_spec import ModelSpec
from monitor.windows.window_ends import FEWEST_PERIODS, seasonal_reach, volume_reach


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchForecast:
    """What will be watched of a model."""

    features: str  # how many of which kind
    outputs: tuple[str, ...]  # score, prediction, label: those that there are
    windows: tuple[str, ...]
    every: int
    # now, later, never: names of rules: judged from the first cycle on; each with when; each with why not,
    # and what helps.
    now: tuple[str, ...]
    later: tuple[tuple[str, str], ...]
    never: tuple[tuple[str, str], ...]
    shortest: tuple[str, int]  # name and length of the shortest window
    # microseconds from the end of a window until it settles, as far as a sample of delays tells; None: it
    # does not.
    settles_after: int | None
    settling_given: bool = False  # that is configured
    # whether there is one: without it shifts are not watched, nor performance against it.
    reference: bool = True
    # columns of the segments that share the budget of false alerts; none without a budget or a reference.
    segments: tuple[str, ...] = ()
    looked: bool = True  # the tables were looked at, not the file alone
    gross_faults: str = ""  # by when they are told; empty: never, without a budget of false alerts


def forecast_watch(
    model: ModelSpec, settling: int | None = None, reach: int | None = None, *, looked: bool = True
) -> WatchForecast:
    """What will be watched.

    Parameters
    ----------
    model
        with the features that its reference settled, if the tables were looked at.
    settling
        age at which most labels of a sample were in, microseconds; None: not known.
    reach
        how far back the log reaches, microseconds; None: not known.
    looked
        the tables were looked at.
    """
    never = dict(never_judged(model))
    after = model.keys.settle_after if model.keys.settle_after is not None else settling
    judged = [rule for rule in model.rules if rule.name not in never]
    later = {
        rule.name: when for rule in judged if (when := _first_judged_words(model, rule, after, reach or 0))
    }
    reading = model.reading
    counted = f"{len(reading.numeric)} numeric and {len(reading.categorical)} categorical features"
    outputs = {"scores": reading.has_score, "predictions": True, "labels": model.labels is not None}
    return WatchForecast(
        features=counted if looked or not model.find_features else "the features that the reference has",
        outputs=tuple(name for name, there in outputs.items() if there),
        windows=tuple(window.name for window in model.windows),
        every=model.keys.every,
        now=tuple(rule.name for rule in judged if rule.name not in later),
        later=tuple(later.items()),
        never=tuple(never.items()),
        shortest=min(((window.name, window.length) for window in model.windows), key=itemgetter(1)),
        settles_after=None if model.labels is None else after,
        settling_given=model.keys.settle_after is not None,
        reference=model.reference is not None,
        segments=() if model.budget is None or model.reference is None else reading.segments,
        looked=looked,
        gross_faults="" if model.budget is None else _gross_fault_words(model),
    )


def forecast_lines(
    watched: WatchForecast, oldest: int | None = None, newest: int | None = None
) -> Iterator[str]:
    """Lines for people.

    `oldest`, `newest`: event times of the log, microseconds; None: not known.
    """
    yield (
        f"watched: {', '.join((watched.features, *watched.outputs))}; windows {', '.join(watched.windows)}; "
        f"a cycle each {format_duration(watched.every)}"
    )
    if watched.segments:
        yield (
            f"watched of segments of {', '.join(watched.segments)}: of the {MOST_SEGMENTS} largest "
            "the level of the output, and performance; they share the budget of false alerts"
        )
    if not watched.reference:
        yield (
            "not watched: shifts of features and outputs, and performance against a reference, for there is "
            "none; give [models.reference]"
        )
    if "labels" not in watched.outputs:
        yield "not watched: performance, for no labels are configured; give [models.labels]"
    yield f"rules that run from the first cycle on: {', '.join(watched.now) or 'none'}"
    if watched.later:
        yield f"rules that run later: {_grouped_rule_words(watched.later)}"
    if watched.never:
        yield f"rules that can never run: {_grouped_rule_words(watched.never)}"
    if watched.gross_faults:
        yield watched.gross_faults
    if "labels" in watched.outputs:
        yield f"first settling: {_settling_line(watched, oldest, newest)}"


def _gross_fault_words(model: ModelSpec) -> str:
    logged = model.predictions.column_of("logged_at") is not None
    words = told_later_sentence(model.reading.pane, model.keys.every, logged=logged)
    return f"{words[:1].lower()}{words[1:]}" if words else "gross faults fire within two hours"


def _first_judged_words(model: ModelSpec, rule: Rule, after: int | None, reach: int) -> str:
    """When a rule can be judged first; empty: from the first cycle on."""
    if rule.truth == "settled":
        days = "" if after is None else f", about {_whole_days_text(after)} after its end"
        window = "a day" if rule.window == CUMULATIVE else f"a window {rule.window}"
        return f"once {window} has settled{days}"
    if rule.truth == "nowcast":
        return "once the delays of enough labels are known"
    if rule.measure == EVIDENCE:
        days = "14 days" if rule.subject else "labels of 14 days"
        return f"once {days} have been learned from"
    if rule.against == SEASON:
        needed = seasonal_reach(rule.window, model.season, FEWEST_PERIODS)
        return f"once the log reaches back {_whole_days_text(needed)}" if reach < needed else ""
    if rule.measure == "volume_ratio":
        length = next((window.length for window in model.windows if window.name == rule.window), DAY)
        needed = volume_reach(length, 1 if rule.condition.bound is JudgedBound.POINT else 2)
        return f"once the log reaches back {_whole_days_text(needed)}" if reach < needed else ""
    return ""


def _settling_line(watched: WatchForecast, oldest: int | None, newest: int | None) -> str:
    after = watched.settles_after
    if after is None and not watched.looked:
        return "not known from the file alone: without --offline the delays of labels are looked at"
    if after is None:
        return "not known: too few delays of labels are seen yet; wait for labels, or give settle_after"
    so_far = "" if watched.settling_given else "by the delays seen so far, which are short in a young log, "
    first = ""
    if oldest is not None and newest is not None:
        name, length = watched.shortest
        at = -(-(oldest + length) // DAY) * DAY + after
        due = "with its first cycles" if at <= newest else f"about {to_iso(at)[:10]}"
        first = f"; the first window {name} of this log settles {due}"
    return f"{so_far}a window settles about {_whole_days_text(after)} after its end{first}"


def _grouped_rule_words(rules: tuple[tuple[str, str], ...]) -> str:
    """Names of rules by what is said of them."""
    groups: dict[str, list[str]] = {}
    for name, words in rules:
        groups.setdefault(words, []).append(name)
    return "; ".join(f"{', '.join(names)} ({words})" for words, names in groups.items())


def _whole_days_text(us: int) -> str:
    """A duration in whole days, at least one."""
    days = max(1, -(-us // DAY))
    return "a day" if days == 1 else f"{days:,} days"
