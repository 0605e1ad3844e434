"""An alert in words: the line that says it all, and what stands behind it; values with their units."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from monitor.alerts.alert_rules import EVERY, AlertedSeries, LimitBase, Rule
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import COUNTED, NOT_KEPT, WORST, Outcome, Verdict
from monitor.core.clock import SECOND, format_duration
from monitor.core.measurement import DetailTable, Interval
from monitor.core.text import number_text, readable_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import MeasureUnit
from monitor.measures.measurement_comparison import FIGURES, contributed_measure
from monitor.measures.value_words import (
    MINUS,
    UNKNOWN,
    format_detail_cell,
    format_interval_bounds,
    format_limit,
    format_measure_difference,
    format_measure_value,
    is_compared_by_difference,
    stability_band,
    value_beside_limit,
    with_minus,
)
from monitor.sentences.change_words import change_sentence
from monitor.sentences.input_sentences import INDEX, LOST, find_lost_shares
from monitor.sentences.time_words import utc_moment_words

Cell = float | str | None

_ENDED = {
    EndReason.CLEARED: "back within its limit",
    EndReason.USUAL: "closed after 28 days: this is the new normal",
    EndReason.REVISED: "withdrawn: late records or labels brought it back within its limit",
    EndReason.NO_DATA: "no longer known: its data were missing for too long. This is no all-clear",
    EndReason.ACCEPTED: "accepted: the change is expected",
    EndReason.REMOVED: "closed: its rule was removed from the configuration",
}
_UNSURE = "no longer clearly beyond its limit"
_AS_EXPECTED = "back to normal: most of the last 3 days are as expected again"
_MOST = 5  # lines of one table
_TITLES = {
    "cell": "Values that moved most",
    "feature": "Features, the largest first",
}
_PLACE = re.compile(r"\{(value|measure|n|limit)\}")


def alert_sentence(rule: Rule | None, series: AlertedSeries, verdict: Verdict) -> str:
    """The line that says it all: the rule's own words, where, value, reference, limit, what is behind it.

    It is the first line of a message and the summary in Prometheus; readable, without a final full stop.
    """
    sentence = ", ".join(part for part in (place_words(series), alert_figures(rule, verdict)) if part)
    own = "" if rule is None else fill_annotations(rule, verdict).get("summary", "")
    lead = " ".join(own.split()).removesuffix(".")
    return readable_text(f"{lead}: {sentence}" if lead else sentence)


def alert_figures(rule: Rule | None, verdict: Verdict) -> str:
    """Value, reference and limit of a verdict, in their units, and the cell, segment or feature behind it."""
    if verdict.reason == NOT_KEPT:
        return NOT_KEPT
    if rule is None:
        limit = "" if verdict.limit is None else f", limit {judged_value_words(None, verdict.limit)}"
        return judged_value_words(None, verdict.value) + limit
    if verdict.change is not None:
        return change_sentence(verdict.change, verdict.window_end)
    if rule.features == "share":
        return "; ".join([_feature_count_words(rule, verdict), *_largest_feature_words(rule, verdict.cause)])
    rule = replace(rule, against=verdict.against or rule.against)
    interval = interval_in_words(rule, verdict)
    parts = [
        *_judged_words(rule, verdict.value, interval, verdict.limit, verdict.beside),
        *_record_words(rule, verdict),
    ]
    return "; ".join([", ".join(parts), *_largest_part_words(rule, verdict.cause, verdict.value)])


def still_firing_words(alert: Alert) -> str:
    """That an alert fires on though its newest verdicts are clear; empty where it does not."""
    if alert.state is not AlertState.FIRING or alert.clear_since is None:
        return ""
    where, though = (_UNSURE, "; the value still is") if _is_beyond(alert) else ("within its limit again", "")
    return f"{where} from {utc_moment_words(alert.clear_since)} on, open in case it comes back{though}"


def end_reason_words(alert: Alert) -> str:
    """Why an alert ended; empty: it has not."""
    if alert.ended is EndReason.CLEARED and alert.breach.change is not None:
        return _AS_EXPECTED
    if alert.ended is EndReason.CLEARED and _is_beyond(alert):
        return f"{_UNSURE}, though its value still is"
    return "" if alert.ended is None else _ENDED[alert.ended]


def _is_beyond(alert: Alert) -> bool:
    """Whether the newest value, though clear, lies beyond the limit that the breach passed: not surely so."""
    then, now = alert.breach, alert.verdict
    if now.outcome is not Outcome.CLEAR or now.limit != then.limit:
        return False
    if then.value is None or then.limit is None or now.value is None:
        return False
    # On the same side of the limit as the breach was.
    return (now.value - then.limit) * (then.value - then.limit) > 0


def place_words(series: AlertedSeries) -> str:
    """Which part of the model; empty: the whole."""
    subject = "" if series.subject.endswith(EVERY) else series.subject
    version = f"version {series.version}" if series.version else ""
    return ", ".join(part for part in (subject, version, series.segment) if part)


def alerted_series_name(series: AlertedSeries) -> str:
    """A rule, and which part of the model it is about.

    >>> (alerted_series_name(AlertedSeries("changed", subject="feature:age")),
    ... alerted_series_name(AlertedSeries("volume")))
    ('changed (feature:age)', 'volume')
    """
    part = place_words(series)
    return f"{series.rule} ({part})" if part else series.rule


def fill_annotations(rule: Rule, verdict: Verdict) -> dict[str, str]:
    """Annotations of a rule, with {value}, {measure}, {n} and {limit} of a verdict filled in."""
    filled: Mapping[str, str] = {
        "value": judged_value_words(rule, verdict.value),
        "measure": rule.measure,
        "n": f"{verdict.n:,}",
        "limit": limit_in_words(rule, verdict.limit),
    }
    return {name: _PLACE.sub(lambda at: filled[at[1]], value) for name, value in rule.annotations}


def has_placeholders(text: str) -> bool:
    """Whether an annotation has places that only a verdict fills in."""
    return _PLACE.search(text) is not None


def judged_value_words(rule: Rule | None, value: float | None) -> str:
    """Value of what a rule judges, with its unit; a difference from another moment bears its sign."""
    if rule is None or value is None:
        return "unknown" if value is None else with_minus(number_text(value))
    if rule.features == "share":
        return f"{number_text(100 * value)} %"
    return (
        format_measure_difference(rule.measure, value)
        if is_compared_by_difference(rule.measure, rule.against)
        else format_measure_value(rule.measure, value)
    )


def limit_in_words(rule: Rule | None, limit: float | None) -> str:
    """Limit that a rule judges against, as exactly as it was written."""
    if rule is None or limit is None or rule.features == "share":
        return judged_value_words(rule, limit)
    return format_limit(rule.measure, limit, differs=is_compared_by_difference(rule.measure, rule.against))


def interval_in_words(rule: Rule | None, verdict: Verdict) -> str:
    """Interval of what was judged, in brackets; empty: it has none."""
    if verdict.lower is None or verdict.upper is None:
        return ""
    measure, bounds = "" if rule is None else rule.measure, Interval(verdict.lower, verdict.upper)
    return format_interval_bounds(measure, bounds, differs=is_difference(rule))


def is_difference(rule: Rule | None) -> bool:
    """Whether what a rule judges is a difference from another moment, and no value."""
    return (
        rule is not None
        and rule.features != "share"
        and is_compared_by_difference(rule.measure, rule.against)
    )


def rule_words(rule: Rule) -> str:
    """What a rule judges, in a line.

    >>> from monitor.alerts.alert_rules import BreachCondition, RuleLimit
    >>> rule_words(Rule(name="late", measure="label_age", condition=BreachCondition(above=RuleLimit(3600.0))))
    'label_age: above 1h.'
    """
    if rule.measure == EVIDENCE:
        return "each day by the days before it, within the budget of false alerts."
    many = rule.features == "share"
    subject = f" of {rule.subject}" if rule.subject and not many else ""
    window = f" of {rule.window}" if rule.window else ""
    against = f" against {rule.against}" if rule.against else ""
    truth = f", {rule.truth}" if rule.truth else ""
    share = f"more than {rule.share:.0%}" if rule.share else "any"
    of_many = f", for {share} of {rule.subject}" if many else ""
    return f"{rule.measure}{subject}{window}{against}{truth}: {_condition_words(rule)}{of_many}."


def cause_lines(rule: Rule | None, group: Sequence[Alert]) -> Iterator[str]:
    """Lines on the cause of the largest alert of a group; none where nothing is known."""
    cause = group[0].breach.cause
    if cause is None or not cause.rows:
        return
    yield ""
    if cause.columns == FIGURES:
        before, *_, n = cause.rows[0]
        value = format_detail_cell("value", before, "" if rule is None else rule.measure)
        yield f"It was {value}, n {format_detail_cell('', n)}, at the moment it is compared with."
        return
    subject = group[0].series.subject
    of = f" of {subject}" if len(group) > 1 and subject else ""
    yield f"{cause_heading(cause)}{of}:"
    for row in cause.rows[:_MOST]:
        if cause.columns == COUNTED and rule is not None:
            yield f"- {_feature_words(rule, row)}"
        else:
            named = zip(cause.columns[1:], row[1:], strict=True)
            own = rule.measure if rule is not None and cause.columns == WORST else contributed_measure(cause)
            told = (
                f"{column.replace('_', ' ')} {format_detail_cell(column, value, own)}"
                for column, value in named
            )
            yield f"- {format_detail_cell('', row[0])}: {', '.join(told)}"


def cause_table(rule: Rule | None, cause: DetailTable) -> list[tuple[str, ...]]:
    """What stands behind an alert, in the units of the rule: a line of headings and a line for each row."""
    counted = rule is not None and cause.columns == COUNTED
    names = ["values" if column == "cell" else column.replace("_", " ") for column in cause.columns]
    if rule is not None and counted:
        names[3] = rule.against or "critical value"
    own = (
        rule.measure if rule is not None and cause.columns in (WORST, FIGURES) else contributed_measure(cause)
    )
    rows = [
        tuple(
            format_detail_cell(column, value, own) for column, value in zip(cause.columns, row, strict=True)
        )
        for row in cause.rows
    ]
    if rule is not None and counted:
        rows = [
            (*_feature_value_words(rule, row), *told[4:]) for row, told in zip(cause.rows, rows, strict=True)
        ]
    # Columns of which nothing is known would only take room.
    filled = [at for at in range(len(names)) if any(row[at] != UNKNOWN for row in rows)]
    return [tuple(row[at] for at in filled) for row in (tuple(names), *rows)]


def _feature_value_words(rule: Rule, row: Sequence[Cell]) -> tuple[str, str, str, str]:
    """Name, value, limit, and what the value is read beside, of one feature that a share counts."""
    value, limit, beside = (one if isinstance(one, float | int) else None for one in row[1:4])
    step = (
        format_measure_difference(rule.measure, value)
        if is_compared_by_difference(rule.measure, rule.against)
        else format_measure_value(rule.measure, value)
    )
    asked = format_limit(rule.measure, limit, differs=is_compared_by_difference(rule.measure, rule.against))
    return (str(row[0]), step, asked, format_measure_value(rule.measure, beside))


def cause_heading(cause: DetailTable) -> str:
    """What a table of causes holds."""
    if cause.columns == WORST:
        return "Segments, the worst by its better bound first"
    if mean := contributed_measure(cause):
        return f"Segments that contribute most to the difference in {mean}"
    return _TITLES.get(cause.columns[0], cause.columns[0].capitalize())


def _judged_words(
    rule: Rule, value: float | None, interval: str, limit: float | None, beside: float | None
) -> Iterator[str]:
    """Value, reference and limit of one subject."""
    interval = f" {interval}" if interval else ""
    if not is_compared_by_difference(rule.measure, rule.against):
        known = rule.measure == INDEX and value is not None
        band = f" ({stability_band(value or 0.0)})" if known else ""
        against = f" against {rule.against}" if rule.against else ""
        yield f"{rule.measure}{against} {value_beside_limit(rule.measure, value, limit)}{interval}{band}"
    elif beside is None or value is None:
        yield (
            f"{rule.measure}, difference from {rule.against} "
            f"{format_measure_difference(rule.measure, value)}{interval}"
        )
    else:
        yield f"{rule.measure} {format_measure_value(rule.measure, beside + value)}"
        yield f"{rule.against} {format_measure_value(rule.measure, beside)}"
        yield f"difference {format_measure_difference(rule.measure, value)}{interval}"
    if limit is not None:
        asked = format_limit(
            rule.measure, limit, differs=is_compared_by_difference(rule.measure, rule.against)
        )
        yield f"limit {asked}{_relative_limit_words(rule)}"
    if beside is not None and not is_compared_by_difference(rule.measure, rule.against):
        yield (
            "its critical value"
            if beside == limit
            else f"critical value {format_measure_value(rule.measure, beside)}"
        )


def _record_words(rule: Rule, verdict: Verdict) -> Iterator[str]:
    if verdict.n:
        yield f"n {verdict.n:,}"
    if rule.measure == "volume_ratio" and verdict.value:
        yield f"in the same hours of earlier weeks {verdict.n / verdict.value:,.0f}"


_RELATIVE = LimitBase.EARLIER, LimitBase.LEEWAY


def _relative_limit_words(rule: Rule) -> str:
    """The limit as it is written, where that is a share of the earlier value."""
    limits = (rule.condition.above, rule.condition.below)
    shares = [limit for limit in limits if limit is not None and limit.base in _RELATIVE]
    if len(shares) != 1:
        return ""
    share = with_minus(f"{100 * shares[0].amount:+g} %")
    lacks = ", or a quarter of what that lacks to 1" if shares[0].base is LimitBase.LEEWAY else ""
    return f" ({share} of {rule.against}{lacks})"


def _largest_part_words(rule: Rule, cause: DetailTable | None, value: float | None) -> Iterator[str]:
    """The cell that moved most, or the segment that contributes most or is worst."""
    if cause is None or not cause.rows:
        return
    first = cause.rows[0]
    if cause.columns[:3] == COUNTED[4:]:
        lost = find_lost_shares(value, cause) if rule.measure == INDEX else None
        if lost is None or first[0] not in LOST:
            yield _moved_share_words(first)
        if lost is not None:
            yield lost.loss_and_rest_words
    elif mean := contributed_measure(cause):
        yield (
            f"segment {first[0]} contributes most, {format_detail_cell('contribution', first[1], mean)} "
            f"of {mean}"
        )
    elif cause.columns == WORST:
        worst, lower, upper = (format_detail_cell("value", one, rule.measure) for one in first[1:4])
        bounds, by = ("", "") if first[2] is None else (f" [{lower}, {upper}]", " by its better bound")
        yield f"segment {first[0]} is worst{by}, {worst}{bounds}"


def _feature_count_words(rule: Rule, verdict: Verdict) -> str:
    """How many of the features are in breach; the limit is one of their share."""
    limit = rule.share if verdict.limit is None else verdict.limit
    if verdict.value is None:
        return f"unknown share of the features, limit {format_detail_cell('share', limit)}"
    counted = f"{round(verdict.value * verdict.n):,} of {verdict.n:,} features"
    return (
        f"{counted} ({format_detail_cell('share', verdict.value)}), limit "
        f"{format_detail_cell('share', limit)}"
    )


def _largest_feature_words(rule: Rule, cause: DetailTable | None) -> Iterator[str]:
    if cause is not None and cause.columns == COUNTED and cause.rows:
        yield f"most of all {_feature_words(rule, cause.rows[0])}"


def _feature_words(rule: Rule, row: Sequence[Cell]) -> str:
    """One of the features that a share counts: see `COUNTED`."""
    name, *numbers = row[:4]
    value, limit, beside = (one if isinstance(one, float | int) else None for one in numbers)
    sentences = [", ".join([str(name), *_judged_words(rule, value, "", limit, beside)])]
    return "; ".join([*sentences, *([_moved_share_words(row[4:])] if row[4] is not None else [])])


def _moved_share_words(cells: Sequence[Cell]) -> str:
    """Values of a cell: their share in the reference, and in the window."""
    name, *shares = cells[:3]
    before, now = (format_detail_cell("expected", share) for share in shares)
    return f"values {name}: {before} → {now} of the records"


def _condition_words(rule: Rule) -> str:
    text, measure = str(rule.condition).replace(" -", f" {MINUS}"), BY_NAME.get(rule.measure)
    if measure is None or measure.unit is not MeasureUnit.SECONDS:
        return text
    for limit in (rule.condition.above, rule.condition.below):
        if limit is not None and limit.base in (LimitBase.ONE, LimitBase.SILENCE):
            number = f"{limit.amount:g}"
            text = text.replace(number, format_duration(round(limit.amount) * SECOND))
    return text
